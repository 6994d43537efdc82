"""One compressor on one vector: seconds of encode and of decode + accumulate, beside a STREAM copy.

The compressor and the copy take turns, so that both see the same machine; each is measured in CPU time of this thread,
which other programs disturb least. Memory is what the compressor itself asks for: cold pages count.

    pays off below   (raw bytes - message bytes) / (encode + decode + add): on a slower link the time saved by sending
                     less is more than the time spent on it
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from laconic.compress import AbstractCompressor, ErrorFeedback
from laconic.compress.base import AbstractCodec, Draw
from laconic.compress.one_shot import AbstractOneShot
from laconic.core import memory
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Seat, Turn
from laconic.core.rng import Stream
from laconic.drive.lockstep import lockstep
from laconic.kernels.choose import fault, plain
from laconic.topology import AllReduce

ROUNDS = 30  # at most
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


@dataclass(frozen=True)
class Job:
    """What to time, and the bytes each moves."""

    encode: Callable[[], object]
    encode_bytes: float | None
    decode: Callable[[], object] | None
    decode_bytes: float | None
    message_bytes: float


def measure(compressor: AbstractCompressor, n: int, seconds: float, *, reference: bool = False) -> Measured:
    return measure_job(str(compressor), lambda x: job_of(compressor, x), n, seconds, reference=reference)


def measure_job(
    name: str, make: Callable[[Tensor], Job], n: int, seconds: float, *, reference: bool = False
) -> Measured:
    torch_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _measure(name, make, n, seconds, reference)
    finally:
        torch.set_num_threads(torch_threads)
        memory.release()


def _measure(name: str, make: Callable[[Tensor], Job], n: int, seconds: float, reference: bool) -> Measured:
    x = torch.randn(n, generator=torch.Generator().manual_seed(1)) * 1e-3
    copy, job = _copier(x), make(x)
    encode, decode, copied = _turns(job, copy, seconds)
    spent = min(encode) + (min(decode) if decode else 0.0)
    saved = 4 * n - job.message_bytes
    slow = None
    if reference:
        with plain():
            slow_encode, slow_decode, _ = _turns(make(x), copy, seconds, least=2)
        slow = (min(slow_encode) + (min(slow_decode) if slow_decode else 0.0)) / spent
    return Measured(
        compressor=name,
        elements=n,
        bits=8 * job.message_bytes / n,
        encode=_speed(encode, n, job.encode_bytes, copied),
        decode=_speed(decode, n, job.decode_bytes, copied) if decode else None,
        gbit_s=8e-9 * saved / spent if saved > 0 else None,
        slower=slow,
    )


def matrix(n: int) -> BucketSpec:
    """n elements as a matrix, for compressors that look at shapes; as square as n allows."""
    rows = next(r for r in range(math.isqrt(n), 0, -1) if n % r == 0)
    return BucketSpec(0, ("x",), ((rows, n // rows),))


def _copier(x: Tensor) -> Callable[[], object]:
    out = memory.empty(x.numel())
    if fault("cpu") is None:
        from laconic.kernels.cpu.stream import stream_copy

        return lambda: stream_copy(x, out)
    return lambda: out.copy_(x)


def job_of(compressor: AbstractCompressor, x: Tensor) -> Job:
    n, spec, draw = x.numel(), matrix(x.numel()), Draw(Stream(1), Stream(2))
    inner = compressor.inner if isinstance(compressor, ErrorFeedback) else compressor
    own = isinstance(inner, AbstractOneShot) and type(inner).exchange is not AbstractOneShot.exchange
    if not isinstance(inner, AbstractCodec) or own:
        return _whole(compressor, x, spec)
    codec = inner  # a name mypy keeps in closures
    if isinstance(compressor, ErrorFeedback):
        residual, left, damping = x.flip(0), memory.empty(n), compressor.damping(spec)
        aux, parts = codec.encode_keep(x, residual, left, damping, draw)
        encode, dense = (lambda: codec.encode_keep(x, residual, left, damping, draw)), 12 * n
    else:
        aux, parts = codec.encode(x, draw)
        encode, dense = (lambda: codec.encode(x, draw)), 4 * n
    total, size = torch.zeros(n), sum(p.nbytes for p in parts)
    decode_bytes = None if isinstance(codec, AbstractOneShot) and codec.sparse else 8 * n + size
    return Job(encode, dense + size, lambda: codec.add(total, parts, aux, draw, 0.5), decode_bytes, size)


def _whole(compressor: AbstractCompressor, x: Tensor, spec: BucketSpec) -> Job:
    """An exchange with nobody: all that one rank computes."""
    seat = Seat(0, 1, AllReduce())
    state = compressor.init(spec, seat)
    turn = Turn(seat, 0)

    def exchange() -> object:
        return lockstep([compressor.exchange(x, state, spec, turn)])

    return Job(exchange, None, None, None, compressor.payload_bits(spec) / 8)


def _turns(
    job: Job, copy: Callable[[], object], seconds: float, least: int = 5
) -> tuple[list[float], list[float], list[float]]:
    """Seconds of each round: encode, decode, copy."""
    jobs = [copy, job.encode, *([job.decode] if job.decode else [])]
    for work in jobs:
        work()  # compiles, touches pages
    repeats = [max(1, int(SHORT / max(_timed(work, 1), 1e-7))) for work in jobs]
    rounds: list[list[float]] = []
    end = time.perf_counter() + seconds
    while len(rounds) < least or (time.perf_counter() < end and len(rounds) < ROUNDS):
        rounds.append([_timed(work, n) for work, n in zip(jobs, repeats, strict=True)])
    copied, encode, *decode = (list(column) for column in zip(*rounds, strict=True))
    return encode, decode[0] if decode else [], copied


def _timed(work: Callable[[], object], repeats: int) -> float:
    start = time.thread_time()
    for _ in range(repeats):
        work()
    return max((time.thread_time() - start) / repeats, 1e-9)


def _speed(times: list[float], n: int, moved: float | None, copied: list[float]) -> Speed:
    of_copy = None if moved is None else moved / min(times) / (8 * n / min(copied))
    return Speed(4e-9 * n / min(times), 4e-9 * n / statistics.median(times), of_copy)
