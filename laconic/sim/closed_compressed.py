"""What compressed exchanges take, and when they pay.

    1-bit            2(n-1) alpha + 2(n-1)/n S/32 beta + coding        all-to-all of shares, all-gather of their sums
    low rank r       two rings, one after the other, of 4 r M and 4 r N bytes + coding; about 6 r M N operations
    gathered s each  (n-1)(alpha + s beta): fewer bytes than a ring only where s < 2 S/n
    pays             if  beta (m - m') > encode + decode + alpha (hops' - hops),    what is on the critical path

n workers, S bytes of float32, an M x N matrix; m, hops: of the plain sum, m', hops' of the compressed one. Left out:
1-bit's scales (two small messages to each worker, 2(n-1) latencies more where they travel alone), and that kernels take
cores from backward.

1-bit: as DeepSpeed exchanges it, Tang et al., ICML 2021; PowerSGD: Vogels, Karimireddy, Jaggi, NeurIPS 2019.
"""

from __future__ import annotations

from laconic.sim.closed import all_reduce_s, deal_s, gather_s
from laconic.sim.network import Line
from laconic.topology.cost import Cost

FLOAT = 4  # bytes


def one_bit_s(world: int, nbytes: float, line: Line, coding_s: float = 0.0) -> float:
    share = nbytes / 32 / world
    return deal_s(world, share, line) + gather_s(world, share, line) + coding_s


def low_rank_s(world: int, matrix: tuple[int, int], rank: int, line: Line, coding_s: float = 0.0) -> float:
    return sum(all_reduce_s("ring", world, FLOAT * rank * side, line) for side in matrix) + coding_s


def low_rank_flops(matrix: tuple[int, int], rank: int) -> int:
    """M Q, M^T P and P Q^T; making P orthogonal is not counted."""
    rows, columns = matrix
    return 6 * rank * rows * columns


def gathers_below(world: int, nbytes: float) -> float:
    """Bytes of a message under which gathering all of them beats a ring of `nbytes`, where latency does not count."""
    return 2 * nbytes / world


def saved_s(plain: Cost, packed: Cost, line: Line, coding_s: float) -> float:
    """Compression pays where this is more than nothing. `coding_s`: encode and decode."""
    extra = packed.hops - plain.hops
    return (plain.nbytes - packed.nbytes) * line.beta_s - coding_s - extra * line.alpha_s
