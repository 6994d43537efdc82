"""Tagged messages between named peers, over ZeroMQ: send to a name, receive from anybody, notice who died.

    with Mailbox("worker/0", keys=keys, host="127.0.0.1") as box:      # listens; box.address tells where
        box.meet({"server/0": "tcp://127.0.0.1:4711"}, timeout_s=30)    # calls, and shakes hands
        box.send("server/0", SUM, tensor, Tag(step, bucket))            # returns at once
        letter = box.receive(timeout_s=1.0)                             # the next from anyone, or None

A connection serves both directions, whoever called. Tensors are sent from where they lie: who sends one gives it away
until it was answered. Messages between two peers arrive in order. A peer that leaves sends BYE; one that dies or is cut
off shows as a letter LOST from its name. Whatever else arrives (garbage, strangers, replays, wrong sizes) is counted in
`refused`, logged and dropped. A mailbox belongs to the thread that uses it.
"""

from __future__ import annotations

import json
import logging
import math
import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import torch
import zmq
from torch import Tensor

from laconic.core.errors import MismatchError, PayloadError, PeerError, UsageError
from laconic.net import frames, lines
from laconic.net.auth import Keys
from laconic.net.frames import Frame, Kind, Tag
from laconic.net.peer import Letter, Peer, as_tensor, encoded, words_of
from laconic.net.switchboard import Switchboard

MOST_BYTES = 256 << 20
_LONGEST_NAME = 200
_LOOK_UP_S = 0.5
_SECOND_THOUGHTS_S = 2.0  # a server that is just starting or ending may break off once; another key never fits
_log = logging.getLogger("laconic.net")

Admit = Callable[[str, dict[str, Any]], str | None]


