"""Values that workers push updates to and pull whenever they like: the engine of asynchronous training.

    add         x <- x + u
    nesterov    m <- mu m + u;   x <- x + lr (u + mu m)            (Sutskever et al., ICML 2013, as torch.optim.SGD)

Every key has a version, the number of updates it has absorbed, and a clock for each worker, the number of its own. A
pull may wait for either: for a version, or until everyone has pushed so often (stale synchronous parallel, Ho et al.,
NIPS 2013). Updates are applied in the order they arrive.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from laconic.core.errors import MismatchError, PayloadError
from laconic.drive.asks import Ask
from laconic.net.frames import Tag
from laconic.net.peer import Letter

Reply = Callable[[int, Ask, Tensor, Tag, int], None]  # (rank, kind, payload, tag, word)
_NOTHING = torch.empty(0, dtype=torch.uint8)


@dataclass(frozen=True)
class Rule:
    """How an update changes a value."""

    lr: float = 1.0
    momentum: float = 0.0

    def apply(self, value: Tensor, update: Tensor, velocity: Tensor | None) -> None:
        if velocity is None:
            value.add_(update, alpha=self.lr)
            return
        velocity.mul_(self.momentum).add_(update)
        value.add_(update, alpha=self.lr).add_(velocity, alpha=self.lr * self.momentum)


def rule_from(text: str) -> Rule:
    try:
        words = json.loads(text)
    except (ValueError, RecursionError):
        words = None
    if not isinstance(words, dict) or words.keys() != {"lr", "momentum"}:
        raise PayloadError(f"A rule is an object with lr and momentum, got {text[:80]!r}.")
    if not all(isinstance(v, float | int) and abs(v) < 1e6 for v in words.values()):
        raise PayloadError(f"A rule has finite numbers, got {text[:80]!r}.")
    return Rule(float(words["lr"]), float(words["momentum"]))


@dataclass
class _Entry:
    value: Tensor
    rule: Rule
    clocks: list[int]
    velocity: Tensor | None
    version: int = 0
    waiting: list[tuple[int, Letter]] = field(default_factory=list)


class Table:
    def __init__(self, world: int, reply: Reply) -> None:
        self.world, self._reply = world, reply
        self._entries: dict[int, _Entry] = {}
        self._rules: dict[int, Rule] = {}
        self._gone: set[int] = set()

    def take(self, rank: int, letter: Letter) -> None:
        key = letter.tag.bucket
        match letter.kind:
            case Ask.RULE:
                self._rule(key, rule_from(letter.text))
            case Ask.START:
                self._start(rank, key, letter)
            case Ask.PUSH:
                self._push(rank, self._entry(key, rank), letter)
            case _:
                self._pull(rank, self._entry(key, rank), letter)

    def leave(self, rank: int) -> None:
        """Nobody waits for the clock of a worker that is gone."""
        self._gone.add(rank)
        for entry in self._entries.values():
            self._look(entry)

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
        self._check(key, rank, entry, letter.payload)
        self._reply(rank, Ask.ANSWER, _NOTHING, letter.tag, entry.version)

    def _push(self, rank: int, entry: _Entry, letter: Letter) -> None:
        self._check(letter.tag.bucket, rank, entry, letter.payload)
        entry.rule.apply(entry.value, letter.payload, entry.velocity)
        entry.version += 1
        entry.clocks[rank] += 1
        self._reply(rank, Ask.ANSWER, _NOTHING, letter.tag, entry.version)
        self._look(entry)

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
        self._look(entry)

    def _look(self, entry: _Entry) -> None:
        """Answer the pulls whose time has come."""
        slowest = min((c for r, c in enumerate(entry.clocks) if r not in self._gone), default=1 << 32)
        left = []
        for rank, letter in entry.waiting:
            if entry.version >= letter.word and slowest >= letter.tag.part:
                start, stop = letter.payload.tolist()
                self._reply(rank, Ask.ANSWER, entry.value.view(-1)[start:stop].clone(), letter.tag, entry.version)
            else:
                left.append((rank, letter))
        entry.waiting = left

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
