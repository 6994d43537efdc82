"""Which plans are compared: the user's, torch's own DDP with its hooks, and the floor that never talks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from laconic import baseline
from laconic.core.errors import UsageError
from laconic.plan import Plan, check_text
from laconic.presets import expand_all
from laconic.sync import Subject

DDP = "ddp"
FLOOR = "silent"
NOT_CHOSEN = "ddp, as nothing was chosen"  # beside `auto`
BASELINES = (DDP, "ddp+bf16", "ddp+powersgd(4)", "ddp+powersgd(1)")
DEFAULT_PLANS = ("ef(topk(0.01))", "ef(powersgd(4))", "local(8) / bf16", "local(8) / ef(powersgd(4))")


class Kind(Enum):
    BASELINE = "baseline"
    PLAN = "plan"
    FLOOR = "floor"


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    text: str  # as the user wrote it
    plan: str  # its canonical form
    kind: Kind


def choose(plans: Iterable[str], baselines: Iterable[str] = BASELINES) -> tuple[Row, ...]:
    """Baselines first (DDP before all), then plans, the floor last; a plan that is named twice runs once."""
    texts = (DDP, *baselines, *expand_all(list(plans)), FLOOR)
    rows: dict[str, Row] = {}
    for text in texts:
        row = read(text)
        rows.setdefault(row.plan, row)
    order = list(Kind)
    return tuple(sorted(rows.values(), key=lambda row: order.index(row.kind)))


def read(text: str) -> Row:
    canonical = check_text(text)
    if baseline.parse(text) is not None:
        return Row(text.strip(), canonical, Kind.BASELINE)
    silent = Plan.parse(text).sync.subject is Subject.NOTHING
    return Row(text.strip(), canonical, Kind.FLOOR if silent else Kind.PLAN)


def split(text: str) -> list[str]:
    """`a; b; c`, or one a line; what follows a # is a remark."""
    lines = (line.partition("#")[0] for line in text.splitlines())
    found = [part.strip() for line in lines for part in line.split(";") if part.strip()]
    if not found:
        raise UsageError(f"{text.strip()[:80]!r} names no plan. Separate plans by ';', for example 'bf16; local(8)'.")
    return found


def names_a_baseline(texts: Sequence[str]) -> None:
    """Refuse what was given as a baseline and is none."""
    for text in texts:
        if baseline.parse(text) is None:
            raise UsageError(f"{text!r} is not a baseline; those begin with ddp. Put it into --plans.")


def period(row: Row) -> int:
    """Every how many steps this row talks: evaluations between two talks would make it talk more often."""
    if row.kind is not Kind.PLAN:
        return 1
    sync = Plan.parse(row.plan).sync
    return next((step for step in range(1, 10_000) if sync.talks(step)), 1)
