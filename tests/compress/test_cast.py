from __future__ import annotations

import torch

from laconic.compress import Bf16, Fp16, Identity
from laconic.core.bucket import one_tensor
from tests.laws.world import World


def test_fp16_rounds_to_eleven_significant_bits():
    (out,) = World(Fp16(), 1, spec=one_tensor(3)).exchange([torch.tensor([2049.0, 0.1, 1e-9])])
    assert out.mean.tolist() == [2048.0, 0.0999755859375, 0.0]


def test_bf16_rounds_to_eight_significant_bits():
    (out,) = World(Bf16(), 1, spec=one_tensor(2)).exchange([torch.tensor([257.0, 1e-30])])
    assert out.mean[0] == 256
    assert abs(float(out.mean[1]) / 1e-30 - 1) < 2**-8


def test_what_is_too_large_for_fp16_is_clipped_not_infinite():
    out = World(Fp16(), 3, spec=one_tensor(2)).exchange([torch.tensor([1e6, -1e6]) for _ in range(3)])
    assert out[0].mean.isfinite().all()
    assert out[0].sent.tolist() == [60000.0, -60000.0]


def test_the_running_sum_of_large_halves_stays_in_range():
    out = World(Fp16(), 8, spec=one_tensor(1)).exchange([torch.tensor([50000.0]) for _ in range(8)])
    assert abs(float(out[0].mean) / 50000 - 1) < 0.01


def test_casts_need_sixteen_bits_whatever_the_type():
    for compressor in (Fp16(), Bf16()):
        assert compressor.payload_bits(one_tensor(10, torch.float64)) == 160
    assert Identity().payload_bits(one_tensor(10, torch.float64)) == 640


def test_bf16_of_a_half_precision_bucket_stays_within_its_range():
    spec = one_tensor(2, torch.float16)
    (out,) = World(Bf16(), 1, spec=spec).exchange([torch.tensor([65504.0, -65504.0], dtype=torch.float16)])
    assert out.mean.tolist() == out.sent.tolist() == [65504.0, -65504.0]  # bf16 rounds them to 65536
