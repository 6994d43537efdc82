"""Measures a few steps, works out a better order of messages, and keeps it only if it is not slower.

    WARM steps      as they come
    WATCH steps     when gradients are ready, which module uses which parameter first, whether steps may be delayed
    then            rank 0's profile and everybody's cost curve -> settings to try; number 0 is what is in use, or
                    DDP's buckets
    trial           settings take turns (schedule/halving.py); the slowest rank's medians count, rank 0 decides, all
                    change at the same step; the decision is logged and kept in `replica.decisions`
    every RECHECK   has the time of a step drifted by more than DRIFT? Then watch and try again

With guard=off what was worked out is used without a trial. A compressor that remembers by bucket cannot change buckets
midway: under `planned` and `mgwfbp` such plans travel dense while they are watched, are cut once and stay so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from laconic import buckets as cutting
from laconic.buckets import Bucket, Unit
from laconic.compress import Identity
from laconic.core import memory
from laconic.core.clock import Clock, WallClock
from laconic.core.errors import UsageError
from laconic.core.units import seconds_text
from laconic.crossing import Crossing, version_of
from laconic.drive.lanes import Lanes
from laconic.gates import Scout
from laconic.pricing import Agreement, curve
from laconic.schedule import AbstractSchedule, Fused, Profile
from laconic.schedule.halving import Halving
from laconic.schedule.queueing import Message, launch_order

if TYPE_CHECKING:
    from laconic.plan import Plan
    from laconic.replica import Replica

WARM, WATCH = 1, 3
RECHECK, DRIFT = 500, 1.3
Runs = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Setting:
    """One way to order messages. `runs`: buckets as numbers of parameters."""

    label: str
    schedule: AbstractSchedule
    runs: Runs
    crosses: bool

    def does_as(self, other: Setting) -> bool:
        """The same messages at the same moments?"""
        mine, theirs = self.schedule, other.schedule
        return (self.runs, self.crosses, mine.chunk_bytes) == (other.runs, other.crosses, theirs.chunk_bytes)


class Pilot:
    def __init__(self, replica: Replica, model: nn.Module, clock: Clock | None = None) -> None:
        """All ranks must call it together."""
        self.replica, self.model, self.clock = replica, model, clock or WallClock()
        self.schedule = replica.plan.schedule
        self.trouble = _cannot_cross(replica) if self.schedule.crosses else ""
        if isinstance(replica.driver, Lanes) and replica.plan.adds_up:
            replica.driver.use(0)  # until a setting asks for lanes
        self.settings: list[Setting] = []
        self.in_use: Setting | None = None
        self._gate: dict[str, str] = {}
        self._profile: Profile | None = None
        self._trial: Halving | None = None
        self._scout: Scout | None = None
        self._count = 0  # steps in this phase
        self._ready: dict[str, float] = {}
        self._passes: list[dict[str, float]] = []
        self._versions: dict[str, Any] = {}
        self._last: float | None = None
        self._recent: list[float] = []
        self._usual_s = 0.0
        self._phase = "watch"
        self._remembers = any(_keeps(s) for s in replica.state)
        if self._remembers and self.schedule.candidates():
            raise UsageError(
                f"{replica.plan.compress} remembers by bucket, so {self.schedule} cannot try several. Name a size."
            )
        if self._remembers and self.schedule.recuts:
            trained, world = replica.inventory.trained, replica.seat.world
            dense = cutting.cut(trained, self.schedule, Identity(), world, replica.groups)
            replica.recut(dense, None)
        if self.schedule.crosses:
            self._scout = Scout(model, replica.inventory.trained, self.clock.now)
        if self.schedule.crosses and not self.trouble:
            assert isinstance(replica.driver, Lanes), "others are in trouble"
            replica.crossing = Crossing(replica, model, replica.driver)

    # ------------------------------------------------------------- told by the replica

    def ready(self, name: str) -> None:
        if self._phase == "watch":
            self._ready[name] = self.clock.now()

    def written(self) -> None:
        """Gradients are means now."""
        if self._phase == "watch":
            if self._versions:
                self.trouble = self.trouble or "gradients are exchanged twice before a step"
            self._versions = {n: version_of(p) for n, p in self.replica.inventory.trained.items()}

    def before_step(self, *, closure: bool) -> None:
        if self._phase != "watch":
            return
        if closure:
            self.trouble = self.trouble or "optimizer.step is given a closure"
        changed = [
            n for n, p in self.replica.inventory.trained.items() if self._versions.get(n) not in (None, version_of(p))
        ]
        if changed:
            self.trouble = self.trouble or f"the gradient of {changed[0]!r} is changed between backward and step"

    def after_step(self) -> None:
        now = self.clock.now()
        took, self._last = None if self._last is None else now - self._last, now
        match self._phase:
            case "watch":
                self._watched()
            case "trial":
                self._tried(took)
            case "settled":
                self._settled(took)

    @property
    def settling(self) -> bool:
        """Is it still measuring or trying?"""
        return self._phase in ("watch", "trial")

    def close(self) -> None:
        if self._scout is not None:
            self._scout.stop()
            self._scout = None
        self._phase = "closed"

    # ------------------------------------------------------------- watching

    def _watched(self) -> None:
        self._count += 1
        if self._count > WARM and self._ready:
            first = min(self._ready.values())
            self._passes.append({name: t - first for name, t in self._ready.items()})
        self._ready, self._versions = {}, {}
        if self._count < WARM + WATCH:
            if self._scout is not None:
                self._scout.after_step()
            return
        if self._scout is not None:
            self._scout.stop()
        self._propose()
        if self._scout is not None:
            self._scout = None
        self._last = self.clock.now()

    def _propose(self) -> None:
        self._flush()
        agreement = self._agreement()
        if self.schedule.crosses and not self._may_cross(agreement):
            return
        self._profile = self._measure(agreement)
        tried = [self._worked_out(s) for s in self.schedule.candidates() or (self.schedule,)]
        if self.schedule.crosses:
            self.settings = self._with_what_is_in_use([*self._barriers(tried), *tried])
        else:
            now = Setting("as it was", self.schedule, self._runs(), crosses=False)
            self.settings = [self.in_use or now, *tried]
        if self._remembers and self.schedule.recuts:
            self._settle(tried[0], "without a trial, because the compressor remembers by bucket")
        elif not self.schedule.guarded and len(tried) == 1:
            self._settle(tried[0], "without a trial (guard=off)")
        else:
            self._trial, self._phase = Halving(len(self.settings)), "trial"
            self._use(self.settings[0])

    def _may_cross(self, agreement: Agreement) -> bool:
        self.trouble = self.trouble or self._unseen()
        if not agreement.largest([1.0 if self.trouble else 0.0])[0]:
            return True
        self.trouble = self.trouble or "another rank cannot delay them"
        self._say(f"{self.schedule}: steps are not delayed, because {self.trouble}.")
        if self.replica.crossing is not None:
            self.replica.crossing.close()
            self.replica.crossing = None
        self._phase = "settled"
        if not isinstance(self.replica.driver, Lanes):  # at least they leave in the order of the next pass
            self._profile = self._measure(agreement)
            self._use(Setting("as it was", self.schedule, self._runs(), crosses=False))
        return False

    def _unseen(self) -> str:
        if self.replica.crossing is None or self._gate:
            return ""  # cannot at all, or was looked at before
        assert self._scout is not None
        if self._scout.outside:
            return f"{min(self._scout.outside)!r} is read between optimizer.step() and the next forward pass"
        used = {n for seen in self._passes for n in seen}
        missing = sorted(used - self._scout.gate.keys())
        return f"no module was seen to use {missing[0]!r} in its forward pass" if missing else ""

    def _measure(self, agreement: Agreement) -> Profile:
        """The same on all ranks."""
        names = list(self.replica.inventory.trained)
        modules = list(dict(self.model.named_modules()))
        late = max((t for seen in self._passes for t in seen.values()), default=0.0)
        ready = [median([seen.get(n, late) for seen in self._passes] or [0.0]) for n in names]
        ready = agreement.mean(ready)
        first, gates, calls = [0.0] * len(names), [-1.0] * len(names), list[float]()
        if self._scout is not None:
            never = len(self._scout.call_s)
            first = [float(self._scout.first_use.get(n, never)) for n in names]
            gates = [float(modules.index(self._scout.gate[n])) if n in self._scout.gate else -1.0 for n in names]
            calls = self._scout.call_s
        if self._scout is not None or self._profile is None:
            first, gates, calls = (agreement.of_rank_0(x) for x in (first, gates, calls))
            self._gate = {n: modules[int(g)] for n, g in zip(names, gates, strict=True) if g >= 0}
        else:
            first, calls = [float(x) for x in self._profile.first_use], list(self._profile.forward_s)
        cost = curve(agreement, self.replica.plan.compress, self.clock)
        self._passes = []
        return Profile(tuple(ready), tuple(int(x) for x in first), tuple(calls), cost)

    # ------------------------------------------------------------- settings

    def _worked_out(self, schedule: AbstractSchedule) -> Setting:
        assert self._profile is not None
        items = self._items()
        if self._remembers and not schedule.recuts:
            runs = self._runs()
        else:
            runs = _tuples(schedule.recut(items, self._profile) or schedule.cut(items))
        return Setting(str(schedule), schedule, runs, crosses=schedule.crosses)

    def _with_what_is_in_use(self, others: list[Setting]) -> list[Setting]:
        """First, where it is favoured; before the first trial nothing was chosen."""
        used = self.in_use
        if used is None:
            return others
        same = [other for other in others if used.does_as(other)] or [replace(used, label="as it was")]
        return [same[0], *(other for other in others if other is not same[0])]

    def _barriers(self, tried: list[Setting]) -> list[Setting]:
        """What a delayed step has to beat: one not delayed and, where buckets may change, DDP's own buckets."""
        if self._remembers:
            return [replace(tried[0], label="barrier", crosses=False)]
        usual = Setting("fused", Fused(), _tuples(Fused().cut(self._items())), crosses=False)
        if len(tried) > 1:
            return [usual]
        mine = replace(self._worked_out(tried[0].schedule.barrier()), label="barrier", crosses=False)
        return [usual] if usual.runs == mine.runs else [usual, mine]

    def _items(self) -> list[Any]:
        replica = self.replica
        return cutting.items(replica.inventory.trained, replica.plan.compress, replica.groups)

    def _runs(self) -> Runs:
        number = {name: i for i, name in enumerate(self.replica.inventory.trained)}
        return tuple(tuple(number[n] for n in b.spec.names) for b in self.replica.buckets)

    def _use(self, setting: Setting) -> None:
        """Between two steps, on all ranks at the same one."""
        replica = self.replica
        if replica.crossing is not None:
            replica.crossing.stop()
        chunk = setting.schedule.chunk_bytes
        dense = all(b.plain for b in replica.buckets) and replica.plan.compress != Identity()
        if setting.runs != self._runs() or chunk != replica.chunk_bytes or dense:
            replica.recut(self._cut(setting), chunk)
        urgent = self._urgency(setting)
        order = sorted(replica.units, key=lambda u: u.spec.id)
        ordered = setting.crosses or not isinstance(replica.driver, Lanes)
        self._set_width(setting)
        if setting.crosses:
            assert replica.crossing is not None
            second = sorted(order, key=lambda u: (urgent[u.bucket] if urgent is not None else 0, u.spec.id))
            replica.crossing.start(self._gate, [u.spec.id for u in second])
        if ordered and urgent is not None and not setting.schedule.halves:
            replica.reorder(self._by_priority(order, urgent, setting))
        else:
            replica.reorder(order)
        self.in_use = setting

    def _set_width(self, setting: Setting) -> None:
        driver = self.replica.driver
        if isinstance(driver, Lanes):
            driver.use(_width(setting, self.replica.plan, len(driver.desks)))

    def _cut(self, setting: Setting) -> list[Bucket]:
        replica = self.replica
        return cutting.cut(
            replica.inventory.trained,
            setting.schedule,
            replica.plan.compress,
            replica.seat.world,
            replica.groups,
            setting.runs,
        )

    def _urgency(self, setting: Setting) -> list[int] | None:
        """Of each bucket: that of its most urgent parameter."""
        assert self._profile is not None
        by_item = setting.schedule.urgency(self._items(), self._profile)
        return None if by_item is None else [min(by_item[i] for i in run) for run in setting.runs]

    def _by_priority(self, units: list[Unit], urgent: list[int], setting: Setting) -> list[Unit]:
        assert self._profile is not None
        ready = [max(self._profile.ready_s[i] for i in run) for run in setting.runs]
        size = {b.spec.id: b.spec.dtype.itemsize for b in self.replica.buckets}
        messages = [Message(ready[u.bucket], (u.stop - u.start) * size[u.bucket], urgent[u.bucket]) for u in units]
        credit = setting.schedule.credit_bytes or max((m.nbytes for m in messages), default=1)
        return [units[i] for i in launch_order(messages, self._profile.cost, credit)]

    # ------------------------------------------------------------- trying

    def _tried(self, took: float | None) -> None:
        assert self._trial is not None
        before = self._trial.current
        if took is not None:
            self._trial.step(took)
        if self._trial.full:
            self._flush()
            agreement = self._agreement()
            medians = agreement.of_rank_0(agreement.largest(self._trial.mine()))
            if self._trial.judge(medians):
                self._decide()
                return
        if self._trial.current != before:
            self._flush()
            self._use(self.settings[self._trial.current])
            self._last = self.clock.now()

    def _decide(self) -> None:
        assert self._trial is not None
        times = "; ".join(
            f"{self.settings[i].label}: {seconds_text(s)}" for i, s in sorted(self._trial.medians.items())
        )
        self._settle(self.settings[self._trial.alive[0]], f"after a trial ({times} a step)")

    def _settle(self, setting: Setting, why: str) -> None:
        self._use(setting)
        self._say(f"{self.schedule}: from step {self.replica.steps + 1} on {setting.label}, {why}.")
        self._trial, self._phase, self._recent, self._usual_s = None, "settled", [], 0.0
        self._count = 0
        memory.release()  # blocks of the sizes that were tried

    def _settled(self, took: float | None) -> None:
        refused = self.schedule.crosses and bool(self.trouble)  # agreed on by all ranks
        if refused or took is None or (self._remembers and self.schedule.recuts):
            return
        self._recent.append(took)
        if len(self._recent) < RECHECK:
            return
        mine, self._recent = median(self._recent), []
        self._flush()
        usual_s = self._agreement().largest([mine])[0]
        drifted = self._usual_s and not 1 / DRIFT < usual_s / self._usual_s < DRIFT
        if drifted:
            self._say(
                f"{self.schedule}: a step takes {seconds_text(usual_s)} now, it was {seconds_text(self._usual_s)}."
            )
            self._phase, self._count = "watch", 0
        self._usual_s = usual_s
        self._last = self.clock.now()

    def adopt(self, runs: Runs, chunk_bytes: int | None) -> None:
        """Buckets as a checkpoint has them."""
        is_dense = self.replica.plan.compress != Identity() and all(b.plain for b in self.replica.buckets)
        if runs == self._runs() and chunk_bytes == self.replica.chunk_bytes and not is_dense:
            return
        setting = Setting("as the checkpoint has it", self.schedule, runs, crosses=False)
        if self.replica.crossing is not None:
            self.replica.crossing.stop()
        self.replica.recut(self._cut(setting), chunk_bytes)
        self._set_width(setting)
        self.in_use = setting
        if not self.schedule.recuts:  # it is among those that are tried again
            self._phase, self._count = "watch", 0
        else:
            self._say(f"{self.schedule}: buckets as the checkpoint has them.")
            self._phase = "settled"

    def _flush(self) -> None:
        if self.replica.crossing is not None:
            self.replica.crossing.flush()

    def _agreement(self) -> Agreement:
        replica = self.replica
        return Agreement(replica.driver, replica.seat, lambda what: replica.talk.place_after(2, what))

    def _say(self, text: str) -> None:
        self.replica.decide(text)


def _tuples(runs: list[list[int]]) -> Runs:
    return tuple(map(tuple, runs))


def _width(setting: Setting, plan: Plan, lanes: int) -> int:
    schedule = setting.schedule
    if plan.adds_up and not setting.crosses:
        return 0  # as under `fused`
    if schedule.credit_bytes is None or schedule.chunk_bytes is None:
        return lanes
    return max(1, min(lanes, schedule.credit_bytes // schedule.chunk_bytes))


def _cannot_cross(replica: Replica) -> str:
    """What can be said before any step."""
    optimizer = replica.optimizer
    if not isinstance(replica.driver, Lanes):
        return f"{type(replica.driver).__name__} finishes exchanges together"
    if not type(optimizer).__module__.startswith("torch.optim"):
        return f"{type(optimizer).__name__} is not one of torch's optimizers and may need all gradients at once"
    strangers = [n for n, p in replica.inventory.trained.items() if id(p) not in replica.groups]
    return f"{strangers[0]!r} does not belong to this optimizer" if strangers else ""


def _keeps(state: Any) -> bool:
    """Does a compressor remember anything here? Dampings and empty memories do not count."""
    return state.numel() > 1 if isinstance(state, Tensor) else any(_keeps(child) for child in state)
