"""All plans worth a thought, predicted and ranked.

A prediction is a simulated step (laconic.sim) from what was measured: the model's seconds on a core, the network's
tables, what each compressor costs a core. First every plan of a list, then the best compressors with some layers left
dense (skipping.py, selecting.py), then the best of each answer put together (combined.py). `ddp` stands among them, and
so does staying alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from laconic.core.errors import LaconicError
from laconic.plan import Plan
from laconic.planner.combined import BASE, JOINT, combined
from laconic.planner.network_file import NetworkTable
from laconic.planner.risk import MILDEST_FIRST, Risk, risk
from laconic.planner.selecting import selecting
from laconic.planner.skipping import skipping
from laconic.sim.exchanges import Setting
from laconic.sim.lanes import Step
from laconic.sim.machine import Machine
from laconic.sim.model import ModelTable
from laconic.sim.network import Network
from laconic.sim.step import fits, simulate
from laconic.sync import Subject
from laconic.topology import ParameterServer

DDP = "ddp"
ALONE = "one worker alone"
CLEARLY = 0.99  # less is not a difference
DENSE_SHARES = (0.3, 0.6)
COMPRESSORS = 3  # that are looked at layer by layer
LAYERED = (Risk.ROUNDED, Risk.UNBIASED, Risk.BIASED)  # where they are the best


@dataclass(frozen=True)
class Found:
    """A candidate and what it would do."""

    text: str
    world: int
    risk: Risk
    step: Step
    single_s: float  # a step of one worker with a core (or device) to itself
    more_hosts: int = 0  # for servers that stand beside no worker

    @property
    def speedup(self) -> float:
        """Samples per second over those of one worker with a whole core (or device) to itself."""
        return self.world * self.single_s / self.step.seconds

    @property
    def distributes(self) -> bool:
        return self.text != ALONE


@dataclass(frozen=True)
class LeftOut:
    """What somebody asked for by name, and why it cannot be."""

    text: str
    why: str


@dataclass(frozen=True)
class Ranking:
    found: tuple[Found, ...]  # as `ranked` has them; DDP and one worker alone are among them
    left_out: tuple[LeftOut, ...] = ()

    @property
    def best(self) -> Found:
        """Of those that distribute."""
        return next(f for f in self.found if f.distributes)

    @property
    def best_here(self) -> Found:
        """Of those that need no more hosts than workers."""
        here = [f for f in self.found if f.distributes and not f.more_hosts]
        return _mildest_first(sorted(here, key=lambda f: f.step.seconds))[0]

    @property
    def ddp(self) -> Found:
        return next(f for f in self.found if f.text == DDP)


@dataclass(frozen=True)
class Planner:
    model: ModelTable
    network: Network
    machine: Machine
    table: NetworkTable | None = None

    def setting(self, world: int) -> Setting:
        if self.table is None:
            return Setting(self.model, self.network, world, self.machine)
        return Setting(self.model, self.network, world, self.table.machine(world), self.table.measured(world))

    def predict(self, text: str, world: int) -> Found | None:
        """None where so many workers, or virtual time, cannot follow it."""
        came = self.look(text, world)
        return came if isinstance(came, Found) else None

    def look(self, text: str, world: int) -> Found | LeftOut:
        """PlanError where the text is no plan."""
        plan = Plan() if text == DDP else Plan.parse(text)
        if plan.subject is Subject.NOTHING:
            return LeftOut(text, f"it never talks, so its workers train apart and gain nothing. See '{ALONE}'.")
        problem = fits(plan, world)
        if problem is not None:
            return LeftOut(text, problem)
        setting = self.setting(world)
        if text == DDP:
            setting = replace(setting, machine=replace(setting.machine, votes=False))
        try:
            step = simulate(plan, setting)
        except LaconicError as error:
            return LeftOut(text, str(error))
        return Found(text, world, risk(plan), step, self.model.step_s, _more_hosts(plan, world))

    def rank(self, world: int, texts: Iterable[str], also: Iterable[str] = ()) -> Ranking:
        """Fastest first; of two within one percent the milder one. `also`: named by a user, found or left out."""
        named = [self.look(text, world) for text in dict.fromkeys(also)]
        listed = self._found(_sensible(texts, world), world)
        if world > 1:
            listed += self._layer_by_layer(world, listed)
            listed += self._together(world, listed)
        asked = [f for f in named if isinstance(f, Found)]
        ddp = self._found([DDP], world)
        alone = Found(ALONE, 1, Risk.LOSSLESS, _alone(self.model.step_s), self.model.step_s)
        found = ranked(_once([*asked, *ddp, *listed]), alone)
        return Ranking(found, tuple(f for f in named if isinstance(f, LeftOut)))

    def _found(self, texts: Iterable[str], world: int) -> list[Found]:
        return [f for text in dict.fromkeys(texts) if isinstance(f := self.look(text, world), Found)]

    def _together(self, world: int, found: Sequence[Found]) -> list[Found]:
        """The best of each answer together, without the parts that gain nothing beside the others."""
        seen: dict[str, Found | None] = {f.text: f for f in found if f.text != DDP}
        if BASE not in seen:
            return []
        seconds = {f.text: f.step.seconds for f in found if f.text in seen}
        lean = [self._lean(text, world, seen) for text in combined(seconds)]
        return [f for f in dict.fromkeys(lean) if f is not None and f.text not in seconds]

    def _lean(self, text: str, world: int, seen: dict[str, Found | None]) -> Found | None:
        """The smallest plan of these parts that is as fast; `seen` grows."""
        if text not in seen:
            seen[text] = self.predict(text, world)
        whole, parts = seen[text], text.split(JOINT)
        if whole is None or len(parts) == 1:
            return whole
        smaller = [self._lean(JOINT.join(q for q in parts if q != p), world, seen) for p in parts]
        best = min((f for f in smaller if f is not None), key=lambda f: f.step.seconds, default=whole)
        return whole if _gains(whole, best) else best

    def _layer_by_layer(self, world: int, found: Sequence[Found]) -> list[Found]:
        """The best compressors again, with layers left dense, those whose gradients come first or where it does not
        pay; as far as that gains something."""
        lossy = [f for f in found if f.risk in LAYERED and "/" not in f.text]
        best = sorted(lossy, key=lambda f: f.step.seconds)[:COMPRESSORS]
        return [kept for f in best for kept in self._found(self._layered(f), world) if _gains(kept, f)]

    def _layered(self, f: Found) -> Iterator[str]:
        own = selecting(self.setting(f.world).machine, self.network.line, f.text)
        texts = [*(skipping(self.model, share, f.text) for share in DENSE_SHARES), own]
        return (text for text in texts if text is not None)


def planner_of(model: ModelTable, table: NetworkTable) -> Planner:
    return Planner(model, table.network(), Machine(), table)


def _more_hosts(plan: Plan, world: int) -> int:
    """One worker asks nobody."""
    return plan.topology.own_hosts(world) if isinstance(plan.topology, ParameterServer) and world > 1 else 0


def _sensible(texts: Iterable[str], world: int) -> list[str]:
    """Without those that have more servers than workers."""
    out = []
    for text in texts:
        whom = Plan().topology if text == DDP else Plan.parse(text).topology
        if not (isinstance(whom, ParameterServer) and whom.count(world) > world):
            out.append(text)
    return out


def _gains(f: Found, simpler: Found) -> bool:
    return f.step.seconds < CLEARLY * simpler.step.seconds


def _once(found: Iterable[Found]) -> list[Found]:
    """Of two spellings of a plan the first."""
    kept: dict[str, Found] = {}
    for f in found:
        kept.setdefault(DDP if f.text == DDP else str(Plan.parse(f.text)), f)
    return list(kept.values())


def _alone(seconds: float) -> Step:
    return Step(seconds, seconds, 0.0, 0.0, 0.0, 0.0, ())


def ranked(found: Iterable[Found], alone: Found) -> tuple[Found, ...]:
    """By seconds; but of those as fast as the fastest, to within one percent, the mildest comes first. Above `alone`
    stands only what is as fast as it is, below it only what is slower."""
    found = sorted(found, key=lambda f: (round(f.step.seconds, 12), _mildness(f), f.text != DDP, f.text.count(JOINT)))
    ahead = [f for f in found if round(f.speedup, 9) >= alone.speedup]
    behind = found[len(ahead) :]
    return (*_mildest_first(ahead), alone, *behind) if ahead else (alone, *_mildest_first(behind))


def _mildest_first(found: Sequence[Found]) -> list[Found]:
    limit = found[0].step.seconds / CLEARLY
    near = [f for f in found if f.step.seconds <= limit]
    best = min(near, key=lambda f: (_mildness(f), f.text not in (DDP, BASE), f.step.seconds))
    return [best, *(f for f in found if f is not best)]


def _mildness(f: Found) -> int:
    return MILDEST_FIRST.index(f.risk)
