"""An exchange in two halves: reduce-scatter now, all-gather later."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import laconic
from laconic.compress.identity import add_up, add_up_in_halves
from laconic.drive.base import Place
from laconic.drive.lanes import Lanes
from laconic.drive.lockstep import lockstep
from laconic.net.link import Link
from tests.processes import results


@pytest.mark.parametrize("world", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("numel", [0, 1, 3, 17])
def test_both_halves_make_the_sum(world: int, numel: int):
    shares = [torch.randn(numel, generator=torch.Generator().manual_seed(r)) for r in range(world)]
    links = [Link() for _ in shares]
    outs = lockstep([add_up_in_halves(s.clone()) for s in shares], links)
    for out in outs:
        assert torch.allclose(out.mean, torch.stack(shares).sum(0), atol=1e-6)
        assert torch.equal(out.mean, outs[0].mean)
    assert sum(link.sent_bytes for link in links) == 2 * (world - 1) * numel * 4


def _crossing(rank: int, world: int) -> list[Tensor]:
    session = laconic.init(timeout_s=30)
    driver = session.driver(Link())
    assert isinstance(driver, Lanes)
    places = [Place(0, b) for b in range(5)]
    shares = [torch.full((7 + b,), float(10**b * (rank + 1))) for b in range(5)]
    for place, share in zip(places, shares, strict=True):
        if place.bucket == 2:
            driver.launch(place, add_up(share))  # one that does not stop beside those that do
        else:
            driver.launch_half(place, add_up_in_halves(share))
    aside = driver.aside(Place(0, 9), add_up(torch.ones(1)))
    for b in (4, 0, 3, 1):  # in another order than they came
        driver.go_on(places[b])
    futures = driver.depart()
    assert float(driver.collect([aside])[0].mean) == world
    means = [driver.collect([f])[0].mean for f in futures]
    driver.close()
    return means


def test_halves_go_on_in_an_order_of_their_own():
    world = 3
    for means in results(world, _crossing):
        for b, mean in enumerate(means):
            assert mean.tolist() == [6.0 * 10**b] * (7 + b)
