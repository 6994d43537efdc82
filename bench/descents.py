"""Six ways to descend with N workers that are rows of arrays; tests/test_parity.py holds them against Laconic.

Every step size of a grid and several seeds go at once: models are arrays (seed, step size, [worker,] coordinate). The
gradient of each worker carries noise of variance sigma^2 = 1, so that of a mean of N has 1/N.

    mb-SGD      x <- x - lr mean_i g_i(x)
    CSGD        x <- x - lr mean_i Q(g_i(x)),  Q keeps each coordinate with chance `ratio` and divides it by `ratio`
    EC-SGD      m_i <- m_i + g_i(x);  s_i the `ratio` largest of m_i;  m_i <- m_i - s_i;  x <- x - lr mean_i s_i
    ASGD        N updates x <- x - lr/N g_i(the model of N - 1 updates ago) are one iteration: N equally fast workers
    late SGD    x <- x - lr mean_i g_i(the model of N iterations ago): what the bound of ASGD, N/eps, is about
    DSGD        x_i <- sum_j W_ij x_j - lr g_i(x_i);  g_i = (1 + tilt_i) f' + pull_i,  |pull_i| ~ zeta, means 0

`bound` is survey 003's table 1.1 (Liu and Zhang, "Distributed Learning Systems with First-Order Methods", 2020) with
every constant 1, and the exponents of EC-SGD and DSGD as its theorems have them (3/2, the table prints 2/3). For
random-k sigma'^2 = (1/ratio - 1) sigma^2 / N; for a memory of top-k sigma' = sqrt(1 - ratio) / ratio.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from laconic.topology.graph import AbstractGraph, second_modulus
from laconic.topology.graphs import Ring

Array = NDArray[np.float64]
DIM = 40
SEEDS = 4
STEPS = 2.0 ** -np.arange(12)
TILT = 0.5  # of a worker's curvature, at most
RISE = 0.05  # else the non-convex problem were flat far away, and noise alone would lead to small gradients
RING = Ring()
_SIZE = STEPS[None, :, None]


@dataclass(frozen=True)
class Problem:
    name: str
    value: Callable[[Array], Array]  # above the minimum
    gradient: Callable[[Array], Array]
    start: float


_SCALES = np.geomspace(0.05, 1.0, DIM)
QUADRATIC = Problem("quadratic", lambda x: 0.5 * (x * x) @ _SCALES, lambda x: _SCALES * x, 1.0)
NONCONVEX = Problem(
    "non-convex",
    lambda x: 0.5 * (x * x / (1 + x * x) + RISE * x * x).sum(-1),
    lambda x: x / np.square(1 + x * x) + RISE * x,
    1.5,
)
PROBLEMS = (QUADRATIC, NONCONVEX)


@dataclass(frozen=True)
class Descent(ABC):
    workers: int

    name: ClassVar[str]

    @abstractmethod
    def models(self, p: Problem, rng: np.random.Generator) -> Iterator[Array]:
        """The mean model before each iteration."""

    def bound(self, eps: float) -> float:
        return 1 / eps + self.noisy(eps) + self.added(eps)

    def noisy(self, eps: float) -> float:
        return 1 / (self.workers * eps**2)

    def added(self, eps: float) -> float:
        return 0.0

    @property
    def setting(self) -> str:
        return f"N = {self.workers}"


def _noise(rng: np.random.Generator, *shape: int) -> Array:
    """The same for all step sizes."""
    return rng.standard_normal((SEEDS, 1, *shape)) / math.sqrt(DIM)


def _start(p: Problem) -> Array:
    return np.full((SEEDS, len(STEPS), DIM), p.start)


@dataclass(frozen=True)
class MbSgd(Descent):
    name: ClassVar[str] = "mb-SGD"

    def models(self, p: Problem, rng: np.random.Generator) -> Iterator[Array]:
        x = _start(p)
        while True:
            yield x
            x = x - _SIZE * (p.gradient(x) + _noise(rng, DIM) / math.sqrt(self.workers))


@dataclass(frozen=True)
class Compressed(Descent, ABC):
    ratio: float  # of the coordinates that are sent

    @property
    def setting(self) -> str:
        return f"N = {self.workers}, ratio {self.ratio:g}"


@dataclass(frozen=True)
class Csgd(Compressed):
    name: ClassVar[str] = "CSGD"

    def models(self, p: Problem, rng: np.random.Generator) -> Iterator[Array]:
        x = _start(p)
        while True:
            yield x
            kept = (rng.random((SEEDS, 1, self.workers, DIM)) < self.ratio) / (self.ratio * self.workers)
            said = p.gradient(x) * kept.sum(2) + (_noise(rng, self.workers, DIM) * kept).sum(2)  # Q is linear
            x = x - _SIZE * said

    def added(self, eps: float) -> float:
        return (1 / self.ratio - 1) / self.workers / eps**2


@dataclass(frozen=True)
class EcSgd(Compressed):
    name: ClassVar[str] = "EC-SGD"

    def models(self, p: Problem, rng: np.random.Generator) -> Iterator[Array]:
        x, memory = _start(p), np.zeros((SEEDS, len(STEPS), self.workers, DIM))
        silent = DIM - max(1, round(self.ratio * DIM))
        while True:
            yield x
            memory += p.gradient(x)[:, :, None] + _noise(rng, self.workers, DIM)
            large = np.abs(memory)
            said = memory * (large >= np.partition(large, silent, axis=-1)[..., silent, None])
            memory -= said
            x = x - _SIZE * said.mean(2)

    def added(self, eps: float) -> float:
        return math.sqrt(1 - self.ratio) / self.ratio / eps**1.5


@dataclass(frozen=True)
class Stale(Descent, ABC):
    def bound(self, eps: float) -> float:
        return self.workers / eps + self.noisy(eps)


@dataclass(frozen=True)
class Asgd(Stale):
    name: ClassVar[str] = "ASGD"

    def models(self, p: Problem, rng: np.random.Generator) -> Iterator[Array]:
        n = self.workers
        past = deque([_start(p)] * n, maxlen=n)
        while True:
            yield past[-1]
            noise = _noise(rng, n, DIM)
            for i in range(n):
                past.append(past[-1] - _SIZE / n * (p.gradient(past[0]) + noise[:, :, i]))


@dataclass(frozen=True)
class LateSgd(Stale):
    name: ClassVar[str] = "late SGD"

    def models(self, p: Problem, rng: np.random.Generator) -> Iterator[Array]:
        past = deque([_start(p)] * (self.workers + 1), maxlen=self.workers + 1)
        while True:
            yield past[-1]
            noisy = p.gradient(past[0]) + _noise(rng, DIM) / math.sqrt(self.workers)
            past.append(past[-1] - _SIZE * noisy)


@dataclass(frozen=True)
class Dsgd(Descent):
    zeta: float
    graph: AbstractGraph = RING
    lazy: float = 0.0  # W <- (1 - lazy) W + lazy I: a smaller gap with the same neighbours

    name: ClassVar[str] = "DSGD"

    @property
    def mix(self) -> Array:
        weights: Array = self.graph.weights(self.workers, 0, 0).dense().numpy()
        return (1 - self.lazy) * weights + self.lazy * np.eye(self.workers)

    @property
    def gap(self) -> float:
        return 1 - second_modulus(torch.from_numpy(self.mix))

    def data(self) -> tuple[Array, Array]:
        """Of every worker: what pulls it away, and its curvature over that of all."""
        n, own = self.workers, np.random.default_rng(5)
        pull, tilt = own.standard_normal((n, DIM)), own.uniform(-1.0, 1.0, (n, DIM))
        pull = self.zeta * (pull - pull.mean(0)) / math.sqrt(DIM)
        tilt = tilt - tilt.mean(0)
        return pull, 1 + TILT * tilt / max(np.abs(tilt).max(), 1e-12)

    def models(self, p: Problem, rng: np.random.Generator) -> Iterator[Array]:
        n, mix, (pull, curve) = self.workers, self.mix, self.data()
        x, size = np.repeat(_start(p)[:, :, None], n, 2), _SIZE[..., None]
        while True:
            yield x.mean(2)
            x = mix @ x - size * (curve * p.gradient(x) + (pull + _noise(rng, n, DIM)))

    def added(self, eps: float) -> float:
        return self.zeta / (self.gap * eps**1.5) if self.workers > 1 else 0.0

    @property
    def setting(self) -> str:
        return f"N = {self.workers}, zeta {self.zeta:g}, {self.graph}, gap {self.gap:.3f}"
