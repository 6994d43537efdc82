"""Workers that share a model and do not wait for all, on real processes; one fork for each question."""

from __future__ import annotations

import gc
import random
import weakref
from typing import Any

import pytest
import torch

import laconic
from tests.processes import results
from tests.replica.loops import batches, fit, flat, mlp

STEPS = 8
AS_BSP = ["bsp", "ssp(0) / ps", "ssp(0) / ps(colocated)", "ssp(0)", "backup(0) / ps(servers=2)"]
ALL_EQUAL = [
    "asp / ps",
    "asp(damped, most=20, compensate=0.1) / ps / ef(topk(0.1))",
    "asp",
    "asp / powersgd(2)",
    "ssp(2) / ef(topk(0.1))",
    "ssp(1) / ps(servers=2) / qsgd(bits=8)",
    "downpour(3, fetch=2) / ps",
    "r2sp / ps",
    "backup(1) / ps / ef(sign)",
    "backup(1, grace=0.01) / ps",
]


def _train(rank: int, world: int, plans: list[str]) -> list[Any]:
    out = []
    for plan in plans:
        model = mlp(rank, norm=False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        replica = laconic.distribute(model, optimizer, plan)
        fit(model, optimizer, batches(rank, STEPS))
        replica.flush()
        fit(model, optimizer, batches(rank, 2))
        replica.flush()
        out.append((flat(model), replica.stats))
        replica.close()
        if "ps" in plan:
            replica.driver.close()
    return out


@pytest.mark.parametrize("world", [1, 3])
def test_with_a_bound_of_zero_it_is_bsp(world: int):
    told = results(world, _train, AS_BSP, timeout_s=100)
    for i, plan in enumerate(AS_BSP):
        for rank in range(world):
            assert (told[rank][i][0] - told[0][0][0]).abs().max() < 2e-6, plan
        if plan.startswith("ssp") and world > 1:
            assert told[0][i][1].staleness == 0


def test_after_flush_all_have_the_same_model():
    told = results(3, _train, ALL_EQUAL, timeout_s=100)
    for i, plan in enumerate(ALL_EQUAL):
        for rank in range(3):
            assert torch.equal(told[rank][i][0], told[0][i][0]), plan
            assert told[rank][i][1].wire_bytes > 0 or rank == 0, plan
        assert bool(told[0][i][0].isfinite().all()), plan


def _dawdle(rank: int, world: int, plans: list[tuple[str, int]]) -> list[int | None]:
    """Random delays: now and then a worker computes something of its own."""
    out, chance = [], random.Random(rank)
    for plan, _ in plans:
        model = mlp(rank, norm=False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        replica = laconic.distribute(model, optimizer, plan)
        busy = torch.randn(200, 200)
        for batch in batches(rank, 25):
            for _ in range(chance.choice([0, 0, 0, 8])):
                busy = torch.tanh(busy @ busy)
            fit(model, optimizer, [batch])
        replica.average()
        out.append(replica.stats.staleness)
        replica.close()
        if "ps" in plan:
            replica.driver.close()
    return out


def test_staleness_stays_within_its_bound_whatever_delays_there_are():
    plans = [("ssp(1) / ps", 1), ("ssp(2)", 2), ("ssp(2) / gossip(ring, adpsgd)", 2)]
    plans += [("ssp(1) / gossip(ring, adchoco) / topk(0.1)", 1)]
    for told in results(4, _dawdle, plans, timeout_s=100):
        for (plan, bound), seen in zip(plans, told, strict=True):
            assert seen is not None, plan
            assert 0 <= seen <= bound, plan


def _resumes(rank: int, world: int, plan: str) -> tuple[bool, str]:
    model = mlp(rank, norm=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    replica = laconic.distribute(model, optimizer, plan)
    fit(model, optimizer, batches(rank, 2))
    try:
        replica.state_dict()
        said = ""
    except laconic.LaconicError as error:
        said = str(error)
    replica.flush()
    saved, parameters = replica.state_dict(), {k: v.clone() for k, v in model.state_dict().items()}
    fit(model, optimizer, batches(rank, 2))
    replica.flush()
    model.load_state_dict(parameters)
    replica.load_state_dict(saved)
    replica.flush()
    return torch.equal(flat(model), torch.cat([p.reshape(-1).double() for p in parameters.values()])), said


@pytest.mark.parametrize("plan", ["asp / ps / ef(topk(0.1))", "asp"])
def test_a_shared_model_is_saved_after_flush(plan: str):
    for same, said in results(2, _resumes, plan, timeout_s=60):
        assert same
        assert "Call replica.flush() on all ranks" in said


def _forget(rank: int, world: int, plans: list[str]) -> list[bool]:
    """Replicas that nobody closes, collected before the process ends."""
    out = []
    for plan in plans:
        model = mlp(rank, norm=False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        replica = laconic.distribute(model, optimizer, plan)
        fit(model, optimizer, batches(rank, 2))
        replica.flush()
        driver, gone = replica.driver, weakref.ref(replica)
        del model, optimizer, replica
        gc.collect()
        out.append(gone() is None)
        if "ps" in plan:
            driver.close()
    return out


def test_a_replica_that_is_let_go_leaves_in_good_order():
    assert results(2, _forget, ["ssp(1) / ps", "asp / gossip(ring, adpsgd)"], timeout_s=60) == [[True, True]] * 2
