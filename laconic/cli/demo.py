"""`make demo`: train digits on four local processes with three plans, next to plain DDP.

Each run goes through `laconic run`, one after another, and the numbers come from the JSON line the
task writes. The table says what was measured here, also when a plan loses.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from laconic.core.errors import LaconicError
from laconic.core.units import bytes_text

BASELINE = "ddp"
PLANS = (BASELINE, "ef(topk(0.01))", "qsgd(bits=4)", "local(8)")
WORLD = 4
STEPS = 200
LIMIT_S = 150.0  # for one plan; a run takes about 15 s on two cores
CLEAR_LINE = "\r\x1b[K"


@dataclass(frozen=True)
class Row:
    """What one run measured."""

    plan: str
    accuracy: float
    wire_bytes: float  # sent by one rank, per step
    step_s_median: float
    step_s_mean: float


def main() -> int:
    """Run the demo; 1 and the run's own last words if a plan failed."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that `finally` runs
    print(f"Training digits on {WORLD} local processes, {STEPS} steps a plan:", flush=True)
    try:
        rows = [measure(plan) for plan in PLANS]
    except LaconicError as error:
        print(f"laconic demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(f"\n{table(rows)}\n\n{remarks(rows)}")
    return 0


def measure(plan: str) -> Row:
    """Train once under `plan`."""
    with tempfile.TemporaryDirectory() as folder:
        out, log = Path(folder) / "result.json", Path(folder) / "log.txt"
        code = _watch(command(plan, out), plan, log)
        if code != 0:
            raise LaconicError(f"the plan {plan} failed:\n{log.read_text()[-4000:]}")
        return row(plan, json.loads(out.read_text().splitlines()[-1]))


def command(plan: str, out: Path) -> list[str]:
    """The line a user would type, with this Python."""
    launch = [sys.executable, "-m", "laconic.cli", "run", "-n", str(WORLD), "--plan", plan]
    return [*launch, "-m", "laconic.tasks.digits", "--steps", str(STEPS), "--json", str(out)]


def row(plan: str, result: Mapping[str, Any]) -> Row:
    """Read the task's JSON line."""
    return Row(
        plan=plan,
        accuracy=result["metrics"]["accuracy"],
        wire_bytes=result["wire_bytes_per_step"],
        step_s_median=result["step_s_median"],
        step_s_mean=result["step_s"]["mean"],
    )


def ratio(row: Row, rows: Sequence[Row]) -> float:
    """How many of this plan's steps fit in one of DDP's; above 1 is faster than DDP."""
    baseline = next(other for other in rows if other.plan == BASELINE)
    return baseline.step_s_mean / row.step_s_mean


def table(rows: Sequence[Row]) -> str:
    """One line a plan, figures right-aligned."""
    head = ("plan", "accuracy", "wire per step", "median step", "mean step", "ratio to DDP")
    lines = [
        (
            row.plan,
            f"{row.accuracy:.1%}",
            bytes_text(row.wire_bytes),
            f"{row.step_s_median * 1e3:.1f} ms",
            f"{row.step_s_mean * 1e3:.1f} ms",
            f"{ratio(row, rows):.2f}",
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    return "\n".join(_aligned(cells, widths) for cells in (head, *lines))


def remarks(rows: Sequence[Row]) -> str:
    """What the table means, and plainly which plans lost."""
    slower = [row.plan for row in rows if row.plan != BASELINE and ratio(row, rows) < 1]
    verdict = f"Slower than DDP here: {', '.join(slower)}." if slower else "No plan was slower than DDP in this run."
    return (
        "Wire per step is what one rank sends. The ratio compares mean steps (local(8) talks only\n"
        "in every 8th, so its median step sends nothing); above 1 is faster than DDP.\n"
        f"{verdict}\n"
        "These processes talk over loopback, which is not a slow network: fewer bytes save little\n"
        "time here, and compressing costs some. The bytes are what a real link would carry."
    )


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (
        f"{cell:{'<' if i == 0 else '>'}{width}}" for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *rest]).rstrip()


def _watch(command: Sequence[str], plan: str, log: Path) -> int:
    """Run `command` with its output in `log`, its last line shown live; the exit code."""
    started = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        while True:
            seconds = time.monotonic() - started
            if seconds > LIMIT_S:
                raise LaconicError(f"the plan {plan} did not finish within {LIMIT_S:g} s.")
            try:
                code = process.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                _show(f"  {plan:16} {seconds:4.0f} s  {_last_line(log)}", kept=False)
                continue
            _show(f"  {plan:16} {seconds:4.0f} s", kept=True)
            return code
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the launcher by SIGTERM first, so that it can end its ranks."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "")[:70]


def _show(line: str, *, kept: bool) -> None:
    terminal = sys.stdout.isatty()
    if kept or terminal:
        start, end = CLEAR_LINE if terminal else "", "\n" if kept else ""
        print(f"{start}{line}", end=end, flush=True)


if __name__ == "__main__":
    sys.exit(main())
