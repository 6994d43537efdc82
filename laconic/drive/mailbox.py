"""Exchanges through parameter servers: every request becomes tagged messages, every answer finds its exchange by tag.

    Mean, Sum, Max    a tensor is cut evenly over the servers and further into pieces, so that a piece comes back while
                      the next is on its way; a server adds up in rank order and tells everyone
    Gather            my message goes to a server once (in pieces to all if it is large), which sends it to the others
    Deal, Swap        message r goes to the server of worker r, which hands it on
    Serve             chunk s goes to server s, see compress/served.py

Tags make order meaningless: exchanges advance as their answers arrive, also while others are launched. Only what leaves
this process is counted; a server beside this worker (`beside`) is reached without leaving it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from laconic.core.clock import Clock, WallClock
from laconic.core.errors import PayloadError, PeerError
from laconic.core.exchange import Clerk, Deal, Exchange, Exchanged, Gather, Max, Mean, Serve, Sum, Swap, Together
from laconic.drive.asks import Ask, order_part, versions
from laconic.drive.base import Place
from laconic.drive.roster import Roster
from laconic.drive.torch_dist import GivenUpError
from laconic.drive.wiring import Wiring
from laconic.net.frames import Kind, Tag
from laconic.net.link import Link
from laconic.net.mailbox import Mailbox
from laconic.net.peer import Letter

_LOOK_UP_S = 1.0

Key = tuple[Tag, int]  # the tag, and whose message it is where several come under one tag


@dataclass
class _Flight:
    """One exchange under way: how many messages it still waits for, and what to tell it then."""

    place: Place
    program: Exchange
    answer: Callable[[], Any] = lambda: None
    round: int = -1
    missing: int = 0
    slots: Iterator[int] = field(default_factory=lambda: iter(()))


@dataclass(frozen=True)
class _Awaited:
    flight: _Flight
    into: Callable[[Tensor], None]
    rank: int | None  # whose message it is; None: a server's own


class MailboxDriver:
    def __init__(
        self,
        box: Mailbox,
        wiring: Wiring,
        link: Link,
        roster: Roster,
        timeout_s: float,
        *,
        beside: Sequence[Link] = (),
        closing: Sequence[Callable[[], None]] = (),
        clock: Clock | None = None,
    ) -> None:
        """`beside`: what servers in this process have sent; it leaves this rank too. `closing`: called by `close`."""
        self.box, self.wiring, self.link, self.roster, self.timeout_s = box, wiring, link, roster, timeout_s
        self.waited_s = 0.0
        self.given_up: Callable[[], bool] = lambda: False  # is waiting of no use any more?
        self._clock = clock or WallClock()
        self._awaited: dict[Key, _Awaited] = {}
        self._early: dict[Key, Tensor] = {}
        self._ready: deque[_Flight] = deque()
        self._flying: dict[Place, _Flight] = {}
        self._done: dict[Place, Exchanged] = {}
        self._order: list[Place] = []
        self._orders: dict[Clerk, int] = {}
        self.homes: dict[tuple[int, int, int], int] = {}  # which server keeps the memory of which chunk
        self._beside, self._closing = tuple(beside), tuple(closing)
        self._counted = Link()
        self._cause = ""
        self._left: dict[int, set[str]] = {}  # who took leave, and of which servers

    def launch(self, place: Place, program: Exchange) -> None:
        assert place not in self._order, f"{place} is under way already"
        self._order.append(place)
        flight = self._flying[place] = _Flight(place, program)
        self._advance(flight)
        self._progress(0.0)

    @property
    def flying(self) -> bool:
        """Is any exchange under way?"""
        return bool(self._flying)

    def wait(self) -> None:
        """For the next letter, a bell or a second; and advance what it concerns."""
        self._progress(_LOOK_UP_S)

    def finish(self) -> list[Exchanged]:
        heard = looked = time.monotonic()
        try:
            while self._flying:
                start = self._clock.now()
                moved, now = self._progress(_LOOK_UP_S), time.monotonic()
                if moved:
                    heard = looked = now
                elif self.given_up():
                    raise GivenUpError("This rank stopped waiting for its servers.")
                elif now - looked > _LOOK_UP_S / 2:  # it was not only a bell
                    looked = now
                    self._look_up(now - heard)
                self.waited_s += self._clock.now() - start
            return [self._done[place] for place in self._order]
        finally:
            self.forget()

    def forget(self) -> None:
        """Whatever is under way."""
        self._flying, self._done, self._order, self._awaited = {}, {}, [], {}
        self._ready.clear()
        self._count_beside()

    def close(self, why: str = "") -> None:
        """Take leave of the servers, then end those in this process.

        Who has given up says why, so that others who hear of it first learn what happened first."""
        self.box.close(why or self._cause)
        for end in self._closing:
            end()
        self._closing = ()

    def _count_beside(self) -> None:
        nbytes, messages = (sum(getattr(b, f) for b in self._beside) for f in ("sent_bytes", "messages"))
        self.link.sent_bytes += nbytes - self._counted.sent_bytes
        self.link.messages += messages - self._counted.messages
        self._counted = Link(nbytes, messages)

    # ------------------------------------------------------------- programs

    def _advance(self, flight: _Flight) -> None:
        """Hand over the answer; send what is asked next, or keep the result."""
        try:
            ask = flight.program.send(flight.answer())
        except StopIteration as stop:
            self._done[flight.place] = stop.value
            del self._flying[flight.place]
            return
        flight.round += 1
        flight.slots = iter(range(1 << 16))
        flight.answer = self._issue(flight, ask)
        if flight.missing == 0:
            self._ready.append(flight)

    def _progress(self, timeout_s: float) -> bool:
        """Advance what can be advanced; wait for the next letter only if nothing can."""
        moved = False
        while True:
            while self._ready:
                self._advance(self._ready.popleft())
                moved = True
            letter = self.box.receive(0.0 if moved else timeout_s)
            if letter is None:
                return moved
            self.take(letter)
            moved = True

    def take(self, letter: Letter) -> None:
        """Bring what arrived to the exchange that waits for it."""
        if letter.kind in (Kind.LOST, Kind.BYE, Ask.TROUBLE):
            who = "" if letter.kind == Ask.TROUBLE else f"{letter.sender} is gone: "
            self._give_up(f"{who}{letter.text}" or "it left")
        if letter.kind == Ask.LEFT:
            self._miss(letter.word, letter)
            return
        key = letter.tag, letter.word if letter.kind in (Ask.GATHER, Ask.PARCEL) else 0
        awaited = self._awaited.pop(key, None)
        if awaited is None:
            self._early[key] = letter.payload
        else:
            self._hand(awaited, letter.payload)

    def _miss(self, rank: int, letter: Letter) -> None:
        """Nothing more comes from this rank by way of this server. If by way of none, I may wait for it in vain."""
        servers = self._left.setdefault(rank, set())
        servers.add(letter.sender)
        every = {self.wiring.servers[s] for s in self.wiring.relaying}
        if servers >= every and any(one.rank == rank for one in self._awaited.values()):
            self._give_up(f"Rank {rank} left ({letter.text or 'without a reason'}) while others waited for it")

    def _hand(self, awaited: _Awaited, payload: Tensor) -> None:
        awaited.into(payload)
        awaited.flight.missing -= 1
        if awaited.flight.missing == 0:
            self._ready.append(awaited.flight)

    def _look_up(self, silent_s: float) -> None:
        if self.roster.trouble():
            self._give_up("another rank has given up")
        if silent_s > self.timeout_s:
            self._give_up(f"no answer for {silent_s:.0f} s")

    def _give_up(self, cause: str) -> None:
        place = next(iter(self._flying), Place(0, 0, "between exchanges"))
        self._cause = self._cause or cause
        raise PeerError(self.roster.explain(place, cause.rstrip(".")))

    # ------------------------------------------------------------- requests

    def _issue(self, flight: _Flight, ask: Any) -> Callable[[], Any]:
        if isinstance(ask, Together):
            answers = [self._issue(flight, request) for request in ask.requests]
            return lambda: tuple(answer() for answer in answers)
        place = flight.place
        tag = Tag(place.step, place.number, flight.round, next(flight.slots))
        match ask:
            case Mean() | Sum() | Max():
                return self._reduce(flight, tag, ask)
            case Gather(message=m, lengths=lengths):
                return self._gather(flight, tag, m, lengths or (m.numel(),) * self.wiring.world)
            case Deal(messages=messages, lengths=lengths):
                n = self.wiring.world
                mine = (messages[self.wiring.rank].numel(),) * n
                return self._parcels(flight, tag, messages, range(n), mine if lengths is None else lengths)
            case Swap(message=m, peers=peers, lengths=lengths):
                sizes = (m.numel(),) * len(peers) if lengths is None else lengths
                return self._parcels(flight, tag, (m,) * len(peers), peers, sizes)
            case Serve():
                return self._serve(flight, tag, ask)
            case other:
                raise TypeError(f"{type(other).__name__} is not a request.")

    def _reduce(self, flight: _Flight, tag: Tag, ask: Mean | Sum | Max) -> Callable[[], Tensor]:
        t = ask.tensor.contiguous()
        if isinstance(ask, Mean):
            t.mul_(1.0 / self.wiring.world)  # before the sum: half precision must not overflow on the way
        flat = t.view(-1)
        for piece in self.wiring.pieces(flat.numel(), flat.element_size(), tag.bucket + tag.slot):
            part, at = tag._replace(part=piece.part), flat[piece.start : piece.stop]
            # A piece comes back only after it left, so its place can be written again.
            self._await(flight, (part, 0), _into(at))
            self._send(piece.server, Ask.SUM, at, part, int(isinstance(ask, Max)))
        return lambda: t

    def _gather(self, flight: _Flight, tag: Tag, m: Tensor, lengths: Sequence[int]) -> Callable[[], list[Tensor]]:
        mine, out = self.wiring.rank, [torch.empty(n, dtype=torch.uint8) for n in lengths]
        for rank, length in enumerate(lengths):
            for piece in self.wiring.shares(rank, length, tag.bucket + tag.slot):
                part, at = tag._replace(part=piece.part), slice(piece.start, piece.stop)
                if rank == mine:
                    self._send(piece.server, Ask.GATHER, m[at], part)
                else:
                    self._await(flight, (part, rank), _into(out[rank][at]), rank)
        out[mine] = m
        return lambda: [t.to(m.device) for t in out]

    def _parcels(
        self, flight: _Flight, tag: Tag, messages: Sequence[Tensor], peers: Sequence[int], lengths: Sequence[int]
    ) -> Callable[[], list[Tensor]]:
        mine, servers = self.wiring.rank, self.wiring.relaying
        out = [torch.empty(n, dtype=torch.uint8) for n in lengths]
        for i, (peer, message) in enumerate(zip(peers, messages, strict=True)):
            if peer == mine:
                out[i] = message
                continue
            piece = tag._replace(part=list(peers[:i]).count(peer))  # on a ring of two, both neighbours are the same
            if message.numel():
                self._send(servers[peer % len(servers)], Ask.PARCEL, message, piece, peer)
            if lengths[i]:
                self._await(flight, (piece, peer), _into(out[i]), peer)
        device = messages[0].device if messages else torch.device("cpu")
        return lambda: [t.to(device) for t in out]

    def _serve(self, flight: _Flight, tag: Tag, ask: Serve) -> Callable[[], list[Tensor]]:
        replies: dict[int, Tensor] = {}
        word = versions(ask.base, ask.made)
        for chunk, (message, clerk) in enumerate(zip(ask.messages, ask.clerks, strict=True)):
            server = self.wiring.keeper(clerk.key[0], chunk, len(ask.messages))
            number = self._orders.get(clerk)
            if number is None:
                number = self._orders[clerk] = len(self._orders)
                self._send(server, Ask.ORDER, clerk.text(), word=number)
                if clerk.memory_size:
                    self.homes[clerk.key] = server
            answered = tag._replace(part=chunk), 0
            self._await(flight, answered, lambda t, chunk=chunk: replies.__setitem__(chunk, t))  # type: ignore[misc]
            self._send(server, Ask.SERVE, message, tag._replace(part=order_part(number, chunk)), word)
        device = ask.messages[0].device
        return lambda: [replies[chunk].to(device) for chunk in range(len(ask.messages))]

    # ------------------------------------------------------------- messages

    def _send(self, server: int, kind: Ask, payload: Tensor | str, tag: Tag = Tag(), word: int = 0) -> None:  # noqa: B008  (a constant)
        nbytes = self.box.send(self.wiring.servers[server], kind, payload, tag, word)
        if server not in self.wiring.beside:
            self.link.send(nbytes, 1)

    def _await(self, flight: _Flight, key: Key, into: Callable[[Tensor], None], rank: int | None = None) -> None:
        if key in self._early:
            into(self._early.pop(key))
            return
        flight.missing += 1
        self._awaited[key] = _Awaited(flight, into, rank)


def _into(place: Tensor) -> Callable[[Tensor], None]:
    def write(payload: Tensor) -> None:
        if payload.shape != place.shape or payload.dtype != place.dtype:
            raise PayloadError(
                f"Expected {place.numel()} elements of {place.dtype}, got {payload.numel()} of {payload.dtype}: ranks "
                f"are not at the same place or plan."
            )
        place.copy_(payload)

    return write
