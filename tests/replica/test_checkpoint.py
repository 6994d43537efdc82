"""Saved at step 10 and continued equals never stopped, bit for bit; what does not fit is refused untouched."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import laconic
from laconic.core.errors import StateError
from tests.processes import results
from tests.replica.loops import batches, fit, flat, mlp, sgd

PLANS = [
    "none",
    "randomk(0.2)",
    "qsgd(bits=4)",
    "ef(topk(0.05))",
    "ef(sign)",
    "ef(powersgd(2))",
    "ef(topk(0.1) | qsgd(bits=4))",
    "by_shape(ef(powersgd(2)), rest=fp16)",
    "local(4)",
    "local(4) / ef(topk(0.1))",
    "cocod(4) / ef(topk(0.1))",  # a round is under way at step 10
    "cocod(4) / qsgd(bits=4)",
]


def _all(model: nn.Module) -> Tensor:
    """Parameters and running statistics."""
    return torch.cat([flat(model), *(b.detach().flatten() for b in model.buffers())])


def _continued(rank: int, world: int, folder: str) -> dict[str, tuple[Tensor, Tensor]]:
    laconic.init(timeout_s=30)
    data = batches(rank, 16)
    out = {}
    for number, plan in enumerate(PLANS):
        file = Path(folder) / f"{number}-{rank}.pt"

        model = mlp(rank)
        optimizer = sgd(model)
        replica = laconic.distribute(model, optimizer, plan)
        fit(model, optimizer, data[:10])
        saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "replica": replica.state_dict()}
        torch.save(saved, file)
        fit(model, optimizer, data[10:])
        through = _all(model)

        fresh = mlp(rank + 50)
        optimizer = sgd(fresh)
        replica = laconic.distribute(fresh, optimizer, plan)
        loaded = torch.load(file, weights_only=True)
        fresh.load_state_dict(loaded["model"])
        optimizer.load_state_dict(loaded["optimizer"])
        replica.load_state_dict(loaded["replica"])
        fit(fresh, optimizer, data[10:])
        out[plan] = (through, _all(fresh))
    return out


def test_a_run_continued_from_a_checkpoint_is_the_run_that_never_stopped(tmp_path: Path) -> None:
    for out in results(4, _continued, str(tmp_path), timeout_s=110):
        for plan, (through, continued) in out.items():
            assert torch.equal(through, continued), plan


def _returned(rank: int, world: int) -> tuple[Tensor, Tensor]:
    laconic.init(timeout_s=30)
    data = batches(rank, 20)
    model = mlp(rank)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, "cocod(4) / ef(topk(0.1))")
    fit(model, optimizer, data[:10])
    saved = copy.deepcopy((model.state_dict(), optimizer.state_dict(), replica.state_dict()))
    fit(model, optimizer, data[10:16])
    through = _all(model)
    fit(model, optimizer, data[16:18])  # a round that began at step 16 is under way
    for one, state in zip((model, optimizer, replica), saved, strict=True):
        one.load_state_dict(state)
    fit(model, optimizer, data[10:16])
    return through, _all(model)


def test_a_run_may_go_back_to_a_checkpoint_while_a_round_is_under_way() -> None:
    for through, again in results(3, _returned, timeout_s=60):
        assert torch.equal(through, again)


def _replica(plan: str) -> laconic.Replica:
    model = mlp(0)
    replica = laconic.distribute(model, sgd(model), plan)
    assert isinstance(replica, laconic.Replica)
    return replica


@pytest.mark.parametrize(
    ("change", "words"),
    [({"plan": "bsp / x"}, "plan"), ({"world": 8}, "world"), ({"rank": 1}, "rank"), ({"buckets": ""}, "buckets")],
)
def test_a_checkpoint_of_another_run_is_refused_by_name(change: dict[str, Any], words: str) -> None:
    replica = _replica("ef(topk(0.1))")
    saved = replica.state_dict() | change
    with pytest.raises(StateError, match=words):
        replica.load_state_dict(saved)


def test_a_checkpoint_with_a_missing_residual_changes_nothing() -> None:
    replica = _replica("ef(topk(0.1))")
    saved = replica.state_dict() | {"steps": 7}
    del saved["state"]["0"]["residual"]
    with pytest.raises(StateError, match="residual"):
        replica.load_state_dict(saved)
    assert replica.steps == 0


@pytest.mark.parametrize("change", [{"outer": []}, {"flight": {"started": 4}}])
def test_a_checkpoint_whose_rounds_are_incomplete_changes_nothing(change: dict[str, Any]) -> None:
    replica = _replica("cocod(4)")
    saved = replica.state_dict() | {"steps": 7}
    saved["when"] |= change
    with pytest.raises(StateError, match="incomplete"):
        replica.load_state_dict(saved)
    assert replica.steps == 0
