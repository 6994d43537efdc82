"""From requests to seconds: what a round costs one worker's line, by the topology it goes through.

    request          all-reduce                         servers, k of them
    reduce S         the algorithm's closed form        2k alpha + max(1, n/k) S beta, both ways at once, in pieces
    gather m         (n-1)(alpha + m beta)              2 alpha + max(n-1, n(n-1)/k) m beta
    deal m to each   (n-1)(alpha + m beta)              2 alpha + 2 max(1, n/k) (n-1) m beta
    post m, d times  d (alpha + m beta)                 -
    serve m          -                                  2k alpha + 2 max(1, n/k) m beta     a reply waits for all pushes

Seconds are split into latency, which keeps nobody busy, and time on the line, which rounds under way together share.
On unequal lines the slowest way counts (for a ring this is exact), except for grids, doubling and trees of up to
2048 workers, which are ridden round by round (waves.py). `double_tree` and `mesh` are played up to 32 workers; above
that stands the bound of topology/cost.py. Where the network was measured, its table replaces the formula.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from laconic.drive.simulate import Asked, Kind
from laconic.net.link import all_reduce_bytes
from laconic.sim import closed
from laconic.sim.network import Line, Network
from laconic.sim.play import play, rotated
from laconic.sim.waves import lined, ride, wired
from laconic.topology import AbstractTopology, AllReduce, ParameterServer
from laconic.topology.allreduce import AUTO, NATIVE
from laconic.topology.choice import candidates
from laconic.topology.programs import Shape, build

PLAYED = 32  # workers
SINGLE = ("hierarchical", "torus", "blueconnect", "recursive_doubling", "halving_doubling", "tree")
RIDDEN = 2048


class Wire(NamedTuple):
    """What a round costs: seconds of waiting, seconds of the line, bytes that leave the worker, messages."""

    latency_s: float
    line_s: float
    sent: float
    messages: float

    @property
    def seconds(self) -> float:
        return self.latency_s + self.line_s

    def __add__(self, other: Wire) -> Wire:  # type: ignore[override]  # side by side, not one tuple after the other
        return Wire(*(a + b for a, b in zip(self, other, strict=True)))


NOTHING = Wire(0.0, 0.0, 0.0, 0.0)


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

    def round(self, asks: tuple[Asked, ...]) -> Wire:
        total = NOTHING
        for ask in asks:
            total += self.wire(ask)
        return total

    def wire(self, ask: Asked) -> Wire:
        if self.world == 1:
            return NOTHING
        if isinstance(self.topology, ParameterServer):
            return self._served(ask, self.topology)
        n, m, line = self.world, ask.nbytes, self.network.worst(self.world)
        match ask.kind:
            case Kind.REDUCE:
                return self._reduce(m)
            case Kind.GATHER:
                return self._table(
                    "gather", m, Wire((n - 1) * line.alpha_s, (n - 1) * m * line.beta_s, (n - 1) * m, n - 1)
                )
            case Kind.DEAL:
                return self._table(
                    "deal", m, Wire((n - 1) * line.alpha_s, (n - 1) * m * line.beta_s, (n - 1) * m, n - 1)
                )
            case Kind.POST:
                d = ask.messages
                return self._table("post", m, Wire(d * line.alpha_s, d * m * line.beta_s, d * m, d), d)
            case Kind.SERVE:
                raise AssertionError("only servers serve")

    def _table(self, name: str, nbytes: float, formula: Wire, times: int = 1) -> Wire:
        curve = self.measured.get(name)
        if curve is None:
            return formula
        latency = min(curve.seconds[0], curve.at(nbytes)) * times
        return formula._replace(latency_s=latency, line_s=max(0.0, curve.at(nbytes) * times - latency))

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
        if self.network.uniform or name not in SINGLE or self.world > RIDDEN:
            return _one(name, self.network.worst(self.world), self.world, nbytes, shape)
        if (name, shape) not in self._rides:
            rounds = wired(name, self.world, shape)
            assert rounds is not None, f"{name} sends one message at a time"
            self._rides[name, shape] = lined(rounds, self.network, self.world)
        total, latency = (float(np.max(ride(self._rides[name, shape], self.world, n))) for n in (nbytes, 0.0))
        return total, latency, total - latency

    def _served(self, ask: Asked, ps: ParameterServer) -> Wire:
        n, k, m, line = self.world, ps.count(self.world), ask.nbytes, self.network.worst(self.world)
        if ps.layout == "colocated" and ask.kind is Kind.REDUCE:
            share = 2 * (n - 1) / n * m
            return Wire(2 * (n - 1) * line.alpha_s, share * line.beta_s, share, 2 * (n - 1))
        busy = max(1.0, n / k)
        match ask.kind:
            case Kind.REDUCE:
                return Wire(2 * k * line.alpha_s, busy * m * line.beta_s, m, k)
            case Kind.GATHER:
                return Wire(2 * line.alpha_s, max(n - 1.0, n * (n - 1) / k) * m * line.beta_s, m, 1)
            case Kind.DEAL:
                return Wire(2 * line.alpha_s, 2 * busy * (n - 1) * m * line.beta_s, (n - 1) * m, n - 1)
            case Kind.POST:
                return Wire(2 * line.alpha_s, 2 * busy * ask.messages * m * line.beta_s, ask.messages * m, ask.messages)
            case Kind.SERVE:
                return Wire(2 * k * line.alpha_s, 2 * busy * m * line.beta_s, m, ask.messages)


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
    if name in closed.WITHOUT and world <= PLAYED:
        numel = max(1, round(nbytes / 4))
        lines = rotated([build(name, r, world, numel, shape) for r in range(world)])
        total, latency = (play(lines, Network(one), 4).seconds for one in (line, Line(line.alpha_s, 0.0)))
    else:
        found = closed.all_reduce(name, world, nbytes, shape)
        total, latency = found.seconds(line.alpha_s, line.beta_s), found.hops * line.alpha_s
    return total, latency, total - latency
