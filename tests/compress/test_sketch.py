from __future__ import annotations

import pytest
import torch

from laconic.compress import ErrorFeedback, Sketch
from laconic.compress.sketch import Hashes
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from laconic.core.rng import Stream
from tests.laws.world import World
from tests.zoo import noise

HASHES = Hashes(Stream(3), rows=5, columns=400)


def test_sketches_add_up():
    a, b = noise(2000, 1), noise(2000, 2)
    assert torch.allclose(HASHES.sketch(a) + HASHES.sketch(b), HASHES.sketch(a + b), atol=1e-4)


def test_heavy_elements_are_found_among_noise():
    x = 0.01 * noise(5000, 3)
    planted = Stream(4).choice(5000, 20)
    x[planted] = torch.where(noise(20, 5) > 0, 3.0, -3.0)
    estimate = HASHES.estimate(HASHES.sketch(x), 5000)
    assert set(planted.tolist()) <= set(estimate.abs().topk(80).indices.tolist())  # the 4k that are asked about
    assert float((estimate[planted] - x[planted]).abs().median()) < 0.1


def test_one_row_estimates_without_bias_and_with_the_variance_of_the_formula():
    x = noise(100, 6)
    guesses = torch.stack(
        [h.estimate(h.sketch(x), 100) for h in (Hashes(Stream(100 + i), 1, 20) for i in range(600))]
    ).double()
    variance = (x.double().pow(2).sum() - x.double() ** 2) / 20
    assert float((guesses.mean(0) - x).abs().max()) < 5 * float(variance.max() / 600) ** 0.5
    assert float(guesses.var(0).mean()) == pytest.approx(float(variance.mean()), rel=0.1)


def test_what_is_large_only_in_the_mean_is_found():
    # No rank's own largest element; 3 on each of four ranks against one 5 that nobody else has.
    xs = [torch.zeros(200) for _ in range(4)]
    for rank, x in enumerate(xs):
        x[17] = 3.0
        x[50 + rank] = 5.0
    out = World(Sketch(1 / 200, width=0.5), 4, spec=one_tensor(200)).exchange(xs)
    assert out[0].mean.nonzero().view(-1).tolist() == [17]
    assert float(out[0].mean[17]) == 3.0


def test_keeping_everything_is_the_mean():
    world = World(Sketch(1, width=0.1), 3, spec=one_tensor(20))
    xs = world.inputs()
    assert torch.allclose(world.exchange(xs)[0].mean, torch.stack(xs).mean(0), atol=1e-6)


def test_the_memory_keeps_what_was_not_among_the_largest():
    world = World(ErrorFeedback(Sketch(0.1, width=0.5)), 1, spec=one_tensor(40))
    came, sent = torch.zeros(2, 40)
    for step in range(10):
        came += noise(40, step)
        sent += world.exchange([noise(40, step)], step)[0].sent
    assert torch.allclose(sent + world.states[0].residual, came, atol=1e-5)


def test_bits_are_the_cells_and_the_candidates():
    assert Sketch(0.001, width=0.01).payload_bits(one_tensor(100_000)) == 32 * (5 * 1000 + 4 * 100)


@pytest.mark.parametrize("bad", [{"ratio": 0.0}, {"width": 0.0}, {"rows": 4}, {"rows": 0}])
def test_bad_settings_are_refused(bad: dict[str, float]):
    with pytest.raises(PlanError, match="sketch"):
        Sketch(**bad)  # type: ignore[arg-type]
