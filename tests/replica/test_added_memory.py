"""Gradients are added to an error memory on their way into the bucket: the same bits as adding it afterwards."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import laconic
from laconic.compress import ErrorFeedback
from laconic.core import state
from tests.processes import results

PLANS = [
    "ef(topk(0.1))",
    "ef(topk(0.1) | qsgd(4))",
    "ef(topk(0.1) | qsgd(4) | golomb)",
    "ef(topk(0.1)) / fifo",
    "local(2) / ef(topk(0.1))",
]


class Partly(nn.Module):
    """Leaves a matrix out in every other step."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.rare, self.calls = nn.Linear(64, 64), nn.Linear(64, 64), 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.first(x) if self.calls % 2 else self.rare(self.first(x))


def trained(rank: int, world: int, plan: str, added: bool) -> dict[str, Any]:
    laconic.init(timeout_s=30)
    if not added:
        ErrorFeedback.apart = lambda *_: None  # type: ignore[method-assign]
    torch.manual_seed(0)
    model = Partly()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    replica = laconic.distribute(model, optimizer, plan, nonfinite="skip")
    torch.manual_seed(rank)
    for step in range(8):
        factor = torch.nan if step == 4 and rank == world - 1 else 1.0
        (model(torch.randn(4, 64)).square().mean() * factor).backward()
        optimizer.step()
        optimizer.zero_grad()
    memories = [t for s in replica.state for t in state.to_dict(s).values()]
    return {"model": [p.detach() for p in model.parameters()], "memories": memories, "skipped": replica.skipped}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("world", [1, 3])
def test_a_memory_added_on_the_way_gives_the_same_bits(plan: str, world: int) -> None:
    now, before = (results(world, trained, plan, added) for added in (True, False))
    assert now[-1]["skipped"] == 1, "where NaN came up; under local(2) the others go on"
    for a, b in zip(now, before, strict=True):
        assert a["skipped"] == b["skipped"]
        for key in ("model", "memories"):
            assert all(torch.equal(x, y) for x, y in zip(a[key], b[key], strict=True)), key


def test_memories_are_added_where_they_are_whole_and_up_to_date() -> None:
    for plan, yes in (("ef(topk(0.1))", True), ("ef(sign)", False), ("ef(topk(0.1)) / fused(chunk=4KiB)", False)):
        model = nn.Linear(64, 64)
        replica = laconic.distribute(model, torch.optim.SGD(model.parameters(), lr=0.1), plan)
        assert any(replica.talk.error_memory(b) is not None for b in replica.buckets) is yes, plan
        replica.close()
