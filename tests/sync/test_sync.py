from __future__ import annotations

import pytest

from laconic.core.errors import PlanError
from laconic.sync import BSP, Local, Silent, Subject


def test_bsp_talks_about_gradients_in_every_step():
    assert all(BSP().talks(step) for step in range(1, 10))
    assert BSP.subject is Subject.GRADIENT


def test_local_talks_about_the_way_gone_every_h_steps():
    assert [step for step in range(1, 13) if Local(4).talks(step)] == [4, 8, 12]
    assert Local.subject is Subject.DELTA


def test_local_of_one_talks_always():
    assert all(Local(1).talks(step) for step in range(1, 5))


def test_silent_never_talks():
    assert not any(Silent().talks(step) for step in range(1, 100))
    assert Silent.subject is Subject.NOTHING


@pytest.mark.parametrize("h", [0, -1, 2.5, "8"])
def test_a_number_of_steps_that_is_none_is_refused(h: object):
    with pytest.raises(PlanError, match="a whole number from 1 up"):
        Local(h)  # type: ignore[arg-type]
