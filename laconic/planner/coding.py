"""What compressors cost this machine's cores: seconds an element to write a message and to read one.

A real exchange of noise among three virtual workers in this process, rank 0's seconds on a core between its requests
(drive/simulate.py); the best of a few turns, as other programs only add to it. Inverse of machine.spread. What nine
small matrices take longer than one as large as all of them is told by tensor.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from laconic.compress import AbstractCompressor, Identity
from laconic.core import memory
from laconic.core.bucket import BucketSpec
from laconic.drive.asked import Kind, Told
from laconic.drive.sampling import sampled
from laconic.sim.machine import Coding
from laconic.topology import AllReduce

SIDE = 512
SMALL_SIDE, ROOT = 64, 3  # of nine matrices, and of a square of them
WORLD = 3
TURNS = 3

Shapes = tuple[tuple[int, int], ...]


def coding_of(compress: AbstractCompressor, side: int = SIDE, turns: int = TURNS) -> Coding:
    if compress == Identity():
        return Coding(0.0, 0.0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        told, best = _timed(compress, ((side, side),), turns)
        one, nine = (
            sum(_timed(compress, shapes, turns)[1])
            for shapes in (((ROOT * SMALL_SIDE,) * 2,), ((SMALL_SIDE, SMALL_SIDE),) * ROOT**2)
        )
        return replace(solved(told, best, side * side), tensor_s=max(0.0, nine - one) / (ROOT**2 - 1))
    finally:
        torch.set_num_threads(threads)
        memory.release()


def _timed(compress: AbstractCompressor, shapes: Shapes, turns: int) -> tuple[Told, tuple[float, ...]]:
    spec = BucketSpec(0, tuple(f"x{i}" for i in range(len(shapes))), shapes)
    sampled(compress, spec, AllReduce(), WORLD)  # compiles
    seen = [sampled(compress, spec, AllReduce(), WORLD, turns=2) for _ in range(turns)]
    return seen[0], tuple(min(column) for column in zip(*(s.cpu_s for s in seen), strict=True))


def solved(told: Told, cpu_s: tuple[float, ...], numel: int) -> Coding:
    kinds = {a.kind for r in told.rounds for a in r}
    first, rest = cpu_s[0] / numel, sum(cpu_s[1:]) / numel
    if Kind.DEAL in kinds:
        return Coding(first, max(0.0, rest - first / WORLD) / 2)
    if told.rounds and Kind.GATHER in {a.kind for a in told.rounds[-1]}:
        return Coding(first, rest / WORLD)
    return Coding(first, rest)
