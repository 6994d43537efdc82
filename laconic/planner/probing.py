"""What each rank of `laconic probe` does: times the backend's collectives at several sizes, together with all others.

    python -m laconic.planner.probing FILE      under torchrun or `laconic probe`; rank 0 writes FILE

Every size: a few calls to settle, then nine blocks of some (one, if it takes long; three blocks, if very long); the
median block, of the slowest rank. Seconds on a core are counted beside: they are what coding and computing must share
cores with. Larger sizes are left out where they would take too long and bytes already show beside latency.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from statistics import fmean, median

import torch
import torch.distributed as dist
from torch import Tensor

from laconic.core.files import json_text, write_whole
from laconic.planner.network_file import PINGED
from laconic.planner.tiny import PLANS, step_of
from laconic.session import init

SIZES = (2**8, 2**13, 2**16, 2**18, 2**20, 2**22)  # bytes that a worker has to tell
SETTLE = 1  # calls of a block that only says how long one takes
BLOCKS, MOST, BLOCK_S = 9, 20, 0.06  # the median block counts: calls in it at most, and so long if they are short
FEW = 3  # blocks of calls that would try our patience
PATIENCE_S = 4.0  # for one size of one collective
TOUCHED = 1 << 20  # elements
COMPUTED_S = 0.005  # about a small model's step
MOST_CORES = 4096
PAIRED = 8  # ranks at most, among which every pair is measured
SMALL, LARGE, SWEEPS = 1, PINGED, 3

Timed = tuple[float, float]  # seconds, seconds on a core


def main(out: str) -> None:
    session = init()
    world = session.world
    curves: dict[str, dict[str, list[float]]] = {}
    cpu: dict[str, dict[str, list[float]]] = {}
    if world > 1:
        for name, make in CALLS.items():
            curves[name], cpu[name] = _curve(make)
    touch, copy = _touch()
    share = _share() if world > 1 else 0.0
    machines = _told(_machine())
    found = {
        "world": world,
        "machines": len(set(machines)),
        "cores": _cores(machines, session.rank),
        "curves": curves,
        "cpu": cpu,
        "pairs": _pairs(session.rank, world) if 1 < world <= PAIRED else [],
        "touch_s": max(_told_numbers(touch)),
        "memory_gb_s": min(_told_numbers(copy)),
        "share": share,
        "tiny": {plan: _agreed(step_of(plan)) for plan in PLANS} if world > 1 else {},
    }
    if session.rank == 0:
        write_whole(Path(out), json_text(found))


# ------------------------------------------------------------- collectives


def _reduce(nbytes: int) -> Callable[[], object]:
    t = torch.zeros(max(1, nbytes // 4))
    return lambda: dist.all_reduce(t)


def _gather(nbytes: int) -> Callable[[], object]:
    t = torch.zeros(nbytes, dtype=torch.uint8)
    out = [torch.empty_like(t) for _ in range(dist.get_world_size())]
    return lambda: dist.all_gather(out, t)


def _deal(nbytes: int) -> Callable[[], object]:
    n = dist.get_world_size()
    t = torch.zeros(n * nbytes, dtype=torch.uint8)
    out = torch.empty_like(t)
    return lambda: dist.all_to_all_single(out, t)


def _post(nbytes: int) -> Callable[[], object]:
    """To the next, from the one before."""
    n, me = dist.get_world_size(), dist.get_rank()
    t, out = torch.zeros(nbytes, dtype=torch.uint8), torch.empty(nbytes, dtype=torch.uint8)

    def swap() -> None:
        works = [dist.irecv(out, (me - 1) % n), dist.isend(t, (me + 1) % n)]
        for work in works:
            if work is not None:
                work.wait()

    return swap


CALLS: dict[str, Callable[[int], Callable[[], object]]] = {
    "reduce": _reduce,
    "gather": _gather,
    "deal": _deal,
    "post": _post,
}


def _curve(make: Callable[[int], Callable[[], object]]) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    def look(nbytes: int, blocks: int) -> Timed:
        call = make(nbytes)
        first = _agreed(_times(call, SETTLE, blocks))[0]
        return _agreed(_times(call, max(1, min(MOST, int(BLOCK_S / max(first, 1e-9)))), blocks))

    sizes, seconds, on_core = swept(look)
    return {"sizes": sizes, "seconds": rising(seconds)}, {"sizes": sizes, "seconds": rising(on_core)}


def swept(look: Callable[[int, int], Timed]) -> tuple[list[float], list[float], list[float]]:
    """Sizes, and what `look(size, blocks)` said of each: up to one that would take too long, if what bytes take shows.
    Where latency hides it, larger ones are looked at all the same, with fewer blocks."""
    sizes: list[float] = []
    seen: list[Timed] = []
    coming = 0.0
    for nbytes in SIZES:
        slow = coming * 2 * BLOCKS > PATIENCE_S
        if slow and seen[-1][0] > 2 * seen[0][0]:
            break
        sizes.append(float(nbytes))
        seen.append(look(nbytes, FEW if slow else BLOCKS))
        coming = _next(sizes, [wall for wall, _ in seen])
    return sizes, [wall for wall, _ in seen], [core for _, core in seen]


def _next(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Of a message four times as long, by the line through the last two."""
    if len(sizes) == 1:
        return seconds[0]
    slope = max(0.0, seconds[-1] - seconds[-2]) / (sizes[-1] - sizes[-2])
    return seconds[-1] + slope * 3 * sizes[-1]


