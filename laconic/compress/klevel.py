"""Stochastic k-level quantization: one of k even levels between a block's ends, drawn without bias.

    code_i in {floor, ceil} of (k - 1)(x_i - lo)/(hi - lo), unbiased;    E|C(x) - x|^2 <= B / (2 (k-1)^2) |x|^2

Suresh, Yu, Kumar, McMahan, ICML 2017, arXiv:1611.00429 (pi_sk). Differs: ends of blocks, not of the whole vector;
their variable-length pi_svk is `klevel(k) | huffman`. With a random rotation first it is `rotated`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from laconic.compress.base import Draw, Grain, Traits
from laconic.compress.uniform import AbstractUniform
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.kernels import reference_quant as quant


@dataclass(frozen=True)
class KLevel(AbstractUniform):
    """One of k even levels between the ends of a block, drawn without bias."""

    k: int = 16
    block: int = 512

    name: ClassVar[str] = "klevel"
    paper: ClassVar[str] = "suresh2017mean"

    def __post_init__(self) -> None:
        check_levels(self.name, self.k)
        self.check_block()

    @property
    def top(self) -> int:
        return self.k - 1

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(unbiased=True, omega=self.error(spec), delta=None, linear=False, grain=Grain.BLOCK)

    def round(self, a: Tensor, draw: Draw) -> Tensor:
        return quant.by_chance(a, draw.own.uniform(a.numel(), a.device).view_as(a))


def check_levels(name: str, k: object) -> None:
    if not isinstance(k, int) or not 2 <= k <= 256:
        raise PlanError(f"{name}(k={k!r}): there are 2 to 256 levels.")
