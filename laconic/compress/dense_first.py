"""Dense first: no compression in the first steps, then the compressor.

    C_t(x) = x  for t < steps,   C(x)  afterwards

1-bit SGD starts after about one epoch (Seide et al., Interspeech 2014), PowerSGD after 100 to 1000 steps (Vogels et
al., NeurIPS 2019, arXiv:1905.13727, as in torch's hook). Stands inside a memory: `ef(dense_first(sign))`,
`momentum(dense_first(topk(0.01)))`. Around `ef(...)` it works too; around what owns momentum it is refused, since
momentum would start anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.compress.base import AbstractCompressor
from laconic.compress.identity import Identity
from laconic.compress.phased import AbstractPhased
from laconic.core.errors import PlanError


@dataclass(frozen=True)
class DenseFirst(AbstractPhased):
    """Send everything as it is for the first steps."""

    inner: AbstractCompressor
    steps: int = 100

    name: ClassVar[str] = "dense_first"
    paper: ClassVar[str] = "vogels2019powersgd"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.inner == Identity():
            raise PlanError("dense_first(none): none is dense already. Use none.")
        if self.inner.owns_momentum:
            raise PlanError(
                f"dense_first({self.inner}): the first steps would have no momentum. Put dense_first inside, for "
                f"example momentum(dense_first(topk(0.01), steps={self.steps}))."
            )

    def at(self, step: int) -> AbstractCompressor:
        return Identity() if step < self.steps else self.inner
