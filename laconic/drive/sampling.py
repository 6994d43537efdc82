"""What data-dependent messages hold: a real exchange of noise among a few workers, scaled to many and to large buckets.

Two exchanges pass, the second is watched: what is found once and used again (thresholds, levels, bits) is there by
then. Samples are taken with f and 2f workers, and headers stay what they are. A message's body b follows n workers as

    b_2f < 0.6 b_f        as 1/n             chunks, which shrink as owners become more
    about as long         constant           what everyone says of the whole bucket
    b_2f > 1.75 b_f       as n               what is said about every worker
    else                  as c + d/n         some of each, or sums of sparse vectors

and a bucket's size as the compressor's declared bits do. Trees of pairs take more rounds each time workers double. Up
to 2f workers nothing is scaled but the bucket.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import lru_cache
from typing import Any

from torch import Tensor

from laconic.compress import CGX, AbstractCompressor, HiTopK, letters
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.served import chunk_count
from laconic.compress.sparse_allreduce import AbstractSparseAllReduce
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchange, Seat, Turn
from laconic.core.payload import HEADER_BYTES
from laconic.core.rng import Stream
from laconic.drive.asked import Asked, Kind, Told, asked
from laconic.drive.lockstep import answer_all
from laconic.drive.shelf import Shelf
from laconic.net.link import Link
from laconic.topology import AbstractTopology, AllReduce
from laconic.topology.mixing import AbstractMixing

SAMPLE = 1 << 16  # elements
FEW = 4  # workers
# A step after every warm-up; rare work is done at multiples of something, or in the step before. This one is prime, 3
# and 5 do not divide the next, and what takes turns of hundreds of steps is past the first of them.
LATE = 1_000_171
FIXED = 64  # bytes: sums as short as this are counts, rates or errors, not gradients

Rounds = tuple[tuple[Asked, ...], ...]


def scaled(compress: AbstractCompressor, spec: BucketSpec, router: AbstractTopology, world: int) -> Told:
    small = spec if spec.numel <= SAMPLE else matrix_of(SAMPLE, spec)
    few = _few(compress)
    seen = _watched(compress, small, router, min(world, 2 * few))
    rounds = seen.rounds
    if world > 2 * few:
        rounds = _among(world, few, _watched(compress, small, router, few), seen)
        if isinstance(_innermost(compress), AbstractSparseAllReduce):
            rounds = _no_longer_than_dense(rounds, small.numel, world)
    share = compress.payload_bits(spec) / max(1, compress.payload_bits(small))
    count = _chunk_count(compress, spec.numel, router, world)
    how = f"sampled with {min(world, 2 * few)} workers" + ("" if small is spec else f", {small.numel} elements")
    return Told(tuple(tuple(_larger(a, share, count) for a in r) for r in rounds), how)


def _few(compress: AbstractCompressor) -> int:
    """Two nodes at least, where workers are counted by nodes."""
    inner = _innermost(compress)
    return max(FEW, 2 * inner.node) if isinstance(inner, HiTopK) else FEW


def _innermost(compress: AbstractCompressor) -> AbstractCompressor:
    """Inside wrappers; a sparse all-reduce and a one-shot code are what travels, whatever they are made of."""
    while not isinstance(compress, AbstractOneShot | AbstractSparseAllReduce) and compress.parts:
        compress = compress.parts[0]
    return compress


def matrix_of(numel: int, like: BucketSpec) -> BucketSpec:
    """One square matrix of so many elements."""
    side = math.isqrt(numel)
    return BucketSpec(0, ("x",), ((side, side),), like.dtype)


# ------------------------------------------------------------- more workers


def _among(world: int, few: int, fewer: Told, seen: Told) -> Rounds:
    """`fewer` and `seen`: of few and of twice as many workers."""
    if fewer.kinds == seen.kinds:
        pairs = [zip(a, b, strict=True) for a, b in zip(fewer.rounds, seen.rounds, strict=True)]
        return tuple(tuple(_extended(a, b, 2 * few, world) for a, b in pair) for pair in pairs)
    grown = len(seen.rounds) - len(fewer.rounds) if {*seen.kinds[-1]} == {Kind.POST} else 0
    doublings = (world - 1).bit_length() - (2 * few - 1).bit_length()
    merge = max(seen.rounds, key=lambda asks: sum(a.nbytes for a in asks))  # beside stages that are silent here
    return seen.rounds + (merge,) * (max(0, grown) * doublings)


def _extended(a: Asked, b: Asked, seen: int, world: int) -> Asked:
    head = _head(b)
    body = _along(max(0.0, a.nbytes - _head(a)), b.nbytes - head, seen, world)
    messages = b.messages + (b.messages - a.messages) * (world - seen) / (seen - seen // 2)
    return replace(b, nbytes=head + body, messages=max(0, round(messages)))


def _along(a: float, b: float, seen: int, world: int) -> float:
    """`a` bytes among seen / 2 workers, `b` among `seen`."""
    if b < 0.6 * a:
        return b * seen / world
    if 0.9 * a < b < 1.1 * a:
        return b
    if b > 1.75 * a:
        return b * world / seen
    return max(0.0, 2 * b - a + (a - b) * seen / world)


def _no_longer_than_dense(rounds: Rounds, numel: int, world: int) -> Rounds:
    dense = HEADER_BYTES + 4 * -(-numel // world)
    return tuple(tuple(replace(a, nbytes=min(a.nbytes, dense)) for a in r) for r in rounds)


# ------------------------------------------------------------- more elements


def _head(a: Asked) -> int:
    return HEADER_BYTES if a.kind is not Kind.REDUCE and a.nbytes >= HEADER_BYTES else 0


def _larger(a: Asked, share: float, count: int) -> Asked:
    if a.kind is Kind.SERVE:
        return Asked(a.kind, (a.nbytes - a.messages * HEADER_BYTES) * share + count * HEADER_BYTES, count)
    head = _head(a)
    if not head and (a.kind is not Kind.REDUCE or a.nbytes <= FIXED):
        return a  # lengths and votes
    return replace(a, nbytes=head + (a.nbytes - head) * share)


def _chunk_count(compress: AbstractCompressor, numel: int, router: AbstractTopology, world: int) -> int:
    inner = _innermost(compress)
    align = inner.align if isinstance(inner, AbstractOneShot) else 1
    return chunk_count(numel, router.owners(world), align)


# ------------------------------------------------------------- samples


@lru_cache(maxsize=1024)
def _watched(compress: AbstractCompressor, spec: BucketSpec, router: AbstractTopology, world: int) -> Told:
    return sampled(compress, spec, router, world, turns=2)


def allotted(cgx: CGX, spec: BucketSpec) -> tuple[int, ...]:
    """How many bits it gives each tensor, once it has seen noise."""
    if spec.numel <= SAMPLE:
        return _bits(cgx, BucketSpec(0, ("x",) * len(spec.shapes), spec.shapes, spec.dtype))
    return _bits(cgx, matrix_of(SAMPLE, spec)) * len(spec.shapes)


@lru_cache(maxsize=1024)
def _bits(cgx: CGX, spec: BucketSpec) -> tuple[int, ...]:
    return tuple(_sampled(cgx, spec, AllReduce(), 2, (0,))[1][0].bits.tolist())


@lru_cache(maxsize=1024)
def letter_bytes(compress: AbstractCompressor, by: AbstractMixing, spec: BucketSpec) -> tuple[float, str]:
    """A message to a neighbour, and how that is known."""
    turn = Turn(Seat(0, 1, AllReduce()), LATE)
    if letters.desk(compress, by, spec, turn).most is None:
        return HEADER_BYTES + -(-compress.payload_bits(spec) // 8), "declared"
    small = spec if spec.numel <= SAMPLE else matrix_of(SAMPLE, spec)
    desk = letters.desk(compress, by, small, turn)
    told = [desk.write(_noise(small.numel, salt)).numel() for salt in range(FEW)]
    share = compress.payload_bits(spec) / max(1, compress.payload_bits(small))
    return HEADER_BYTES + (sum(told) / FEW - HEADER_BYTES) * share, f"sampled, {small.numel} elements"


def sampled(
    compress: AbstractCompressor, spec: BucketSpec, router: AbstractTopology, world: int, turns: int = 1
) -> Told:
    """A real exchange of noise in this process, the last of `turns`; rank 0 is timed."""
    return _sampled(compress, spec, router, world, (*range(turns - 1), LATE))[0]


def _sampled(
    compress: AbstractCompressor, spec: BucketSpec, router: AbstractTopology, world: int, steps: tuple[int, ...]
) -> tuple[Told, list[Any]]:
    """The last of these steps, and the states after it."""
    seats = [Seat(rank, world, router) for rank in range(world)]
    states = [compress.init(spec, seat) for seat in seats]
    shelf, seen = Shelf(), Told((), "sampled")
    for turn, step in enumerate(steps):
        noise = [_noise(spec.numel, r + turn * world).to(spec.dtype, copy=True) for r in range(world)]
        programs = [
            compress.exchange(x, state, spec, Turn(seat, step))
            for x, state, seat in zip(noise, states, seats, strict=True)
        ]
        seen, states = _watch(programs, shelf)
    return seen, states


@lru_cache(maxsize=32)
def _noise(numel: int, salt: int) -> Tensor:
    return Stream(7 + salt).normal(numel)


def _watch(programs: list[Exchange], shelf: Shelf) -> tuple[Told, list[Any]]:
    links = [Link() for _ in programs]
    rounds: list[tuple[Asked, ...]] = []
    cpu: list[float] = []
    answers: list[Any] = [None] * len(programs)
    states: list[Any] = []
    while not states:
        asks = []
        for rank, (program, answer) in enumerate(zip(programs, answers, strict=True)):
            started = time.thread_time()
            try:
                asks.append(program.send(answer))
            except StopIteration as stop:
                states.append(stop.value.state)
            if rank == 0:
                cpu.append(time.thread_time() - started)
        if asks:
            rounds.append(asked(asks))
            answers = answer_all(asks, links, None, shelf)
    return Told(tuple(rounds), "sampled", tuple(cpu)), states
