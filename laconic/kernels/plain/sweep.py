"""One pass over whole vectors: sums and copies that notice what is not finite, and zeros."""

from __future__ import annotations

import torch
from torch import Tensor


def add_finite(x: Tensor, more: Tensor, out: Tensor) -> bool:
    """out <- x + more (float32); is every element finite?"""
    torch.add(x, more, out=out)
    return bool(torch.isfinite(out).all())


def copy_finite(x: Tensor, out: Tensor) -> bool:
    """out <- x (float32); is every element finite?"""
    out.copy_(x)
    return bool(torch.isfinite(out).all())


def way_finite(start: Tensor, here: Tensor, more: Tensor, out: Tensor) -> bool:
    """out <- more + (start - here) (float32); is every element finite?"""
    torch.sub(start, here, out=out)
    out.add_(more)
    return bool(torch.isfinite(out).all())


def zeros(out: Tensor) -> Tensor:
    """out <- 0, which is returned."""
    return out.zero_()
