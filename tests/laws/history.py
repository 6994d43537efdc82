"""What happened: the steps of a virtual world, run once and looked at by many laws.

Laws about ordinary updates (agreement, mean, conservation, resuming, hands off) need the same exchanges. A history runs
them as far as a law asks, and keeps copies. Every exchange is watched: after it the caller's side of everything is
overwritten, and what it did to things that are not its own is noted. Tests are ordered by compressor (conftest.py), so
that a few histories at a time are enough.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from laconic.compress import AbstractCompressor
from laconic.core import state as tree
from laconic.core.bucket import BucketSpec
from tests.laws.world import World
from tests.zoo import BUCKET


class Moment(NamedTuple):
    """One step; lists are over ranks."""

    inputs: list[Tensor]
    means: list[Tensor]
    sent: list[Tensor]
    states: list[Any]  # after the step
    trespasses: list[str]


@dataclass
class History:
    world: World

    def __post_init__(self) -> None:
        self._moments: list[Moment] = []

    def steps(self, count: int) -> Iterator[Moment]:
        for step in range(count):
            if step == len(self._moments):
                self._moments.append(_watched(self.world, step))
            yield self._moments[step]


@lru_cache(128)
def history(compressor: AbstractCompressor, size: int, route: str, spec: BucketSpec = BUCKET) -> History:
    return History(World(replace(compressor), size, route, spec))  # a copy: some hide things in themselves


def _watched(world: World, step: int) -> Moment:
    xs, states, generators = world.inputs(step), list(world.states), _generators()
    came, had = [x.clone() for x in xs], [tree.to_dict(s) for s in states]
    out = world.exchange(xs, step)
    means, sent = [o.mean.clone() for o in out], [o.sent.clone() for o in out]
    kept = [tree.to_dict(s) for s in world.states]
    found = [f"the generator of {whose} was touched" for whose in _differing(generators, _generators())]
    if not all(map(torch.equal, xs, came)):
        found.append("the input was modified")
    if not all(map(_same, states, had)):
        found.append("the state was modified")
    for t in (*xs, *(o.mean for o in out), *(o.sent for o in out)):
        t.fill_(torch.nan)
    if not all(map(_same, world.states, kept)):
        found.append("lends its state")
    return Moment(came, means, sent, list(world.states), found)


def _same(state: Any, was: dict[str, Tensor]) -> bool:
    now = tree.to_dict(state)
    return now.keys() == was.keys() and all(torch.equal(now[k], was[k]) for k in now)


def _generators() -> dict[str, Any]:
    words = np.random.get_state()[1]  # noqa: NPY002  (it is the user's legacy generator that matters)
    return {"torch": torch.get_rng_state().numpy().tobytes(), "numpy": words.tobytes(), "Python": random.getstate()}


def _differing(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [whose for whose in before if before[whose] != after[whose]]
