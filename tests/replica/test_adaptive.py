"""Compressors that change while training: all ranks note the same decisions, and have the same parameters."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from torch.nn.functional import cross_entropy

import laconic
from tests.processes import results
from tests.replica.loops import batches, flat, mlp, sgd

PLANS = {
    "ef(paced(topk(0.5), within=0.000001, window=2))": "topk(0.5) -> topk(0.25); 1 of 1 exchanges took longer",
    "ef(accordion(topk(0.5), topk(0.1), window=2))": "topk(0.5) -> topk(0.1); the sum of 2 means",
    "cgx(0.2, every=3)": "8 bits -> ",
    "blocks(2) / cgx(0.2, every=2) / wfbp": "exchange 2, bucket 3 (",
    "local(2) / ef(paced(topk(0.5), within=0.000001, window=2))": "exchange 2, bucket 0 (",
    "ef(paced(topk(0.5), within=0.000001, window=2)) / crossed(guard=off)": "topk(0.5) -> topk(0.25)",
    "ef(paced(topk(0.5), window=2))": "",  # whatever this machine's times say
}


def _train(rank: int, world: int, plan: str) -> tuple[list[str], list[float]]:
    laconic.init(timeout_s=40)
    model = mlp(rank)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, plan)
    for x, y in batches(rank, 16):
        cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
    replica.flush()
    replica.close()
    assert isinstance(replica, laconic.Replica)
    return replica.decisions, flat(model).tolist()


@pytest.mark.parametrize("plan", PLANS)
def test_ranks_note_the_same_decisions(plan: str) -> None:
    (told, model), other = results(2, _train, plan)
    assert (told, model) == other
    assert PLANS[plan] in " ".join(told)


def test_a_step_that_does_not_count_decides_nothing() -> None:
    told, steps = results(1, _poisoned)[0]
    assert steps == 6
    assert [text.split(",")[0] for text in told] == ["exchange 3", "exchange 5"]


def _poisoned(rank: int, world: int) -> tuple[list[str], int]:
    """The exchange that would decide first is refused, so the one after it decides."""
    laconic.init(timeout_s=40)
    model = mlp(rank)
    optimizer = sgd(model)
    plan = "ef(paced(topk(0.5), within=0.000001, window=2))"
    replica = laconic.distribute(model, optimizer, plan, nonfinite="skip")
    for step, (x, y) in enumerate(batches(rank, 6)):
        with pytest.warns(UserWarning, match="skipped") if step == 1 else nullcontext():
            (cross_entropy(model(x), y) * (float("nan") if step == 1 else 1.0)).backward()
            optimizer.step()
            optimizer.zero_grad()
    assert isinstance(replica, laconic.Replica)
    return replica.decisions, replica.steps
