"""What a request costs that goes through servers: n workers, k servers, by the wiring of the runtime (drive/wiring.py).

    reduce S         closed.pieces_s: pieces of 256 KiB, that come back while more leave; up to 64 KiB go to one server
    ... in a tree    2 (n/L + L) alpha + (b + (2(n/L + L) - b) / p) S beta,   b = max(n/L + 1, L), L leaves, p pieces
    ... colocated    2(n-1)(alpha + S/n beta), as much as a ring
    serve m          closed.star_s over as many servers as there are chunks: a reply waits for all pushes
    gather m         2 alpha + max(n-1, n(n-1)/k) m beta
    deal m to each   2 alpha + 2 max(1, n/k) (n-1) m beta
    post m, d times  2 alpha + 2 max(1, n/k) d m beta

What is not summed goes through the root of a tree alone.
"""

from __future__ import annotations

from laconic.drive.asked import Asked, Kind
from laconic.drive.wiring import PIECE_BYTES, SMALL_BYTES
from laconic.sim import closed
from laconic.sim.network import Line
from laconic.sim.wire import Wire
from laconic.topology import ParameterServer


def served(ask: Asked, ps: ParameterServer, world: int, line: Line) -> Wire:
    n, k, m = world, ps.owners(world), ask.nbytes
    busy = max(1.0, n / k)
    match ask.kind:
        case Kind.REDUCE:
            return _summed(m, ps, n, line)
        case Kind.SERVE:
            latency, total = (closed.star_s(n, ask.messages, size, line) for size in (0.0, m))
            return Wire(latency, total - latency, m, ask.messages)
        case Kind.GATHER:
            return Wire(2 * line.alpha_s, max(n - 1.0, n * (n - 1) / k) * m * line.beta_s, m, 1)
        case Kind.DEAL:
            return Wire(2 * line.alpha_s, 2 * busy * (n - 1) * m * line.beta_s, (n - 1) * m, n - 1)
        case Kind.POST:
            return Wire(2 * line.alpha_s, 2 * busy * ask.messages * m * line.beta_s, ask.messages * m, ask.messages)


def _summed(nbytes: float, ps: ParameterServer, n: int, line: Line) -> Wire:
    if ps.layout == "colocated":
        share = 2 * (n - 1) / n * nbytes
        return Wire(2 * (n - 1) * line.alpha_s, share * line.beta_s, share, 2 * (n - 1))
    if ps.layout == "tree":
        return _up_and_down(nbytes, n, ps.count(n) - 1, line)
    k = 1 if nbytes <= SMALL_BYTES else ps.count(n)
    pieces = _pieces(nbytes / k)
    latency = closed.pieces_s(n, k, 0.0, line, pieces)
    return Wire(latency, closed.pieces_s(n, k, nbytes, line, pieces) - latency, nbytes, k)


def _up_and_down(nbytes: float, n: int, leaves: int, line: Line) -> Wire:
    """Workers to leaves, leaves to the root, and back."""
    each = -(-n // leaves)
    messages, busiest = 2 * (each + leaves), max(each + 1, leaves)
    beta_s = (busiest + (messages - busiest) / _pieces(nbytes)) * nbytes * line.beta_s
    return Wire(messages * line.alpha_s, beta_s, nbytes, 1)


def _pieces(nbytes: float) -> int:
    return max(1, -(-round(nbytes) // PIECE_BYTES))
