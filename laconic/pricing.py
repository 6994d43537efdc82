"""What an exchange costs in the run under way, by size: through the replica's own driver, compressor and all.

`laconic probe` (planner/probing.py) times the backend's bare collectives in a job of its own, before a plan is chosen;
here a plan has been chosen, and what counts is an exchange with its coding, the lanes (if they are in use just then) or
servers, beside this training.
Sizes take turns, three times after a first that is thrown away; the median of the slowest rank counts, so the curve
is the same everywhere. Larger sizes are left out once more than `PATIENCE_S` was spent. Messages travel while backward
computes, so a core computes here, too: on idle cores a message looks cheaper than it will be.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

import torch

from laconic.compress import AbstractCompressor, Identity
from laconic.compress.identity import add_up
from laconic.core.bucket import BucketSpec
from laconic.core.clock import Clock, WallClock
from laconic.core.exchange import Exchange, Exchanged, Max, Seat, Sum, Turn
from laconic.drive.base import Driver, Place
from laconic.schedule.curve import Curve, steady

SIZES = (2**10, 2**14, 2**17, 2**20, 2**23)  # bytes
REPETITIONS = 3
PATIENCE_S = 1.0
PROBE = 4095  # a bucket nobody has: servers keep memories by number


class Agreement:
    """Numbers all ranks know alike, through any driver; nothing else may be under way. All ranks call together."""

    def __init__(self, driver: Driver, seat: Seat, place: Callable[[str], Place]) -> None:
        self.driver, self.seat, self.place = driver, seat, place

    def largest(self, numbers: list[float]) -> list[float]:
        return self._ask(numbers, _largest)

    def mean(self, numbers: list[float]) -> list[float]:
        return [total / self.seat.world for total in self._ask(numbers, _total)]

    def of_rank_0(self, numbers: list[float]) -> list[float]:
        """Rank 0's, of which others need not know how many there are."""
        first = self.seat.rank == 0
        count = int(self._ask([float(len(numbers)) if first else 0.0], _total)[0])
        return self._ask(numbers if first else [0.0] * count, _total)

    def _ask(self, numbers: list[float], how: Callable[[torch.Tensor], Exchange]) -> list[float]:
        if not numbers:
            return []
        t = torch.tensor(numbers, dtype=torch.float64, device=self.seat.device)
        self.driver.launch(self.place("agreeing on the order of messages"), how(t))
        answer: list[float] = self.driver.finish()[0].mean.tolist()
        return answer


async def _largest(t: torch.Tensor) -> Exchanged:
    out = await Max(t)
    return Exchanged(out, out, ())


async def _total(t: torch.Tensor) -> Exchanged:
    out = await Sum(t)
    return Exchanged(out, out, ())


def curve(agreement: Agreement, compress: AbstractCompressor, clock: Clock | None = None) -> Curve:
    """All ranks must call it together."""
    clock = clock or WallClock()
    seconds: list[float] = []
    began = clock.now()
    with _computing(agreement.seat.device):
        for nbytes in SIZES:
            times = [_once(agreement, compress, nbytes, k, clock) for k in range(1 + REPETITIONS)]
            slowest, spent = agreement.largest([median(times[1:]), clock.now() - began])
            seconds.append(slowest)
            if spent > PATIENCE_S and len(seconds) > 2:
                break
    return steady(SIZES[: len(seconds)], seconds)


@contextmanager
def _computing(device: torch.device) -> Iterator[None]:
    """Somebody multiplies matrices on this rank's core meanwhile; a GPU computes without its host's cores."""
    if device.type != "cpu":
        yield
        return
    done = threading.Event()
    worker = threading.Thread(target=_multiply, args=(done,), name="laconic-computing", daemon=True)
    worker.start()
    try:
        yield
    finally:
        done.set()
        worker.join()


def _multiply(done: threading.Event) -> None:
    a = torch.zeros(256, 256)
    while not done.is_set():
        torch.mm(a, a)


def _once(agreement: Agreement, compress: AbstractCompressor, nbytes: int, turn: int, clock: Clock) -> float:
    seat, numel = agreement.seat, nbytes // 4
    agreement.largest([0.0])  # all start together
    spec = BucketSpec(PROBE, ("probe",), ((numel // 16, 16),))
    x = torch.ones(numel, device=seat.device)
    if compress == Identity():
        program = add_up(x)
    else:
        program = compress.exchange(x, compress.init(spec, seat), spec, Turn(seat, turn))
    before = clock.now()
    agreement.driver.launch(agreement.place("measuring the cost of messages"), program)
    agreement.driver.finish()
    return clock.now() - before
