"""Levels fitted to the gradients: what ALQ and AMQ have in common.

    r = |x_i| / scale of its block,  F its distribution over all ranks, each block weighed by scale^2
    expected variance  V(l) = sum over neighbours a < b of the integral of (r - a)(b - r) dF

Every `refresh` exchanges all ranks average a histogram of r (one more round, 4 KiB) and fit the levels to it by the
same arithmetic, so they hold the same levels, bit for bit; a message written with others is refused. Until then levels
are powers of two. Faghri et al., NeurIPS 2020, arXiv:2010.12460. Differs: a histogram with 1024 bins, finer near zero,
stands for F instead of truncated normal distributions, so there is nothing to fall back from where all elements are
equal; refreshed at even intervals. Unbiased whatever the levels; their variance depends on the data they were
fitted to, so no omega is claimed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import AbstractCompressor, Grain, Traits, as_float32, wide
from laconic.compress.blocked import check_bits
from laconic.compress.levels import Levels
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Mean, Seat, Turn
from laconic.kernels import reference_quant as quant

BINS = 1024


class Fitted(NamedTuple):
    magnitudes: Tensor  # float64, rising to 1
    inner: Any


class AbstractAdaptiveLevels(AbstractCompressor, ABC):
    """Concrete classes have `bits`, `block`, `refresh`, `norm`, a first table, and a way to fit one."""

    bits: int
    block: int
    refresh: int
    norm: str

    @abstractmethod
    def first(self) -> tuple[float, ...]: ...

    @abstractmethod
    def fit(self, seen: Distribution, now: tuple[float, ...]) -> tuple[float, ...]:
        """Levels of no more expected variance than those of now."""

    def check(self) -> None:
        check_bits(self.name, self.bits, 2, 6)
        if not isinstance(self.refresh, int) or self.refresh < 1:
            raise PlanError(f"{self.name}(refresh={self.refresh!r}): levels are fitted every so many steps, from 1 up.")
        self._codec(self.first())

    def _codec(self, magnitudes: tuple[float, ...]) -> Levels:
        return Levels(" ".join(map(repr, magnitudes)), self.block, self.norm)

    @property
    def routed(self) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(unbiased=True, omega=None, delta=None, linear=False, grain=Grain.BLOCK)

    @property
    def spares_small(self) -> bool:
        return True

    def payload_bits(self, spec: BucketSpec) -> int:
        return self._codec(self.first()).payload_bits(wide(spec))

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Fitted:
        inner = self._codec(self.first()).init(spec, seat)
        return Fitted(torch.tensor(self.first(), dtype=torch.float64), inner)

    async def exchange(self, x: Tensor, state: Fitted, spec: BucketSpec, turn: Turn) -> Exchanged:
        now = tuple(state.magnitudes.tolist())
        out = await self._codec(now).exchange(x, state.inner, spec, turn)
        if (turn.number + 1) % self.refresh:
            return out._replace(state=Fitted(state.magnitudes, out.state))
        seen = Distribution.of(await Mean(self._histogram(as_float32(x))))
        magnitudes = torch.tensor(self.fit(seen, now) if seen else now, dtype=torch.float64)
        return out._replace(state=Fitted(magnitudes, out.state))

    def _histogram(self, x: Tensor) -> Tensor:
        """Shares of r in bins of edges (k/BINS)^2, weighed by scale^2 of the block; zeros where x is."""
        rows = kernel.blocks(x, self.block)
        scale = quant.largest_of(rows) if self.norm == "max" else quant.l2_of(rows)
        r = (rows / quant.divisor(scale).unsqueeze(1)).abs().view(-1)[: x.numel()]
        weight = (scale / quant.divisor(scale.max())).pow(2) if scale.numel() else scale
        each = weight.repeat_interleave(self.block)[: x.numel()]
        at = (r.clamp(max=1).sqrt() * BINS).to(torch.int64).clamp_(max=BINS - 1)
        counts = torch.zeros(BINS, device=x.device).index_add_(0, at, each)
        return counts / quant.divisor(counts.sum())


class Distribution:
    """Piecewise constant on the bins: F, the first and the second moment up to a point, in plain arithmetic."""

    edges = (np.arange(BINS + 1) / BINS) ** 2

    def __init__(self, shares: np.ndarray[Any, np.dtype[np.float64]]) -> None:
        low, high = self.edges[:-1], self.edges[1:]
        moments = shares, shares * (low + high) / 2, shares * (low * low + low * high + high * high) / 3
        self.sums = [np.concatenate([[0.0], np.cumsum(m)]) for m in moments]
        self.density = shares / (high - low)

    @classmethod
    def of(cls, counts: Tensor) -> Distribution | None:
        """None where nobody had anything to count."""
        shares = counts.double().cpu().numpy()
        total = float(np.cumsum(shares)[-1])
        return cls(shares / total) if total > 0 else None

    def upto(self, x: float) -> tuple[float, float, float]:
        """The integrals of 1, r and r^2 from 0 to x."""
        k = min(BINS - 1, int(np.searchsorted(self.edges, x, side="right")) - 1)
        a, d = float(self.edges[k]), float(self.density[k])
        zero, one, two = (float(s[k]) for s in self.sums)
        return zero + d * (x - a), one + d * (x * x - a * a) / 2, two + d * (x * x * x - a * a * a) / 3

    def inverse(self, p: float) -> float:
        """The point below which a share p lies."""
        k = min(BINS - 1, max(0, int(np.searchsorted(self.sums[0], p, side="left")) - 1))
        d = float(self.density[k])
        inside = (p - float(self.sums[0][k])) / d if d > 0 else 0.0
        return min(float(self.edges[k + 1]), float(self.edges[k]) + max(0.0, inside))

    def variance(self, magnitudes: tuple[float, ...]) -> float:
        """V of the formula, with a^2 - r^2 below a first level a > 0."""
        points = [self.upto(m) for m in magnitudes]
        zero, _, two = points[0]
        total = magnitudes[0] * magnitudes[0] * zero - two
        for i in range(len(magnitudes) - 1):
            (f0, g0, h0), (f1, g1, h1) = points[i], points[i + 1]
            a, b = magnitudes[i], magnitudes[i + 1]
            total += (a + b) * (g1 - g0) - (h1 - h0) - a * b * (f1 - f0)
        return total
