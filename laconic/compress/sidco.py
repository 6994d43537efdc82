"""SIDCo: fit a sparsity-inducing distribution to the magnitudes, in stages, and read the threshold off its tail.

    exp       t = -mean(a) ln d                                                    a = |x|,  d the wanted share
    gamma     s = ln mean(a) - mean ln a;  alpha = (3 - s + sqrt((s-3)^2 + 24 s)) / (12 s);  beta = mean(a) / alpha
              t = -beta (ln d + ln Gamma(alpha))
    gpareto   m, v = mean and variance of what exceeds t;  xi = (1 - m^2/v) / 2;  b = m (m^2/v + 1) / 2
              t <- t + (b / xi) (r^-xi - 1)

With M stages the first aims at 1/4 of the elements and each later one, fitted to what exceeds the last threshold, at
r = (4 ratio)^(1/(M-1)) of those; `exp` stays exponential, `gamma` starts with gamma and goes on with Pareto,
`gpareto` is Pareto throughout. M adapts every 5 exchanges: one less if more than 1.2 times the wanted number was
selected on average, one more if less than 0.8 times, within 1 and ceil(log2(1/ratio)); `stages` fixes it.
Abdelmoniem, Elzanaty, Alouini, Canini, MLSys 2021, arXiv:2101.10761. Differs: never more than 2k elements (the 2k
largest), and the k largest exactly where a fit fails or selects nothing. Inside a chain there is no state, so M stays
at its start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import Draw, kept
from laconic.compress.one_shot import Owned
from laconic.compress.selected import AbstractSelected
from laconic.compress.sparse import check_ratio
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Seat, Turn
from laconic.kernels import reference_sparse as kernel

_FIRST = 0.25
_START = 3
_WINDOW = 5


class Staged(NamedTuple):
    error: Tensor
    damping: Tensor
    stages: Tensor  # M, on the CPU
    tally: Tensor  # selected / wanted, summed over the exchanges since M was last looked at; their number


@dataclass(frozen=True)
class SIDCo(AbstractSelected):
    """Keep about the k largest elements, by a threshold fitted to the distribution of magnitudes."""

    ratio: float = 0.01
    fit: str = "exp"
    stages: int = 0  # 0: adapt

    name: ClassVar[str] = "sidco"
    paper: ClassVar[str] = "abdelmoniem2021sidco"

    def __post_init__(self) -> None:
        check_ratio(self)
        if self.fit not in ("exp", "gamma", "gpareto"):
            raise PlanError(f"sidco(fit={self.fit!r}): the distribution is exp, gamma or gpareto.")
        if not isinstance(self.stages, int) or not 0 <= self.stages <= 32:
            raise PlanError(f"sidco(stages={self.stages!r}): a number of stages from 1 to 32, or 0 to let it adapt.")

    @property
    def dialect(self) -> str:
        return str(replace(self, stages=0))  # ranks may be at different stages and still understand each other

    @property
    def _limit(self) -> int:
        return max(1, math.ceil(math.log2(1 / self.ratio)))

    def count(self, numel: int) -> int:
        return min(numel, 2 * kept(self.ratio, numel))

    def least(self, numel: int) -> int:
        return min(1, numel)

    def select(self, x: Tensor, draw: Draw) -> Tensor:
        threshold = self._threshold(x.abs())
        at = x.new_empty(0) if threshold is None else kernel.at_least(x, threshold)
        if not at.numel():
            return kernel.largest_nonzero(x, kept(self.ratio, x.numel()))
        return kernel.largest_among(x, at, self.count(x.numel()))

    def _threshold(self, size: Tensor) -> float | None:
        """None where no distribution can be fitted."""
        stages = self.stages or min(_START, self._limit)
        stages = 1 if self.ratio >= _FIRST else stages
        if not size.count_nonzero():
            return None
        wanted = self.ratio if stages == 1 else _FIRST
        fit = _FITS[self.fit]
        threshold = fit(size, wanted)
        tail = _exponential if self.fit == "exp" else _pareto
        share = (self.ratio / _FIRST) ** (1 / (stages - 1)) if stages > 1 else 1.0
        for _ in range(stages - 1):
            beyond = size[size >= threshold] if threshold is not None else size[:0]
            if threshold is None or not beyond.numel():
                return None
            step = tail(beyond.to(torch.float64) - threshold, share)
            threshold = None if step is None else threshold + step
        return threshold

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Staged:
        owned = super().init(spec, seat, remember=remember)
        start = self.stages or min(_START, self._limit)
        tally = torch.zeros(2, dtype=torch.float64)
        return Staged(owned.error, owned.damping, torch.tensor(start), tally)

    async def exchange(self, x: Tensor, state: Staged, spec: BucketSpec, turn: Turn) -> Exchanged:
        fixed = replace(self, stages=int(state.stages))
        out = await AbstractSelected.exchange(fixed, x, Owned(state.error, state.damping), spec, turn)
        said = int(out.sent.count_nonzero()) / max(1, kept(self.ratio, spec.numel))
        stages, tally = self._adapted(state, said)
        return out._replace(state=Staged(out.state.error, out.state.damping, stages, tally))

    def _adapted(self, state: Staged, said: float) -> tuple[Tensor, Tensor]:
        tally = state.tally + torch.tensor([said, 1.0], dtype=torch.float64)
        if self.stages or tally[1] < _WINDOW:
            return state.stages, tally
        mean = float(tally[0] / tally[1])
        stages = int(state.stages) - (mean > 1.2) + (mean < 0.8)
        return torch.tensor(min(max(1, stages), self._limit)), torch.zeros_like(tally)


def _exponential(size: Tensor, share: float) -> float | None:
    return -kernel.mean_of(size) * math.log(share)


def _gamma(size: Tensor, share: float) -> float | None:
    some = size[size > 0].to(torch.float64)
    mean = kernel.mean_of(some)
    s = math.log(mean) - kernel.mean_of(some.log())
    if s <= 1e-9:  # all equal
        return None
    alpha = (3 - s + math.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
    return max(0.0, -mean / alpha * (math.log(share) + math.lgamma(alpha)))


def _pareto(size: Tensor, share: float) -> float | None:
    mean = kernel.mean_of(size)
    variance = kernel.mean_of((size.to(torch.float64) - mean).pow_(2))
    if variance <= 0 or mean <= 0:
        return None
    square = mean * mean / variance
    xi, scale = (1 - square) / 2, mean * (square + 1) / 2
    return -scale * math.log(share) if abs(xi) < 1e-6 else scale / xi * (share**-xi - 1)


_FITS = {"exp": _exponential, "gamma": _gamma, "gpareto": _pareto}
