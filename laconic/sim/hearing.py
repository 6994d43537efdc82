"""When the last of those whom each worker hears was through, for thousands of workers of any graph.

Neighbourhoods are read from the graph once for each round of its period, as one flat list; where everybody hears
everybody there is nothing to read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from laconic.topology.graph import AbstractGraph
from laconic.topology.graphs import Complete

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class Hearing:
    def __init__(self, graph: AbstractGraph, world: int) -> None:
        self._graph, self._world = graph, world
        self._all = isinstance(graph, Complete)
        self._known: dict[int, tuple[Whole, Whole]] = {}

    def latest(self, turn: int, clock: Floats) -> Floats:
        """The largest of its own clock and those of whom it hears in this round, for each worker."""
        if self._all:
            return np.full(self._world, clock.max())
        heard, starts = self._hoods(turn)
        return np.asarray(np.maximum.reduceat(clock[heard], starts))

    def _hoods(self, turn: int) -> tuple[Whole, Whole]:
        """Whom worker 0 hears, then worker 1, ..., and where each list begins; everyone hears itself."""
        period = self._graph.period(self._world)
        turn = turn % period if period else turn
        if turn not in self._known or not period:
            rows = [{i, *row} for i, row in enumerate(self._graph.weights(self._world, turn, 0).rows)]
            lengths = np.array([len(row) for row in rows], dtype=np.int64)
            heard = np.fromiter((j for row in rows for j in row), np.int64, int(lengths.sum()))
            self._known[turn] = heard, np.concatenate([[0], np.cumsum(lengths)[:-1]])
        return self._known[turn]
