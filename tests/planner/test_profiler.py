"""The profiler on a small model, with a clock that counts its own calls."""

from __future__ import annotations

import atexit
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from laconic.planner import profiler
from laconic.planner.profiler import NEEDED, SETTLE, SHORT, Profiler
from laconic.sim.model import read_model


def test_layers_are_found_in_the_order_of_use_and_gradients_in_the_order_of_backward() -> None:
    ticks = count()
    watcher = Profiler.watching(steps=2, clock=lambda: float(next(ticks)))
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watcher.attach(model, optimizer)
    while not watcher.enough:
        model(torch.ones(5, 3)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            model(torch.ones(1, 3))  # an evaluation is not looked at
    watcher.whole = []  # by this clock steps that are not looked at closely take one tick
    table = watcher.table()
    first, last = table.weights[0], table.weights[2]
    assert (first.name, last.name) == ("0.weight", "2.weight")
    assert (first.first_use, last.first_use) == (0, 2)
    assert last.ready < first.ready
    assert (first.forward_s, last.forward_s) == (2.0, 1.0)  # its own tick and the activation's
    assert [w.backward_s for w in table.weights] == [1.0] * 4
    assert (table.update_s, table.batch, len(watcher.seen)) == (1.0, 5, 2 + SETTLE)


def test_several_threads_are_timed_by_the_clock_on_the_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds of all threads together would be more than a step takes."""
    clocks = {}
    for threads in (1, 4):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        model = nn.Linear(3, 4)
        watcher = Profiler.watching()
        watcher.attach(model, torch.optim.SGD(model.parameters(), lr=0.1))
        clocks[threads] = watcher.now
    assert clocks == {1: time.process_time, 4: time.perf_counter}


def test_looking_closely_takes_time_that_is_not_the_models() -> None:
    ticks = count()
    watcher = Profiler.watching(steps=2, clock=lambda: float(next(ticks)))
    model = nn.Linear(3, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watcher.attach(model, optimizer)
    while not watcher.enough:
        model(torch.ones(5, 3)).sum().backward()
        optimizer.step()
    assert sum(watcher.seen[-1].values()) > 1.0
    assert watcher.table().step_s == 1.0  # by shares of what was seen closely


def test_a_process_that_ends_too_early_says_after_how_many_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending = []
    monkeypatch.setattr(atexit, "register", lambda *call: ending.append(call))
    watcher = Profiler(tmp_path / "rank0.json")
    model = nn.Linear(3, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watcher.attach(model, optimizer)
    for _ in range(NEEDED - 1):
        model(torch.ones(5, 3)).sum().backward()
        optimizer.step()
    ((ended, *args),) = ending
    ended(*args)
    assert (tmp_path / "rank0").with_suffix(SHORT).read_text() == str(NEEDED - 1)


def test_a_step_after_a_pause_is_told_apart_and_a_short_script_still_leaves_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending: list[Any] = []
    monkeypatch.setattr(atexit, "register", lambda *call: ending.append(call))
    now, paused, ticks = [0.0], [False], count()

    def pause(_: float) -> None:
        paused[0] = True

    monkeypatch.setattr(profiler.time, "sleep", pause)
    watcher = Profiler(tmp_path / "rank0.json", clock=lambda: now[0] + 1e-6 * next(ticks))
    model = nn.Linear(3, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watcher.attach(model, optimizer)
    for _ in range(NEEDED + 5):
        now[0] += 0.5 if paused[0] else 0.3  # whatever a step takes
        paused[0] = False
        model(torch.ones(5, 3)).sum().backward()
        optimizer.step()
    ((ended, *args),) = ending
    ended(*args)
    found = read_model(tmp_path / "rank0.json")
    assert found.step_s == pytest.approx(0.3, rel=1e-3)  # the clock's own ticks
    assert found.cold_s == pytest.approx(0.2, rel=1e-3)
    assert (tmp_path / "rank0").with_suffix(SHORT).read_text() == str(NEEDED + 5)  # it had not seen enough
