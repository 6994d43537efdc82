"""Each algorithm against its formula, with gradients: worked out with dense matrices beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from laconic.core.bucket import BucketSpec
from laconic.topology.mixing.push_sum import Pushed
from tests.topology.village import MATRIX, Village, noise, village

SPEC = BucketSpec(0, MATRIX.names, MATRIX.shapes, torch.float64)
RATE = 0.2


def goals(world: int) -> Tensor:
    return torch.stack([noise(rank, SPEC, seed=3) for rank in range(world)])


def toward(rank: int, x: Tensor) -> Tensor:
    """A step down 1/2 |x - goal_rank|^2."""
    return RATE * (noise(rank, SPEC, seed=3).to(x.dtype) - x)


def run(text: str, world: int, rounds: int, spec: BucketSpec = SPEC) -> Village:
    v = village(text, world, spec)
    for _ in range(rounds):
        v.round(toward)
    return v


def adapt_then_combine(v: Village, rounds: int) -> Tensor:
    x = torch.zeros(v.world, SPEC.numel, dtype=torch.float64)
    for turn in range(rounds):
        x = v.topology.graph.weights(v.world, turn, 7).dense() @ (x + RATE * (goals(v.world) - x))
    return x


def combine_then_adapt(v: Village, rounds: int) -> Tensor:
    x = torch.zeros(v.world, SPEC.numel, dtype=torch.float64)
    for turn in range(rounds):
        x = v.topology.graph.weights(v.world, turn, 7).dense() @ x + RATE * (goals(v.world) - x)
    return x


ADAPT_FIRST = [
    "gossip(ring)",
    "gossip(exp)",
    "gossip(one_peer_exp)",
    "gossip(random_pairs)",
    "gossip(one_peer_exp, push_sum)",
    "gossip(ring, choco(1))",
    "gossip(ring, deepsqueeze(1))",
    "gossip(random_pairs, noloco(0, lr=1, pull=1))",
]


@pytest.mark.parametrize("text", ADAPT_FIRST)
@pytest.mark.parametrize("world", [1, 2, 3, 5, 8])
def test_uncompressed_they_step_and_then_average(text: str, world: int):
    v = run(text, world, 12)
    assert torch.allclose(v.table, adapt_then_combine(v, 12), atol=1e-5)


@pytest.mark.parametrize("text", ["gossip(ring, dcd)", "gossip(torus, dcd)", "gossip(ring, ecd)", "gossip(exp, ecd)"])
@pytest.mark.parametrize("world", [1, 2, 3, 5, 8])
def test_uncompressed_these_two_average_and_add_the_step(text: str, world: int):
    v = run(text, world, 12)
    assert torch.allclose(v.table, combine_then_adapt(v, 12), atol=1e-5)


@pytest.mark.parametrize("world", [1, 2, 3, 4, 8])
def test_mixing_with_everyone_is_bsp(world: int):
    v, x = run("gossip(complete)", world, 10), torch.zeros(SPEC.numel, dtype=torch.float64)
    for _ in range(10):
        x = x + RATE * (goals(world).mean(0) - x)
    assert all(torch.allclose(model, x, atol=1e-12) for model in v.table)


TRAINED = [
    ("gossip(ring)", 0.0),
    ("gossip(one_peer_exp, push_sum)", 0.0),
    ("gossip(ring, choco(0.3)) / topk(0.2)", 0.0),
    ("gossip(ring, choco(0.3)) / qsgd(4)", 0.0),
    ("gossip(ring, deepsqueeze(0.3)) / qsgd(8)", 0.02),
    ("gossip(ring, dcd) / qsgd(8)", 0.02),
    ("gossip(ring, ecd) / qsgd(8)", 0.1),
    ("gossip(ring, powergossip(2))", 0.0),
]


@pytest.mark.parametrize(("text", "noisy"), TRAINED)
def test_the_mean_of_all_models_descends_as_one_model_would(text: str, noisy: float):
    """The gradient of a quadratic is linear, so the mean goes exactly the way of plain gradient descent."""
    rounds = 40
    v = run(text, 5, rounds, MATRIX)
    target = goals(5).mean(0)
    descended = target * (1 - (1 - RATE) ** rounds)
    assert torch.allclose(v.mean, descended, atol=1e-4 + noisy)
    spread = (goals(5) - target).square().sum(1).mean().sqrt()
    assert v.distance < spread  # closer to each other than their own goals are


def _directed(folder: Path) -> str:
    """Strongly connected, columns add up to one, rows do not: rank 1 is told more than the others."""
    path = folder / "w.txt"
    path.write_text("1/2 0 1/3\n1/2 1/2 1/3\n0 1/2 1/3\n")
    return f"gossip(weights('{path}'), push_sum)"


def test_push_sum_finds_the_mean_on_a_directed_graph_and_conserves_mass(tmp_path: Path):
    v = village(_directed(tmp_path), 3, SPEC)
    mean = v.scatter()
    for _ in range(60):
        v.round()
        states: list[Pushed] = v.states
        assert float(sum(s.w for s in states)) == pytest.approx(3.0)
        assert all(float(s.w) > 0 for s in states)
        assert torch.allclose(sum(s.y for s in states) / 3, mean, atol=1e-12)  # type: ignore[operator]
    assert float(v.states[1].w) > 1.1  # the weights are not simply one
    assert all(torch.allclose(x, mean, atol=1e-9) for x in v.table)


def test_push_sum_trains_on_a_directed_graph_where_plain_averaging_would_favour_one_rank(tmp_path: Path):
    v = village(_directed(tmp_path), 3, SPEC)
    for turn in range(400):
        rate = 0.2 / (1 + 0.05 * turn)
        v.round(lambda rank, x, rate=rate: rate * (noise(rank, SPEC, seed=3) - x))
    assert all(torch.allclose(x, goals(3).mean(0), atol=0.05) for x in v.table)


def test_push_sum_agrees_on_the_sum_over_the_weights(tmp_path: Path):
    from laconic.drive.lockstep import lockstep

    v = village(_directed(tmp_path), 3, SPEC)
    mean = v.scatter()
    v.round()
    programs = [v.topology.by.agree(x, s) for x, s in zip(v.models, v.states, strict=True)]
    assert all(torch.allclose(out.mean, mean, atol=1e-12) for out in lockstep(programs))


def test_two_workers_find_their_difference_of_rank_two_in_a_few_rounds():
    v = village("gossip(ring, powergossip(2))", 2, SPEC)
    left, right = noise(0, BucketSpec(0, ("l",), ((24, 2),)), 5), noise(1, BucketSpec(0, ("r",), ((2, 20),)), 5)
    low = torch.cat([(left.double().view(24, 2) @ right.double().view(2, 20)).reshape(-1), torch.zeros(20).double()])
    v.round(lambda rank, _: low if rank else -low)
    assert v.distance > 1
    v.rounds(2)  # the left basis spans all of the difference, half of which each end then gives up
    assert v.distance < 1e-10
    assert torch.allclose(v.mean, torch.zeros_like(v.mean), atol=1e-12)


def test_power_gossip_keeps_its_vectors_where_models_are_equal():
    v = village("gossip(ring, powergossip(1))", 2)
    before = v.states[0][0][0].left.clone()
    v.rounds(4)
    assert torch.equal(v.states[0][0][0].left, before)
    assert torch.equal(v.table, torch.zeros_like(v.table))


def test_choco_on_a_ring_of_eight_as_in_the_catalogue():
    v = village("gossip(ring, choco(0.2)) / topk(0.1)", 8)
    mean = v.scatter()
    start = v.distance
    v.rounds(150)
    assert torch.allclose(v.mean, mean, atol=1e-5)
    assert v.distance < 5e-3 * start


def test_many_rounds_of_choco_do_not_drift():
    v = village("gossip(ring, choco(1))", 4)
    mean = v.scatter()
    v.rounds(250)
    assert torch.allclose(v.mean, mean, atol=2e-6)
    assert v.distance < 1e-5


def test_noloco_has_momentum_from_round_to_round():
    v = village("gossip(complete, noloco(0.5, lr=0.7, pull=0.7))", 2, SPEC)
    v.scatter()
    step = torch.stack([noise(rank, SPEC) for rank in range(2)]).mean(0)
    assert torch.allclose(v.table, (0.7 * step).expand(2, -1), atol=1e-6)
    v.round()  # nobody moves: the momentum does
    assert torch.allclose(v.table, (0.7 * step + 0.5 * 0.7 * step).expand(2, -1), atol=1e-6)


def test_noloco_brings_workers_together():
    v = village("gossip(random_pairs, noloco)", 8, SPEC)
    v.scatter()
    before = v.distance
    v.rounds(60)
    assert v.distance < 0.01 * before
