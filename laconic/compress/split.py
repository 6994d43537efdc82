"""Some tensors of a bucket one way, some another; all of them side by side, so rounds are not added up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from laconic.compress.base import AbstractCompressor, Grain, Traits, vaguest
from laconic.core.bucket import BucketSpec, flatten
from laconic.core.exchange import Exchange, Exchanged, Request, Seat, Together, Turn


@dataclass(frozen=True)
class Piece:
    """Which tensors of a bucket (by position) go through which compressor, as a bucket of their own."""

    at: tuple[int, ...]
    spec: BucketSpec
    compressor: AbstractCompressor


class AbstractSplit(AbstractCompressor, ABC):
    """Concrete classes say how a bucket is divided; the rest is final."""

    @abstractmethod
    def pieces(self, spec: BucketSpec, seat: Seat | None = None) -> tuple[Piece, ...]:
        """Every tensor is in one of them; pieces may be empty. Without a seat: whoever runs it."""

    def traits(self, spec: BucketSpec) -> Traits:
        return joined([p.compressor.traits(p.spec) for p in self.pieces(spec) if p.spec.numel])

    def payload_bits(self, spec: BucketSpec) -> int:
        return sum(p.compressor.payload_bits(p.spec) for p in self.pieces(spec))

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> tuple[Any, ...]:
        return tuple(p.compressor.init(p.spec, seat, remember=remember) for p in self.pieces(spec, seat))

    async def exchange(self, x: Tensor, state: tuple[Any, ...], spec: BucketSpec, turn: Turn) -> Exchanged:
        pieces, views = self.pieces(spec, turn.seat), spec.views(x)
        outs = await jointly(
            *(
                _program(p, flatten([views[i] for i in p.at], x), inner, turn)
                for p, inner in zip(pieces, state, strict=True)
            )
        )
        mean = merged(pieces, [out.mean for out in outs], x)
        states = tuple(out.state for out in outs)
        return Exchanged(mean, lambda: merged(pieces, [out.sent for out in outs], x), states)


def merged(pieces: Sequence[Piece], flats: Sequence[Tensor], like: Tensor) -> Tensor:
    """The flat pieces back in the order of the bucket."""
    views = {i: v for p, flat in zip(pieces, flats, strict=True) for i, v in zip(p.at, p.spec.views(flat), strict=True)}
    return flatten([views[i] for i in sorted(views)], like)


def joined(of: Sequence[Traits]) -> Traits:
    """What can be claimed of several that each do a part of a bucket."""
    if not of:
        return Traits(unbiased=True, omega=0.0, delta=1.0, linear=True, grain=Grain.TENSOR)
    unbiased = all(t.unbiased for t in of)
    omegas = [t.omega for t in of if t.omega is not None]
    deltas = [t.contraction for t in of if t.contraction is not None]
    return Traits(
        unbiased=unbiased,
        omega=max(omegas) if unbiased and len(omegas) == len(of) else None,
        delta=min(deltas) if len(deltas) == len(of) else None,
        linear=all(t.linear for t in of),
        rounds=max(t.rounds for t in of),
        grain=Grain.TENSOR,
        remembers=any(t.remembers for t in of),
        leaks=any(t.leaks for t in of),
        mean=all(t.mean for t in of),
        zero=all(t.zero for t in of),
        size=vaguest(t.size for t in of),
    )


async def jointly(*programs: Exchange) -> list[Exchanged]:
    """Run exchanges side by side: what they ask in the same round is asked together."""
    done: dict[int, Exchanged] = {}
    answers: dict[int, Any] = dict.fromkeys(range(len(programs)))
    try:
        while len(done) < len(programs):
            asks: dict[int, Request] = {}
            for i, answer in answers.items():
                try:
                    asks[i] = programs[i].send(answer)
                except StopIteration as stop:
                    done[i] = stop.value
            if asks:
                replies = await Together(tuple(asks.values()))
                answers = dict(zip(asks, replies, strict=True))
    finally:
        for program in programs:
            program.close()  # one that never started would complain when collected
    return [done[i] for i in range(len(programs))]


def _program(piece: Piece, x: Tensor, state: Any, turn: Turn) -> Exchange:
    """Nothing is asked about an empty piece."""
    return piece.compressor.exchange(x, state, piece.spec, turn) if piece.spec.numel else _silent(x, state)


async def _silent(x: Tensor, state: Any) -> Exchanged:
    return Exchanged(x, x, state)
