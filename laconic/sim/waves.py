"""Hop programs of thousands of workers, a round at a time: what `play` finds where no side is ever wanted twice.

    clock_i <- max over my messages of the round: max(clock_source, clock_target) + alpha + m beta

holds exactly where a worker sends and receives at most one message in each round (ring, grids, doubling, tree).
The wiring is read once from the programs, as shares of a tensor; sizes are then right to within one element.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from laconic.sim.network import Network
from laconic.topology import programs
from laconic.topology.programs import Program, Shape

Floats = NDArray[np.float64]
SAMPLE = 1 << 22  # elements of the tensor that the wiring is read from


class Wave(NamedTuple):
    """One round: who sends what share of the tensor to whom."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    share: Floats


def waves(lines: Sequence[Program], numel: int) -> tuple[Wave, ...] | None:
    """None where a worker sends or receives twice in a round."""
    out = []
    for number in range(max(map(len, lines), default=0)):
        found = [
            (rank, s.peer, (s.stop - s.start) / numel)
            for rank, program in enumerate(lines)
            if number < len(program)
            for s in program[number].sends
        ]
        source, target, share = (np.array(c) for c in zip(*found, strict=True)) if found else _EMPTY
        if len(set(source.tolist())) < len(source) or len(set(target.tolist())) < len(target):
            return None
        out.append(Wave(source.astype(np.int64), target.astype(np.int64), share.astype(np.float64)))
    return tuple(out)


_EMPTY: tuple[Any, Any, Any] = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


@lru_cache(maxsize=16)
def wired(name: str, world: int, shape: Shape) -> tuple[Wave, ...] | None:
    """Of an all-reduce algorithm."""
    return waves([programs.build(name, r, world, SAMPLE, shape) for r in range(world)], SAMPLE)


def lined(rounds: Sequence[Wave], network: Network, world: int) -> list[tuple[Wave, Any, Any]]:
    """Rounds with alpha and beta of each of their messages, which stay what they are whatever is sent."""
    return [(wave, *_lines(network, world, wave)) for wave in rounds]


def ride(rounds: Sequence[tuple[Wave, Any, Any]], world: int, nbytes: float, ready: Floats | None = None) -> Floats:
    """When each worker is through; rounds as `lined` gives them."""
    clock = np.zeros(world) if ready is None else ready.astype(np.float64)
    for wave, alpha, beta in rounds:
        end = np.maximum(clock[wave.source], clock[wave.target]) + alpha + wave.share * nbytes * beta
        after = clock.copy()
        after[wave.source] = end  # each sends at most once, and none ends before it began
        after[wave.target] = np.maximum(after[wave.target], end)
        clock = after
    return clock


def _lines(network: Network, world: int, wave: Wave) -> tuple[Any, Any]:
    """alpha and beta of every message of a round."""
    if network.uniform:
        return network.line.alpha_s, network.line.beta_s
    own = np.full(world, network.line.beta_s)
    for worker, beta in network.own.items():
        if worker < world:
            own[worker] = beta
    betas = np.maximum(own[wave.source], own[wave.target])
    if network.across is None:
        return network.line.alpha_s, betas
    far = wave.source * network.regions // world != wave.target * network.regions // world
    alphas = np.where(far, network.across.alpha_s, network.line.alpha_s)
    return alphas, np.where(far, np.maximum(betas, network.across.beta_s), betas)
