"""What each rank of `laconic probe` does: times the backend's collectives at several sizes, together with all others.

    python -m laconic.planner.probing FILE      under torchrun or `laconic probe`; rank 0 writes FILE

Every size: two calls to settle, then a few, or many short ones; their median, of the slowest rank. Seconds on a core
are counted beside: they are what coding and computing must share cores with. Larger sizes are left out when one took
too long.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
import torch.distributed as dist
from torch import Tensor

from laconic.core.files import json_text, write_whole
from laconic.planner.tiny import ALONE, LANE, LAYERS, SUM, step_of
from laconic.session import init

SIZES = (2**8, 2**13, 2**16, 2**18, 2**20, 2**22)  # bytes that a worker has to tell
SETTLE, REPEATS, MOST = 2, 5, 40  # calls that only say how long one takes; those that count, at least and at most
ENOUGH_S = 0.2  # small messages are repeated for so long: one that meets a busy moment is a multiple of the others
PATIENCE_S = 1.5  # for one size of one collective
TOUCHED = 1 << 20  # elements
PAIRED = 8  # ranks at most, among which every pair is measured
SMALL, LARGE = 1, 1 << 18
EACH = "wfbp"

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
    tiny = {plan: step_of(plan) for plan in (ALONE, SUM, EACH, LANE)} if world > 1 else {}
    step_s, exchange_s = _overheads(cpu, tiny) if world > 1 else (0.0, 0.0)
    waited = {plan: tiny[plan][1 if plan == ALONE else 0] for plan in tiny}
    found = {
        "world": world,
        "machines": len(set(_told(_machine()))),
        "curves": curves,
        "cpu": cpu,
        "pairs": _pairs(session.rank, world) if 1 < world <= PAIRED else [],
        "touch_s": max(_told_numbers(touch)),
        "memory_gb_s": min(_told_numbers(copy)),
        "step_s": max(_told_numbers(step_s)),
        "exchange_s": max(_told_numbers(exchange_s)),
        "tiny": {plan: max(_told_numbers(seconds)) for plan, seconds in waited.items()},
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
    sizes: list[float] = []
    seconds: list[float] = []
    on_core: list[float] = []
    for nbytes in SIZES:
        call = make(nbytes)
        first = _slowest(_times(call, SETTLE))[0]
        took = _slowest(_times(call, max(REPEATS, min(MOST, int(ENOUGH_S / max(first, 1e-9))))))
        sizes.append(float(nbytes))
        seconds.append(took[0])
        on_core.append(took[1])
        if took[0] * (REPEATS + SETTLE) * 4 > PATIENCE_S:  # the next is four times as large, or more
            break
    return {"sizes": sizes, "seconds": seconds}, {"sizes": sizes, "seconds": on_core}


def _times(call: Callable[[], object], count: int) -> Timed:
    seconds, on_core = [], []
    for _ in range(count):
        dist.barrier()
        started, core = time.perf_counter(), time.process_time()
        call()
        seconds.append(time.perf_counter() - started)
        on_core.append(time.process_time() - core)
    return median(seconds), sum(on_core) / count


def _slowest(mine: Timed) -> Timed:
    t = torch.tensor(mine, dtype=torch.float64)
    dist.all_reduce(t, dist.ReduceOp.MAX)
    a, b = t.tolist()
    return a, b


# ------------------------------------------------------------- pairs, memory, machines


def _pairs(me: int, world: int) -> list[list[tuple[float, float]]]:
    """Row i, column j: seconds of a small message from i to j and back, halved; bytes per second of a large one."""
    mine = [(0.0, 0.0)] * world
    for a in range(world):
        for b in range(world):
            dist.barrier()
            if a != b and me in (a, b):
                small, large = (_ping(n, b if me == a else a, first=me == a) for n in (SMALL, LARGE))
                if me == a:
                    mine[b] = (small, LARGE / max(large, 1e-9))
    rows = torch.zeros(world, world, 2, dtype=torch.float64)
    rows[me] = torch.tensor(mine, dtype=torch.float64)
    dist.all_reduce(rows)
    return [[(float(x[0]), float(x[1])) for x in row] for row in rows]


def _ping(nbytes: int, other: int, *, first: bool, times: int = 3) -> float:
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


def _overheads(cpu: dict[str, dict[str, list[float]]], tiny: dict[str, tuple[float, float]]) -> tuple[float, float]:
    """Seconds on a core of a distributed step, and of each exchange in it, beside computing and sending: hooks,
    threads, looking for NaN. A model of almost nothing, alone, with one bucket and with a bucket a tensor."""
    alone, one, each = (tiny[plan][1] for plan in (ALONE, SUM, EACH))
    reduce_s = cpu["reduce"]["seconds"][0]
    exchange_s = max(0.0, (each - one) / (2 * LAYERS - 1) - reduce_s)
    return max(0.0, one - alone - reduce_s - exchange_s), exchange_s


def _machine() -> str:
    """What all processes of one running kernel share, whatever network they live in."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        import platform

        return platform.node()


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
