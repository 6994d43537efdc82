"""The k largest magnitudes, exactly, and sparse vectors added to dense ones.

Magnitudes are compared as bit patterns, so NaN is the largest of all and is never hidden. Of equal magnitudes the
first come first: every implementation selects the same elements.
"""

from __future__ import annotations

import torch
from torch import Tensor


def largest(x: Tensor, k: int) -> Tensor:
    """Sorted int64 indices of the k elements of largest magnitude."""
    wide = x.dtype if x.dtype == torch.float64 else torch.float32
    bits = torch.int64 if wide == torch.float64 else torch.int32
    magnitude = x.to(wide).abs().view(bits)
    if magnitude.is_meta or k in (0, x.numel()):
        return torch.arange(k, device=x.device)
    edge = magnitude.topk(k, sorted=False).values.amin()
    above = (magnitude > edge).nonzero().view(-1)
    ties = (magnitude == edge).nonzero().view(-1)
    return torch.cat([above, ties[: k - above.numel()]]).sort().values


def select(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest: sorted int32 indices, and their values."""
    at = largest(x, k)
    return at.to(torch.int32), x[at]


def select_keep(x: Tensor, residual: Tensor, left: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Error feedback in the same pass: the k largest of p = residual + x; left <- p with those set to zero.

    Without a residual x is p already, and left is x.
    """
    if residual.numel():
        torch.add(residual, x, out=left)
    at, values = select(left, k)
    left[at.to(torch.int64)] = 0
    return at, values


def above(x: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """All elements with |x| > threshold (NaN counts): sorted int32 indices, and their values."""
    edge = torch.tensor(threshold, dtype=torch.float32).view(torch.int32)
    at = (x.abs().view(torch.int32) > edge.to(x.device)).nonzero().view(-1)
    return at.to(torch.int32), x[at]


def within(at: Tensor, numel: int) -> bool:
    """Is every index from 0 to numel - 1?"""
    return bool(((at >= 0) & (at < numel)).all())


def scatter_add(total: Tensor, at: Tensor, values: Tensor, weight: float) -> None:
    """total[at] += weight * values; indices are distinct and inside, whoever calls has checked."""
    total.index_add_(0, at.to(torch.int64), values * weight)
