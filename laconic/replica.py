"""One worker's copy of the model: hook -> bucket -> schedule -> exchange -> write back -> step.

Read it from top to bottom. Hooks are attached in place, so the training loop and `state_dict` keys stay as they were:

    loss.backward()    every gradient that becomes final fires `_ready`; a full bucket is launched
                       at the end of the pass `_end_of_backward` finishes all exchanges, takes the vote and,
                       if nobody objects, writes the means into `.grad` and keeps the new states
                       (`crossed`, `priority`, tic and tac leave this to the next forward pass: crossing.py)
    optimizer.step()   `_before_step` refuses non-finite steps; `_after_step` lets those who train alone for a while
                       (local SGD, gossip, asynchronous plans) do what is due: stepping/, gossiping.py
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from laconic import lazily
from laconic.buckets import Bucket, Unit, by_bucket, cut, joined, units
from laconic.census import Verdict, census
from laconic.checkpoint import pack_state, unpack_state
from laconic.compress.identity import add_up, add_up_in_halves, average, carry
from laconic.core import memory
from laconic.core.bucket import flatten
from laconic.core.errors import NonFiniteError, UsageError
from laconic.core.exchange import Exchange, Exchanged, Seat, Turn
from laconic.core.minutes import Minutes
from laconic.core.state import holds
from laconic.crossing import Crossing
from laconic.drive.base import Driver, Place
from laconic.drive.lanes import Lanes
from laconic.gossiping import Gossiping, agree, consensus_distance, mix, stop
from laconic.inventory import Inventory
from laconic.net.link import Link, all_reduce_bytes
from laconic.plan import Plan
from laconic.riders import Flags, Riders
from laconic.stats import Stats
from laconic.stepping.base import Stepping
from laconic.stepping.eager import Eager
from laconic.stepping.on_servers import OnServers
from laconic.stepping.rounds import Rounds
from laconic.stepping.turns import Turns
from laconic.sync import Subject
from laconic.topology.allreduce import gathers
from laconic.trace.spans import Spans

if TYPE_CHECKING:
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
        self.buckets = cut(inventory.trained, plan.schedule, plan.compress, seat.world, self.groups)
        self.chunk_bytes = plan.schedule.chunk_bytes
        self.units = units(self.buckets, self.chunk_bytes)  # buckets or their chunks, in launch order
        self.subject = plan.subject_at(1)
        self.gossiping = Gossiping(plan, seat) if self.subject is Subject.MODEL else None
        if self.gossiping is not None:
            self.state = self.gossiping.fresh(self.buckets)
        else:
            self.state = self._fresh_state()
        self.stepping: Stepping | None = None if self.gossiping else Rounds.of(plan.sync, self)
        self.anchor = [b.values() for b in self.buckets] if isinstance(self.stepping, Rounds) else []
        self.steps = self.turns = self.since = self.skipped = self.dense_bytes = 0
        self._quiet = False  # inside no_sync()
        self._passing = False  # inside a backward pass that will be exchanged
        self._exchanged = False  # the gradients in .grad are already means
        self._in_closure = False  # inside optimizer.step(closure)
        self._turning = Turns(plan.sync, self.buckets)
        self._live: list[Bucket] = []  # those that take part in this turn
        self._line: list[Unit] = []  # their units
        self._next = 0  # the one of them to launch next
        self.riders = Riders(plan, inventory, seat)
        self.minutes = Minutes()  # times and decisions of exchanges
        self.decisions: list[str] = []  # what the pilot and compressors measured and chose, on all ranks alike
        self._begin_turn()
        self.statistics = torch.empty(0)  # the last means of running statistics
        self._launched: list[Unit] = []
        self._flats: dict[int, Tensor] = {}  # what is exchanged, by bucket
        self._bad: dict[int, list[bool]] = {}  # this pass's non-finite parameters, by bucket
        self._objection: str | None = None
        self._warned = False
        self.reduced_by = ""  # which all-reduce algorithm, in words; set by distribute()
        self._loaded = False  # a checkpoint, since the last step
        self.crossing: Crossing | None = None  # where steps are taken bucket by bucket, during the next forward pass
        self.pilot: Pilot | None = None  # measures steps and changes the order of messages accordingly
        self.spans: Spans | None = None  # where to note what was done when
        self._since = 0.0  # by the tracing clock: what the training thread did until then is noted
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
        self.buckets, self.units, self.chunk_bytes = buckets, units(buckets, chunk_bytes), chunk_bytes
        self._turning = Turns(self.plan.sync, buckets)
        self._begin_turn()
        self.state = self._fresh_state()
        self._listen()

    def reorder(self, line: list[Unit]) -> None:
        """The same messages in another order, on all ranks alike, between two steps."""
        assert not self._passing, "inside a backward pass"
        self.units, self._live = line, []
        self._begin_turn()

    def _begin_turn(self) -> None:
        live = self._turning.live(self.turns)
        if live is self._live:
            return  # as in the last turn
        self._live = live
        numbers = {bucket.spec.id for bucket in live}
        self._line = [unit for unit in self.units if unit.bucket in numbers]
        self.riders.settle(self._line, live)
        self.minutes.sizes = {unit.spec.id: unit.stop - unit.start for unit in self._line}

    # ------------------------------------------------------------- during backward

    def _ready(self, b: int, i: int) -> None:
        """Autograd says: this gradient is final for this pass."""
        if self.subject is not Subject.GRADIENT:
            return  # post-local SGD, later on
        if self._quiet:
            self._exchanged = False  # .grad now holds something the others have not seen
            return
        if not self._passing:
            self._begin()
        bucket = self.buckets[b]
        if self._live is not self.buckets and bucket not in self._live:
            return
        if i not in bucket.waiting:
            raise UsageError(
                f"The gradient of {bucket.spec.names[i]!r} became final twice in one backward pass, or the last pass "
                f"failed midway. Use checkpoint(use_reentrant=False); after a failed pass, close() this replica and "
                f"distribute again on all ranks."
            )
        if self.crossing is not None or self.pilot is not None or self.spans is not None:
            self._tell_ready(b, bucket.spec.names[i])
        bucket.take(i, None if bucket.plain else self.error_memory(bucket))
        if not bucket.waiting and self.plan.schedule.overlaps and not self._turning.delay:
            while self._next < len(self._line) and not self.buckets[self._line[self._next].bucket].waiting:
                self._launch(self._line[self._next])

    def _tell_ready(self, b: int, name: str) -> None:
        if self.crossing is not None:
            self.crossing.check_fresh(name)
        if self.pilot is not None:
            self.pilot.ready(name)
        if self.spans is not None:
            now = self.spans.now()
            self.spans.add("ready", now, now, self.turns, b)

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
        self.minutes.first_gradient()
        torch.autograd.Variable._execution_engine.queue_callback(self._end_of_backward)  # noqa: SLF001  (as DDP)

    def _launch(self, unit: Unit) -> None:
        """Start the exchange of a bucket or a chunk; strictly in the order of `units`, the same on every rank."""
        if self._next == 0 and self.riders.carrier is None:
            self.launch_early()
        bucket = self.buckets[unit.bucket]
        if unit.bucket not in self._flats:
            self._hold(bucket, *bucket.gradients(self.error_memory(bucket)))
        if bucket is self.riders.carrier:
            self.riders.ride(bucket, self._flags([b.used() for b in self._live]))
        self._start(unit)

    def error_memory(self, bucket: Bucket) -> Tensor | None:
        """What is added to its gradients, or its way, while they are collected, where that saves a pass."""
        if self._turning.delay or self.chunk_bytes is not None or lazily.concerns(self.plan.sync):
            return None  # the memory is not up to date yet, or not in one piece, or has another owner
        apart = bucket.compress.apart(self.state[bucket.spec.id])
        return None if apart is None or bucket.spec.dtype != torch.float32 else apart[0]

    def launch(self, bucket: Bucket, flat: Tensor, bad: list[bool]) -> None:
        """Start the exchange of a whole bucket, of something else than gradients."""
        self._hold(bucket, flat, bad)
        for unit in by_bucket(self.units)[bucket.spec.id]:
            self._start(unit)

    def _hold(self, bucket: Bucket, flat: Tensor, bad: list[bool]) -> None:
        self._flats[bucket.spec.id], self._bad[bucket.spec.id] = flat, bad
        if any(bad):
            flat.zero_()  # takes part in the collective; the vote will undo the step

    def _start(self, unit: Unit) -> None:
        halves = self.crossing is not None and self.crossing.halves
        launch = self.driver.launch_half if halves and isinstance(self.driver, Lanes) else self.driver.launch
        launch(self.place(unit), self._program(unit, in_halves=halves))
        self._launched.append(unit)
        self._next += 1

    def _program(self, unit: Unit, *, in_halves: bool) -> Exchange:
        bucket, state = self.buckets[unit.bucket], self.state[unit.bucket]
        flat = self._flats[unit.bucket]
        x = flat if unit.chunk < 0 else flat[unit.start : unit.stop]
        if lazily.concerns(self.plan.sync):
            return lazily.program(self.plan.sync, bucket, x, state, Turn(self._seat(bucket), self.turns))
        if self.riders.aboard and bucket is self.riders.carrier:
            return carry(bucket.whole, bucket.spec.numel, gather=self._gathers(bucket.whole))
        if bucket.plain:
            return add_up_in_halves(x) if in_halves else add_up(x, gather=self._gathers(x))
        turn = Turn(self._seat(bucket), self.turns, self._lr(bucket), self.minutes)
        if bucket.added and (apart := bucket.compress.apart(state)) is not None:
            _, state = apart
        return bucket.compress.exchange(x, state if unit.chunk < 0 else state[unit.chunk], unit.spec, turn)

    def _gathers(self, x: Tensor) -> bool:
        """A small sum, where nobody has asked for another way to make it."""
        return not x.is_cuda and gathers(self.plan.topology, x.nbytes, self.seat.world)

    def place(self, unit: Unit) -> Place:
        return Place(self.turns, unit.bucket, unit.spec.names[0], unit.chunk, unit.spec.id)

    def launch_early(self) -> None:
        """What need not wait for gradients."""
        if not self.riders.with_statistics:
            self.launch_statistics()

    def launch_statistics(self) -> None:
        """Running means and variances of norm layers are averaged beside the gradients."""
        flat = flatten(self.inventory.statistics(), torch.empty(0))  # cat promotes mixed types
        if flat.numel():
            self.driver.launch(Place(self.turns, len(self.units), "running statistics"), average(flat))

    # ------------------------------------------------------------- end of backward

    def _end_of_backward(self) -> None:
        if self.crossing is not None and not self._passing:
            self.crossing.begin_backward()  # of a step without one
        moving, outcome = self._turning.late, self._finish_late()
        for unit in self._line[self._next :]:  # unused parameters, or a schedule that waited
            self._launch(unit)
        if self.crossing is not None and self.crossing.on:
            self._time_computing()
            self.crossing.depart()
            self._passing, self._exchanged = False, True
            self._note("compute", self.turns - 1)
            return
        if not self.riders.aboard:
            self.launch_vote([b.used() for b in self._live])
        self._next = 0
        if self._turning.delay:
            self._turning.late = self._live
            for bucket in self._live:
                bucket.rearm()
        else:
            moving, outcome = self._live, self.finish(self._live)
        self._passing, self._exchanged = False, True
        self._turning.move(moving)
        if outcome is not None:
            self._write_gradients(moving, *outcome)
        self._begin_turn()
        self._note("apply", self.turns - 1)
        if self.pilot is not None:
            self.pilot.written()

    def _write_gradients(self, moving: list[Bucket], verdict: Verdict, means: list[Tensor]) -> None:
        if verdict.culprit is None:
            for bucket, mean, used in zip(moving, means, self._by_bucket(verdict.used, moving), strict=True):
                bucket.write_gradients(mean, used, keep=holds(self.state[bucket.spec.id], mean))
            return
        self.poison(verdict, moving)
        if self._in_closure:
            self._refuse_step()

    def poison(self, verdict: Verdict, moving: list[Bucket]) -> None:
        for bucket, bad in zip(moving, self._by_bucket(verdict.bad, moving), strict=True):
            bucket.poison(bad)

    def _finish_late(self) -> tuple[Verdict, list[Tensor]] | None:
        """What was launched a step ago, where updates are delayed."""
        late, self._turning.late = self._turning.late, []
        return self.finish(late) if late else None

    def launch_vote(self, used: list[list[bool]]) -> None:
        """The last launch of a turn: riders without a carrier."""
        if self.riders.late:
            self.driver.launch(self.ballot_place, self.ballot(used))
        else:
            self._next, room = 0, self.riders.walk(self._flags(used))
            self.driver.launch(self.ballot_place, carry(room, 0, gather=self._gathers(room)))

    @property
    def ballot_place(self) -> Place:
        return Place(self.turns, len(self.units) + 1, "vote")

    def ballot(self, used: list[list[bool]]) -> Exchange:
        self._next = 0
        return census(*self._flags(used), self.seat.device)

    def _flags(self, used: list[list[bool]]) -> Flags:
        bad = [flags for _, flags in sorted(self._bad.items())]
        self._bad = {}
        return list(chain(*used)), list(chain(*bad))

    def finish(self, live: list[Bucket], extra: int = 0) -> tuple[Verdict, list[Tensor]]:
        """Complete what was launched; commit the new states unless a rank objects. The means of these buckets, and of
        what else (`extra`) was launched after them."""
        self._note("compute", self.turns)
        self._time_computing()
        outs = self.driver.finish()
        verdict = self._outcome(outs)
        self.minutes.arrived()
        self._note("wait", self.turns)
        more = [outs.pop() for _ in range(extra)][::-1]
        whole = self._whole(outs, live)
        verdict = self._check_means(verdict, whole, live)
        if verdict.culprit is None:
            for bucket, out in zip(live, whole, strict=True):
                self.state[bucket.spec.id] = out.state
        self.take_verdict(verdict, live)
        self.end_turn(live)
        if verdict.culprit is not None:
            self.minutes.keep(self.turns)  # made by an exchange that does not count
        return verdict, [out.mean for out in (*whole, *more)]

    def _time_computing(self) -> None:
        overlaps = self.subject is Subject.GRADIENT and self.plan.schedule.overlaps and not self._turning.delay
        self.minutes.lanes = max(1, self.driver.width) if isinstance(self.driver, Lanes) else 1
        self.minutes.wait(overlapped=overlaps)

    def _outcome(self, outs: list[Exchanged]) -> Verdict:
        """The vote, and statistics, out of what arrived; the rest stays there."""
        if not self.riders.aboard:  # the long vote at once
            if self.inventory.norms:
                self.statistics = outs.pop(0).mean
            told: Verdict = outs.pop().state
            return told
        means, verdict, mine = self.riders.arrive(outs, alone=len(outs) > len(self._launched))
        if self.inventory.norms:
            self.statistics = means if means.numel() else outs.pop(0).mean
        if any(verdict.bad):
            again = Place(self.turns, len(self.units) + 3, "vote")  # its letters are not those of the sum
            self.driver.launch(again, census(*mine, self.seat.device))
            verdict = self.driver.finish()[0].state
        return verdict

    def _whole(self, outs: Sequence[Exchanged], live: list[Bucket]) -> list[Exchanged]:
        """Buckets, from what units brought in launch order."""
        brought = {unit.spec.id: out for unit, out in zip(self._launched, outs, strict=True)}
        pieces = by_bucket(self._launched)
        return [joined([brought[u.spec.id] for u in pieces[b.spec.id]], self._flats[b.spec.id]) for b in live]

    def take_verdict(self, verdict: Verdict, live: list[Bucket]) -> None:
        self._objection = None if verdict.culprit is None else self._sentence(*verdict.culprit, live)

    def end_turn(self, live: list[Bucket]) -> tuple[list[Unit], dict[int, Tensor]]:
        """Ready for the next; what was launched in this one."""
        launched, flats = self._launched, self._flats
        self._launched, self._flats = [], {}
        self.turns += 1
        for bucket in live:
            bucket.rearm()
        return launched, flats

    def _check_means(self, verdict: Verdict, outs: list[Exchanged], live: list[Bucket]) -> Verdict:
        """Finite numbers can overflow inside a codec. The means are equal on all ranks, so all ranks object alike."""
        at = 0
        for bucket, out in zip(live, outs, strict=True):
            bad = [] if bucket.plain or out.finite else bucket.bad(out.mean)
            if verdict.culprit is None and any(bad):
                flags = [False] * at + bad
                flags += [False] * (len(verdict.used) - len(flags))
                verdict = Verdict(verdict.used, tuple(flags), (self.seat.rank, at + bad.index(True)))
            at += len(bucket.params)
        return verdict

    def reanchor(self) -> None:
        """New parameters were loaded between two rounds: the way is measured from there."""
        if self.gossiping is not None and not (self._loaded and self.gossiping.topology.by.waits):
            self.gossiping.restart(self, equal=False)
        if self.stepping is not None:
            self.stepping.restart(self, loaded=self._loaded)

    def used(self, verdict: Verdict) -> list[tuple[bool, ...]]:
        """Which parameters had a gradient anywhere, by bucket."""
        return list(self._by_bucket(verdict.used, self.buckets))

    def _by_bucket(self, flags: tuple[bool, ...], live: list[Bucket]) -> Iterator[tuple[bool, ...]]:
        at = 0
        for bucket in live:
            yield flags[at : at + len(bucket.params)]
            at += len(bucket.params)

    def _sentence(self, rank: int, number: int, live: list[Bucket]) -> str:
        names = [name for b in live for name in b.spec.names]
        what = "model delta" if self.subject is Subject.DELTA else "gradient"
        return (
            f"Rank {rank} found NaN or infinity in the {what} of {names[number]!r} at step {self.steps + 1}. No "
            f"parameter and no state was changed by this step. Lower the learning rate, clip, or pass nonfinite='skip'."
        )

    # ------------------------------------------------------------- around the optimizer's step

    def _before_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        self.inventory.check(optimizer)
        closure = any(args[1:]) or bool(kwargs.get("closure"))  # args[0] is the optimizer itself
        self._note("compute", self.turns)
        if self.pilot is not None:
            self.pilot.before_step(closure=closure)
        if self.subject is Subject.GRADIENT:
            untouched = all(p.grad is None for p in self.inventory.trained.values())
            if not closure and ((untouched and not self._turning.delay) or not self._exchanged):
                self._end_of_backward()  # no exchanged pass on this rank: others may wait for its part
            self._in_closure = closure
            if self.crossing is not None and self.crossing.pending:
                self.crossing.before_step(closure=closure)
        elif self.subject is not Subject.NOTHING:
            self._check_alone()
        if self._objection is not None and getattr(optimizer, "found_inf", None) is None:
            self._refuse_step()  # a fused optimizer under GradScaler skips the step by itself
        elif self.subject is Subject.GRADIENT and not closure:
            self.write_statistics()

    def _refuse_step(self) -> None:
        sentence, self._objection, self._exchanged = self._objection, None, False
        if self.nonfinite == "raise":
            if self.subject in (Subject.MODEL, Subject.UPDATE):
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
            self.write_statistics()
        self._exchanged = self._in_closure = False
        self.dense_bytes += sum(all_reduce_bytes(b.spec.nbytes, self.seat.world) for b in self.buckets)
        self._loaded = False
        if self.gossiping is not None and self.plan.sync.talks(self.steps):
            mix(self, self.gossiping)
        elif self.subject is Subject.GRADIENT:
            self.since = 0
            self._turning.shrink(self.lr)
        elif self.stepping is not None:
            self.stepping.after_step(self)
        if self.plan.subject_at(self.steps + 1) is not self.subject:
            self._change_subject()
        if self.crossing is not None:
            self.crossing.after_step()
        self._note("optimizer", self.turns - 1)
        self._keep_decisions()
        if self.pilot is not None:
            self.pilot.after_step()

    def _keep_decisions(self) -> None:
        """Of exchanges that have arrived and count, on all ranks."""
        under_way = self.crossing is not None and bool(self.crossing.pending)
        for decision in self.minutes.keep(self.turns - under_way):
            self.decide(str(decision))

    def decide(self, text: str) -> None:
        """Something was changed on all ranks alike."""
        self.decisions.append(text)
        if self.seat.rank == 0:
            logging.getLogger("laconic").info(text)

    def _note(self, name: str, turn: int) -> None:
        """For a trace: what the training thread has done since the last note."""
        if self.spans is not None:
            now = self.spans.now()
            self.spans.add(name, self._since, now, turn)
            self._since = now

    @contextmanager
    def span(self, name: str, bucket: int = -1) -> Iterator[None]:
        """For a trace: a part of that."""
        if self.spans is None:
            yield
        else:
            with self.spans.span(name, self.turns, bucket):
                yield

    def _change_subject(self) -> None:
        """Post-local SGD: from here on models are averaged; a gradient's error memory is of no use for them."""
        self.subject = self.plan.subject_at(self.steps + 1)
        self.state = self._fresh_state()
        if self.stepping is not None:
            self.stepping.restart(self)

    # ------------------------------------------------------------- between exchanges

    def _check_alone(self) -> None:
        """Nobody is asked: a rank that sees NaN stops (or skips) on its own."""
        for bucket in self.buckets:
            bad = bucket.bad_gradients()
            if any(bad):
                number = sum(len(b.params) for b in self.buckets[: bucket.spec.id]) + bad.index(True)
                sentence = self._sentence(self.seat.rank, number, self.buckets)
                self._objection = sentence.replace("model delta", "gradient")

    def take_objection(self) -> str | None:
        """What a rank said against the last turn."""
        sentence, self._objection = self._objection, None
        return sentence

    def write_statistics(self) -> None:
        if self.inventory.norms and self.statistics.numel():
            at = 0
            for t in self.inventory.statistics():
                t.copy_(self.statistics[at : at + t.numel()].view_as(t))
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
        self._drop_late()
        if self.gossiping is not None and self.since:
            mix(self, self.gossiping)
        elif self.stepping is not None and self.subject is not Subject.GRADIENT and self.since:
            self.stepping.flush(self)

    def _drop_late(self) -> None:
        """A delayed update that no step will apply."""
        self._finish_late()
        self._begin_turn()

    def observe(self, loss: float) -> None:
        """Tell the loss of a step, for plans that follow it (`adacomm`, `lupa`); others do not care."""
        if self.stepping is not None:
            self.stepping.observe(loss)

    def average(self) -> None:
        """End with one model: everyone's mean, also of running statistics. To be called on all ranks alike."""
        if self.gossiping is None:
            self.flush()
            return
        self.launch_statistics()
        if self.inventory.norms:
            self.statistics = self.driver.finish()[0].mean
            self.write_statistics()
        agree(self, self.gossiping)

    def consensus_distance(self) -> float:
        """How far models are from their mean, in the root mean square over ranks. To be called on all ranks alike."""
        if isinstance(self.stepping, Eager) and self.since:
            raise UsageError(
                f"Under {self.plan.sync} rounds go on beside the training, and this would break into one. Call "
                f"replica.flush() on all ranks before consensus_distance()."
            )
        return consensus_distance(self)

    @property
    def stats(self) -> Stats:
        waited = self.driver.waited_s
        sent, on_interface = self.link.sent_bytes, self.link.tx_bytes
        seen = self.stepping if isinstance(self.stepping, OnServers | Eager) else None
        done = (
            self.steps,
            seen.pushed if seen else self.turns,
            sent,
            self.dense_bytes,
            waited,
            self.skipped,
            on_interface,
        )
        pairs = None if self.gossiping is None else self.gossiping.pairs
        staleness = seen.staleness if seen else pairs.staleness if pairs and pairs.bound is not None else None
        settling = self.pilot is not None and self.pilot.settling
        return Stats(*done, self.reduced_by, staleness, seen.dropped if seen else 0, settling)

    def state_dict(self) -> dict[str, Any]:
        """This rank's own state: save it on every rank, beside the model and the optimizer."""
        if self.crossing is not None:
            self.crossing.flush()
        self._drop_late()
        return pack_state(self)

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        if self.crossing is not None:
            self.crossing.flush()
        unpack_state(self, saved)
        self.subject = self.plan.subject_at(self.steps + 1)
        self._begin_turn()
        self._loaded = True

    def watched_by(self, spans: Spans) -> None:
        self.spans, self._since = spans, spans.now()

    def keep(self, hook: Any) -> None:
        """Somebody else's hook that ends with this replica: `close` removes it."""
        self._hooks.append(hook)

    def close(self) -> None:
        """Detach: the model trains alone from here on."""
        if self.pilot is not None:
            self.pilot.close()
        if self.crossing is not None:
            self.crossing.close()
        self._keep_decisions()
        for hook in (*self._hooks, *self._gradient_hooks):
            hook.remove()
        self._hooks, self._gradient_hooks = [], []
        if self.gossiping is not None:
            self.gossiping.close()
        if self.stepping is not None:
            self.stepping.close()
        memory.release()

    def _seat(self, bucket: Bucket) -> Seat:
        return replace(self.seat, device=bucket.device)

    def _fresh_state(self) -> list[Any]:
        if lazily.concerns(self.plan.sync):
            return [lazily.fresh(self.plan.sync, b) for b in self.buckets]
        pieces = by_bucket(self.units)
        return [self._fresh(b, pieces[b.spec.id]) for b in self.buckets]

    def _fresh(self, bucket: Bucket, pieces: list[Unit]) -> Any:
        """A bucket's state before its first exchange, a tuple of its chunks' where it is cut."""
        states = [bucket.compress.init(u.spec, self._seat(bucket)) for u in pieces]
        return tuple(states) if len(states) > 1 else states[0]

    def _lr(self, bucket: Bucket) -> float:
        """Model deltas have their learning rate in them already."""
        if self.subject is Subject.DELTA or not bucket.compress.follows_lr:
            return 1.0
        return self.lr(bucket)

    def lr(self, bucket: Bucket) -> float:
        return float(self.optimizer.param_groups[bucket.group].get("lr", 1.0))

    def _warn_once(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(text, stacklevel=3)
