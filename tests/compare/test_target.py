from __future__ import annotations

import pytest

from laconic.compare.target import Target, higher_is_better, read
from laconic.core.errors import UsageError


@pytest.mark.parametrize(
    ("text", "value", "is_met"),
    [
        ("accuracy>=0.97", 0.97, True),
        ("accuracy > 0.97", 0.97, False),
        ("loss<=1e-1", 0.1, True),
        ("loss<0.1", 0.1, False),
    ],
)
def test_a_target_is_a_metric_a_sign_and_a_number(text: str, value: float, is_met: bool):
    target = read(text)
    assert target.met({target.metric: value}) is is_met


@pytest.mark.parametrize(
    "text", ["", "accuracy", "accuracy=0.9", "accuracy>=", ">=0.9", "accuracy>=high", "a>=nan", "a>=1>2"]
)
def test_anything_else_is_refused(text: str):
    with pytest.raises(UsageError, match=r"such as accuracy>=0\.97"):
        read(text)


def test_what_was_not_logged_or_is_not_finite_is_not_reached():
    assert not read("loss<1").met({})
    assert not read("loss<1").met({"loss": None})


def test_a_target_is_written_as_it_is_read():
    assert str(read(" accuracy >= 0.970 ")) == "accuracy>=0.97"


def test_names_tell_which_way_is_better_unless_the_target_does():
    assert higher_is_better("accuracy") is True
    assert higher_is_better("val_loss") is False
    assert higher_is_better("bits_per_byte") is False
    assert higher_is_better("beauty") is None
    assert higher_is_better("beauty", Target("beauty", ">=", 1.0)) is True
    assert higher_is_better("accuracy", Target("accuracy", "<", 1.0)) is False
