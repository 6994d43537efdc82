from __future__ import annotations

import io

from laconic.compare.order import turns
from laconic.compare.rows import choose
from laconic.compare.show import Show
from tests.compare.made import run

TURNS = turns(choose(["bf16"], []), 2)  # ddp, bf16, silent; then bf16, ddp, silent


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_there_is_one_line_a_run():
    stream = io.StringIO()
    show = Show(TURNS, stream)
    show.running(TURNS[0], 1.0, "step 3/10")
    show.ended(TURNS[0], 12.4, run(0.05, accuracy=0.9))
    show.ended(TURNS[1], 3.0, "Rank 1 ended.\nmore")
    assert stream.getvalue() == (
        "[1/6] ddp  12 s  50 ms/step  accuracy 0.9000\n[2/6] bf16  3 s  FAILED: Rank 1 ended.\n"
    )


def test_on_a_terminal_one_line_changes_and_none_stays():
    stream = Terminal()
    show = Show(TURNS, stream)
    show.running(TURNS[0], 1.0, "digits  step 3/10")
    assert stream.getvalue().endswith("\r\x1b[K[1/6] ddp  1 s  digits  step 3/10")
    show.ended(TURNS[0], 12.4, run())
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().endswith("\x1b[K")


def test_the_time_left_is_known_once_every_row_that_is_left_has_run():
    show = Show(TURNS, io.StringIO())
    for turn, seconds in zip(TURNS[:3], (10.0, 4.0, 2.0), strict=True):
        assert show.left_s(turn, 0.0) is None
        show.ended(turn, seconds, run())
    assert show.left_s(TURNS[3], 1.0) == 4.0 + 2.0 + 10.0 - 1.0
    assert show.left_s(TURNS[5], 99.0) == 0.0


def test_a_failure_without_a_word_is_still_a_line():
    stream = io.StringIO()
    Show(TURNS, stream).ended(TURNS[0], 1.0, " \n")
    assert "FAILED: without a word" in stream.getvalue()
