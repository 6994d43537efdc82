"""A parameter server: one mailbox that listens, one room for each group of workers.

    server = Server("127.0.0.1", 0, keys);   print(server.address);   server.run(until)

Workers say in their greeting which group they belong to (every `laconic.distribute` is one), their rank and how
many they are. A room opens with its first worker and closes with its last, so one server serves one job after another,
or several at once. Whatever hostile or broken peers send is counted and logged (net/mailbox.py) and never ends it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from laconic.core.errors import PeerError
from laconic.drive.asks import Ask
from laconic.net.auth import Keys
from laconic.net.frames import Kind, Tag
from laconic.net.link import Link
from laconic.net.mailbox import MOST_BYTES, Mailbox
from laconic.net.peer import Letter
from laconic.server.room import Room, Up

_LOOK_UP_S = 0.2
_MOST_WORKERS = 4096
_UPLINK_S = 30.0
PROTOCOL = 1
TABLE = "/table"  # ends the name of a group's second line, for pushing and pulling
_log = logging.getLogger("laconic.server")


@dataclass(frozen=True)
class Member:
    group: str
    rank: int

    @property
    def name(self) -> str:
        return f"{self.group}/worker/{self.rank}"


class Server:
    def __init__(
        self,
        host: str,
        port: int,
        keys: Keys | None,
        *,
        insecure: bool = False,
        beside: Member | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """`beside`: a worker in this very process; what goes to it does not count as sent."""
        self.link = Link()
        self.served = 0  # groups that have come and gone
        self._beside = beside
        self._members: dict[str, Member] = {}
        self._rooms: dict[str, Room] = {}
        self._uplinks: dict[str, str] = {}  # names of roots, and the groups they are roots of
        options: dict[str, Any] = {"insecure": insecure, "most_bytes": most_bytes}
        self.box = Mailbox("server", keys=keys, host=host, port=port, admit=self._admit, **options)
        self.address = self.box.address

    def run(self, until: Callable[[], bool]) -> None:
        """Serve; `until` is asked a few times a second, however many letters come."""
        farewell = "the server was stopped"
        try:
            while not until():
                due = [s for s in (room.tick() for room in self._rooms.values()) if s is not None]
                patience_s = min([_LOOK_UP_S, *due])
                letter, end = self.box.receive(patience_s), time.monotonic() + patience_s
                while letter is not None:
                    self._take(letter)
                    letter = self.box.receive(0.0) if time.monotonic() < end else None
        except Exception as error:
            farewell = f"the server failed: {type(error).__name__}: {error}"
            raise
        finally:
            self.box.close(farewell)

    @property
    def busy(self) -> bool:
        """Are there workers?"""
        return bool(self._rooms)

    def _admit(self, name: str, words: dict[str, Any]) -> str | None:
        group, rank, world = words.get("group"), words.get("rank"), words.get("world")
        if words.get("protocol") != PROTOCOL:
            return f"It speaks protocol {words.get('protocol')!r}, this server {PROTOCOL}. Use one version of laconic."
        if not isinstance(group, str) or type(rank) is not int or type(world) is not int:
            return "It did not say its group, rank and world."
        if not (0 <= rank < world <= _MOST_WORKERS) or name != Member(group, rank).name:
            return f"It calls itself {name}, rank {rank} of {world}."
        room = self._rooms.get(group)
        if room is not None and room.world != world:
            return f"Its group has {room.world} workers, not {world}."
        if room is not None and (rank in room.here or rank in room.gone):
            return f"Rank {rank} of its group has been here already."
        member = self._members[name] = Member(group, rank)
        if room is None:
            room = self._rooms[group] = Room(world, lambda *args: self._send(group, *args), self._uplink(group, words))
            _log.info("%s: a group of %d workers comes in.", self.address, world)
        room.here.add(member.rank)
        return None

    def _uplink(self, group: str, words: dict[str, Any]) -> Up | None:
        """For a leaf of a tree: workers say where its root is, which leaf it is and of how many."""
        root, rank, world, above = (words.get(name) for name in ("root", "leaf", "leaves", "above"))
        if not (isinstance(root, str) and type(rank) is int and type(world) is int and isinstance(above, str)):
            return None
        name, me = f"root of {group}", Member(above, rank)
        self._uplinks[name] = group

        def up(payload: Tensor, tag: Tag, word: int) -> None:
            if name not in self.box.peers:
                hello = {"group": me.group, "rank": me.rank, "world": world, "protocol": PROTOCOL}
                self.box.meet({name: root}, _UPLINK_S, hello, me.name)
            self.link.send(self.box.send(name, Ask.SUM, payload, tag, word), 1)

        return up

    def _from_root(self, group: str, letter: Letter) -> None:
        room = self._rooms.get(group)
        if room is None:
            return
        if letter.kind == Ask.ANSWER:
            room.answer_all(letter.payload, letter.tag)
        elif letter.kind != Ask.LEFT:  # another leaf is done
            room.tell_all(f"The root of the tree says: {letter.text or 'goodbye'}")

    def _take(self, letter: Letter) -> None:
        if letter.sender in self._uplinks:
            self._from_root(self._uplinks[letter.sender], letter)
            return
        member = self._members.get(letter.sender)
        if member is None:
            return
        room = self._rooms[member.group]
        if letter.kind not in (Kind.BYE, Kind.LOST):
            room.take(member.rank, letter)
            return
        del self._members[letter.sender]
        room.leave(member.rank, letter.text, died=letter.kind == Kind.LOST)
        if not room.here:
            del self._rooms[member.group]
            name = f"root of {member.group}"
            if self._uplinks.pop(name, None) is not None:
                self.box.part(name, "all workers of this leaf have left")
            self.served += 1
            _log.info("%s: the last worker of a group has left.", self.address)

    def _send(self, group: str, rank: int, kind: Ask, payload: Tensor, tag: Tag, word: int) -> None:
        member = Member(group, rank)
        try:
            nbytes = self.box.send(member.name, kind, payload, tag, word)
        except PeerError as error:
            _log.debug("%s", error)  # it has left; whoever waits for it is told by the room
            return
        if member != self._beside and Member(group.removesuffix(TABLE), rank) != self._beside:
            self.link.send(nbytes, 1)
