"""By shape: one compressor for matrices, another for the rest; both share their rounds.

    by_shape(powersgd(4), rest=fp16)

A matrix is a tensor of two or more dimensions: weights of linear, convolution and embedding layers. The rest
(biases, norm scales) is small and easily hurt. The two run side by side, so rounds are not added up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from torch import Tensor

from laconic.compress.base import AbstractCompressor, Grain, Traits
from laconic.compress.identity import Identity
from laconic.core.bucket import BucketSpec, flatten
from laconic.core.exchange import Exchange, Exchanged, Request, Seat, Together, Turn


class Both(NamedTuple):
    matrices: Any
    rest: Any


@dataclass(frozen=True)
class ByShape(AbstractCompressor):
    """Treat matrices and the rest of a bucket differently."""

    matrices: AbstractCompressor
    rest: AbstractCompressor = field(default=Identity())

    name: ClassVar[str] = "by_shape"

    def _split(self, spec: BucketSpec) -> tuple[list[int], BucketSpec, BucketSpec]:
        big = [i for i, s in enumerate(spec.shapes) if len(s) >= 2]
        small = [i for i, s in enumerate(spec.shapes) if len(s) < 2]
        base = 2 * spec.part + 1  # parts of parts get numbers of their own
        return big, spec.subset(big, base), spec.subset(small, base + 1)

    def traits(self, spec: BucketSpec) -> Traits:
        _, big, small = self._split(spec)
        of = [c.traits(s) for c, s in ((self.matrices, big), (self.rest, small)) if s.numel]
        if not of:
            return Traits(unbiased=True, omega=0.0, delta=1.0, linear=True)
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
        )

    def payload_bits(self, spec: BucketSpec) -> int:
        _, big, small = self._split(spec)
        return self.matrices.payload_bits(big) + self.rest.payload_bits(small)

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Both:
        _, big, small = self._split(spec)
        return Both(
            self.matrices.init(big, seat, remember=remember),
            self.rest.init(small, seat, remember=remember),
        )

    async def exchange(self, x: Tensor, state: Both, spec: BucketSpec, turn: Turn) -> Exchanged:
        at, big, small = self._split(spec)
        views = spec.views(x)
        matrices = flatten([views[i] for i in at], x)
        rest = flatten([v for i, v in enumerate(views) if i not in set(at)], x)
        a, b = await _jointly(
            _program(self.matrices, matrices, state.matrices, big, turn),
            _program(self.rest, rest, state.rest, small, turn),
        )

        def merge(of_big: Tensor, of_small: Tensor) -> Tensor:
            bigs, smalls = iter(big.views(of_big)), iter(small.views(of_small))
            chosen = set(at)
            return flatten([next(bigs) if i in chosen else next(smalls) for i in range(len(views))], x)

        return Exchanged(merge(a.mean, b.mean), lambda: merge(a.sent, b.sent), Both(a.state, b.state))


def _program(compressor: AbstractCompressor, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchange:
    """A bucket without one kind of tensor asks nothing about it."""
    return compressor.exchange(x, state, spec, turn) if spec.numel else _silent(x, state)


async def _silent(x: Tensor, state: Any) -> Exchanged:
    return Exchanged(x, x, state)


async def _jointly(*programs: Exchange) -> list[Exchanged]:
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
