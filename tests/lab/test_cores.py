"""Every host has as many cores as any other, or all have all."""

from __future__ import annotations

import pytest

from laconic.lab.cores import share_out
from laconic.lab.spec import LabSpec


@pytest.mark.parametrize(
    ("hosts", "cores", "shares"),
    [
        (4, [0, 1], [(0,), (1,), (0,), (1,)]),
        (2, [0, 1], [(0,), (1,)]),
        (2, [4, 5, 6, 7], [(4, 6), (5, 7)]),
        (1, [0, 1], [(0, 1)]),
        (3, [0, 1], [(), (), ()]),
        (3, [0, 1, 2, 3], [(), (), ()]),
        (4, [0], [(), (), (), ()]),
    ],
)
def test_shares_are_equal_or_there_are_none(hosts: int, cores: list[int], shares: list[tuple[int, ...]]) -> None:
    assert share_out(cores, LabSpec(hosts)) == shares


def test_beside_a_straggler_nobody_is_held_to_its_cores() -> None:
    assert share_out([0, 1], LabSpec(4, slow={2: 0.25})) == [()] * 4
