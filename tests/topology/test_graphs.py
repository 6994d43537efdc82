"""Graphs: weights that keep the mean, models that meet at the rate that is claimed, files that are checked."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from laconic.core.errors import PlanError
from laconic.topology import (
    GRAPHS,
    AbstractGraph,
    Complete,
    Exponential,
    Gossip,
    OnePeerExponential,
    RandomPairs,
    Ring,
    Torus,
    WeightFile,
)
from laconic.topology.gossip import check
from laconic.topology.mixing import PowerGossip, PushSum
from laconic.topology.weight_file import read

WORLDS = (1, 2, 3, 4, 5, 8, 12)
BUILT_IN = [kind() for kind in GRAPHS if kind is not WeightFile]

over_the_graphs = pytest.mark.parametrize("graph", BUILT_IN, ids=str)


@over_the_graphs
@pytest.mark.parametrize("world", WORLDS)
def test_rows_and_columns_add_up_to_one_in_every_round(graph: AbstractGraph, world: int):
    for turn in range(graph.period(world) or 20):
        w = graph.weights(world, turn, seed=3).dense()
        assert torch.allclose(w.sum(0), torch.ones(world, dtype=w.dtype), atol=1e-12)
        assert torch.allclose(w.sum(1), torch.ones(world, dtype=w.dtype), atol=1e-12)
        assert not graph.symmetric or torch.equal(w, w.T)
        assert (w >= 0).all()


@over_the_graphs
@pytest.mark.parametrize("world", WORLDS)
def test_who_hears_and_who_is_heard_fit_together(graph: AbstractGraph, world: int):
    weights = graph.weights(world, 1, seed=3)
    hoods = [weights.around(rank) for rank in range(world)]
    for rank, hood in enumerate(hoods):
        assert rank not in hood.peers + hood.sources
        assert all(rank in hoods[peer].sources for peer in hood.peers)
        assert all(rank in hoods[source].peers for source in hood.sources)
        assert hood.own + sum(hood.weights) == pytest.approx(1.0)


@over_the_graphs
@pytest.mark.parametrize("world", WORLDS)
def test_messages_are_the_most_that_one_rank_sends(graph: AbstractGraph, world: int):
    turns = range(graph.period(world) or 1)
    peers = [graph.weights(world, t, 0).around(rank).peers for t in turns for rank in range(world)]
    assert graph.messages(world) == max(map(len, peers))


@over_the_graphs
@pytest.mark.parametrize("world", [2, 3, 4, 5, 8, 12])
def test_models_come_together_at_the_rate_of_the_graph(graph: AbstractGraph, world: int):
    check(graph, world, rows=True)
    rounds = 12 * max(1, graph.period(world))
    x = torch.randn(world, 400, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x -= x.mean(0)
    start = x.norm()
    for turn in range(rounds):
        x = graph.weights(world, turn, seed=5).dense() @ x
    # Chance, and powers of matrices that are not normal, may be behind the rate for a while, not by orders of it.
    assert x.norm() <= 30 * start * graph.rate(world) ** rounds + 1e-12 * start


def test_worked_examples():
    assert Ring().weights(5, 0, 0).around(0) == Ring().weights(5, 9, 1).around(0)
    hood = Ring().weights(5, 0, 0).around(0)
    assert (hood.sources, hood.peers, hood.weights) == ((1, 4), (1, 4), (1 / 3, 1 / 3))
    assert Ring().weights(2, 0, 0).around(0).weights == (0.5,)
    assert Ring().gap(8) == pytest.approx(2 / 3 * (1 - torch.cos(torch.tensor(2 * torch.pi / 8)).item()))
    assert Torus().weights(12, 0, 0).around(0).sources == (1, 3, 4, 8)  # 3 rows of 4
    assert Torus(2).weights(12, 0, 0).around(0).sources == (1, 5, 6)
    assert Exponential().weights(8, 0, 0).around(0).sources == (4, 6, 7)
    assert Exponential().weights(8, 0, 0).around(0).peers == (1, 2, 4)
    assert [OnePeerExponential().weights(8, t, 0).around(0).peers for t in range(4)] == [(1,), (2,), (4,), (1,)]
    assert Complete().gap(7) == pytest.approx(1.0)


@pytest.mark.parametrize("world", [2, 4, 8, 16])
def test_one_peer_exponential_is_exact_after_log_n_rounds_where_n_is_a_power_of_two(world: int):
    exact = torch.full((world, world), 1 / world, dtype=torch.float64)
    assert torch.equal(OnePeerExponential().product(world), exact)
    assert OnePeerExponential().gap(world) == 1.0


def test_pairs_differ_by_round_and_seed_and_every_pair_comes_up():
    graph = RandomPairs()
    pairs = {(rank, s) for t in range(60) for rank in range(5) for s in graph.weights(5, t, 1).around(rank).sources}
    assert pairs == {(a, b) for a in range(5) for b in range(5) if a != b}
    assert graph.weights(8, 1, 1).rows != graph.weights(8, 2, 1).rows
    assert graph.weights(8, 1, 1).rows != graph.weights(8, 1, 2).rows


def test_a_torus_that_does_not_fit_is_refused():
    with pytest.raises(PlanError, match=r"torus\(3\): 8 workers do not make 3 rows"):
        Gossip(Torus(3)).settle(8)
    with pytest.raises(PlanError, match="whole number from 1 up"):
        Torus(-1)


def _file(folder: Path, text: str) -> str:
    path = folder / "w.txt"
    path.write_text(text)
    return str(path)


def test_weights_from_a_file(tmp_path: Path):
    path = _file(tmp_path, "# a path of three\n2/3, 1/3, 0\n1/3 1/3 1/3  # the middle\n\t0 1/3 2/3\n")
    graph = Gossip(WeightFile(path)).settle(3).graph
    assert graph.static
    assert graph.symmetric
    assert graph.weights(3, 5, 0).around(0).sources == (1,)
    assert graph.gap(3) == pytest.approx(1 / 3)
    assert str(graph) == f"weights('{path}')"


def test_several_matrices_are_rounds_in_turn(tmp_path: Path):
    text = "1/2 1/2 0\n1/2 1/2 0\n0 0 1\n\n1 0 0\n0 1/2 1/2\n0 1/2 1/2\n"
    graph = Gossip(WeightFile(_file(tmp_path, text))).settle(3).graph
    assert not graph.static
    assert [graph.weights(3, t, 0).around(0).sources for t in range(3)] == [(1,), (), (1,)]
    assert 0 < graph.gap(3) < 1
    with pytest.raises(PlanError, match="change in every round"):
        Gossip(WeightFile(_file(tmp_path, text)), PowerGossip()).settle(3)


def test_push_sum_needs_only_columns(tmp_path: Path):
    path = _file(tmp_path, "1/2 0 1/2\n1/2 1/2 1/4\n0 1/2 1/4\n")
    Gossip(WeightFile(path), PushSum()).settle(3)
    with pytest.raises(PlanError, match=r"row 1 of the weights adds up to 1.25, not 1; fix it, or mix by push_sum"):
        Gossip(WeightFile(path)).settle(3)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1/2 1/2\n1/2 1/4\n", "column 1 of the weights adds up to 0.75, not 1"),
        ("0.333 0.333 0.333\n0.333 0.333 0.333\n0.333 0.333 0.333\n", "adds up to 0.999"),
        ("3/2 -1/2\n-1/2 3/2\n", "a weight is negative"),
        ("1 0\n0 1\n", "spectral gap 0"),
        ("0 1\n1 0\n", "only swap their models"),
        ("nan 1\n1 0\n", "not a number"),
        ("1/2 half\n1/2 1/2\n", "line 1: 'half' is not a number or a fraction"),
        ("1/0 1\n1 0\n", "'1/0' is not a number"),
        ("1/2 1/2\n", "the file has 1 rows"),
        ("", "the file has 0 rows"),
        ("1 0 0\n0 1 0\n0 0\n", r"3 rows of \[2, 3\] numbers"),
    ],
)
def test_weights_that_cannot_work_are_refused(tmp_path: Path, text: str, problem: str):
    path = _file(tmp_path, text)
    world = max(2, len(text.strip().splitlines())) if "rows" not in problem else 2
    with pytest.raises(PlanError, match=problem):
        Gossip(WeightFile(path)).settle(world)


def test_a_file_of_another_world_or_no_file_is_refused(tmp_path: Path):
    path = _file(tmp_path, "1/2 1/2\n1/2 1/2\n")
    with pytest.raises(PlanError, match="3 workers need 3 rows of as many numbers, the file has 2 rows"):
        Gossip(WeightFile(path)).settle(3)
    with pytest.raises(PlanError, match="cannot be read"):
        read(str(tmp_path / "none.txt"))
