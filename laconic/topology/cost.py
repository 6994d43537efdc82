"""What an all-reduce costs, in closed form: latencies and bytes, for planner and documentation.

    time = hops * alpha + nbytes * beta + added * gamma

    algorithm            hops                          nbytes (one direction of the busiest link)
    native, ring         2(n-1)                        2(n-1)/n S
    recursive_doubling   m                             m S                          n = 2^m; else fold: +2, +2S
    halving_doubling     2m                            2(2^m-1)/2^m S               n = 2^m; else fold: +2, +2S
    tree                 2 ceil(log2 n)                2 ceil(log2 n) S
    double_tree          2L + k - 1                    at most (2 + (2L-3)/k) S; S for n = 2      L = ceil(log2 n)
    grids p_1 .. p_m     2 sum (p_i - 1)               2(n-1)/n S
    sra                  2                             2(n-1)/n S, in n-1 messages a hop
    masters, g of <= k   2k [k > 1] + 2(g-1)           4(k-1)/k S + 2(g-1)/g S

Grids: hierarchical (n/g, g), torus and mesh (columns, rows), blueconnect (any factors). `native` is taken for a
ring, which is what gloo runs. Programs count in elements: where n does not divide them, chunks differ by one and so
do the bytes.
Formulas: Thakur et al. 2005; Sanders et al. 2009; Cho et al. 2019. `added` is what one rank adds up at most.
"""

from __future__ import annotations

from dataclasses import dataclass

from laconic.core.errors import PlanError
from laconic.topology.programs import ANY, GRIDS, NAMES, Shape, factors, misfit, usual_groups
from laconic.topology.programs.trees import height, usual_pieces

FLOAT = 4  # bytes of the elements that `double_tree` cuts into pieces


@dataclass(frozen=True)
class Cost:
    hops: int  # latencies one after the other
    nbytes: float  # through one direction of the busiest rank's link, one after the other
    added: float  # bytes that the busiest rank adds up

    def seconds(self, alpha_s: float, beta_s: float, gamma_s: float = 0.0) -> float:
        """`alpha_s` a message's latency, `beta_s` a byte on the link, `gamma_s` a byte added."""
        return self.hops * alpha_s + self.nbytes * beta_s + self.added * gamma_s


@dataclass(frozen=True)
class Leg:
    """The part of a grid's traffic that runs along one dimension, whose links may be slower or faster."""

    ranks: int
    hops: int
    nbytes: float


def cost(name: str, world: int, nbytes: float, shape: Shape = ANY) -> Cost:
    """Of an all-reduce of `nbytes` among `world` ranks. With `native`, as if the backend ran a ring."""
    if name == "native":
        name = "ring"
    problem = misfit(name, world, shape)
    if problem is not None or name not in NAMES:
        raise PlanError(f"allreduce({name}): {problem or 'there are native, ' + ', '.join(NAMES)}.")
    if world == 1:
        return Cost(0, 0.0, 0.0)
    share = (world - 1) / world * nbytes
    match name:
        case "recursive_doubling" | "halving_doubling":
            return _folded(name, world, nbytes)
        case "tree" | "double_tree":
            return _climbing(name, world, nbytes, shape.pieces)
        case "masters":
            return _masters(world, shape.groups or usual_groups(world), nbytes)
        case _:
            hops = 2 if name == "sra" else sum(leg.hops for leg in legs(name, world, nbytes, shape))
            return Cost(hops, 2 * share, share)


def legs(name: str, world: int, nbytes: float, shape: Shape = ANY) -> tuple[Leg, ...]:
    """A grid's cost dimension by dimension, in the order they reduce. Of a mesh: what one rank sends in each."""
    if name not in GRIDS:
        raise PlanError(f"{name} is not a grid. There are {', '.join(GRIDS)}.")
    sides = factors(name, world, shape)
    one_way = _along(sides, nbytes)
    if name != "mesh":
        return one_way
    other = _along(sides[::-1], nbytes)[::-1]
    return tuple(Leg(a.ranks, a.hops, (a.nbytes + b.nbytes) / 2) for a, b in zip(one_way, other, strict=True))


def _along(sides: tuple[int, ...], nbytes: float) -> tuple[Leg, ...]:
    out, left = [], nbytes
    for p in sides:
        out.append(Leg(p, 2 * (p - 1), 2 * (p - 1) / p * left))
        left /= p
    return tuple(out)


def _folded(name: str, world: int, nbytes: float) -> Cost:
    m = world.bit_length() - 1
    fold = world != 1 << m
    if name == "recursive_doubling":
        inner = Cost(m, m * nbytes, m * nbytes)
    else:
        share = (1 - 1 / (1 << m)) * nbytes
        inner = Cost(2 * m, 2 * share, share)
    return Cost(inner.hops + 2 * fold, inner.nbytes + 2 * fold * nbytes, inner.added + fold * nbytes)


def _climbing(name: str, world: int, nbytes: float, pieces: int) -> Cost:
    top = height(world)
    if name == "tree":
        return Cost(2 * top, 2 * top * nbytes, top * nbytes)
    pieces = pieces or usual_pieces(int(nbytes) // FLOAT)
    through = 2 + (2 * top - 3) / pieces if world > 2 else 1.0
    return Cost(2 * top + pieces - 1, through * nbytes, 2 * nbytes)


def _masters(world: int, groups: int, nbytes: float) -> Cost:
    most = -(-world // groups)
    inside, across = (most - 1) / most * nbytes, (groups - 1) / groups * nbytes
    return Cost(2 * most * (most > 1) + 2 * (groups - 1), 4 * inside + 2 * across, inside + across)
