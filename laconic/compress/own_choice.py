"""Elements that each rank chooses at random for itself: a seed of 32 bits and the values travel, no indices.

    message = seed | s x[S(seed)],      S(seed) = t of m blocks of b elements, uniform

Readers derive S from the seed, so independent masks cost no index list (the surveys say they do). The last block of a
bucket may be short; it is filled up with zeros.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import Draw, clip, kept
from laconic.compress.one_shot import AbstractOneShot
from laconic.core.payload import Part
from laconic.core.rng import Stream, fold


class AbstractOwnChoice(AbstractOneShot, ABC):
    """Concrete classes have `ratio`, and write `width`, `scale` and `traits`."""

    sparse: ClassVar[bool] = True
    ratio: float

    @property
    @abstractmethod
    def width(self) -> int:
        """Elements a block."""

    @abstractmethod
    def scale(self, numel: int) -> float: ...

    @property
    def align(self) -> int:
        return self.width

    def blocks(self, numel: int) -> tuple[int, int]:
        """(m, t): how many blocks there are, how many are said."""
        m = -(-numel // self.width)
        return m, kept(self.ratio, m)

    def _choice(self, seed: int, numel: int, device: torch.device) -> Tensor:
        return Stream(fold(seed)).choice(*self.blocks(numel), device)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return Part(torch.int32, 1), Part(torch.float32, self.blocks(numel)[1] * self.width)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        seed = int(draw.own.words(1)) - (1 << 31)
        rows = kernel.blocks(x, self.width)[self._choice(seed, x.numel(), x.device)]
        said = clip(rows * self.scale(x.numel()), torch.float32).view(-1)
        return 0, (torch.tensor([seed], dtype=torch.int32, device=x.device), said)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = parts[1].new_zeros(numel)
        self.add(out, parts, aux, draw, 1.0)
        return out

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        n = total.numel()
        at, rows = self._choice(int(parts[0]), n, total.device), parts[1].view(-1, self.width)
        lanes = (at[:, None] * self.width + torch.arange(self.width, device=total.device)).view(-1)
        inside = lanes < n
        total.index_add_(0, lanes[inside], rows.reshape(-1)[inside], alpha=weight)