class Mailbox:
    def __init__(
        self,
        name: str,
        *,
        keys: Keys | None,
        host: str | None = None,
        port: int = 0,
        insecure: bool = False,
        most_bytes: int = MOST_BYTES,
        patience_s: float = 8.0,
        admit: Admit | None = None,
    ) -> None:
        """`host`: where to listen, None not at all. `keys` None: plain text, which beyond loopback wants `insecure`.
        `admit(name, words)`: a sentence why a caller is refused, or None."""
        if host is not None:
            _check_plain(host, keys, insecure)
        self.name, self.most_bytes = name, most_bytes
        self.refused: Counter[str] = Counter()
        self._keys, self._insecure, self._admit = keys, insecure, admit
        self._by_name: dict[str, Peer] = {}
        self._inbox: deque[Letter] = deque()
        self._board = Switchboard(keys, most_bytes, patience_s)
        if host is not None:
            try:
                self._board.listen(host, port)
            except UsageError:
                self._board.close()
                raise

    @property
    def address(self) -> str:
        """Where I listen, for those who call."""
        return self._board.address

    # ------------------------------------------------------------- meeting

    @property
    def peers(self) -> tuple[str, ...]:
        """Who can be written to."""
        return tuple(self._by_name)

    def meet(
        self,
        addresses: Mapping[str, str],
        timeout_s: float,
        words: Mapping[str, Any] | None = None,
        as_name: str | None = None,
    ) -> None:
        """Call these peers and wait until all have answered; `words` are what their `admit` is told, `as_name` what
        they shall call me. Who has not let me in is not called any longer."""
        called = self.call(addresses, words, as_name)
        end = time.monotonic() + timeout_s
        try:
            while missing := [peer for peer in called if not peer.theirs]:
                left = end - time.monotonic()
                self._check_refusal(missing, _SECOND_THOUGHTS_S if left > 0 else 0.0)
                if left <= 0:
                    where = ", ".join(f"{peer.name} at {addresses[peer.name]}" for peer in missing)
                    raise PeerError(f"{self.name} found no {where} within {timeout_s:g} s.")
                self._pump(min(left, _LOOK_UP_S))
        except BaseException:
            for peer in called:
                if not peer.theirs:
                    self._forget(peer)
            raise

    def call(
        self, addresses: Mapping[str, str], words: Mapping[str, Any] | None = None, as_name: str | None = None
    ) -> list[Peer]:
        """The first half of `meet`: who answers is met while letters are awaited."""
        hello = json.dumps({**(words or {}), "name": as_name or self.name}).encode()
        for address in addresses.values():
            _check_plain(lines.host_of(address), self._keys, self._insecure)
        return [self._board.call(name, address, hello) for name, address in addresses.items()]

    def _check_refusal(self, missing: Sequence[Peer], patience_s: float) -> None:
        for peer in missing:
            if peer.refusal:
                raise MismatchError(peer.refusal)
            if time.monotonic() - peer.failed_at > patience_s:
                raise PeerError(
                    f"{self.name} was refused by {peer.name} while keys were exchanged. Is it a laconic of the same "
                    f"job, with the same key or as --insecure as this one?"
                )

    # ------------------------------------------------------------- letters

    def send(self, to: str, kind: int, payload: Tensor | str = "", tag: Tag = Tag(), word: int = 0) -> int:  # noqa: B008  (a constant)
        """Returns at once; the bytes that will leave, our header included."""
        peer = self._by_name.get(to)
        if peer is None:
            raise PeerError(f"{self.name} has no connection to {to}: it never came, has left or died.")
        tensor = encoded(payload) if isinstance(payload, str) else payload.detach().cpu().contiguous()
        frame = peer.next_frame(kind, tensor, tag, word)
        if frame.length > self.most_bytes:
            raise PayloadError(
                f"A message of {frame.length} bytes to {to} is larger than the {self.most_bytes} it accepts. Use "
                f"smaller buckets."
            )
        self._post(peer, frame, tensor)
        return frame.header_bytes + frame.length

    def _post(self, peer: Peer, frame: Frame, tensor: Tensor) -> bool:
        """False: its connection has ended, see net/switchboard.py."""
        view = memoryview(tensor.view(-1).view(torch.uint8).numpy()) if tensor.numel() else memoryview(b"")  # type: ignore[arg-type]  # arrays are buffers
        return self._board.post(peer, frames.write(frame, view, whole=self._keys is None), view)

    def receive(self, timeout_s: float) -> Letter | None:
        """The next letter; None if there was none in time."""
        end = time.monotonic() + timeout_s
        while not self._inbox:
            left = end - time.monotonic()
            woken = self._pump(max(0.0, left))
            if left <= 0 or woken:
                break
        return self._inbox.popleft() if self._inbox else None

    def bell(self) -> Callable[[], None]:
        """For other threads: wakes who waits in `receive`, which then returns None unless there is a letter."""
        return self._board.bell()

    def part(self, name: str, why: str = "") -> None:
        """Take leave of one peer; of one who is gone already it is no mistake."""
        peer = self._by_name.get(name)
        if peer is not None:
            tensor = encoded(why)
            self._post(peer, peer.next_frame(Kind.BYE, tensor), tensor)
            self._forget(peer)

    def close(self, why: str = "") -> None:
        for name in self.peers:
            self.part(name, why)
        self._by_name = {}
        self._board.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------- what arrives

    def _pump(self, timeout_s: float) -> bool:
        """Wait for anything; then read all there is. Ends of connections count after what came before them. Returns
        whether the bell rang."""
        if not self._board.wait(timeout_s):
            return False
        ended = [peer for peer in self._board.calls if self._look(peer)] + self._look_at_callers()
        for peer, parts in self._board.arrivals():
            self._read(peer, parts)
        for peer in ended:
            self._lose(peer)
            self._board.forget_end(peer)
        return self._board.rang()

    def _look(self, peer: Peer) -> bool:
        """What happened on a line I called on; True if it ended after hands were shaken."""
        assert peer.monitor is not None, "every call is watched"
        ended = False
        for event in lines.happenings(peer.monitor):
            if event.ready and not peer.theirs:
                tensor = torch.frombuffer(bytearray(peer.hello), dtype=torch.uint8)
                self._post(peer, Frame(Kind.HELLO, word=peer.mine, shape=tuple(tensor.shape)), tensor)
            if event.ready:
                peer.failed_at = math.inf
            if event.failed:
                self.refused["handshake"] += 1
                peer.failed_at = min(peer.failed_at, time.monotonic())
            ended = ended or (event.ended and bool(peer.theirs))
        return ended

    def _look_at_callers(self) -> list[Peer]:
        ended: list[Peer] = []
        for end in self._board.ends():
            if end.failed:
                self._refuse("handshake", "a caller could not prove that it knows the job's key")
            elif end.whose is None:
                self._refuse("cut", "a connection ended without a greeting: too large a frame, or none of ours")
            else:
                ended.append(end.whose)
        return ended

    def _read(self, peer: Peer, parts: Sequence[zmq.Frame]) -> None:
        who = peer.name or "a stranger"
        if len(parts) != 2:
            return self._refuse("garbage", f"{who} sent {len(parts)} parts instead of 2")
        header, payload = parts
        try:
            frame = frames.read(header.buffer, payload.buffer, self.most_bytes, whole=self._keys is None)
        except PayloadError as error:
            return self._refuse("garbage", f"{who}: {error}")
        if frame.kind == Kind.HELLO and peer.route is not None and not peer.theirs:
            return self._greet(peer, frame, payload)
        if peer.route is None and not peer.theirs:
            return self._answered(peer, frame, payload)
        objection = peer.objection(frame)
        if objection is not None:
            return self._refuse(*objection)
        peer.heard = frame.sequence
        self._inbox.append(Letter(peer.name, frame.kind, frame.tag, frame.word, as_tensor(frame, payload)))
        if frame.kind == Kind.BYE:
            self._forget(peer)
        return None

    def _greet(self, peer: Peer, frame: Frame, payload: zmq.Frame) -> None:
        words = words_of(frame, payload)
        name = words.get("name")
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME:
            return self._refuse("hello", "a caller did not say its name")
        peer = replace(peer, name=name, fd=int(payload.get(zmq.SRCFD)), mine=secrets.randbits(63) | 1)
        problem = f"There is a {name} already." if name in self._by_name else None
        if problem is None and self._admit is not None:
            problem = self._admit(name, words)
        if problem is not None:
            self._refuse("hello", f"{name}: {problem}")
            text = encoded(problem)
            self._post(peer, Frame(Kind.REFUSED, shape=tuple(text.shape), session=frame.word), text)
            return None
        peer.theirs = frame.word
        assert peer.route is not None, "a caller"
        self._board.callers[peer.route] = self._by_name[name] = peer
        welcome = Frame(Kind.WELCOME, word=peer.mine, session=peer.theirs)
        if not self._post(peer, welcome, torch.empty(0, dtype=torch.uint8)):
            self._lose(peer)  # its end was seen before its greeting
            self._board.forget_end(peer)
        return None

    def _answered(self, peer: Peer, frame: Frame, payload: zmq.Frame) -> None:
        if frame.session != peer.mine or frame.kind not in (Kind.WELCOME, Kind.REFUSED):
            return self._refuse("session", f"{peer.name} answered a greeting with a frame of kind {frame.kind}")
        if frame.kind == Kind.REFUSED:
            peer.refusal = f"{peer.name} refused {self.name}: {bytes(payload.buffer).decode(errors='replace')}"
            return None
        peer.theirs = frame.word
        self._by_name[peer.name] = peer
        return None

    # ------------------------------------------------------------- endings

    def _lose(self, peer: Peer) -> None:
        if self._by_name.get(peer.name) is peer:
            self._forget(peer)
            _log.warning("%s lost %s: its connection ended without a word.", self.name, peer.name)
            self._inbox.append(Letter(peer.name, Kind.LOST, Tag(), 0, encoded("its connection ended without a word")))

    def _forget(self, peer: Peer) -> None:
        if self._by_name.get(peer.name) is peer:
            del self._by_name[peer.name]
        self._board.forget(peer)

    def _refuse(self, reason: str, sentence: str) -> None:
        self.refused[reason] += 1
        count = self.refused[reason]
        if count & (count - 1) == 0:  # the 1st, 2nd, 4th, 8th ...: a flood does not fill a disk
            _log.warning("%s dropped a frame (%s, %d so far): %s.", self.name, reason, count, sentence.rstrip("."))


def _check_plain(host: str, keys: Keys | None, insecure: bool) -> None:
    if keys is None and not insecure and not lines.is_loopback(host):
        raise UsageError(
            f"{host} is not this machine alone, and there is no job key: anyone there could read and write the model. "
            f"Make a key with `laconic keygen job.key` and give it to all, or type --insecure."
        )
