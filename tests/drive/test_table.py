"""Pushing and pulling without a barrier, over real sockets."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from laconic.components import component
from laconic.compress.one_shot import AbstractOneShot, Desk
from laconic.compress.served import ServerClerk
from laconic.core.bucket import one_tensor
from laconic.core.errors import PeerError, UsageError
from laconic.core.exchange import Seat, Turn
from laconic.drive.rule import Rule
from laconic.drive.table import Table
from laconic.net.link import Link
from laconic.server.beside import Beside
from laconic.server.server import Server
from laconic.topology import ParameterServer
from tests.drive.cluster import HOST, TIMEOUT_S, mailbox


def on_tables(world, function, servers=2, **options):
    hosted = [Beside(Server(HOST, 0, None)) for _ in range(servers)]
    met = threading.Barrier(world)

    def work(rank):
        box = mailbox(rank, world, [h.address for h in hosted])
        met.wait(TIMEOUT_S)
        try:
            return function(Table(box, box.peers, Link(), TIMEOUT_S, **options), rank)
        finally:
            box.close()

    with ThreadPoolExecutor(world) as pool:
        futures = [pool.submit(work, rank) for rank in range(world)]
    for one in hosted:
        one.close()
    return [f.result() for f in futures]


@pytest.mark.parametrize("world", [1, 3, 8])
def test_all_updates_are_absorbed_once(world):
    def work(table, rank):
        for key in (0, 1, 5):
            table.start(key, torch.zeros(2, 3))
            for _ in range(20):
                table.push(key, torch.ones(2, 3))
        return [table.pull(key, everyone=20) for key in (0, 1, 5)]

    for pulled in on_tables(world, work, window=4):
        for value, version, _ in pulled:
            assert version == 20 * world
            assert torch.equal(value, torch.full((2, 3), 20.0 * world))


def test_a_pull_waits_for_the_version_it_asks_for():
    def work(table, rank):
        table.start(0, torch.zeros(1))
        if rank == 0:
            return table.pull(0, at_least=3)
        for _ in range(3):
            table.push(0, torch.ones(1))
        table.settle()
        return table.pull(0)

    ((first, _),) = [on_tables(2, work)]
    assert first.version >= 3
    assert first.value.item() == first.version


def test_nesterov_on_the_server_is_that_of_torch():
    updates = [torch.randn(7, generator=torch.Generator().manual_seed(s)) for s in range(5)]

    def work(table, rank):
        table.start(3, torch.ones(7), Rule(lr=0.7, momentum=0.9))
        for u in updates:
            table.push(3, u)
        return table.pull(3, at_least=5).value

    x = torch.nn.Parameter(torch.ones(7))
    optimizer = torch.optim.SGD([x], lr=0.7, momentum=0.9, nesterov=True)
    for u in updates:
        x.grad = -u
        optimizer.step()
    assert torch.allclose(on_tables(1, work)[0], x.detach(), atol=1e-6)


def test_a_range_of_a_key_can_be_pulled():
    def work(table, rank):
        table.start(0, torch.arange(10.0))
        return table.pull(0, start=3, stop=6).value.tolist()

    assert on_tables(1, work) == [[3.0, 4.0, 5.0]]


def test_a_packed_update_is_decoded_by_the_server():
    codec = component("qsgd(bits=8)")
    assert isinstance(codec, AbstractOneShot)
    x, spec = torch.randn(600, generator=torch.Generator().manual_seed(1)), one_tensor(600)

    def work(table, rank):
        table.start(0, torch.zeros(600))
        desk = Desk(codec, spec, Turn(Seat(rank, 1, ParameterServer()), 5))
        clerk = ServerClerk(codec, 600, 0, 1, 1, 0, 0, 0, False, False, 1.0)
        message = desk.write(x, 0)
        table.push_packed(0, message, clerk, 5)
        return table.pull(0, at_least=1).value, desk.read([(message, 600, 0)], x, 1.0)

    ((value, expected),) = on_tables(1, work)
    assert torch.equal(value, expected)


@pytest.mark.parametrize(
    ("do", "sentence"),
    [
        (lambda t: t.push(1, torch.zeros(3)), "key 1, which nobody has started"),
        (lambda t: t.push(0, torch.zeros(4)), "shape (4,) for key 0"),
        (lambda t: t.push(0, torch.zeros(3, dtype=torch.float64)), "torch.float64"),
        (lambda t: t.pull(0, start=2, stop=9), "elements 2 to 9 of key 0, which has 3"),
        (lambda t: t.start(0, torch.zeros(3), Rule(lr=0.5)), "has the rule"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(do, sentence):
    def work(table, rank):
        table.start(0, torch.zeros(3))
        with pytest.raises(PeerError) as error:
            (do(table), table.settle())
        return str(error.value)

    assert sentence in on_tables(1, work, servers=1)[0]


def test_a_key_must_be_started_before_it_is_pulled():
    def work(table, rank):
        with pytest.raises(UsageError, match="Key 9"):
            table.pull(9)

    on_tables(1, work)


def test_every_server_is_told_how_to_read_packed_updates():
    """After a model was loaded keys are new, and may live elsewhere."""
    codec = component("topk(0.5)")
    assert isinstance(codec, AbstractOneShot)
    spec = one_tensor(4)
    clerk = ServerClerk(codec, 4, 0, 1, 1, 0, 0, 0, False, remember=False, damping=1.0)

    def work(table, rank):
        for key in (0, 1):
            table.start(key, torch.zeros(4))
            turn = Turn(Seat(0, 1, ParameterServer()), 1)
            table.push_packed(key, Desk(codec, spec, turn).write(torch.tensor([3.0, 0, 0, 4]), 0), clerk, 1)
            assert table.pull(key, own=1).value.tolist() == [3.0, 0, 0, 4]

    on_tables(1, work)


def test_large_pushes_wait_for_those_before_them():
    """However slow a server is, what it has not taken does not fill the worker's memory."""

    def work(table, rank):
        table.start(0, torch.zeros(100))
        most = 0
        for _ in range(20):
            table.push(0, torch.ones(100))
            most = max(most, len(table._unanswered))
        assert most <= 2
        assert table.pull(0, own=20).value[0] == 20

    on_tables(1, work, window_bytes=401)
