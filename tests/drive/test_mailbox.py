"""Exchanges through servers give what lockstep gives, for every request, world, layout and compressor."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from laconic.components import component
from laconic.compress import AbstractCompressor
from laconic.compress.served import ticket
from laconic.core.bucket import BucketSpec
from laconic.core.errors import LaconicError, PeerError
from laconic.core.exchange import (
    Deal,
    Exchange,
    Exchanged,
    Gather,
    Max,
    Mean,
    Seat,
    Sum,
    Swap,
    Together,
    Turn,
    deal_ragged,
    gather_ragged,
)
from laconic.drive.asks import Ask
from laconic.drive.base import Place
from laconic.drive.lockstep import lockstep
from laconic.drive.mailbox import MailboxDriver
from laconic.drive.shelf import Shelf
from laconic.drive.wiring import PIECE_BYTES
from laconic.net.auth import Keys
from laconic.net.frames import FIXED_BYTES
from laconic.net.link import Link
from laconic.topology import ParameterServer
from tests.drive.cluster import TIMEOUT_S, on_cluster
from tests.zoo import BUCKET, SEED, Entry, noise

PS = ParameterServer
ONE, TREE, BESIDE = PS(), PS("tree"), PS("colocated")
LAYOUTS = [(1, ONE), (2, ONE), (3, PS(servers=2)), (4, PS(servers=4)), (5, PS(servers=2)), (8, PS(servers=3)),
           (1, BESIDE), (3, BESIDE), (5, BESIDE), (1, TREE), (2, TREE), (5, TREE), (8, PS("tree"))]  # fmt: skip
layouts = pytest.mark.parametrize(("world", "topology"), LAYOUTS, ids=str)


def bytes_of(*values: int) -> Tensor:
    return torch.tensor(values, dtype=torch.uint8)


async def everything(rank: int, world: int) -> Any:
    mean = await Mean(torch.tensor([float(rank), 3.0]))
    empty = await Mean(torch.empty(0))
    half = await Mean(torch.tensor([32768.0], dtype=torch.float16))  # their sum would overflow
    total = await Sum(torch.tensor([[rank, 1], [2, 3]]))
    most = await Max(torch.tensor([rank, -rank], dtype=torch.int32))
    equal = await Gather(bytes_of(rank, 9))
    long = await Gather(torch.full((70_001,), rank, dtype=torch.uint8))
    unequal = await Gather(torch.full((rank,), rank, dtype=torch.uint8), tuple(range(world)))
    dealt = await Deal(tuple(torch.full((to + 1,), 10 * rank + to, dtype=torch.uint8) for to in range(world)))
    ragged = await gather_ragged(torch.full((rank + 1,), rank, dtype=torch.uint8), 100)
    both = await deal_ragged(tuple(torch.full((rank + to,), 7, dtype=torch.uint8) for to in range(world)), 100)
    swapped = await Swap(bytes_of(rank), ((rank - 1) % world, (rank + 1) % world))
    pair = await Together((Mean(torch.tensor([1.0])), Gather(bytes_of(rank)), Sum(torch.tensor([rank]))))
    lists = [[m.tolist() for m in ms] for ms in (equal, long, unequal, dealt, ragged, both, swapped, pair[1])]
    tensors = [t.tolist() for t in (mean, empty, half, total, most, pair[0], pair[2])]
    return Exchanged(torch.empty(0), torch.empty(0), (lists, tensors))


@layouts
def test_every_request_is_answered_as_in_lockstep(world: int, topology: ParameterServer):
    def work(driver: MailboxDriver, rank: int) -> Any:
        driver.launch(Place(0, 0), everything(rank, world))
        driver.launch(Place(0, 1), everything(rank, world))
        return [out.state for out in driver.finish()]

    virtual = [out.state for out in lockstep([everything(rank, world) for rank in range(world)])]
    for rank, states in enumerate(on_cluster(world, topology, work)):
        for messages, tensors in states:
            assert messages == virtual[rank][0]
            if topology == TREE:  # summed in another order
                pairs = zip(tensors, virtual[rank][1], strict=True)
                assert all(np.allclose(a, b, rtol=2**-9) for a, b in pairs)
            else:
                assert tensors == virtual[rank][1]


async def mean_of(t: Tensor) -> Exchanged:
    mean = await Mean(t)
    return Exchanged(mean, mean, ())


def exchanged(driver: MailboxDriver, place: Place, t: Tensor) -> Tensor:
    """Trouble shows at once, or when it is waited for."""
    driver.launch(place, mean_of(t))
    return driver.finish()[0].mean


def _exchange(driver: MailboxDriver, program: Exchange) -> None:
    driver.launch(Place(0, 0), program)
    driver.finish()


@pytest.mark.parametrize("topology", [ONE, PS(servers=2), PS(servers=4), BESIDE, TREE], ids=str)
def test_a_large_tensor_travels_in_pieces_and_comes_back_as_the_mean(topology: ParameterServer):
    numel, world = 700_001, 3
    parts = [noise(numel, rank) for rank in range(world)]
    expected = sum(t * (1.0 / world) for t in parts)

    def work(driver: MailboxDriver, rank: int) -> Any:
        driver.launch(Place(0, 0), mean_of(parts[rank].clone()))
        (out,) = driver.finish()
        if topology == BESIDE:  # the next one is through when everybody has this one: so all of it was sent
            exchanged(driver, Place(0, 1), torch.zeros(1))
        return out.mean, driver.link.sent_bytes, driver.link.messages

    for mean, sent, messages in on_cluster(world, topology, work):
        assert torch.equal(mean, expected) or (topology == TREE and torch.allclose(mean, expected))
        if topology != BESIDE:
            assert sent == 4 * numel + messages * (FIXED_BYTES + 8)
            assert messages >= 4 * numel // PIECE_BYTES
    if topology == BESIDE:  # what a ring would send: 2 (n-1)/n, in pieces that differ by an element
        assert sent / (4 * numel) == pytest.approx(2 * (world - 1) / world, rel=0.01)


def _states(compressor: AbstractCompressor, spec: BucketSpec, seats: list[Seat]) -> list[Any]:
    return [compressor.init(spec, seat) for seat in seats]


def _check_over_servers(entries: list[Entry], topology: ParameterServer, world: int, steps: int = 2) -> None:
    seats = [Seat(rank, world, topology, SEED) for rank in range(world)]
    specs = [replace(BUCKET, id=i) for i in range(len(entries))]

    def work(driver: MailboxDriver, rank: int) -> list[list[Tensor]]:
        states = [e.compressor.init(s, seats[rank]) for e, s in zip(entries, specs, strict=True)]
        told = []
        for step in range(steps):
            for e, spec, state in zip(entries, specs, states, strict=True):
                x = noise(spec.numel, 1000 * spec.id + 10 * step + rank)
                driver.launch(Place(step, spec.id), e.compressor.exchange(x, state, spec, Turn(seats[rank], step)))
            out = driver.finish()
            states = [o.state for o in out]
            told.append([o.mean for o in out])
        return told

    told = on_cluster(world, topology, work)
    for i, (e, spec) in enumerate(zip(entries, specs, strict=True)):
        states, shelf = _states(e.compressor, spec, seats), Shelf()
        for step in range(steps):
            turns = [Turn(seat, step) for seat in seats]
            xs = [noise(spec.numel, 1000 * i + 10 * step + rank) for rank in range(world)]
            programs = [e.compressor.exchange(x, s, spec, t) for x, s, t in zip(xs, states, turns, strict=True)]
            out = lockstep(programs, shelf=shelf)
            states = [o.state for o in out]
            for rank in range(world):
                where = f"{e.compressor} on {topology}, rank {rank} of {world}, step {step}"
                assert torch.equal(told[rank][step][i], told[0][step][i]), f"{where}: differs from rank 0"
                same = torch.equal(told[rank][step][i], out[rank].mean)
                linear = topology.layout == "tree" and e.compressor.traits(spec).linear  # summed in another order
                assert same or (linear and torch.allclose(told[rank][step][i], out[rank].mean, atol=5e-3)), (
                    f"{where}: is not that in lockstep"
                )


# What differs in its requests: sums, casts, integers with an agreed scale, two rounds, server memories, votes, codes of
# unknown length, several requests at once. The whole zoo is in tests/laws/test_servers.py, in lockstep.
FAMILIES = ["none", "fp16", "qsgd(bits=4)", "ef(topk(0.05))", "doublesqueeze(topk(0.05))", "ef(powersgd(2))",
            "majority", "topk(0.05) | golomb", "ef(sign)", "dqsgd(4)", "ef(dqsgd)", "global_qsgd",
            "by_shape(powersgd(2), qsgd(bits=4))"]  # fmt: skip


def _entries() -> list[Entry]:
    return [Entry(component(text), None) for text in FAMILIES]  # type: ignore[arg-type]


@pytest.mark.parametrize("topology", [ParameterServer(servers=2), ParameterServer(reply="encode")], ids=str)
def test_every_family_of_compressors_gives_over_servers_what_it_gives_in_lockstep(topology: ParameterServer):
    _check_over_servers(_entries(), topology, 3)


@pytest.mark.parametrize("world", [1, 2, 4, 5, 8])
@pytest.mark.parametrize("topology", [BESIDE, PS(servers=4), TREE], ids=str)
def test_every_world_size_and_layout_gives_the_same_as_lockstep(world: int, topology: ParameterServer):
    _check_over_servers(_entries()[:9], topology, world, 1)


def test_encrypted_and_plain_servers_give_the_same():
    def work(driver: MailboxDriver, rank: int) -> Any:
        driver.launch(Place(0, 0), mean_of(noise(100_000, rank)))
        return driver.finish()[0].mean

    plain, curve = (on_cluster(2, PS(servers=2), work, keys=keys) for keys in (None, Keys.make()))
    assert all(torch.equal(plain[0], t) for t in [*plain, *curve])


def test_an_aborted_step_is_not_built_on():
    """The workers' state was thrown away, so the servers' memory of that step must not be used either."""
    compressor, world = component("ef(sign)"), 2
    seats = [Seat(rank, world, ParameterServer(), SEED) for rank in range(world)]

    def work(driver: MailboxDriver, rank: int) -> Any:
        state = compressor.init(BUCKET, seats[rank])  # type: ignore[attr-defined]
        told = []
        for step, commit in ((0, True), (1, False), (1, True), (2, True)):
            x = noise(BUCKET.numel, 10 * step + rank)
            # a step that is repeated has a number of its own in a replica; the draw is what must be equal here
            driver.launch(Place(step, 0), compressor.exchange(x, state, BUCKET, Turn(seats[rank], step)))  # type: ignore[attr-defined]
            (out,) = driver.finish()
            state = out.state if commit else state
            told.append(out.mean)
        return told

    for told in on_cluster(world, ONE, work):
        assert torch.equal(told[1], told[2])


def test_ranks_that_add_different_shapes_are_told_so():
    def work(driver: MailboxDriver, rank: int) -> str:
        with pytest.raises(PeerError) as error:
            exchanged(driver, Place(3, 1, "fc1.weight"), torch.zeros(10 + rank))
        return str(error.value)

    for sentence in on_cluster(2, ONE, work):
        assert "step 3, bucket 1 (fc1.weight)" in sentence
        assert "shape (11,)" in sentence


def test_a_worker_that_vanishes_is_named_to_the_others():
    def work(driver: MailboxDriver, rank: int) -> str:
        if rank == 1:
            driver.box._by_name.clear()  # ends without a word, as a killed process does
            return ""
        with pytest.raises(PeerError) as error:
            exchanged(driver, Place(0, 0), torch.zeros(5))
        return str(error.value)

    told = on_cluster(3, PS(servers=2), work)
    assert "Rank 1 died or was cut off" in told[0]
    assert "Rank 1 died or was cut off" in told[2]


def test_a_worker_that_leaves_early_is_named_with_its_reason():
    def work(driver: MailboxDriver, rank: int) -> str:
        if rank == 1:
            driver.close("ended after step 3")
            return ""
        with pytest.raises(PeerError) as error:
            exchanged(driver, Place(0, 0), torch.zeros(5))
        return str(error.value)

    assert "ended after step 3" in on_cluster(2, ONE, work)[0]


@pytest.mark.parametrize("topology", [ONE, PS(servers=2), BESIDE, TREE], ids=str)
def test_a_worker_that_leaves_after_others_have_spoken_is_named_too(topology: ParameterServer):
    """What is handed on is not counted by servers: they do not know that anybody waits for it."""

    async def gather() -> Exchanged:
        await Gather(bytes_of(1, 2, 3))
        return Exchanged(torch.empty(0), torch.empty(0), ())

    def work(driver: MailboxDriver, rank: int) -> str:
        if rank == 1:
            while (letter := driver.box.receive(TIMEOUT_S)) is None or letter.kind != Ask.GATHER:
                pass
            driver.close("ended after step 3")
            return ""
        with pytest.raises(PeerError) as error:
            _exchange(driver, gather())
        return str(error.value)

    told, _ = on_cluster(2, topology, work)
    assert "Rank 1 left (ended after step 3) while others waited for it" in told


def test_a_server_without_the_memory_of_a_checkpoint_says_so():
    compressor = component("ef(sign)")
    seat = Seat(0, 1, ParameterServer(), SEED)

    def work(driver: MailboxDriver, rank: int) -> str:
        state = compressor.init(BUCKET, seat)  # type: ignore[attr-defined]
        old = state._replace(inner=state.inner._replace(error=ticket(7)))
        with pytest.raises(LaconicError) as error:
            _exchange(driver, compressor.exchange(noise(BUCKET.numel, 1), old, BUCKET, Turn(seat, 8)))  # type: ignore[attr-defined]
        return str(error.value)

    assert "no error memory of version 7" in on_cluster(1, ONE, work)[0]


def test_waiting_has_an_end():
    over = threading.Event()

    def work(driver: MailboxDriver, rank: int) -> None:
        driver.timeout_s = 0.5
        if rank == 0:
            driver.launch(Place(0, 0), mean_of(torch.zeros(5)))
            with pytest.raises(PeerError, match="no answer for"):
                driver.finish()
            over.set()
        else:
            over.wait(TIMEOUT_S)

    on_cluster(2, ONE, work)


def test_links_count_nothing_that_stays_in_the_process():
    def work(driver: MailboxDriver, rank: int) -> Link:
        driver.launch(Place(0, 0), mean_of(torch.zeros(50_000)))
        driver.finish()
        return driver.link

    (link,) = on_cluster(1, BESIDE, work)
    assert link.sent_bytes == 0
