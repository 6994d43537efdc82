from __future__ import annotations

import pytest
import torch

from laconic.compress import Drive, Eden
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise

D = 1 << 12


def _errors(compressor: Eden | Drive, x: torch.Tensor, draws: int) -> torch.Tensor:
    worlds = [World(compressor, 1, "gather", one_tensor(x.numel())).exchange([x], s)[0].sent - x for s in range(draws)]
    return torch.stack(worlds).double()


@pytest.mark.parametrize(
    ("bits", "scale", "vnmse"),
    [
        (1, "unbiased", 0.571),
        (2, "unbiased", 0.1333),
        (3, "unbiased", 0.0359),
        (4, "unbiased", 0.0095),
        (1, "mse", 0.3634),
        (2, "mse", 0.1175),
        (3, "mse", 0.0345),
        (4, "mse", 0.0095),
    ],
)
def test_the_error_is_that_of_the_best_code_for_normal_numbers(bits: int, scale: str, vnmse: float):
    x = noise(D).sign() * noise(D, 1).pow(4)  # anything but normal before it is turned
    errors = _errors(Eden(bits, scale=scale), x, draws=3)
    assert float(errors.pow(2).sum(1).mean() / x.double().pow(2).sum()) == pytest.approx(vnmse, rel=0.05)


def test_errors_of_ranks_average_out():
    x, spec = noise(D), one_tensor(D)
    out = World(Eden(2), 8, "gather", spec).exchange([x.clone() for _ in range(8)])
    one = float((out[0].sent - x).pow(2).sum())
    assert float((out[0].mean - x).pow(2).sum()) == pytest.approx(one / 8, rel=0.2)


def test_in_a_long_block_it_is_right_on_average():
    x = noise(256)
    errors = _errors(Eden(1, block=256), x, draws=400)
    assert float(errors.mean(0).norm() / x.norm()) < 1.5 * (0.571 / 400) ** 0.5


def test_of_two_elements_one_is_lost_so_nothing_is_claimed():
    x = torch.tensor([3.0, 1.0])
    errors = _errors(Eden(1), x, draws=10)
    assert errors[:, 1].tolist() == pytest.approx([-1.0] * 10)
    assert not Eden(1).traits(one_tensor(2)).unbiased


def test_bits_a_scale_a_block_and_a_seed():
    assert Eden(2, block=64).payload_bits(one_tensor(128 + 3)) == 2 * (128 + 4) + 3 * 32 + 32


def test_five_bits_are_refused():
    with pytest.raises(PlanError, match="1 to 4"):
        Eden(5)
