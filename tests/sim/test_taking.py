"""Whom servers answer, and when."""

from __future__ import annotations

from laconic.sim.taking import InRounds, InTurn


def test_turns_go_round() -> None:
    turns = InTurn(3)
    assert [turns.arrived(w) for w in (2, 0, 1, 0, 1)] == [[], [0], [1, 2], [0], [1]]


def test_a_round_closes_without_its_last_workers_and_drops_what_they_bring() -> None:
    rounds = InRounds(3, 1)
    assert rounds.arrived(0) == []
    assert rounds.arrived(2) == [0, 2]
    assert rounds.arrived(1) == [1]  # late: it reads anew
    assert rounds.over(1)
    assert not rounds.over(2)
    assert rounds.arrived(1) == []
    assert rounds.arrived(0) == [1, 0]
