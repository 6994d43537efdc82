"""A hop program: what one rank sends, to whom, and what it does with what it receives, round by round.

    program(rank, world, numel, ...) -> (Round, Round, ...)
    Round(sends, receives)            Send(peer, start, stop)      Receive(peer, start, stop, add)

Ranges count elements of one flat tensor. In a round everything is sent as it stood when the round began; then what
was received is added to (`add`) or put in the place of (copy) the same range. The k-th range that a rank sends to a
peer in a round is the k-th which that peer receives from it. Empty ranges are never sent. Programs are values: the
runtime (drive/hops.py), lockstep, the planner and the tests read the same one.

Two laws keep a runtime simple, and `fault` looks for breaches: nothing is copied into a range that is sent or added to
in the same round, and what one rank sends is what another expects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple


class Send(NamedTuple):
    peer: int
    start: int
    stop: int


class Receive(NamedTuple):
    peer: int
    start: int
    stop: int
    add: bool


class Round(NamedTuple):
    sends: tuple[Send, ...] = ()
    receives: tuple[Receive, ...] = ()


Program = tuple[Round, ...]
Span = tuple[int, int]  # start, stop
IDLE = Round()


def round_of(sends: Iterable[Send] = (), receives: Iterable[Receive] = ()) -> Round:
    """Without empty ranges."""
    return Round(tuple(s for s in sends if s.start < s.stop), tuple(r for r in receives if r.start < r.stop))


def chunk(span: Span, parts: int, number: int) -> Span:
    """One of `parts` nearly equal pieces of a range."""
    start, stop = span
    size = stop - start
    return start + number * size // parts, start + (number + 1) * size // parts


def side_by_side(*programs: Program) -> Program:
    """Programs over disjoint ranges, all at once: round i of one beside round i of the others."""
    return tuple(
        Round(tuple(s for r in rounds for s in r.sends), tuple(x for r in rounds for x in r.receives))
        for rounds in zip_longest(*programs, fillvalue=IDLE)
    )


def padded(program: Program, rounds: int) -> Program:
    """With idle rounds at its end: others are still busy."""
    return program + (IDLE,) * (rounds - len(program))


def overlap(a: Send | Receive, b: Send | Receive) -> bool:
    return a.start < b.stop and b.start < a.stop


class Tally(NamedTuple):
    """What all ranks' programs move together; `nbytes` counts elements where an element is one byte."""

    hops: int  # rounds in which anybody sends: latencies one after the other
    messages: int  # of all ranks
    sent: int  # by all ranks
    busiest: int  # sent by the rank that sends most
    critical: int  # the busiest direction of the busiest rank, round by round: what the clock waits for


def tally(programs: Sequence[Program]) -> Tally:
    """Count one program a rank."""
    rounds = list(zip_longest(*programs, fillvalue=IDLE))
    totals = [sum(s.stop - s.start for r in program for s in r.sends) for program in programs]
    return Tally(
        hops=sum(any(r.sends for r in row) for row in rounds),
        messages=sum(len(r.sends) for program in programs for r in program),
        sent=sum(totals),
        busiest=max(totals),
        critical=sum(max(_busy(r) for r in row) for row in rounds),
    )


def _busy(r: Round) -> int:
    return max(sum(s.stop - s.start for s in r.sends), sum(x.stop - x.start for x in r.receives))


def fault(programs: Sequence[Program]) -> str | None:
    """The first breach of the laws above in words; None where there is none."""
    for number, row in enumerate(zip_longest(*programs, fillvalue=IDLE)):
        sent = [(rank, s.peer, s.start, s.stop) for rank, r in enumerate(row) for s in r.sends]
        expected = [(x.peer, rank, x.start, x.stop) for rank, r in enumerate(row) for x in r.receives]
        if sorted(sent) != sorted(expected):
            return f"round {number}: sent {sorted(sent)}, expected {sorted(expected)}"
        for rank, r in enumerate(row):
            for x in r.receives:
                others: tuple[Send | Receive, ...] = (*r.sends, *(y for y in r.receives if y is not x))
                if not x.add and any(overlap(x, y) for y in others):
                    return f"round {number}: rank {rank} copies into {x} what it also uses: {r}"
    return None
