"""EF21: everybody keeps an estimate of everybody's gradient and only says how it changed.

    v <- (1 - a) v + a x;   say C(v - h_i);   h_i <- h_i + C(v - h_i);   h <- h + mean C(v - h_i);   apply h = mean h_i

Richtarik, Sokolov, Fatkhullin, NeurIPS 2021, arXiv:2106.05203 (a = 1); with a < 1 EF21-M: Fatkhullin, Tyurin,
Richtarik, NeurIPS 2023, arXiv:2305.15155, where a rank's gradients are averaged over time first, without which noise
of minibatches stalls it under strong compression. On a fixed gradient |x - h|^2 falls by 1 - delta a step, and unlike
`ef` it does not stall where ranks have different data. v starts as the first gradient, h at zero (so h = C(x) first).
Owners that re-encode chunks keep their own error, so that h + E = mean h_i. An update is h, dense; only C(.) travels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor, Traits
from laconic.compress.error_feedback import ErrorFeedback
from laconic.compress.memory import AbstractMemory, narrowed
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Seat, Turn


class Estimates(NamedTuple):
    own: Tensor  # h_i
    mean: Tensor  # h, equal on all ranks
    average: Tensor  # v; empty where a = 1
    started: Tensor  # has v seen a gradient?
    inner: Any


@dataclass(frozen=True)
class EF21(AbstractMemory):
    """Say how the gradient changed; apply the estimate that everybody keeps."""

    inner: AbstractCompressor
    average: float = 1.0

    name: ClassVar[str] = "ef21"
    paper: ClassVar[str] = "richtarik2021ef21"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.average <= 1:
            raise PlanError(f"ef21(average={self.average!r}): the share of a new gradient is above 0, at most 1.")
        if self.core == self.inner:
            raise PlanError("ef21(none): without compression the estimate is the gradient. Use none.")

    def traits(self, spec: BucketSpec) -> Traits:
        return replace(super().traits(spec), leaks=True)  # estimates replace each other, they do not add up

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Estimates:
        zeros = self.zeros(spec, seat)
        average = zeros.clone() if self.average < 1 else zeros[:0].clone()
        inner = self.core.init(spec, seat).inner
        return Estimates(zeros, zeros.clone(), average, torch.zeros((), dtype=torch.bool), inner)

    async def exchange(self, x: Tensor, state: Estimates, spec: BucketSpec, turn: Turn) -> Exchanged:
        v = x.to(state.own.dtype)
        if self.average < 1 and state.started:
            v = torch.lerp(state.average, v, self.average)
        wide = replace(spec, dtype=v.dtype)
        out = await self.inner.exchange(v - state.own, state.inner, wide, turn)
        damping = ErrorFeedback(self.inner).damping(spec)  # what is no contraction is made one
        own, mean = state.own + damping * out.sent, state.mean + damping * out.mean
        average = v.clone() if self.average < 1 else state.average  # v may be x itself
        kept = Estimates(own, mean, average, torch.ones((), dtype=torch.bool), out.state)
        return narrowed(Exchanged(mean.clone(), own.clone(), ()), x.dtype, kept)
