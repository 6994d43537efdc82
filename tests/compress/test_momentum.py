from __future__ import annotations

import pytest
import torch
from torch import Tensor

from laconic.compress import QSGD, ByTensor, DenseFirst, ErrorFeedback, Identity, Momentum, Sign, TopK, Warmup
from laconic.compress.momentum import chooses
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise

FOUR = one_tensor(4)


def heavy_ball(xs: list[Tensor], beta: float = 0.9) -> list[Tensor]:
    """What torch's SGD would apply."""
    out: list[Tensor] = []
    for x in xs:
        out.append(x + beta * out[-1] if out else x)
    return out


def run(compressor: Momentum, xs: list[Tensor]) -> list[Tensor]:
    world = World(compressor, 1, "gather", one_tensor(xs[0].numel()))
    return [world.exchange([x.clone()], step)[0].mean.clone() for step, x in enumerate(xs)]


XS = [noise(30, 70 + i) for i in range(6)]


def test_without_loss_and_masking_it_is_momentum_sgd():
    for inner in (Identity(), TopK(1.0)):
        got = run(Momentum(inner, masking="never"), XS)
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(got, heavy_ball(XS), strict=True))


def test_masking_everything_ends_all_momentum():
    # Why it is not done for dense codes: with all elements said it is plain SGD.
    got = run(Momentum(TopK(1.0)), XS)
    assert all(torch.equal(a, b) for a, b in zip(got, XS, strict=True))


def test_what_waits_has_its_momentum_by_hand():
    said = run(Momentum(TopK(0.25), beta=0.5), [torch.tensor([8.0, 4.0, 0, 0]), torch.zeros(4), torch.zeros(4)])
    # u = (8, 4), v = (8, 4): 8 is said, its u is masked. Then u = (0, 2), v = 4 + 2: all of it with momentum.
    assert [s.tolist() for s in said] == [[8, 0, 0, 0], [0, 6, 0, 0], [0, 0, 0, 0]]


def test_error_feedback_before_the_optimizers_momentum_falls_behind():
    """The same sums in the end; but what is said late under `ef` has its momentum still to come."""
    x = torch.tensor([8.0, 4.0, 0, 0])
    world = World(ErrorFeedback(TopK(0.25)), 1, "gather", FOUR)
    late = heavy_ball([world.exchange([x if s == 0 else torch.zeros(4)], s)[0].mean.clone() for s in range(2)], 0.5)
    applied = sum(late)[1]  # type: ignore[index]
    corrected = sum(run(Momentum(TopK(0.25), 0.5), [x, torch.zeros(4)]))[1]  # type: ignore[index]
    assert (float(applied), float(corrected)) == (4.0, 6.0)


def test_each_rank_has_momentum_of_its_own():
    world = World(Momentum(TopK(0.25)), 2, "gather", FOUR)
    world.exchange([torch.tensor([1.0, 2.0, 0, 0]), torch.tensor([0, 0, 4.0, 3.0])])
    assert world.states[0].own.tolist() == [1, 0, 0, 0]
    assert world.states[1].own.tolist() == [0, 0, 0, 3]


@pytest.mark.parametrize(
    ("inner", "step", "yes"),
    [
        (TopK(0.1), 0, True),
        (TopK(0.1) | QSGD(4), 0, True),
        (Warmup(TopK(0.1)), 0, True),
        (ByTensor(TopK(0.1)), 0, True),
        (Sign(), 0, False),
        (Identity(), 0, False),
        (DenseFirst(TopK(0.1), steps=5), 4, False),
        (DenseFirst(TopK(0.1), steps=5), 5, True),
    ],
    ids=str,
)
def test_only_chosen_elements_are_masked(inner: object, step: int, yes: bool):
    assert chooses(inner, step) is yes  # type: ignore[arg-type]


def test_small_tensors_that_travel_dense_keep_their_momentum():
    assert Momentum(TopK(0.01), beta=0.8).lossless == Momentum(Identity(), beta=0.8)
    assert Momentum(TopK(0.01)).owns_momentum
    assert Warmup(Momentum(TopK(0.01))).owns_momentum
    assert not ErrorFeedback(TopK(0.01)).owns_momentum


@pytest.mark.parametrize("bad", [{"beta": 1.0}, {"masking": "always"}])
def test_what_cannot_work_is_refused(bad: dict[str, object]):
    with pytest.raises(PlanError, match="momentum"):
        Momentum(TopK(0.1), **bad)  # type: ignore[arg-type]


def test_two_memories_are_refused():
    with pytest.raises(PlanError, match=r"momentum\(ef"):
        Momentum(ErrorFeedback(TopK(0.1)))
    with pytest.raises(PlanError, match="already remembers"):
        ErrorFeedback(Momentum(TopK(0.1)))
