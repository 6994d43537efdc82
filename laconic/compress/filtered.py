"""Filters: which tensors are compressed at all; the others travel dense beside them.

    compressed: numel >= min_numel, and the name matches `allow` (if given) and not `deny` (if given)

Folklore, in every system: norm scales, biases, embeddings and the last layer are few or easily hurt. Patterns are
regular expressions, searched anywhere in the parameter's name: `filtered(topk(0.01), deny='bn|bias')`. Tensors that
are left out get a plain mean, bit for bit that of `none` (and keep their momentum where the plan owns it). Stand it
around a memory, `filtered(ef(randomk(0.01)), deny=bias)`, where that damps what it says: inside, dense tensors would
be damped with the others. Small tensors are spared by most compressors anyway (below 1024 elements).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from laconic.compress.base import AbstractCompressor
from laconic.compress.identity import Identity
from laconic.compress.split import AbstractSplit, Piece
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Seat


@dataclass(frozen=True)
class Filtered(AbstractSplit):
    """Compress only tensors of a certain size or name."""

    inner: AbstractCompressor
    min_numel: int = 0
    allow: str = ""
    deny: str = ""

    name: ClassVar[str] = "filtered"

    def __post_init__(self) -> None:
        if not (self.min_numel > 0 or self.by_name):
            raise PlanError(
                f"filtered({self.inner}): nothing is left out. Give min_numel, allow or deny, or use {self.inner}."
            )
        for key, pattern in (("allow", self.allow), ("deny", self.deny)):
            if "'" in pattern and '"' in pattern:
                raise PlanError(
                    f"filtered({key}={pattern!r}): a text with both kinds of quotes cannot be written down."
                )
            try:
                re.compile(pattern)
            except re.error as error:
                raise PlanError(f"filtered({key}={pattern!r}): not a regular expression: {error}.") from error

    @property
    def spares_small(self) -> bool:
        return self.inner.spares_small

    @property
    def lossless(self) -> AbstractCompressor | None:
        return self.inner.lossless

    @property
    def by_name(self) -> bool:
        return bool(self.allow or self.deny)

    def pieces(self, spec: BucketSpec, seat: Seat | None = None) -> tuple[Piece, ...]:
        chosen = tuple(i for i in range(len(spec.names)) if self.compresses(spec.names[i], spec.sizes[i]))
        rest = tuple(i for i in range(len(spec.names)) if i not in set(chosen))
        base = 2 * spec.part + 1
        return (
            Piece(chosen, spec.subset(chosen, base), self.inner),
            Piece(rest, spec.subset(rest, base + 1), self.inner.lossless or Identity()),
        )

    def compresses(self, name: str, numel: int) -> bool:
        allowed = not self.allow or re.search(self.allow, name) is not None
        denied = bool(self.deny) and re.search(self.deny, name) is not None
        return numel >= self.min_numel and allowed and not denied
