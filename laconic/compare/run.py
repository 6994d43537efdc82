"""The runs themselves: one job after the other, each with a journal of its own.

A row that fails is not run again; the others go on. An interruption ends the job under way and keeps what is finished.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from laconic.compare.lines import Comparison, Result, Setting
from laconic.compare.measured import Run, read_run
from laconic.compare.order import Turn, turns
from laconic.compare.rows import Row
from laconic.compare.show import EVERY_S, Show
from laconic.core.errors import LaconicError
from laconic.launch.job import Job, Script, Site

LAST_LINES = 30
TAIL_BYTES = 16_384
HEAD_BYTES = 1 << 20
LOG = "log.txt"
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[^\S\n ]|[\x00-\x09\x0b-\x1f\x7f]")  # what would move the cursor
_ERROR = re.compile(
    r"(\[[^]]*\]:? ?)?[\w.]*(Error|Exception): "
)  # the last line of a traceback, perhaps of a named rank


@dataclass(frozen=True)
class Request:
    """What to run: the same script for every row, told its plan by the environment."""

    setting: Setting
    rows: tuple[Row, ...]
    script: Callable[[int], Script]  # by repetition: tasks get another seed in each
    limit_s: float  # for one run
    last_step: int | None = None  # where to end a script that does not take the number of steps as an argument
    variables: Mapping[str, str] = field(default_factory=dict)  # of every rank, as the key of plans with servers

    def environment(self, row: Row, folder: Path) -> dict[str, str]:
        told = {"LACONIC_PLAN": row.plan, "LACONIC_JOURNAL": str(folder), **self.variables}
        return told if self.last_step is None else told | {"LACONIC_STEPS": str(self.last_step)}


@dataclass
class Outcomes:
    """What came of the rows so far."""

    rows: Sequence[Row]
    runs: dict[Row, list[Run]] = field(default_factory=dict)
    failures: dict[Row, str] = field(default_factory=dict)

    def add(self, turn: Turn, came: Run | str) -> None:
        if isinstance(came, Run):
            self.runs.setdefault(turn.row, []).append(came)
        else:
            self.failures[turn.row] = came

    def results(self) -> tuple[Result, ...]:
        return tuple(Result(row, tuple(self.runs.get(row, ())), self.failures.get(row)) for row in self.rows)


def run_all(request: Request, sites: Sequence[Site], show: Show) -> Comparison:
    """Every row, `repeat` times; a KeyboardInterrupt ends it early, with what is finished."""
    outcomes = Outcomes(request.rows)
    try:
        for turn in show.turns:
            if turn.row not in outcomes.failures:
                started = show.clock()
                came = run_once(request, turn, sites, show)
                outcomes.add(turn, came)
                show.ended(turn, show.clock() - started, came)
    except KeyboardInterrupt:
        return Comparison(request.setting, outcomes.results(), complete=False)
    return Comparison(request.setting, outcomes.results())


def plan_turns(request: Request) -> list[Turn]:
    return turns(request.rows, request.setting.repeat)


def run_once(request: Request, turn: Turn, sites: Sequence[Site], show: Show) -> Run | str:
    """What one run measured, or why it failed."""
    with tempfile.TemporaryDirectory(prefix="laconic-compare-") as name:
        folder = Path(name)
        try:
            _job(request, turn, sites, show, folder)
            return read_run(_journals(folder, len(sites)), turn.row.plan)
        except LaconicError as error:
            where = f"repetition {turn.repetition + 1} of {request.setting.repeat}"
            return "\n".join(filter(None, [f"{error} ({where})", last_words(folder / LOG)]))


def _job(request: Request, turn: Turn, sites: Sequence[Site], show: Show, folder: Path) -> None:
    log, started = folder / LOG, time.monotonic()
    script, env = request.script(turn.repetition), request.environment(turn.row, folder)
    with Job(script, sites, env=env, output=log) as job:
        while (code := job.wait(EVERY_S)) is None:
            seconds = time.monotonic() - started
            show.running(turn, seconds, last_line(log))
            if seconds > request.limit_s:
                raise LaconicError(f"It did not finish within {request.limit_s:g} s; --limit gives it more time.")
        if code != 0:
            raise LaconicError(f"{str(job.failures[0]).capitalize()}.")


def _journals(folder: Path, world: int) -> list[dict[str, object]]:
    paths = [folder / f"rank{rank}.json" for rank in range(world)]
    try:
        return [json.loads(path.read_text()) for path in paths]
    except FileNotFoundError as error:
        raise LaconicError(
            f"It left no {Path(error.filename).name}: the script never called laconic.distribute (add `replica = "
            f"laconic.distribute(model, optimizer)` to it), or ended without Python's own ending."
        ) from error


def last_line(log: Path) -> str:
    lines = _tail(log).split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def last_words(log: Path, count: int = LAST_LINES) -> str:
    """The end of what all ranks printed; before it the first error, where others have talked it out of sight."""
    end = _tail(log).strip().splitlines()[-count:]
    first = next((line for line in _read(log, 0).splitlines() if _ERROR.match(line)), None)
    return "\n".join([*([first, "..."] if first is not None and first not in end else []), *end])


def _tail(log: Path) -> str:
    return _read(log, -TAIL_BYTES)


def _read(log: Path, start: int) -> str:
    """At most `HEAD_BYTES` from `start`, which counts from the end if it is negative."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, start + (size if start < 0 else 0)))
            text = file.read(HEAD_BYTES).decode(errors="replace")
            return _CONTROL.sub(" ", text.replace("\r", "\n"))
    except FileNotFoundError:
        return ""
