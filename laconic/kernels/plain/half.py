"""16-bit floats: clipped, rounded to the nearest, and added up in float32."""

from __future__ import annotations

import torch
from torch import Tensor


def to_half(x: Tensor, out: Tensor, top: float) -> None:
    """out <- x clipped to +-top, as float16 or bfloat16; NaN stays NaN."""
    out.copy_(x.clamp(-top, top))


def half_add(total: Tensor, half: Tensor, weight: float) -> None:
    """total += weight * half, in float32."""
    total += half.to(torch.float32) * weight
