"""Kernels on tensors: addresses in, and ranges of work dealt to threads where there is much of it.

A kernel runs on the thread that calls it. From four million elements on it is split between as many threads as torch
may use in this process (torchrun gives ranks that share a machine one each): below that the hand-over costs more than
it brings. The GIL is released, no OpenMP is involved, and any split gives the same bits.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import torch
from torch import Tensor

from laconic.core.errors import UsageError

ENOUGH = 2_000_000  # elements that keep a thread busy for longer than waking it takes


def address(t: Tensor, dtype: torch.dtype) -> int:
    """Where the elements of a tensor start; kernels take nothing else on trust."""
    if t.dtype != dtype or not t.is_contiguous():
        raise UsageError(f"A kernel needs a contiguous tensor of {dtype}, this is {t.dtype} with strides {t.stride()}.")
    return t.data_ptr()


def spread(work: Callable[[int, int], object], units: int, elements: int) -> None:
    """work(start, stop) over range(units), which stands for so many elements."""
    threads = 1 if elements < 2 * ENOUGH else min(torch.get_num_threads(), elements // ENOUGH, units)
    if threads <= 1:
        work(0, units)
        return
    edges = [units * i // threads for i in range(threads + 1)]
    others = [_pool(os.getpid(), threads - 1).submit(work, *edges[i : i + 2]) for i in range(1, threads)]
    work(0, edges[1])
    for other in others:
        other.result()


@lru_cache(maxsize=1)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """By process: a child of fork has none of its parent's threads."""
    return ThreadPoolExecutor(threads, thread_name_prefix=f"laconic-kernel-{process}")
