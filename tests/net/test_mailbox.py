"""Two or three mailboxes in one process talk over real sockets of this machine."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
import zmq

from laconic.core.errors import MismatchError, PayloadError, PeerError, UsageError
from laconic.net.auth import Keys
from laconic.net.frames import FIRST_OWN, Kind, Tag
from laconic.net.mailbox import Letter, Mailbox
from tests.net.fuzz import Fuzzer

HOST = "127.0.0.1"
DATA = FIRST_OWN
KEYS = Keys.make()
NOTHING = torch.empty(0, dtype=torch.uint8)
both = pytest.mark.parametrize("keys", [KEYS, None], ids=["curve", "plain"])


def meet(server: Mailbox, client: Mailbox) -> None:
    """The handshake needs both; here one thread is both."""
    (peer,) = client.call({server.name: server.address})
    for _ in range(100):
        if server.name in client.peers and client.name in server.peers:
            return
        assert server.receive(0.01) is None
        assert client.receive(0.01) is None
        if peer.refusal:
            break
    raise AssertionError(f"no handshake. {peer.refusal}")


def take(box: Mailbox) -> Letter:
    letter = box.receive(10.0)
    assert letter is not None
    return letter


@pytest.fixture
def pair(keys) -> Iterator[tuple[Mailbox, Mailbox]]:
    with Mailbox("server/0", keys=keys, host=HOST) as server, Mailbox("worker/0", keys=keys) as worker:
        meet(server, worker)
        yield server, worker


@both
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8])
def test_letters_keep_type_shape_tag_and_bits_both_ways(pair, dtype):
    server, worker = pair
    t = torch.arange(60).to(dtype).view(3, 20)
    worker.send("server/0", DATA, t, Tag(1, 2, 3, 4, 5), 6)
    letter = take(server)
    assert letter[:4] == ("worker/0", DATA, Tag(1, 2, 3, 4, 5), 6)
    assert torch.equal(letter.payload, t)
    assert letter.payload.dtype == dtype
    server.send("worker/0", DATA + 1, letter.payload)
    assert torch.equal(take(worker).payload, t)


@both
def test_large_and_empty_tensors_travel_in_order(pair):
    server, worker = pair
    sizes = [0, 1, 3_000_000, 7, 500_001]
    for size in sizes:
        worker.send("server/0", DATA, torch.full((size,), 1.5), word=size)
    for size in sizes:
        letter = take(server)
        assert letter.word == size
        assert torch.equal(letter.payload, torch.full((size,), 1.5))


@both
def test_a_peer_that_takes_leave_is_not_lost(pair):
    server, worker = pair
    worker.close("ended after step 3")
    letter = take(server)
    assert (letter.sender, letter.kind, letter.text) == ("worker/0", Kind.BYE, "ended after step 3")
    assert server.receive(0.3) is None
    assert server.peers == ()
    assert not server.refused


@both
def test_a_caller_hears_the_farewell_of_whom_it_called(pair):
    server, worker = pair
    server.send("worker/0", DATA, torch.ones(3))
    server.close("stopped")
    assert take(worker).kind == DATA
    letter = take(worker)
    assert (letter.sender, letter.kind, letter.text) == ("server/0", Kind.BYE, "stopped")
    assert worker.receive(0.05) is None
    assert worker.peers == ()


@both
def test_a_letter_to_one_who_has_left_does_not_drown_its_last_words(pair):
    server, worker = pair
    worker.send("server/0", DATA, torch.ones(3))
    worker.close("ended after step 3")
    peer = server._by_name["worker/0"]
    while server._post(peer, peer.next_frame(DATA, NOTHING), NOTHING):
        pass  # somebody is still at the other end
    assert take(server).kind == DATA
    letter = take(server)
    assert (letter.kind, letter.text) == (Kind.BYE, "ended after step 3")
    assert not server.refused


@both
def test_one_who_greets_and_dies_before_anybody_looks_is_lost(keys):
    with Mailbox("server/0", keys=keys, host=HOST) as server, Mailbox("worker/0", keys=keys) as worker:
        (peer,) = worker.call({"server/0": server.address})
        while not server._board.router.poll(0):
            worker.receive(0.01)
        peer.socket.linger = 0
        worker.close()
        letter = take(server)
        assert (letter.sender, letter.kind) == ("worker/0", Kind.LOST)
        assert not server._board._left, "or the next with the number of its connection could die unnoticed"


def _die(keys: Keys | None, address: str) -> None:
    box = Mailbox("worker/0", keys=keys)
    box.meet({"server/0": address}, 10.0)
    box.send("server/0", DATA)
    take(box)  # what is sent leaves later: dying sooner, it would not have been sent
    os.kill(os.getpid(), signal.SIGKILL)


@both
def test_a_process_that_is_killed_is_named_at_once(keys):
    with Mailbox("server/0", keys=keys, host=HOST) as server:
        pid = os.fork()
        if pid == 0:
            _die(keys, server.address)
        first = take(server)
        server.send("worker/0", DATA)
        second = take(server)
        os.waitpid(pid, 0)
        assert (first.kind, second.kind) == (DATA, Kind.LOST)
        assert second.sender == "worker/0"
        with pytest.raises(PeerError, match="has left or died"):
            server.send("worker/0", DATA)


@both
def test_a_server_that_dies_is_noticed_by_its_caller(pair):
    server, worker = pair
    server._board.router.linger = 0
    server._by_name.clear()  # so that it cannot say goodbye
    server.close()
    letter = take(worker)
    assert (letter.sender, letter.kind) == ("server/0", Kind.LOST)


@both
def test_two_peers_of_one_name_are_not_let_in(pair, keys):
    server, _ = pair
    refused = pytest.raises(AssertionError, match=r"server/0 refused worker/0: There is a worker/0 already\.")
    with Mailbox("worker/0", keys=keys) as twin, refused:
        meet(server, twin)
    assert server.refused["hello"] == 1


def test_who_is_admitted_is_the_owners_decision():
    heard = []

    def admit(name, words):
        heard.append((name, words["world"]))
        return "The world is full."

    with Mailbox("server/0", keys=None, host=HOST, admit=admit) as server, Mailbox("w", keys=None) as worker:
        (peer,) = worker.call({"server/0": server.address}, {"world": 4})
        while not peer.refusal:
            server.receive(0.05)
            worker.receive(0.05)
        assert heard == [("w", 4)]
        assert peer.refusal == "server/0 refused w: The world is full."


def test_without_the_jobs_key_nobody_gets_in():
    with Mailbox("server/0", keys=KEYS, host=HOST) as server:
        for keys in (Keys.make(), None):
            with Mailbox("worker/0", keys=keys) as stranger:
                with pytest.raises(PeerError, match=r"found no server/0|refused by server/0"):
                    stranger.meet({"server/0": server.address}, 0.3)
                assert server.receive(0.1) is None
        assert server.refused["handshake"] >= 1
        assert server.peers == ()


@pytest.mark.parametrize(
    ("theirs", "mine"), [(KEYS, Keys.make()), (KEYS, None), (None, KEYS)], ids=["another", "none", "needless"]
)
def test_a_key_that_does_not_fit_is_said_long_before_the_time_limit(theirs, mine, monkeypatch):
    monkeypatch.setattr("laconic.net.mailbox._SECOND_THOUGHTS_S", 0.1)
    with (
        Mailbox("server/0", keys=theirs, host=HOST) as server,
        Mailbox("worker/0", keys=mine) as worker,
        pytest.raises(PeerError, match="worker/0 was refused by server/0 while keys were exchanged"),
    ):
        worker.meet({"server/0": server.address}, 60.0)


def test_who_was_not_met_is_forgotten_and_can_be_called_again():
    """A server that serves one job after another calls several roots in its life."""
    with Mailbox("w", keys=None) as worker, ThreadPoolExecutor(1) as pool:
        with Mailbox("s", keys=None, host=HOST, admit=lambda name, words: "The world is full.") as server:
            calling = pool.submit(worker.meet, {"s": server.address}, 20.0, {"world": 4})
            while not calling.done():
                server.receive(0.01)
            with pytest.raises(MismatchError, match="The world is full"):
                calling.result()
        with pytest.raises(PeerError, match="w found no s at"):
            worker.meet({"s": server.address}, 0.05)
        assert worker._board.calls == []
        with Mailbox("s", keys=None, host=HOST) as server:
            meet(server, worker)


def test_the_end_of_an_old_connection_is_not_that_of_a_new_one_with_its_number():
    """The kernel gives the number of a connection that has ended to the next one."""
    with Mailbox("server/0", keys=None, host=HOST) as server, Mailbox("a", keys=None) as a:
        meet(server, a)
        (old,) = server._board.callers.values()
        server._board.callers[b"b"] = server._by_name["b"] = replace(old, name="b", route=b"b")
        a._by_name.clear()  # so that it cannot say goodbye
        a.close()
        letter = take(server)
        assert (letter.sender, letter.kind) == ("a", Kind.LOST)
        assert server.peers == ("b",)


def test_another_pair_of_keys_is_turned_away_even_if_it_knows_the_listener():
    with Mailbox("server/0", keys=KEYS, host=HOST) as server:
        context = zmq.Context()
        caller = context.socket(zmq.DEALER)
        other = Keys.make()
        caller.curve_serverkey = KEYS.public.encode()
        caller.curve_publickey, caller.curve_secretkey = other.public.encode(), other.secret.encode()
        caller.linger = 0
        caller.connect(server.address)
        caller.send_multipart([b"x", b"y"])
        assert server.receive(0.3) is None
        assert server._board.door.turned_away >= 1
        caller.close()
        context.term()


def test_plain_text_beyond_this_machine_has_to_be_asked_for():
    with pytest.raises(UsageError, match="laconic keygen"):
        Mailbox("server/0", keys=None, host="0.0.0.0")
    with Mailbox("server/0", keys=None, host="0.0.0.0", insecure=True), Mailbox("w", keys=None) as worker:
        with pytest.raises(UsageError, match="--insecure"):
            worker.meet({"server/0": "tcp://192.0.2.1:80"}, 1.0)
        with pytest.raises(UsageError, match="tcp://HOST:PORT"):
            worker.meet({"server/0": "tcp://127.0.0.1:x"}, 1.0)


def test_a_taken_port_is_named():
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port}"):
            Mailbox("server/0", keys=None, host=HOST, port=port)


@pytest.mark.parametrize("port", [-1, 65536, 99999])
def test_a_port_that_cannot_be_is_refused_instead_of_another_taken(port):
    with pytest.raises(UsageError, match=f"port {port}: give one up to 65535"):
        Mailbox("server/0", keys=None, host=HOST, port=port)


def test_a_message_above_the_limit_is_refused_where_it_would_be_sent():
    with (
        Mailbox("server/0", keys=None, host=HOST, most_bytes=1000) as server,
        Mailbox("worker/0", keys=None, most_bytes=1000) as worker,
    ):
        meet(server, worker)
        with pytest.raises(PayloadError, match="smaller buckets"):
            worker.send("server/0", DATA, torch.zeros(251))


@both
def test_nothing_hostile_is_applied_and_everything_is_counted(pair, keys):
    server, worker = pair
    with Fuzzer(server.address, keys, seed=1) as fuzzer:
        sent = 0
        for _ in range(40):
            sent += fuzzer.frames(50)
            assert server.receive(0.0) is None
        while sum(server.refused.values()) < sent:
            assert server.receive(1.0) is None
    assert server.refused["garbage"] > 0
    assert server.refused["stranger"] > 0
    worker.send("server/0", DATA, torch.ones(3))
    assert torch.equal(take(server).payload, torch.ones(3))


@both
def test_a_recorded_frame_is_refused_the_second_time(pair):
    server, worker = pair
    worker.send("server/0", DATA, torch.ones(3))
    take(server)
    peer = worker._by_name["server/0"]
    for back in (1, 2):
        peer.sent -= back
        worker.send("server/0", DATA, torch.ones(3))
        assert server.receive(0.2) is None
    peer.sent, peer.theirs = 100, peer.theirs + 1
    worker.send("server/0", DATA, torch.ones(3))
    assert server.receive(0.2) is None
    assert server.refused == {"replay": 2, "session": 1}


def test_raw_bytes_on_the_port_do_no_harm():
    with Mailbox("server/0", keys=KEYS, host=HOST) as server, Mailbox("worker/0", keys=KEYS) as worker:
        port = int(server.address.rpartition(":")[2])
        for junk in (b"", b"GET / HTTP/1.1\r\n\r\n", bytes(1000), b"\xff" * 64, b"\xff\0\0\0\0\0\0\0\x01\x7f\3\0NULL"):
            with socket.create_connection((HOST, port)) as raw:
                raw.sendall(junk)
        assert server.receive(0.2) is None
        assert sum(server.refused.values()) >= 1
        meet(server, worker)


def test_too_large_a_frame_ends_its_connection_and_is_counted():
    with Mailbox("server/0", keys=None, host=HOST, most_bytes=4096) as server:
        with Fuzzer(server.address, None, seed=1) as fuzzer:
            fuzzer.oversized(1 << 20)
            while not server.refused["cut"]:
                assert server.receive(1.0) is None
        assert server.peers == ()
