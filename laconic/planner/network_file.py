"""network.json: what `laconic probe` measured between these ranks.

world, machines, cores            ranks; on how many machines; cores that the ranks of one machine share
curves                            seconds by size for reduce, gather, deal and post, of the slowest rank
cpu                               the same in seconds of all of a rank's threads on a core
line                              alpha and beta, fitted to the curves: for other numbers of workers
pairs                             seconds of a small and bytes per second of a large message, rank by rank
touch_s, memory_gb_s              a byte of gradient copied and looked through; a plain copy
step_s, exchange_s, lane_s        seconds on a core of a step, of each exchange in it, and of each round of a
                                  compressed one, beside all that (tiny.py)
sum_wait_s, lane_wait_s           seconds that a round waits beside all that, plain or compressed (tiny.py)
codings                           seconds an element to write and to read each compressor's messages
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from laconic.core.errors import UsageError
from laconic.core.files import json_text, write_whole
from laconic.sim.collective import Curve
from laconic.sim.machine import Coding, Machine
from laconic.sim.network import Line, Network


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
    step_s: float = 0.0
    exchange_s: float = 0.0
    lane_s: float = 0.0
    sum_wait_s: float = 0.0
    lane_wait_s: float = 0.0
    codings: Mapping[str, Coding] = field(default_factory=dict)
    rate: str = ""  # what the lab was told

    def network(self) -> Network:
        return Network(self.line)

    def measured(self, world: int) -> dict[str, Curve]:
        """Tables hold for as many workers as were measured; for others the fitted line must do."""
        return dict(self.curves) if world == self.world else {}

    def machine(self, world: int, **rest: Any) -> Machine:
        """Ranks of one machine share its cores: as many of them as were measured stay together."""
        together = min(world, -(-self.world // self.machines))
        byte, message = cpu_line(self.cpu, self.world)
        return Machine(
            cores=self.cores / together,
            touch_s=self.touch_s,
            send_cpu_s=byte,
            message_cpu_s=message,
            step_s=self.step_s,
            exchange_s=self.exchange_s,
            lane_s=self.lane_s,
            sum_wait_s=self.sum_wait_s,
            lane_wait_s=self.lane_wait_s,
            codings=self.codings,
            **rest,
        )

    def to_json(self) -> str:
        return json_text(asdict(self), indent=1)

    def write(self, path: Path) -> None:
        write_whole(path, self.to_json() + "\n")


def read_network(path: Path) -> NetworkTable:
    try:
        return from_dict(json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is not a network.json of `laconic probe`: {error!r}.") from error


def from_dict(data: Mapping[str, Any]) -> NetworkTable:
    made = dict(data)
    for key in ("curves", "cpu"):
        made[key] = {k: Curve(tuple(c["sizes"]), tuple(c["seconds"])) for k, c in data[key].items()}
    made["line"] = Line(**data["line"])
    made["pairs"] = tuple(tuple((a, b) for a, b in row) for row in data["pairs"])
    made["codings"] = {k: Coding(**c) for k, c in data["codings"].items()}
    return NetworkTable(**made)


def fit_line(curve: Curve, world: int) -> Line:
    """alpha, beta of  T = 2(n-1) alpha + 2(n-1)/n S beta: the shortest call tells alpha, the longest beta."""
    if world == 1:
        return Line(0.0, 0.0)
    hops, share = 2 * (world - 1), 2 * (world - 1) / world
    sent = share * (curve.sizes[-1] - curve.sizes[0])
    return Line(curve.seconds[0] / hops, max(0.0, curve.seconds[-1] - curve.seconds[0]) / max(sent, 1.0))


def cpu_line(curves: Mapping[str, Curve], world: int) -> tuple[float, float]:
    """Seconds on a core of a byte sent, as the longest all-reduce tells, and of a message, as the shortest calls do."""
    if not curves or world == 1:
        return 0.0, 0.0
    sums, hops = curves["reduce"], 2 * (world - 1)
    each = [
        curve.seconds[0] / (hops if name == "reduce" else world - 1) for name, curve in curves.items() if name != "post"
    ]
    sent = hops / world * (sums.sizes[-1] - sums.sizes[0])
    return max(0.0, sums.seconds[-1] - sums.seconds[0]) / max(sent, 1.0), sum(each) / len(each)
