"""Warm-up: keep many elements at first, then fewer and fewer.

    ratio in stage j of W:   max(r, r^((j+1)/(W+1)))         then r

Lin et al. (DGC), ICLR 2018, arXiv:1712.01887: with r = 0.1% and four stages 25%, 6.3%, 1.6%, 0.4%. Early gradients
are large and change fast; errors that wait are then most harmful. Stages are counted in steps, not epochs: W stages
share `steps` evenly. Every `ratio` inside is warmed up, so it may stand inside or around an error memory.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import ClassVar

from laconic.compress.base import AbstractCompressor
from laconic.compress.phased import AbstractPhased
from laconic.core.errors import PlanError


@dataclass(frozen=True)
class Warmup(AbstractPhased):
    """Start with a larger share of elements and lower it in stages."""

    inner: AbstractCompressor
    steps: int = 200
    stages: int = 4

    name: ClassVar[str] = "warmup"
    paper: ClassVar[str] = "lin2018deep"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.stages, int) or not 1 <= self.stages <= self.steps:
            raise PlanError(f"warmup(stages={self.stages!r}): from 1 to as many as there are steps ({self.steps}).")
        if self.inner == _with_power(self.inner, 0.0):
            raise PlanError(
                f"warmup({self.inner}): there is no ratio in {self.inner} to start higher. "
                f"Use dense_first({self.inner}, steps={self.steps})."
            )

    def at(self, step: int) -> AbstractCompressor:
        if step >= self.steps:
            return self.inner
        stage = step * self.stages // self.steps
        return _with_power(self.inner, (stage + 1) / (self.stages + 1))


def _with_power(compressor: AbstractCompressor, power: float) -> AbstractCompressor:
    """The same with every ratio r inside as max(r, r^power)."""
    changed: dict[str, object] = {}
    for f in fields(compressor):  # type: ignore[arg-type]  # concrete compressors are dataclasses
        value = getattr(compressor, f.name)
        if isinstance(value, AbstractCompressor):
            changed[f.name] = _with_power(value, power)
        elif f.name == "ratio":
            changed[f.name] = max(value, value**power)
    return replace(compressor, **changed)  # type: ignore[type-var]
