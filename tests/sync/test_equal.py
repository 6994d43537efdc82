"""What must be equal to what, on real processes; one fork for all of it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

import laconic
from tests.processes import results
from tests.replica.loops import batches, fit, flat, mlp

WORLD, STEPS = 3, 12
SMALL = "fused(bucket=4KiB, first=4KiB)"
PLANS = {
    "bsp": "bsp",
    "local(1)": "local(1)",
    "lag(0)": "lag(0)",
    "lasg": "lasg(xi=0)",
    "blocks(1)": "blocks(1)",
    "post_local": f"post_local({STEPS}, h=4)",
    "lazy over servers": "lag(0) / ps",
    "local(4)": "local(4)",
    "k_avg(4)": "k_avg(4)",
    "cmfl": "cmfl(4, relevance=0)",
    "diloco as local": "diloco(4, outer=nesterov(1, momentum=0))",
    "diloco add": "diloco(4, outer=add)",
    "slowmo as local": "local(4, outer=slowmo(0))",
    "bmuf as local": "local(4, outer=bmuf(momentum=0))",
    "one_shot": "one_shot",
    "local(12)": f"local({STEPS})",
    "streaming": f"diloco(4, fragments=2, overlap=1, keep=0.5) / {SMALL}",
    "cocod": "cocod(4)",
    "blocks": f"blocks(2, l1=0.001) / {SMALL}",
    "late blocks": f"blocks(2, delay=1) / {SMALL}",
    "late": "blocks(1, delay=1)",
    "sparseloco": "local(4) / ef_decay(sparseloco(16, chunk=256), beta=0.95)",
    "quantized lag": "lag / qsgd(bits=8)",
    "adacomm": "adacomm(4, every=1)",
    "lupa": "lupa(2)",
}


def _plain(model: torch.nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.1)


def _train(rank: int, world: int, plans: dict[str, str]) -> dict[str, Any]:
    out = {}
    for name, plan in plans.items():
        model = mlp(rank, norm=False)
        optimizer = _plain(model)
        replica = laconic.distribute(model, optimizer, plan)
        for batch in batches(rank, STEPS):
            replica.observe(fit(model, optimizer, [batch]))
        replica.flush()
        assert isinstance(replica, laconic.Replica)
        out[name] = flat(model), replica.turns
        replica.close()
    return out


@pytest.fixture(scope="module")
def told() -> list[dict[str, Any]]:
    return results(WORLD, _train, PLANS, timeout_s=120)


def _of(told: list[dict[str, Any]], name: str) -> Tensor:
    out: Tensor = told[0][name][0]
    return out


@pytest.mark.parametrize("name", PLANS)
def test_replicas_are_equal_after_flush(told: list[dict[str, Any]], name: str):
    assert all(torch.equal(told[rank][name][0], _of(told, name)) for rank in range(WORLD))
    assert bool(_of(told, name).isfinite().all())


@pytest.mark.parametrize("name", ["local(1)", "lag(0)", "lasg", "blocks(1)", "lazy over servers"])
def test_with_plain_sgd_it_is_bsp(told: list[dict[str, Any]], name: str):
    assert (_of(told, name) - _of(told, "bsp")).abs().max() < 1e-6


def test_before_the_change_post_local_is_bsp_bit_for_bit(told: list[dict[str, Any]]):
    assert torch.equal(_of(told, "post_local"), _of(told, "bsp"))


@pytest.mark.parametrize(
    "name", ["k_avg(4)", "cmfl", "diloco as local", "diloco add", "slowmo as local", "bmuf as local"]
)
def test_it_is_local_sgd(told: list[dict[str, Any]], name: str):
    assert (_of(told, name) - _of(told, "local(4)")).abs().max() < 1e-6


def test_one_shot_is_one_round_at_the_end(told: list[dict[str, Any]]):
    assert torch.equal(_of(told, "one_shot"), _of(told, "local(12)"))
    assert told[0]["one_shot"][1] == 1


def test_others_train_too_and_are_none_of_these(told: list[dict[str, Any]]):
    for name in ("streaming", "cocod", "blocks", "late blocks", "late", "sparseloco", "adacomm", "lupa"):
        assert (_of(told, name) - _of(told, "local(4)")).abs().max() > 1e-5, name


def test_adaptive_periods_change_the_number_of_rounds(told: list[dict[str, Any]]):
    assert told[0]["adacomm"][1] > told[0]["local(4)"][1]  # 3 rounds and none at flush


def _mean_moves(rank: int, world: int) -> float:
    """CoCoD loses no step: with a linear loss the mean model is known."""
    model = torch.nn.Linear(4, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    replica = laconic.distribute(model, optimizer, "cocod(3)")
    start = model.weight.detach().clone()
    for step in range(10):
        (model.weight.sum() * (rank + step)).backward()
        optimizer.step()
        optimizer.zero_grad()
    replica.flush()
    wanted = start - 0.1 * sum(sum(r + s for s in range(10)) for r in range(world)) / world
    return float((model.weight.detach() - wanted).abs().max())


def test_cocod_loses_no_step():
    assert max(results(3, _mean_moves)) < 1e-5


def _resumes(rank: int, world: int, plan: str, optimizer_lr: float) -> bool:
    data = batches(rank, 11)

    def start() -> tuple[torch.nn.Module, torch.optim.Optimizer, Any]:
        model = mlp(rank, norm=False)
        optimizer = torch.optim.SGD(model.parameters(), lr=optimizer_lr, momentum=0.9)
        return model, optimizer, laconic.distribute(model, optimizer, plan)

    model, optimizer, replica = start()
    fit(model, optimizer, data[:6])
    saved = copy.deepcopy((replica.state_dict(), model.state_dict(), optimizer.state_dict()))
    again, other, second = start()
    again.load_state_dict(saved[1])
    other.load_state_dict(saved[2])
    second.load_state_dict(saved[0])
    fit(model, optimizer, data[6:])
    fit(again, other, data[6:])
    return torch.equal(flat(model), flat(again))


@pytest.mark.parametrize(
    "plan", ["cocod(4)", "local(4, outer=bmuf)", f"diloco(4, fragments=2, overlap=1) / {SMALL}", "post_local(3, h=2)"]
)
def test_a_checkpoint_in_the_middle_of_a_round_changes_nothing(plan: str):
    assert results(2, _resumes, plan, 0.05) == [True, True]
