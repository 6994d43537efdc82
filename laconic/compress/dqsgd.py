"""DQ-SGD: QSGD with more bits for larger gradients and for later steps.

    b_t = ceil(1 + log2(1 + k_t |x|)) within low .. high,    k_t = scale alpha^((T - t)/2),   alpha < 1

Yan, Huang, Lan, Song, 2021, arXiv:2107.14575. UNCERTAIN: the schedule is written from memory of the paper and has not
been checked against it. |x| is the largest l2 norm of all ranks, which agree on b_t in a round of 4 bytes. After step T
the schedule stays at its end. Scale is in units of 1/gradient: with 0.1, a norm of 70 asks for 4 bits at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from laconic.compress.agreed_bits import AbstractAgreedBits
from laconic.compress.base import Grain, Size, Traits
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Turn


@dataclass(frozen=True)
class DQSGD(AbstractAgreedBits):
    """QSGD with 2 to 8 bits: more for larger gradients and later steps."""

    total: int = 1000  # T, steps
    scale: float = 1.0
    alpha: float = 0.999
    low: int = 2
    high: int = 8
    block: int = 256

    name: ClassVar[str] = "dqsgd"
    paper: ClassVar[str] = "yan2021dqsgd"

    def __post_init__(self) -> None:
        if not isinstance(self.total, int) or self.total < 1:
            raise PlanError(f"dqsgd(total={self.total!r}): the schedule needs the number of steps, from 1 up.")
        if not 0 < self.scale < math.inf or not 0 < self.alpha < 1:
            raise PlanError(f"dqsgd(scale={self.scale!r}, alpha={self.alpha!r}): scale is above 0, alpha in 0..1.")
        if not (isinstance(self.low, int) and isinstance(self.high, int) and 2 <= self.low <= self.high <= 8):
            raise PlanError(f"dqsgd(low={self.low!r}, high={self.high!r}): bits go from 2 to 8, low before high.")
        self.check_block()

    @property
    def fewest(self) -> int:
        return self.low

    def traits(self, spec: BucketSpec) -> Traits:
        omega = self.codec(self.low).traits(spec).omega
        return Traits(True, omega, None, linear=False, rounds=2, grain=Grain.BUCKET, size=Size.MOST)

    def payload_bits(self, spec: BucketSpec) -> int:
        return self.codec(self.high).payload_bits(spec)

    def wanted(self, x: Tensor, spec: BucketSpec, turn: Turn) -> int:
        return self.bits_at(turn.step, float(x.double().norm()))

    def bits_at(self, step: int, norm: float) -> int:
        k = self.scale * self.alpha ** (max(0, self.total - step) / 2)
        return min(self.high, max(self.low, math.ceil(1 + math.log2(1 + k * norm))))
