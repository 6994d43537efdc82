"""Error feedback: what was not said is remembered and added to the next update.

    p = e + x;   say C(p);   e <- p - C(p)            so   sum of what was sent + e = sum of all x

Seide et al., Interspeech 2014; Karimireddy et al., ICML 2019, arXiv:1901.09847. The memory is in the units of x
(gradients, before the learning rate) and at least float32: in half precision small updates would vanish in it. C
must be a contraction: an unbiased compressor with omega >= 1 is damped to C / (1 + omega), which is one (Stich,
Karimireddy, arXiv:1909.05350); undamped its memory explodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor, Traits, back_to, wide
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Seat, Turn

# Promises may differ between matrices and vectors (by_shape), so they are asked for about both.
_BOTH_SHAPES = BucketSpec(0, ("matrix", "vector"), ((1024, 1024), (1024,)))


class Memory(NamedTuple):
    residual: Tensor
    inner: Any


@dataclass(frozen=True)
class ErrorFeedback(AbstractCompressor):
    """Remember what a lossy compressor left out and say it later."""

    inner: AbstractCompressor

    name: ClassVar[str] = "ef"
    paper: ClassVar[str] = "karimireddy2019error"

    def __post_init__(self) -> None:
        traits = self.inner.traits(_BOTH_SHAPES)
        if traits.remembers:
            raise PlanError(
                f"ef({self.inner}): {self.inner} already remembers its error; a second memory would "
                f"count it twice and diverge. Use {self.inner}."
            )
        if traits.delta == 1.0 and traits.omega == 0.0 and self.inner.name == "none":
            raise PlanError("ef(none): nothing is lost without compression, so there is no error. Use none.")
        if traits.contraction is None and traits.omega is None:
            raise PlanError(f"ef({self.inner}): {self.inner} promises no bound that a memory could rely on.")

    def damping(self, spec: BucketSpec) -> float:
        return self.inner.traits(spec).damping

    def traits(self, spec: BucketSpec) -> Traits:
        inner = self.inner.traits(spec)
        delta = self.damping(spec) if inner.contraction is None else inner.contraction
        return replace(inner, unbiased=False, omega=None, delta=delta, remembers=True)

    @property
    def spares_small(self) -> bool:
        return self.inner.spares_small

    def payload_bits(self, spec: BucketSpec) -> int:
        return self.inner.payload_bits(wide(spec))

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Memory:
        residual = torch.zeros(spec.numel, dtype=wide(spec).dtype, device=seat.device)
        return Memory(residual, self.inner.init(wide(spec), seat, remember=True))

    def apart(self, state: Memory) -> tuple[Tensor, Memory] | None:
        return (state.residual, Memory(state.residual[:0], state.inner)) if self.inner.takes_sums else None

    async def exchange(self, x: Tensor, state: Memory, spec: BucketSpec, turn: Turn) -> Exchanged:
        damping = self.damping(spec)
        out, left = await self.inner.remember(x, state.residual, damping, state.inner, wide(spec), turn)
        return out._replace(
            mean=back_to(x.dtype, out.mean), sent=lambda: back_to(x.dtype, out.sent), state=Memory(left, out.state)
        )
