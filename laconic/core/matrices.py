"""What low-rank methods have in common: a tensor as a matrix, and when factors of it are worth sending."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from laconic.core.bucket import Shape


def as_matrix(shape: Shape | torch.Size) -> tuple[int, int]:
    """(first dimension) x (the rest): a row is a neuron or a filter."""
    return (shape[0], math.prod(shape[1:])) if shape else (1, 1)


def shrinks(shape: Shape, rank: int) -> bool:
    """Do two factors of this rank need at most half the words?"""
    rows, columns = as_matrix(shape)
    return len(shape) >= 2 and 2 * rank * (rows + columns) <= rows * columns


def split_like(flat: Tensor, shapes: Sequence[Tensor]) -> list[Tensor]:
    pieces = flat.split([t.numel() for t in shapes])
    return [piece.view(t.shape) for piece, t in zip(pieces, shapes, strict=True)]
