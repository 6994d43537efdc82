"""`LACONIC_TRACE`: this rank's spans, written beside the trace they will be merged into when the process ends.

Clocks are compared when a replica is attached and every `EVERY` steps after that, on all ranks at the same step. The
first model a process distributes is traced. Over parameter servers there are the spans of the training thread alone.
"""

from __future__ import annotations

import atexit
import warnings
from pathlib import Path
from typing import ClassVar

from laconic.drive.base import Driver
from laconic.drive.clocks import compare_clocks
from laconic.drive.lanes import Lanes
from laconic.drive.torch_dist import TorchDist
from laconic.replica import Replica
from laconic.trace.merge import part, write_rank
from laconic.trace.spans import Spans

EVERY = 250  # steps


class Tracing:
    """Of one process."""

    traced: ClassVar[set[Path]] = set()


def start(out: Path, replica: Replica, driver: Driver, rank: int) -> None:
    """All ranks must call it together, before the first step."""
    if out in Tracing.traced:
        warnings.warn(f"{out} holds the model that was distributed first, not this one.", stacklevel=4)
        return
    Tracing.traced.add(out)
    spans = Spans()
    desks = driver.desks if isinstance(driver, Lanes) else [driver] if isinstance(driver, TorchDist) else []
    for desk in desks:
        desk.spans = spans
    replica.watched_by(spans)
    if desks:
        _compare(spans, desks[0], replica)
        hook = replica.optimizer.register_step_post_hook(
            lambda *_: _compare(spans, desks[0], replica) if replica.steps % EVERY == 0 else None
        )
        replica.keep(hook)
    atexit.register(_write, part(out, rank), rank, spans)


def _compare(spans: Spans, desk: TorchDist, replica: Replica) -> None:
    replica.flush() if replica.crossing is not None else None  # nothing else may be under way
    spans.readings.append(compare_clocks(desk.group, spans.clock, replica.seat.device))


def _write(path: Path, rank: int, spans: Spans) -> None:
    try:
        write_rank(path, rank, spans)
    except OSError as error:
        warnings.warn(f"The trace {path} could not be written: {error}.", stacklevel=1)
