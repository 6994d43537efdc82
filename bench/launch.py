"""Runs one task on this machine through `laconic run` and returns the JSON line it wrote."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CLEAR_LINE = "\r\x1b[K"


def run_task(task: str, plan: str, world: int, args: Sequence[str], *, title: str, limit_s: float) -> dict[str, Any]:
    """One launch, watched: its title, seconds and last line are shown until it ends."""
    with tempfile.TemporaryDirectory() as folder:
        out, log = Path(folder) / "result.json", Path(folder) / "log.txt"
        launcher = [sys.executable, "-m", "laconic.cli", "run", "-n", str(world), "--plan", plan]
        command = [*launcher, "-m", f"laconic.tasks.{task}", *args, "--json", str(out)]
        code = _watch(command, log, title, limit_s)
        if code != 0 or not out.exists():
            sys.exit(f"{' '.join(command)}\nended with code {code}. Its last words:\n{log.read_text()[-4000:]}")
        record: dict[str, Any] = json.loads(out.read_text())
        return record


def _watch(command: Sequence[str], log: Path, title: str, limit_s: float) -> int:
    started = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that `finally` below ends the launched job too
    with log.open("wb") as output:
        # one thread each: there are more workers than cores
        env = os.environ | {"OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=env)
    try:
        while (seconds := time.monotonic() - started) < limit_s:
            try:
                code = process.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                _show(f"{title}  {seconds:4.0f} s  {_last_line(log)}", kept=False)
                continue
            _show(f"{title}  {seconds:4.0f} s", kept=True)
            return code
        sys.exit(f"{title} did not finish within {limit_s:g} s. Its last words:\n{log.read_text()[-4000:]}")
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(timeout=30)


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return next((line for line in reversed(lines) if line.strip()), "")[:70]


def _show(line: str, *, kept: bool) -> None:
    """On stderr, so that stdout is the result alone."""
    terminal = sys.stderr.isatty()
    if kept or terminal:
        start, end = CLEAR_LINE if terminal else "", "\n" if kept else ""
        print(f"{start}{line}", end=end, file=sys.stderr, flush=True)
