"""What sparse messages have in common: valid ratios, valid indices."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.core.errors import PayloadError, PlanError


class HasRatio(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def ratio(self) -> float: ...


def check_ratio(component: HasRatio) -> None:
    if not 0 < component.ratio <= 1:
        raise PlanError(
            f"{component.name}(ratio={component.ratio!r}): the share of elements to keep must be "
            f"above 0 and at most 1, for example {component.name}(0.01)."
        )


def refuse_outside(at: Tensor, numel: int) -> None:
    """Indices of a hostile or damaged message may not reach outside the bucket."""
    if not at.is_meta and not kernel.within(at, numel):
        low, high = torch.aminmax(at)
        raise PayloadError(f"A message names elements {int(low)}..{int(high)} of {numel}.")


def check_indices(at: Tensor, numel: int) -> Tensor:
    """As int64, none outside the bucket."""
    refuse_outside(at, numel)
    return at.to(torch.int64)


def check_ascending(at: Tensor, numel: int) -> Tensor:
    """As `check_indices`, where a reader relies on them being sorted and distinct."""
    if at.numel() > 1 and bool((at[1:] <= at[:-1]).any()):
        raise PayloadError(f"A message names {at.numel()} elements, but not each once and in order.")
    return check_indices(at, numel)


_INDEX = 0x7FFFFFFF


def with_signs(at: Tensor, negative: Tensor) -> Tensor:
    """One int32 word an element: 31 bits of index, the sign in the top bit."""
    return (at - (negative.to(torch.int64) << 31)).to(torch.int32)


def signed_indices(words: Tensor, numel: int) -> tuple[Tensor, Tensor]:
    """The inverse of `with_signs`: (indices, is it negative?)."""
    return check_indices(words & _INDEX, numel), words < 0
