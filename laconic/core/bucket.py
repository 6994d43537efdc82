"""A bucket: a fixed run of parameters whose updates travel as one flat tensor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

Shape = tuple[int, ...]


@dataclass(frozen=True)
class BucketSpec:
    """Everything known about a bucket before any gradient exists; stable for the whole run.

    `part` tells sub-buckets of one bucket apart (see `compress/split.py`). `followed_by`: elements of the bucket
    whose gradients come next; while they are computed, this one can travel unseen.
    """

    id: int
    names: tuple[str, ...]
    shapes: tuple[Shape, ...]
    dtype: torch.dtype = torch.float32
    part: int = 0
    followed_by: int = 0

    def __post_init__(self) -> None:
        assert len(self.names) == len(self.shapes), "one name a shape"

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(math.prod(s) for s in self.shapes)

    @cached_property
    def numel(self) -> int:
        return sum(self.sizes)

    @property
    def nbytes(self) -> int:
        return self.numel * self.dtype.itemsize

    def views(self, flat: Tensor) -> list[Tensor]:
        """The flat bucket as tensors of the parameters' own shapes, without a copy."""
        pieces = flat.split(list(self.sizes))
        return [piece.view(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]

    def subset(self, keep: Sequence[int], part: int) -> BucketSpec:
        names = tuple(self.names[i] for i in keep)
        shapes = tuple(self.shapes[i] for i in keep)
        return BucketSpec(self.id, names, shapes, self.dtype, part)


def flatten(tensors: Iterable[Tensor], like: Tensor) -> Tensor:
    """Concatenate in order into one new flat tensor; empty input gives an empty tensor."""
    pieces = [t.reshape(-1) for t in tensors]
    return torch.cat(pieces) if pieces else like.new_empty(0)


def one_tensor(numel: int, dtype: torch.dtype = torch.float32) -> BucketSpec:
    """A bucket that holds a single vector: for tests and for bounds that depend only on length."""
    return BucketSpec(0, ("x",), ((numel,),), dtype)
