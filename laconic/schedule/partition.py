"""Which gradients to merge into one message, if messages go one after the other while backward makes more.

Gradients come in a fixed order, number j at `ready[j]` with `sizes[j]` bytes; a message may start when its last
gradient is there and the one before it has ended:

    start_k = max(end_{k-1}, ready of its last gradient)         end_k = start_k + cost(its bytes)

`planned` is the exact optimum over all ways to merge neighbours, with the fewest messages that reach it (each takes
time of a core, too, which this model does not see), by dynamic programming in O(k n^2) for any cost:

    E_k(0) = 0,   E_k(j) = min over i < j of  max(E_{k-1}(i), ready_j) + cost(S_j - S_i)        S: bytes so far

E_k(n) is the end with at most k messages. It is exact because a link that is free earlier never makes the rest end
later. `merged` is the rule of MG-WFBP (Shi,
Chu, Li, INFOCOM 2019, arXiv:1811.11141) for cost a + b m, one pass over the gradients; it is not optimal for its own
model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from laconic.schedule.curve import Curve

Ends = list[int]  # one past the last gradient of each message


def end(ready: Sequence[float], sizes: Sequence[int], ends: Ends, cost: Curve) -> float:
    """When the last message has arrived."""
    free, begin = 0.0, 0
    for stop in ends:
        free = max(free, ready[stop - 1]) + cost(sum(sizes[begin:stop]))
        begin = stop
    return free


def alone(count: int) -> Ends:
    """WFBP: every gradient a message."""
    return list(range(1, count + 1))


def planned(ready: Sequence[float], sizes: Sequence[int], cost: Curve) -> Ends:
    n = len(sizes)
    so_far = np.concatenate([[0.0], np.cumsum(np.asarray(sizes, dtype=np.float64))])
    costs = [cost.many(so_far[j] - so_far[:j]) for j in range(n + 1)]
    target = _earliest(None, ready, costs)[0][n]
    rows: list[list[int]] = []
    ends_s: NDArray[np.float64] = np.full(n + 1, np.inf)
    ends_s[0] = 0.0
    while n and ends_s[n] > target:
        ends_s, last = _earliest(ends_s, ready, costs)
        rows.append(last)
    ends: Ends = []
    for last in reversed(rows):
        if n:
            ends.append(n)
            n = last[n]
    return ends[::-1]


def _earliest(
    before: NDArray[np.float64] | None, ready: Sequence[float], costs: Sequence[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], list[int]]:
    """When the first j gradients can have arrived, and where their last message then begins; the messages before it
    end as `before` says, None: as this says itself."""
    n = len(costs) - 1
    ends_s, last = np.zeros(n + 1), [0] * (n + 1)
    source = ends_s if before is None else before
    for j in range(1, n + 1):
        free = np.maximum(source[:j], ready[j - 1]) + costs[j]
        last[j] = int(free.argmin())  # of equals the longest message
        ends_s[j] = free[last[j]]
    return ends_s, last


def merged(ready: Sequence[float], sizes: Sequence[int], a_s: float, b_s: float) -> Ends:
    """MG-WFBP: merge a message into the next gradient's if that costs less than another latency.

    With `next` the moment the next gradient is there and [start, stop] the time of the message so far: not if
    next >= stop; yes if start > next (it has not even begun); else if next - start < a.
    """
    ends: Ends = []
    free = 0.0  # when the link has ended all messages that are closed
    nbytes = 0
    for j, size in enumerate(sizes):
        nbytes += size
        start = max(free, ready[j])
        stop = start + a_s + b_s * nbytes
        if j + 1 < len(sizes):
            coming = ready[j + 1]
            if coming < stop and (start > coming or coming - start < a_s):
                continue
        ends.append(j + 1)
        free, nbytes = stop, 0
    return ends
