from __future__ import annotations

import pytest
import torch

from laconic.compress import ErrorFeedback, Filtered, Identity, Momentum, RandomK, TopK
from laconic.core.errors import PlanError
from laconic.plan import Plan
from tests.laws.world import World
from tests.zoo import BUCKET


@pytest.mark.parametrize(
    ("options", "compressed"),
    [
        ({"min_numel": 13}, {"fc.weight", "fc.bias"}),
        ({"allow": "weight"}, {"fc.weight", "conv.weight"}),
        ({"deny": r"^fc\.|gain"}, {"conv.weight"}),
        ({"allow": "weight", "deny": "conv"}, {"fc.weight"}),
    ],
)
def test_what_is_left_out_is_bit_for_bit_a_plain_mean(options: dict[str, object], compressed: set[str]):
    plan = Filtered(ErrorFeedback(RandomK(0.05)), **options)  # type: ignore[arg-type]
    world, dense = World(plan, 3), World(Identity(), 3)
    ours = world.exchange(world.inputs())[0].mean
    theirs = dense.exchange(dense.inputs())[0].mean
    same = [torch.equal(a, b) for a, b in zip(BUCKET.views(ours), BUCKET.views(theirs), strict=True)]
    assert {name for name, yes in zip(BUCKET.names, same, strict=True) if not yes} == compressed


def test_what_is_left_out_keeps_its_momentum():
    pieces = Filtered(Momentum(TopK(0.1)), deny="bias").pieces(BUCKET)
    assert pieces[1].compressor == Momentum(Identity())


def test_patterns_with_backslashes_and_quotes_survive_text():
    for pattern in (r"layer\.\d+", "it's", 'say "no"', "a|b", "bias"):
        plan = Plan(compress=Filtered(TopK(0.1), deny=pattern))
        assert Plan.parse(str(plan)) == plan


@pytest.mark.parametrize("bad", [{}, {"allow": "("}, {"deny": "'\""}])
def test_what_cannot_work_is_refused(bad: dict[str, str]):
    with pytest.raises(PlanError, match="filtered"):
        Filtered(TopK(0.1), **bad)  # type: ignore[arg-type]
