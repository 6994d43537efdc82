"""Steps that are taken a bucket at a time, while the next forward pass runs.

    end of backward       everything is launched, nothing is waited for, except the vote (on a lane of its own)
    optimizer.step()      takes the vote; notes the hyper-parameters of this step; leaves the parameters as they are
    before a module runs  the buckets it uses arrive, and a real torch optimizer takes the step of just these parameters
    flush()               all buckets that are left; done before evaluations, state_dict, checkpoints, close and exit

Per bucket there is one optimizer of the user's own class that shares the user's state, so momentum and moments are
where they always were. Its hyper-parameters are those of the moment optimizer.step() was called: a scheduler that has
gone on since does not matter. Parameters are as in a barrier at every moment a gated module, an evaluation or a
checkpoint looks.

Where somebody needs all gradients between backward and step, `flush()` there makes them means, as without crossing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from laconic.buckets import Bucket, joined
from laconic.census import Verdict
from laconic.core.errors import LaconicError, NonFiniteError, UsageError
from laconic.core.exchange import Exchanged
from laconic.core.state import holds
from laconic.drive.lanes import Lanes
from laconic.talk import by_parameter

if TYPE_CHECKING:
    from laconic.replica import Replica

Arrivals = list[Future[Exchanged]]


class Crossing:
    def __init__(self, replica: Replica, model: nn.Module, lanes: Lanes) -> None:
        """All ranks must call it together: it opens connections."""
        self.replica, self.model, self.lanes = replica, model, lanes
        self.on = False
        self.pending: dict[int, Arrivals] = {}  # buckets whose step is not taken yet
        self._gates: dict[str, set[int]] = {}  # module -> buckets
        self._order: list[int] = []  # units in the order their second half is made
        self._flats: dict[int, Tensor] = {}
        self._vote: Future[Exchanged] | None = None
        self._statistics: Future[Exchanged] | None = None
        self._verdict: Verdict | None = None
        self._used: list[tuple[bool, ...]] = []  # parameters that had a gradient anywhere, by bucket
        self._settings: list[dict[str, Any]] | None = None  # the hyper-parameters of the step under way
        self._stale: set[str] = set()
        self._versions: dict[str, tuple[int, int]] = {}
        self._steppers: list[torch.optim.Optimizer] = []
        self._hooks: list[Any] = []
        lanes.open_side()

    @property
    def halves(self) -> bool:
        return self.on and self.replica.plan.schedule.halves

    # ------------------------------------------------------------- on and off, between two steps, on all ranks alike

    def start(self, gate: Mapping[str, str], order: Sequence[int]) -> None:
        """`gate`: the module that must wait for a parameter. `order`: of second halves, by unit number."""
        self.stop()
        modules = dict(self.model.named_modules())
        home = {name: b.spec.id for b in self.replica.buckets for name in b.spec.names}
        trained = {id(p): name for name, p in self.replica.inventory.trained.items()}
        for name, module in gate.items():
            self._gates.setdefault(module, set()).add(home[name])
        for name, module in modules.items():
            own = [trained[id(p)] for p in module.parameters(recurse=False) if id(p) in trained]
            if own:
                self._gates.setdefault(name, set()).update(home[n] for n in own)
            self._hooks.append(module.register_state_dict_pre_hook(lambda *_: self.flush()))
        for name in self._gates:
            hook = _Gate(self, frozenset(self._gates[name]))
            self._hooks.append(modules[name].register_forward_pre_hook(hook))
        optimizer = self.replica.optimizer
        self._hooks.append(self.model.register_load_state_dict_pre_hook(lambda *_: self.flush()))
        self._hooks.append(optimizer.register_state_dict_pre_hook(lambda _: self.flush()))
        self._hooks.append(optimizer.register_load_state_dict_pre_hook(lambda *_: self.flush()))
        self._steppers = [_stepper(optimizer, b) for b in self.replica.buckets]
        self._order = list(order)
        self.on = self.replica.talk.riders.delayed = True

    def stop(self) -> None:
        self.flush()
        for hook in self._hooks:
            hook.remove()
        self._hooks, self._gates, self._steppers = [], {}, []
        self.on = self.replica.talk.riders.delayed = False

    # ------------------------------------------------------------- through a step

    def begin_backward(self) -> None:
        """Parameters this pass did not use take their step now; those it used without a gate are found out."""
        if self.pending and self._settings is None:
            raise UsageError(
                f"A second backward pass before optimizer.step(), which {self.replica.plan.schedule} cannot follow: "
                f"its exchanges are still under way. Wrap passes that accumulate in replica.no_sync(), or use fused."
            )
        self._stale = {name for b in self.pending for name in self.replica.buckets[b].spec.names}
        self.flush()

    def check_fresh(self, name: str) -> None:
        """Called for every gradient: was it computed with the parameter as it should have been?"""
        if name in self._stale:
            raise UsageError(
                f"{name!r} was used in the forward pass before its last step had been taken: no module that was called "
                f"before announced it in the passes that were observed. Use another schedule than "
                f"{self.replica.plan.schedule}, for example fused."
            )

    def depart(self) -> None:
        """The end of backward."""
        replica, lanes, talk = self.replica, self.lanes, self.replica.talk
        if self.halves:
            by_number = {u.spec.id: u for u in replica.units}
            for number in self._order:
                lanes.go_on(talk.place(by_number[number]))
        self._vote = lanes.aside(talk.ballot_place, talk.ballot([b.used() for b in replica.buckets]))
        arrivals = lanes.depart()
        self._statistics = arrivals.pop(0) if replica.inventory.norms else None
        launched, self._flats = talk.end(replica.buckets)
        for unit, future in sorted(zip(launched, arrivals, strict=True), key=lambda pair: pair[0].chunk):
            self.pending.setdefault(unit.bucket, []).append(future)
        self._verdict, self._settings, self._stale = None, None, set()
        self._versions = {n: version_of(p) for n, p in replica.inventory.trained.items()}

    def before_step(self, *, closure: bool) -> None:
        """The vote decides; a rank's objection ends this step on all of them."""
        replica = self.replica
        self._check_step(closure=closure)
        if self._judge().culprit is not None:
            self._discard()
            return
        self._settings = [
            {k: _frozen(v) for k, v in g.items() if k != "params"} for g in replica.optimizer.param_groups
        ]
        for p in replica.inventory.trained.values():
            p.grad = None  # so that the step leaves it alone

    def _check_step(self, *, closure: bool) -> None:
        if closure:
            raise UsageError(
                f"optimizer.step(closure) takes its gradients at once, which {self.replica.plan.schedule} delays. "
                f"Use fused."
            )
        for name, p in self.replica.inventory.trained.items():
            if version_of(p) != self._versions[name]:
                raise UsageError(
                    f"The gradient of {name!r} was changed between backward and optimizer.step(), where it was not yet "
                    f"the mean over ranks. Call replica.flush() before you clip or unscale, or use fused."
                )

    def _judge(self) -> Verdict:
        if self._verdict is None:
            assert self._vote is not None, "a pass has ended"
            waiting = [self._vote, *([self._statistics] if self._statistics is not None else [])]
            with self.replica.span("wait"):
                vote, *statistics = self.lanes.collect(waiting)
            verdict: Verdict = vote.state
            self._verdict, self._used = verdict, list(by_parameter(verdict.used, self.replica.buckets))
            if statistics:
                self.replica.talk.statistics = statistics[0].mean
            self.replica.take_verdict(verdict, self.replica.buckets)
        return self._verdict

    def _discard(self) -> None:
        """No state and no parameter changes."""
        with self.replica.span("wait"):
            self.lanes.collect([f for arrivals in self.pending.values() for f in arrivals])
        assert self._verdict is not None
        self.replica.poison(self._verdict, self.replica.buckets)
        self.replica.talk.minutes.keep(self.replica.turns)  # made by an exchange that does not count
        self.pending = {}

    def after_step(self) -> None:
        if not self.pending:
            self._settings = None

    def open(self, buckets: frozenset[int]) -> None:
        """A module is about to run."""
        if not self.pending or self._settings is None:
            return
        if not torch.is_grad_enabled():
            self.flush()  # an evaluation: everything, whatever it will use
            return
        for number in sorted(buckets & self.pending.keys()):
            self._step(number)

    def flush(self) -> None:
        """Afterwards no step is left; between backward and step, gradients are means."""
        if not self.pending:
            return
        if self._settings is None and self._judge().culprit is not None:
            self._discard()
            return
        for number in list(self.pending):
            if self._settings is None:
                self._write(number)
            else:
                self._step(number)

    def close(self) -> None:
        """After an error of our own there is nothing left to wait for."""
        try:
            self.stop()
        except LaconicError:
            self.pending = {}

    # ------------------------------------------------------------- one bucket

    def _write(self, number: int) -> None:
        """Its gradients become means."""
        replica, bucket = self.replica, self.replica.buckets[number]
        with replica.span("wait", number):
            outs = self.lanes.collect(self.pending[number])
        del self.pending[number]
        out = joined(outs, self._flats.pop(number))
        bad = [] if bucket.plain else bucket.bad(out.mean)
        if any(bad):
            self.pending = {}
            raise NonFiniteError(
                f"The mean of {bucket.spec.names[bad.index(True)]!r} overflowed in {bucket.compress}, on all ranks "
                f"alike, when other parameters had taken this step already. Lower the learning rate or clip."
            )
        replica.state[number] = out.state
        bucket.write_gradients(out.mean, self._used[number], keep=holds(out.state, out.mean))

    @torch.inference_mode(mode=False)  # what an optimizer makes now must be good for training
    def _step(self, number: int) -> None:
        replica, bucket = self.replica, self.replica.buckets[number]
        kept = [p.grad for p in bucket.params]  # of an accumulation that has begun
        for p in bucket.params:
            p.grad = None
        self._write(number)
        assert self._settings is not None
        stepper = self._steppers[number]
        stepper.state = replica.optimizer.state  # another one after load_state_dict
        for group in stepper.param_groups:
            group.update(self._settings[group["laconic_group"]])
        with replica.span("apply", number):
            stepper.step()
        for p, grad in zip(bucket.params, kept, strict=True):
            p.grad = grad
        if not self.pending:
            self._settings = None


