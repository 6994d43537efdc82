"""Training over parameter servers on real processes: equal to all-reduce, and deaths are named."""

from __future__ import annotations

import copy
import os
import signal
from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy

import laconic
from laconic.net.auth import Keys
from laconic.server.beside import Beside
from laconic.server.server import Server
from tests.processes import results, run
from tests.replica.loops import batches, fit, flat, mlp, sgd

STEPS = 50
PLANS = ["allreduce", "ps", "ps(servers=2)", "ps(servers=4)"]
FEW, OTHERS = 8, ["allreduce", "ps(colocated)", "ps(tree)"]


def _train(rank: int, world: int, plans: list[str], steps: int) -> Any:
    out = []
    for plan in plans:
        model = mlp(rank)
        optimizer = sgd(model)
        replica = laconic.distribute(model, optimizer, plan)
        fit(model, optimizer, batches(rank, steps))
        replica.flush()
        sent = replica.stats.wire_bytes
        replica.close()
        if plan != "allreduce":
            replica.driver.close()
        out.append((flat(model), sent))
    return out


@pytest.mark.parametrize(("plans", "steps", "world"), [(PLANS, STEPS, 3), (OTHERS, FEW, 4)])
def test_fifty_steps_over_servers_give_the_parameters_of_all_reduce(plans: list[str], steps: int, world: int):
    told = results(world, _train, plans, steps, timeout_s=100)
    native = told[0][0][0]
    for i, plan in enumerate(plans):
        for rank in range(world):
            parameters, sent = told[rank][i]
            assert torch.equal(parameters, told[0][i][0]), f"{plan}: rank {rank} differs"
            assert (parameters - native).abs().max() <= 1e-5, plan
            assert sent > 0


@pytest.mark.parametrize("world", [1, 3])
def test_compressed_plans_train_over_servers(world: int):
    plans = ["ps(servers=2) / ef(qsgd(bits=4))", "ps(colocated) / ef(topk(0.1))", "ps / local(2) / ef(sign)"]
    told = results(world, _train, plans, 6, timeout_s=100)
    for i, plan in enumerate(plans):
        assert all(torch.equal(told[r][i][0], told[0][i][0]) for r in range(world)), plan
        assert bool(told[0][i][0].isfinite().all())


def test_servers_of_their_own_are_found_by_their_addresses():
    keys = Keys.make()
    hosted = [Beside(Server("127.0.0.1", 0, keys)) for _ in range(2)]
    env = {"LACONIC_SERVERS": ",".join(h.address for h in hosted), "LACONIC_KEY": keys.text()}
    told = results(2, _train, ["ps(servers=2)", "allreduce"], 5, env=env)
    assert torch.allclose(told[0][0][0], told[0][1][0], atol=1e-6)
    outcomes = run(2, _train, ["ps(servers=3)"], 5, env=env)
    assert all("ps(servers=3) wants 3 servers, but 2 were started" in o.error for o in outcomes)
    stranger = run(
        1, _train, ["ps(servers=2)"], 5, env={**env, "LACONIC_KEY": Keys.make().text(), "LACONIC_TIMEOUT": "1"}
    )
    assert "was refused by server/0 while keys were exchanged" in stranger[0].error
    for one in hosted:
        one.close()


def _resumes(rank: int, world: int, plans: list[str]) -> list[tuple[bool, int]]:
    return [_stops(rank, plan) for plan in plans]


def _stops(rank: int, plan: str) -> tuple[bool, int]:
    """Stop after 4 steps and go on with fresh servers; or never stop."""
    data = batches(rank, 8)
    model = mlp(rank)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, plan)
    fit(model, optimizer, data[:4])
    saved = [copy.deepcopy(part.state_dict()) for part in (model, optimizer)] + [replica.state_dict()]
    fit(model, optimizer, data[4:])
    replica.close()
    again = mlp(rank)
    other = sgd(again)
    heir = laconic.distribute(again, other, plan)
    for part, state in zip((again, other, heir), saved, strict=True):
        part.load_state_dict(state)
    fit(again, other, data[4:])
    for driver in (replica.driver, heir.driver):
        driver.close()
    kept = sum(t.numel() for t in saved[2]["servers"].values())
    return torch.equal(flat(model), flat(again)), kept


def test_a_checkpoint_holds_what_servers_remember():
    plans = ["ps(servers=2) / ef(qsgd(bits=4))", "ps / doublesqueeze(topk(0.1))"]
    told = results(2, _resumes, plans, timeout_s=100)
    for i, plan in enumerate(plans):
        assert all(by_rank[i][0] for by_rank in told), plan
        assert sum(by_rank[i][1] for by_rank in told) > 0, plan


def _dies(rank: int, world: int, plan: str) -> None:
    laconic.init(timeout_s=30)
    model = mlp(rank)
    optimizer = sgd(model)
    laconic.distribute(model, optimizer, plan)
    for step, (x, y) in enumerate(batches(rank, 8)):
        if step == 3 and rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()


@pytest.mark.parametrize("plan", ["ps", "ps(colocated)"])
def test_survivors_name_the_rank_that_died(plan: str):
    outcomes = run(3, _dies, plan, timeout_s=40)
    for rank in (0, 2):
        last = outcomes[rank].error.strip().splitlines()[-1]
        assert "PeerError" in last, outcomes[rank].error
        assert f"Rank {rank} lost a peer at step" in last
        assert "rank 1" in last.lower()
