from __future__ import annotations

import os

import pytest

from laconic.planner.probing import BLOCKS, FEW, SIZES, _cores, rising, swept
from tests.processes import join, results


def _tied(rank: int, world: int, cores: list[int], machines: list[str]) -> int:
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    join()
    return _cores(machines, rank)


def test_cores_are_those_that_all_ranks_of_one_machine_may_use() -> None:
    cores = sorted(os.sched_getaffinity(0))[:3]
    assert results(3, _tied, cores, ["here"] * 3) == [len(cores)] * 3
    assert results(3, _tied, cores, ["here", "there", "there"]) == [1] * 3
    assert _cores(["here"], 0) == len(os.sched_getaffinity(0))  # a rank alone


def test_neighbours_that_fall_are_pooled() -> None:
    assert rising([6.0, 9.0, 6.0, 20.0]) == pytest.approx([6.0, 7.5, 7.5, 20.0])
    assert rising([3.0, 2.0, 1.0]) == pytest.approx([2.0, 2.0, 2.0])


def test_what_rises_stays() -> None:
    assert rising([1.0, 1.0, 4.0]) == [1.0, 1.0, 4.0]
    assert rising([]) == []


@pytest.mark.parametrize("latency_s", [0.0001, 0.02, 0.12])
def test_bytes_show_whatever_the_latency(latency_s: float) -> None:
    """100 Mbit/s; a curve of one size would say that bytes cost nothing."""
    sizes, seconds, _ = swept(lambda nbytes, _: (latency_s + nbytes / 12.5e6, 0.0))
    slope = (seconds[-1] - seconds[0]) / (sizes[-1] - sizes[0])
    assert slope == pytest.approx(1 / 12.5e6)
    assert seconds[-1] > 2 * seconds[0]


def test_sizes_that_try_our_patience_are_left_out() -> None:
    looked: list[tuple[int, int]] = []

    def slow(nbytes: int, blocks: int) -> tuple[float, float]:
        looked.append((nbytes, blocks))
        return nbytes / 6.25e6, 0.0  # 50 Mbit/s

    sizes, _, _ = swept(slow)
    assert sizes[-1] == 2**20
    assert {blocks for _, blocks in looked} == {BLOCKS}


def test_slow_calls_that_do_not_show_bytes_yet_are_fewer() -> None:
    looked: list[int] = []
    swept(lambda _, blocks: (looked.append(blocks) or 2.0, 0.0))
    assert looked == [BLOCKS, *[FEW] * (len(SIZES) - 1)]