class _Gate:
    """What hangs on a module."""

    def __init__(self, crossing: Crossing, buckets: frozenset[int]) -> None:
        self.crossing, self.buckets = crossing, buckets

    def __call__(self, *_: Any) -> None:
        self.crossing.open(self.buckets)


def _stepper(optimizer: torch.optim.Optimizer, bucket: Bucket) -> torch.optim.Optimizer:
    """The same optimizer, with the same state, of a bucket's parameters alone and without anybody's hooks."""
    mine = {id(p) for p in bucket.params}
    own: torch.optim.Optimizer = object.__new__(type(optimizer))
    own.__dict__.update({k: v for k, v in optimizer.__dict__.items() if k != "step"})  # schedulers wrap `step`
    for name in [k for k in own.__dict__ if k.startswith("_optimizer_") and k.endswith("_hooks")]:
        own.__dict__[name] = OrderedDict()
    groups = [
        {**group, "params": [p for p in group["params"] if id(p) in mine], "laconic_group": i}
        for i, group in enumerate(optimizer.param_groups)
    ]
    own.param_groups = [group for group in groups if group["params"]]
    return own


def version_of(p: Tensor) -> tuple[int, int]:
    """Changes when somebody writes into a gradient or puts another in its place."""
    return (0, 0) if p.grad is None else (id(p.grad), p.grad._version)  # noqa: SLF001  (as autograd's own checks)


def _frozen(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value
