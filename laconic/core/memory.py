"""Memory that is used again: a large tensor that is let go leaves its pages to the next of its size.

Fresh pages cost more than the work done in them: the system clears each when it is first touched (100 MB: 30 ms, a
copy: 15 ms), and the C library gives blocks above 32 MiB back at once. Residuals and means are made anew in every step,
because the old ones must survive if the step is aborted; blocks that take turns are enough for that. No more is ever
kept than was once in use together.
"""

from __future__ import annotations

import weakref
from collections import defaultdict, deque

import numpy as np
import torch
from torch import Tensor

LARGE_BYTES = 8 << 20  # below, the C library keeps pages by itself, once it was shown how (keep_pages)
_LESSON_BYTES = (32 << 20) - (1 << 13)  # glibc learns from no larger block

_spare: defaultdict[int, deque[np.ndarray[tuple[int], np.dtype[np.uint8]]]] = defaultdict(deque)


def empty(numel: int, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu") -> Tensor:
    """A flat tensor with anything in it."""
    nbytes = numel * dtype.itemsize
    if nbytes < LARGE_BYTES or torch.device(device).type != "cpu":
        return torch.empty(numel, dtype=dtype, device=device)
    waiting = _spare[nbytes]
    try:
        block = waiting.pop()
    except IndexError:
        block = np.empty(nbytes, dtype=np.uint8)
    lease = block[:]  # lives as long as any tensor that looks at it
    weakref.finalize(lease, waiting.append, block).atexit = False
    return torch.from_numpy(lease).view(dtype)


def keep_pages() -> None:
    """From here on the C library keeps what this process lets go, instead of asking for cleared pages again.

    glibc maps blocks above a threshold one by one and gives them, and the end of its heap, back when they are free. The
    threshold is the largest mapped block that was ever freed, so one is. Without it a step of a model with 6 MB of
    gradients cost 500 to 3,000 page faults, now none. Other C libraries do not care.
    """
    torch.empty(_LESSON_BYTES, dtype=torch.uint8, device="cpu")


def copy(t: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """The same elements, perhaps as another type."""
    return empty(t.numel(), dtype or t.dtype, t.device).copy_(t)


def waiting_bytes() -> int:
    """What is kept for later."""
    return sum(nbytes * len(blocks) for nbytes, blocks in _spare.items())


def release() -> None:
    """Give back what is waiting."""
    _spare.clear()
