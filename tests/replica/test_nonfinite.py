"""NaN and infinity: named on every rank before any state is touched, skipped on request, compatible with GradScaler."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

import laconic
from laconic.core import state as tree
from laconic.core.errors import NonFiniteError
from tests.processes import results, run
from tests.replica.loops import batches, flat, mlp, sgd

BAD_STEP, BAD_RANK = 3, 1


def _exploding(rank: int, world: int, plan: str, nonfinite: str) -> dict[str, Any]:
    laconic.init(timeout_s=30)
    model = mlp(rank, norm=False)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, plan, nonfinite=nonfinite)
    assert isinstance(replica, laconic.Replica)
    out: dict[str, Any] = {"error": ""}
    for step, (x, y) in enumerate(batches(rank, 6)):
        before = flat(model), [tree.to_dict(s) for s in replica.state]
        factor = torch.inf if step == BAD_STEP and rank == BAD_RANK else 1.0
        (cross_entropy(model(x), y) * factor).backward()
        try:
            optimizer.step()
        except NonFiniteError as error:
            out["error"] = str(error)
            out["touched"] = not (
                torch.equal(before[0], flat(model))
                and all(_same(a, tree.to_dict(b)) for a, b in zip(before[1], replica.state, strict=True))
            )
        optimizer.zero_grad()
    out |= {"model": flat(model), "skipped": replica.stats.skipped_steps}
    return out


def _same(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


@pytest.mark.parametrize("plan", ["none", "ef(topk(0.1))", "ef(sign)", "ef(powersgd(2))", "qsgd(bits=4) / fifo"])
def test_every_rank_names_the_rank_and_the_parameter_and_nothing_was_touched(plan: str) -> None:
    outs = results(3, _exploding, plan, "raise")
    for out in outs:
        assert "Rank 1 found NaN or infinity in the gradient of" in out["error"]
        assert ".weight'" in out["error"] or ".bias'" in out["error"]
        assert not out["touched"]
    assert all(torch.equal(outs[0]["model"], o["model"]) for o in outs)


@pytest.mark.filterwarnings("ignore:Step skipped")
def test_skipping_drops_the_step_on_all_ranks() -> None:
    outs = results(3, _exploding, "ef(topk(0.1))", "skip")
    for out in outs:
        assert out["error"] == ""
        assert out["skipped"] == 1
        assert out["model"].isfinite().all()
    assert all(torch.equal(outs[0]["model"], o["model"]) for o in outs)


def test_local_training_stops_on_the_rank_that_saw_it_and_the_others_learn_why() -> None:
    outcomes = run(2, _local_explosion, timeout_s=60)
    assert "Rank 1 found NaN or infinity in the gradient of" in outcomes[1].error
    assert "PeerError" in outcomes[0].error
    assert "rank 1" in outcomes[0].error


def _local_explosion(rank: int, world: int) -> None:
    laconic.init(timeout_s=15)
    model = mlp(rank, norm=False)
    optimizer = sgd(model)
    laconic.distribute(model, optimizer, "local(4)")
    for step, (x, y) in enumerate(batches(rank, 8)):
        factor = torch.nan if step == 1 and rank == 1 else 1.0
        (cross_entropy(model(x), y) * factor).backward()
        optimizer.step()
        optimizer.zero_grad()


def _scaled(rank: int, world: int, plan: str) -> dict[str, Any]:
    laconic.init(timeout_s=30)
    model = mlp(rank, norm=False)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, plan)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    scales = []
    for step, (x, y) in enumerate(batches(rank, 6)):
        factor = torch.inf if step == 2 and rank == 1 else 1.0
        scaler.scale(cross_entropy(model(x), y) * factor).backward()  # type: ignore[no-untyped-call]
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        scales.append(scaler.get_scale())
    return {"model": flat(model), "scales": scales, "steps": replica.stats.steps}


@pytest.mark.parametrize("plan", ["none", "ef(topk(0.1))"])
def test_grad_scaler_skips_the_same_step_on_all_ranks(plan: str) -> None:
    a, b = results(2, _scaled, plan)
    assert a["scales"] == b["scales"]
    assert a["scales"][2] == a["scales"][1] / 2
    assert a["steps"] == b["steps"] == 5
    assert torch.equal(a["model"], b["model"])
    assert a["model"].isfinite().all()
