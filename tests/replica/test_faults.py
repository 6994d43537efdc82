"""Dead, missing and stuck ranks: every survivor ends with a sentence that names them, none hangs."""

from __future__ import annotations

import atexit
import os
import signal
import time

import pytest
from torch.nn.functional import cross_entropy

import laconic
from tests.processes import run
from tests.replica.loops import batches, mlp, sgd

LIMIT_S = 3.0


def _dies(rank: int, world: int, plan: str, how: str) -> None:
    laconic.init(timeout_s=LIMIT_S)
    model = mlp(rank)
    optimizer = sgd(model)
    laconic.distribute(model, optimizer, plan)
    for step, (x, y) in enumerate(batches(rank, 8)):
        if step == 3 and rank == 1:
            _leave(how)
        cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()


def _leave(how: str) -> None:
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "stuck":
        time.sleep(3 * LIMIT_S)
    raise SystemExit("rank 1 has had enough")


@pytest.mark.parametrize(
    ("plan", "how"),
    [
        ("none", "killed"),
        ("ef(topk(0.1))", "killed"),
        ("local(2)", "killed"),
        ("qsgd(bits=4)", "stuck"),
        ("none", "stuck"),
    ],
)
def test_survivors_name_the_rank_and_the_bucket(plan: str, how: str) -> None:
    outcomes = run(3, _dies, plan, how, timeout_s=30)
    for rank in (0, 2):
        assert "PeerError" in outcomes[rank].error, outcomes[rank].error
        last = outcomes[rank].error.strip().splitlines()[-1]
        assert f"Rank {rank} lost a peer at step" in last
        assert "bucket" in last
        assert "No sign of rank 1" in last


def _never_comes(rank: int, world: int) -> None:
    if rank == 1:
        time.sleep(3 * LIMIT_S)
        return
    laconic.init(timeout_s=LIMIT_S)


def test_a_rank_that_never_joins_is_named() -> None:
    outcomes = run(3, _never_comes, timeout_s=30)
    for rank in (0, 2):
        assert f"Rank {rank} waited {LIMIT_S:g} s for 3 ranks to join; missing: 1." in outcomes[rank].error


def _never_distributes(rank: int, world: int) -> None:
    laconic.init(timeout_s=LIMIT_S)
    if rank == 1:
        time.sleep(3 * LIMIT_S)
    model = mlp(rank)
    laconic.distribute(model, sgd(model), "none")


def test_a_rank_that_never_distributes_is_waited_for_in_vain_but_not_forever() -> None:
    outcomes = run(2, _never_distributes, timeout_s=30)
    assert "PeerError" in outcomes[0].error
    assert "No sign of rank 1" in outcomes[0].error


def _ends_early(rank: int, world: int) -> None:
    laconic.init(timeout_s=LIMIT_S)
    model = mlp(rank)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, "none")
    for x, y in batches(rank, 3 if rank == 0 else 6):
        cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
    assert replica.stats.steps == 3
    atexit._run_exitfuncs()  # as a process does that ends by itself; tests' processes end harder


def test_a_rank_that_runs_out_of_data_is_said_to_have_ended() -> None:
    outcomes = run(2, _ends_early, timeout_s=30)
    assert outcomes[0].error == ""
    assert "rank 0 ended after step 3" in outcomes[1].error
