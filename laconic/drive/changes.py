"""What has changed of a value since somebody last read it: places and new numbers, exactly, where that is shorter than
all.

    count 8 | 0: places as 4-byte numbers, 1: a bit for every element   8 | places | numbers

Sparse updates touch few elements, so whoever reads often needs few. Nothing is rounded.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from laconic.core.errors import PayloadError

_HEAD = 16
_PLACES, _BITS = 0, 1


def pack(value: Tensor, known: Tensor) -> Tensor | None:
    """Message for one who knows `known`; None where the value itself is not longer."""
    at = (value != known).nonzero().view(-1)
    n, size = value.numel(), value.element_size()
    bits = -(-n // 8) < 4 * at.numel()
    length = _HEAD + (-(-n // 8) if bits else 4 * at.numel()) + size * at.numel()
    if length >= n * size:
        return None
    head = torch.tensor([at.numel(), _BITS if bits else _PLACES], dtype=torch.int64).view(torch.uint8)
    places = _bitmap(at, n) if bits else at.to(torch.int32).view(torch.uint8)
    return torch.cat([head, places, value[at].contiguous().view(torch.uint8)])


def apply(message: Tensor, known: Tensor) -> Tensor:
    """The value that the writer of the message had."""
    n, size = known.numel(), known.element_size()
    if message.dtype != torch.uint8 or message.numel() < _HEAD:
        raise PayloadError(f"Changes of {message.numel()} bytes of {message.dtype} cannot be read.")
    count, kind = message[:_HEAD].clone().view(torch.int64).tolist()
    width = -(-n // 8) if kind == _BITS else 4 * count
    if kind not in (_PLACES, _BITS) or not 0 <= count <= n or message.numel() != _HEAD + width + size * count:
        raise PayloadError(f"Changes of {message.numel()} bytes announce {count} elements of {n}: they are damaged.")
    places = message[_HEAD : _HEAD + width].clone()
    at = _places(places, n) if kind == _BITS else places.view(torch.int32).to(torch.int64)
    if at.numel() != count or (count and not (int(at.min()) >= 0 and int(at.max()) < n)):
        raise PayloadError(f"Changes announce {count} elements but name {at.numel()}, or some beyond {n}.")
    out = known.clone()
    out[at] = message[_HEAD + width :].clone().view(known.dtype)
    return out


def _bitmap(at: Tensor, n: int) -> Tensor:
    flags = np.zeros(n, dtype=bool)
    flags[at.numpy()] = True
    return torch.from_numpy(np.packbits(flags))


def _places(bits: Tensor, n: int) -> Tensor:
    return torch.from_numpy(np.flatnonzero(np.unpackbits(bits.numpy(), count=n)))
