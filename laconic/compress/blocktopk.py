"""Block top-k: the blocks of largest norm, exactly; the rest waits in the error memory.

    C(x)_B = x_B  if |x_B|_2 is among the k largest of m  else 0,     k = max(1, ceil(ratio m)),     delta = k/m

The selection that OmniReduce's collective wants (Fei, Ho, Sahu, Canini, Sapio, SIGCOMM 2021: "block-based gradient
sparsification"): scattered single elements would make every block non-zero. Indices are one a block, so they cost
next to nothing. The last block may be short; it is filled up with zeros. Wrap it in `ef(...)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress import sparse_form
from laconic.compress.base import Draw, Grain, Traits, kept
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.sparse import check_ratio
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.payload import Part


@dataclass(frozen=True)
class BlockTopK(AbstractOneShot):
    """Keep the blocks of largest norm, with one index a block."""

    ratio: float = 0.01
    block: int = 256

    name: ClassVar[str] = "blocktopk"
    paper: ClassVar[str] = "fei2021efficient"
    sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_ratio(self)
        if not isinstance(self.block, int) or self.block < 1:
            raise PlanError(f"blocktopk(block={self.block!r}): a block is a whole number of elements from 1 up.")

    @property
    def align(self) -> int:
        return self.block

    def traits(self, spec: BucketSpec) -> Traits:
        m, k = self.blocks(spec.numel)
        return Traits(unbiased=False, omega=None, delta=k / max(1, m), linear=False, grain=Grain.BUCKET)

    def blocks(self, numel: int) -> tuple[int, int]:
        """(m, k): how many blocks there are, how many are said."""
        m = -(-numel // self.block)
        return m, kept(self.ratio, m)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return sparse_form.layout(*self.blocks(numel), self.block)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        m, k = self.blocks(x.numel())
        rows = kernel.blocks(x, self.block)
        norms = torch.linalg.vector_norm(rows, dim=1, dtype=torch.float64)
        at = kernel.largest(norms, k)
        return k, sparse_form.write(at, rows[at], m)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        m, k = self.blocks(numel)
        at, rows = sparse_form.read(parts, m, k, self.block)
        return rows.new_zeros(m, self.block).index_add_(0, at, rows).view(-1)[:numel]
