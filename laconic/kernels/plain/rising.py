"""Sorted, distinct indices in a size that is known beforehand: Elias-Fano.

    u_j = i_j - j        falls nowhere, and ends at n - k at most:  k indices of n elements
    u_j = h_j 2^b + l_j  the k low parts l in b bits each; bit h_j + j of a plane of k + floor((n - k) / 2^b) is set

with the b that makes both parts together shortest: 8.5 bits an index at 1%, 12 at 0.1%, within half a bit of what is
possible; and at half of all or more (b = 0) the bitmap. Every stream of that length with k ones in its plane
and low parts in order names k distinct elements inside.

Elias, J. ACM 21(2), 1974; Fano, MIT Project MAC memorandum 61, 1971.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from laconic.kernels.plain.pack import pack, packed_bytes, unpack


@lru_cache(1024)
def low_bits(numel: int, k: int) -> int:
    return min(range(32), key=lambda b: packed_bytes(k, b) + packed_bytes(k + ((numel - k) >> b), 1))


def plane_bits(numel: int, k: int) -> int:
    return k + ((numel - k) >> low_bits(numel, k)) if k else 0


def rising_bytes(numel: int, k: int) -> int:
    return packed_bytes(k, low_bits(numel, k)) + packed_bytes(plane_bits(numel, k), 1)


def rising_pack(at: Tensor, numel: int) -> Tensor:
    """`rising_bytes` bytes for indices that rise, of numel elements."""
    k = at.numel()
    b, order = low_bits(numel, k), torch.arange(k, device=at.device)
    u = at.to(torch.int64) - order
    low = (u[:, None] >> torch.arange(b, device=at.device)) & 1
    plane = torch.zeros(plane_bits(numel, k), dtype=torch.uint8, device=at.device)
    plane[(u >> b) + order] = 1
    return torch.cat([pack(low.to(torch.uint8).view(-1), 1), pack(plane, 1)])


def rising_unpack(stream: Tensor, k: int, numel: int) -> Tensor | None:
    """The int32 indices; None where a stream of that length does not name k elements in order."""
    if stream.is_meta:
        return torch.empty(k, dtype=torch.int32, device=stream.device)
    b, order = low_bits(numel, k), torch.arange(k, device=stream.device)
    cut, bits = packed_bytes(k, b), plane_bits(numel, k)
    plane = unpack(stream[cut:], 1, 8 * (stream.numel() - cut))
    ones = plane.nonzero().view(-1)
    if ones.numel() != k or plane[bits:].any():
        return None
    low = unpack(stream[:cut], 1, k * b).view(k, b).to(torch.int64) << torch.arange(b, device=stream.device)
    u = (ones - order << b) + low.sum(1)
    if k and (bool((u.diff() < 0).any()) or int(u[-1]) > numel - k):
        return None
    return (u + order).to(torch.int32)
