"""dist-EF-SGDM: Nesterov momentum, then error feedback that follows the learning rate, in both directions.

    m <- beta m + x;   p = x + beta m + (lr'/lr) e;   say C(p);   e <- p - C(p)       lr': of the step before
    the owner of a chunk does the same with its own error E:   q = mean + (lr'/lr) E

Zheng, Huang, Kwok, NeurIPS 2019, arXiv:1905.10936; with `sign`, whose blocks have a scale each, it is
dist-EF-blockSGDM (their blocks are tensors: `dist_ef(by_tensor(sign(block=...)))`). e is an error in units of
gradients: when the learning rate falls, what was owed at the old rate is worth more at the new one. The optimizer
must have momentum 0. Where a learning rate is 0 the error is kept as it is. beta = 0 and a constant rate are `ef`.
Weight decay stays with the optimizer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor, Traits
from laconic.compress.error_feedback import Memory
from laconic.compress.identity import Identity
from laconic.compress.memory import AbstractMemory, check_share, narrowed
from laconic.compress.one_shot import Owned
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged, Seat, Turn


class Followed(NamedTuple):
    momentum: Tensor
    core: Any
    lr: Tensor  # of the step before, a float64 on the CPU; 0 before the first


@dataclass(frozen=True)
class DistEF(AbstractMemory):
    """Nesterov momentum and an error memory that follows the learning rate."""

    inner: AbstractCompressor
    beta: float = 0.9

    name: ClassVar[str] = "dist_ef"
    paper: ClassVar[str] = "zheng2019communication"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self, "beta", self.beta)

    @property
    def owns_momentum(self) -> bool:
        return self.beta > 0

    @property
    def follows_lr(self) -> bool:
        return True

    @property
    def lossless(self) -> AbstractCompressor:
        return DistEF(Identity(), self.beta)

    def traits(self, spec: BucketSpec) -> Traits:
        claims = super().traits(spec)
        return claims if self.beta == 0 else replace(claims, delta=None)  # even the first x is said 1 + beta times

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Followed:
        return Followed(self.zeros(spec, seat), self.core.init(spec, seat), torch.zeros((), dtype=torch.float64))

    async def exchange(self, x: Tensor, state: Followed, spec: BucketSpec, turn: Turn) -> Exchanged:
        m = torch.add(x, state.momentum, alpha=self.beta)
        before = float(state.lr)
        ratio = before / turn.lr if before and turn.lr else 1.0
        owed = state.core if ratio == 1 else scaled(state.core, ratio)
        out = await self.say(torch.add(x, m, alpha=self.beta), owed, spec, turn)
        lr = torch.tensor(turn.lr or before, dtype=torch.float64)
        return narrowed(out, x.dtype, Followed(m, out.state, lr))


def scaled(state: Any, ratio: float) -> Any:
    """The same state with every error in it times ratio: a rank's own, and what it owes as owner of a chunk."""
    match state:
        case Memory(residual=e, inner=inner):
            return Memory(e * ratio, scaled(inner, ratio))
        case Owned(error=e):
            return state._replace(error=e * ratio)
        case tuple():
            children = [scaled(child, ratio) for child in state]
            return type(state)(*children) if "_fields" in type(state).__dict__ else tuple(children)
        case _:
            return state
