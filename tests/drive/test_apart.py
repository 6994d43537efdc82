"""Exchanges through servers advance by themselves, in a thread beside the one that launches them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
import torch

from laconic.core.errors import PeerError
from laconic.core.exchange import Exchanged, Mean
from laconic.drive.apart import Apart
from laconic.drive.base import Place
from laconic.drive.mailbox import MailboxDriver
from laconic.topology import ParameterServer
from tests.drive.cluster import TIMEOUT_S, on_cluster


async def two_rounds(rank: int, bucket: int, between: Callable[[], None]) -> Exchanged:
    first = await Mean(torch.full((10,), float(rank + bucket)))
    between()
    second = await Mean(first + rank)
    return Exchanged(second, second, ())


def test_rounds_go_on_though_nobody_waits_for_them():
    def work(driver: MailboxDriver, rank: int) -> Any:
        with closing(Apart(driver)) as apart:
            out = []
            for step in range(2):
                begun = [threading.Event() for _ in range(5)]
                for bucket, event in enumerate(begun):
                    apart.launch(Place(step, bucket), two_rounds(rank, bucket, event.set))
                assert all(event.wait(TIMEOUT_S) for event in begun)  # before anybody calls finish()
                out.append([float(o.mean[0]) for o in apart.finish()])
            assert apart.finish() == []
            return out

    for out in on_cluster(3, ParameterServer(servers=2), work):
        assert out == [pytest.approx([bucket + 2.0 for bucket in range(5)])] * 2


def test_an_error_beside_backward_is_raised_where_it_is_waited_for():
    def work(driver: MailboxDriver, rank: int) -> str:
        with closing(Apart(driver)) as apart:

            async def other_shapes() -> Exchanged:
                mean = await Mean(torch.zeros(3 + rank))
                return Exchanged(mean, mean, ())

            apart.launch(Place(0, 0, "fc1.weight"), other_shapes())
            with pytest.raises(PeerError) as caught:
                apart.finish()
            return str(caught.value)

    for said in on_cluster(2, ParameterServer(), work):
        assert "shape (4,)" in said


def test_what_a_program_raises_is_raised_by_finish_and_the_rest_is_forgotten():
    def work(driver: MailboxDriver, rank: int) -> float:
        def fail() -> None:
            raise ValueError("no such thing")

        with closing(Apart(driver)) as apart:
            apart.launch(Place(0, 0), two_rounds(rank, 0, fail))
            with pytest.raises(ValueError, match="no such thing"):
                apart.finish()
            apart.launch(Place(1, 0), two_rounds(rank, 0, lambda: None))
            return float(apart.finish()[0].mean[0])

    assert on_cluster(1, ParameterServer(), work) == [0.0]


def test_closing_does_not_wait_for_what_never_comes():
    def work(driver: MailboxDriver, rank: int) -> None:
        apart = Apart(driver)
        if rank == 0:
            apart.launch(Place(0, 0), two_rounds(rank, 0, lambda: None))
        apart.close()
        apart.close()
        assert apart._thread is None

    on_cluster(2, ParameterServer(), work)


def test_questions_are_answered_in_the_thread_that_owns_the_mailbox():
    def work(driver: MailboxDriver, rank: int) -> str:
        with closing(Apart(driver)) as apart:
            return apart.ask(lambda desk: threading.current_thread().name)

    assert on_cluster(1, ParameterServer(), work) == ["laconic-apart"]
