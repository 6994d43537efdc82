"""Paced: as much of a gradient as the network carries while the step computes anyway, found out while training.

    rung j of a compressor   its ratio / 2^j, or j bits fewer (never below 2)
    allowed                  `within`; without it what hides behind computing: the seconds from the first gradient to
                             the end of backward, measured in the step before, times the lanes, shared out to buckets
                             half evenly and half by elements. What is said after the step (`local(h)`, `fifo`) may
                             take as long as the computing since the last exchange
    milder would take        t bits(j - 1) / bits(j), if this one took t: the cost a + b m of a message with a = 0, so
                             never less than it will
    every `window` exchanges   harsher by one rung if more than half of them took longer than allowed anywhere
                               milder by one rung if, on every rank, all of them would have taken less than half of it

How long an exchange takes is what its own rank sees, waiting for others included. Ranks tell each other the counts in
the round of that step's messages and take the largest, so all decide alike; changes are in `replica.decisions`. A link
that becomes slow in mid-training is answered within a window, and forgotten when it is fast again. In the manner of DC2
(Abdelmoniem, Canini, INFOCOM 2021). Differs: steps of two instead of a controller, and a band in which nothing changes.

Stand it inside a memory: `ef(paced(topk(0.1)))`, or `ef(paced(topk(0.1), within=20))`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import NOMINAL, AbstractCompressor, Traits
from laconic.compress.one_shot import AbstractOneShot, Owned
from laconic.compress.split import joined, jointly
from laconic.core.bucket import BucketSpec
from laconic.core.clock import WallClock
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Max, Seat, Turn

CALM = 0.5  # of the time allowed
FEWEST_BITS = 2


class Rung(NamedTuple):
    rung: Tensor
    seen: Tensor  # exchanges of this window
    late: Tensor  # of them longer than allowed
    early: Tensor  # of them that could have been milder
    inner: Any


@dataclass(frozen=True)
class Paced(AbstractCompressor):
    """Keep fewer elements, or bits, while exchanges take too long, and more again when they do not."""

    inner: AbstractCompressor
    within: float = 0.0  # milliseconds an exchange of one bucket may take; 0: what hides behind computing
    window: int = 16  # exchanges
    rungs: int = 6

    name: ClassVar[str] = "paced"

    def __post_init__(self) -> None:
        if not self.within >= 0:
            raise PlanError(f"paced(within={self.within!r}): milliseconds above 0, or none for what computing hides.")
        if self.window < 2 or self.rungs < 2:
            raise PlanError(
                f"paced(window={self.window}, rungs={self.rungs}): at least 2 exchanges, since the last of a window "
                f"tells about those before it, and 2 rungs."
            )
        if self.inner.traits(NOMINAL).remembers:
            raise PlanError(f"paced({self.inner}): put the memory around it: ef(paced(...)).")
        if not isinstance(self.inner, AbstractOneShot) or self.rung(1) == self.inner:
            raise PlanError(
                f"paced({self.inner}): there is no ratio and no number of bits in it to turn down. Use for example "
                f"topk(0.1) or qsgd(bits=8)."
            )

    def rung(self, number: int) -> AbstractCompressor:
        changed: dict[str, Any] = {}
        for f in fields(self.inner):  # type: ignore[arg-type]  # concrete compressors are dataclasses
            if f.name == "ratio":
                changed[f.name] = getattr(self.inner, f.name) / 2**number
            elif f.name == "bits":
                changed[f.name] = max(FEWEST_BITS, getattr(self.inner, f.name) - number)
        return replace(self.inner, **changed)  # type: ignore[type-var]

    @property
    def adapts(self) -> bool:
        return True

    @property
    def follows_pace(self) -> bool:
        return not self.within

    @property
    def spares_small(self) -> bool:
        return self.inner.spares_small

    def traits(self, spec: BucketSpec) -> Traits:
        return joined([self.rung(number).traits(spec) for number in (0, self.rungs - 1)])

    def payload_bits(self, spec: BucketSpec) -> int:
        """At most: those of the first rung."""
        return self.inner.payload_bits(spec)

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Rung:
        zero = torch.zeros((), dtype=torch.int64)
        return Rung(zero, zero, zero, zero, self.inner.init(spec, seat, remember=remember))

    async def exchange(self, x: Tensor, state: Rung, spec: BucketSpec, turn: Turn) -> Exchanged:
        rung, clock = int(state.rung), WallClock() if turn.minutes is None else turn.minutes.clock
        codec, allowed_ms = self.rung(rung), self.allowed_ms(spec, turn)
        seen, started = int(state.seen) + 1, clock.now()
        program = codec.exchange(x, _damped(state.inner, codec, spec), spec, turn)
        if seen < self.window:
            out = await program
            late, early = self._judged(1e3 * (clock.now() - started), allowed_ms, rung, spec)
            counts = (torch.tensor(seen), state.late + late, state.early + early)
            return out._replace(state=Rung(state.rung, *counts, out.state))
        told = torch.tensor([float(state.late), -float(state.early), -(allowed_ms or 0.0)], dtype=torch.float64)
        out, answer = await jointly(program, _largest(told.to(x.device)))
        worst, calm, shortest = answer.mean.tolist()
        after = self._decided(rung, int(worst), int(-calm))
        if after != rung:
            turn.decided(spec, codec, self.rung(after), self._why(after > rung, int(worst), -shortest))
        zero = torch.zeros((), dtype=torch.int64)
        return out._replace(state=Rung(torch.tensor(after), zero, zero, zero, out.state))

    def allowed_ms(self, spec: BucketSpec, turn: Turn) -> float | None:
        """None: nobody has measured yet what a step computes, so nothing is late and nothing early."""
        if self.within:
            return self.within
        seconds = None if turn.minutes is None else turn.minutes.allowed_s(spec)
        return None if seconds is None else 1e3 * seconds

    def _judged(self, took_ms: float, allowed_ms: float | None, rung: int, spec: BucketSpec) -> tuple[bool, bool]:
        """Was it late? Would it have been early, one rung milder?"""
        if allowed_ms is None:
            return False, False
        bits = [max(1, self.rung(number).payload_bits(spec)) for number in (max(0, rung - 1), rung)]
        return took_ms > allowed_ms, took_ms * bits[0] / bits[1] < CALM * allowed_ms

    def _decided(self, rung: int, late: int, early: int) -> int:
        """`late` on the worst rank, `early` on the worst rank; the exchange that tells them is not among them."""
        if 2 * late > self.window - 1:
            return min(rung + 1, self.rungs - 1)
        return max(rung - 1, 0) if early == self.window - 1 else rung

    def _why(self, harsher: bool, late: int, allowed_ms: float) -> str:
        time = f"the {allowed_ms:.3g} ms that {'are allowed' if self.within else 'computing hides'}"
        if harsher:
            return f"{late} of {self.window - 1} exchanges took longer than {time}"
        return f"all {self.window - 1} exchanges would have taken less than {CALM:.0%} of {time}"


async def _largest(told: Tensor) -> Exchanged:
    out = await Max(told)
    return Exchanged(out, out, ())


def _damped(state: Any, codec: AbstractCompressor, spec: BucketSpec) -> Any:
    """An owner's damping is that of the rung in use."""
    if not isinstance(state, Owned) or (not state.error.numel() and float(state.damping) == 1.0):
        return state
    return state._replace(damping=torch.tensor(codec.traits(spec).damping))
