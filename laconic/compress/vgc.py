"""Variance-based gradient compression: an element waits until its sum is certain, then it is said in 4 bits.

    r <- r + x,  v <- v + x^2;   say r_i where r_i^2 > alpha v_i, then v_i <- 0;   elsewhere v_i <- decay v_i

Tsuzuku, Imachi, Akiba, ICLR workshop 2018, arXiv:1802.06058. What is said is a power of two: with M the largest sum
that is said, +-2^(floor(log2 M) - d), d in 0..7, the nearest to r; smaller ones wait. One word of 32 bits an element:
sign, 3 bits d, 28 bits of index. It keeps its own memory (r, and the square root of v, which cannot overflow): do not
wrap it in `ef(...)`. Differs: the paper adds up squares of single samples; an exchange sees only the mean gradient of
a step, so here a step is a sample and gradients that agree are said after more than alpha steps. What rounding leaves
stays in r (the paper drops it). No share of the norm is promised: delta is None.

Uncertain: the rounding of the 4-bit code is from memory of the paper (our catalogue lists it as unverified).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import Draw, Grain, Size, Traits, as_float32, back_to, wide
from laconic.compress.one_shot import AbstractOneShot, Owned
from laconic.compress.sparse import check_indices
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Seat, Turn
from laconic.core.payload import Part

_INDEX_BITS = 28
_OCTAVES = 7


class Uncertain(NamedTuple):
    error: Tensor
    damping: Tensor
    residual: Tensor  # r
    spread: Tensor  # the square root of v


@dataclass(frozen=True)
class VGC(AbstractOneShot):
    """Say an element once its sum outgrows its variance, in 4 bits; remembers the rest."""

    alpha: float = 1.0
    decay: float = 0.999

    name: ClassVar[str] = "vgc"
    paper: ClassVar[str] = "tsuzuku2018variance"
    sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.alpha < math.inf:
            raise PlanError(f"vgc(alpha={self.alpha!r}): how much the square must outgrow the variance, from 0 up.")
        if not 0 < self.decay <= 1:
            raise PlanError(f"vgc(decay={self.decay!r}): the variance is kept by a share above 0 and at most 1.")

    @property
    def varies(self) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(False, None, None, linear=False, rounds=2, grain=Grain.BUCKET, remembers=True, size=Size.MOST)

    def payload_bits(self, spec: BucketSpec) -> int:
        return 32 + 32 * spec.numel

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return Part(torch.float32, 1), Part(torch.int32, aux)

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Uncertain:
        if spec.numel > 1 << _INDEX_BITS:
            raise PlanError(
                f"vgc: a bucket of {spec.numel} elements has more than 2^{_INDEX_BITS}, what an index can tell apart. "
                f"Use smaller buckets, for example fused(25MiB)."
            )
        owned = super().init(spec, seat, remember=True)
        r, spread = torch.zeros(2, spec.numel, dtype=wide(spec).dtype, device=seat.device)
        return Uncertain(owned.error, owned.damping, r, spread)

    async def exchange(self, x: Tensor, state: Uncertain, spec: BucketSpec, turn: Turn) -> Exchanged:
        r = state.residual + x
        spread = torch.hypot(state.spread, x.to(r.dtype))
        said = torch.where(r.abs() > math.sqrt(self.alpha) * spread, r, 0.0)
        out = await super().exchange(said, Owned(state.error, state.damping), wide(spec), turn)
        spread = torch.where(out.sent != 0, 0.0, math.sqrt(self.decay) * spread)
        kept = Uncertain(out.state.error, out.state.damping, r - out.sent, spread)
        return Exchanged(back_to(x.dtype, out.mean), lambda: back_to(x.dtype, out.sent), kept)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        x = as_float32(x)
        at = x.nonzero().view(-1)
        mantissa, exponent = torch.frexp(x[at].abs())
        top = int(exponent.max()) - 1 if at.numel() else 0
        nearest = exponent.to(torch.int64) - 1 + (mantissa >= 0.75).to(torch.int64)
        octave = (top - nearest).clamp_(min=0)
        heard = octave <= _OCTAVES
        at, octave = at[heard], octave[heard]
        words = at + (octave << _INDEX_BITS) - ((x[at] < 0).to(torch.int64) << 31)
        unit = torch.tensor([math.ldexp(1.0, top)], dtype=torch.float32, device=x.device)
        return at.numel(), (unit, words.to(torch.int32))

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = parts[0].new_zeros(numel)
        self.add(out, parts, aux, draw, 1.0)
        return out

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        unit, words = parts
        at = check_indices(words & (1 << _INDEX_BITS) - 1, total.numel())
        octave = words >> _INDEX_BITS & _OCTAVES
        values = torch.where(words < 0, -unit, unit) * 0.5**octave
        total.index_add_(0, at, values, alpha=weight)
