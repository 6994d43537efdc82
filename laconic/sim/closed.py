"""Closed forms of what `play` finds message by message, for workers that all have the same line.

    time = hops * alpha + nbytes * beta + added * gamma     n workers, S bytes, one message at a time each way

    ring, grids, halving_doubling, recursive_doubling, tree     as topology/cost.py has them
    sra                          2(n-1) alpha + 2(n-1)/n S beta    n-1 messages a round, each with its latency
    masters, g groups of k       (4(k-1) + 2(g-1)) alpha + (4(k-1)/k + 2(g-1)/g) S beta
    chain (no partitions)        2(n-1)(alpha + S beta)
    star, one server             2n (alpha + S beta)
    star, k servers of a share   2 max(n, k) (alpha + S/k beta)
    the same in p pieces         2 max(n, k) alpha + (1 + 1/p) max(n, k) S/k beta    a piece comes back while more leave
    servers beside workers       2(n-1)(alpha + S/n beta)
    all-gather of m each         (n-1)(alpha + m beta)
    all-to-all of m each         (n-1)(alpha + m beta)
    gossip, degree d             d (alpha + m beta)

Pieces follow each other as a stream, whose latency is paid once; p = 1 is the star. gamma: of a byte added. What more
the literature has is beside this file: closed_halves, closed_grid, closed_pipeline, closed_servers, closed_compressed
and closed_scaling; docs/scale.md lists all of them with what each is held against.

Survey 003, section 1.3 and table 1.1; survey 000, table III. They hold exactly where S is a whole number of equal
shares (tests/sim compares them with the player); `double_tree` and `mesh`, whose messages meet, have none here.
"""

from __future__ import annotations

from laconic.sim.network import Line
from laconic.topology.cost import Cost, cost
from laconic.topology.programs import ANY, Shape, usual_groups

WITHOUT = ("double_tree", "mesh")  # messages of several rounds meet: only the player knows


def all_reduce(name: str, world: int, nbytes: float, shape: Shape = ANY) -> Cost:
    """Hops and bytes on the switch."""
    found = cost(name, world, nbytes, shape)
    if world == 1:
        return found
    if name == "sra":
        return Cost(2 * (world - 1), found.nbytes, found.added)
    if name == "masters":
        groups = shape.groups or usual_groups(world)
        most = -(-world // groups)
        return Cost(4 * (most - 1) + 2 * (groups - 1), found.nbytes, found.added)
    return found


def all_reduce_s(
    name: str, world: int, nbytes: float, line: Line, shape: Shape = ANY, *, gamma_s: float = 0.0
) -> float:
    """`gamma_s`: of a byte added, which takes a worker's time, not its line's."""
    return all_reduce(name, world, nbytes, shape).seconds(line.alpha_s, line.beta_s, gamma_s)


def chain_s(world: int, nbytes: float, line: Line) -> float:
    return 2 * (world - 1) * line.seconds(nbytes)


def star_s(workers: int, servers: int, nbytes: float, line: Line) -> float:
    """Push, then pull: workers and servers all stand still until the slower side is through."""
    return 2 * max(workers, servers) * line.seconds(nbytes / servers)


def pieces_s(workers: int, servers: int, nbytes: float, line: Line, pieces: int) -> float:
    """A sum through servers, each share in so many pieces."""
    most = max(workers, servers)
    return 2 * most * line.alpha_s + (1 + 1 / pieces) * most * nbytes / servers * line.beta_s


def beside_s(world: int, nbytes: float, line: Line) -> float:
    return 2 * (world - 1) * line.seconds(nbytes / world)


def gather_s(world: int, nbytes: float, line: Line) -> float:
    return (world - 1) * line.seconds(nbytes)


def deal_s(world: int, nbytes: float, line: Line) -> float:
    """`nbytes` to each other worker."""
    return (world - 1) * line.seconds(nbytes)


def gossip_s(degree: int, nbytes: float, line: Line) -> float:
    return degree * line.seconds(nbytes)
