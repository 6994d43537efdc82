"""OmniReduce: an all-reduce that moves only the blocks that are not zero.

    each rank keeps C(x);   to every owner its blocks that are not zero, added there, and back the union

Fei, Ho, Sahu, Canini, Sapio, SIGCOMM 2021. Exact: the mean is that of what the ranks kept, bit for bit the dense one
in the same order. `omnireduce(none)` carries gradients that are sparse by themselves (embeddings); scattered elements
make every block non-zero, so the sparsifier for it is `blocktopk` of the same block. Differs: owners are the ranks
themselves and learn at once which blocks come (a list or a bitmap), where the paper streams them with the number of
the next one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from laconic.compress.base import AbstractCompressor
from laconic.compress.blocktopk import BlockTopK
from laconic.compress.sparse_allreduce import AbstractSparseAllReduce
from laconic.core.errors import PlanError


@dataclass(frozen=True)
class OmniReduce(AbstractSparseAllReduce):
    """Add up the blocks that are not zero at their owners, without loss."""

    inner: AbstractCompressor = field(default=BlockTopK(0.01))
    block: int = 256

    name: ClassVar[str] = "omnireduce"
    paper: ClassVar[str] = "fei2021efficient"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.block, int) or self.block < 1:
            raise PlanError(f"omnireduce(block={self.block!r}): a block is a whole number of elements from 1 up.")

    @property
    def width(self) -> int:
        return self.block

    def most(self, numel: int) -> int:
        m = -(-numel // self.block)
        return (
            self.inner.blocks(numel)[1] if isinstance(self.inner, BlockTopK) and self.inner.block == self.block else m
        )
