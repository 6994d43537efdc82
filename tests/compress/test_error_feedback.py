from __future__ import annotations

import pytest
import torch

from laconic.compress import QSGD, ErrorFeedback, Fp16, Identity, PowerSGD, RandomK, TopK
from laconic.core.bucket import BucketSpec, one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World

FOUR = one_tensor(4)


def test_the_residual_keeps_what_was_not_sent():
    world = World(ErrorFeedback(TopK(0.25)), 1, "gather", FOUR)
    x = torch.tensor([1.0, -3.0, 2.0, 0.5])
    said = [world.exchange([x if step == 0 else torch.zeros(4)], step)[0].mean.tolist() for step in range(4)]
    assert said == [[0, -3, 0, 0], [0, 0, 2, 0], [1, 0, 0, 0], [0, 0, 0, 0.5]]
    assert not world.states[0].residual.any()


def test_small_updates_add_up_until_they_are_said():
    world = World(ErrorFeedback(TopK(0.25)), 1, "gather", FOUR)
    x = torch.tensor([1.0, 0.4, 0.0, 0.0])
    said = [world.exchange([x.clone()], step)[0].mean for step in range(3)]
    assert torch.allclose(said[2], torch.tensor([0.0, 1.2, 0.0, 0.0]))


def test_every_rank_has_a_memory_of_its_own():
    world = World(ErrorFeedback(TopK(0.25)), 2, "gather", FOUR)
    world.exchange([torch.tensor([1.0, 2.0, 0, 0]), torch.tensor([0, 0, 4.0, 3.0])])
    assert world.states[0].residual.tolist() == [1, 0, 0, 0]
    assert world.states[1].residual.tolist() == [0, 0, 0, 3]


@pytest.mark.parametrize(
    ("inner", "damping"), [(TopK(0.1), 1.0), (RandomK(0.1), 0.1), (RandomK(0.8), 1.0), (QSGD(4), 1.0)]
)
def test_what_is_no_contraction_is_damped(inner: object, damping: float):
    assert ErrorFeedback(inner).damping(one_tensor(100)) == pytest.approx(damping)  # type: ignore[arg-type]


def test_damped_randomk_is_the_unscaled_mask():
    (out,) = World(ErrorFeedback(RandomK(0.25)), 1, spec=one_tensor(8)).exchange([torch.full((8,), 3.0)])
    assert sorted(out.sent.tolist()) == pytest.approx([0, 0, 0, 0, 0, 0, 3, 3])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_in_half_precision_small_updates_do_not_vanish_in_the_memory(dtype: torch.dtype):
    # 1 + 0.001 is 1 in bf16: a memory of that type would stand still.
    spec = one_tensor(2, dtype)
    world = World(ErrorFeedback(TopK(0.5)), 1, "gather", spec)
    world.exchange([torch.tensor([9.0, 1.0], dtype=dtype)], 0)
    for step in range(1, 101):
        out = world.exchange([torch.tensor([5.0, 0.001], dtype=dtype)], step)
    assert out[0].mean.dtype == dtype
    assert world.states[0].residual.dtype == torch.float32
    assert float(world.states[0].residual[1]) == pytest.approx(1.1, abs=0.001)


def test_an_owner_remembers_what_it_could_not_say_again():
    spec = one_tensor(4)
    world = World(ErrorFeedback(TopK(0.5)), 2, "deal", spec)
    world.exchange([torch.tensor([1.0, 0, 0, 0]), torch.tensor([0, 3.0, 0, 0])])
    # Owner 0 averaged (0.5, 1.5) and could say one element of the two.
    assert world.states[0].inner.error.tolist() == [0.5, 0.0]
    out = world.exchange([torch.zeros(4), torch.zeros(4)], 1)
    assert out[1].mean.tolist() == [0.5, 0, 0, 0]


def test_the_wire_carries_the_type_of_the_memory():
    # none inside a memory of float32 sends float32, though the bucket is fp16.
    assert ErrorFeedback(Fp16()).payload_bits(one_tensor(10, torch.float16)) == 160
    assert ErrorFeedback(TopK(0.5)).payload_bits(one_tensor(10, torch.float16)) == 5 * 32 + 16


@pytest.mark.parametrize("inner", [Identity(), ErrorFeedback(TopK(0.1))])
def test_a_memory_without_a_use_is_refused(inner: object):
    with pytest.raises(PlanError, match="Use "):
        ErrorFeedback(inner)  # type: ignore[arg-type]


def test_the_promise_is_that_of_what_is_inside():
    spec = BucketSpec(0, ("w",), ((32, 32),))
    for inner in (TopK(0.1), PowerSGD(2), QSGD(4)):
        traits, outer = inner.traits(spec), ErrorFeedback(inner).traits(spec)
        assert outer.delta == traits.contraction
        assert outer.rounds == traits.rounds
        assert outer.remembers
        assert not outer.unbiased
