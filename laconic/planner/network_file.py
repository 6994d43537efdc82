"""network.json: what `laconic probe` measured between these ranks.

world, machines, cores            ranks; on how many machines; cores that the ranks of one machine share
curves                            seconds by size for reduce, gather, deal and post, of the slowest rank
cpu                               the same in seconds of all of a rank's threads on a core
line                              alpha and beta, fitted to the curves: for other numbers of workers
pairs                             seconds of a small and bytes per second of a large message, rank by rank; of up to 8
touch_s, memory_gb_s              a byte of gradient copied and looked through; a plain copy
share                             of a core that the slowest rank has while all compute; 0: not measured
step_s, exchange_s                seconds on a core of a step and of each exchange in it, beside all that (tiny.py)
sum_wait_s                        seconds that a plain sum waits beside all that (tiny.py)
lane_costs                        both of a compressed exchange, by what it asks for first: cpu_s on a core, wait_s
codings                           seconds an element to write and to read each compressor's messages
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from laconic.core.errors import UsageError
from laconic.core.files import json_text, write_whole
from laconic.core.numbers import amount, listed, object_of, reason, whole
from laconic.core.units import bytes_text
from laconic.sim.collective import Curve
from laconic.sim.machine import Coding, LaneCost, Machine
from laconic.sim.network import Line, Network

COUNTS = ("world", "machines", "cores")
AMOUNTS = {"touch_s", "memory_gb_s", "share", "step_s", "exchange_s", "sum_wait_s"}
CURVE = ("sizes", "seconds")
SUMS = "reduce"  # the curve from which lines are fitted
LEAST_SHARE = 1e-6
SLOW = 0.5  # of the median rate: worth a word
PINGED = 1 << 18  # bytes of a large message between two ranks
TURN_S = 0.005  # what two ranks on one core may wait for each other's turns
FEWEST_PAIRS = 6  # of three ranks; of two there is no median


@dataclass(frozen=True)
class NetworkTable:
    world: int
    machines: int
    cores: int
    curves: Mapping[str, Curve]
    cpu: Mapping[str, Curve]
    line: Line
    pairs: tuple[tuple[tuple[float, float], ...], ...] = ()
    touch_s: float = 0.0
    memory_gb_s: float = 0.0
    share: float = 0.0
    step_s: float = 0.0
    exchange_s: float = 0.0
    sum_wait_s: float = 0.0
    lane_costs: Mapping[str, LaneCost] = field(default_factory=dict)
    codings: Mapping[str, Coding] = field(default_factory=dict)
    rate: str = ""  # what the lab was told

    def network(self) -> Network:
        return Network(self.line)

    def measured(self, world: int) -> dict[str, Curve]:
        """Tables hold for as many workers as were measured; for others the fitted line must do."""
        return dict(self.curves) if world == self.world else {}

    def machine(self, world: int, **rest: Any) -> Machine:
        """Ranks of one machine share its cores."""
        together = self.together(world)
        byte, message = cpu_line(self.cpu, self.world)
        return Machine(
            cores=self.cores / together * self._efficiency(together),
            crowded=together > self.cores,
            touch_s=self.touch_s,
            send_cpu_s=byte,
            message_cpu_s=message,
            step_s=self.step_s,
            exchange_s=self.exchange_s,
            sum_wait_s=self.sum_wait_s,
            lane_costs=self.lane_costs,
            codings=self.codings,
            **rest,
        )

    def together(self, world: int) -> int:
        """On one machine: as many as were measured there."""
        return min(world, -(-self.world // self.machines))

    def _efficiency(self, together: int) -> float:
        """What is left of an equal part of the cores, as measured among as many ranks."""
        if not self.share or together != self.together(self.world):
            return 1.0
        return min(1.0, self.share / min(1.0, self.cores / together))

    def to_json(self) -> str:
        return json_text(asdict(self), indent=1)

    def write(self, path: Path) -> None:
        write_whole(path, self.to_json() + "\n")


def read_network(path: Path) -> NetworkTable:
    try:
        return from_dict(json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{path} is not a network.json of `laconic probe`: {reason(error)}.") from error


def from_dict(data: Mapping[str, Any]) -> NetworkTable:
    made = dict(object_of(data, "what it holds"))
    known = {f.name for f in fields(NetworkTable)}
    for name in made:
        if name not in known:
            raise ValueError(f"{name!r} has no meaning in it")
    for name in COUNTS:
        made[name] = whole(made[name], name, least=1)
    for name in AMOUNTS & made.keys():
        made[name] = amount(made[name], name)
    if 0 < made.get("share", 0.0) < LEAST_SHARE:
        raise ValueError(f"share is {made['share']}, too little of a core to compute at all")
    for name in ("curves", "cpu"):
        made[name] = {k: _curve(c, f"{name}.{k}") for k, c in object_of(made[name], name).items()}
        if made[name] and SUMS not in made[name]:
            raise ValueError(f"'{SUMS}' is missing in {name}")
    made["line"] = Line(**_amounts(made["line"], "line"))
    made["pairs"] = tuple(tuple(_pair(pair) for pair in listed(row, "pairs")) for row in listed(made["pairs"], "pairs"))
    codings = object_of(made["codings"], "codings")
    made["codings"] = {k: Coding(**_amounts(c, f"codings.{k}")) for k, c in codings.items()}
    costs = object_of(made.get("lane_costs", {}), "lane_costs")
    made["lane_costs"] = {k: LaneCost(**_amounts(c, f"lane_costs.{k}")) for k, c in costs.items()}
    return NetworkTable(**made)


def _curve(value: Any, name: str) -> Curve:
    data = object_of(value, name)
    sizes, seconds = (tuple(amount(x, f"{name}.{k}") for x in listed(data[k], f"{name}.{k}")) for k in CURVE)
    if not sizes or len(sizes) != len(seconds) or any(b <= a for a, b in pairwise(sizes)):
        raise ValueError(f"{name} does not hold seconds at rising sizes")
    return Curve(sizes, seconds)


def _amounts(value: Any, name: str) -> dict[str, float]:
    return {key: amount(x, f"{name}.{key}") for key, x in object_of(value, name).items()}


def _pair(value: Any) -> tuple[float, float]:
    found = [amount(x, "pairs") for x in listed(value, "pairs")]
    if len(found) != 2:
        raise ValueError(f"pairs holds {value!r}, not seconds and bytes per second")
    return found[0], found[1]


def slow_pairs(table: NetworkTable) -> list[str]:
    """A sentence for each pair of ranks between which bytes are much slower than between most."""
    rates = {
        (a, b): rate for a, row in enumerate(table.pairs) for b, (_, rate) in enumerate(row) if a != b and rate > 0
    }
    if len(rates) < FEWEST_PAIRS:
        return []
    usual = median(rates.values())
    noise_s = TURN_S if table.machine(table.world).crowded else 0.0
    return [
        f"From rank {a} to rank {b} a byte takes {usual / rate:.1f} times as long as between most: "
        f"{bytes_text(rate)}/s, the median is {bytes_text(usual)}/s."
        for (a, b), rate in rates.items()
        if rate < SLOW * usual and PINGED / rate - PINGED / usual > noise_s
    ]


def fit_line(curve: Curve, world: int) -> Line:
    """alpha, beta of  T = 2(n-1) alpha + 2(n-1)/n S beta: between the shortest and the longest call lies beta, the
    shortest then tells alpha. (A fit to all would take bends for slopes: links let a first burst pass.)"""
    if world == 1:
        return Line(0.0, 0.0)
    hops, share = 2 * (world - 1), 2 * (world - 1) / world
    beta = _slope(curve) / share
    return Line(max(0.0, curve.seconds[0] - share * curve.sizes[0] * beta) / hops, beta)


def cpu_line(curves: Mapping[str, Curve], world: int) -> tuple[float, float]:
    """Seconds on a core of a byte sent, as all-reduces tell, and of a message, as the shortest calls of all do."""
    if not curves or world == 1:
        return 0.0, 0.0
    sums = curves[SUMS]
    byte = _slope(sums) * world / (2 * (world - 1))
    each = [c.seconds[0] / ((world - 1) * (2 if c is sums else 1)) for name, c in curves.items() if name != "post"]
    return byte, sum(each) / len(each)


def _slope(curve: Curve) -> float:
    return max(0.0, curve.seconds[-1] - curve.seconds[0]) / max(curve.sizes[-1] - curve.sizes[0], 1.0)
