"""What an exchange asks for, in bytes, for any number of workers: found from the coroutine itself, without a network.

    on meta tensors   messages that are summed on the way: the exchange runs on shapes alone
    declared          codes of fixed size: `message_bytes`, by the route that the topology takes; believed only after a
                      small exchange among three workers has asked for exactly the same
    sampled           whatever else there is: a real exchange of noise among a few workers, scaled (sampling.py)

Virtual time (laconic.sim) turns requests into seconds. `Told.cpu_s` is what one worker computed between its requests in
a sample, for those who want to know what coding costs on this machine.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import torch

from laconic.compress import CGX, AbstractCompressor, ErrorFeedback, Identity
from laconic.compress.one_shot import AbstractOneShot, chunks
from laconic.compress.served import chunk_count
from laconic.compress.split import AbstractSplit, Piece
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Max, Mean, Route, Seat, Sum, Together, Turn
from laconic.drive.asked import Asked, Kind, Told, asked
from laconic.drive.sampling import LATE, allotted, sampled, scaled
from laconic.topology import AbstractTopology

STEPS = range(LATE, LATE + 500, 51)  # odd and even ones, all over the longest period that we know

SMALL, FEW = BucketSpec(0, ("x",), ((40, 250),)), 3


def told(compress: AbstractCompressor, spec: BucketSpec, router: AbstractTopology, world: int) -> Told:
    """What a worker among `world` asks for to exchange this bucket."""
    if world == 1 and compress == Identity():
        return Told((), "declared")
    return _told(compress, replace(spec, id=0, followed_by=0), router, world)


@lru_cache(maxsize=1024)
def _told(compress: AbstractCompressor, spec: BucketSpec, router: AbstractTopology, world: int) -> Told:
    split = compress.inner if isinstance(compress, ErrorFeedback) else compress
    if isinstance(split, AbstractSplit):
        return _side_by_side(split.pieces(spec, Seat(0, world, router)), router, world)
    if isinstance(split, CGX):
        return _side_by_side(split.pieces(spec, allotted(split, spec)), router, world)
    codec = fixed_code(compress)
    if codec is not None and _believed(compress, codec, router):
        return Told(declared(codec, spec.numel, router, world), "declared")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # exchanges that give up leave coroutines unused
        found = None if _writes(compress, router) else _by_shapes(compress, spec, Seat(0, world, router))
    return found or scaled(compress, spec, router, world)


def _side_by_side(pieces: Sequence[Piece], router: AbstractTopology, world: int) -> Told:
    """Pieces are exchanged together, round by round."""
    parts = [told(p.compressor, p.spec, router, world) for p in pieces if p.spec.numel]
    rounds = zip_longest(*(part.rounds for part in parts), fillvalue=())
    return Told(tuple(tuple(a for r in row for a in r) for row in rounds), ", ".join(sorted({p.how for p in parts})))


@lru_cache(maxsize=256)
def _writes(compress: AbstractCompressor, router: AbstractTopology) -> bool:
    """Messages with content somewhere inside, as three workers show: shapes alone would not do, and a thousand messages
    take their time."""
    return on_meta(compress, SMALL, Seat(0, FEW, router)) is None


# ------------------------------------------------------------- on shapes alone


def _by_shapes(compress: AbstractCompressor, spec: BucketSpec, seat: Seat) -> Told | None:
    """On average, where steps say the same in other sizes: by turns (gradzip), or for some time (gradiveq)."""
    steps = STEPS if _takes_turns(compress, seat) else STEPS[:1]
    seen = [on_meta(compress, spec, seat, step) for step in steps]
    first, told = seen[0], [one for one in seen if one is not None]
    if first is None or any(one.kinds != first.kinds for one in told):
        return first
    rounds = zip(*(one.rounds for one in told), strict=True)
    return replace(first, rounds=tuple(tuple(map(_mean, zip(*row, strict=True))) for row in rounds))


@lru_cache(maxsize=256)
def _takes_turns(compress: AbstractCompressor, seat: Seat) -> bool:
    return len({on_meta(compress, SMALL, seat, step) for step in STEPS}) > 1


def _mean(asks: Sequence[Asked]) -> Asked:
    return replace(asks[0], nbytes=sum(a.nbytes for a in asks) / len(asks))


def on_meta(compress: AbstractCompressor, spec: BucketSpec, seat: Seat, step: int = LATE) -> Told | None:
    """None where the exchange needs to look at numbers."""
    meta = torch.device("meta")
    seat = replace(seat, device=meta)
    rounds: list[tuple[Asked, ...]] = []
    answer: Any = None
    try:
        state = compress.init(spec, seat)
        x = torch.empty(spec.numel, dtype=spec.dtype, device=meta)
        program = compress.exchange(x, state, spec, Turn(seat, step))
    except (RuntimeError, NotImplementedError, TypeError, ValueError):
        return None
    try:
        while True:
            ask = program.send(answer)
            answer = _same(ask)
            rounds.append(asked((ask,)))
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


# ------------------------------------------------------------- by what codes declare


def fixed_code(compress: AbstractCompressor) -> AbstractOneShot | None:
    """The code of fixed size that messages are written in, inside memories and other wrappers; None: there is none."""
    inner = compress
    while not isinstance(inner, AbstractOneShot):
        if len(inner.parts) != 1:
            return None
        inner = inner.parts[0]
    return None if inner.varies else inner


@lru_cache(maxsize=4096)
def declared(codec: AbstractOneShot, numel: int, router: AbstractTopology, world: int) -> tuple[tuple[Asked, ...], ...]:
    match router.route(codec.sparse, world):
        case Route.GATHER:
            return ((Asked(Kind.GATHER, codec.message_bytes(numel)),),)
        case Route.DEAL:
            sizes = [codec.message_bytes(b - a) for a, b in chunks(numel, world, codec.align)]
            return (Asked(Kind.DEAL, sum(sizes) / len(sizes)),), (Asked(Kind.GATHER, max(sizes)),)
        case Route.SERVER:
            count = chunk_count(numel, router.owners(world), codec.align)
            sizes = [codec.message_bytes(b - a) for a, b in chunks(numel, count, codec.align)]
            return ((Asked(Kind.SERVE, sum(sizes), count),),)


@lru_cache(maxsize=256)
def _believed(compress: AbstractCompressor, codec: AbstractOneShot, router: AbstractTopology) -> bool:
    return sampled(compress, SMALL, router, FEW).rounds == declared(codec, SMALL.numel, router, FEW)
