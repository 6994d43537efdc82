"""Numbers out of files."""

from __future__ import annotations

from typing import Any

import pytest

from laconic.core.numbers import amount, listed, object_of, reason, whole


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), 10**400, 1e300, "1", None, True, [1]])
def test_an_amount_is_finite_and_not_negative(value: Any) -> None:
    with pytest.raises(ValueError, match="seconds is"):
        amount(value, "seconds")
    assert amount(2, "seconds") == 2.0


@pytest.mark.parametrize("value", [0, 1.5, 10**400, "1", None, True])
def test_a_count_is_whole_and_large_enough(value: Any) -> None:
    with pytest.raises(ValueError, match="from 1 to"):
        whole(value, "world", least=1)
    assert whole(1, "world", least=1) == 1


def test_of_a_very_long_number_the_first_digits_are_told() -> None:
    with pytest.raises(ValueError, match="which is not") as refused:
        whole(10**400, "world")
    assert len(str(refused.value)) < 150


def test_what_has_the_wrong_form_is_named() -> None:
    with pytest.raises(ValueError, match="shape is 3, which is not a list"):
        listed(3, "shape")
    with pytest.raises(ValueError, match="curves is list, not an object"):
        object_of([], "curves")
    assert reason(KeyError("curves")) == "'curves' is missing"
