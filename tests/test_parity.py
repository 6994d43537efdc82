"""The descents of bench/descents.py are Laconic's exchanges in lockstep: the same gradients, noise and chance.

One seed and one step size of the many that bench/descents.py takes at once; its arrays are float64, messages float32.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from laconic.compress import AbstractCompressor, Bernoulli, ErrorFeedback, Identity, TopK
from laconic.core import rng
from laconic.core.bucket import one_tensor
from tests.laws.world import World
from tests.topology.village import village
from tests.zoo import SEED

ITERATIONS = 12
AT = 2  # the step size of these comparisons, by its place in the grid
WITHIN = {"rtol": 1e-5, "atol": 1e-5}  # float32 messages, a dozen times
Models = list[Tensor]


class Sides:
    """bench/descents.py, whose noise is kept for Laconic."""

    def __init__(self, bench: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bench, self.noise = bench, []
        self.spec = one_tensor(bench.DIM, torch.float64)
        self.size = float(bench.STEPS[AT])
        made = bench._noise

        def kept(source: np.random.Generator, *shape: int) -> Any:
            noise = made(source, *shape)
            self.noise.append(torch.from_numpy(noise[0, 0]))
            return noise

        monkeypatch.setattr(bench, "_noise", kept)

    def gradient(self, x: Tensor) -> Tensor:
        return torch.from_numpy(self.bench.QUADRATIC.gradient(x.numpy()))

    def bench_models(self, descent: Any, source: Any = None) -> Models:
        found = descent.models(self.bench.QUADRATIC, source or np.random.default_rng(1))
        return [torch.from_numpy(x[0, AT].copy()) for x in islice(found, ITERATIONS + 1)]

    def start(self) -> Tensor:
        return torch.full((self.bench.DIM,), self.bench.QUADRATIC.start, dtype=torch.float64)

    def laconic_models(self, compressor: AbstractCompressor, workers: int, noise: Callable[[int], Tensor]) -> Models:
        """x <- x - lr (the mean that came back); `noise(step)`: a row a worker."""
        world, models = World(compressor, workers, spec=self.spec), [self.start()]
        for step in range(ITERATIONS):
            own = self.gradient(models[-1]) + noise(step)
            models.append(models[-1] - self.size * world.exchange(list(own), step)[0].mean)
        return models


@pytest.fixture
def sides(monkeypatch: pytest.MonkeyPatch) -> Sides:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "bench"))
    return Sides(importlib.import_module("descents"), monkeypatch)


def agree(mine: Models, theirs: Models) -> None:
    assert not torch.allclose(theirs[0], theirs[-1], **WITHIN), "somebody moved"
    torch.testing.assert_close(torch.stack(mine), torch.stack(theirs), **WITHIN)


def test_mini_batch_sgd_is_a_mean_of_gradients(sides: Sides):
    workers = 4
    theirs = sides.bench_models(sides.bench.MbSgd(workers))
    apart = torch.tensor([[1.0], [-1.0], [0.5], [-0.5]], dtype=torch.float64)  # what workers differ by is averaged away
    mine = sides.laconic_models(Identity(), workers, lambda t: sides.noise[t] / workers**0.5 + apart)
    agree(mine, theirs)


@pytest.mark.parametrize("ratio", [0.25, 0.05])
def test_ec_sgd_is_top_k_with_a_memory(sides: Sides, ratio: float):
    theirs = sides.bench_models(sides.bench.EcSgd(4, ratio))
    agree(sides.laconic_models(ErrorFeedback(TopK(ratio)), 4, lambda t: sides.noise[t]), theirs)


class SharedCoins:
    """A source of chance that tosses the coins of Laconic's `bernoulli`, the same for all workers."""

    def __init__(self, spec: Any) -> None:
        self.spec, self.step, self.others = spec, 0, np.random.default_rng(1)

    def random(self, shape: tuple[int, ...]) -> Any:
        coins = rng.shared(SEED, self.step, self.spec.id, self.spec.part).uniform(shape[-1])
        self.step += 1
        return np.broadcast_to(coins.numpy(), shape)

    def standard_normal(self, shape: tuple[int, ...]) -> Any:
        return self.others.standard_normal(shape)


def test_csgd_with_shared_coins_is_bernoulli(sides: Sides):
    theirs = sides.bench_models(sides.bench.Csgd(4, 0.25), SharedCoins(sides.spec))
    agree(sides.laconic_models(Bernoulli(0.25), 4, lambda t: sides.noise[t]), theirs)


def test_dsgd_mixes_as_gossip_does(sides: Sides):
    """In the paper's order, x <- W x - lr g(x); Laconic's own loop steps first, x <- W (x - lr g(x))."""
    workers = 5
    descent = sides.bench.Dsgd(workers, 3.0)
    theirs, (pull, curve) = sides.bench_models(descent), map(torch.from_numpy, descent.data())
    gossip = village("gossip(ring)", workers, sides.spec)
    gossip.models = [sides.start() for _ in range(workers)]
    mine = [sides.start()]
    for step in range(ITERATIONS):
        before = torch.stack(gossip.models)
        ways = sides.size * (curve * sides.gradient(before) + pull + sides.noise[step])
        gossip.round()
        gossip.models = [x - way for x, way in zip(gossip.models, ways, strict=True)]
        mine.append(gossip.mean)
    agree(mine, theirs)
