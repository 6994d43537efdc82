"""Theory against practice: iterations to epsilon, over epsilon, workers, compression and spectral gap.

    python bench/theory.py [--out docs/theory]

Survey 003, table 1.1, bounds for L-smooth functions with gradient noise sigma^2 and N workers the iterations until
(1/T) sum |f'(x_t)|^2 <= eps (`Descent.bound` in descents.py has every constant 1):

    mb-SGD   1/eps + sigma^2 / (N eps^2)          CSGD   ... + sigma'^2 / eps^2
    EC-SGD   ... + sigma' / eps^{3/2}             ASGD   N/eps + sigma^2 / (N eps^2)
    DSGD     ... + zeta / ((1-rho) eps^{3/2})

Survey 000, table IV: f - f* <= O(1/T) on convex problems, a slope of 1; |f'|^2 <= O(1/sqrt T) on others, a slope of 2.

Each cell is the smallest T with which any constant step size of a grid gets there; slopes are fitted to log T, and
beside each stands the slope of the bound at the same places. Two problems in 40 dimensions: a quadratic (condition 20)
and a smooth non-convex one, f = 1/2 sum_i (x_i^2 / (1 + x_i^2) + x_i^2 / 20). Tables go to stdout, progress to stderr,
pictures (both axes in powers of ten) to --out.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from descents import (
    NONCONVEX,
    PROBLEMS,
    QUADRATIC,
    Asgd,
    Csgd,
    Descent,
    Dsgd,
    EcSgd,
    LateSgd,
    MbSgd,
    Problem,
)
from iterations import iterations, iterations_to_value, slope

from laconic.compare.svg import COLOURS, Curve, alone, powers
from laconic.topology.graphs import Complete, Exponential, Ring, Torus

EPSILONS = (0.2, 0.1, 0.05, 0.025)
VALUES = (0.02, 0.01, 0.005, 0.0025)
EPSILON = 0.05  # over workers and compression
COARSE = 0.1  # over the gap
WORKERS = (1, 2, 4, 8, 16)
RATIOS = (0.5, 0.25, 0.1, 0.05)
GRAPHS = (Complete(), Exponential(), Torus(), Ring())
LAZY = (0.0, 0.5, 0.75, 0.875)
ZETA = 1.0  # how far apart the workers' data pull
FAR = {QUADRATIC.name: 16.0, NONCONVEX.name: 4.0}  # so far that the graph decides
METHODS = (
    MbSgd(4),
    MbSgd(16),
    Csgd(4, 0.25),
    Csgd(4, 0.05),
    EcSgd(4, 0.25),
    EcSgd(4, 0.05),
    Asgd(4),
    Asgd(16),
    LateSgd(4),
    LateSgd(16),
    Dsgd(4, ZETA),
    Dsgd(16, ZETA),
)
DRAWN = frozenset({MbSgd(4), MbSgd(16), Csgd(4, 0.05), EcSgd(4, 0.05), Asgd(16), LateSgd(16), Dsgd(16, ZETA)})
GUIDE = len(COLOURS) - 1  # grey


@dataclass(frozen=True)
class Line:
    """One row of a table and one line of a picture."""

    problem: str
    method: str
    setting: str
    xs: tuple[float, ...]
    took: tuple[float, ...]
    bound: tuple[float, ...]
    drawn: bool = True

    @property
    def fitted(self) -> float:
        return slope(self.xs, self.took)

    @property
    def promised(self) -> float:
        """Of the bound, where T was reached."""
        return slope(self.xs, [b if math.isfinite(t) else math.inf for b, t in zip(self.bound, self.took, strict=True)])

    def __str__(self) -> str:
        words = " / ".join(f"{t:.0f}" if math.isfinite(t) else "-" for t in self.took)
        return (
            f"| {self.problem} | {self.method} | {self.setting} | {words} | {self.fitted:.2f} | {self.promised:.2f} |"
        )


@dataclass(frozen=True)
class Sweep:
    name: str
    title: str
    x_name: str
    heading: str  # of the counts
    lines: tuple[Line, ...]
    guides: tuple[float, ...]  # slopes to compare with

    def table(self) -> str:
        top = f"| problem | method | setting | T at {self.heading} | slope | the bound's |\n|---|---|---|---|---|---|"
        return "\n".join((f"## {self.title}\n", top, *map(str, self.lines), ""))

    def pictures(self) -> dict[str, str]:
        """A file's name, and what is in it: one for each problem."""
        out = {}
        for problem in dict.fromkeys(line.problem for line in self.lines):
            mine = [line for line in self.lines if line.problem == problem and line.drawn]
            title = f"{self.title}: {problem}"
            out[f"{self.name}_{problem}.svg"] = alone(powers(_curves(mine, self.guides), title, self.x_name, "T"))
        return out


