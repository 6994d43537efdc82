"""From requests to seconds: what a round costs one worker's line, by the topology it goes through.

    reduce S         the algorithm's closed form
    gather m         (n-1)(alpha + m beta)
    deal m to each   sum_j (alpha_j + m beta_j), of the worker for whom it takes longest
    post m, d times  d (alpha + m beta)
    through servers  served.py

Seconds are split into latency, which keeps nobody busy, and time on the line, which rounds under way together share.
On unequal lines the slowest way counts, except for deals. For rings, and gathers that go round, this is exact. Grids,
doubling and trees of up to 2,048 workers or 400,000 messages are ridden round by round (waves.py). `double_tree` and
`mesh` are played up to 32 workers; above that what was played grows as their form in topology/cost.py does, for which
messages do not meet. Where the network was measured, its table replaces the formula.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from laconic.drive.asked import Asked, Kind
from laconic.net.link import all_reduce_bytes
from laconic.sim import closed
from laconic.sim.network import Line, Network
from laconic.sim.play import play, rotated
from laconic.sim.served import served, updated
from laconic.sim.waves import lined, ride, wired
from laconic.sim.wire import NOTHING, Wire
from laconic.topology import AbstractTopology, AllReduce, ParameterServer
from laconic.topology.allreduce import AUTO, NATIVE
from laconic.topology.choice import candidates
from laconic.topology.programs import Shape, build

PLAYED = 32  # workers
SINGLE = ("hierarchical", "torus", "blueconnect", "recursive_doubling", "halving_doubling", "tree")
RIDDEN, RIDDEN_MESSAGES = 2048, 400_000  # workers, or hops of all of them: a round at a time
RINGS = (NATIVE, "ring")
WORST = "the slowest line stands for all, which is a bound"
SCALED = f"above {PLAYED} workers messages that meet are scaled from {PLAYED}, which is an estimate"


@dataclass(frozen=True)
class Curve:
    """Measured seconds at rising sizes; straight lines between, the last one goes on."""

    sizes: tuple[float, ...]
    seconds: tuple[float, ...]

    def at(self, nbytes: float) -> float:
        if nbytes <= self.sizes[0] or len(self.sizes) == 1:
            return self.seconds[0]
        i = next((i for i in range(1, len(self.sizes)) if nbytes <= self.sizes[i]), len(self.sizes) - 1)
        slope = (self.seconds[i] - self.seconds[i - 1]) / (self.sizes[i] - self.sizes[i - 1])
        return self.seconds[i - 1] + max(slope, 0.0) * (nbytes - self.sizes[i - 1])


@dataclass(frozen=True)
class Collectives:
    """Times of requests among `world` workers; `measured` by kind and algorithm, at that many workers."""

    topology: AbstractTopology
    network: Network
    world: int
    measured: Mapping[str, Curve] = field(default_factory=dict)
    _rides: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    _deals: list[Line] = field(default_factory=list, init=False, repr=False, compare=False)

    def round(self, asks: tuple[Asked, ...]) -> Wire:
        total = NOTHING
        for ask in asks:
            total += self.wire(ask)
        return total

    def update(self, said: float, heard: float) -> Wire:
        """To servers that keep the model, and what they answer at once."""
        if self.world == 1:
            return NOTHING
        assert isinstance(self.topology, ParameterServer), "others are refused (turns.py)"
        return updated(said, heard, self.topology, self.world, self.network.worst(self.world))

    def wire(self, ask: Asked) -> Wire:
        if self.world == 1:
            return NOTHING
        if isinstance(self.topology, ParameterServer):
            return served(ask, self.topology, self.world, self.network.worst(self.world))
        n, m, line = self.world, ask.nbytes, self.network.worst(self.world)
        match ask.kind:
            case Kind.REDUCE:
                return self._reduce(m)
            case Kind.GATHER:
                return self._table(
                    "gather", m, Wire((n - 1) * line.alpha_s, (n - 1) * m * line.beta_s, (n - 1) * m, n - 1)
                )
            case Kind.DEAL:
                return self._table("deal", m, self._dealt(m))
            case Kind.POST:
                d = ask.messages
                return self._table("post", m, Wire(d * line.alpha_s, d * m * line.beta_s, d * m, d), d)
            case Kind.SERVE:
                raise AssertionError("only servers serve")

    def _dealt(self, nbytes: float) -> Wire:
        """Messages to the own region are not as slow as those to others."""
        if not self._deals:
            self._deals.extend(self.network.to_all(self.world))
        way = max(self._deals, key=lambda line: line.seconds(nbytes))
        others = self.world - 1
        return Wire(way.alpha_s, nbytes * way.beta_s, others * nbytes, others)

    def _table(self, name: str, nbytes: float, formula: Wire, times: int = 1) -> Wire:
        curve = self.measured.get(name)
        if curve is None:
            return formula
        latency = min(curve.seconds[0], curve.at(nbytes)) * times
        return formula._replace(latency_s=latency, line_s=max(0.0, curve.at(nbytes) * times - latency))

    def _ridden(self, name: str, shape: Shape) -> bool:
        if name not in SINGLE or self.world <= RIDDEN:
            return name in SINGLE
        return self.world * closed.all_reduce(name, self.world, 1.0, shape).hops <= RIDDEN_MESSAGES

    @property
    def notes(self) -> tuple[str, ...]:
        """Where sums are bounds or estimates."""
        if not isinstance(self.topology, AllReduce):
            return () if self.network.uniform else (WORST,)
        name, shape = self.topology.algorithm, self.topology.shape
        names = candidates(self.world) if name == AUTO else (name,)
        exact = all(n in RINGS or self._ridden(n, shape) for n in names)
        scaled = any(n in closed.WITHOUT for n in names) and self.world > PLAYED
        return (*([] if self.network.uniform or exact else [WORST]), *([SCALED] if scaled else []))

    def bounds(self, asks: Sequence[tuple[Asked, ...]]) -> tuple[str, ...]:
        """What `notes` leave out: swaps of pairs in an exchange among all."""
        posts = any(a.kind is Kind.POST for r in asks for a in r)
        return (WORST,) if posts and not self.network.uniform else ()

    def _reduce(self, nbytes: float) -> Wire:
        assert isinstance(self.topology, AllReduce), "gossip mixes by posts"
        name, shape = self.topology.algorithm, self.topology.shape
        if name == AUTO:
            name = min(candidates(self.world), key=lambda c: self._split(c, nbytes, shape)[0])
        latency, line_s = self._split(name, nbytes, shape)[1:]
        sent = _sent(name, self.world, nbytes, shape)
        hops = closed.all_reduce(NATIVE if name in closed.WITHOUT else name, self.world, nbytes, shape).hops
        return self._table("reduce" if name == NATIVE else f"reduce {name}", nbytes, Wire(latency, line_s, sent, hops))

    def _split(self, name: str, nbytes: float, shape: Shape) -> tuple[float, float, float]:
        """Total, latency, time on the line."""
        if self.network.uniform or not self._ridden(name, shape):
            return _one(name, self.network.worst(self.world), self.world, nbytes, shape)
        if (name, shape) not in self._rides:
            rounds = wired(name, self.world, shape)
            assert rounds is not None, f"{name} sends one message at a time"
            self._rides[name, shape] = lined(rounds, self.network, self.world)
        total, latency = (float(np.max(ride(self._rides[name, shape], self.world, n))) for n in (nbytes, 0.0))
        return total, latency, total - latency


def _sent(name: str, world: int, nbytes: float, shape: Shape) -> float:
    """By the worker that sends most."""
    if name in (NATIVE, "ring", "sra", "hierarchical", "torus", "mesh", "blueconnect"):
        return float(all_reduce_bytes(round(nbytes), world))
    if name == "double_tree":
        return 2 * nbytes
    return closed.all_reduce(name, world, nbytes, shape).nbytes


@lru_cache(maxsize=65536)
def _one(name: str, line: Line, world: int, nbytes: float, shape: Shape) -> tuple[float, float, float]:
    """Total, latency, time on the line, where all lines are equal."""
    if name in closed.WITHOUT:
        small = shape if world <= PLAYED else shape._replace(rows=_rows(shape.rows, world))
        total, latency = _played(name, line, min(world, PLAYED), nbytes, small)
        if world > PLAYED:
            few, many = (closed.all_reduce(name, n, nbytes, s) for n, s in ((PLAYED, small), (world, shape)))
            total *= many.seconds(line.alpha_s, line.beta_s) / few.seconds(line.alpha_s, line.beta_s)
            latency *= many.hops / few.hops
            latency = min(latency, total)
    else:
        found = closed.all_reduce(name, world, nbytes, shape)
        total, latency = found.seconds(line.alpha_s, line.beta_s), found.hops * line.alpha_s
    return total, latency, total - latency


def _rows(rows: int, world: int) -> int:
    """Of a grid of PLAYED, as long and narrow as this one, or nearly so; of two the one with fewer."""
    if not rows:
        return 0
    wanted = rows * (PLAYED / world) ** 0.5
    return min(
        (r for r in range(1, PLAYED + 1) if PLAYED % r == 0), key=lambda r: round(max(r / wanted, wanted / r), 6)
    )


def _played(name: str, line: Line, world: int, nbytes: float, shape: Shape) -> tuple[float, float]:
    """Total, and latency."""
    numel = max(1, round(nbytes / 4))
    lines = rotated([build(name, r, world, numel, shape) for r in range(world)])
    total, latency = (play(lines, Network(one), 4).seconds for one in (line, Line(line.alpha_s, 0.0)))
    return total, latency
