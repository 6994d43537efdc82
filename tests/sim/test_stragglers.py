"""Who is slow: what may be written, and what it means."""

from __future__ import annotations

import pytest

from laconic.core.errors import UsageError
from laconic.sim.stragglers import Stragglers, parse_stragglers


def test_stragglers_repeat_by_seed_and_have_their_mean() -> None:
    made = Stragglers("lognormal", 0.5)
    assert (made.factors(50, 40) == made.factors(50, 40)).all()
    assert float(made.factors(200, 200).mean()) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("text", ["exp(1.2.3)", "exp(.)", "exp", "none(1)", "exp(0.1, 2)", "late(1)", "slow(0.5, 1)"])
def test_what_is_no_number_is_a_sentence_and_no_traceback(text: str) -> None:
    with pytest.raises(UsageError, match="--stragglers"):
        parse_stragglers(text)


def test_that_nobody_is_slow_is_written_none() -> None:
    with pytest.raises(UsageError, match=r"nobody would be slow. Write slow\(3, 1\), or none"):
        parse_stragglers("slow(3, 0)")


@pytest.mark.parametrize("text", ["none", "exp(0.1)", "lognormal(.5)", "slow(3x, 2)", " slow( 2. ,1 ) "])
def test_what_is_written_comes_back(text: str) -> None:
    made = parse_stragglers(text)
    assert parse_stragglers(str(made)) == made
