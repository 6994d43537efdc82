"""Who is slow: what may be written, and what it means."""

from __future__ import annotations

import pytest

from laconic.core.errors import UsageError
from laconic.sim.stragglers import Stragglers, parse_stragglers


def test_stragglers_repeat_by_seed_and_have_their_mean() -> None:
    made = Stragglers("lognormal", 0.5)
    assert (made.factors(50, 40) == made.factors(50, 40)).all()
    assert float(made.factors(200, 200).mean()) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(
    "text", ["exp(1.2.3)", "exp(.)", "exp", "none(1)", "exp(0.1, 2)", "late(1)", "slow(0.5, 1)", "slow(1, 1)"]
)
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


@pytest.mark.parametrize("text", ["lognormal(0)", "exp(0)", "exp(.0)"])
def test_stragglers_that_do_not_vary_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="nothing would vary"):
        parse_stragglers(text)


@pytest.mark.parametrize("text", ["lognormal(1000)", "exp(9999999)", "slow(" + "9" * 400 + ", 1)"])
def test_amounts_without_a_meaning_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="goes up to"):
        parse_stragglers(text)


def test_more_slow_workers_than_workers_are_refused() -> None:
    with pytest.raises(UsageError, match="with --workers 4 there are no 5 to be slow"):
        parse_stragglers("slow(3, 5)").factors(4, 2)


def test_sums_over_stretches_are_those_of_the_same_draws() -> None:
    """Also of stretches that are longer than what is drawn at once (2^18 factors)."""
    made, world = Stragglers("exp", 0.5, seed=3), 1 << 16
    whole = made.factors(world, 12)
    found = list(made.summed(world, [0, 3, 9]))
    assert not found[0].any()
    for sums, rows in zip(found[1:], (whole[:3], whole[3:]), strict=True):
        assert sums == pytest.approx(rows.sum(axis=0))
