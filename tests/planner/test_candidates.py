"""The planner's list."""

from __future__ import annotations

from laconic.plan import Plan
from laconic.planner.candidates import candidates, compressors
from laconic.planner.risk import Risk, risk


def test_every_candidate_can_be_read_and_the_lossless_are_lossless() -> None:
    for text in candidates(lossy=True, servers=True):
        Plan.parse(text)
    assert {risk(Plan.parse(text)) for text in candidates(lossy=False, servers=True)} == {Risk.LOSSLESS}


def test_every_compressor_that_is_combined_is_also_timed() -> None:
    parts = {str(Plan.parse(text).compress) for text in candidates(lossy=True)} - {"none"}
    assert parts == {str(Plan.parse(text).compress) for text in compressors()}
