"""What a request costs that goes through servers: n workers, k servers, by the wiring of the runtime (drive/wiring.py).

    reduce S         closed.pieces_s: pieces of 256 KiB, that come back while more leave; up to 64 KiB go to one server
    ... in a tree    2 (n/L + L) alpha + (b + (2(n/L + L) - b) / p) S beta,   b = max(n/L + 1, L), L leaves, p pieces
    serve m          closed.star_s over as many servers as there are chunks: a reply waits for all pushes
    gather m         (1 + (n-1) max(n, k)) (alpha + m/k beta)      handed on n-1 times; up to 64 KiB by one server
    deal m to each   (1 + (n-1) ceil(n/k)) (alpha + m beta)        to the server of each worker, which hands it on
    post m, d times  (1 + d ceil(n/k)) (alpha + m beta)
    update a, for b  max(n, k) max(A, B) + min(A, B),   A, B = alpha + a/k beta, ...    each push is answered at once

Every message has its latency. What is handed on travels while the next arrives. What is not summed goes through the
root of a tree alone. Beside workers a server's messages are its host's, and one to itself costs nothing:

    reduce, serve    2(n-1)(alpha + S/k beta), 2(n-1)/n S sent      k: of whom a share is kept, n or one
    gather, deal     (n-1)(alpha + m beta), (n-1) m sent            post m, d times: d (alpha + m beta)
    update a, for b  (n-1)(2 alpha + (a + b)/n beta), (n-1)/n (a + b) sent
"""

from __future__ import annotations

from laconic.drive.asked import Asked, Kind
from laconic.drive.wiring import PIECE_BYTES, SMALL_BYTES
from laconic.sim import closed
from laconic.sim.network import Line
from laconic.sim.wire import NOTHING, Wire
from laconic.topology import ParameterServer


def served(ask: Asked, ps: ParameterServer, world: int, line: Line) -> Wire:
    if ps.layout == "colocated":
        return _beside(ask, world, line)
    n, k, m = world, ps.owners(world), ask.nbytes
    match ask.kind:
        case Kind.REDUCE:
            return _summed(m, ps, n, line)
        case Kind.SERVE:
            latency, total = (closed.star_s(n, ask.messages, size, line) for size in (0.0, m))
            return Wire(latency, total - latency, m, ask.messages)
        case Kind.GATHER:
            shares = 1 if m <= SMALL_BYTES else k
            return _handed_on(shares, (n - 1) * max(n, shares), m / shares, line)
        case Kind.DEAL:
            return _handed_on(n - 1, (n - 1) * -(-n // k), m, line)
        case Kind.POST:
            return _handed_on(ask.messages, ask.messages * -(-n // k), m, line)


def updated(said: float, heard: float, ps: ParameterServer, world: int, line: Line) -> Wire:
    """An update of so many bytes, answered with so many, while all others say theirs."""
    n, k = world, ps.owners(world)
    if ps.layout == "colocated":
        return _through(2 * (n - 1), (said + heard) / 2 / n, line)
    most, up, down = max(n, k), said / k * line.beta_s, heard / k * line.beta_s
    return Wire((most + 1) * line.alpha_s, most * max(up, down) + min(up, down), said, k)


def _handed_on(sent: int, busiest: int, nbytes: float, line: Line) -> Wire:
    """So many messages leave a worker, so many the busiest server, as they come, from the first arrival on."""
    if not sent:
        return NOTHING
    through = 1 + busiest
    return Wire(through * line.alpha_s, through * nbytes * line.beta_s, sent * nbytes, sent)


def _through(messages: float, nbytes: float, line: Line) -> Wire:
    """So many messages, one after the other, by every worker."""
    return Wire(messages * line.alpha_s, messages * nbytes * line.beta_s, messages * nbytes, messages)


def _beside(ask: Asked, n: int, line: Line) -> Wire:
    """Sent by the mean worker, with what the server beside it sends."""
    m = ask.nbytes
    match ask.kind:
        case Kind.REDUCE:
            return _kept(1 if m <= SMALL_BYTES else n, m, n, line)
        case Kind.SERVE:
            return _kept(ask.messages, m, n, line)
        case Kind.GATHER | Kind.DEAL:
            return _through(n - 1, m, line)
        case Kind.POST:
            return _through(ask.messages, m, line)


def _kept(shares: int, nbytes: float, n: int, line: Line) -> Wire:
    """Each share by one host, which hears all others and tells them."""
    mean = 2 * (n - 1) / n
    return _through(2 * (n - 1), nbytes / shares, line)._replace(sent=mean * nbytes, messages=mean * shares)


def _summed(nbytes: float, ps: ParameterServer, n: int, line: Line) -> Wire:
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
