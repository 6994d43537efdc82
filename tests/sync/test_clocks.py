"""Bounds hold in every order of events: decided by pure functions, kept by the real table on a virtual clock."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from laconic.core.clock import ManualClock
from laconic.drive.asks import Ask, versions
from laconic.drive.changes import apply
from laconic.drive.rule import Rule
from laconic.drive.table import CHANGED
from laconic.net.frames import Tag
from laconic.net.peer import Letter
from laconic.server.table import DROPPED, Table
from laconic.sync.clocks import accepts, closes, gap, may_go_on, may_read, must_have, weight, whose_turn

SCHEDULES = 10_000
TOGETHER = 200  # schedules to an example


@settings(max_examples=SCHEDULES // TOGETHER, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(0, 4))
def test_nobody_is_ever_further_ahead_than_the_bound(seed: int, world: int, bound: int):
    """Whoever may begin a step begins it, in any order; steps end in any order too."""
    chance = random.Random(seed)
    for _ in range(TOGETHER):
        clocks, busy, widest = [0] * world, [False] * world, 0
        for _ in range(30):
            rank = chance.randrange(world)
            if busy[rank]:
                clocks[rank] += 1
                busy[rank] = False
            elif may_go_on(clocks[rank], clocks, bound):
                assert clocks[rank] - min(clocks) <= bound
                busy[rank] = True
            widest = max(widest, gap(dict(enumerate(clocks))))
        assert widest <= bound + 1
        assert any(busy) or any(may_go_on(c, clocks, bound) for c in clocks), "somebody can always go on"


def test_no_bound_lets_everyone_go():
    assert must_have(100, None) == 0
    assert may_go_on(100, [0, 100], None)
    assert not may_go_on(1, [0, 1], 0)


def test_with_a_bound_of_zero_nobody_goes_on_before_its_own_step_is_in_the_model():
    assert not may_read(0, 2, [1, 2, 2], 0)  # the others wait for it: its step 3 must not be in when they read
    assert may_read(0, 2, [2, 2, 2], 0)
    assert may_read(0, 2, [0, 1, 1], 1)
    assert not may_read(0, 3, [3, 1, 1], 1)
    assert may_read(0, 9, [0, 0, 0], None)


@given(st.integers(0, 100), st.integers(1, 16))
def test_a_damped_update_never_counts_more_than_its_share(staleness: int, world: int):
    assert weight(staleness, world, damped=False) == 1 / world
    assert weight(staleness, world, damped=True) <= 1 / world
    assert weight(world - 1, world, damped=True) == 1 / world, "the staleness of equal workers costs nothing"


def test_what_is_too_stale_is_not_accepted():
    assert accepts(3, 3)
    assert not accepts(4, 3)
    assert accepts(10**6, None)


@given(st.integers(1, 8), st.sets(st.integers(0, 7)))
def test_turns_go_round_and_leave_nobody_out(world: int, away: set[int]):
    last, seen = -1, []
    for _ in range(world):
        turn = whose_turn(last, world, away)
        if turn is None:
            break
        seen.append(turn)
        last = turn
    here = set(range(world)) - away
    assert set(seen) == here
    assert seen[: len(here)] == sorted(here)


def test_a_round_closes_when_all_are_there_or_enough_and_grace_is_over():
    assert closes(4, 3, 4, 0.0, 5.0)
    assert not closes(3, 3, 4, 4.9, 5.0)
    assert closes(3, 3, 4, 5.0, 5.0)
    assert not closes(2, 3, 4, 99.0, 5.0)
    assert not closes(0, 1, 0, 9.0, 0.0)


class Desk:
    """Talks to a table as workers do, and keeps the answers."""

    def __init__(self, world: int, rule: Rule, clock: ManualClock | None = None) -> None:
        self.answers: dict[tuple[int, int], tuple[torch.Tensor, Tag, int]] = {}
        self.table = Table(world, self._reply, clock or ManualClock())
        self.count = 0
        for rank in range(world):
            self.say(rank, Ask.RULE, _text(rule))
            self.say(rank, Ask.START, torch.zeros(1))

    def _reply(self, rank: int, kind: Ask, payload: torch.Tensor, tag: Tag, word: int) -> None:
        self.answers[rank, tag.step] = payload, tag, word

    def say(self, rank: int, kind: Ask, payload: torch.Tensor, word: int = 0, everyone: int = 0) -> int:
        self.count += 1
        self.table.take(rank, Letter(f"{rank}", kind, Tag(step=self.count, part=everyone), word, payload))
        return self.count

    def ask(self, rank: int, own: int = 0, everyone: int = 0, at_least: int = 0) -> int:
        return self.say(rank, Ask.PULL, torch.tensor([0, 1]), versions(own, at_least), everyone)

    def push(self, rank: int, value: float = 1.0) -> int:
        return self.say(rank, Ask.PUSH, torch.tensor([value]))

    def got(self, rank: int, ticket: int) -> float | None:
        answer = self.answers.get((rank, ticket))
        return None if answer is None else float(answer[0])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(0, 3))
def test_the_table_keeps_the_bound_and_shows_everyone_its_own_updates(seed: int, world: int, bound: int):
    chance, desk = random.Random(seed), Desk(world, Rule(mean=False))
    clocks, tickets = [0] * world, [0] * world
    for _ in range(60):
        rank = chance.randrange(world)
        if tickets[rank] and desk.got(rank, tickets[rank]) is None:
            continue
        if tickets[rank]:
            value, tag, _ = desk.answers[rank, tickets[rank]]
            assert clocks[rank] - tag.part <= bound
            assert float(value) >= clocks[rank] + (world - 1) * must_have(clocks[rank], bound)
        clocks[rank] += 1
        tickets[rank] = desk.ask(rank, clocks[rank], must_have(clocks[rank], bound))
        desk.push(rank)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5))
def test_with_a_bound_of_zero_all_read_the_same(seed: int, world: int):
    chance, desk = random.Random(seed), Desk(world, Rule(mean=True))
    clocks, tickets, read = [0] * world, [0] * world, {}
    for _ in range(80):
        rank = chance.randrange(world)
        if tickets[rank]:
            value = desk.got(rank, tickets[rank])
            if value is None:
                continue
            assert read.setdefault(clocks[rank], value) == value
        clocks[rank] += 1
        tickets[rank] = desk.ask(rank, clocks[rank], clocks[rank])
        desk.push(rank, chance.random())


def test_stale_updates_are_damped_or_dropped():
    desk = Desk(2, Rule(mean=True, damped=True, limit=3))
    desk.ask(0)
    for _ in range(2):
        desk.push(0)  # 0 and 1 old: 1/2 each
    assert desk.got(0, desk.ask(0)) == 1.0
    desk.push(1)  # 2 old: a third
    assert desk.got(0, desk.ask(0)) == pytest.approx(1 + 1 / 3)
    for _ in range(3):
        desk.push(0)
        desk.ask(0)
    ticket = desk.push(1)  # 6 old
    assert desk.answers[1, ticket][1].slot == DROPPED
    assert desk.got(1, desk.ask(1, own=2)) == pytest.approx(1 + 1 / 3 + 1.5)


def test_delay_compensation_bends_an_update_towards_where_the_model_is():
    desk = Desk(2, Rule(compensation=0.5))
    desk.push(0, 2.0)  # from 0 to 2
    desk.push(1, 1.0)  # read at 0: 1 - 0.5 * 1 * 2 = 0
    assert desk.got(0, desk.ask(0)) == 2.0


def test_turns_are_kept_whoever_is_faster():
    desk = Desk(3, Rule(mean=True, order="turn"))
    late = desk.ask(1, own=1)
    desk.push(1, 3.0)
    assert desk.got(1, late) is None, "rank 0 comes first"
    desk.push(0, 3.0)
    assert desk.got(1, late) == 2.0
    desk.say(2, Ask.REST, torch.empty(0, dtype=torch.uint8), 1)
    again = desk.ask(0, own=2)
    desk.push(0, 3.0)
    assert desk.got(0, again) == 3.0, "who rests is left out"


def test_backup_workers_are_not_waited_for_and_late_ones_are_dropped():
    clock = ManualClock()
    desk = Desk(3, Rule(order="rounds", backup=1), clock)
    first = desk.ask(0, own=1, at_least=1)
    desk.push(0, 3.0)
    assert desk.got(0, first) is None
    desk.push(1, 1.0)
    assert desk.got(0, first) == 2.0, "the mean of those who were in time"
    late = desk.ask(2, own=1, at_least=1)
    ticket = desk.push(2, 100.0)
    assert desk.answers[2, ticket][1].slot == DROPPED
    assert desk.got(2, late) == 2.0


def test_those_who_come_within_the_grace_count():
    clock = ManualClock()
    desk = Desk(3, Rule(order="rounds", backup=1, grace_s=2.0), clock)
    ticket = desk.ask(0, own=1, at_least=1)
    desk.push(0, 3.0)
    assert desk.table.tick() is None
    desk.push(1, 0.0)
    assert desk.table.tick() == 2.0
    clock.advance(1.5)
    assert desk.table.tick() == 0.5
    assert desk.got(0, ticket) is None
    desk.push(2, 3.0)
    assert desk.got(0, ticket) == 2.0, "all three"
    assert desk.table.tick() is None
    for rank in range(3):
        desk.ask(rank)
    second = desk.ask(0, own=2, at_least=2)
    desk.push(0, 2.0)
    desk.push(1, 4.0)
    clock.advance(2.0)
    desk.table.tick()
    assert desk.got(0, second) == 5.0, "two, when the grace is over"


def test_without_backups_a_round_is_bsp():
    desk = Desk(3, Rule(order="rounds"))
    tickets = [desk.ask(rank, own=1, at_least=1) for rank in range(3)]
    for rank in (2, 0):
        desk.push(rank, 3.0)
    assert all(desk.got(rank, t) is None for rank, t in enumerate(tickets))
    desk.push(1, 3.0)
    assert [desk.got(rank, t) for rank, t in enumerate(tickets)] == [3.0, 3.0, 3.0]


def test_readers_are_told_what_has_changed():
    desk = Desk(2, Rule(changes=True))
    desk.table.take(0, Letter("0", Ask.RULE, Tag(step=900, bucket=1), 0, _text(Rule(changes=True))))
    for rank in range(2):
        desk.table.take(rank, Letter(f"{rank}", Ask.START, Tag(step=901, bucket=1), 0, torch.zeros(100)))
    step = torch.zeros(100)
    step[3] = 2.0
    desk.table.take(0, Letter("0", Ask.PUSH, Tag(step=902, bucket=1), 0, step))
    known = torch.zeros(100)
    for number in (903, 904):
        desk.table.take(1, Letter("1", Ask.PULL, Tag(step=number, bucket=1), 0, torch.tensor([0, 100])))
        payload, tag, _ = desk.answers[1, number]
        assert tag.slot == CHANGED
        assert payload.numel() == (16 + 4 + 4 if number == 903 else 16)
        known = apply(payload, known)
        assert torch.equal(known, step)


def _text(rule: Rule) -> torch.Tensor:
    return torch.frombuffer(bytearray(rule.text().encode()), dtype=torch.uint8)
