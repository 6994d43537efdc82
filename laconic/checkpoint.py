"""A replica's own state as plain tensors and numbers: residuals, warm starts, anchors, counters.

Every rank has its own (its residual is what *it* has not said yet), so each saves and loads its own file. What servers
remember is in it too, a share in each rank's. It loads with `torch.load(..., weights_only=True)`. Continuing from it
equals never having stopped, bit for bit.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from laconic.core import state as tree
from laconic.core.errors import StateError
from laconic.drive.apart import Apart
from laconic.drive.recall import recall, remind
from laconic.stepping.rounds import Rounds

if TYPE_CHECKING:
    from laconic.replica import Replica

_FORMAT = 1


def pack_state(replica: Replica) -> dict[str, Any]:
    # first of all: a round under way arrives, which changes memories and counts a turn
    when = {} if replica.stepping is None else replica.stepping.pack(replica)
    return {
        **_identity(replica),
        "steps": replica.steps,
        "turns": replica.turns,
        "since": replica.since,
        "skipped": replica.skipped,
        "state": {f"{i}": tree.to_dict(s) for i, s in enumerate(replica.state)},
        "anchor": [a.clone() for a in replica.anchor],
        "cut": [list(b.spec.names) for b in replica.buckets],
        "chunk_bytes": replica.chunk_bytes,
        "when": when,
        "servers": replica.driver.ask(recall) if isinstance(replica.driver, Apart) else {},
    }


def unpack_state(replica: Replica, saved: dict[str, Any]) -> None:
    """Checks everything before it changes anything."""
    if not isinstance(saved, dict):
        raise StateError(f"A checkpoint of a replica is a dict, this is a {type(saved).__name__}.")
    _adopt_cut(replica, saved)
    for key, value in _identity(replica).items():
        if saved.get(key) != value:
            raise StateError(
                f"This checkpoint has {key} = {saved.get(key)!r}, this run {value!r}. Load each rank's own file into "
                f"the same plan, model and number of workers; to start over, do not load it."
            )
    missing = {"steps", "turns", "since", "skipped", "state", "anchor", "when"} - saved.keys()
    if missing or len(saved["state"]) != len(replica.state) or len(saved["anchor"]) != len(replica.anchor):
        raise StateError(f"The checkpoint is incomplete: {', '.join(sorted(missing)) or 'buckets are missing'}.")
    if isinstance(replica.stepping, Rounds):
        replica.stepping.check(saved["when"])
    fresh = [tree.from_dict(s, saved["state"][f"{i}"]) for i, s in enumerate(replica.state)]
    anchor = [tree.from_dict(a, {"": s}) for a, s in zip(replica.anchor, saved["anchor"], strict=True)]
    if isinstance(replica.stepping, Rounds):
        replica.stepping.abandon(replica)  # or it would arrive in what is loaded
    replica.state, replica.anchor = fresh, anchor
    replica.steps, replica.turns = saved["steps"], saved["turns"]
    replica.since, replica.skipped = saved["since"], saved["skipped"]
    if replica.stepping is not None:
        replica.stepping.unpack(saved["when"], replica)
    if isinstance(replica.driver, Apart):
        replica.driver.ask(lambda desk: remind(desk, saved.get("servers", {})))


def _adopt_cut(replica: Replica, saved: dict[str, Any]) -> None:
    """Buckets that were measured and merged anew are part of the state."""
    number = {name: i for i, name in enumerate(replica.inventory.trained)}
    named = saved.get("cut")
    if replica.pilot is None or saved.get("plan") != str(replica.plan) or not isinstance(named, list):
        return
    runs = tuple(tuple(number.get(name, -1) for name in names) for names in named)
    if sorted(i for run in runs for i in run) == sorted(number.values()):
        replica.pilot.adopt(runs, saved.get("chunk_bytes"))


def _identity(replica: Replica) -> dict[str, Any]:
    layout = "\n".join(f"{b.spec.names} {b.spec.shapes} {b.spec.dtype}" for b in replica.buckets)
    return {
        "format": _FORMAT,
        "plan": str(replica.plan),
        "world": replica.seat.world,
        "rank": replica.seat.rank,
        "seed": replica.seat.seed,
        "buckets": hashlib.sha256(layout.encode()).hexdigest()[:16],
    }
