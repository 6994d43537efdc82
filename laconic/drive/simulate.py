"""What an exchange asks for, in bytes, for any number of workers: found from the coroutine itself, without a network.

    on meta tensors   messages that are summed on the way: the exchange runs on shapes alone
    declared          codes of fixed size: `message_bytes`, by the route that the topology takes; believed only after a
                      small exchange among three workers has asked for exactly the same
    sampled           whatever else there is: a real exchange of noise among at most four workers; what it asks for is
                      taken in proportion where the bucket is larger than the sample

Virtual time (laconic.sim) turns requests into seconds. `Told.cpu_s` is what one worker computed between its requests in
a sample, for those who want to know what coding costs on this machine.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor

from laconic.compress import AbstractCompressor, ErrorFeedback, Identity
from laconic.compress.one_shot import AbstractOneShot, chunks
from laconic.compress.served import SMALLEST_CHUNK
from laconic.compress.split import AbstractSplit
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import (
    Deal,
    Exchange,
    Gather,
    Max,
    Mean,
    Post,
    Route,
    Seat,
    Serve,
    Sum,
    Swap,
    Together,
    Turn,
)
from laconic.core.rng import Stream
from laconic.drive.lockstep import answer_all
from laconic.drive.shelf import Shelf
from laconic.net.link import Link
from laconic.topology import AbstractTopology

SAMPLE = 1 << 16  # elements
MOST_WORKERS = 4
LATE = 1_000_000  # a step long after every warm-up


class Kind(Enum):
    REDUCE = "reduce"  # a tensor of so many bytes becomes everyone's sum
    GATHER = "gather"  # a message of so many bytes reaches everyone
    DEAL = "deal"  # so many bytes to each other worker
    POST = "post"  # so many bytes to each of `messages` neighbours
    SERVE = "serve"  # so many bytes in all to servers, in `messages` pieces, and as much back


@dataclass(frozen=True)
class Asked:
    kind: Kind
    nbytes: float
    messages: int = 1


@dataclass(frozen=True)
class Told:
    """One exchange of one worker: what it asks, round by round."""

    rounds: tuple[tuple[Asked, ...], ...]
    how: str
    cpu_s: tuple[float, ...] = ()  # before each round, and after the last; empty where nothing was timed


def told(compress: AbstractCompressor, spec: BucketSpec, router: AbstractTopology, world: int) -> Told:
    """What a worker among `world` asks for to exchange this bucket."""
    if world == 1 and compress == Identity():
        return Told((), "declared")
    return _told(compress, replace(spec, id=0, followed_by=0), router, world)


@lru_cache(maxsize=1024)
def _told(compress: AbstractCompressor, spec: BucketSpec, router: AbstractTopology, world: int) -> Told:
    split = compress.inner if isinstance(compress, ErrorFeedback) else compress
    if isinstance(split, AbstractSplit):
        return _side_by_side(split, spec, router, world)
    codec = fixed_code(compress)
    if codec is not None and _believed(compress, codec, router):
        return Told(declared(codec, spec.numel, router, world), "declared")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # exchanges that give up leave coroutines unused
        found = None if _writes(compress) else on_meta(compress, spec, Seat(0, world, router))
    return found or _scaled(compress, spec, router, world)


def _side_by_side(split: AbstractSplit, spec: BucketSpec, router: AbstractTopology, world: int) -> Told:
    """Pieces are exchanged together, round by round."""
    parts = [told(p.compressor, p.spec, router, world) for p in split.pieces(spec) if p.spec.numel]
    rounds = zip_longest(*(part.rounds for part in parts), fillvalue=())
    return Told(tuple(tuple(a for r in row for a in r) for row in rounds), ", ".join(sorted({p.how for p in parts})))


def _writes(compress: AbstractCompressor) -> bool:
    """Messages with content somewhere inside: shapes alone would not do, and a thousand messages take their time."""
    return isinstance(compress, AbstractOneShot) or any(map(_writes, compress.parts))


# ------------------------------------------------------------- on shapes alone


def on_meta(compress: AbstractCompressor, spec: BucketSpec, seat: Seat) -> Told | None:
    """None where the exchange needs to look at numbers."""
    meta = torch.device("meta")
    seat = replace(seat, device=meta)
    rounds: list[tuple[Asked, ...]] = []
    answer: Any = None
    try:
        state = compress.init(spec, seat)
        x = torch.empty(spec.numel, dtype=spec.dtype, device=meta)
        program = compress.exchange(x, state, spec, Turn(seat, LATE))
    except (RuntimeError, NotImplementedError, TypeError, ValueError):
        return None
    try:
        while True:
            ask = program.send(answer)
            answer = _same(ask)
            rounds.append(asked(ask))
    except StopIteration:
        return Told(tuple(rounds), "on meta tensors")
    except (RuntimeError, NotImplementedError, TypeError, ValueError, _NeedsContentError):
        return None
    finally:
        program.close()


class _NeedsContentError(Exception):
    pass


def _same(ask: Any) -> Any:
    match ask:
        case Mean() | Sum() | Max():
            return ask.tensor
        case Together(requests=requests):
            return tuple(_same(r) for r in requests)
        case _:
            raise _NeedsContentError


def asked(ask: Any) -> tuple[Asked, ...]:  # noqa: PLR0911  (a line a kind of request)
    match ask:
        case Mean(tensor=t) | Sum(tensor=t) | Max(tensor=t):
            return (Asked(Kind.REDUCE, t.nbytes),)
        case Gather(message=m, lengths=lengths):
            return (Asked(Kind.GATHER, max(lengths) if lengths else m.numel()),)
        case Deal(messages=messages):
            others = [m.numel() for m in messages]
            return (Asked(Kind.DEAL, sum(others) / max(1, len(others))),)
        case Swap(message=m, peers=peers):
            return (Asked(Kind.POST, m.numel(), len(peers)),)
        case Post(messages=messages):
            return (Asked(Kind.POST, sum(m.numel() for m in messages) / max(1, len(messages)), len(messages)),)
        case Serve(messages=messages):
            return (Asked(Kind.SERVE, sum(m.numel() for m in messages), len(messages)),)
        case Together(requests=requests):
            return tuple(a for r in requests for a in asked(r))
        case other:
            raise TypeError(f"{type(other).__name__} is not a request.")


# ------------------------------------------------------------- by what codes declare


def fixed_code(compress: AbstractCompressor) -> AbstractOneShot | None:
    """The code of fixed size that messages are written in, inside memories and other wrappers; None: there is none."""
    inner = compress
    while not isinstance(inner, AbstractOneShot):
        if len(inner.parts) != 1:
            return None
        inner = inner.parts[0]
    return None if inner.varies else inner


def declared(codec: AbstractOneShot, numel: int, router: AbstractTopology, world: int) -> tuple[tuple[Asked, ...], ...]:
    match router.route(codec.sparse, world):
        case Route.GATHER:
            return ((Asked(Kind.GATHER, codec.message_bytes(numel)),),)
        case Route.DEAL:
            sizes = [codec.message_bytes(b - a) for a, b in chunks(numel, world, codec.align)]
            return (Asked(Kind.DEAL, sum(sizes) / len(sizes)),), (Asked(Kind.GATHER, max(sizes)),)
        case Route.SERVER:
            servers = router.owners(world)
            count = max(1, min(servers, numel // SMALLEST_CHUNK, -(-numel // codec.align)))
            sizes = [codec.message_bytes(b - a) for a, b in chunks(numel, count, codec.align)]
            return ((Asked(Kind.SERVE, sum(sizes), count),),)


@lru_cache(maxsize=256)
def _believed(compress: AbstractCompressor, codec: AbstractOneShot, router: AbstractTopology) -> bool:
    spec = BucketSpec(0, ("x",), ((40, 250),))
    return sampled(compress, spec, router, 3).rounds == declared(codec, spec.numel, router, 3)


# ------------------------------------------------------------- by trying


def _scaled(compress: AbstractCompressor, spec: BucketSpec, router: AbstractTopology, world: int) -> Told:
    small = spec if spec.numel <= SAMPLE else matrix_of(SAMPLE, spec)
    few = min(world, MOST_WORKERS)
    share = spec.numel / max(1, small.numel)
    rounds = tuple(tuple(_at(a, share, few, world) for a in r) for r in _rounds(compress, small, router, few))
    if world > few:
        rounds += rounds[-1:] * _more_rounds(compress, router, len(rounds), world)
    return Told(rounds, f"sampled with {few} workers" + ("" if share == 1 else f", {small.numel} elements"))


def _more_rounds(compress: AbstractCompressor, router: AbstractTopology, rounds: int, world: int) -> int:
    """Trees (gtopk) take a round more each time workers double: seen between four and eight of them."""
    twice = _rounds(compress, BucketSpec(0, ("x",), ((40, 250),)), router, 2 * MOST_WORKERS)
    grown = len(twice) - rounds
    return max(0, grown) * max(0, (world - 1).bit_length() - (MOST_WORKERS - 1).bit_length())


def _at(a: Asked, share: float, few: int, world: int) -> Asked:
    """A handful of bytes (lengths, votes) stays what it is; chunks shrink as owners become more."""
    nbytes = a.nbytes if a.nbytes <= 64 else a.nbytes * share
    if a.kind is Kind.DEAL and a.nbytes > 64:
        nbytes *= few / world
    return replace(a, nbytes=nbytes)


def matrix_of(numel: int, like: BucketSpec) -> BucketSpec:
    """One square matrix of so many elements."""
    side = math.isqrt(numel)
    return BucketSpec(0, ("x",), ((side, side),), like.dtype)


@lru_cache(maxsize=256)
def _rounds(
    compress: AbstractCompressor, spec: BucketSpec, router: AbstractTopology, world: int
) -> tuple[tuple[Asked, ...], ...]:
    """All buckets that are larger than a sample have one and the same."""
    return sampled(compress, spec, router, world).rounds


def sampled(
    compress: AbstractCompressor, spec: BucketSpec, router: AbstractTopology, world: int, turns: int = 1
) -> Told:
    """A real exchange of noise in this process, the last of `turns`; rank 0 is watched."""
    seats = [Seat(rank, world, router) for rank in range(world)]
    states = [compress.init(spec, seat) for seat in seats]
    noise = [_noise(spec.numel, r).to(spec.dtype, copy=True) for r in range(world)]
    shelf, seen = Shelf(), Told((), "sampled")
    for step in range(turns):
        programs = [
            compress.exchange(x, state, spec, Turn(seat, LATE + step))
            for x, state, seat in zip(noise, states, seats, strict=True)
        ]
        seen, states = _watch(programs, shelf)
    return seen


@lru_cache(maxsize=8)
def _noise(numel: int, rank: int) -> Tensor:
    return Stream(7 + rank).normal(numel)


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
            rounds.append(asked(asks[0]))
            answers = answer_all(asks, links, None, shelf)
    return Told(tuple(rounds), "sampled", tuple(cpu)), states
