"""Quantize + pack and unpack + accumulate, a chunk of 512 elements a program; truth: plain/quantize.py.

Scales, and what follows from them, are computed a block by torch, which divides as IEEE asks for; products and sums are
not fused, so that every rounding is the reference's.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from laconic.core.rng import Stream
from laconic.kernels.plain import quantize as plain

CHUNK = 512
WIDTHS = (2, 4, 8)  # codes that fill bytes


@triton.jit
def halves(key, chunk, i):
    """16 random bits for element i of a chunk, as in core/rng.py."""
    z = key.to(tl.uint64) + (chunk >> 8).to(tl.uint64) + 0x9E3779B97F4A7C15
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB
    z = z ^ (z >> 31)
    word = (z >> 32).to(tl.uint32) ^ ((chunk & 255) * 256).to(tl.uint32)
    x = word ^ (i & 255).to(tl.uint32)
    x = (x ^ (x >> 16)) * tl.full((1,), 0x7FEB352D, tl.uint32)
    x = (x ^ (x >> 15)) * tl.full((1,), 0x846CA68B, tl.uint32)
    x = x ^ (x >> 16)
    return (x >> (16 * (i >> 8)).to(tl.uint32)) & 0xFFFF


@triton.jit(do_not_specialize=["key"])  # else every stream would be compiled by itself
def quantize_chunk(x, inverse, lift, packed, n, key, block, BITS: tl.constexpr):
    chunk = tl.program_id(0)
    i = tl.arange(0, 512)
    at = chunk * 512 + i
    inside = at < n
    b = at // block
    s: tl.constexpr = (1 << (BITS - 1)) - 1
    noise = (2 * halves(key, chunk, i).to(tl.float32) + 1.0) * 0.00000762939453125 + s
    v = tl.load(x + at, inside, 0.0) * tl.load(lift + b, inside, 1.0) * tl.load(inverse + b, inside, 0.0) + noise
    v = tl.where(v < 2 * s + 0.5, v, 2 * s + 0.5)
    v = tl.where(v > 0, v, 0.0)
    code = tl.where(inside, v.to(tl.int32), 0)
    PER: tl.constexpr = 8 // BITS
    byte = tl.sum(tl.reshape(code, (512 // PER, PER)) << (BITS * tl.arange(0, PER))[None, :], axis=1)
    j = tl.arange(0, 512 // PER)
    tl.store(packed + chunk * (512 // PER) + j, byte.to(tl.uint8), chunk * 512 + j * PER < n)


@triton.jit
def dequantize_chunk(total, step, packed, n, block, BITS: tl.constexpr, ADD: tl.constexpr):
    at = tl.program_id(0) * 512 + tl.arange(0, 512)
    inside = at < n
    PER: tl.constexpr = 8 // BITS
    s: tl.constexpr = (1 << (BITS - 1)) - 1
    byte = tl.load(packed + at // PER, inside, 0).to(tl.int32)
    code = (byte >> (BITS * (at % PER))) & ((1 << BITS) - 1)
    v = (code.to(tl.float32) - s) * tl.load(step + at // block, inside, 0.0)
    if ADD:
        v = tl.load(total + at, inside, 0.0) + v
    tl.store(total + at, v, inside)


def launch(kernel: Any, programs: int, *args: Any, **constants: Any) -> None:
    if programs:
        kernel[(programs,)](*args, **constants, enable_fp_fusion=False)


def quantize(x: Tensor, scale: Tensor, packed: Tensor, stream: Stream, bits: int, block: int, norm: str) -> None:
    scale.copy_(plain.scales(x, block, norm))
    quantize_to(x, scale, packed, stream, bits, block)


def quantize_to(x: Tensor, scale: Tensor, packed: Tensor, stream: Stream, bits: int, block: int) -> None:
    if bits not in WIDTHS:
        plain.quantize_to(x, scale, packed, stream, bits, block)
        return
    lift, inverse = plain.inverses(scale, bits)
    key = stream.key - (1 << 64) if stream.key >> 63 else stream.key
    programs = -(-x.numel() // CHUNK)
    args = (x.contiguous(), inverse, lift, packed, x.numel(), key, block)
    launch(quantize_chunk, programs, *args, BITS=bits)


def dequantize(out: Tensor, scale: Tensor, packed: Tensor, bits: int, block: int, weight: float) -> None:
    if bits not in WIDTHS:
        plain.dequantize(out, scale, packed, bits, block, weight)
        return
    _dequantize(out, scale, packed, bits, block, weight, add=False)


def dequantize_add(total: Tensor, scale: Tensor, packed: Tensor, bits: int, block: int, weight: float) -> None:
    if bits not in WIDTHS:
        plain.dequantize_add(total, scale, packed, bits, block, weight)
        return
    _dequantize(total, scale, packed, bits, block, weight, add=True)


def _dequantize(
    total: Tensor, scale: Tensor, packed: Tensor, bits: int, block: int, weight: float, *, add: bool
) -> None:
    step, n = plain.steps(scale, bits) * weight, total.numel()
    launch(dequantize_chunk, -(-n // CHUNK), total, step, packed.contiguous(), n, block, BITS=bits, ADD=add)
