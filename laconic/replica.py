"""One worker's copy of the model: hook -> bucket -> schedule -> exchange -> write back -> step.

Read it from top to bottom. Hooks are attached in place, so the training loop and `state_dict` keys stay as they were:

    loss.backward()    every gradient that becomes final fires `_ready`; a full bucket is launched (talk.py)
                       at the end of the pass `_end_of_backward` finishes all exchanges, takes the vote and,
                       if nobody objects, writes the means into `.grad` and keeps the new states
                       (`crossed`, `priority`, tic and tac leave this to the next forward pass: crossing.py)
    optimizer.step()   `_before_step` refuses non-finite steps; `_after_step` lets those who train alone for a while
                       (local SGD, gossip, asynchronous plans) do what is due: stepping/, gossiping.py
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from laconic import lazily
from laconic.buckets import Bucket, Unit, by_bucket, cut, units
from laconic.census import Verdict
from laconic.checkpoint import pack_state, unpack_state
from laconic.core import memory
from laconic.core.errors import NonFiniteError, UsageError
from laconic.core.exchange import Seat
from laconic.core.state import holds
from laconic.crossing import Crossing
from laconic.drive.base import Driver
from laconic.gossiping import Gossiping, agree, consensus_distance, mix, stop
from laconic.inventory import Inventory
from laconic.net.link import Link, all_reduce_bytes
from laconic.plan import Plan
from laconic.stats import Stats, stats_of
from laconic.stepping.base import Stepping
from laconic.stepping.eager import Eager
from laconic.stepping.rounds import Rounds
from laconic.stepping.statistics import average_statistics
from laconic.sync import Subject
from laconic.talk import Landed, Talk, by_parameter
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
        self.talk = Talk(self)  # what is said in a turn
        self.decisions: list[str] = []  # what the pilot and compressors measured and chose, on all ranks alike
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
        self.talk.recut()
        self.state = self._fresh_state()
        self._listen()

    def reorder(self, line: list[Unit]) -> None:
        """The same messages in another order, on all ranks alike, between two steps."""
        assert not self._passing, "inside a backward pass"
        self.units = line
        self.talk.reorder()

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
        if self.talk.live is not self.buckets and bucket not in self.talk.live:
            return
        if i not in bucket.waiting:
            raise UsageError(
                f"The gradient of {bucket.spec.names[i]!r} became final twice in one backward pass, or the last pass "
                f"failed midway. Use checkpoint(use_reentrant=False); after a failed pass, close() this replica and "
                f"distribute again on all ranks."
            )
        if self.crossing is not None or self.pilot is not None or self.spans is not None:
            self._tell_ready(b, bucket.spec.names[i])
        bucket.take(i, None if bucket.plain else self.talk.error_memory(bucket))
        if not bucket.waiting and self.talk.overlaps:
            self.talk.launch_ready()

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
        self.talk.minutes.first_gradient()
        torch.autograd.Variable._execution_engine.queue_callback(self._end_of_backward)  # noqa: SLF001  (as DDP)

    # ------------------------------------------------------------- end of backward

    def _end_of_backward(self) -> None:
        if self.crossing is not None and not self._passing:
            self.crossing.begin_backward()  # of a step without one
        landed = self.talk.conclude_late()
        self.talk.launch_rest()
        if self.crossing is not None and self.crossing.on:
            self.talk.time_computing()
            self.crossing.depart()
            self._passing, self._exchanged = False, True
            self.note("compute", self.turns - 1)
            return
        landed = self.talk.conclude() or landed
        self._passing, self._exchanged = False, True
        self.talk.blocks.move([] if landed is None else landed.buckets)
        if landed is not None:
            self._write_gradients(landed)
        self.talk.begin()
        self.note("apply", self.turns - 1)
        if self.pilot is not None:
            self.pilot.written()

    def _write_gradients(self, landed: Landed) -> None:
        buckets, verdict, means = landed
        if verdict.culprit is None:
            for bucket, mean, used in zip(buckets, means, by_parameter(verdict.used, buckets), strict=True):
                bucket.write_gradients(mean, used, keep=holds(self.state[bucket.spec.id], mean))
            return
        self.poison(verdict, buckets)
        if self._in_closure:
            self._refuse_step()

    def poison(self, verdict: Verdict, buckets: list[Bucket]) -> None:
        for bucket, bad in zip(buckets, by_parameter(verdict.bad, buckets), strict=True):
            bucket.poison(bad)

    def take_verdict(self, verdict: Verdict, live: list[Bucket]) -> None:
        self._objection = None if verdict.culprit is None else self._sentence(*verdict.culprit, live)

    def reanchor(self) -> None:
        """New parameters were loaded between two rounds: the way is measured from there."""
        if self.gossiping is not None and not (self._loaded and self.gossiping.topology.by.waits):
            self.gossiping.restart(self, equal=False)
        if self.stepping is not None:
            self.stepping.restart(self, loaded=self._loaded)

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
        self.note("compute", self.turns)
        if self.pilot is not None:
            self.pilot.before_step(closure=closure)
        if self.subject is Subject.GRADIENT:
            untouched = all(p.grad is None for p in self.inventory.trained.values())
            if not closure and ((untouched and not self.talk.blocks.delay) or not self._exchanged):
                self._end_of_backward()  # no exchanged pass on this rank: others may wait for its part
            self._in_closure = closure
            if self.crossing is not None and self.crossing.pending:
                self.crossing.before_step(closure=closure)
        elif self.subject is not Subject.NOTHING:
            self._check_alone()
        if self._objection is not None and getattr(optimizer, "found_inf", None) is None:
            self._refuse_step()  # a fused optimizer under GradScaler skips the step by itself
        elif self.subject is Subject.GRADIENT and not closure:
            self.talk.write_statistics()

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
            self.talk.write_statistics()
        self._exchanged = self._in_closure = False
        self.dense_bytes += sum(all_reduce_bytes(b.spec.nbytes, self.seat.world) for b in self.buckets)
        self._loaded = False
        if self.gossiping is not None and self.plan.sync.talks(self.steps):
            mix(self, self.gossiping)
        elif self.subject is Subject.GRADIENT:
            self.since = 0
            self.talk.blocks.shrink(self.lr)
        elif self.stepping is not None:
            self.stepping.after_step(self)
        if self.plan.subject_at(self.steps + 1) is not self.subject:
            self._change_subject()
        if self.crossing is not None:
            self.crossing.after_step()
        self.note("optimizer", self.turns - 1)
        self._keep_decisions()
        if self.pilot is not None:
            self.pilot.after_step()

    def _keep_decisions(self) -> None:
        """Of exchanges that have arrived and count, on all ranks."""
        under_way = self.crossing is not None and bool(self.crossing.pending)
        for decision in self.talk.minutes.keep(self.turns - under_way):
            self.decide(str(decision))

    def decide(self, text: str) -> None:
        """Something was changed on all ranks alike."""
        self.decisions.append(text)
        if self.seat.rank == 0:
            logging.getLogger("laconic").info(text)

    def note(self, name: str, turn: int) -> None:
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
        self.talk.drop_late()
        if self.gossiping is not None and self.since:
            mix(self, self.gossiping)
        elif self.stepping is not None and self.subject is not Subject.GRADIENT and self.since:
            self.stepping.flush(self)

    def observe(self, loss: float) -> None:
        """Tell the loss of a step, for plans that follow it (`adacomm`, `lupa`); others do not care."""
        if self.stepping is not None:
            self.stepping.observe(loss)

    def average(self) -> None:
        """End with one model: everyone's mean, also of running statistics. To be called on all ranks alike."""
        if self.gossiping is None:
            self.flush()
            return
        average_statistics(self)
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
        return stats_of(self)

    def state_dict(self) -> dict[str, Any]:
        """This rank's own state: save it on every rank, beside the model and the optimizer."""
        if self.crossing is not None:
            self.crossing.flush()
        self.talk.drop_late()
        return pack_state(self)

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        if self.crossing is not None:
            self.crossing.flush()
        unpack_state(self, saved)
        self.subject = self.plan.subject_at(self.steps + 1)
        self.talk.begin()
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

    def seat_of(self, bucket: Bucket) -> Seat:
        return replace(self.seat, device=bucket.device)

    def _fresh_state(self) -> list[Any]:
        if lazily.concerns(self.plan.sync):
            return [lazily.fresh(self.plan.sync, b) for b in self.buckets]
        pieces = by_bucket(self.units)
        return [self._fresh(b, pieces[b.spec.id]) for b in self.buckets]

    def _fresh(self, bucket: Bucket, pieces: list[Unit]) -> Any:
        """A bucket's state before its first exchange, a tuple of its chunks' where it is cut."""
        states = [bucket.compress.init(u.spec, self.seat_of(bucket)) for u in pieces]
        return tuple(states) if len(states) > 1 else states[0]

    def lr(self, bucket: Bucket) -> float:
        return float(self.optimizer.param_groups[bucket.group].get("lr", 1.0))

    def _warn_once(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(text, stacklevel=3)
