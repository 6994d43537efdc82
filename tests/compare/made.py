"""Comparisons made by hand for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from laconic.compare.lines import Comparison, Result, Setting
from laconic.compare.measured import Point, Run
from laconic.compare.rows import read
from laconic.compare.target import Target

PLAN = "bsp / allreduce / none / fused"


def run(
    step_s: float = 1.0,
    wait_s: float | None = None,
    tx: float | None = None,
    points: tuple[Point, ...] = (),
    **metrics: float,
) -> Run:
    """One whose last log says `metrics`."""
    last = (Point(10, 10 * step_s, 1000.0, tx, metrics),) if metrics else ()
    return Run(10, step_s, wait_s, wire_bytes=100.0, tx_bytes=tx, points=(*points, *last))


def comparison(
    runs: dict[str, list[Run] | str], *, until: Target | None = None, complete: bool = True, **setting: Any
) -> Comparison:
    """`{plan: runs, or why it failed}`, in this order."""
    results = [
        Result(read(text), failure=came) if isinstance(came, str) else Result(read(text), tuple(came))
        for text, came in runs.items()
    ]
    given: dict[str, Any] = {
        "task": "digits",
        "args": (),
        "hosts": 4,
        "rate": "100mbit",
        "steps": 10,
        "repeat": 3,
        "lab": True,
    }
    return Comparison(Setting(until=until, **{**given, **setting}), tuple(results), complete)


def journal(
    step_s: list[float],
    *,
    wait_s: list[float] | None = None,
    talks: list[int] | None = None,
    first_talks: int = 1,
    wire: list[int] | None = None,
    tx: list[int] | None = None,
    logged: list[int] | None = None,
    settled_after: int = 0,
    plan: str = PLAN,
    logs: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """What one rank leaves; the first interval ends step 2."""
    count = len(step_s)
    return {
        "plan": plan,
        "steps": count + 1,
        "step": list(range(2, count + 2)),
        "step_s": step_s,
        "wait_s": wait_s,
        "wire_bytes_each": wire or [10] * count,
        "tx_bytes_each": tx,
        "exchanges": sum(talks or [1] * count) + first_talks,
        "exchanges_each": talks or [1] * count,
        "logged_steps": logged or [],
        "settled_after": settled_after,
        "logs": logs or [],
    }


SCRIPT = """
import torch
import laconic

session = laconic.init()
torch.manual_seed(session.rank)
model = torch.nn.Linear({width}, {width})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
laconic.distribute(model, optimizer{plan})
for step in range({steps}):
    {body}
    loss = model(torch.ones(4, {width})).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
if session.rank == 0:
    laconic.log(loss=loss.item())
"""


def written(folder: Path, *, plan: str = "", body: str = "pass", width: int = 64, steps: int = 8) -> str:
    """A user's script, which leaves the plan to the environment."""
    path = folder / "train.py"
    path.write_text(SCRIPT.format(plan=plan, body=body, width=width, steps=steps))
    return str(path)
