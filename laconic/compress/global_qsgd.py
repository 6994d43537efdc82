"""Global-QSGD: QSGD on a grid that all ranks share, so that codes are added on the way.

    M = max over ranks of max|x| of the block;   k = s x / M rounded by chance;   mean = M/(s n) sum k,
    s = 2^(b-1) - 1

    E|M k/s - x|^2 <= B M^2 / (4 s^2)

Xin, Canini, Richtarik, Horvath, 2023, arXiv:2305.18627, with the uniform grid; QSGD is Alistarh et al., NeurIPS 2017.
One rounding, one all-reduce (`integer_sum.py`), where `qsgd` gathers n messages or rounds twice. The variance is
relative to everyone's largest element, so no omega is claimed; where ranks differ much, `qsgd` is finer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import Grain, Traits
from laconic.compress.blocked import check_bits
from laconic.compress.integer_sum import AbstractIntegerSum
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.rng import Stream


@dataclass(frozen=True)
class GlobalQSGD(AbstractIntegerSum):
    """QSGD with scales that all ranks share; codes are summed on the way."""

    bits: int = 4
    block: int = 256

    name: ClassVar[str] = "global_qsgd"
    paper: ClassVar[str] = "xin2023global"

    def __post_init__(self) -> None:
        check_bits(self.name, self.bits, 2, 8)
        if not isinstance(self.block, int) or self.block < 1:
            raise PlanError(f"global_qsgd(block={self.block!r}): a block is a whole number of elements from 1 up.")

    @property
    def steps(self) -> int:
        return (1 << (self.bits - 1)) - 1

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(unbiased=True, omega=None, delta=None, linear=True, rounds=2, grain=Grain.BLOCK)

    def groups(self, spec: BucketSpec) -> tuple[int, ...]:
        full, rest = divmod(spec.numel, self.block)
        return (self.block,) * full + ((rest,) if rest else ())

    def prepared(self, x: Tensor, spec: BucketSpec) -> tuple[Tensor, Tensor]:
        return x, kernel.scales(x, self.block, "max")

    def rounded(self, ready: Tensor, scale: Tensor, spec: BucketSpec, stream: Stream) -> Tensor:
        packed = torch.empty(kernel.packed_bytes(spec.numel, self.bits), dtype=torch.uint8, device=ready.device)
        kernel.quantize_to(ready, scale, packed, stream, self.bits, self.block)
        return kernel.unpack(packed, self.bits, spec.numel)

    def times(self, values: Tensor, scale: Tensor, spec: BucketSpec) -> Tensor:
        return (kernel.blocks(values, self.block) * scale.unsqueeze(1)).view(-1)[: spec.numel]
