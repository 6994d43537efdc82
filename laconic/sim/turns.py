"""Which buckets a plan says in which of its steps, and which plans virtual time cannot follow.

    bsp, asp, ssp           all, in every step
    local(h), gossip        all, every h steps
    diloco(h, fragments=P)  bucket b in turn b mod P, a turn every h/P steps; lands `overlap` steps later
    cocod(h)                all, every h steps; lands h steps later
    blocks(B)               bucket b in step b mod B
    post_local(n, h)        as local(h), which it is after n steps
    adacomm, lupa           at the period they begin with: later ones follow the loss

All of it is asked of the sync itself, as the runtime does (stepping/rounds.py, stepping/turns.py).
"""

from __future__ import annotations

from dataclasses import replace

from laconic.core.errors import PlanError
from laconic.plan import Plan
from laconic.sync import (
    CMFL,
    AbstractAdaptive,
    AbstractLazy,
    AbstractRounds,
    AbstractShared,
    Blocks,
    Downpour,
    Local,
    PostLocal,
)
from laconic.topology import AllReduce, Gossip

FURTHEST = 100_000  # steps


def steady(plan: Plan) -> tuple[Plan, tuple[str, ...]]:
    """The plan as it trains in the long run, and what to say about that."""
    sync = plan.sync
    if isinstance(sync, PostLocal):
        after = Local(sync.h, sync.outer)
        return replace(plan, sync=after), (f"as {after}, which it is after {sync.after} steps",)
    if isinstance(sync, AbstractAdaptive):
        return plan, (f"at its first period, {sync.first} steps; later ones follow the loss",)
    return plan, ()


def refused(plan: Plan) -> str | None:
    """Why steps of this plan cannot be simulated, and what can be; None: they can."""
    sync, topology = plan.sync, plan.topology
    if isinstance(sync, AbstractLazy | CMFL):
        return (
            f"{sync}: who is silent depends on gradients, which virtual time does not have. Simulate bsp or local(h)."
        )
    if isinstance(topology, Gossip) and not topology.by.waits:
        return (
            f"{topology}: pairs meet beside the training, in no order that virtual time knows. Simulate "
            f"gossip({topology.graph}), whose rounds are waited for."
        )
    if isinstance(sync, AbstractShared) and isinstance(topology, AllReduce):
        return (
            f"'{sync} / {topology}' makes its rounds beside the training, whenever somebody begins one. Simulate "
            f"'{sync} / ps', or bsp."
        )
    if isinstance(sync, Blocks) and sync.delay:
        return f"{sync}: exchanges that last into the next step are not followed. Simulate {replace(sync, delay=0)}."
    if isinstance(sync, Downpour) and sync.push != sync.fetch:
        return (
            f"{sync}: pushes and fetches at different steps are not followed. Simulate downpour({sync.push}, "
            f"fetch={sync.push})."
        )
    return None


def period(plan: Plan) -> int:
    """Steps from one exchange to the next."""
    found = next((h for h in range(1, FURTHEST) if plan.sync.talks(h)), None)
    if found is None:
        raise PlanError(f"{plan.sync}: it never talks within {FURTHEST:,} steps, so its step cannot be simulated.")
    return found


def parts(plan: Plan, buckets: int) -> int:
    """Turns that say a part of the model each; bucket b is said in turn b modulo this."""
    sync, count = plan.sync, plan.sync.parts
    if count > buckets:
        what = "blocks" if isinstance(sync, Blocks) else "fragments"
        raise PlanError(
            f"{sync}: this model is cut into {buckets} buckets, which cannot be shared by {count} {what}. Use wfbp or "
            f"a smaller fused(bucket=...), or fewer {what}."
        )
    return count


def lag(plan: Plan) -> int:
    """Steps behind which an exchange hides."""
    return plan.sync.lag if isinstance(plan.sync, AbstractRounds) else 0
