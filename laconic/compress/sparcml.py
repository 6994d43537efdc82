"""SparCML: an all-reduce of sparse vectors that turns dense where that is shorter.

    each rank keeps C(x);   split by owner, add, gather (SSAR_Split_allgather);   dense from the number of
    elements on where a dense chunk has no more bytes (DSAR)

Renggli, Ashkboos, Aghagolzadeh, Alistarh, Hoefler, SC 2019, arXiv:1802.08021. Exact: the mean is that of what the
ranks kept. Differs: their recursive doubling and the quantized dense phase are left out; a bitmap lies between list
and dense.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from laconic.compress.base import AbstractCompressor, AbstractSelector
from laconic.compress.sparse_allreduce import AbstractSparseAllReduce
from laconic.compress.topk import TopK


@dataclass(frozen=True)
class SparCML(AbstractSparseAllReduce):
    """Add up sparse vectors at their owners, element by element, without loss."""

    inner: AbstractCompressor = field(default=TopK(0.01))

    name: ClassVar[str] = "sparcml"
    paper: ClassVar[str] = "renggli2019sparcml"

    @property
    def width(self) -> int:
        return 1

    def most(self, numel: int) -> int:
        return self.inner.count(numel) if isinstance(self.inner, AbstractSelector) else numel
