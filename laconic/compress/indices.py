"""Which elements a message speaks of: rising indices, as many bits as their number needs and no more.

Elias-Fano (`kernels/plain/rising.py`): the size follows from n and k, so messages keep their fixed length; 8.5 bits an
index at 1% where a list of words takes 32. `| golomb` saves another half bit, for a round that says lengths.
"""

from __future__ import annotations

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.core.errors import PayloadError
from laconic.core.payload import Part


def part(numel: int, k: int) -> Part:
    if not 0 <= k <= numel:
        raise PayloadError(f"A message speaks of {k} elements or blocks of {numel}.")
    return Part(torch.uint8, kernel.rising_bytes(numel, k))


def write(at: Tensor, numel: int) -> Tensor:
    """Sorted, distinct, of any integer type."""
    return kernel.rising_pack(at, numel)


def read(stream: Tensor, k: int, numel: int) -> Tensor:
    """As int32: rising, none outside the bucket."""
    wanted = part(numel, k).nbytes
    if stream.numel() != wanted:
        raise PayloadError(f"A message has {stream.numel()} bytes of indices, not {wanted}.")
    at = kernel.rising_unpack(stream, k, numel)
    if at is None:
        raise PayloadError(f"A message does not name {k} of {numel} elements in order: it was damaged on the way.")
    return at
