"""Rounds of agreement: what sync/rounds.py decides is done here.

    after_step   land the round under way if it is time; start the one that is due
    flush        land, then one round of the whole model: replicas are equal

A round under way is finished by the driver while training goes on. A checkpoint waits for its messages (all ranks have
sent theirs already) and keeps the means, to be applied when the round would have landed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from laconic.buckets import Bucket
from laconic.census import Verdict
from laconic.compress.identity import average
from laconic.core.errors import NonFiniteError, PlanError, StateError, UsageError
from laconic.outer import Memory, Round
from laconic.sync import AbstractAdaptive, AbstractRounds, AbstractSync

if TYPE_CHECKING:
    from laconic.replica import Replica


@dataclass
class _Flight:
    """A round under way."""

    buckets: list[Bucket]
    said: list[Tensor]  # models as they were; empty where nobody will ask
    started: int  # step
    arrived: tuple[Verdict | None, list[Tensor]] | None = None


@dataclass
class _Pace:
    """Of rounds that follow the loss; equal on all ranks but for what was seen since the last."""

    period: int
    last: int = 0  # step of the last round
    rounds: int = 0
    first_loss: float | None = None
    first_lr: float = 0.0
    seen: list[float] = field(default_factory=list)


class Rounds:
    def __init__(self, sync: AbstractRounds, replica: Replica) -> None:
        if sync.parts > len(replica.buckets):
            raise PlanError(
                f"{sync}: the model is cut into {len(replica.buckets)} buckets, which cannot be shared by {sync.parts} "
                f"fragments. Use wfbp or a smaller fused(bucket=...), or fewer fragments."
            )
        self.sync, self.outer = sync, sync.outer_by()
        self.memory: list[Memory] = [self.outer.init(b.values()) for b in replica.buckets]
        self.pace = _Pace(sync.first if isinstance(sync, AbstractAdaptive) else 0)
        self._flight: _Flight | None = None

    @classmethod
    def of(cls, sync: AbstractSync, replica: Replica) -> Rounds | None:
        return cls(sync, replica) if isinstance(sync, AbstractRounds) else None

    # ------------------------------------------------------------- stepping

    def after_step(self, replica: Replica) -> None:
        flight = self._flight
        if flight is not None and replica.steps - flight.started >= self.sync.lag:
            self._land(replica)
        fragment = self._due(replica.steps)
        if fragment is not None:
            self._start(replica, [b for b in replica.buckets if b.spec.id % self.sync.parts == fragment])
            if self.sync.lag == 0:
                self._land(replica)

    def flush(self, replica: Replica) -> None:
        if self._flight is not None:
            self._land(replica)
        self._start(replica, replica.buckets)
        self._land(replica, to_agreed=True)
        replica.since = 0

    def restart(self, replica: Replica, *, loaded: bool = False) -> None:
        if replica.since == 0 and not loaded:
            replica.anchor = [b.values() for b in replica.buckets]
            self.memory = [self.outer.init(a) for a in replica.anchor]

    def observe(self, loss: float) -> None:
        if isinstance(self.sync, AbstractAdaptive):
            self.pace.seen.append(float(loss))

    def close(self) -> None:
        self._flight = None

    def _due(self, step: int) -> int | None:
        if isinstance(self.sync, AbstractAdaptive):
            return 0 if step - self.pace.last >= self.pace.period else None
        return self.sync.starts(step)

    # ------------------------------------------------------------- a round

    def _start(self, replica: Replica, live: list[Bucket]) -> None:
        said = []
        replica.talk.launch_early()
        for bucket in live:
            said.append(torch.empty(0) if self.sync.agrees else bucket.values())
            memory = replica.talk.error_memory(bucket)
            replica.talk.launch(bucket, *bucket.way(replica.anchor[bucket.spec.id], memory))
        if isinstance(self.sync, AbstractAdaptive):
            place = replica.talk.place_after(2, "loss")
            replica.driver.launch(place, average(torch.tensor([self._mean_loss()], dtype=torch.float64)))
        replica.talk.launch_vote([[True] * len(b.params) for b in live])
        self._flight = _Flight(live, said, replica.steps)

    def _mean_loss(self) -> float:
        seen, self.pace.seen = self.pace.seen, []
        if not seen:
            raise UsageError(
                f"{self.sync} follows the loss, but no step since the last round has told it. Call "
                f"replica.observe(loss.item()) in every step."
            )
        return sum(seen) / len(seen)

    def _arrive(self, replica: Replica) -> tuple[Verdict | None, list[Tensor]]:
        flight = self._flight
        assert flight is not None, "nothing is under way"
        if flight.arrived is None:
            flight.arrived = replica.talk.finish(flight.buckets, int(isinstance(self.sync, AbstractAdaptive)))
        return flight.arrived

    def _land(self, replica: Replica, *, to_agreed: bool = False) -> None:
        verdict, means = self._arrive(replica)
        flight, self._flight = self._flight, None
        assert flight is not None, "it has just arrived"
        if verdict is not None and verdict.culprit is not None:
            sentence = replica.take_objection() or "A rank found NaN or infinity."
            raise NonFiniteError(f"{sentence} This came up when models were averaged after step {flight.started}.")
        if isinstance(self.sync, AbstractAdaptive):
            self._keep_pace(self.sync, float(means.pop()), replica)
        for bucket, then, mean in zip(flight.buckets, flight.said, means, strict=True):
            number, now = bucket.spec.id, Round(replica.lr(bucket), replica.seat.world)
            agreed, self.memory[number] = self.outer.step(replica.anchor[number], mean, self.memory[number], now)
            replica.anchor[number] = agreed
            stays = to_agreed or (self.sync.lag == 0 and self.sync.agrees)
            bucket.write_values(agreed if stays else self.sync.go_on(bucket.values(), then, agreed))
        if flight.started == replica.steps:  # earlier ones would set back what norm layers have seen since
            replica.talk.write_statistics()
        if self.sync.agrees:
            replica.since = 0

    def _keep_pace(self, sync: AbstractAdaptive, loss: float, replica: Replica) -> None:
        pace, lr = self.pace, replica.lr(replica.buckets[0])
        pace.last, pace.rounds = replica.steps, pace.rounds + 1
        if pace.first_loss is None:
            pace.first_loss, pace.first_lr = loss, lr
            return
        share = lr / pace.first_lr if pace.first_lr > 0 else 1.0
        pace.period = sync.period(pace.period, pace.first_loss, loss, share, pace.rounds)

    # ------------------------------------------------------------- checkpoints

    def pack(self, replica: Replica) -> dict[str, Any]:
        pace, flight = self.pace, self._flight
        saved: dict[str, Any] = {
            "outer": [[t.clone() for t in memory] for memory in self.memory],
            "pace": [pace.period, pace.last, pace.rounds, pace.first_loss, pace.first_lr, list(pace.seen)],
            "flight": None,
        }
        if flight is not None:
            verdict, means = self._arrive(replica)
            if verdict is not None and verdict.culprit is not None:
                raise NonFiniteError("The round under way cannot be saved: a rank found NaN or infinity in it.")
            saved["flight"] = {
                "buckets": [b.spec.id for b in flight.buckets],
                "said": [t.clone() for t in flight.said],
                "started": flight.started,
                "means": [t.clone() for t in means],
            }
        return saved

    def abandon(self, replica: Replica) -> None:
        """Another state is about to be loaded, on all ranks: what is under way arrives and is dropped."""
        if self._flight is not None:
            verdict, _ = self._arrive(replica)
            if verdict is not None and verdict.culprit is not None:
                replica.take_objection()
            self._flight, replica.talk.statistics = None, torch.empty(0)

    def check(self, saved: dict[str, Any]) -> None:
        """Can it be unpacked?"""
        if not {"outer", "pace", "flight"} <= saved.keys() or len(saved["outer"]) != len(self.memory):
            raise StateError("The checkpoint's outer optimizer is incomplete.")
        flight = saved["flight"]
        if flight is not None and not {"buckets", "said", "started", "means"} <= flight.keys():
            raise StateError("The checkpoint's round under way is incomplete.")

    def unpack(self, saved: dict[str, Any], replica: Replica) -> None:
        self.memory = [tuple(t.clone() for t in memory) for memory in saved["outer"]]
        self.pace = _Pace(*saved["pace"])
        flight, self._flight = saved["flight"], None
        if flight is not None:
            buckets = [replica.buckets[i] for i in flight["buckets"]]
            self._flight = _Flight(buckets, flight["said"], flight["started"], (None, list(flight["means"])))
