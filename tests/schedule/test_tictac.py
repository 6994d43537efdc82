"""TIC and TAC."""

from __future__ import annotations

from laconic.schedule.tictac import Operation, chain, tac, tic


def test_a_chain_is_served_in_forward_order():
    layers = chain([([2], 1.0), ([0], 1.0), ([3], 1.0), ([1], 1.0)])
    assert tic(layers, 4) == [2, 0, 3, 1]
    assert tac(layers, [1.0] * 4) == [2, 0, 3, 1]


def test_what_unlocks_much_work_comes_before_what_unlocks_little():
    branches = [Operation(frozenset([0]), 1.0), Operation(frozenset([1]), 5.0)]
    assert tac(branches, [2.0, 2.0]) == [1, 0]


def test_a_short_transfer_comes_before_a_long_one_that_unlocks_as_much():
    branches = [Operation(frozenset([0]), 3.0), Operation(frozenset([1]), 3.0)]
    assert tac(branches, [4.0, 1.0]) == [1, 0]


def test_parameters_nothing_needs_come_last():
    assert tac(chain([([1], 1.0)]), [1.0, 1.0]) == [1, 0]
    assert tic(chain([([1], 1.0)]), 2) == [1, 0]


def test_both_of_two_that_are_needed_together_come_before_a_third():
    # 0 and 1 make a join of four seconds possible, 2 alone a tenth.
    join = [Operation(frozenset([0, 1]), 4.0), Operation(frozenset([2]), 0.1)]
    assert set(tic(join, 3)[:1]) == {2}
    assert tac(join, [1.0, 1.0, 1.0])[0] == 2
