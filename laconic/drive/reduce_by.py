"""Tells a driver how a plan wants its sums made: by the backend, by one program, or by the measured table."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import torch

from laconic.drive.lanes import Lanes
from laconic.drive.torch_dist import TorchDist
from laconic.drive.tune import measured
from laconic.topology.allreduce import AUTO, AllReduce
from laconic.topology.choice import Choice
from laconic.topology.programs import Program


@dataclass(frozen=True)
class ByTable:
    """The program of the algorithm that the table names for a size."""

    topology: AllReduce
    choice: Choice
    rank: int
    world: int

    def __call__(self, numel: int, nbytes: int) -> Program | None:
        chosen = replace(self.topology, algorithm=self.choice.pick(nbytes))
        return chosen.program(self.rank, self.world, numel)


@dataclass(frozen=True)
class ByName:
    topology: AllReduce
    rank: int
    world: int

    def __call__(self, numel: int, nbytes: int) -> Program | None:
        return self.topology.program(self.rank, self.world, numel)


def reduce_by(topology: AllReduce, driver: TorchDist | Lanes, device: torch.device) -> str:
    """From here on the driver sums this way; returns in words which. All ranks must call it together."""
    desks = driver.desks if isinstance(driver, Lanes) else [driver]
    rank, world = desks[0].rank, desks[0].world
    by: ByName | ByTable = ByName(topology, rank, world)
    words = topology.algorithm
    if topology.algorithm == AUTO:
        choice = measured(driver.group, device)
        by, words = ByTable(topology, choice, rank, world), f"auto: {choice}"
        if rank == 0:
            logging.getLogger("laconic").info("allreduce(auto) measured and chose: %s", choice)
    for desk in desks:
        desk.program = by
    return words
