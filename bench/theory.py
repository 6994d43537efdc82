"""Theory against practice: iterations to epsilon, over epsilon, workers, compression and spectral gap.

    python bench/theory.py

Survey 003, table 1.1 (with the exponents of EC-SGD and DSGD corrected to 2/3 -> eps^{-3/2}, as its own theorems have
them), for L-smooth functions with gradient noise sigma^2, N workers, (1/T) sum |f'(x_t)|^2 <= eps:

    mb-SGD   1/eps + sigma^2 / (N eps^2)          CSGD   ... + sigma'^2 / eps^2
    EC-SGD   ... + sigma' / eps^{3/2}             ASGD   N/eps + sigma^2 / (N eps^2)
    DSGD     ... + zeta / ((1-rho) eps^{3/2})

Each cell: the smallest T with which any constant step size of a grid (2^-k / L) reaches eps, averaged over seeds;
slopes are fitted to log T. Two problems: a quadratic (condition 20) and a smooth non-convex one, f = sum_i x_i^2 / (1 +
x_i^2). Both are kinder than the worst case the table is about: slopes at most those of the table are what theory
promises. Workers are virtual, in numpy; compression is random-k (scaled, unbiased) for CSGD and top-k with a memory for
EC-SGD.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laconic.topology.graphs import Ring

Vector = NDArray[np.float64]
DIM = 40
NOISE = 1.0
LONGEST = 60_000
STEPS = [2.0**-k for k in range(11)]


@dataclass(frozen=True)
class Problem:
    name: str
    gradient: Callable[[Vector], Vector]
    start: Vector


_SCALES = np.geomspace(0.05, 1.0, DIM)
QUADRATIC = Problem("quadratic", lambda x: _SCALES * x, np.ones(DIM))
NONCONVEX = Problem("non-convex", lambda x: x / (1 + x * x) ** 2, 1.5 * np.ones(DIM))


@dataclass(frozen=True)
class Method:
    """A run of T steps with N workers; yields |f'|^2 at the mean model."""

    name: str
    run: Callable[[Problem, int, float, float, np.random.Generator, int], Vector]


def mb(p: Problem, n: int, lr: float, _: float, rng: np.random.Generator, steps: int) -> Vector:
    x, out = p.start.copy(), np.empty(steps)
    for t in range(steps):
        g = p.gradient(x)
        out[t] = g @ g
        x = x - lr * (g + rng.standard_normal(DIM) * NOISE / np.sqrt(n * DIM))
    return out


def csgd(p: Problem, n: int, lr: float, ratio: float, rng: np.random.Generator, steps: int) -> Vector:
    """Every worker keeps a random share, scaled up."""
    x, out = p.start.copy(), np.empty(steps)
    for t in range(steps):
        g = p.gradient(x)
        out[t] = g @ g
        each = g + rng.standard_normal((n, DIM)) * NOISE / np.sqrt(DIM)
        x = x - lr * (each * (rng.random((n, DIM)) < ratio) / ratio).mean(0)
    return out


def ec(p: Problem, n: int, lr: float, ratio: float, rng: np.random.Generator, steps: int) -> Vector:
    """Top-k with a memory each."""
    x, out, memory = p.start.copy(), np.empty(steps), np.zeros((n, DIM))
    k = max(1, round(ratio * DIM))
    for t in range(steps):
        g = p.gradient(x)
        out[t] = g @ g
        memory += g + rng.standard_normal((n, DIM)) * NOISE / np.sqrt(DIM)
        at = np.argpartition(-np.abs(memory), k - 1, axis=1)[:, :k]
        said = np.zeros((n, DIM))
        np.put_along_axis(said, at, np.take_along_axis(memory, at, 1), 1)
        memory -= said
        x = x - lr * said.mean(0)
    return out


def asgd(p: Problem, n: int, lr: float, _: float, rng: np.random.Generator, steps: int) -> Vector:
    """Survey 003's unit: N gradients, each of a model up to N updates old, applied one by one, make one iteration."""
    past, out = [p.start.copy()] * n, np.empty(steps)
    for t in range(steps):
        g = p.gradient(past[-1])
        out[t] = g @ g
        for i in range(n):
            old = past[-n + (i + t) % n]
            noisy = p.gradient(old) + rng.standard_normal(DIM) * NOISE / np.sqrt(DIM)
            past.append(past[-1] - lr / n * noisy)
        past = past[-n:]
    return out


