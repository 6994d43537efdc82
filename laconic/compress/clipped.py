"""Local clipping: a rank's gradient is clipped before anything is added to it.

    x <- x min(1, norm n^(-1/2) / |x|_2)              n ranks

Lin et al. (DGC), ICLR 2018, arXiv:1712.01887. With independent gradients the norm of a sum of n is n^(1/2) times that
of one, so clipping each at norm n^(-1/2) clips the sum at norm. It stands around a memory,
`clipped(momentum(topk(0.001)), norm=1)`: inside, what was cut off would only wait in the memory. Differs: the norm is
that of a bucket, as the first bucket leaves before the last gradient exists; `fifo` with one large bucket gives the
norm of the model. Do not clip again after backward.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor, Traits
from laconic.compress.identity import Identity
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Seat, Turn


@dataclass(frozen=True)
class Clipped(AbstractCompressor):
    """Clip each rank's own gradient by its norm, before the memory sees it."""

    inner: AbstractCompressor
    norm: float = 1.0

    name: ClassVar[str] = "clipped"
    paper: ClassVar[str] = "lin2018deep"

    def __post_init__(self) -> None:
        if not 0 < self.norm < math.inf:
            raise PlanError(f"clipped(norm={self.norm!r}): the largest norm of a mean is above 0 and finite.")

    @property
    def spares_small(self) -> bool:
        return self.inner.spares_small

    @property
    def lossless(self) -> AbstractCompressor:
        return Clipped(self.inner.lossless or Identity(), self.norm)

    def traits(self, spec: BucketSpec) -> Traits:
        # What is cut off is neither said nor remembered: no share of the norm can be promised.
        inner = self.inner.traits(spec)
        return replace(inner, unbiased=False, omega=None, delta=None, leaks=inner.remembers)

    def payload_bits(self, spec: BucketSpec) -> int:
        return self.inner.payload_bits(spec)

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Any:
        return self.inner.init(spec, seat, remember=remember)

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        top = self.norm / math.sqrt(turn.world)
        norm = float(torch.linalg.vector_norm(x, dtype=torch.float64))  # squares of float32 cannot overflow
        return await self.inner.exchange(x * (top / norm) if norm > top else x, state, spec, turn)
