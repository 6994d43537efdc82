"""The runner of real processes tells results, errors, deaths and silence apart."""

from __future__ import annotations

import os
import signal
import threading

import torch
import torch.distributed as dist

from tests.processes import join, results, run


def _total(rank: int, world: int, start: int) -> torch.Tensor:
    join()
    t = torch.tensor([float(start + rank)])
    dist.all_reduce(t)
    return t


def _ends_differently(rank: int, world: int) -> str:
    if rank == 1:
        raise ValueError("I am rank one")
    if rank == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if rank == 3:
        threading.Event().wait()
    return "fine"


def _variable(rank: int, world: int) -> str:
    return os.environ["LACONIC_PLAN"] + os.environ["RANK"]


def test_every_rank_answers_and_they_share_a_group():
    assert [int(t) for t in results(3, _total, 10)] == [33, 33, 33]


def test_an_error_a_death_and_silence_are_told_apart():
    ok, raised, killed, silent = run(4, _ends_differently, timeout_s=5)
    assert ok.result == "fine"
    assert not ok.error
    assert "I am rank one" in raised.error
    assert "code -9" in killed.error
    assert "no answer" in silent.error


def test_ranks_get_the_environment_they_were_given():
    assert results(2, _variable, env={"LACONIC_PLAN": "none"}) == ["none0", "none1"]
