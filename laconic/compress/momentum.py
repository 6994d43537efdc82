"""Momentum correction: momentum before compression, so that what waits in the memory has its momentum too.

    u <- beta u + x;   v <- v + u;   say C(v);   v <- v - C(v)
    sparse C: u_j <- 0 where C(v)_j was said                           (factor masking)

Lin, Han, Mao, Wang, Dally (DGC), ICLR 2018, arXiv:1712.01887. Plain error feedback sits before the optimizer's
momentum: what waits gathers none meanwhile and starts to when it is said, late, which costs strong compressors
accuracy. Here momentum is in the exchange and the optimizer must have momentum 0 (`distribute` refuses another).
Masking stops stale momentum of elements just said. Dense codes (sign, qsgd, low rank) say every element, where
masking would end all momentum: it is done only where every compressor inside is sparse, and not while
`dense_first` is dense. Small tensors that travel dense get plain momentum. Under `local(h)` it is momentum of model
deltas, and the optimizer may have its own. Differs: clipping and warm-up are parts of their own (`clipped`,
`warmup`), selection is C's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor, AbstractSelector
from laconic.compress.identity import Identity
from laconic.compress.memory import AbstractMemory, Kept, check_share, narrowed
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.phased import AbstractPhased
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Turn


@dataclass(frozen=True)
class Momentum(AbstractMemory):
    """Momentum and error memory before compression; the optimizer has none."""

    inner: AbstractCompressor
    beta: float = 0.9
    masking: str = "sparse"

    name: ClassVar[str] = "momentum"
    paper: ClassVar[str] = "lin2018deep"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self, "beta", self.beta)
        if self.masking not in ("sparse", "never"):
            raise PlanError(f"momentum(masking={self.masking!r}): it is 'sparse' (where that helps) or 'never'.")

    @property
    def owns_momentum(self) -> bool:
        return True

    @property
    def lossless(self) -> AbstractCompressor:
        return Momentum(Identity(), self.beta)

    async def exchange(self, x: Tensor, state: Kept, spec: BucketSpec, turn: Turn) -> Exchanged:
        u = torch.add(x, state.own, alpha=self.beta)
        out = await self.say(u, state.core, spec, turn)
        if self.masking == "sparse" and chooses(self.inner, turn.step):
            u = torch.where(out.sent == 0, u, 0.0)
        elif self.inner == Identity():
            u = u.clone()  # it reports the very tensor as sent
        return narrowed(out, x.dtype, Kept(u, out.state))


def chooses(compressor: AbstractCompressor, step: int) -> bool:
    """Does it, at this step, say only chosen elements?"""
    if isinstance(compressor, AbstractPhased):
        return chooses(compressor.at(step), step)
    if isinstance(compressor, AbstractSelector) or (isinstance(compressor, AbstractOneShot) and compressor.sparse):
        return True
    return bool(compressor.parts) and all(chooses(part, step) for part in compressor.parts)
