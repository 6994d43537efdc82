from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from laconic.compress import Accordion, ErrorFeedback, PowerSGD, TopK
from laconic.core.bucket import BucketSpec, one_tensor
from laconic.core.errors import PlanError
from laconic.core.exchange import Turn
from laconic.core.minutes import Minutes
from laconic.drive.lockstep import lockstep
from tests.laws.world import World
from tests.zoo import noise

SPEC = one_tensor(20)
PLAN = Accordion(TopK(0.5), TopK(0.1), window=3)


def windows(size: Callable[[int], float], rate: Callable[[int], float], count: int, ranks: int = 1) -> list[bool]:
    """Over windows: was the harsh one at work? Gradients of window w are size(w) times the same vector."""
    world, out = World(PLAN, ranks, "gather", SPEC), []
    for w in range(count):
        harsh = {bool(s.harsh) for s in world.states}
        assert len(harsh) == 1, "ranks disagree"
        out.append(harsh.pop())
        for i in range(3):
            xs = [size(w) * noise(20, rank) for rank in range(ranks)]
            got = world.exchange(xs, 3 * w + i, rate(w))
            assert int(got[0].sent.count_nonzero()) == (2 if out[-1] else 10)
    return out


def test_constant_norms_are_compressed_harshly_from_window_2():
    # Window 0 is the first, window 1 has nothing to be compared with before it ends.
    assert windows(lambda w: 1.0, lambda w: 0.1, 5) == [False, False, True, True, True]


def test_a_norm_that_falls_by_half_is_critical():
    # The harsh one says a part of the gradient, so its first sums look smaller; here they are not half of it.
    assert windows(lambda w: 1.0 if w < 4 else 0.3, lambda w: 0.1, 7)[5] is False


def test_a_fall_of_the_learning_rate_is_critical():
    got = windows(lambda w: 1.0, lambda w: 0.1 if w < 4 else 0.01, 7)
    assert got == [False, False, True, True, True, False, True]


def test_a_learning_rate_that_falls_little_by_little_is_not_critical():
    cosine = [0.5 + 0.5 * math.cos(math.pi * w / 50) for w in range(15)]  # down to 0.8, in every window
    assert windows(lambda w: 1.0, lambda w: cosine[w], 15) == [False, False, *[True] * 13]


def test_a_step_down_amid_a_slow_fall_is_critical():
    got = windows(lambda w: 1.0, lambda w: 0.99**w * (0.1 if w < 5 else 0.01), 8)
    assert got == [False, False, True, True, True, True, False, True]


def test_changes_are_noted_alike_by_all_ranks():
    world = World(PLAN, 2, "gather", SPEC)
    minutes = [Minutes(), Minutes()]
    for step in range(15):
        programs = [
            PLAN.exchange(noise(20, r), s, SPEC, Turn(seat, step, 0.1 if step < 9 else 0.01, minutes[r]))
            for r, (s, seat) in enumerate(zip(world.states, world.seats, strict=True))
        ]
        world.states = [o.state for o in lockstep(programs)]
    told, other = ([str(d) for d in m.keep(15)] for m in minutes)
    assert told == other
    assert [text.split("; ")[0] for text in told] == [
        "exchange 6, bucket 0 ('x'): topk(0.5) -> topk(0.1)",
        "exchange 12, bucket 0 ('x'): topk(0.1) -> topk(0.5)",
        "exchange 15, bucket 0 ('x'): topk(0.5) -> topk(0.1)",
    ]
    assert "the sum of 3 means has norm" in told[0]
    assert told[1].endswith("the learning rate fell from 0.1 to 0.01")


def test_ranks_decide_alike():
    windows(lambda w: 2.0**-w, lambda w: 0.1, 5, ranks=3)


def test_a_rank_that_sees_another_rate_decides_with_the_others():
    world = World(PLAN, 2, "gather", SPEC)
    turns = [0.1, 0.01]
    for step in range(9):
        programs = [
            PLAN.exchange(noise(20, r), s, SPEC, Turn(seat, step, turns[r] if step > 5 else 0.1))
            for r, (s, seat) in enumerate(zip(world.states, world.seats, strict=True))
        ]
        world.states = [o.state for o in lockstep(programs)]
        assert bool(world.states[0].harsh) == bool(world.states[1].harsh)


def test_zeros_are_critical():
    world = World(PLAN, 1, "gather", SPEC)
    for step in range(9):
        world.exchange([torch.zeros(20)], step)
    assert not bool(world.states[0].harsh)


def test_a_rank_of_powersgd_changes_and_the_error_stays():
    spec = BucketSpec(0, ("w",), ((16, 16),))
    plan = ErrorFeedback(Accordion(PowerSGD(2), PowerSGD(1), window=2))
    world, came, sent = World(plan, 1, spec=spec), torch.zeros(256), torch.zeros(256)
    x = noise(256)
    for step in range(8):
        sent += world.exchange([x.clone()], step)[0].sent
        came += x
    assert bool(world.states[0].inner.harsh)
    assert torch.allclose(sent + world.states[0].residual, came, atol=1e-3)


@pytest.mark.parametrize(
    "bad", [{"window": 0}, {"change": 0.0}, {"change": 1.0}, {"harsh": TopK(0.5)}, {"harsh": ErrorFeedback(TopK(0.1))}]
)
def test_what_cannot_work_is_refused(bad: dict[str, object]):
    with pytest.raises(PlanError, match="accordion"):
        Accordion(**{"mild": TopK(0.5), "harsh": TopK(0.1)} | bad)  # type: ignore[arg-type]
