"""TIC and TAC: in which order parameters should arrive so that computation can go on.

Of the operations of a pass, each needs some parameters. For a parameter r that has not arrived:

    P   seconds of operations that wait for r alone        M   seconds of its own transfer
    M+  the least transfer still outstanding of any operation that needs r

    TAC   a before b if min(P_b, M_a) < min(P_a, M_b); ties by M+; worked out again after every choice
    TIC   knows no times: every transfer counts 1, every operation 0; by M+

Hashemi, Jyothi, Campbell, TicTac, MLSys 2019, arXiv:1803.03288. Differs: M+ also counts operations that need r alone;
in the paper the first two parameters of a chain tie. What still ties keeps the order of the pass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Operation(NamedTuple):
    needs: frozenset[int]  # parameters, directly or through what comes before it
    seconds: float = 0.0


class _Claim(NamedTuple):
    unlocks_s: float  # P
    own_s: float  # M
    total_s: float  # M+


def chain(layers: Sequence[tuple[Sequence[int], float]]) -> list[Operation]:
    """Operations one after the other, each with the parameters it is the first to use: each needs all before it."""
    needed: frozenset[int] = frozenset()
    out = []
    for parameters, seconds in layers:
        needed |= frozenset(parameters)
        out.append(Operation(needed, seconds))
    return out


def tac(operations: Sequence[Operation], transfer_s: Sequence[float]) -> list[int]:
    """An order of all parameters."""
    left = list(range(len(transfer_s)))
    order: list[int] = []
    while left:
        arrived = set(order)
        claims = {r: _claim(r, operations, transfer_s, arrived) for r in left}
        best = left[0]
        for r in left[1:]:
            if _before(claims[r], claims[best]):
                best = r
        order.append(best)
        left.remove(best)
    return order


def tic(operations: Sequence[Operation], count: int) -> list[int]:
    ones = [1.0] * count
    claims = [_claim(r, [Operation(o.needs) for o in operations], ones, set()) for r in range(count)]
    return sorted(range(count), key=lambda r: (claims[r].total_s, r))


def _claim(r: int, operations: Sequence[Operation], transfer_s: Sequence[float], arrived: set[int]) -> _Claim:
    unlocks, total = 0.0, math.inf
    for operation in operations:
        if r in operation.needs:
            missing = operation.needs - arrived
            total = min(total, sum(transfer_s[i] for i in missing))
            if len(missing) == 1:
                unlocks += operation.seconds
    return _Claim(unlocks, transfer_s[r], total)


def _before(a: _Claim, b: _Claim) -> bool:
    x, y = min(b.unlocks_s, a.own_s), min(a.unlocks_s, b.own_s)
    return x < y or (x == y and a.total_s < b.total_s)
