"""One worker's updates, each in a message that stands by itself: for servers and neighbours that hear workers one by
one.

    p = gamma x + beta e;   say C(p);   e <- p - d D(C(p))

What suits: `none`, codes that one worker can write and anybody can read (quantizers, sparsifiers, chains and codings
of them), alone or in an error memory (`ef`, `ef_decay`), which then stays with the worker. What asks for sums over
all workers (PowerSGD, sketches, votes) does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from laconic.compress.base import NOMINAL, AbstractCompressor, as_float32
from laconic.compress.ef_decay import EFDecay
from laconic.compress.error_feedback import ErrorFeedback
from laconic.compress.identity import Identity
from laconic.compress.one_shot import AbstractOneShot, Desk, Keeping
from laconic.compress.served import ServerClerk
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Seat, Turn


@dataclass(frozen=True)
class Solo:
    """How updates of one bucket are said; `codec` None: whole."""

    spec: BucketSpec
    codec: AbstractOneShot | None
    remembers: bool = False
    beta: float = 1.0
    gamma: float = 1.0
    damping: float = 1.0

    def init(self, device: torch.device) -> Tensor:
        """The error memory."""
        return torch.zeros(self.spec.numel if self.remembers else 0, device=device)

    def write(self, x: Tensor, residual: Tensor, turn: Turn) -> tuple[Tensor, Tensor]:
        """A message, and the error memory after it."""
        assert self.codec is not None, "whole updates need no message"
        desk, x = Desk(self.codec, self._flat, turn), as_float32(x)
        if not self.remembers:
            return desk.write(x, 0), residual
        left = torch.empty_like(residual)
        keep = Keeping(residual * self.beta if self.beta != 1 else residual, left, self.damping)
        return desk.write(x if self.gamma == 1 else x * self.gamma, 0, keep), left

    def read(self, message: Tensor, turn: Turn) -> Tensor:
        """What a message, written by anybody at that turn, stands for."""
        assert self.codec is not None, "whole updates need no message"
        return Desk(self.codec, self._flat, turn).read([(message, self.spec.numel, 0)], message, self.damping)

    def clerk(self, seat: Seat) -> ServerClerk:
        """Who reads it on a server, without the damping."""
        assert self.codec is not None, "whole updates need no clerk"
        numbers = (self.spec.numel, 0, 1, seat.world, self.spec.id, self.spec.part, seat.seed, seat.checksum)
        return ServerClerk(self.codec, *numbers, remember=False, damping=1.0)

    @property
    def _flat(self) -> BucketSpec:
        """As the server knows it, who has never heard of tensors."""
        return BucketSpec(self.spec.id, ("chunk",), ((self.spec.numel,),), part=self.spec.part)


def solo(compress: AbstractCompressor, spec: BucketSpec, who: str) -> Solo:
    """PlanError where workers could not speak one by one; `who` wants them to."""
    if compress == Identity():
        return Solo(spec, None)
    inner, beta, gamma = compress, 1.0, 1.0
    if isinstance(compress, ErrorFeedback):
        inner = compress.inner
    elif isinstance(compress, EFDecay):
        inner, beta, gamma = compress.inner, compress.beta, compress.gamma
    own = isinstance(inner, AbstractOneShot) and type(inner).exchange is AbstractOneShot.exchange
    if not own or not inner.traits(spec).mean or compress.owns_momentum:
        raise PlanError(
            f"{who} with {compress}: workers are heard one by one, but {inner} asks for sums or votes over all. "
            f"Use a quantizer or a sparsifier, alone or inside ef(...): ef(topk(0.01)), qsgd(bits=4)."
        )
    assert isinstance(inner, AbstractOneShot), "just looked at"
    if inner is compress:
        return Solo(spec, inner)
    return Solo(spec, inner, True, beta, gamma, inner.traits(spec).damping)


def check(compress: AbstractCompressor, who: str) -> None:
    solo(compress, NOMINAL, who)
