"""What a worker's own machine adds: cores that its threads share, and what coding and sending cost them.

`cores` are this worker's share: four ranks on two cores have half a core each, and a step cannot be shorter than the
work of all its threads on that half.

Coding seconds of an exchange of N elements among n workers, E to encode and D to decode and add an element:

    gather        E N, then n D N          everyone reads everyone
    deal          E N, then D N + E N/n, then D N
    server        E N, then D N
    summed        E N, then D N            casts and low rank; `none` costs only `touch`
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from laconic.compress import AbstractCompressor, Filtered, Identity, Selective
from laconic.compress.one_shot import AbstractOneShot
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Seat
from laconic.drive.asked import Kind, Told

CHOOSY = (Filtered, Selective)  # compress some tensors with their inner one, and leave the others as they are
NOMINAL = 2e-9  # seconds an element: 2 GB/s of float32


@dataclass(frozen=True)
class Coding:
    encode_s: float = NOMINAL  # an element
    decode_s: float = NOMINAL  # an element of each message that is read
    fixed_s: float = 0.0  # an exchange, whatever its size
    tensor_s: float = 0.0  # a tensor of an exchange: low rank works matrix by matrix


@dataclass(frozen=True)
class LaneCost:
    """Of a compressed exchange, once, beside what tables say of its rounds: threads that hand it on."""

    cpu_s: float = 0.0
    wait_s: float = 0.0


FREE = LaneCost()


@dataclass(frozen=True)
class Machine:
    cores: float = math.inf  # of one worker
    crowded: bool = False  # are there more ranks than cores? Then rounds wait for each other's turns on them
    overlap: float = 1.0  # what is left of a line's speed while the model is computed
    lanes: int = 2  # exchanges under way at once
    touch_s: float = 0.0  # a byte of gradient: copy into buckets, look for NaN, write back
    send_cpu_s: float = 0.0  # a byte sent, on a core
    message_cpu_s: float = 0.0  # a message, on a core
    votes: bool = True  # do ranks vote at the end of backward, as Laconic's do? DDP's do not
    step_s: float = 0.0  # whatever else a distributed step costs a core
    exchange_s: float = 0.0  # whatever else an exchange does
    sum_wait_s: float = 0.0  # a plain sum waits for threads that sleep, besides its latency
    lane_costs: Mapping[str, LaneCost] = field(default_factory=dict)  # by what an exchange asks for first
    coding: Coding = Coding()
    codings: Mapping[str, Coding] = field(default_factory=dict)  # by the compressor's text

    def lane_cost(self, asks: Told) -> LaneCost:
        """A swap with neighbours wakes as many threads as a gather does."""
        kinds = [ask.kind.value for ask in asks.rounds[0]] if asks.rounds else []
        costs = self.lane_costs
        return next((costs[kind] for kind in kinds if kind in costs), costs.get(Kind.GATHER.value, FREE))

    def code(self, compress: AbstractCompressor) -> Coding:
        if compress == Identity():
            return Coding(0.0, 0.0)
        return self.codings.get(str(timed_as(compress)), self.coding)

    def timed(self, compress: AbstractCompressor) -> bool:
        """Was its coding measured, or is there none?"""
        return compress == Identity() or str(timed_as(compress)) in self.codings

    def seconds(self, compress: AbstractCompressor, spec: BucketSpec, told: Told, seat: Seat) -> tuple[float, ...]:
        """Before each round, and after the last."""
        said = compress.pieces(spec, seat)[0].spec if isinstance(compress, CHOOSY) else spec
        code = self.fitting(compress, said.numel, told)
        out = spread(code, said.numel, told, seat.world)
        return (out[0] + code.tensor_s * len(said.shapes), *out[1:])

    def fitting(self, compress: AbstractCompressor, numel: int, told: Told) -> Coding:
        """Who reads a sparse message touches only what was sent; what was measured knows that already."""
        code = self.code(compress)
        if self.timed(compress) or not is_sparse(compress) or not numel:
            return code
        longest = max((a.nbytes for r in told.rounds for a in r if a.kind is Kind.GATHER), default=4.0 * numel)
        return replace(code, decode_s=code.decode_s * min(1.0, longest / (4.0 * numel)))


def timed_as(compress: AbstractCompressor) -> AbstractCompressor:
    """Who writes the messages: what is left dense takes no time."""
    return compress.inner if isinstance(compress, CHOOSY) else compress


def is_sparse(compress: AbstractCompressor) -> bool:
    return (isinstance(compress, AbstractOneShot) and compress.sparse) or any(map(is_sparse, compress.parts))


def spread(c: Coding, numel: int, told: Told, world: int) -> tuple[float, ...]:
    kinds = [{a.kind for a in r} for r in told.rounds]
    if not kinds:
        return (0.0,)
    out = [c.fixed_s + c.encode_s * numel] + [0.0] * len(kinds)
    whole = [a.nbytes for r in told.rounds for a in r if a.kind is Kind.DEAL]
    if whole:
        middle = next(i for i, k in enumerate(reversed(kinds)) if Kind.DEAL in k)
        out[len(kinds) - middle] += c.decode_s * numel + c.encode_s * numel / world
        out[-1] += c.decode_s * numel
    elif Kind.GATHER in kinds[-1]:
        out[-1] += world * c.decode_s * numel
    else:
        out[-1] += c.decode_s * numel
    return tuple(out)
