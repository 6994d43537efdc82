"""Double quantization's rule for models: as many bits as keep the error within a share of what has changed.

    b = the fewest of 2..8 with  E|Q_b(d) - d|^2 <= mu |d|^2,  or d itself;    d = x - x_ref

Yu, Wu, Huang, AsyLPG, NeurIPS 2019, arXiv:1805.10111. Of that paper only the precision loss control of what is pulled:
its asynchronous SVRG is for convex problems, and a server is a topology. Meant for differences of models, as `local(H)`
exchanges them (x_ref is where everyone last met); on gradients it is QSGD of guaranteed relative error. The variance
is computed for the d at hand, exactly. UNCERTAIN: how the paper grows its bits. All ranks use the most that any of them
needs (one round of 4 bytes); messages are gathered, as an owner's second rounding would not keep the promise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.agreed_bits import RAW, AbstractAgreedBits
from laconic.compress.base import Grain, Size, Traits
from laconic.compress.routed import seat_on, turn_on
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Route, Router, Seat, Turn
from laconic.kernels import reference_quant as quant


@dataclass(frozen=True)
class AsyLPG(AbstractAgreedBits):
    """QSGD with as many bits as keep the error within a share mu of the norm."""

    mu: float = 0.05
    block: int = 256

    name: ClassVar[str] = "asylpg"
    paper: ClassVar[str] = "yu2019double"

    def __post_init__(self) -> None:
        if not 0 <= self.mu < 1:
            raise PlanError(f"asylpg(mu={self.mu!r}): the error is a share of the squared norm, 0 to below 1.")
        self.check_block()

    @property
    def fewest(self) -> int:
        return 2

    @property
    def routed(self) -> bool:
        return False

    def gathers(self, router: Router, world: int) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(True, self.mu, None, linear=False, rounds=2, grain=Grain.BUCKET, size=Size.MOST)

    def payload_bits(self, spec: BucketSpec) -> int:
        return max(8 * spec.nbytes, self.codec(8).payload_bits(spec))

    def wanted(self, x: Tensor, spec: BucketSpec, turn: Turn) -> int:
        rows = kernel.blocks(x, self.block)
        scale = quant.largest_of(rows).double().unsqueeze(1)
        r = rows.double() / quant.divisor(scale)
        most = self.mu * float((r.pow(2) * scale.pow(2)).sum())
        for bits in range(2, 9):
            s = (1 << (bits - 1)) - 1
            f = (r * s).frac().abs()
            if float((f * (1 - f) * (scale / s).pow(2)).sum()) <= most:
                return bits
        return RAW

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Any:
        return super().init(spec, seat_on(Route.GATHER, seat), remember=remember)

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        return await super().exchange(x, state, spec, turn_on(Route.GATHER, turn))
