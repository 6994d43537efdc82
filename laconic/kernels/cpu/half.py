"""16-bit floats; truth: plain/half.py."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from laconic.kernels.cpu.compile import kernel
from laconic.kernels.cpu.lanes import (
    clipped,
    from_bf16,
    from_fp16,
    get_f32,
    get_u16,
    put_f32,
    put_u16,
    to_bf16,
    to_fp16,
    wide,
)
from laconic.kernels.cpu.pool import address, spread

CHUNK = 4096


@kernel("void(int64, int64, int64, float32, int64, int64, int64)")
def to_half_chunks(x: Any, out: Any, n: Any, top: Any, brain: Any, start: Any, stop: Any) -> None:
    wide()
    a, b, size = x + 4 * CHUNK * start, out + 2 * CHUNK * start, min(stop * CHUNK, n) - start * CHUNK
    if brain:
        for i in range(size):
            put_u16(b, i, to_bf16(clipped(get_f32(a, i), top)))
    else:
        for i in range(size):
            put_u16(b, i, to_fp16(clipped(get_f32(a, i), top)))


@kernel("void(int64, int64, int64, float32, int64, int64, int64)")
def half_add_chunks(total: Any, half: Any, n: Any, weight: Any, brain: Any, start: Any, stop: Any) -> None:
    wide()
    a, b, size = total + 4 * CHUNK * start, half + 2 * CHUNK * start, min(stop * CHUNK, n) - start * CHUNK
    if brain:
        for i in range(size):
            put_f32(a, i, get_f32(a, i) + from_bf16(get_u16(b, i)) * weight)
    else:
        for i in range(size):
            put_f32(a, i, get_f32(a, i) + from_fp16(get_u16(b, i)) * weight)


def to_half(x: Tensor, out: Tensor, top: float) -> None:
    x, n, brain = x.contiguous(), x.numel(), int(out.dtype == torch.bfloat16)
    a, b = address(x, torch.float32), address(out, torch.bfloat16 if brain else torch.float16)
    spread(lambda start, stop: to_half_chunks(a, b, n, top, brain, start, stop), -(-n // CHUNK), n)


def half_add(total: Tensor, half: Tensor, weight: float) -> None:
    half, n, brain = half.contiguous(), total.numel(), int(half.dtype == torch.bfloat16)
    a, b = address(total, torch.float32), address(half, torch.bfloat16 if brain else torch.float16)
    spread(lambda start, stop: half_add_chunks(a, b, n, weight, brain, start, stop), -(-n // CHUNK), n)
