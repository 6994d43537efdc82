"""One group of workers on one server: what they add up, hand to each other and have re-encoded.

A room never applies half of anything: a result is made when every rank's part is there. What does not fit (another
shape, order or version) and who left are told to everybody in the room as TROUBLE: nobody waits for a time limit.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable

import torch
from torch import Tensor

from laconic.components import component
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.served import ServerClerk, clerk_from
from laconic.core.errors import MismatchError, PayloadError
from laconic.drive.asks import Ask, chunk_of, order_of, split_versions
from laconic.drive.shelf import Shelf
from laconic.net.frames import Tag
from laconic.net.peer import Letter, encoded
from laconic.server.sums import Total
from laconic.server.table import Table

Up = Callable[[Tensor, Tag, int], None]  # (payload, tag, word)
Send = Callable[[int, Ask, Tensor, Tag, int], None]  # (rank, kind, payload, tag, word)
_log = logging.getLogger("laconic.server")


class Room:
    def __init__(self, world: int, send: Send, up: Up | None = None) -> None:
        """`up`: this room is a leaf of a tree; where to send what its own workers add up to."""
        self.world, self._send, self._up = world, send, up
        self.here: set[int] = set()
        self.gone: dict[int, str] = {}
        self.troubles = 0
        self._totals: dict[Tag, Total] = {}
        self._orders: dict[tuple[int, int], ServerClerk] = {}
        self._pushed: dict[Tag, dict[int, tuple[ServerClerk, Letter]]] = {}
        self._shelf = Shelf()
        self._table = Table(world, send, clerk=_clerk)

    def take(self, rank: int, letter: Letter) -> None:
        """What does not fit is told to everyone; the server goes on."""
        try:
            self._do(rank, letter)
        except Exception as error:  # noqa: BLE001  (whatever a worker sends, the server outlives it)
            _log.warning("rank %d sent what does not fit: %s", rank, error)
            self.tell_all(f"Rank {rank}: {error}")

    def leave(self, rank: int, why: str, *, died: bool) -> None:
        self.here.discard(rank)
        self.gone[rank] = why
        self._table.leave(rank)
        if died:
            self.tell_all(f"Rank {rank} died or was cut off: {why}")
        elif self._waits_for(rank):
            self.tell_all(f"Rank {rank} left ({why or 'without a reason'}) while others waited for it")
        else:
            self._tell(Ask.LEFT, why, rank)  # they know what they still wait for

    def tick(self) -> float | None:
        """Seconds until something must be done though nobody says anything; None: nothing."""
        return self._table.tick()

    def tell_all(self, sentence: str) -> None:
        self.troubles += 1
        self._tell(Ask.TROUBLE, sentence, 0)

    def _tell(self, kind: Ask, sentence: str, word: int) -> None:
        for rank in sorted(self.here):
            self._send(rank, kind, encoded(sentence), Tag(), word)

    def _do(self, rank: int, letter: Letter) -> None:
        works: dict[int, Callable[[int, Letter], None]] = {
            Ask.SUM: self._sum,
            Ask.GATHER: self._gather,
            Ask.PARCEL: self._hand_on,
            Ask.ORDER: self._take_order,
            Ask.SERVE: self._serve,
            Ask.RECALL: self._recall,
            Ask.REMIND: self._remind,
            Ask.PUSH: self._push,
            Ask.RULE: self._table.take,
            Ask.START: self._table.take,
            Ask.PULL: self._table.take,
            Ask.REST: self._table.take,
        }
        if letter.kind not in works:
            raise PayloadError(f"A frame of kind {letter.kind} is none that workers send.")
        works[letter.kind](rank, letter)

    def _need_all(self) -> None:
        for gone, why in self.gone.items():
            raise MismatchError(f"Rank {gone} has left already ({why or 'without a reason'}).")

    def _sum(self, rank: int, letter: Letter) -> None:
        self._need_all()
        total = self._totals.setdefault(letter.tag, Total(self.world))
        result = total.add(rank, letter.payload, letter.word)
        if result is not None:
            del self._totals[letter.tag]
            if self._up is not None:
                self._up(result, letter.tag, letter.word)
            else:
                self.answer_all(result, letter.tag)

    def answer_all(self, result: Tensor, tag: Tag) -> None:
        for rank in range(self.world):
            self._send((rank + tag.part) % self.world, Ask.ANSWER, result, tag, 0)

    def _gather(self, rank: int, letter: Letter) -> None:
        self._need_all()
        for other in range(self.world):
            if other != rank:
                self._send(other, Ask.GATHER, letter.payload, letter.tag, rank)

    def _hand_on(self, rank: int, letter: Letter) -> None:
        if not 0 <= letter.word < self.world:
            raise PayloadError(f"A parcel is addressed to rank {letter.word} of {self.world}.")
        if letter.word in self.gone:
            raise MismatchError(f"Rank {letter.word} has left already ({self.gone[letter.word]}).")
        self._send(letter.word, Ask.PARCEL, letter.payload, letter.tag, rank)

    def _take_order(self, rank: int, letter: Letter) -> None:
        self._orders[rank, letter.word] = _clerk(letter.text)

    def _serve(self, rank: int, letter: Letter) -> None:
        self._need_all()
        clerk = self._orders.get((rank, order_of(letter.tag.part)))
        if clerk is None:
            raise MismatchError("a packed message came before the order that says how to read it.")
        tag = letter.tag._replace(part=chunk_of(letter.tag.part))
        pushed = self._pushed.setdefault(tag, {})
        if rank in pushed:
            raise MismatchError("the same packed message came twice.")
        pushed[rank] = clerk, letter
        if len(pushed) < self.world:
            return
        del self._pushed[tag]
        clerks, letters = zip(*(pushed[r] for r in range(self.world)), strict=True)
        if len({(c, one.word) for c, one in zip(clerks, letters, strict=True)}) != 1:
            raise MismatchError("ranks ask for different codecs or versions: they are not at the same place or plan.")
        if clerk.world != self.world:
            raise MismatchError(f"an order for {clerk.world} workers, but there are {self.world}.")
        base, made = split_versions(letter.word)
        reply = self._shelf.serve(clerk, [one.payload for one in letters], base, made)
        self.answer_all(reply, tag)

    def _recall(self, rank: int, letter: Letter) -> None:
        kept = self._shelf.kept((letter.tag.bucket, letter.tag.slot, letter.tag.part))
        which = letter.tag.round
        version, error = kept[which] if which < len(kept) else (0, torch.empty(0))
        self._send(rank, Ask.ANSWER, error, letter.tag, version)

    def _remind(self, rank: int, letter: Letter) -> None:
        if letter.payload.dtype != torch.float32 or letter.payload.dim() != 1:
            raise PayloadError(f"an error memory is a vector of float32, not {letter.payload.dtype}.")
        key = (letter.tag.bucket, letter.tag.slot, letter.tag.part)
        self._shelf.remind(key, letter.word, letter.payload.clone())

    def _push(self, rank: int, letter: Letter) -> None:
        """A packed update is unpacked first."""
        if letter.word:
            order, step = split_versions(letter.word)
            clerk = self._orders.get((rank, order - 1))
            if clerk is None:
                raise MismatchError("a packed update came before the order that says how to read it.")
            letter = letter._replace(payload=clerk.decode(letter.payload, step))
        self._table.take(rank, letter)

    def _waits_for(self, rank: int) -> bool:
        return any(rank in t.missing() for t in self._totals.values()) or any(
            rank not in pushed for pushed in self._pushed.values()
        )


def _clerk(text: str) -> ServerClerk:
    try:
        words = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PayloadError(f"an order cannot be read: {error}") from error
    if not isinstance(words, dict) or not isinstance(words.get("codec"), str):
        raise PayloadError(f"an order names no codec: {text[:80]!r}")
    codec = component(words["codec"])
    if not isinstance(codec, AbstractOneShot):
        raise PayloadError(f"{codec} writes no packed messages that a server could average.")
    return clerk_from(words, codec)
