"""Seconds of compressors beside a STREAM copy, in one process, by turns.

Each compressor takes turns with the copy, and the whole list is gone through several times, so that everyone sees the
same machine: what counts is the best of all rounds. Seconds are CPU time of this thread, which other programs disturb
least. Memory is what the compressor itself asks for: cold pages count.

    pays off below   (raw bytes - message bytes) / (encode + decode + add): on a slower link the time saved by sending
                     less is more than the time spent on it
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from laconic.cli.jobs import Job, Make
from laconic.core import memory
from laconic.kernels.choose import fault, plain

PASSES = 3
ROUNDS = 12  # of a pass, at most
SHORT = 100e-6  # what takes less is repeated within a round


@dataclass(frozen=True)
class Speed:
    """Rates of input (4 bytes an element), at best and in the middle; of_copy compares bytes moved with a copy's."""

    gb_s: float
    median_gb_s: float
    of_copy: float | None


@dataclass(frozen=True)
class Measured:
    compressor: str
    elements: int
    bits: float  # of a message, an element
    encode: Speed  # where messages are summed on the way: all of an exchange
    decode: Speed | None
    gbit_s: float | None  # the link below which it pays off; None: nowhere
    slower: float | None = None  # plain torch, as a multiple


@dataclass
class _Times:
    """Seconds of every round."""

    copy: list[float] = field(default_factory=list)
    encode: list[float] = field(default_factory=list)
    decode: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        return min(self.encode) + (min(self.decode) if self.decode else 0.0)


def measure(makes: Mapping[str, Make], n: int, seconds: float, *, reference: bool = False) -> list[Measured]:
    """Everyone on the same vector of n elements; about so many seconds each."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        x = torch.randn(n, generator=torch.Generator().manual_seed(1)) * 1e-3
        copy = _copier(x)
        fast, slow = ({name: _Times() for name in makes} for _ in range(2))
        seen: dict[str, Job] = {}
        for _ in range(PASSES):
            for name, make in makes.items():
                seen[name] = _weight(_take_turns(make(x), copy, seconds / PASSES, fast[name]))
        if reference:
            with plain():
                for name, make in makes.items():
                    _take_turns(make(x), copy, seconds / PASSES, slow[name])
        return [_measured(name, n, seen[name], fast[name], slow[name]) for name in makes]
    finally:
        torch.set_num_threads(threads)
        memory.release()


def _weight(job: Job) -> Job:
    """Its sizes alone: what it works on may go."""
    return Job(lambda: None, job.encode_bytes, None, job.decode_bytes, job.message_bytes)


def _copier(x: Tensor) -> Callable[[], object]:
    out = torch.zeros(x.numel())
    if fault("cpu") is None:
        from laconic.kernels.cpu.stream import stream_copy

        return lambda: stream_copy(x, out)
    return lambda: out.copy_(x)


def _take_turns(job: Job, copy: Callable[[], object], seconds: float, times: _Times) -> Job:
    works = [copy, job.encode, *([job.decode] if job.decode else [])]
    lists = [times.copy, times.encode, times.decode]
    for work in works:
        work()  # compiles, touches pages
    repeats = [max(1, int(SHORT / max(_timed(work, 1), 1e-7))) for work in works]
    end, rounds = time.perf_counter() + seconds, 0
    while rounds < 2 or (time.perf_counter() < end and rounds < ROUNDS):
        for work, many, seen in zip(works, repeats, lists, strict=False):
            seen.append(_timed(work, many))
        rounds += 1
    return job


def _timed(work: Callable[[], object], repeats: int) -> float:
    start = time.thread_time()
    for _ in range(repeats):
        work()
    return max((time.thread_time() - start) / repeats, 1e-9)


def _measured(name: str, n: int, job: Job, fast: _Times, slow: _Times) -> Measured:
    saved = 4 * n - job.message_bytes
    return Measured(
        compressor=name,
        elements=n,
        bits=8 * job.message_bytes / n,
        encode=_speed(fast.encode, n, job.encode_bytes, fast.copy),
        decode=_speed(fast.decode, n, job.decode_bytes, fast.copy) if fast.decode else None,
        gbit_s=8e-9 * saved / fast.best if saved > 0 else None,
        slower=slow.best / fast.best if slow.encode else None,
    )


def _speed(times: list[float], n: int, moved: float | None, copied: list[float]) -> Speed:
    of_copy = None if moved is None else moved / min(times) / (8 * n / min(copied))
    return Speed(4e-9 * n / min(times), 4e-9 * n / statistics.median(times), of_copy)
