"""A slice of the fuzzing that `python bench/fuzz_payloads.py` does in full: other cases for every compressor."""

from __future__ import annotations

import pytest

from tests.fuzz import cases, check_damage, check_exchange, fuzz
from tests.laws import broken
from tests.zoo import ZOO, Entry, anything


@pytest.mark.parametrize("entry", ZOO, ids=str)
def test_random_tensors_and_damaged_messages(entry: Entry):
    assert fuzz(entry, tensors=12, damages=5, seed=ZOO.index(entry)).faults == []


def test_the_fuzz_meets_every_kind_of_tensor():
    seen = [case for case, _ in zip(cases(ZOO[3], 1), range(300), strict=False)]
    assert {case.spec.dtype.itemsize for case in seen} == {2, 4, 8}
    assert {0, 1} <= {case.spec.numel for case in seen}
    assert {case.route for case in seen} == {"gather", "deal"}
    floats = [float(x.abs().max()) for case in seen for x in case.inputs if x.numel()]
    assert max(floats) > 1e38
    assert any(0 < f < 1e-38 for f in floats)


def test_the_fuzz_catches_nan():
    assert any("not finite" in fault for fault in fuzz(Entry(broken.NanOnZeros(), anything), 200, 0).faults)


def test_the_fuzz_catches_a_checksum_that_is_not_looked_at(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("laconic.core.payload._crc", lambda head, message: 7)
    faults = fuzz(ZOO[3], 0, 60).faults
    assert any("the checksum did not see it" in fault for fault in faults)


def test_what_is_cut_is_refused_for_the_right_reason():
    case = next(c for c in cases(ZOO[3], 5) if c.spec.numel > 9)
    check_exchange(ZOO[3], case)
    assert check_damage(ZOO[3], case, 0, cut=True, checksum=False)
