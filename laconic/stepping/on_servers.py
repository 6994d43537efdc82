"""A shared model on parameter servers: push the step, pull the model. What sync/shared.py decides is done here.

    ask for the model as it will be when my step is in (and everyone's of `bound` steps ago);  push the step;  read

Key k of the table is a bucket. When all workers flush they rest: nobody waits for them, and those who have steps left
go on without them. The bound of `ssp` is checked in every answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from laconic.compress.identity import average
from laconic.compress.solo import Solo, solo
from laconic.core.errors import LaconicError, StateError, UsageError
from laconic.core.exchange import Turn
from laconic.drive.base import Place
from laconic.drive.rule import Rule
from laconic.drive.table import Table
from laconic.gossiping import check_finite
from laconic.stepping.statistics import average_statistics
from laconic.sync.clocks import must_have
from laconic.sync.shared import IN_ROUNDS, AbstractShared

if TYPE_CHECKING:
    from laconic.replica import Replica


class OnServers:
    def __init__(self, sync: AbstractShared, table: Table, replica: Replica, closing: Callable[[], None]) -> None:
        self.sync, self.table, self._closing = sync, table, closing
        self.staleness = self.pushed = 0
        self._said: list[Tensor] = []  # the shared model as read, and what was said of my own since
        self._versions = [0] * len(replica.buckets)
        self._epoch = -1
        self._solo: list[Solo] = [solo(b.compress, b.spec, str(sync)) for b in replica.buckets]
        self._residuals = [s.init(b.device) for s, b in zip(self._solo, replica.buckets, strict=True)]
        self.restart(replica)

    @property
    def dropped(self) -> int:
        """In steps; a step counts when any of its buckets was dropped, however many there are."""
        return -(-self.table.dropped // len(self._versions))

    # ------------------------------------------------------------- stepping

    def after_step(self, replica: Replica) -> None:
        pushes, pulls = self.sync.pushes(replica.steps), self.sync.pulls(replica.steps)
        if pushes:
            check_finite(replica, [b.values() for b in replica.buckets])
            self.pushed += 1
        asked = [self._ask(b) for b in range(len(replica.buckets))] if pulls else []
        if pushes:
            self._push(replica)
        if pulls:
            self._read(replica, asked)

    def flush(self, replica: Replica) -> None:
        """Everyone's steps are in, and everyone reads the same."""
        check_finite(replica, [b.values() for b in replica.buckets])
        if not self.sync.pushes(replica.steps):
            self.pushed += 1
            self._push(replica)
        self.table.rest(True)
        self.table.settle()
        _meet(replica)
        asked = [self.table.ask(self._key(b), exact=True) for b in range(len(replica.buckets))]
        self._read(replica, asked, bounded=False)
        _meet(replica)
        self.table.rest(False)
        average_statistics(replica)
        replica.since = 0
        _meet(replica)  # nobody begins before all are back

    def restart(self, replica: Replica, *, loaded: bool = False) -> None:
        """The model of this moment becomes the shared one, under new keys."""
        self._epoch += 1
        self.pushed = 0
        self._said = [b.values() for b in replica.buckets]
        self._versions = [0] * len(replica.buckets)
        for number, bucket in enumerate(replica.buckets):
            one, key = self._solo[number], self._key(number)
            if one.codec is not None:
                self.table.readers[key] = one.clerk(replica.seat)
            self.table.start(key, _wide(self._said[number], one), self._rule(one, replica))
            assert bucket.spec.id == number, "buckets stand in order"

    def observe(self, loss: float) -> None:
        pass

    def close(self) -> None:
        closing, self._closing = self._closing, lambda: None
        closing()

    def _rule(self, one: Solo, replica: Replica) -> Rule:
        s, dense = self.sync, one.codec is not None and not one.codec.sparse
        return Rule(
            lr=one.damping,
            mean=s.order != IN_ROUNDS,
            damped=s.damped,
            limit=-1 if s.limit is None else s.limit,
            compensation=s.compensation,
            order=s.order,
            backup=s.backup,
            grace_s=s.grace_s,
            changes=one.codec is not None and one.codec.sparse,
            clerk=one.clerk(replica.seat).text() if dense else "",
            damping=one.codec.traits(one.spec).damping if one.codec is not None else 1.0,
        )

    def _key(self, number: int) -> int:
        return self._epoch * len(self._versions) + number

    # ------------------------------------------------------------- messages

    def _ask(self, number: int) -> int:
        newer = self._versions[number] + 1 if self.sync.order == IN_ROUNDS else 0
        everyone = 0 if self.sync.order != "any" else must_have(self.pushed, self.sync.bound)
        return self.table.ask(self._key(number), newer, everyone, own=self.pushed)

    def _push(self, replica: Replica) -> None:
        for number, (bucket, one) in enumerate(zip(replica.buckets, self._solo, strict=True)):
            now = bucket.values()
            step, key = _wide(now, one) - _wide(self._said[number], one), self._key(number)
            self._said[number] = now
            if one.codec is None:
                self.table.push(key, step)
                continue
            turn = Turn(replica.seat, self.pushed)
            message, self._residuals[number] = one.write(step, self._residuals[number], turn)
            self.table.push_packed(key, message, one.clerk(replica.seat), self.pushed)

    def _read(self, replica: Replica, asked: list[int], *, bounded: bool = True) -> None:
        for number, (bucket, ticket) in enumerate(zip(replica.buckets, asked, strict=True)):
            value, version, slowest = self.table.take(ticket, self._key(number))
            unsaid = bucket.values() - self._said[number]
            new = value.to(unsaid) + unsaid
            bucket.write_values(new)
            self._said[number], self._versions[number] = value.to(unsaid), version
            if bounded and self.sync.order == "any":
                self._check_bound(slowest)

    def _check_bound(self, slowest: int) -> None:
        behind = max(0, self.pushed - slowest)
        self.staleness = max(self.staleness, behind)
        if self.sync.bound is not None and behind > self.sync.bound:
            raise LaconicError(
                f"{self.sync} was broken: a model was read at step {self.pushed} while the slowest worker was at "
                f"{slowest}. This is a mistake of laconic; please report it."
            )

    # ------------------------------------------------------------- checkpoints

    def pack(self, replica: Replica) -> dict[str, Any]:
        check_flushed(replica)
        return {"residuals": [r.clone() for r in self._residuals]}

    def unpack(self, saved: dict[str, Any], replica: Replica) -> None:
        residuals = saved.get("residuals", [])
        if [r.shape for r in residuals] != [r.shape for r in self._residuals]:
            raise StateError("The checkpoint's error memories are those of another plan or model.")
        self._residuals = [r.clone() for r in residuals]
        self.restart(replica)


def check_flushed(replica: Replica) -> None:
    if replica.since:
        raise UsageError(
            f"{replica.plan.sync} has a model on its way to or from others. Call replica.flush() on all ranks before "
            f"state_dict()."
        )


def _wide(x: Tensor, one: Solo) -> Tensor:
    """Small steps must not vanish in a model of half precision; codecs speak float32."""
    kind = torch.float32 if one.codec is not None else torch.promote_types(x.dtype, torch.float32)
    return x.to("cpu", kind, copy=True)


def _meet(replica: Replica) -> None:
    """Turns count these meetings only: in steps workers are not at the same place."""
    replica.turns += 1
    replica.driver.launch(Place(replica.turns, 0, "flush"), average(torch.zeros(1)))
    replica.driver.finish()
