"""A probed network that follows its formula exactly."""

from __future__ import annotations

from laconic.planner.network_file import NetworkTable
from laconic.sim.collective import Curve
from laconic.sim.network import Line


def curve(alpha: float, beta: float, world: int) -> Curve:
    sizes = (1e3, 1e5, 1e7)
    return Curve(sizes, tuple(2 * (world - 1) * alpha + 2 * (world - 1) / world * s * beta for s in sizes))


def network(world: int = 4) -> NetworkTable:
    seen = curve(1e-4, 8e-8, world)
    return NetworkTable(world, 1, 2, {"reduce": seen}, {"reduce": curve(1e-5, 1e-9, world)}, Line(1e-4, 8e-8))
