"""Values that workers push updates to and pull whenever they like: the engine of asynchronous training.

    any       an update is added when it arrives                                   (ssp, asp)
    turn      ... when that of the worker before has been                          (r2sp)
    rounds    ... with those of all but `backup` others, as their mean; late ones are dropped       (backup)

Every key has a version, the number of updates (or rounds) it has absorbed, and a clock for each worker, the number of
its own. A pull waits for any of: a version; until everyone has pushed so often (stale synchronous parallel, Ho et al.,
NIPS 2013); until so many of the asker's own pushes are in. Who asks before it pushes reads a model in which its own
update is the last that had to come: so with s = 0 all read the same. Workers that rest or have left count nowhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from laconic.compress.served import ServerClerk
from laconic.core.clock import Clock, WallClock
from laconic.core.errors import MismatchError, PayloadError
from laconic.drive import changes
from laconic.drive.asks import Ask, split_versions
from laconic.drive.rule import Rule, rule_from
from laconic.drive.table import CHANGED, ENCODED
from laconic.net.frames import Tag
from laconic.net.peer import Letter
from laconic.sync.clocks import closes, whose_turn
from laconic.sync.shared import IN_ROUNDS, IN_TURN

Reply = Callable[[int, Ask, Tensor, Tag, int], None]  # (rank, kind, payload, tag, word)
_NOTHING = torch.empty(0, dtype=torch.uint8)
_FAR = 0xFFFFFFFF
DROPPED = 1  # `tag.slot` of the answer to a push that came too late


@dataclass
class _Entry:
    value: Tensor
    rule: Rule
    clocks: list[int]
    velocity: Tensor | None
    version: int = 0
    waiting: list[tuple[int, Letter]] = field(default_factory=list)
    read: dict[int, int] = field(default_factory=dict)  # the version each worker read last
    then: dict[int, Tensor] = field(default_factory=dict)  # ... and its value, where that counts
    clerk: ServerClerk | None = None
    known: dict[int, Tensor] = field(default_factory=dict)  # what each worker has, where only changes are told
    held: dict[int, Letter] = field(default_factory=dict)  # pushes whose turn has not come, or of the open round
    last: int = -1  # whose turn it was
    enough_at: float | None = None  # when the open round had as many as it needs


class Table:
    def __init__(
        self, world: int, reply: Reply, clock: Clock | None = None, clerk: Callable[[str], ServerClerk] | None = None
    ) -> None:
        """`clerk`: makes one from its text, for rules that name one."""
        self.world, self._reply, self._clock, self._clerk = world, reply, clock or WallClock(), clerk
        self._entries: dict[int, _Entry] = {}
        self._rules: dict[int, Rule] = {}
        self._away: set[int] = set()  # gone, or resting

    def take(self, rank: int, letter: Letter) -> None:
        key = letter.tag.bucket
        match letter.kind:
            case Ask.RULE:
                self._rule(key, rule_from(letter.text))
            case Ask.START:
                self._start(rank, key, letter)
            case Ask.PUSH:
                self._push(rank, self._entry(key, rank), letter)
            case Ask.REST:
                self._rest(rank, letter)
            case _:
                self._pull(rank, self._entry(key, rank), letter)

    def leave(self, rank: int) -> None:
        """Nobody waits for the clock of a worker that is gone."""
        self._away.add(rank)
        for entry in self._entries.values():
            self._go_on(entry)

    def tick(self) -> float | None:
        """Close rounds whose grace is over; seconds until the next may be, None if none is open."""
        left: list[float] = []
        for entry in self._entries.values():
            if entry.enough_at is not None:
                self._go_on(entry)
            if entry.enough_at is not None:
                left.append(max(0.0, entry.enough_at + entry.rule.grace_s - self._clock.now()))
        return min(left, default=None)

    # ------------------------------------------------------------- what workers ask

    def _rule(self, key: int, rule: Rule) -> None:
        if self._rules.setdefault(key, rule) != rule:
            raise MismatchError(f"Key {key} has the rule {self._rules[key]} already, not {rule}.")

    def _start(self, rank: int, key: int, letter: Letter) -> None:
        """The first to come decides; the others must agree on shape and type."""
        entry = self._entries.get(key)
        if entry is None:
            rule, value = self._rules.get(key, Rule()), letter.payload.clone()
            velocity = torch.zeros_like(value) if rule.momentum else None
            entry = self._entries[key] = _Entry(value, rule, [0] * self.world, velocity)
            if rule.clerk and self._clerk is not None:
                entry.clerk = self._clerk(rule.clerk)
        self._check(key, rank, entry, letter.payload)
        if entry.rule.compensation and rank not in entry.then:
            entry.then[rank] = letter.payload.clone()
        if entry.rule.changes or entry.clerk is not None:
            entry.known[rank] = letter.payload.reshape(-1).clone()
        self._reply(rank, Ask.ANSWER, _NOTHING, letter.tag, entry.version)

    def _rest(self, rank: int, letter: Letter) -> None:
        """A worker pauses (word 1) or goes on (0)."""
        (self._away.add if letter.word else self._away.discard)(rank)
        for entry in self._entries.values():
            self._go_on(entry)
        self._reply(rank, Ask.ANSWER, _NOTHING, letter.tag, 0)

    def _push(self, rank: int, entry: _Entry, letter: Letter) -> None:
        self._check(letter.tag.bucket, rank, entry, letter.payload)
        if entry.rule.order in (IN_TURN, IN_ROUNDS):
            if entry.rule.order == IN_ROUNDS and entry.read.get(rank, 0) < entry.version:
                self._count(rank, entry, letter, dropped=True)
            elif rank in entry.held:
                raise MismatchError(f"Rank {rank} pushes key {letter.tag.bucket} twice without reading it in between.")
            else:
                entry.held[rank] = letter
        else:
            self._absorb(rank, entry, letter)
        self._go_on(entry)

    def _pull(self, rank: int, entry: _Entry, letter: Letter) -> None:
        limits = letter.payload
        if limits.dtype != torch.int64 or limits.shape != (2,):
            raise PayloadError(f"A pull of key {letter.tag.bucket} by rank {rank} names no range of elements.")
        start, stop = limits.tolist()
        if not 0 <= start <= stop <= entry.value.numel():
            raise MismatchError(
                f"Rank {rank} pulls elements {start} to {stop} of key {letter.tag.bucket}, which has "
                f"{entry.value.numel()}."
            )
        entry.waiting.append((rank, letter))
        self._go_on(entry)

    # ------------------------------------------------------------- taking in

    def _go_on(self, entry: _Entry) -> None:
        if entry.rule.order == IN_TURN:
            self._take_turns(entry)
        elif entry.rule.order == IN_ROUNDS:
            self._close_round(entry)
        self._answer(entry)

    def _absorb(self, rank: int, entry: _Entry, letter: Letter) -> None:
        staleness = entry.version - entry.read.get(rank, 0)
        taken = entry.rule.takes(staleness)
        if taken:
            update = entry.rule.compensated(letter.payload, entry.value, entry.then.get(rank))
            entry.rule.apply(entry.value, update, entry.velocity, entry.rule.share(staleness, self.world))
            entry.version += 1
        self._count(rank, entry, letter, dropped=not taken)

    def _count(self, rank: int, entry: _Entry, letter: Letter, *, dropped: bool) -> None:
        entry.clocks[rank] += 1
        self._reply(rank, Ask.ANSWER, _NOTHING, letter.tag._replace(slot=DROPPED * dropped), entry.version)

    def _take_turns(self, entry: _Entry) -> None:
        while (rank := whose_turn(entry.last, self.world, self._away)) in entry.held:
            assert rank is not None, "it has pushed"
            entry.last = rank
            self._absorb(rank, entry, entry.held.pop(rank))
            self._answer(entry)  # before the next one's update is in

    def _close_round(self, entry: _Entry) -> None:
        active = self.world - len(self._away - entry.held.keys())
        quorum, now = max(1, self.world - entry.rule.backup), self._clock.now()
        if len(entry.held) >= min(quorum, active) and entry.held and entry.enough_at is None:
            entry.enough_at = now
        waited = now - entry.enough_at if entry.enough_at is not None else 0.0
        if not closes(len(entry.held), min(quorum, active), active, waited, entry.rule.grace_s):
            return
        held, entry.held, entry.enough_at = entry.held, {}, None
        mean = torch.stack([held[rank].payload for rank in sorted(held)]).mean(0)
        entry.rule.apply(entry.value, mean, entry.velocity)
        entry.version += 1
        for rank in sorted(held):
            self._count(rank, entry, held[rank], dropped=False)

    def _answer(self, entry: _Entry) -> None:
        """The pulls whose time has come."""
        slowest = min((c for r, c in enumerate(entry.clocks) if r not in self._away), default=_FAR)
        left = []
        for rank, letter in entry.waiting:
            own, version = split_versions(letter.word)
            if entry.version >= version and slowest >= letter.tag.part and entry.clocks[rank] >= own:
                entry.read[rank] = entry.version
                if entry.rule.compensation:
                    entry.then[rank] = entry.value.clone()
                payload, slot = self._told(rank, entry, *letter.payload.tolist(), whole=bool(letter.tag.round))
                tag = letter.tag._replace(part=min(slowest, _FAR), slot=slot)
                self._reply(rank, Ask.ANSWER, payload, tag, entry.version)
            else:
                left.append((rank, letter))
        entry.waiting = left

    def _told(self, rank: int, entry: _Entry, start: int, stop: int, *, whole: bool) -> tuple[Tensor, int]:
        """A range of the value, or what has changed of it since this worker last read it; and which of these."""
        flat, known = entry.value.view(-1), entry.known.get(rank)
        if known is None or (start, stop) != (0, flat.numel()):
            return flat[start:stop].clone(), 0
        if entry.clerk is not None and not whole:
            message = entry.clerk.encode(flat - known, entry.version)
            said = entry.clerk.decode(message, entry.version)
            entry.known[rank] = known.add(said.to(known), alpha=entry.rule.damping)
            return message, ENCODED
        entry.known[rank] = flat.clone()
        packed = changes.pack(flat, known) if entry.rule.changes else None
        return (entry.known[rank], 0) if packed is None else (packed, CHANGED)

    # ------------------------------------------------------------- keys

    def _entry(self, key: int, rank: int) -> _Entry:
        entry = self._entries.get(key)
        if entry is None:
            raise MismatchError(f"Rank {rank} asks for key {key}, which nobody has started; there are {self.keys()}.")
        return entry

    def keys(self) -> Any:
        return sorted(self._entries) or "none"

    def _check(self, key: int, rank: int, entry: _Entry, t: Tensor) -> None:
        if (t.shape, t.dtype) != (entry.value.shape, entry.value.dtype):
            raise MismatchError(
                f"Rank {rank} sends {t.dtype} of shape {tuple(t.shape)} for key {key}, which holds {entry.value.dtype} "
                f"of shape {tuple(entry.value.shape)}."
            )
