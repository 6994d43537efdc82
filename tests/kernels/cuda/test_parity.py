"""The Triton kernels in Triton's interpreter, on the CPU: the same bits as the reference."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import pytest
import torch
from torch import Tensor

from laconic.kernels import reference
from tests.kernels.parity import STREAM, same_bits
from tests.zoo import noise

if importlib.util.find_spec("triton") is None:
    pytest.skip("triton is not installed (286 MB): pip install 'laconic[triton]'", allow_module_level=True)

os.environ["TRITON_INTERPRET"] = "1"  # read when kernels are defined
cuda: Any = importlib.import_module("laconic.kernels.cuda").KERNELS

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy, which interprets, on 0 times infinity

SIZES = (0, 1, 9, 511, 512, 513, 2600)  # some ten milliseconds a program


def vectors(n: int) -> dict[str, Tensor]:
    tiny = noise(n, 2)
    tiny[: n // 2] *= 1e-41
    broken = noise(n, 3)
    broken[n // 2 : n // 2 + 1], broken[-1:] = torch.nan, -torch.inf
    zeros = noise(n, 4)
    zeros[::3], zeros[1::5] = 0.0, -0.0
    return {"normal": noise(n, 1), "subnormal": tiny, "not finite": broken, "zeros of both signs": zeros}


def parts(n: int, bits: int, block: int) -> tuple[Tensor, Tensor]:
    packed = torch.full((reference.packed_bytes(n, bits),), 0xAA, dtype=torch.uint8)
    return torch.full((-(-n // block),), 7.0), packed


@pytest.mark.parametrize("bits", [2, 4, 8, 3])
@pytest.mark.parametrize("n", SIZES)
def test_quantizing(n: int, bits: int):
    for what, x in vectors(n).items():
        for block in (64, 1000):
            mine, theirs = parts(n, bits, block), parts(n, bits, block)
            cuda["quantize"](x, *mine, STREAM, bits, block, "max")
            reference.quantize(x, *theirs, STREAM, bits, block, "max")
            assert same_bits(mine[0], theirs[0]), what
            assert torch.equal(mine[1], theirs[1]), what
            for name in ("dequantize", "dequantize_add"):
                a, b = noise(n, 8), noise(n, 8)
                cuda[name](a, *mine, bits, block, 1 / 3)
                getattr(reference, name)(b, *theirs, bits, block, 1 / 3)
                assert same_bits(a, b), f"{name}: {what}"


def test_random_numbers_beyond_the_first_block_of_them():
    n = 513 * 256 + 100  # the 2**16 words of a block serve 2**17 elements
    x, scale = noise(n, 1), torch.full((1,), 3.0)
    tail = 256 * 512
    want = reference.levels(x, scale, STREAM, 8, n)
    packed = torch.zeros(n, dtype=torch.uint8)
    quantize = importlib.import_module("laconic.kernels.cuda.quantize")
    lift, inverse = importlib.import_module("laconic.kernels.plain.quantize").inverses(scale, 8)
    key = STREAM.key - (1 << 64)

    def only_the_last(programs: int) -> None:
        quantize.quantize_chunk[(programs,)](x, inverse, lift, packed, n, key, n, BITS=8)

    only_the_last(-(-n // 512))
    assert torch.equal(packed[tail:], want[tail:])
    assert torch.equal(packed[:512], want[:512])


@pytest.mark.parametrize("n", SIZES)
def test_signs(n: int):
    for what, x in vectors(n).items():
        mine, theirs = parts(n, 1, 64), parts(n, 1, 64)
        cuda["sign_pack"](x, *mine, 64)
        reference.sign_pack(x, *theirs, 64)
        assert torch.equal(mine[1], theirs[1]), what
        # Summed in float64 in another order: the last bit of the float32 may differ.
        assert torch.allclose(mine[0], theirs[0], rtol=2.0**-23, atol=0.0, equal_nan=True), what
        for name in ("sign_unpack", "sign_add"):
            a, b = noise(n, 8), noise(n, 8)
            cuda[name](a, *theirs, 64, 1 / 3)
            getattr(reference, name)(b, *theirs, 64, 1 / 3)
            assert same_bits(a, b), f"{name}: {what}"


@pytest.mark.parametrize("n", SIZES)
def test_thresholds_and_scatter(n: int):
    for what, x in vectors(n).items():
        for threshold in (0.0, 1.0, 1e30):
            at, values = cuda["above"](x, threshold)
            want, there = reference.above(x, threshold)
            assert torch.equal(at, want), what
            assert same_bits(values, there), what
            a, b = noise(n, 8), noise(n, 8)
            cuda["scatter_add"](a, at, values, 1 / 3)
            reference.scatter_add(b, want, there, 1 / 3)
            assert same_bits(a, b), what


def test_every_kernel_has_a_reference():
    assert all(callable(getattr(reference, name)) for name in cuda)
