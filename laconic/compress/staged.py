"""Sparsifiers that say one or two values for all they keep: as a choice of elements and a code of their values.

    one value        mu                                   mu = mean of the values           (SBC)
    one magnitude    mu, and a sign bit each              mu = mean of their magnitudes     (STC)
    two means        mu+, mu-, and a sign bit each        of the values above and below 0   (fixed proportion)

So a coding may write their indices: `sbc(0.01) | golomb` is what the paper sends, a byte an element.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import AbstractCodec, AbstractSelector, Draw
from laconic.core.payload import Part
from laconic.kernels.reference_sparse import mean_of


class AbstractStaged(ABC):
    """A compressor that could be written as `selector | codec`, or as a codec of another size."""

    @abstractmethod
    def stages(self) -> tuple[AbstractSelector | None, AbstractCodec]: ...


class AbstractChooser(AbstractStaged, ABC):
    """One whose choice is its own."""

    @abstractmethod
    def chosen(self, x: Tensor) -> Tensor:
        """Sorted indices."""

    @abstractmethod
    def most(self, numel: int) -> int:
        """How many are chosen at most; exactly, unless the choice is uncertain."""


@dataclass(frozen=True)
class Choice(AbstractSelector):
    """The elements that somebody chooses."""

    by: AbstractChooser
    uncertain: bool = False

    travels: ClassVar[bool] = True

    @property
    def varies(self) -> bool:
        return self.uncertain

    def count(self, numel: int) -> int:
        return self.by.most(numel)

    def select(self, x: Tensor, draw: Draw) -> Tensor:
        return self.by.chosen(x)

    def scale(self, numel: int) -> float:
        return 1.0


@dataclass(frozen=True)
class OneValue(AbstractCodec):
    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return (Part(torch.float32, 1),)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        return 0, (_numbers(x, mean_of(x)),)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        return parts[0].expand(numel)


class _AbstractSigned(AbstractCodec, ABC):
    numbers: ClassVar[int]

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return Part(torch.float32, self.numbers), Part(torch.uint8, kernel.packed_bytes(numel, 1))

    @abstractmethod
    def values(self, x: Tensor) -> Tensor: ...

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        return 0, (self.values(x), kernel.pack((x < 0).to(torch.uint8), 1))


@dataclass(frozen=True)
class OneMagnitude(_AbstractSigned):
    numbers: ClassVar[int] = 1

    def values(self, x: Tensor) -> Tensor:
        return _numbers(x, mean_of(x.abs()))

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        mu, signs = parts
        return torch.where(kernel.unpack(signs, 1, numel).to(torch.bool), -mu, mu)


@dataclass(frozen=True)
class TwoMeans(_AbstractSigned):
    numbers: ClassVar[int] = 2

    def values(self, x: Tensor) -> Tensor:
        return _numbers(x, mean_of(x[x > 0]), mean_of(x[x < 0]))

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        means, signs = parts
        return torch.where(kernel.unpack(signs, 1, numel).to(torch.bool), means[1], means[0])


def _numbers(like: Tensor, *numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float32, device=like.device)