def dsgd(p: Problem, n: int, lr: float, zeta: float, rng: np.random.Generator, steps: int) -> Vector:
    """Gossip on a ring; every worker's own data pulls it aside by zeta."""
    w = np.array(Ring().weights(n, 0, 0).dense())
    x, out = np.tile(p.start, (n, 1)), np.empty(steps)
    pull = np.random.default_rng(5).standard_normal((n, DIM))
    pull = zeta * (pull - pull.mean(0)) / np.sqrt(DIM)
    for t in range(steps):
        g = p.gradient(x.mean(0))
        out[t] = g @ g
        noisy = np.stack([p.gradient(row) for row in x]) + pull + rng.standard_normal((n, DIM)) * NOISE / np.sqrt(DIM)
        x = w @ x - lr * noisy
    return out


METHODS = {
    m.name: m
    for m in (
        Method("mb-SGD", mb),
        Method("CSGD", csgd),
        Method("EC-SGD", ec),
        Method("ASGD", asgd),
        Method("DSGD", dsgd),
    )
}


def iterations(
    method: Method, p: Problem, n: int, eps: float, extra: float, seeds: int = 2, longest: int = LONGEST
) -> float:
    """The fewest steps after which the running mean of |f'|^2 is at most eps, over the grid of step sizes."""
    best = float("inf")
    for lr in STEPS:
        horizon = int(min(longest, best if best < float("inf") else longest, 40 / (lr * eps)))
        if horizon < 1:
            continue
        took = []
        for seed in range(seeds):
            norms = method.run(p, n, lr, extra, np.random.default_rng(seed), horizon)
            means = np.cumsum(norms) / np.arange(1, horizon + 1)
            below = np.nonzero(means <= eps)[0]
            took.append(float(below[0] + 1) if len(below) else float("inf"))
        best = min(best, float(np.mean(took)))
    return best


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    good = [(x, y) for x, y in zip(xs, ys, strict=True) if np.isfinite(y)]
    if len(good) < 2:
        return float("nan")
    a, b = np.log(np.array(good)).T
    return float(np.polyfit(a, b, 1)[0])


def main() -> None:
    eps = (0.2, 0.1, 0.05, 0.025)
    print("| problem | method | setting | T at eps = " + " / ".join(map(str, eps)) + " | slope in 1/eps | table |")
    print("|---|---|---|---|---|---|")
    rows = [
        ("mb-SGD", 4, 0.0, "1 to 2"),
        ("mb-SGD", 16, 0.0, "1 to 2"),
        ("CSGD", 4, 0.25, "1 to 2"),
        ("CSGD", 4, 0.05, "1 to 2"),
        ("EC-SGD", 4, 0.25, "1 to 2, of which 3/2 by compression"),
        ("EC-SGD", 4, 0.05, "1 to 2, of which 3/2 by compression"),
        ("ASGD", 4, 0.0, "1 to 2"),
        ("ASGD", 16, 0.0, "1 to 2"),
        ("DSGD", 4, 0.3, "1 to 2, of which 3/2 by the graph"),
        ("DSGD", 16, 0.3, "1 to 2, of which 3/2 by the graph"),
    ]
    for p in (QUADRATIC, NONCONVEX):
        for name, n, extra, promised in rows:
            took = [iterations(METHODS[name], p, n, e, extra) for e in eps]
            fitted = slope([1 / e for e in eps], took)
            words = " / ".join(f"{t:.0f}" if np.isfinite(t) else "-" for t in took)
            what = {"CSGD": f", ratio {extra}", "EC-SGD": f", ratio {extra}", "DSGD": f", gap {Ring().gap(n):.3f}"}.get(
                name, ""
            )
            print(
                f"| {p.name} | {name} | N = {n}{what} | {words} | {fitted:.2f} | {promised} |",
                flush=True,
            )
    few = [iterations(METHODS["mb-SGD"], QUADRATIC, n, 0.025, 0.0) for n in (1, 2, 4, 8)]
    print(f"\nmb-SGD on the quadratic, eps = 0.025, N = 1, 2, 4, 8: T = {', '.join(f'{t:.0f}' for t in few)}; ")
    print(f"slope in N {slope([1, 2, 4, 8], few):.2f} (-1 where noise decides, 0 where it does not).")


if __name__ == "__main__":
    main()
