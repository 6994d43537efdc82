"""Several sparse vectors added up into one dense one."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from laconic.kernels.plain.select import scatter_add


def merge(out: Tensor, ats: Sequence[Tensor], values: Sequence[Tensor], weight: float) -> None:
    """out <- weight times the sum of all, added in the order given; each one's int32 indices rise and are inside."""
    out.zero_()
    for at, value in zip(ats, values, strict=True):
        scatter_add(out, at, value, weight)
