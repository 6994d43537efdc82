"""What compressors cost this machine's cores: seconds an element to write a message and to read one.

A real exchange of noise among three virtual workers in this process, rank 0's seconds on a core between its requests
(drive/simulate.py); the best of a few turns, as other programs only add to it. Inverse of machine.spread.
"""

from __future__ import annotations

import torch

from laconic.compress import AbstractCompressor, Identity
from laconic.core import memory
from laconic.core.bucket import BucketSpec
from laconic.drive.simulate import Kind, Told, sampled
from laconic.sim.machine import Coding
from laconic.topology import AllReduce

SIDE = 512
WORLD = 3
TURNS = 3


def coding_of(compress: AbstractCompressor, side: int = SIDE, turns: int = TURNS) -> Coding:
    if compress == Identity():
        return Coding(0.0, 0.0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        spec = BucketSpec(0, ("x",), ((side, side),))
        sampled(compress, spec, AllReduce(), WORLD)  # compiles
        seen = [sampled(compress, spec, AllReduce(), WORLD, turns=2) for _ in range(turns)]
        best = tuple(min(column) for column in zip(*(s.cpu_s for s in seen), strict=True))
        return solved(seen[0], best, side * side)
    finally:
        torch.set_num_threads(threads)
        memory.release()


def solved(told: Told, cpu_s: tuple[float, ...], numel: int) -> Coding:
    kinds = {a.kind for r in told.rounds for a in r}
    first, rest = cpu_s[0] / numel, sum(cpu_s[1:]) / numel
    if Kind.DEAL in kinds:
        return Coding(first, max(0.0, rest - first / WORLD) / 2)
    if told.rounds and Kind.GATHER in {a.kind for a in told.rounds[-1]}:
        return Coding(first, rest / WORLD)
    return Coding(first, rest)
