"""How k of m slots are written: the shorter of two forms, which follows from m and k alone.

    list     the indices of those that are said, up to a bit a slot (`indices.py`)
    dense    every slot, the unsaid ones zero    4w(m - k) more bytes of values

and the values of the slots that are said, w of 32 bits each. A slot is an element (w = 1) or a block of w elements.
Dense wins where nearly all is said: SparCML's switch from sparse to dense, at the very number of slots where the bytes
are equal (Renggli et al., SC 2019, arXiv:1802.08021).
"""

from __future__ import annotations

from enum import Enum

import torch
from torch import Tensor

from laconic.compress import indices
from laconic.core.errors import PayloadError
from laconic.core.payload import Part


class Form(Enum):
    LIST = "list"
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
            return Part(torch.float32, k * width), indices.part(slots, k)
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
            return values.reshape(-1), indices.write(at, slots)
        case Form.DENSE:
            rows = values.reshape(k, width)
            return (rows.new_zeros(slots, width).index_copy_(0, at, rows).view(-1),)


def read(parts: tuple[Tensor, ...], slots: int, k: int, width: int = 1) -> tuple[Tensor, Tensor]:
    """(indices, rows); the indices of a damaged message do not reach outside."""
    match form(slots, k, width):
        case Form.LIST:
            values, at = parts[0], indices.read(parts[1], k, slots).to(torch.int64)
        case Form.DENSE:
            (values,), at = parts, torch.arange(slots, device=parts[0].device)
    return at, values.view(-1, width)