def rising(seen: Sequence[float]) -> list[float]:
    """The nearest numbers that never fall (pooled neighbours): no message is faster for being longer."""
    pools: list[tuple[float, int]] = []
    for x in seen:
        pools.append((x, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (b, m), (a, n) = pools.pop(), pools.pop()
            pools.append(((a * n + b * m) / (n + m), n + m))
    return [mean for mean, count in pools for _ in range(count)]


def _times(call: Callable[[], object], count: int, blocks: int) -> Timed:
    """Of a call: short ones follow one another, as waking up is most of them; a barrier is before each block."""
    took = []
    for _ in range(blocks):
        dist.barrier()
        started, core = time.perf_counter(), time.process_time()
        for _ in range(count):
            call()
        took.append(((time.perf_counter() - started) / count, (time.process_time() - core) / count))
    return median(wall for wall, _ in took), fmean(core for _, core in took)


def _agreed(mine: Timed) -> Timed:
    """The slowest rank's seconds, and the mean of what they cost a core."""
    told = [_told_numbers(x) for x in mine]
    return max(told[0]), fmean(told[1])


# ------------------------------------------------------------- pairs, memory, machines


def _pairs(me: int, world: int) -> list[list[tuple[float, float]]]:
    """Row i, column j: seconds of a small message from i to j and back, halved; bytes per second of a large one. The
    best of several sweeps: ranks that share cores may meet on one of them for a while."""
    mine = torch.full((world, 2), torch.inf, dtype=torch.float64)
    for _ in range(SWEEPS):
        for a, b in permutations(range(world), 2):
            dist.barrier()
            if me in (a, b):
                took = [_ping(n, b if me == a else a, first=me == a) for n in (SMALL, LARGE)]
                if me == a:
                    mine[b] = torch.minimum(mine[b], torch.tensor(took, dtype=torch.float64))
    rows = torch.zeros(world, world, 2, dtype=torch.float64)
    rows[me] = mine
    rows[me, me] = 0.0
    dist.all_reduce(rows)
    return [[(s, LARGE / max(t, 1e-9) if t else 0.0) for s, t in row] for row in rows.tolist()]


def _ping(nbytes: int, other: int, *, first: bool, times: int = 2) -> float:
    t = torch.zeros(nbytes, dtype=torch.uint8)
    took = []
    for _ in range(times):
        started = time.perf_counter()
        for sends in (first, not first):
            if sends:
                dist.send(t, other)
            else:
                dist.recv(t, other)
        took.append((time.perf_counter() - started) / 2)
    return min(took)


def _touch() -> tuple[float, float]:
    """Seconds a byte to copy a gradient into its bucket and sum it, and GB/s of a copy; all ranks at the same time."""
    a, b = torch.ones(TOUCHED), torch.empty(TOUCHED)
    took: list[float] = []
    copies: list[float] = []
    for _ in range(6):
        started = time.thread_time()
        torch.mul(a, 0.25, out=b)
        a.sum()
        took.append(time.thread_time() - started)
        started = time.thread_time()
        b.copy_(a)
        copies.append(time.thread_time() - started)
    return median(took[1:]) / a.nbytes, 1e-9 * a.nbytes / max(median(copies[1:]), 1e-9)


def _share() -> float:
    """Of a core that the slowest rank has while all compute for some milliseconds, as in a step: three ranks on two
    cores do not have two thirds each, as they do not change cores so fast."""
    a, shares = torch.full((64, 64), 0.01), []
    for _ in range(BLOCKS * 3):
        dist.barrier()
        started, core = time.perf_counter(), time.thread_time()
        while time.thread_time() - core < COMPUTED_S:
            torch.mm(a, a)
        wall, on_core = time.perf_counter() - started, time.thread_time() - core
        shares.append(min(_told_numbers(on_core / wall)))
    return min(1.0, fmean(shares))


def _machine() -> str:
    """What all processes of one running kernel share, whatever network they live in."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        import platform

        return platform.node()


def _cores(machines: Sequence[str], me: int) -> int:
    """Of rank 0's machine, as many as its ranks may use together: each may be tied to some of its own."""
    mine = os.sched_getaffinity(0) if sys.platform == "linux" else range(os.cpu_count() or 1)
    usable = torch.zeros(MOST_CORES)
    if machines[me] == machines[0]:
        usable[[core for core in mine if core < MOST_CORES]] = 1
    if dist.is_initialized():
        dist.all_reduce(usable)
    return int(usable.count_nonzero())


def _told(mine: str) -> list[str]:
    if not dist.is_initialized():
        return [mine]
    word: Tensor = torch.zeros(64, dtype=torch.uint8)
    raw = mine.encode()[:64]
    word[: len(raw)] = torch.tensor(list(raw), dtype=torch.uint8)
    out = [torch.empty_like(word) for _ in range(dist.get_world_size())]
    dist.all_gather(out, word)
    return [bytes(t.tolist()).rstrip(b"\0").decode() for t in out]


def _told_numbers(mine: float) -> list[float]:
    if not dist.is_initialized():
        return [mine]
    t = torch.zeros(dist.get_world_size(), dtype=torch.float64)
    t[dist.get_rank()] = mine
    dist.all_reduce(t)
    return [float(x) for x in t]


if __name__ == "__main__":
    main(sys.argv[1])
