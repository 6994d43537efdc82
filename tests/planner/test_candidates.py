"""The planner's list."""

from __future__ import annotations

from laconic.plan import Plan
from laconic.planner.candidates import LEAST, candidates, compressors
from laconic.planner.risk import Risk, risk


def test_every_candidate_can_be_read_and_the_lossless_are_lossless() -> None:
    for text in candidates(lossy=True, servers=True, long=True):
        Plan.parse(text)
    assert {risk(Plan.parse(text)) for text in candidates(lossy=False, servers=True, long=True)} == {Risk.LOSSLESS}


def test_every_compressor_that_is_combined_is_also_timed() -> None:
    parts = {str(Plan.parse(text).compress) for text in candidates(lossy=True, servers=True, long=True)} - {"none"}
    assert parts == {str(Plan.parse(text).compress) for text in compressors()}


def test_auto_tries_nothing_that_shows_after_many_steps_only() -> None:
    short, all_ = (candidates(lossy=True, long=long) for long in (False, True))
    assert [text for text in short if Plan.parse(text).schedule.is_measured] == ["planned"]
    assert {"mgwfbp", "priority", "crossed"} < set(all_) - set(short)
    assert any(text.startswith("diloco") for text in set(all_) - set(short))
    assert set(LEAST) <= set(all_) - set(short)


def test_servers_are_looked_at_both_waiting_and_not() -> None:
    more = set(candidates(lossy=True, servers=True)) - set(candidates(lossy=True))
    assert {"ps(servers=8)", "ssp(3) / ps(servers=8)", "ssp(3) / ps(colocated)"} <= more
