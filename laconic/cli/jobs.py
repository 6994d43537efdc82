"""What `laconic bench kernels` times of a compressor: encode, and decode + accumulate, or an exchange as a whole."""

from __future__ import annotations

import math
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
from laconic.topology import AllReduce


@dataclass(frozen=True)
class Job:
    """What to time, and the bytes each moves."""

    encode: Callable[[], object]
    encode_bytes: float | None
    decode: Callable[[], object] | None
    decode_bytes: float | None
    message_bytes: float


Make = Callable[[Tensor], Job]


def matrix(n: int) -> BucketSpec:
    """n elements as a matrix, for compressors that look at shapes; as square as n allows."""
    rows = next(r for r in range(math.isqrt(n), 0, -1) if n % r == 0)
    return BucketSpec(0, ("x",), ((rows, n // rows),))


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
