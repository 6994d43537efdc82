"""Everyone waits for those it hears."""

from __future__ import annotations

import numpy as np
import pytest

from laconic.sim.hearing import Hearing
from laconic.topology import Complete, Exponential, OnePeerExponential, RandomPairs, Ring, Torus
from laconic.topology.graph import AbstractGraph


@pytest.mark.parametrize("graph", [Ring(), Torus(3), Complete(), Exponential(), OnePeerExponential(), RandomPairs()])
def test_the_latest_is_found_along_the_rows_of_the_graph(graph: AbstractGraph) -> None:
    world, hearing = 9, Hearing(graph, 9)
    clock = np.random.default_rng(0).random(world)
    for turn in range(6):
        rows = graph.weights(world, turn, 0).rows
        assert hearing.latest(turn, clock).tolist() == [max(clock[[i, *row]]) for i, row in enumerate(rows)]
