"""A compressor's messages between neighbours, who decode each one by itself instead of averaging over everybody.

What suits: whatever writes a message for one vector (quantizers, sparsifiers, casts, chains and codings of them) and
keeps no memory of its own, since the mixing has one. What asks for sums or votes over all workers does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from laconic.compress.base import NOMINAL, AbstractCodec, AbstractCompressor, Draw, as_float32, clip
from laconic.compress.cast import AbstractCast
from laconic.compress.identity import Identity
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.shared_mask import AbstractSharedMask
from laconic.core import memory
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PayloadError, PlanError
from laconic.core.exchange import Turn
from laconic.core.payload import Label, Part, method_tag, pack, unpack
from laconic.topology.mixing.base import AbstractMixing, Desk, Plain, wide


def check(compress: AbstractCompressor, by: AbstractMixing) -> None:
    """PlanError where neighbours could not use these messages."""
    if compress == Identity():
        return
    where, traits = f"{by.name} with {compress}", compress.traits(NOMINAL)
    if not by.compresses:
        raise PlanError(
            f"{where}: {by.name} mixes whole models, and what is left out of a model is not zero. Leave {compress} "
            f"out, or mix by choco, which sends compressed differences."
        )
    if traits.remembers or compress.owns_momentum or compress.follows_lr:
        raise PlanError(f"{where}: {by.name} keeps its own memory of what was not sent. Use what is inside {compress}.")
    if _codec(compress) is None or not traits.mean:
        raise PlanError(
            f"{where}: {compress} asks for sums over all workers, but gossip talks to neighbours only. Use a quantizer "
            f"or a sparsifier, for example topk(0.01), qsgd(bits=4) or sign."
        )
    if by.unbiased and not traits.unbiased:
        raise PlanError(
            f"{where}: {by.name} has no memory for what {compress} always leaves out. Use an unbiased compressor "
            f"such as qsgd(bits=4), or choco, which takes any."
        )
    if traits.contraction is None and traits.omega is None:
        raise PlanError(f"{where}: {compress} promises no bound that {by.name} could rely on.")


def check_alone(compress: AbstractCompressor, who: str) -> None:
    """PlanError where a worker could not say its update by itself in one message."""
    traits = compress.traits(NOMINAL)
    if compress == Identity():
        return
    if traits.remembers or compress.owns_momentum or compress.follows_lr:
        raise PlanError(f"{who} with {compress}: {who} remembers what was not sent. Use what is inside {compress}.")
    if _codec(compress) is None or not traits.mean or traits.contraction is None:
        raise PlanError(
            f"{who} with {compress}: workers speak one by one, and {compress} asks for sums over all or promises no "
            f"bound. Use a quantizer or a sparsifier, for example topk(0.01), qsgd(bits=4) or sign."
        )


def alone(compress: AbstractCompressor, spec: BucketSpec, turn: Turn) -> Desk:
    """Where one worker's message of this bucket and turn is written and read, for whoever wants it."""
    codec = _codec(compress)
    if codec is None:
        return Plain(spec, turn, wide(spec), spec.numel)
    return Letters(codec, spec, turn, compress.traits(spec).damping)


def desk(compress: AbstractCompressor, by: AbstractMixing, spec: BucketSpec, turn: Turn) -> Desk:
    """Where this bucket's messages of this round are written and read."""
    codec = _codec(compress)
    if codec is None:
        return Plain(spec, turn, wide(spec), spec.numel)
    damping = 1.0 if by.unbiased else compress.traits(spec).damping
    return Letters(codec, spec, turn, damping)


class Masked(AbstractCodec):
    """The values at positions that everyone derives from shared chance; as many as mine."""

    def __init__(self, mask: AbstractSharedMask) -> None:
        self.mask = mask

    def __str__(self) -> str:
        return str(self.mask)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return (Part(torch.float32, aux),)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        at = self.mask.select(x, draw)
        return at.numel(), (clip(x[at] * self.mask.scale(x.numel()), torch.float32),)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = torch.zeros(numel, device=parts[0].device)
        at = self.mask.select(out, draw)
        if at.numel() != aux:
            raise PayloadError(f"A message of {aux} values came where {at.numel()} were drawn.")
        return out.index_copy_(0, at.to(torch.int64), parts[0])


def _codec(compress: AbstractCompressor) -> AbstractOneShot | AbstractCast | Masked | None:
    if isinstance(compress, AbstractCast):
        return compress
    if isinstance(compress, AbstractSharedMask) and type(compress).exchange is AbstractSharedMask.exchange:
        return Masked(compress)
    own = isinstance(compress, AbstractOneShot) and type(compress).exchange is AbstractOneShot.exchange
    return compress if own else None  # type: ignore[return-value]  # `own` says that it is one


@dataclass(frozen=True)
class Letters:
    codec: AbstractOneShot | AbstractCast | Masked
    spec: BucketSpec
    turn: Turn
    damping: float

    @property
    def most(self) -> int | None:
        if isinstance(self.codec, AbstractOneShot) and self.codec.varies:
            return self.codec.most_bytes(self.spec.numel)
        return None

    def write(self, x: Tensor) -> Tensor:
        aux, parts = self.codec.encode(as_float32(x), self._draw)
        return pack(self._label, aux, parts, checksum=self._checksum)

    def read(self, message: Tensor) -> Tensor:
        codec: AbstractCodec = self.codec
        aux, parts = unpack(message, self._label, codec.layout)
        out = memory.empty(self.spec.numel, device=message.device)
        codec.put(out, parts, aux, self._draw, self.damping)
        return out

    @property
    def _draw(self) -> Draw:
        return Draw(self.turn.own(self.spec), self.turn.shared(self.spec))

    @property
    def _label(self) -> Label:
        tag = self.codec.dialect if isinstance(self.codec, AbstractOneShot) else str(self.codec)
        return Label(method_tag(tag), self.spec.id, self.turn.step, self.spec.numel)

    @property
    def _checksum(self) -> bool:
        return self.turn.seat.checksum or (isinstance(self.codec, AbstractOneShot) and self.codec.checked)
