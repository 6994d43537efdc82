"""What an exchange asks for, in bytes: the words in which virtual time speaks of requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from laconic.core.exchange import Deal, Gather, Max, Mean, Post, Serve, Sum, Swap, Together


class Kind(Enum):
    REDUCE = "reduce"  # a tensor of so many bytes becomes everyone's sum
    GATHER = "gather"  # a message of so many bytes reaches everyone
    DEAL = "deal"  # so many bytes to each other worker
    POST = "post"  # so many bytes to each of `messages` neighbours
    SERVE = "serve"  # so many bytes in all to servers, in `messages` pieces, and as much back


@dataclass(frozen=True)
class Asked:
    kind: Kind
    nbytes: float
    messages: int = 1


@dataclass(frozen=True)
class Told:
    """One exchange of one worker: what it asks, round by round."""

    rounds: tuple[tuple[Asked, ...], ...]
    how: str
    cpu_s: tuple[float, ...] = ()  # before each round, and after the last; empty where nothing was timed

    @property
    def kinds(self) -> list[list[Kind]]:
        return [[a.kind for a in r] for r in self.rounds]


def asked(asks: Sequence[Any]) -> tuple[Asked, ...]:  # noqa: PLR0911  (a line a kind of request)
    """`asks`: of all ranks in one round. They are alike but for the lengths of what is dealt and gathered."""
    match asks[0]:
        case Mean(tensor=t) | Sum(tensor=t) | Max(tensor=t):
            return (Asked(Kind.REDUCE, t.nbytes),)
        case Gather():
            return (Asked(Kind.GATHER, max(a.message.numel() for a in asks)),)
        case Deal():
            others = [m.numel() for rank, a in enumerate(asks) for to, m in enumerate(a.messages) if to != rank]
            return (Asked(Kind.DEAL, sum(others) / max(1, len(others))),)
        case Swap(message=m, peers=peers):
            return (Asked(Kind.POST, m.numel(), len(peers)),)
        case Post(messages=messages):
            return (Asked(Kind.POST, sum(m.numel() for m in messages) / max(1, len(messages)), len(messages)),)
        case Serve(messages=messages):
            return (Asked(Kind.SERVE, sum(m.numel() for m in messages), len(messages)),)
        case Together():
            return tuple(one for column in zip(*(a.requests for a in asks), strict=True) for one in asked(column))
        case other:
            raise TypeError(f"{type(other).__name__} is not a request.")
