"""A worker's view of values that live on servers: push updates, pull ranges, no barrier.

    table.start(key, tensor, Rule())        all workers; the first one's value counts
    table.push(key, update)                 returns at once; waits only while too many pushes are unanswered
    table.push_packed(key, message, clerk, step)        the same of a packed message; the server decodes it
    pulled = table.pull(key, at_least=version)          waits until the key has absorbed so many updates
    pulled = table.pull(key, everyone=c - s)            ... or until every worker has pushed so often
    table.rest(True)                                    nobody shall wait for me; False: again

Key k lives on server k mod S. A server applies updates as they come (server/table.py); my own pushes are in what I pull
afterwards. `ask` and `take` are the two halves of a pull, for those who compute meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from laconic.core.errors import PeerError, UsageError
from laconic.core.exchange import Clerk
from laconic.drive import changes
from laconic.drive.asks import Ask, versions
from laconic.drive.rule import Rule
from laconic.net.frames import Kind, Tag
from laconic.net.link import Link
from laconic.net.mailbox import Mailbox
from laconic.net.peer import Letter

_LOOK_UP_S = 1.0
WINDOW_BYTES = 256 << 20


CHANGED, ENCODED = 1, 2  # `tag.slot` of answers that tell changes only, see server/table.py


class Reader(Protocol):
    def decode(self, message: Tensor, step: int) -> Tensor: ...


class Pulled(NamedTuple):
    value: Tensor
    version: int
    slowest: int = 0  # the clock of the slowest worker when the value was read


class Table:
    def __init__(
        self,
        box: Mailbox,
        servers: Sequence[str],
        link: Link,
        timeout_s: float,
        *,
        window: int = 64,
        window_bytes: int = WINDOW_BYTES,
        beside: Collection[int] = (),
    ) -> None:
        """The mailbox is this table's alone. `window`, `window_bytes`: pushes that may be unanswered before another
        waits; `beside`: servers in this process, to which nothing is counted."""
        if window < 1:
            raise UsageError(f"A window of {window} pushes: give at least 1.")
        self.box, self.servers, self.link, self.timeout_s, self.window = box, tuple(servers), link, timeout_s, window
        self.versions: dict[int, int] = {}  # the newest seen of each key
        self._shapes: dict[int, torch.Size] = {}
        self._known: dict[int, Tensor] = {}  # keys of which only changes are told
        self._damping: dict[int, float] = {}
        self.readers: dict[int, Reader] = {}  # who reads changes of a key that are encoded
        self._orders: dict[tuple[int, Clerk], int] = {}  # what each server was told
        self._answers: dict[int, Letter] = {}
        self._unanswered: dict[int, int] = {}  # pushes, and their bytes
        self.window_bytes = window_bytes
        self._count, self._beside = 0, frozenset(beside)
        self.dropped = 0  # pushes that came too late to count

    def start(self, key: int, value: Tensor, rule: Rule | None = None) -> int:
        """The key's version. All workers give the same rule, see drive/rule.py; the usual one adds."""
        self._send(key, Ask.RULE, (rule or Rule()).text())
        self._shapes[key] = value.shape
        if rule is not None and (rule.changes or rule.clerk):
            self._damping[key] = rule.damping
            self._known[key] = value.reshape(-1).clone()
        return self._answer(self._send(key, Ask.START, value)).word

    def push(self, key: int, update: Tensor) -> None:
        self._make_room()
        self._unanswered[self._send(key, Ask.PUSH, update)] = update.nbytes

    def push_packed(self, key: int, message: Tensor, clerk: Clerk, step: int) -> None:
        """`step` is that of the turn in which the message was written."""
        self._make_room()
        told = self._server(key), clerk
        number = self._orders.get(told)
        if number is None:
            number = self._orders[told] = len(self._orders)
            self._send(key, Ask.ORDER, clerk.text(), word=number)
        ticket = self._send(key, Ask.PUSH, message, word=versions(number + 1, step))
        self._unanswered[ticket] = message.nbytes

    def pull(
        self, key: int, at_least: int = 0, everyone: int = 0, start: int = 0, stop: int | None = None, own: int = 0
    ) -> Pulled:
        return self.take(self.ask(key, at_least, everyone, start, stop, own), key)

    def ask(
        self,
        key: int,
        at_least: int = 0,
        everyone: int = 0,
        start: int = 0,
        stop: int | None = None,
        own: int = 0,
        *,
        exact: bool = False,
    ) -> int:
        """A ticket for `take`; [start, stop) are elements of the flat value, `own` pushes of mine that must be in.
        `exact`: not encoded, though the rule says so."""
        if key not in self._shapes:
            raise UsageError(f"Key {key} is pulled before it was started here.")
        end = self._shapes[key].numel() if stop is None else stop
        limits = torch.tensor([start, end], dtype=torch.int64)
        return self._send(key, Ask.PULL, limits, word=versions(own, at_least), everyone=everyone, exact=exact)

    def take(self, ticket: int, key: int) -> Pulled:
        letter = self._answer(ticket)
        self.versions[key] = max(letter.word, self.versions.get(key, 0))
        shape, value = self._shapes[key], letter.payload
        if key in self._known and (letter.tag.slot or value.numel() == shape.numel()):
            value = self._known[key] = self._new_value(key, letter)
        whole = value.view(shape) if value.numel() == shape.numel() else value
        return Pulled(whole, letter.word, letter.tag.part)

    def _new_value(self, key: int, letter: Letter) -> Tensor:
        """From what I knew and what I am told."""
        if letter.tag.slot == ENCODED:
            said = self.readers[key].decode(letter.payload, letter.word)
            return self._known[key].add(said.to(self._known[key]), alpha=self._damping[key])
        return changes.apply(letter.payload, self._known[key]) if letter.tag.slot == CHANGED else letter.payload

    def rest(self, away: bool) -> None:
        """On all servers; returns when they know."""
        for ticket in [self._send(s, Ask.REST, "", word=int(away)) for s in range(len(self.servers))]:
            self._answer(ticket)

    def settle(self) -> None:
        """Wait until the servers have absorbed all I pushed."""
        self._listen(lambda: not self._unanswered)

    def _make_room(self) -> None:
        """What a slow server has not taken yet lies in this worker's memory."""
        self._listen(lambda: len(self._unanswered) < self.window and sum(self._unanswered.values()) < self.window_bytes)

    def _send(
        self, key: int, kind: Ask, payload: Tensor | str, word: int = 0, everyone: int = 0, *, exact: bool = False
    ) -> int:
        self._count += 1
        tag = Tag(step=self._count & 0xFFFFFFFF, bucket=key, part=everyone, round=int(exact))
        server = self._server(key)
        nbytes = self.box.send(self.servers[server], kind, payload, tag, word)
        if server not in self._beside:
            self.link.send(nbytes, 1)
        return tag.step

    def _server(self, key: int) -> int:
        return key % len(self.servers)

    def _answer(self, ticket: int) -> Letter:
        self._listen(lambda: ticket in self._answers)
        return self._answers.pop(ticket)

    def _listen(self, until: Callable[[], bool]) -> None:
        end = time.monotonic() + self.timeout_s
        while not until():
            letter = self.box.receive(_LOOK_UP_S)
            if letter is None:
                if time.monotonic() > end:
                    servers = ", ".join(self.servers)
                    raise PeerError(
                        f"{self.box.name} waited {self.timeout_s:g} s for an answer from {servers} in vain: a server "
                        f"hangs, or waits for a worker that does."
                    )
                continue
            if letter.kind == Ask.TROUBLE:
                raise PeerError(f"{self.box.name} was told by {letter.sender}: {letter.text}")
            if letter.kind in (Kind.LOST, Kind.BYE):
                raise PeerError(f"{self.box.name} lost {letter.sender}: {letter.text or 'it left'}")
            if letter.kind != Ask.LEFT:
                self._note(letter)
            end = time.monotonic() + self.timeout_s

    def _note(self, letter: Letter) -> None:
        if letter.tag.step in self._unanswered:
            del self._unanswered[letter.tag.step]
            self.dropped += letter.tag.slot
            self.versions[letter.tag.bucket] = max(letter.word, self.versions.get(letter.tag.bucket, 0))
        else:
            self._answers[letter.tag.step] = letter
