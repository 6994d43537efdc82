"""Servers that answer while they are still told: sharded parameter servers, and BytePS beside spare hosts.

    sharded, n workers, p servers     2 alpha + max(S b_w, n/p S b_s) + n/p S gamma
    one after the other               the same with twice the max: no answer before all is told (closed.star_s)

    BytePS, n hosts, k of them spare  2n(n-1) S / ((n^2 + kn - 2k) B)      k <= n; more spare hosts idle
    each spare host sums              2(n-1) / (n^2 + kn - 2k) S
    each worker's host sums           (n-k)  / (n^2 + kn - 2k) S

k = 0 is a server beside each worker, 2(n-1)/n S/B; k = n is S/B, each worker's line full once each way. BytePS: Jiang
et al., OSDI 2020, here as bandwidth alone. PHub (Luo et al., SoCC 2018) is `sharded_s` with as many servers as its box
has cards; SwitchML (Sapio et al., NSDI 2021), which adds in the switch, is p = n without gamma.

They are what endless pieces come to. In p pieces the switch takes 1 + 1/p of it, and a latency for each message, not
two (closed.pieces_s); BytePS with unequal shares up to 1.4 times as long, in gaps between its messages. Where servers
have faster lines than workers, one hears several workers at once here and one at a time, at a worker's pace, there.
"""

from __future__ import annotations

from typing import NamedTuple

from laconic.sim.network import Line


class Shares(NamedTuple):
    """Of what is summed: who sums how much."""

    spare: float
    worker: float


def sharded_s(
    workers: int, servers: int, nbytes: float, line: Line, server_beta_s: float, *, gamma_s: float = 0.0
) -> float:
    """`line`: of a worker; `server_beta_s`, `gamma_s`: of a byte on a server's line, of a byte that it adds."""
    arriving = workers / servers * nbytes
    return 2 * line.alpha_s + max(nbytes * line.beta_s, arriving * server_beta_s) + arriving * gamma_s


def byteps_shares(workers: int, spare: int) -> Shares:
    """So that every line is equally full."""
    n, k = workers, min(spare, workers)
    if n == 1:
        return Shares(0.0, 1.0)
    total = n * n + k * n - 2 * k
    return Shares(2 * (n - 1) / total, (n - k) / total)


def byteps_s(workers: int, spare: int, nbytes: float, beta_s: float) -> float:
    """A worker's line carries all but its own share, and its own share to all others."""
    own = byteps_shares(workers, spare).worker
    return (1 - own + (workers - 1) * own) * nbytes * beta_s
