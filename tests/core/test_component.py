from __future__ import annotations

import pytest

from laconic.components import component
from laconic.compress import QSGD, ErrorFeedback, Sign, TopK
from laconic.core.component import value_text
from laconic.schedule import Fifo, Fused
from laconic.sync import BSP


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (BSP(), "bsp"),
        (TopK(), "topk(0.01)"),  # the main number is always shown
        (QSGD(), "qsgd(4)"),
        (QSGD(8, norm="l2"), "qsgd(8, norm=l2)"),
        (Fused(), "fused"),
        (Fifo("2MiB"), "fifo(2MiB)"),
        (ErrorFeedback(Sign(64)), "ef(sign(64))"),
        (ErrorFeedback(TopK(0.1) | QSGD(8)), "ef(topk(0.1) | qsgd(8))"),
    ],
)
def test_the_text_shows_the_main_number_and_what_is_not_default(part: object, text: str):
    assert str(part) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (0.1, "0.1"), (1e-5, "1e-05"), (1e300, "1e+300"), (3, "3"), ("l2", "l2")]
)
def test_numbers_are_exact(value: object, text: str):
    assert value_text(value) == text


@pytest.mark.parametrize("size", ["25MiB", "1.5MiB", "25 MiB", " 3KB", "1024", "10.5", "7 kb "])
def test_any_size_a_schedule_takes_survives_its_text(size: str):
    assert component(str(Fifo(size))) == Fifo(size)
