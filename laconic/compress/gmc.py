"""Global momentum compression: the momentum of all, kept by each, instead of everybody's own.

    p = e + x + beta M;   say C(p);   e <- p - C(p);   M <- the mean that came back

Zhao et al., 2019, arXiv:1905.12948. Printed as x - (beta/lr) (w_t - w_{t-1}), with the learning rate that made the
step: under plain SGD that difference is -lr M, so the last mean M says the same and no learning rate is needed. (A
survey prints beta without 1/lr, which is not heavy ball.) M is equal on all ranks. Without compression it is exactly
momentum SGD, M <- beta M + mean x; the optimizer must have momentum 0. Differs: the optimizer's weight decay is not
part of M.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor
from laconic.compress.identity import Identity
from laconic.compress.memory import AbstractMemory, Kept, check_share, narrowed
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged, Turn


@dataclass(frozen=True)
class GMC(AbstractMemory):
    """Add the momentum of all ranks' mean before compression; the optimizer has none."""

    inner: AbstractCompressor
    beta: float = 0.9

    name: ClassVar[str] = "gmc"
    paper: ClassVar[str] = "zhao2019global"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self, "beta", self.beta)

    @property
    def owns_momentum(self) -> bool:
        return True

    @property
    def lossless(self) -> AbstractCompressor:
        return GMC(Identity(), self.beta)

    async def exchange(self, x: Tensor, state: Kept, spec: BucketSpec, turn: Turn) -> Exchanged:
        out = await self.say(torch.add(x, state.own, alpha=self.beta), state.core, spec, turn)
        return narrowed(out, x.dtype, Kept(out.mean.clone(), out.state))
