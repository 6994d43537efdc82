"""Quantizing compiled = quantizing in plain torch, bit for bit; so are any two splits of the work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from laconic.kernels import reference
from laconic.kernels.cpu import pool, quantize
from tests.kernels.parity import SIZES, STREAM, same_bits, vectors
from tests.zoo import noise

ROOT = Path(__file__).parents[3]


def parts(n: int, bits: int, block: int) -> tuple[Tensor, Tensor]:
    """Scales and codes to be written, full of what must not be left in them."""
    scale = torch.full((-(-n // block),), 7.0)
    return scale, torch.full((reference.packed_bytes(n, bits),), 0xAA, dtype=torch.uint8)


@pytest.mark.parametrize("norm", ["max", "l2"])
@pytest.mark.parametrize("bits", range(2, 9))
def test_codes_and_scales_are_those_of_the_reference(bits: int, norm: str):
    for n in SIZES:
        for block in (8, 64, 256, 1000, 2048):
            for what, x in vectors(n):
                mine, theirs = parts(n, bits, block), parts(n, bits, block)
                quantize.quantize(x, *mine, STREAM, bits, block, norm)
                reference.quantize(x, *theirs, STREAM, bits, block, norm)
                where = f"{what}, {n} elements in blocks of {block}"
                assert same_bits(mine[0], theirs[0]), f"scales of {where}"
                assert torch.equal(mine[1], theirs[1]), f"codes of {where}"


@pytest.mark.parametrize("bits", range(2, 9))
def test_values_are_those_of_the_reference(bits: int):
    for n in SIZES:
        for block in (8, 256, 1000, 2048):
            for what, x in vectors(n):
                scale, packed = parts(n, bits, block)
                reference.quantize(x, scale, packed, STREAM, bits, block, "max")
                for name in ("dequantize", "dequantize_add"):
                    a, b = noise(n, 8), noise(n, 8)
                    getattr(quantize, name)(a, scale, packed, bits, block, 1 / 3)
                    getattr(reference, name)(b, scale, packed, bits, block, 1 / 3)
                    assert same_bits(a, b), f"{name}: {what}, {n} elements in blocks of {block}"


@pytest.mark.parametrize("norm", ["max", "l2"])
@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_error_feedback_in_one_pass_is_that_of_the_reference(bits: int, norm: str):
    for n in SIZES:
        for block in (8, 256, 1000):
            for what, x in vectors(n):
                e, a, b = noise(n, 9), torch.full((n,), 3.0), torch.full((n,), 4.0)
                mine, theirs = parts(n, bits, block), parts(n, bits, block)
                quantize.quantize_keep(x, e, a, 0.7, *mine, STREAM, bits, block, norm)
                reference.quantize_keep(x, e, b, 0.7, *theirs, STREAM, bits, block, norm)
                where = f"{what}, {n} elements in blocks of {block}"
                assert same_bits(mine[0], theirs[0]), where
                assert torch.equal(mine[1], theirs[1]), where
                assert same_bits(a, b), where
                assert torch.equal(e, noise(n, 9)), "the old residual must survive"


def test_scales_of_the_callers_clip():
    x, scale = noise(5000, 1), torch.full((20,), 0.5)
    mine, theirs = parts(5000, 4, 256)[1], parts(5000, 4, 256)[1]
    quantize.quantize_to(x, scale, mine, STREAM, 4, 256)
    reference.quantize_to(x, scale, theirs, STREAM, 4, 256)
    assert torch.equal(mine, theirs)
    out = torch.empty(5000)
    quantize.dequantize(out, scale, mine, 4, 256, 1.0)
    assert float(out.abs().max()) == 0.5


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_any_number_of_threads_gives_the_same_bits(threads: int, monkeypatch: pytest.MonkeyPatch):
    n, x = 40_003, noise(40_003, 1)
    alone = parts(n, 4, 256), torch.empty(n)
    quantize.quantize(x, *alone[0], STREAM, 4, 256, "max")
    quantize.dequantize(alone[1], *alone[0], 4, 256, 0.5)
    monkeypatch.setattr(pool, "ENOUGH", 1000)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    shared = parts(n, 4, 256), torch.empty(n)
    quantize.quantize(x, *shared[0], STREAM, 4, 256, "max")
    quantize.dequantize(shared[1], *shared[0], 4, 256, 0.5)
    assert torch.equal(alone[1], shared[1])
    assert all(torch.equal(a, b) for a, b in zip(alone[0], shared[0], strict=True))


def test_what_is_not_finite_poisons_its_own_block_only():
    x = noise(1024, 1)
    x[300] = torch.nan
    scale, packed = parts(1024, 4, 256)
    quantize.quantize(x, scale, packed, STREAM, 4, 256, "max")
    out = torch.empty(1024)
    quantize.dequantize(out, scale, packed, 4, 256, 1.0)
    assert out[256:512].isnan().all()
    assert out[:256].isfinite().all()
    assert out[512:].isfinite().all()


def test_nothing_is_written_beyond_the_last_byte():
    for n in range(1, 30):
        for bits in range(2, 9):
            room = torch.full((64,), 0x5A, dtype=torch.uint8)
            size = reference.packed_bytes(n, bits)
            quantize.quantize(noise(n, 1), torch.empty(1), room[:size], STREAM, bits, 256, "max")
            assert room[size:].eq(0x5A).all(), (n, bits)


BEFORE_A_WALL = """
import ctypes, mmap
import numpy as np, torch
from laconic.kernels.cpu import quantize
from tests.kernels.parity import STREAM

area = mmap.mmap(-1, 2 * mmap.PAGESIZE)
start = ctypes.addressof(ctypes.c_char.from_buffer(area))
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + mmap.PAGESIZE), mmap.PAGESIZE, 0) == 0
scale = torch.from_numpy(np.frombuffer(area, np.float32, mmap.PAGESIZE // 4))[-3:]
packed, x = torch.empty(12, dtype=torch.uint8), torch.randn(12)
quantize.quantize(x, scale, packed, STREAM, 8, 4, "max")
quantize.quantize_keep(x, x, torch.empty(12), 1.0, scale, packed, STREAM, 8, 4, "max")
print("alive")
"""


def test_nothing_is_read_behind_the_last_scale():
    """Of blocks of four elements; the page behind them must not be touched."""
    words = [sys.executable, "-c", BEFORE_A_WALL]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=100, check=False)
    assert done.stdout == "alive\n", f"exit code {done.returncode}: {done.stderr}"
