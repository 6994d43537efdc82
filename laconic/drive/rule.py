"""How a server takes updates in: sent by workers as text when a key starts, the same by all."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from torch import Tensor

from laconic.core.errors import PayloadError
from laconic.sync.clocks import accepts, weight
from laconic.sync.shared import IN_ANY_ORDER, IN_ROUNDS, IN_TURN

_LARGEST = 1e6


@dataclass(frozen=True)
class Rule:
    """x <- x + lr u, with Nesterov's momentum if wanted; the rest as sync/asp.py and sync/backup.py say.

    lr          of an update; with `world` workers that share the model it is divided by them (`mean`)
    """

    lr: float = 1.0
    momentum: float = 0.0
    mean: bool = False
    damped: bool = False
    limit: int = -1  # staleness beyond which updates are dropped; -1: none is
    compensation: float = 0.0
    order: str = IN_ANY_ORDER
    backup: int = 0
    grace_s: float = 0.0
    changes: bool = False  # tell readers only what has changed, where that is shorter
    clerk: str = ""  # ... or write the change by this order (compress/served.py); what it loses is told later
    damping: float = 1.0  # of what that order writes

    def text(self) -> str:
        return json.dumps(asdict(self))

    def takes(self, staleness: int) -> bool:
        return accepts(staleness, None if self.limit < 0 else self.limit)

    def share(self, staleness: int, world: int) -> float:
        return self.lr * (weight(staleness, world, damped=self.damped) if self.mean else 1.0)

    def apply(self, value: Tensor, update: Tensor, velocity: Tensor | None, share: float | None = None) -> None:
        lr = self.lr if share is None else share
        if velocity is None:
            value.add_(update, alpha=lr)
            return
        velocity.mul_(self.momentum).add_(update)
        value.add_(update, alpha=lr).add_(velocity, alpha=lr * self.momentum)

    def compensated(self, update: Tensor, value: Tensor, then: Tensor | None) -> Tensor:
        if not self.compensation or then is None:
            return update
        return update - self.compensation * update * update * (value - then)


def rule_from(text: str) -> Rule:
    """It came over a network."""
    try:
        words = json.loads(text)
    except (ValueError, RecursionError):
        words = None
    kinds = {f.name: type(f.default) for f in fields(Rule)}
    if not isinstance(words, dict) or not words.keys() <= kinds.keys():
        raise PayloadError(f"A rule is an object with some of {', '.join(kinds)}, got {text[:80]!r}.")
    for name, value in words.items():
        kind = kinds[name]
        fits = type(value) is kind or (kind is float and type(value) is int)
        if not fits or (kind in (int, float) and not abs(value) < _LARGEST):
            raise PayloadError(f"A rule has finite numbers, got {name} = {value!r}.")
    checked: dict[str, Any] = {k: float(v) if kinds[k] is float else v for k, v in words.items()}
    rule = Rule(**checked)
    if rule.order not in (IN_ANY_ORDER, IN_TURN, IN_ROUNDS) or rule.backup < 0 or rule.grace_s < 0:
        raise PayloadError(f"A rule makes no sense: {text[:200]!r}.")
    return rule
