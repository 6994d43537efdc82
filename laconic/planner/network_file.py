"""network.json: what `laconic probe` measured between these ranks.

world, machines, cores            ranks; on how many machines; cores that the ranks of one machine share
curves                            seconds by size for reduce, gather, deal and post, of the slowest rank
cpu                               the same in seconds of all of a rank's threads on a core
line                              alpha and beta, fitted to the curves: for other numbers of workers
pairs                             seconds of a small and bytes per second of a large message, rank by rank
touch_s, memory_gb_s              a byte of gradient copied and looked through; a plain copy
step_s, exchange_s                seconds on a core of a step, and of each exchange in it, beside all that
sum_wait_s, lane_wait_s           seconds that a round waits beside all that, plain or compressed (tiny.py)
codings                           seconds an element to write and to read each compressor's messages
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

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
        byte, message = cpu_line(self.cpu.get("reduce"), self.world)
        return Machine(
            cores=self.cores / together,
            touch_s=self.touch_s,
            send_cpu_s=byte,
            message_cpu_s=message,
            step_s=self.step_s,
            exchange_s=self.exchange_s,
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
    """alpha, beta of  T = 2(n-1) alpha + 2(n-1)/n S beta, by least squares on relative errors, none below 0."""
    if world == 1:
        return Line(0.0, 0.0)
    hops, share = 2 * (world - 1), 2 * (world - 1) / world
    return Line(*(max(0.0, v) for v in _fit([(hops, share * s) for s in curve.sizes], curve.seconds)))


def cpu_line(curve: Curve | None, world: int) -> tuple[float, float]:
    """Seconds on a core of a byte sent, and of a message, from those of an all-reduce."""
    if curve is None or world == 1:
        return 0.0, 0.0
    hops, share = 2 * (world - 1), 2 * (world - 1) / world
    message, byte = _fit([(hops, share * s) for s in curve.sizes], curve.seconds)
    return max(0.0, byte), max(0.0, message)


def _fit(rows: Sequence[tuple[float, float]], seconds: Sequence[float]) -> tuple[float, float]:
    weights = 1.0 / np.maximum(np.array(seconds), 1e-9)
    a = np.array(rows) * weights[:, None]
    found, *_ = np.linalg.lstsq(a, np.ones(len(seconds)), rcond=None)
    return float(found[0]), float(found[1])
