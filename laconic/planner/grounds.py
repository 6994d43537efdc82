"""What a ranking's numbers rest on where nobody measured them, in sentences: only those that are true of it.

the network   a link given as text, or a line fitted to another number of ranks
cores         how many workers are taken to share a machine's
coding        a nominal speed, of compressors that were not timed
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from laconic.core.units import bytes_text
from laconic.plan import Plan
from laconic.planner.network_file import NetworkTable
from laconic.planner.search import DDP, Found, Planner
from laconic.sim.machine import timed_as

NAMED = 3  # compressors
ELEMENT = 4  # bytes


def grounds(planner: Planner, world: int, rows: Sequence[Found]) -> list[str]:
    """Of more than one worker; `rows`: whose compressors are spoken of."""
    return [*_network(planner, world), *_nominal(planner, world, rows)]


def _network(planner: Planner, world: int) -> list[str]:
    table, line = planner.table, planner.network.line
    if table is None:
        return [f"{line} is a link, not a machine: each worker is taken to have a core (or device) of its own."]
    return [] if table.world == world else [_fitted(table), _shared(table, world)]


def _fitted(table: NetworkTable) -> str:
    machines = "1 machine" if table.machines == 1 else f"{table.machines} machines"
    return (
        f"The network was probed with {table.world} ranks on {machines}: a line of {table.line}, fitted to what they "
        f"measured, stands for it here."
    )


def _shared(table: NetworkTable, world: int) -> str:
    together = table.together(world)
    cores = "1 core" if table.cores == 1 else f"{table.cores} cores"
    if together == 1:
        return f"Each worker is taken to have a machine of {cores} to itself."
    return f"{together} workers are taken to share the {cores} of each machine."


def _nominal(planner: Planner, world: int, rows: Iterable[Found]) -> list[str]:
    machine, table = planner.setting(world).machine, planner.table
    compressors = [Plan.parse(f.text).compress for f in rows if f.distributes and f.text != DDP]
    names = list(dict.fromkeys(str(timed_as(c)) for c in compressors if not machine.timed(c)))
    if not names:
        return []
    who = ", ".join(names) if len(names) <= NAMED else f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"
    speed = f"{bytes_text(ELEMENT / machine.coding.encode_s)}/s of gradient is assumed"
    hint = "" if table is None or table.codings else " (laconic probe measures it, unless --quick)"
    return [f"Nobody measured how fast {who} can be written and read here: {speed}{hint}."]
