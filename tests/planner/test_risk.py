"""Every plan says what it asks the model to bear."""

from __future__ import annotations

import pytest

from laconic.plan import Plan
from laconic.planner.risk import Risk, risk
from laconic.sync import ALL, BSP, Silent


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", Risk.LOSSLESS),
        ("allreduce(ring)", Risk.LOSSLESS),
        ("planned", Risk.LOSSLESS),
        ("ps(servers=2)", Risk.LOSSLESS),
        ("bf16", Risk.ROUNDED),
        ("qsgd(bits=4)", Risk.UNBIASED),
        ("ef(topk(0.01))", Risk.BIASED),
        ("topk(0.01)", Risk.UNMENDED),
        ("local(4)", Risk.STALE),
        ("gossip(ring)", Risk.STALE),
        ("asp / ps", Risk.STALE),
        ("ssp(3) / ps", Risk.STALE),
        ("downpour(4) / ps", Risk.STALE),
        ("backup / ps", Risk.STALE),
        ("post_local(10)", Risk.STALE),
        ("blocks(4)", Risk.STALE),
        ("lag", Risk.STALE),
    ],
)
def test_every_plan_says_what_it_asks_the_model_to_bear(text: str, expected: Risk) -> None:
    assert risk(Plan.parse(text)) is expected


def test_only_a_step_of_all_together_can_be_lossless() -> None:
    for kind in set(ALL) - {BSP, Silent}:
        servers = " / ps" if getattr(kind, "only_servers", False) else ""
        assert risk(Plan.parse(f"{kind.name}{servers}")) is Risk.STALE
