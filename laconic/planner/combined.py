"""The second round of a search: the best of each answer put together, most promising first.

    gain of a part     seconds of `none` / seconds of the plan that has this part and nothing else
    of a combination   the product of its parts' gains, as if they were about different things

Of every answer (when, with whom, what, in which order) the fastest few of each class of risk; first all pairs, then
threes and fours. What Plan refuses is passed over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

from laconic.core.errors import PlanError
from laconic.plan import Plan
from laconic.planner.risk import Risk, risk

SLOTS = ("sync", "topology", "compress", "schedule")
FASTEST = {Risk.LOSSLESS: 2, Risk.ROUNDED: 1, Risk.UNBIASED: 1, Risk.BIASED: 2, Risk.UNMENDED: 1, Risk.STALE: 2}
PAIRS, LARGER = 48, 12  # at most
BASE, JOINT = "none", " / "


class Part(NamedTuple):
    text: str
    slot: str
    risk: Risk
    gain: float


def combined(seen: Mapping[str, float]) -> list[str]:
    """From seconds by plan text, those of `none` among them: texts to look at next."""
    by_slot = _best(seen)
    pairs = [p for two in combinations(SLOTS, 2) for p in product(*(by_slot[slot] for slot in two))]
    larger = [p for n in (3, 4) for some in combinations(SLOTS, n) for p in product(*(by_slot[s] for s in some))]
    return [*_readable(pairs, PAIRS), *_readable(larger, LARGER)]


def _best(seen: Mapping[str, float]) -> dict[str, list[Part]]:
    parts = sorted(_parts(seen), key=lambda p: -p.gain)
    out: dict[str, list[Part]] = {slot: [] for slot in SLOTS}
    for p in parts:
        if sum(q.risk is p.risk for q in out[p.slot]) < FASTEST[p.risk]:
            out[p.slot].append(p)
    return out


def _parts(seen: Mapping[str, float]) -> Iterator[Part]:
    """Plans that answer one question unlike `none`."""
    usual = Plan()
    for text, seconds in seen.items():
        plan = Plan.parse(text)
        changed = [slot for slot in SLOTS if getattr(plan, slot) != getattr(usual, slot)]
        if len(changed) == 1:
            yield Part(text, changed[0], risk(plan), seen[BASE] / seconds)


def _readable(rows: Sequence[Sequence[Part]], most: int) -> list[str]:
    out: list[str] = []
    for parts in sorted(rows, key=lambda parts: -math.prod(p.gain for p in parts)):
        text = JOINT.join(p.text for p in parts)
        if len(out) < most and _is_plan(text):
            out.append(text)
    return out


def _is_plan(text: str) -> bool:
    try:
        Plan.parse(text)
    except PlanError:
        return False
    return True
