"""Paced: as much of a gradient as the network carries in a given time, found out while training.

    rung j of a compressor   its ratio / 2^j, or j bits fewer (never below 2)
    every `window` steps     harsher by one rung if more than half of the exchanges took longer than `within` anywhere
                             milder by one rung if, on every rank, all of them took less than a quarter of it

How long an exchange takes is what its own rank sees, waiting for others included. Ranks tell each other the counts in
the round of that step's messages and take the largest, so all decide alike; a change is logged by rank 0. A link that
becomes slow in mid-training is answered within a window, and forgotten when it is fast again. In the manner of DC2
(Abdelmoniem, Canini, INFOCOM 2021). Differs: steps of two instead of a controller, and a band in which nothing changes.

Stand it inside a memory: `ef(paced(topk(0.1), within=20))`.
"""

from __future__ import annotations

import logging
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

CALM = 0.25  # of the time allowed
FEWEST_BITS = 2


class Rung(NamedTuple):
    rung: Tensor
    seen: Tensor  # exchanges of this window
    late: Tensor  # of them longer than allowed
    early: Tensor  # of them shorter than a quarter of it
    inner: Any


@dataclass(frozen=True)
class Paced(AbstractCompressor):
    """Keep fewer elements, or bits, while exchanges take too long, and more again when they do not."""

    inner: AbstractCompressor
    within: float = 50.0  # milliseconds an exchange of one bucket may take
    window: int = 16  # steps
    rungs: int = 6

    name: ClassVar[str] = "paced"

    def __post_init__(self) -> None:
        if not self.within > 0:
            raise PlanError(f"paced(within={self.within!r}): milliseconds above 0.")
        if self.window < 1 or self.rungs < 2:
            raise PlanError(f"paced(window={self.window}, rungs={self.rungs}): at least 1 step and 2 rungs.")
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
        codec, clock = self.rung(int(state.rung)), WallClock()
        seen, started = int(state.seen) + 1, clock.now()
        program = codec.exchange(x, _damped(state.inner, codec, spec), spec, turn)
        if seen < self.window:
            out = await program
            took_ms = 1e3 * (clock.now() - started)
            late, early = state.late + (took_ms > self.within), state.early + (took_ms < CALM * self.within)
            return out._replace(state=Rung(state.rung, torch.tensor(seen), late, early, out.state))
        out, counts = await jointly(program, _largest(state.late, -state.early, x.device))
        worst, calm = (int(v) for v in counts.mean.tolist())
        rung = self._decided(int(state.rung), worst, -calm)
        if rung != int(state.rung) and turn.rank == 0:
            logging.getLogger("laconic").info(
                "step %d, bucket %d (%s): %d of %d exchanges took longer than %g ms; from here on %s",
                *(turn.step, spec.id, spec.names[0], worst, self.window - 1, self.within, self.rung(rung)),
            )
        zero = torch.zeros((), dtype=torch.int64)
        return out._replace(state=Rung(torch.tensor(rung), zero, zero, zero, out.state))

    def _decided(self, rung: int, late: int, early: int) -> int:
        """`late` on the worst rank, `early` on the worst rank; the step that tells them is not among them."""
        if 2 * late > self.window - 1:
            return min(rung + 1, self.rungs - 1)
        return max(rung - 1, 0) if early == self.window - 1 else rung


async def _largest(late: Tensor, early: Tensor, device: torch.device) -> Exchanged:
    counts = await Max(torch.stack([late, early]).to(torch.float32).to(device))
    return Exchanged(counts, counts, ())


def _damped(state: Any, codec: AbstractCompressor, spec: BucketSpec) -> Any:
    """An owner's damping is that of the rung in use."""
    if not isinstance(state, Owned) or (not state.error.numel() and float(state.damping) == 1.0):
        return state
    return state._replace(damping=torch.tensor(codec.traits(spec).damping))
