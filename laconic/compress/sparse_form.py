"""How k of m slots are written: the shortest of three forms, which follows from m and k alone.

    list     k indices of 32 bits                4k        bytes
    bitmap   one bit a slot                      ceil(m/8)
    dense    every slot, the unsaid ones zero    4w(m - k) more values

and the values of the slots that are said, w of 32 bits each. A slot is an element (w = 1) or a block of w elements.
Lists win below a density of 1/32, dense where nearly all is said: SparCML's switch from sparse to dense, at the very
number of slots where the bytes are equal (Renggli et al., SC 2019, arXiv:1802.08021).
"""

from __future__ import annotations

from enum import Enum

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.sparse import check_indices
from laconic.core.errors import PayloadError
from laconic.core.payload import Part


class Form(Enum):
    LIST = "list"
    BITMAP = "bitmap"
    DENSE = "dense"


def form(slots: int, k: int, width: int = 1) -> Form:
    nbytes = {f: sum(part.nbytes for part in _parts(f, slots, k, width)) for f in Form}
    return min(nbytes, key=lambda f: nbytes[f])


def layout(slots: int, k: int, width: int = 1) -> tuple[Part, ...]:
    if k > slots:
        raise PayloadError(f"A message speaks of {k} elements or blocks of {slots}.")
    return _parts(form(slots, k, width), slots, k, width)


def _parts(which: Form, slots: int, k: int, width: int) -> tuple[Part, ...]:
    match which:
        case Form.LIST:
            return Part(torch.int32, k), Part(torch.float32, k * width)
        case Form.BITMAP:
            return Part(torch.float32, k * width), Part(torch.uint8, kernel.packed_bytes(slots, 1))
        case Form.DENSE:
            return (Part(torch.float32, slots * width),)


def nbytes(slots: int, k: int, width: int = 1) -> int:
    return sum(part.nbytes for part in layout(slots, k, width))


def write(at: Tensor, values: Tensor, slots: int) -> tuple[Tensor, ...]:
    """`values`: one row a slot of `at`, or one element."""
    k = at.numel()
    width = values.shape[1] if values.dim() > 1 else 1
    match form(slots, k, width):
        case Form.LIST:
            return at.to(torch.int32), values.reshape(-1)
        case Form.BITMAP:
            said = torch.zeros(slots, dtype=torch.uint8, device=at.device).index_fill_(0, at, 1)
            return values.reshape(-1), kernel.pack(said, 1)
        case Form.DENSE:
            rows = values.reshape(k, width)
            return (rows.new_zeros(slots, width).index_copy_(0, at, rows).view(-1),)


def read(parts: tuple[Tensor, ...], slots: int, k: int, width: int = 1) -> tuple[Tensor, Tensor]:
    """(indices, rows); the indices of a damaged message do not reach outside."""
    match form(slots, k, width):
        case Form.LIST:
            at, values = check_indices(parts[0], slots), parts[1]
        case Form.BITMAP:
            values, at = parts[0], kernel.unpack(parts[1], 1, slots).nonzero().view(-1)
        case Form.DENSE:
            (values,), at = parts, torch.arange(slots, device=parts[0].device)
    if at.numel() * width != values.numel():
        raise PayloadError(f"A message marks {at.numel()} elements or blocks and brings {values.numel()} values.")
    return at, values.view(-1, width)
