"""Half precision on the wire: cast, average in that type, cast back.

    C(x) = float(half(clip(x, -T, T)))      T = 60000 for fp16, the largest finite number for bf16

The averaging divides before it adds, so the running sum stays in range too. Finite gradients above T are
clipped, not turned into infinity (fp16 ends at 65504; the margin absorbs rounding of the running sum).
Folklore; the baseline that compression papers should have used (Agarwal et al., MLSys 2022,
arXiv:2103.00543). As the last stage of a chain (`topk(0.01) | fp16`) it halves the values.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import AbstractCodec, AbstractCompressor, Draw, Traits, back_to
from laconic.core import memory
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged, Mean, Turn
from laconic.core.payload import Part


class AbstractCast(AbstractCompressor, AbstractCodec, ABC):
    half: ClassVar[torch.dtype]
    top: ClassVar[float]
    roundoff: ClassVar[float]  # largest relative error of a normal number

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(unbiased=False, omega=None, delta=1 - 2 * self.roundoff**2, linear=True)

    def payload_bits(self, spec: BucketSpec) -> int:
        return 16 * spec.numel

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        half = self._cast(x)
        sent = memory.copy(half)  # half is given away
        mean = await Mean(half)
        if torch.finfo(x.dtype).max < torch.finfo(self.half).max:  # 65504 as bf16 is 65536: beyond a bucket of fp16
            return Exchanged(_within(x.dtype, mean), lambda: _within(x.dtype, sent), state)
        return Exchanged(memory.copy(mean, x.dtype), lambda: sent.to(x.dtype, copy=True), state)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return (Part(self.half, numel),)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        return 0, (self._cast(x),)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        return parts[0].to(torch.float32)

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        kernel.half_add(total, parts[0], weight)

    def _cast(self, x: Tensor) -> Tensor:
        if x.dtype == self.half:
            return x.clone()
        top = min(self.top, torch.finfo(x.dtype).max)
        if x.dtype != torch.float32:
            return x.clamp(-top, top).to(self.half)
        half = memory.empty(x.numel(), self.half, x.device)
        kernel.to_half(x, half, top)
        return half


@dataclass(frozen=True)
class Fp16(AbstractCast):
    """16-bit floats with 11 significant bits; small range."""

    name: ClassVar[str] = "fp16"
    paper: ClassVar[str] = "agarwal2022utility"
    half: ClassVar[torch.dtype] = torch.float16
    top: ClassVar[float] = 60000.0
    roundoff: ClassVar[float] = 2.0**-11


@dataclass(frozen=True)
class Bf16(AbstractCast):
    """16-bit floats with 8 significant bits and the range of float32."""

    name: ClassVar[str] = "bf16"
    paper: ClassVar[str] = "agarwal2022utility"
    half: ClassVar[torch.dtype] = torch.bfloat16
    top: ClassVar[float] = 3.3e38
    roundoff: ClassVar[float] = 2.0**-8


def _within(dtype: torch.dtype, half: Tensor) -> Tensor:
    return back_to(dtype, half.to(torch.float32))  # in 16 bits the limit itself would be rounded
