"""Which plans are worth trying against DDP, and for how many steps.

Of those predicted to be faster the best, and the best that asks less of the model (else the next); and `planned` where
DDP waits, whatever is predicted: it is lossless, and keeps DDP's buckets unless its own are faster. A plan counts only
if the training has steps enough to judge it: rare exchanges have to be seen, orders that are worked out while training
have to settle.
"""

from __future__ import annotations

from dataclasses import dataclass

from laconic.pilot import WARM, WATCH
from laconic.plan import Plan
from laconic.planner.candidates import candidates
from laconic.planner.risk import MILDEST_FIRST, Risk
from laconic.planner.search import DDP, Ranking
from laconic.schedule.halving import ROUNDS, WINDOW
from laconic.sim.turns import period

STEPS = 24  # of a try
SETTLING = WARM + WATCH + 2 * ROUNDS * (WINDOW + 1) + 2  # steps until a measured order has been tried against the usual
FEW = 8  # steps after that, at least
PLANNED, WAITS = "planned", 0.1  # tried where DDP waits for more than this share of a step


@dataclass(frozen=True)
class Finalist:
    """What is tried against DDP."""

    text: str
    risk: Risk
    predicted_s: float | None = None  # None: virtual time cannot follow it

    @property
    def settling(self) -> int:
        """Steps until an order that is worked out while training has been."""
        return SETTLING if self.text != DDP and Plan.parse(self.text).schedule.is_measured else 0

    @property
    def every(self) -> int:
        """Steps from one exchange to the next."""
        return 1 if self.text == DDP else period(Plan.parse(self.text))

    @property
    def steps(self) -> int:
        """Of a try: rare exchanges have to be seen, too."""
        return self.settling + STEPS // 2 if self.settling else max(STEPS, self._rarest)

    @property
    def _rarest(self) -> int:
        """Steps in which a plan that talks now and then has talked twice."""
        return 2 * self.every + 1 if self.every > 1 else 0

    def settles(self, steps: int) -> bool:
        """Is a training of so many steps long enough for it?"""
        return steps >= (self.settling + FEW if self.settling else self._rarest)


def faster(ranking: Ranking) -> list[Finalist]:
    """Than DDP, by prediction; the best first."""
    limit = ranking.ddp.step.seconds
    better = (f for f in ranking.found if f.distributes and f.text not in (DDP, "none") and f.step.seconds < limit)
    return [Finalist(f.text, f.risk, f.step.seconds) for f in better]


def finalists(ranking: Ranking, steps: int | None) -> list[Finalist]:
    """For a training of so many steps; None: of enough."""
    better = [f for f in faster(ranking) if steps is None or f.settles(steps)]
    out = better[:1]
    if out:
        milder = [f for f in better if MILDEST_FIRST.index(f.risk) < MILDEST_FIRST.index(out[0].risk)]
        out += (milder or better[1:])[:1]
    ddp = ranking.ddp
    if ddp.step.exposed_s > WAITS * ddp.step.seconds and PLANNED not in [f.text for f in out]:
        known = next((f.step.seconds for f in ranking.found if f.text == PLANNED), None)
        planned = Finalist(PLANNED, Risk.LOSSLESS, known)
        out += [planned] if steps is None or planned.settles(steps) else []
    return out


def nothing_to_try(ranking: Ranking) -> str:
    """The reason, where there are no finalists."""
    count = len(faster(ranking))
    if not count:
        return "No other plan allowed here is predicted to be faster."
    return f"None of the {count} plans that are predicted to be faster can be judged in so few steps."


def longest() -> int:
    """A script that takes so many steps can be tried with any candidate."""
    return max(Finalist(text, Risk.STALE).steps for text in candidates(lossy=True))
