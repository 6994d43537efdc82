"""Ranks compare themselves before they start: the same sentence on every rank names who differs."""

from __future__ import annotations

import pytest
import torch

from laconic.core.errors import MismatchError
from laconic.drive.agree import agree, first_difference
from tests.processes import join, results


def _compare(rank: int, world: int, lines: list[list[str]]) -> str:
    group = join()
    try:
        agree(lines[rank], group, torch.device("cpu"))
    except MismatchError as error:
        return str(error)
    return "agreed"


SAME = ["laconic 0.1.0", "plan bsp / allreduce / none / fused", "fc.weight (4, 4) float32"]


def test_equal_programs_agree():
    assert results(3, _compare, [SAME] * 3) == ["agreed"] * 3


@pytest.mark.parametrize("odd", [0, 1, 2])
def test_every_rank_names_the_one_that_differs_and_the_first_difference(odd: int):
    lines = [list(SAME) for _ in range(3)]
    lines[odd] = [SAME[0], "plan bsp / allreduce / fp16 / fused", "fc.weight (5, 4) float32"]
    said = results(3, _compare, lines)
    assert len(set(said)) == 1
    named = odd or 1  # against rank 0; if rank 0 is the odd one, rank 1 differs from it
    assert said[0].startswith(f"Rank {named} is not the same program as rank 0")
    assert "fp16" in said[0]
    assert "none" in said[0]
    assert "(5, 4)" not in said[0]


def test_lines_of_different_length_and_other_alphabets():
    lines = [SAME, [*SAME, "größe (1,) float32 ✓"]]
    said = results(2, _compare, lines)
    assert said[0] == said[1]
    assert "only rank 1 has 'größe (1,) float32 ✓'" in said[0]


def test_the_sentence_by_hand():
    assert first_difference(["a", "b"], ["a", "c"], 3) == (
        "Rank 3 is not the same program as rank 0: it has 'c' where rank 0 has 'b'."
    )
    assert "only rank 0 has 'b'" in first_difference(["a", "b"], ["a"], 3)
    assert "only rank 3 has 'c'" in first_difference(["a"], ["a", "c"], 3)
