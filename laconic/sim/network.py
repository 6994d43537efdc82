"""Who is how far from whom: every worker hangs on one switch by a line of its own.

    a message of m bytes from i to j takes  alpha_ij + m max(beta_i, beta_j)

alpha: latency; beta: seconds a byte of the slower of the two lines. The switch itself is never the bottleneck
(Liu, Zhang, "Distributed Learning Systems with First-Order Methods", 2020, section 1.3). Lines may differ, and workers
may live in regions: consecutive ranks, as many in each; between regions another line applies. Servers, which come
after all workers, live in the last region.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from laconic.core.errors import UsageError
from laconic.core.units import seconds_text
from laconic.lab.rate import parse_rate, parse_seconds, rate_text


@dataclass(frozen=True)
class Line:
    alpha_s: float  # of a message, whatever its length
    beta_s: float  # of a byte

    def seconds(self, nbytes: float) -> float:
        return self.alpha_s + nbytes * self.beta_s

    def __str__(self) -> str:
        rate = "unlimited" if self.beta_s == 0 else rate_text(float(f"{8 / self.beta_s:.4g}"))
        return f"{rate}:{seconds_text(self.alpha_s).replace(' ', '')}"


@dataclass(frozen=True)
class Network:
    line: Line
    own: Mapping[int, float] = field(default_factory=dict)  # seconds a byte of workers whose line differs
    regions: int = 1
    across: Line | None = None  # between regions

    def __post_init__(self) -> None:
        if self.regions < 1:
            raise UsageError(f"{self.regions} regions: give at least 1.")
        if self.regions > 1 and self.across is None:
            raise UsageError(f"{self.regions} regions: say also how they are connected (--across), or leave both out.")
        if self.regions == 1 and self.across is not None:
            raise UsageError(
                f"{self.across} across regions: say also how many there are (--regions), or leave both out."
            )

    def fit(self, world: int) -> None:
        """Are there as many workers as are spoken of?"""
        if self.regions > world:
            raise UsageError(
                f"{self.regions} regions with --workers {world}: some would be empty. Give as many workers."
            )
        if absent := [w for w in self.own if w >= world]:
            raise UsageError(f"--own {absent[0]}=...: with --workers {world} the last is {world - 1}.")

    @property
    def uniform(self) -> bool:
        """Is the way between any two workers the same?"""
        return not self.own and self.across is None

    def region(self, worker: int, world: int) -> int:
        """`world`: of workers alone."""
        return min(worker, world - 1) * self.regions // world

    def between(self, source: int, target: int, world: int) -> Line:
        betas = (self.own.get(source, self.line.beta_s), self.own.get(target, self.line.beta_s))
        if self.across is None or self.region(source, world) == self.region(target, world):
            return Line(self.line.alpha_s, max(betas))
        return Line(self.across.alpha_s, max(*betas, self.across.beta_s))

    def to_all(self, world: int) -> tuple[Line, ...]:
        """A message to each other worker, latencies and lines added up: one for all who are alike."""
        kind = [(self.region(w, world), self.own.get(w, self.line.beta_s)) for w in range(world)]
        alike = {k: (kind.index(k), n) for k, n in Counter(kind).items()}
        return tuple(
            _added_up([(n - (i == j), self.between(i, j, world)) for j, n in alike.values()]) for i, _ in alike.values()
        )

    def worst(self, world: int) -> Line:
        """The slowest way there is: what a step that everyone takes part in waits for."""
        if self.uniform:
            return self.line
        beta = max([self.line.beta_s, *(b for w, b in self.own.items() if w < world)])
        alpha = self.line.alpha_s
        if self.across is not None and world > 1:
            alpha, beta = max(alpha, self.across.alpha_s), max(beta, self.across.beta_s)
        return Line(alpha, beta)


def _added_up(messages: Iterable[tuple[int, Line]]) -> Line:
    counted = list(messages)
    return Line(sum(n * line.alpha_s for n, line in counted), sum(n * line.beta_s for n, line in counted))


def parse_line(text: str) -> Line:
    """`10gbit:50us`: rate and one-way latency."""
    rate, colon, latency = text.partition(":")
    if not colon:
        raise UsageError(f"'{text}' is not a line. Write its rate and its latency, as in 10gbit:50us.")
    return Line(parse_seconds(latency), 8.0 / parse_rate(rate))


def parse_own(texts: Sequence[str], line: Line) -> dict[int, float]:
    """`3=1gbit`: seconds a byte of the workers whose line is not `line`."""
    found: dict[int, float] = {}
    for text in texts:
        worker, equals, rate = text.partition("=")
        if not equals or not worker.strip().isdecimal() or ":" in rate:
            raise UsageError(f"--own {text}: write the worker's number, an equals sign and its rate, as in 3=1gbit.")
        if int(worker) in found:
            raise UsageError(f"--own names worker {int(worker)} twice.")
        found[int(worker)] = 8.0 / parse_rate(rate)
        if found[int(worker)] == line.beta_s:
            raise UsageError(f"--own {text}: that is the rate of every link. Leave it out.")
    return found
