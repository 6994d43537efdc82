"""Strom's threshold: +tau or -tau for each element beyond it, nothing for the rest; what is not said waits.

    r = e + x;   C(r)_i = tau sgn(r_i) if |r_i| > tau else 0;   e <- r - C(r)

Strom, Interspeech 2015 (also called TBQ). The code is +-tau, not 1/0 (survey errata 000.15), and only tau is said
however large r_i is: no contraction, so it has a memory of its own instead of `ef(...)`, in the units of x. An element
of constant size c < tau is said every tau/c steps; where |x| stays above tau the memory grows without end. A sent
element is a 32-bit word, 31 bits of index and the sign; where that would be longer than three values, five to a byte,
those are sent: a tau too small costs at most 1.6 bits an element. `unit=rms`: tau times the root mean square of r,
which travels with the message. The range of tau that the paper uses is uncertain; tune it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import Draw, Grain, Size, Traits, back_to, wide
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.routed import seat_on, turn_on
from laconic.compress.sparse import check_indices
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Route, Seat, Turn
from laconic.core.payload import Part
from laconic.kernels import reference_quant as quant

_DENSE = 0xFFFFFFFF  # instead of the number of words
_INDEX = (1 << 31) - 1


class Waiting(NamedTuple):
    residual: Tensor
    inner: Any


@dataclass(frozen=True)
class Strom(AbstractOneShot):
    """+tau or -tau for elements beyond tau; the rest is remembered."""

    tau: float = 3.0
    unit: str = "rms"

    name: ClassVar[str] = "strom"
    paper: ClassVar[str] = "strom2015scalable"
    sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.tau < math.inf:
            raise PlanError(f"strom(tau={self.tau!r}): the threshold is a number above 0.")
        if self.unit not in ("rms", "absolute"):
            raise PlanError(f"strom(unit={self.unit!r}): tau is in units of the 'rms', or 'absolute'.")

    @property
    def varies(self) -> bool:
        return True

    @property
    def routed(self) -> bool:
        return False

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(False, None, None, linear=False, rounds=2, grain=Grain.BUCKET, remembers=True, size=Size.MOST)

    def payload_bits(self, spec: BucketSpec) -> int:
        return sum(8 * part.nbytes for part in self.layout(spec.numel, _DENSE))

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        said = Part(torch.uint8, kernel.trit_bytes(numel)) if aux == _DENSE else Part(torch.int32, aux)
        return Part(torch.float32, 1), said

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        tau = self._threshold(x)
        trits = (x > tau).to(torch.uint8) + 1 - (x < -tau).to(torch.uint8)
        at = (trits != 1).nonzero().view(-1)
        if 4 * at.numel() > kernel.trit_bytes(x.numel()):
            return _DENSE, (tau, kernel.pack_trits(trits))
        negative = (trits[at] == 0).to(torch.int64)
        return at.numel(), (tau, (at - (negative << 31)).to(torch.int32))

    def _threshold(self, x: Tensor) -> Tensor:
        if self.unit == "absolute" or not x.numel():
            return torch.full((1,), float(self.tau), device=x.device)
        rms = quant.l2_of(x.view(1, -1)) / math.sqrt(x.numel())
        return (rms * self.tau).clamp_(max=torch.finfo(x.dtype).max)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = torch.zeros(numel, device=parts[0].device)
        self.add(out, parts, aux, draw, 1.0)
        return out

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        tau, said = parts
        if aux == _DENSE:
            kernel.ternary_add(total, tau, said, max(1, total.numel()), weight)
            return
        signs = torch.where(said < 0, -tau, tau)
        total.index_add_(0, check_indices(said & _INDEX, total.numel()), signs, alpha=weight)

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Waiting:
        residual = torch.zeros(spec.numel, dtype=wide(spec).dtype, device=seat.device)
        return Waiting(residual, super().init(spec, seat_on(Route.GATHER, seat)))

    async def exchange(self, x: Tensor, state: Waiting, spec: BucketSpec, turn: Turn) -> Exchanged:
        r = state.residual + x
        out = await super().exchange(r, state.inner, spec, turn_on(Route.GATHER, turn))
        return Exchanged(
            back_to(x.dtype, out.mean), lambda: back_to(x.dtype, out.sent), Waiting(r - out.sent, out.state)
        )
