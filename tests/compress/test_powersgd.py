from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import pytest
import torch
from torch import Tensor

from laconic.compress import ErrorFeedback, PowerSGD
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged, Seat, Turn
from laconic.drive.lockstep import lockstep
from laconic.topology import AllReduce
from tests.laws.world import World
from tests.zoo import noise

SPEC = BucketSpec(0, ("w", "b"), ((8, 8), (3,)))


def test_one_step_of_power_iteration_by_hand():
    world = World(PowerSGD(1), 2, spec=SPEC)
    xs = world.inputs()
    q = world.states[0].q[0].T.clone()
    matrices = [x[:64].view(8, 8) for x in xs]
    p = sum(m @ q for m in matrices) / 2
    p = p / p.norm()
    mean = p @ (sum(m.T @ p for m in matrices) / 2).T
    out = world.exchange(xs)
    assert torch.allclose(out[0].mean[:64].view(8, 8), mean, atol=1e-6)
    assert torch.allclose(out[1].sent[:64].view(8, 8), p @ (matrices[1].T @ p).T, atol=1e-6)
    next_q = sum(m.T @ p for m in matrices) / 2
    assert torch.allclose(world.states[0].q[0].T, next_q / next_q.norm(), atol=1e-6)


def test_vectors_and_small_matrices_travel_as_they_are():
    spec = BucketSpec(0, ("b", "w"), ((5,), (3, 4)))
    world = World(PowerSGD(1), 2, spec=spec)
    xs = world.inputs()
    assert torch.allclose(world.exchange(xs)[0].mean, sum(xs) / 2)
    assert PowerSGD(1).payload_bits(spec) == 32 * 17


def test_bits_are_those_of_the_factors():
    assert PowerSGD(2).payload_bits(SPEC) == 32 * (32 + 3)  # 2 (8 + 8): just half of the matrix
    assert PowerSGD(3).payload_bits(SPEC) == 32 * (64 + 3)  # 48 words would save too little
    assert PowerSGD(1).payload_bits(SPEC) == 32 * (16 + 3)


def test_a_convolution_is_a_matrix_of_its_first_dimension():
    conv = BucketSpec(0, ("c",), ((16, 4, 2, 2),))
    assert PowerSGD(1).payload_bits(conv) == 32 * (16 + 16)


def test_the_warm_start_finds_the_best_approximation():
    world = World(PowerSGD(1), 1, spec=BucketSpec(0, ("w",), ((12, 10),)))
    x = noise(120)
    s = torch.linalg.svdvals(x.view(12, 10))
    best = float(s[1:].norm())
    errors = [float((world.exchange([x.clone()], step)[0].mean - x).norm()) for step in range(60)]
    assert errors[-1] < 1.001 * best
    assert errors[0] > errors[-1]


def test_a_zero_gradient_does_not_end_the_iteration():
    world = World(PowerSGD(1), 1, spec=SPEC)
    world.exchange([torch.zeros(67)], 0)
    u = noise(8, 1).view(8, 1) @ noise(8, 2).view(1, 8)
    x = torch.cat([u.reshape(-1), torch.zeros(3)])
    errors = [float((world.exchange([x.clone()], step)[0].mean - x).norm()) for step in (1, 2)]
    assert errors[-1] < 1e-5 * float(x.norm())


def test_all_ranks_start_from_the_same_factor():
    world = World(PowerSGD(2), 3, spec=BucketSpec(0, ("w",), ((20, 20),)))
    first, *others = (state.q[0] for state in world.states)
    assert all(torch.equal(first, q) for q in others)


def test_in_an_error_memory_everything_is_said_in_the_end():
    world = World(ErrorFeedback(PowerSGD(1)), 1, spec=SPEC)
    x = noise(67)
    total = world.exchange([x.clone()], 0)[0].mean.clone()
    for step in range(1, 40):
        total += world.exchange([torch.zeros(67)], step)[0].mean
    assert torch.allclose(total, x, atol=1e-3)


@pytest.mark.parametrize("size", [1e-35, 1e35])
def test_powers_of_huge_and_tiny_matrices_stay_finite(size: float):
    world = World(ErrorFeedback(PowerSGD(2)), 2, spec=BucketSpec(0, ("w",), ((40, 60),)))
    for step in range(5):
        out = world.exchange([size * noise(2400, step + r).clamp(-2, 2) for r in range(2)], step)
        assert out[0].mean.isfinite().all()
        assert all(q.isfinite().all() and q.any() for q in out[0].state.inner.q)


def test_error_feedback_in_three_passes_is_that_in_many():
    spec = BucketSpec(0, ("w", "b", "c"), ((16, 24), (5,), (20, 2, 10)))
    inner = PowerSGD(2)
    whole = [inner.init(spec, Seat(r, 2, AllReduce())) for r in range(2)]
    turns = [Turn(Seat(r, 2, AllReduce()), 0) for r in range(2)]
    xs, es = ([noise(spec.numel, seed + r) for r in range(2)] for seed in (1, 5))
    fused = lockstep([_remembered(inner.remember(xs[r], es[r], 1.0, whole[r], spec, turns[r])) for r in range(2)])
    plain = lockstep([inner.exchange(xs[r] + es[r], whole[r], spec, turns[r]) for r in range(2)])
    for r in range(2):
        assert torch.allclose(fused[r].mean, plain[r].mean, atol=1e-5)
        assert torch.allclose(fused[r].sent, plain[r].sent, atol=1e-5)
        assert torch.allclose(fused[r].state[1], xs[r] + es[r] - plain[r].sent, atol=1e-5)


async def _remembered(program: Coroutine[Any, Any, tuple[Exchanged, Tensor]]) -> Exchanged:
    out, left = await program
    return Exchanged(out.mean, out.sent, (out.state, left))
