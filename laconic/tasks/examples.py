"""Labelled examples a task trains on and is judged by: a length, and the batch at some indices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from laconic.core.errors import LaconicError


class DataError(LaconicError):
    """A task's data is missing or is not what it should be."""


def uint8(data: bytes) -> Tensor:
    """The bytes as a tensor of its own; torch.frombuffer alone refuses no bytes at all."""
    return torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)


class Examples(Protocol):
    def __len__(self) -> int: ...

    def take(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs and integer labels at these indices."""
        ...


@dataclass(frozen=True, eq=False)
class Images:
    """Grey images kept as the bytes they came in (a quarter of the memory), scaled when a batch is taken."""

    pixels: Tensor  # uint8 [n, height, width]
    labels: Tensor  # int64 [n]
    mean: float
    std: float

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        x = self.pixels[indices].unsqueeze(1).float()
        return (x - self.mean) / self.std, self.labels[indices]


@dataclass(frozen=True, eq=False)
class Windows:
    """Consecutive windows of a text; the label of each byte is the byte after it."""

    text: Tensor  # uint8 [n]
    context: int

    def __len__(self) -> int:
        return max(0, (len(self.text) - 1) // self.context)

    def take(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        starts = indices * self.context
        rows = self.text.unfold(0, self.context + 1, 1)[starts].long()
        return rows[:, :-1], rows[:, 1:]


@dataclass(frozen=True, eq=False)
class Selected:
    """Some of the examples, at fixed indices."""

    examples: Examples
    indices: Tensor

    def __len__(self) -> int:
        return len(self.indices)

    def take(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        return self.examples.take(self.indices[indices])


def spread(examples: Examples, count: int) -> Examples:
    """At most `count` examples taken evenly from all: the same in every run, and not all from the beginning."""
    kept = min(count, len(examples))
    return Selected(examples, torch.arange(kept) * len(examples) // max(1, kept))
