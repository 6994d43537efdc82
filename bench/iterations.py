"""After how many iterations a descent is at epsilon, with the best constant step size of the grid.

One run answers for every epsilon and every step size; it ends when no step size can become the best any more. T is
infinite where `longest` iterations were not enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np
from descents import SEEDS, STEPS, Array, Descent, Problem
from numpy.typing import NDArray

LONGEST = 65_000
CHUNK = 128


def steady(p: Problem, x: Array) -> Array:
    """|f'|^2, of which survey 003 asks the mean over all iterations so far."""
    g = p.gradient(x)
    return np.asarray((g * g).sum(-1))


def iterations(descent: Descent, p: Problem, epsilons: Sequence[float], longest: int = LONGEST) -> list[float]:
    """The fewest with which a step size of the grid has (1/T) sum |f'(x_t)|^2 <= eps, on average over the seeds."""
    wanted = np.array(epsilons)[:, None, None, None]
    took = np.full((len(epsilons), SEEDS, len(STEPS)), np.inf)
    total, before = np.zeros((SEEDS, len(STEPS))), 0
    for seen in _chunks(descent, p, steady, longest):
        sums = total + np.cumsum(seen, axis=0)
        counts = before + np.arange(1, len(seen) + 1)
        took = _first(took, sums / counts[:, None, None] <= wanted, before)
        total, before = sums[-1], before + len(seen)
        if _settled(took.mean(1), np.minimum(took, before).mean(1)):
            break
    return [float(t) for t in took.mean(1).min(1)]


def iterations_to_value(descent: Descent, p: Problem, epsilons: Sequence[float], longest: int = LONGEST) -> list[float]:
    """The fewest with which a step size of the grid has f(x_T) - f* <= eps, the mean over the seeds."""
    wanted = np.array(epsilons)[:, None, None]
    took, before = np.full((len(epsilons), len(STEPS)), np.inf), 0
    for seen in _chunks(descent, p, lambda p, x: p.value(x), longest):
        took = _first(took, seen.mean(1) <= wanted, before)
        before += len(seen)
        if _settled(took, np.minimum(took, before)):
            break
    return [float(t) for t in took.min(1)]


def _chunks(descent: Descent, p: Problem, measure: Callable[[Problem, Array], Array], longest: int) -> Iterator[Array]:
    """Measured (iteration, seed, step size); what diverges becomes inf or nan, which is never small enough."""
    models = descent.models(p, np.random.default_rng(0))
    for start in range(0, longest, CHUNK):
        with np.errstate(over="ignore", invalid="ignore"):
            yield np.stack([measure(p, x) for x in islice(models, min(CHUNK, longest - start))])


def _first(took: Array, small: NDArray[np.bool_], before: int) -> Array:
    """`small` has the iterations of a chunk behind the epsilons."""
    here = np.where(small.any(1), before + 1.0 + small.argmax(1), np.inf)
    return np.minimum(took, here)


def _settled(took: Array, at_least: Array) -> bool:
    """No step size can still become the best for an epsilon."""
    return bool((at_least >= took.min(1, keepdims=True)).all())


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Of log y over log x, where y was reached."""
    good = [(x, y) for x, y in zip(xs, ys, strict=True) if math.isfinite(y)]
    if len(good) < 2:
        return math.nan
    a, b = np.log(np.array(good)).T
    return float(np.polyfit(a, b, 1)[0])
