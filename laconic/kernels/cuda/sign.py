"""Signs, a chunk of 1024 elements a program; truth: plain/sign.py."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from laconic.kernels.cuda.quantize import launch
from laconic.kernels.plain.pack import blocks

CHUNK = 1024


@triton.jit
def pack_chunk(x, packed, n):
    chunk = tl.program_id(0)
    at = chunk * 1024 + tl.arange(0, 1024)
    inside = at < n
    bit = ((tl.load(x + at, inside, 0.0) >= 0) & inside).to(tl.int32)
    byte = tl.sum(tl.reshape(bit, (128, 8)) << tl.arange(0, 8)[None, :], axis=1)
    j = chunk * 128 + tl.arange(0, 128)
    tl.store(packed + j, byte.to(tl.uint8), j * 8 < n)


@triton.jit
def unpack_chunk(total, scale, packed, n, block, ADD: tl.constexpr):
    at = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    inside = at < n
    byte = tl.load(packed + at // 8, inside, 0).to(tl.int32)
    m = tl.load(scale + at // block, inside, 0.0)
    v = tl.where(((byte >> (at % 8)) & 1) != 0, m, -m)
    if ADD:
        v = tl.load(total + at, inside, 0.0) + v
    tl.store(total + at, v, inside)


def sign_pack(x: Tensor, scale: Tensor, packed: Tensor, block: int) -> None:
    sums = blocks(x, block).abs().sum(dim=1, dtype=torch.float64)
    size = torch.full_like(sums, block)
    size[-1:] = x.numel() - (sums.numel() - 1) * block
    scale.copy_(sums / size)
    launch(pack_chunk, -(-x.numel() // CHUNK), x.contiguous(), packed, x.numel())


def sign_unpack(out: Tensor, scale: Tensor, packed: Tensor, block: int, weight: float) -> None:
    _unpack(out, scale, packed, block, weight, add=False)


def sign_add(total: Tensor, scale: Tensor, packed: Tensor, block: int, weight: float) -> None:
    _unpack(total, scale, packed, block, weight, add=True)


def _unpack(total: Tensor, scale: Tensor, packed: Tensor, block: int, weight: float, *, add: bool) -> None:
    n = total.numel()
    launch(unpack_chunk, -(-n // CHUNK), total, scale * weight, packed.contiguous(), n, block, ADD=add)
