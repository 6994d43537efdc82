"""One worker's copy of the model: hook -> bucket -> schedule -> exchange -> write back -> step.

Read it from top to bottom. Hooks are attached in place, so the training loop and `state_dict` keys stay as they were:

    loss.backward()    every gradient that becomes final fires `_ready`; a full bucket is launched
                       at the end of the pass `_end_of_backward` finishes all exchanges, takes the vote and,
                       if nobody objects, writes the means into `.grad` and keeps the new states
    optimizer.step()   `_before_step` refuses non-finite steps; `_after_step` lets local SGD average its models
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from laconic.buckets import Bucket, Unit, by_bucket, cut, joined, units
from laconic.census import Verdict, census
from laconic.checkpoint import pack_state, unpack_state
from laconic.compress.identity import add_up, add_up_in_halves, average
from laconic.core import memory
from laconic.core.bucket import flatten
from laconic.core.errors import NonFiniteError, UsageError
from laconic.core.exchange import Exchange, Exchanged, Seat, Turn
from laconic.core.state import holds
from laconic.drive.base import Driver, Place
from laconic.drive.lanes import Lanes
from laconic.gossiping import Gossiping, agree, consensus_distance, mix, stop
from laconic.inventory import Inventory
from laconic.net.link import Link, all_reduce_bytes
from laconic.plan import Plan
from laconic.stats import Stats
from laconic.sync import Subject
from laconic.trace.spans import Spans

if TYPE_CHECKING:
    from laconic.crossing import Crossing
    from laconic.pilot import Pilot


@dataclass(frozen=True)
class GradientHook:
    """What hangs on a parameter: tells its replica which gradient is final."""

    ready: Callable[[int, int], None]
    bucket: int
    position: int

    def __call__(self, parameter: Tensor) -> None:
        self.ready(self.bucket, self.position)


class Replica:
    def __init__(
        self,
        inventory: Inventory,
        optimizer: torch.optim.Optimizer,
        plan: Plan,
        seat: Seat,
        driver: Driver,
        link: Link,
        nonfinite: str,
    ) -> None:
        self.plan = plan
        self.inventory, self.optimizer = inventory, optimizer
        self.seat, self.driver, self.link, self.nonfinite = seat, driver, link, nonfinite
        self.groups = {id(p): i for i, group in enumerate(optimizer.param_groups) for p in group["params"]}
        self.subject = plan.subject
        self.spans: Spans | None = None  # where to note what was done when
        self.crossing: Crossing | None = None  # where steps are taken bucket by bucket, during the next forward pass
        self.pilot: Pilot | None = None  # measures steps and changes the order of messages accordingly
        self.buckets = cut(inventory.trained, plan.schedule, plan.compress, seat.world, self.groups)
        self.units = units(self.buckets, plan.schedule.chunk_bytes)
        self._pieces = by_bucket(self.units)
        self.gossiping = Gossiping(plan, seat) if self.subject is Subject.MODEL else None
        if self.gossiping is not None:
            self.state = self.gossiping.fresh(self.buckets)
        else:
            self.state = [self._fresh(b) for b in self.buckets]
        self.anchor = [b.values() for b in self.buckets] if self.subject is Subject.DELTA else []
        self.steps = self.turns = self.since = self.skipped = self.dense_bytes = 0
        self._quiet = False  # inside no_sync()
        self._passing = False  # inside a backward pass that will be exchanged
        self._exchanged = False  # the gradients in .grad are already means
        self._in_closure = False  # inside optimizer.step(closure)
        self._next = 0  # the unit to launch next
        self._means: list[Tensor] = []
        self._flats: dict[int, Tensor] = {}  # what this pass exchanges, by bucket
        self._bad: dict[int, list[bool]] = {}  # this pass's non-finite parameters, by bucket
        self._objection: str | None = None
        self._warned = False
        self.decisions: list[str] = []  # what was measured and chose while training
        self._idle_since = self._step_since = 0.0  # by the tracing clock
        self.reduced_by = ""  # which all-reduce algorithm, in words; set by distribute()
        self._loaded = False  # a checkpoint, since the last step
        self._hooks: list[Any] = [
            optimizer.register_step_pre_hook(self._before_step),
            optimizer.register_step_post_hook(self._after_step),
        ]
        self._gradient_hooks: list[Any] = []
        self._listen()

    def _listen(self) -> None:
        if self.subject is Subject.GRADIENT:
            for b, bucket in enumerate(self.buckets):
                for i, p in enumerate(bucket.params):
                    hook = GradientHook(self._ready, b, i)
                    self._gradient_hooks.append(p.register_post_accumulate_grad_hook(hook))

    def recut(self, buckets: list[Bucket], chunk_bytes: int | None) -> None:
        """Other buckets from here on, on all ranks alike, between two steps. What old ones remembered is forgotten."""
        assert not self._passing, "inside a backward pass"
        assert self.subject is Subject.GRADIENT, "only gradients are merged anew"
        for hook in self._gradient_hooks:
            hook.remove()
        self._gradient_hooks = []
        self.buckets, self.units = buckets, units(buckets, chunk_bytes)
        self._pieces = by_bucket(self.units)
        self.state = [self._fresh(b) for b in self.buckets]
        self._listen()

    def _fresh(self, bucket: Bucket) -> Any:
        """A bucket's state before its first exchange, a tuple of its chunks' where it is cut."""
        states = [bucket.compress.init(u.spec, self._seat(bucket)) for u in self._pieces[bucket.spec.id]]
        return tuple(states) if len(states) > 1 else states[0]

    # ------------------------------------------------------------- during backward

    def _ready(self, b: int, i: int) -> None:
        """Autograd says: this gradient is final for this pass."""
        if self._quiet:
            self._exchanged = False  # .grad now holds something the others have not seen
            return
        if not self._passing:
            self._begin()
        bucket = self.buckets[b]
        if i not in bucket.waiting:
            raise UsageError(
                f"The gradient of {bucket.spec.names[i]!r} became final twice in one backward pass, or the last pass "
                f"failed midway. Use checkpoint(use_reentrant=False); after a failed pass, close() this replica and "
                f"distribute again on all ranks."
            )
        if self.crossing is not None:
            self.crossing.check_fresh(bucket.spec.names[i])
        if self.pilot is not None:
            self.pilot.ready(bucket.spec.names[i])
        if self.spans is not None:
            now = self.spans.now()
            self.spans.add("ready", now, now, self.turns, b)
        bucket.take(i)
        if self.plan.schedule.overlaps:
            while self._next < len(self.units) and not self.buckets[self.units[self._next].bucket].waiting:
                self._launch(self.units[self._next])

    def _begin(self) -> None:
        if self.crossing is not None:
            self.crossing.begin_backward()
        if self._exchanged and self._objection is None:
            self._warn_once(
                "A second backward pass before optimizer.step(): gradients are exchanged again. Wrap passes whose "
                "gradients are accumulated, or thrown away, in replica.no_sync(): it saves traffic and keeps what you "
                "throw away out of error memories. With checkpointing use use_reentrant=False."
            )
        self._passing = True
        torch.autograd.Variable._execution_engine.queue_callback(self._end_of_backward)  # noqa: SLF001  (as DDP)

    def _launch(self, unit: Unit) -> None:
        """Start the exchange of a bucket or a chunk; strictly in the order of `units`, the same on every rank."""
        if self._next == 0:
            self._launch_statistics()
        bucket = self.buckets[unit.bucket]
        if unit.bucket not in self._flats:
            self._hold(bucket, *bucket.gradients())
        self._start(unit, bucket)

    def _hold(self, bucket: Bucket, flat: Tensor, bad: list[bool]) -> None:
        self._flats[bucket.spec.id], self._bad[bucket.spec.id] = flat, bad
        if any(bad):
            flat.zero_()  # takes part in the collective; the vote will undo the step

    def _start(self, unit: Unit, bucket: Bucket) -> None:
        halves = self.crossing is not None and self.crossing.halves
        x = self._flats[unit.bucket][unit.start : unit.stop]
        if bucket.plain:
            program = add_up_in_halves(x) if halves else add_up(x)
        else:
            turn = Turn(self._seat(bucket), self.turns, self._lr(bucket))
            old = self.state[unit.bucket] if unit.chunk < 0 else self.state[unit.bucket][unit.chunk]
            program = bucket.compress.exchange(x, old, unit.spec, turn)
        launch = self.driver.launch_half if halves and isinstance(self.driver, Lanes) else self.driver.launch
        launch(self.place(unit), program)
        self._next += 1

    def place(self, unit: Unit) -> Place:
        return Place(self.turns, unit.bucket, unit.spec.names[0], unit.chunk, unit.spec.id)

    def _launch_statistics(self) -> None:
        """Running means and variances of norm layers are averaged beside the gradients."""
        flat = flatten(self.inventory.statistics(), torch.empty(0))  # cat promotes mixed types
        if flat.numel():
            self.driver.launch(Place(self.turns, len(self.units), "running statistics"), average(flat))

    # ------------------------------------------------------------- end of backward

    def _end_of_backward(self) -> None:
        if self.spans is not None:
            self.spans.add("compute", self._idle_since, self.spans.now(), self.turns)
        if self.crossing is not None and not self._passing:
            self.crossing.begin_backward()  # of a step without one
        for unit in self.units[self._next :]:  # unused parameters, or a schedule that waited
            self._launch(unit)
        if self.crossing is not None and self.crossing.on:
            self.crossing.depart()
            self._passing, self._exchanged = False, True
            return
        with self.span("wait"):
            verdict = self._finish([b.used() for b in self.buckets])
        self._passing, self._exchanged = False, True
        with self.span("apply"):
            self._write(verdict)
        if self.pilot is not None:
            self.pilot.written()

    def _write(self, verdict: Verdict) -> None:
        if verdict.culprit is None:
            for bucket, mean, used in zip(self.buckets, self._means, self._by_bucket(verdict.used), strict=True):
                bucket.write_gradients(mean, used, keep=holds(self.state[bucket.spec.id], mean))
            self._means = []
        else:
            self.poison(verdict)
            if self._in_closure:
                self._refuse_step()

    def poison(self, verdict: Verdict) -> None:
        for bucket, bad in zip(self.buckets, self._by_bucket(verdict.bad), strict=True):
            bucket.poison(bad)

    def _finish(self, used: list[list[bool]]) -> Verdict:
        """Complete what was launched; commit the new states unless a rank objects."""
        self.driver.launch(Place(self.turns, len(self.units) + 1, "vote"), self.ballot(used))
        *outs, vote = self.driver.finish()
        verdict: Verdict = vote.state
        if self.inventory.norms:
            self._statistics = outs.pop(0).mean
        whole = self._whole(outs)
        verdict = self._check_means(verdict, whole)
        if verdict.culprit is None:
            self.state = [out.state for out in whole]
            self._means = [out.mean for out in whole]
        self.take_verdict(verdict)
        self.rearm()
        return verdict

    def take_verdict(self, verdict: Verdict) -> None:
        self._objection = None if verdict.culprit is None else self._sentence(*verdict.culprit)

    def flats(self) -> dict[int, Tensor]:
        """What this pass exchanges, by bucket."""
        return self._flats

    def used(self, verdict: Verdict) -> list[tuple[bool, ...]]:
        """Which parameters had a gradient anywhere, by bucket."""
        return list(self._by_bucket(verdict.used))

    def take_statistics(self, mean: Tensor) -> None:
        self._statistics = mean

    def ballot(self, used: list[list[bool]]) -> Exchange:
        bad = [self._bad[b.spec.id] for b in self.buckets]
        return census(list(chain(*used)), list(chain(*bad)), self.seat.device)

    def _whole(self, outs: Sequence[Exchanged]) -> list[Exchanged]:
        """Buckets, from what units brought in launch order."""
        brought = dict(zip((u.spec.id for u in self.units), outs, strict=True))
        pieces = ((b.spec.id, self._pieces[b.spec.id]) for b in self.buckets)
        return [joined([brought[u.spec.id] for u in mine], self._flats[b]) for b, mine in pieces]

    def rearm(self) -> None:
        """Ready for the next pass."""
        self.turns += 1
        self._next, self._bad, self._flats = 0, {}, {}
        for bucket in self.buckets:
            bucket.rearm()

    def _check_means(self, verdict: Verdict, outs: list[Exchanged]) -> Verdict:
        """Finite numbers can overflow inside a codec. The means are equal on all ranks, so all ranks object alike."""
        at = 0
        for bucket, out in zip(self.buckets, outs, strict=True):
            bad = [] if bucket.plain else bucket.bad(out.mean)
            if verdict.culprit is None and any(bad):
                flags = [False] * at + bad
                flags += [False] * (len(verdict.used) - len(flags))
                verdict = Verdict(verdict.used, tuple(flags), (self.seat.rank, at + bad.index(True)))
            at += len(bucket.params)
        return verdict

    def reanchor(self) -> None:
        """New parameters were loaded between two rounds: the way is measured from there."""
        if self.gossiping is not None and not (self._loaded and self.gossiping.topology.by.waits):
            self.gossiping.restart(self)
        if self.anchor and self.since == 0:
            self.anchor = [b.values() for b in self.buckets]

    def _by_bucket(self, flags: tuple[bool, ...]) -> Iterator[tuple[bool, ...]]:
        at = 0
        for bucket in self.buckets:
            yield flags[at : at + len(bucket.params)]
            at += len(bucket.params)

    def _sentence(self, rank: int, number: int) -> str:
        names = [name for b in self.buckets for name in b.spec.names]
        what = "model delta" if self.subject is Subject.DELTA else "gradient"
        return (
            f"Rank {rank} found NaN or infinity in the {what} of {names[number]!r} at step {self.steps + 1}. No "
            f"parameter and no state was changed by this step. Lower the learning rate, clip, or pass nonfinite='skip'."
        )

    # ------------------------------------------------------------- around the optimizer's step

    def _before_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        self.inventory.check(optimizer)
        closure = any(args[1:]) or bool(kwargs.get("closure"))  # args[0] is the optimizer itself
        if self.pilot is not None:
            self.pilot.before_step(closure=closure)
        if self.subject is Subject.GRADIENT:
            untouched = all(p.grad is None for p in self.inventory.trained.values())
            if not closure and (untouched or not self._exchanged):
                self._end_of_backward()  # no exchanged pass on this rank: others may wait for its part
            self._in_closure = closure
            if self.crossing is not None and self.crossing.pending:
                self.crossing.before_step(closure=closure)
        elif self.subject is not Subject.NOTHING:
            self._check_alone()
        if self._objection is not None and getattr(optimizer, "found_inf", None) is None:
            self._refuse_step()  # a fused optimizer under GradScaler skips the step by itself
        elif self.subject is Subject.GRADIENT and not closure:
            self._write_statistics()
        if self.spans is not None:
            self._step_since = self.spans.now()

    def _refuse_step(self) -> None:
        sentence, self._objection, self._exchanged = self._objection, None, False
        if self.nonfinite == "raise":
            if self.gossiping is not None:
                stop(self, str(sentence))
            raise NonFiniteError(sentence)
        self.skipped += 1
        warnings.warn(f"Step skipped. {sentence}", stacklevel=4)
        for p in self.inventory.trained.values():
            p.grad = None

    def _after_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        self.steps += 1
        self.since += 1
        if self._in_closure and self._exchanged and self.subject is Subject.GRADIENT:
            self._write_statistics()
        self._exchanged = self._in_closure = False
        self.dense_bytes += sum(all_reduce_bytes(b.spec.nbytes, self.seat.world) for b in self.buckets)
        self._loaded = False
        if self.gossiping is not None and self.plan.sync.talks(self.steps):
            mix(self, self.gossiping)
        elif self.subject is Subject.DELTA and self.plan.sync.talks(self.steps):
            self._average_models()
        elif self.subject is Subject.GRADIENT:
            self.since = 0
        if self.crossing is not None:
            self.crossing.after_step()
        if self.spans is not None:
            self._idle_since = self.spans.now()
            self.spans.add("optimizer", self._step_since, self._idle_since, self.turns - 1)
        if self.pilot is not None:
            self.pilot.after_step()

    @contextmanager
    def span(self, name: str, bucket: int = -1) -> Iterator[None]:
        """On the training thread."""
        if self.spans is None:
            yield
        else:
            with self.spans.span(name, self.turns, bucket):
                yield

    # ------------------------------------------------------------- local SGD

    def _check_alone(self) -> None:
        """Between exchanges nobody is asked: a rank that sees NaN stops (or skips) on its own."""
        for bucket in self.buckets:
            bad = bucket.bad_gradients()
            if any(bad):
                number = sum(len(b.params) for b in self.buckets[: bucket.spec.id]) + bad.index(True)
                self._objection = self._sentence(self.seat.rank, number).replace("model delta", "gradient")

    def _average_models(self) -> None:
        for bucket, anchor in zip(self.buckets, self.anchor, strict=True):
            way = (anchor - bucket.values()).mul_(bucket.weight)
            self._hold(bucket, way, bucket.bad(way))
        self._launch_statistics()
        for unit in self.units:
            self._start(unit, self.buckets[unit.bucket])
        verdict = self._finish([[True] * len(b.params) for b in self.buckets])
        if verdict.culprit is not None:
            sentence, self._objection = self._objection, None
            raise NonFiniteError(f"{sentence} This came up when models were averaged after step {self.steps}.")
        for number, (bucket, mean) in enumerate(zip(self.buckets, self._means, strict=True)):
            self.anchor[number] = self.anchor[number] - mean
            bucket.write_values(self.anchor[number])
        self._means = []
        self._write_statistics()
        self.since = 0

    def _write_statistics(self) -> None:
        if self.inventory.norms:
            at = 0
            for t in self.inventory.statistics():
                t.copy_(self._statistics[at : at + t.numel()].view_as(t))
                at += t.numel()

    # ------------------------------------------------------------- what users call

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Accumulate gradients locally: wrap all but the last backward pass of a step."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    def flush(self) -> None:
        """Finish what is under way; afterwards replicas are equal (under gossip: mixed). Call it on all ranks alike."""
        if self._passing:
            raise UsageError("replica.flush() was called inside a backward pass.")
        if self.crossing is not None:
            self.crossing.flush()
        if self.gossiping is not None and self.since:
            mix(self, self.gossiping)
        elif self.subject is Subject.DELTA and self.since:
            self._average_models()

    def average(self) -> None:
        """End with one model: everyone's mean, also of running statistics. To be called on all ranks alike."""
        if self.gossiping is None:
            self.flush()
            return
        self._launch_statistics()
        if self.inventory.norms:
            self._statistics = self.driver.finish()[0].mean
            self._write_statistics()
        agree(self, self.gossiping)

    def consensus_distance(self) -> float:
        """How far models are from their mean, in the root mean square over ranks. To be called on all ranks alike."""
        return consensus_distance(self)

    @property
    def stats(self) -> Stats:
        waited = self.driver.waited_s
        sent, on_interface = self.link.sent_bytes, self.link.tx_bytes
        done = (self.steps, self.turns, sent, self.dense_bytes, waited, self.skipped, on_interface)
        return Stats(*done, self.reduced_by)

    def state_dict(self) -> dict[str, Any]:
        """This rank's own state: save it on every rank, beside the model and the optimizer."""
        if self.crossing is not None:
            self.crossing.flush()
        return pack_state(self)

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        if self.crossing is not None:
            self.crossing.flush()
        unpack_state(self, saved)
        self._loaded = True

    def watched_by(self, spans: Spans) -> None:
        self.spans, self._idle_since = spans, spans.now()

    def keep(self, hook: Any) -> None:
        """Somebody else's hook that ends with this replica: `close` removes it."""
        self._hooks.append(hook)

    def close(self) -> None:
        """Detach: the model trains alone from here on."""
        if self.pilot is not None:
            self.pilot.close()
        if self.crossing is not None:
            self.crossing.close()
        for hook in (*self._hooks, *self._gradient_hooks):
            hook.remove()
        self._hooks, self._gradient_hooks = [], []
        if self.gossiping is not None:
            self.gossiping.close()
        memory.release()

    def _seat(self, bucket: Bucket) -> Seat:
        return replace(self.seat, device=bucket.device)

    def _lr(self, bucket: Bucket) -> float:
        """Model deltas have their learning rate in them already."""
        if self.subject is Subject.DELTA or not bucket.compress.follows_lr:
            return 1.0
        return float(self.optimizer.param_groups[bucket.group]["lr"])

    def _warn_once(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(text, stacklevel=3)
