"""Random subsets: see `Stream.choice` in core/rng.py, which is the truth."""

from __future__ import annotations

from torch import Tensor

from laconic.core.rng import Stream


def subset(x: Tensor, stream: Stream, k: int) -> Tensor:
    """k distinct indices of x, sorted, every k-subset alike (int64)."""
    return stream.choice(x.numel(), k, x.device)