def _curves(lines: Sequence[Line], guides: Sequence[float]) -> list[Curve]:
    rows = []
    for number, line in enumerate(lines):
        points = tuple((x, t) for x, t in zip(line.xs, line.took, strict=True) if math.isfinite(t))
        if points:
            rows.append(Curve(f"{line.method}, {line.setting.split(', gap')[0]}", number, points))
    low, high = min(x for line in lines for x in line.xs), max(x for line in lines for x in line.xs)
    start = min(y for row in rows for x, y in row.points)
    return rows + [Curve(f"slope {g:g}", GUIDE, ((low, start), (high, start * (high / low) ** g))) for g in guides]


Say = Callable[[Line], Line]


def over_epsilon(say: Say) -> Sweep:
    lines = [say(_by_epsilon(d, p, EPSILONS, iterations)) for p in PROBLEMS for d in (*METHODS, Dsgd(16, FAR[p.name]))]
    return Sweep("epsilon", "Over epsilon", "1 / eps", _words("eps", EPSILONS), tuple(lines), (1, 2))


def over_value(say: Say) -> Sweep:
    """Survey 000's measure for convex problems."""
    methods = [d for d in METHODS if d.workers == 4]
    lines = [_by_epsilon(d, QUADRATIC, VALUES, iterations_to_value) for d in methods]
    lines = [say(replace(line, bound=line.xs, drawn=True)) for line in lines]  # table IV: 1/T, whatever the method
    return Sweep("value", "Until f - f* is at most eps", "1 / eps", _words("eps", VALUES), tuple(lines), (1,))


def over_workers(say: Say) -> Sweep:
    made: tuple[Callable[[int], Descent], ...] = (
        MbSgd,
        lambda n: Csgd(n, 0.1),
        lambda n: EcSgd(n, 0.1),
        Asgd,
        LateSgd,
        lambda n: Dsgd(n, ZETA),
    )
    lines = [
        say(_by_descent([make(n) for n in WORKERS], p, WORKERS, f"eps {EPSILON}")) for p in PROBLEMS for make in made
    ]
    return Sweep("workers", "Over workers", "N", _words("N", WORKERS), tuple(lines), (-1,))


def over_compression(say: Say) -> Sweep:
    xs = [1 / r for r in RATIOS]
    made: tuple[Callable[[float], Descent], ...] = (lambda r: Csgd(4, r), lambda r: EcSgd(4, r))
    lines = [
        say(_by_descent([make(r) for r in RATIOS], p, xs, f"N = 4, eps {EPSILON}")) for p in PROBLEMS for make in made
    ]
    return Sweep("compression", "Over compression", "1 / ratio", _words("ratio", RATIOS), tuple(lines), (1,))


def over_gap(say: Say) -> Sweep:
    """Four graphs; and a ring whose workers listen less and less."""
    graphs = [Dsgd(16, ZETA, graph) for graph in GRAPHS]
    rings = {p.name: [Dsgd(16, FAR[p.name], lazy=lazy) for lazy in LAZY] for p in PROBLEMS}
    lines = [say(_by_gap(ds, p)) for p in PROBLEMS for ds in (graphs, rings[p.name])]
    return Sweep("gap", "Over the spectral gap", "1 / gap", "the gaps of the setting", tuple(lines), (1,))


def _by_gap(ds: Sequence[Dsgd], p: Problem) -> Line:
    graphs = " / ".join(dict.fromkeys(str(d.graph) for d in ds))
    gaps = " / ".join(f"{d.gap:.3f}" for d in ds)
    return _by_descent(ds, p, [1 / d.gap for d in ds], f"{graphs}, zeta {ds[0].zeta:g}, gap {gaps}", COARSE)


def _by_epsilon(
    d: Descent, p: Problem, epsilons: Sequence[float], count: Callable[[Descent, Problem, Sequence[float]], list[float]]
) -> Line:
    xs, took = tuple(1 / e for e in epsilons), count(d, p, epsilons)
    return Line(p.name, d.name, d.setting, xs, tuple(took), tuple(map(d.bound, epsilons)), d in DRAWN)


def _by_descent(ds: Sequence[Descent], p: Problem, xs: Sequence[float], setting: str, epsilon: float = EPSILON) -> Line:
    took = tuple(iterations(d, p, (epsilon,))[0] for d in ds)
    return Line(p.name, ds[0].name, setting, tuple(xs), took, tuple(d.bound(epsilon) for d in ds))


def _words(name: str, values: Sequence[float]) -> str:
    return f"{name} = " + " / ".join(f"{v:g}" for v in values)


def main() -> None:
    parser = argparse.ArgumentParser(description="iterations to epsilon beside the bounds")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "theory")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()

    def say(line: Line) -> Line:
        print(f"{time.monotonic() - began:4.0f} s {line}", file=sys.stderr, flush=True)
        return line

    for sweep in (over_epsilon, over_value, over_workers, over_compression, over_gap):
        made = sweep(say)
        print(made.table(), flush=True)
        for name, picture in made.pictures().items():
            (out / name).write_text(picture)


if __name__ == "__main__":
    main()
