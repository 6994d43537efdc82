from __future__ import annotations

import pytest
import torch

from laconic.compress.base import Traits, as_float32, back_to, clip, kept


@pytest.mark.parametrize(
    ("ratio", "numel", "k"),
    [
        (0.01, 1000, 10),
        (0.01, 1001, 11),  # upwards
        (0.01, 5, 1),  # at least one
        (0.01, 0, 0),
        (1.0, 7, 7),
        (0.07, 100, 7),  # 0.07 * 100 is 7.000000000000001
        (0.29, 100, 29),  # 0.29 * 100 is 28.999999999999996
        (1e-9, 10**6, 1),
    ],
)
def test_how_many_elements_a_ratio_keeps(ratio: float, numel: int, k: int):
    assert kept(ratio, numel) == k


def test_doubles_beyond_float32_are_clipped():
    x = torch.tensor([1e300, -1e300, 1.5], dtype=torch.float64)
    top = torch.finfo(torch.float32).max
    assert as_float32(x).tolist() == [top, -top, 1.5]


def test_results_beyond_the_type_of_the_bucket_are_clipped():
    assert clip(torch.tensor([1e6, -1e6, 2.0]), torch.float16).tolist() == [65504, -65504, 2]
    assert clip(torch.tensor([torch.inf]), torch.float32).isfinite().all()
    x = torch.tensor([1.0])
    assert back_to(torch.float32, x) is x


def test_a_nan_is_not_hidden():
    assert clip(torch.tensor([torch.nan]), torch.float16).isnan().all()


@pytest.mark.parametrize(
    ("omega", "delta", "contraction", "damping"),
    [(0.25, None, 0.75, 1.0), (None, 0.1, 0.1, 1.0), (3.0, None, None, 0.25), (1.0, None, None, 0.5)],
)
def test_what_contracts_needs_no_damping(
    omega: float | None, delta: float | None, contraction: float | None, damping: float
):
    traits = Traits(unbiased=omega is not None, omega=omega, delta=delta, linear=False)
    assert traits.contraction == contraction
    assert traits.damping == damping


def test_traits_are_printed_as_plain_values():
    printed = Traits(unbiased=True, omega=0.5, delta=None, linear=False).to_dict()
    assert printed["grain"] == "element"
    assert printed["omega"] == 0.5
