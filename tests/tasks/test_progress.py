from __future__ import annotations

import io

from laconic.tasks.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_log_gets_a_line_now_and_then():
    clock, stream = Clock(), io.StringIO()
    progress = Progress("digits", 100, stream, clock)
    for step in range(1, 31):
        clock.now += 1
        progress.step(step, 1.0, loss=0.5)
    lines = stream.getvalue().splitlines()
    assert [line.split("  ")[1] for line in lines] == ["step 10/100", "step 20/100", "step 30/100"]
    assert lines[0] == "digits  step 10/100  loss 0.5000  1 s/step  90 s left"


def test_a_terminal_has_one_line_that_changes_and_keeps_results():
    clock, stream = Clock(), Terminal()
    progress = Progress("digits", 100, stream, clock)
    for step in (1, 2):
        clock.now += 1
        progress.step(step, 1.0, loss=0.5)
    assert "\n" not in stream.getvalue()
    progress.result(2, {"accuracy": 0.97})
    assert stream.getvalue().endswith("\r\x1b[Kdigits  step 2/100  accuracy 0.9700\n")


def test_other_ranks_are_silent():
    progress = Progress("digits", 100, None)
    progress.step(1, 1.0, loss=0.5)
    progress.result(1, {"accuracy": 0.97})
