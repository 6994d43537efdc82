"""The hot loops of sparsifiers in plain torch: any device, no compiler; the truth other implementations are held to.

Selections are sorted int64 indices. A zero is never selected by a threshold: there is nothing to say about it. Sums
are taken in float64, so that neither huge nor subnormal elements spoil a threshold.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from laconic.kernels.reference import largest, pack, packed_bytes, unpack


def at_least(x: Tensor, threshold: float) -> Tensor:
    """Indices of the elements other than zero with |x| >= threshold."""
    size = x.abs()
    return ((size >= threshold) & (size > 0)).nonzero().view(-1)


def count_at_least(size: Tensor, threshold: float) -> int:
    return int((size >= threshold).count_nonzero())


def largest_among(x: Tensor, at: Tensor, k: int) -> Tensor:
    """The k indices of `at` whose elements are largest; all of them where there are no more."""
    return at if at.numel() <= k else at[largest(x[at], k)]


def largest_nonzero(x: Tensor, k: int) -> Tensor:
    """Indices of the k largest elements, zeros left out."""
    at = largest(x, min(k, x.numel()))
    return at[x[at] != 0]


def mean_of(x: Tensor) -> float:
    """The mean in float64; 0 of nothing."""
    return float(x.sum(dtype=torch.float64)) / x.numel() if x.numel() else 0.0


def kth_size(x: Tensor, k: int) -> float:
    """The magnitude of the k-th largest element."""
    return float(x.abs().topk(k, sorted=False).values.min())


def largest_of_rows(rows: Tensor, k: int) -> Tensor:
    """For each row the sorted positions of its k largest magnitudes."""
    return rows.abs().topk(k, dim=1, sorted=False).indices.sort(dim=1).values


def bisected_threshold(size: Tensor, k: int, most: int, halvings: int) -> float | None:
    """A threshold mean + r (max - mean), 0 <= r <= 1, that leaves k to `most` elements; None if none was found."""
    low, high = 0.0, 1.0
    mean, top = mean_of(size), float(size.max()) if size.numel() else 0.0
    for _ in range(halvings):
        r = (low + high) / 2
        threshold = mean + r * (top - mean)
        n = count_at_least(size, threshold)
        if k <= n <= most:
            return threshold
        low, high = (r, high) if n > most else (low, r)
    return None


def narrowest_thresholds(size: Tensor, k: int, halvings: int) -> tuple[float, float]:
    """Thresholds (upper, lower) on the same scale: at most k elements reach the upper, at least k the lower one."""
    low, high = 0.0, 1.0
    mean, top = mean_of(size), float(size.max()) if size.numel() else 0.0
    upper, lower = math.inf, 0.0
    for _ in range(halvings):
        r = (low + high) / 2
        threshold = mean + r * (top - mean)
        n = count_at_least(size, threshold)
        if n <= k:
            high, upper = r, threshold
        if n >= k:
            low, lower = r, threshold
        if n == k:
            break
    return upper, lower


def fair_threshold(size: Tensor, k: int) -> float:
    """tau with sum of min(1, size / tau) = k; 0 where k elements or fewer are not zero."""
    if int(size.count_nonzero()) <= k:
        return 0.0
    tau = float(size.sum(dtype=torch.float64)) / k
    while True:  # every round adds elements that are kept for certain; there are at most k of those
        small = size < tau
        rest, room = float(size[small].sum(dtype=torch.float64)), k - int((~small).count_nonzero())
        if room <= 0 or rest / room >= tau:
            return tau
        tau = rest / room


def pack_positions(at: Tensor, bits: int) -> tuple[Tensor, ...]:
    """Positions below 2**bits, bits <= 16: the low bytes, then the rest of each densely packed."""
    low, high = (at & 0xFF).to(torch.uint8), (at >> 8).to(torch.uint8)
    return (pack(low, bits),) if bits <= 8 else (low, pack(high, bits - 8))


def position_bytes(k: int, bits: int) -> tuple[int, ...]:
    """Lengths of the parts of `pack_positions`."""
    return (packed_bytes(k, bits),) if bits <= 8 else (k, packed_bytes(k, bits - 8))


def unpack_positions(parts: tuple[Tensor, ...], bits: int, k: int) -> Tensor:
    """The inverse of `pack_positions`: k positions as int64."""
    low = unpack(parts[0], min(bits, 8), k).to(torch.int64)
    return low if bits <= 8 else low + (unpack(parts[1], bits - 8, k).to(torch.int64) << 8)


def dct_matrix(n: int) -> Tensor:
    """The orthonormal DCT-II of length n: D x transforms, D^T transforms back."""
    angle = math.pi / n * torch.outer(torch.arange(n) * 1.0, torch.arange(n) + 0.5).to(torch.float64)
    rows = angle.cos() * math.sqrt(2 / n)
    rows[0] /= math.sqrt(2)
    return rows.to(torch.float32)
