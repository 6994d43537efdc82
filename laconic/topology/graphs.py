"""The graphs: regular ones with fixed neighbours, and two that change from round to round.

    ring            i - 1, i + 1                                   weight 1/3 each; gap falls as 1/n^2
    torus           up, down, left, right on a rows x columns grid weight 1/5 each; gap falls as 1/n
    complete        everyone                                       weight 1/n: the exact mean in every round
    exp             hears i - 1, i - 2, i - 4, ...                 weight 1/(1 + ceil(log2 n)); gap falls as 1/log n
    one_peer_exp    in round t hears i - 2^(t mod ceil(log2 n))    weight 1/2; the exact mean every log2 n rounds
                                                                   where n is a power of two
    random_pairs    a partner by shared chance                     weight 1/2; who is left over in an odd world waits

Neighbours that coincide in small worlds count once (a ring of two has one edge). Exponential graphs: Ying, Yuan,
Chen, Hu, Pan, Yin, NeurIPS 2021, arXiv:2110.13363; Assran et al., ICML 2019, arXiv:1811.10792. Random pairs: Boyd,
Ghosh, Prabhakar, Shah, IEEE Transactions on Information Theory 2006. All of them are doubly stochastic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.core import rng
from laconic.core.errors import PlanError
from laconic.topology.graph import AbstractGraph, Weights, uniform

_PAIRING = 1 << 30  # names a stream that no bucket has


@dataclass(frozen=True)
class Ring(AbstractGraph):
    """The rank before and the rank behind me."""

    name: ClassVar[str] = "ring"
    paper: ClassVar[str] = "lian2017dpsgd"

    def weights(self, world: int, turn: int, seed: int) -> Weights:
        return uniform(tuple(frozenset({(i - 1) % world, (i + 1) % world}) for i in range(world)))

    def messages(self, world: int) -> int:
        return min(2, world - 1)


@dataclass(frozen=True)
class Torus(AbstractGraph):
    """Four neighbours on a grid whose edges are joined."""

    rows: int = 0  # 0: as close to a square as the number of workers allows

    name: ClassVar[str] = "torus"
    paper: ClassVar[str] = "lian2017dpsgd"

    def __post_init__(self) -> None:
        if not isinstance(self.rows, int) or self.rows < 0:
            raise PlanError(f"torus(rows={self.rows!r}): a whole number from 1 up, or 0 to choose it by the workers.")

    def __str__(self) -> str:
        return super().__str__() if self.rows else self.name

    def settle(self, world: int) -> Torus:
        if self.rows and world % self.rows:
            raise PlanError(
                f"{self}: {world} workers do not make {self.rows} rows. Use a divisor of {world}, or torus."
            )
        return self

    def weights(self, world: int, turn: int, seed: int) -> Weights:
        rows = self.rows or max(r for r in range(1, world + 1) if world % r == 0 and r * r <= world)
        columns = world // rows

        def at(row: int, column: int) -> int:
            return row % rows * columns + column % columns

        cells = [divmod(i, columns) for i in range(world)]
        return uniform(tuple(frozenset({at(r - 1, c), at(r + 1, c), at(r, c - 1), at(r, c + 1)}) for r, c in cells))


@dataclass(frozen=True)
class Complete(AbstractGraph):
    """Everyone with everyone: the exact mean, at the price of n - 1 messages."""

    name: ClassVar[str] = "complete"
    paper: ClassVar[str] = "lian2017dpsgd"

    def weights(self, world: int, turn: int, seed: int) -> Weights:
        return uniform((frozenset(range(world)),) * world)

    def messages(self, world: int) -> int:
        return world - 1


@dataclass(frozen=True)
class Exponential(AbstractGraph):
    """Those 1, 2, 4, 8, ... ranks away, all in every round."""

    name: ClassVar[str] = "exp"
    paper: ClassVar[str] = "ying2021exponential"

    @property
    def symmetric(self) -> bool:
        return False

    def weights(self, world: int, turn: int, seed: int) -> Weights:
        hops = [1 << k for k in range(doublings(world))]
        return uniform(tuple(frozenset((i - hop) % world for hop in hops) for i in range(world)))


@dataclass(frozen=True)
class OnePeerExponential(AbstractGraph):
    """One message a round, to the rank 1, then 2, then 4, ... further on."""

    name: ClassVar[str] = "one_peer_exp"
    paper: ClassVar[str] = "ying2021exponential"

    @property
    def static(self) -> bool:
        return False

    @property
    def symmetric(self) -> bool:
        return False

    def period(self, world: int) -> int:
        return max(1, doublings(world))

    def weights(self, world: int, turn: int, seed: int) -> Weights:
        hop = 1 << turn % self.period(world)
        return uniform(tuple(frozenset({(i - hop) % world}) for i in range(world)))

    def messages(self, world: int) -> int:
        return min(1, world - 1)


@dataclass(frozen=True)
class RandomPairs(AbstractGraph):
    """One message a round, to and from a partner drawn anew."""

    name: ClassVar[str] = "random_pairs"
    paper: ClassVar[str] = "boyd2006gossip"

    @property
    def static(self) -> bool:
        return False

    def period(self, world: int) -> int:
        return 0

    def weights(self, world: int, turn: int, seed: int) -> Weights:
        order = rng.shared(seed, turn, _PAIRING).words(world).argsort(stable=True).tolist()
        partner = {i: i for i in order}
        for a, b in zip(order[::2], order[1::2], strict=False):
            partner |= {a: b, b: a}
        return uniform(tuple(frozenset({partner[i]}) for i in range(world)))

    def messages(self, world: int) -> int:
        return min(1, world - 1)

    def rate(self, world: int) -> float:
        """In the mean square: E|Wx|^2 = x^T E[W] x, as W is a projection, and ranks meet each other equally often.

        With m of n ranks paired, E[W] = (1 - s) I + s 1 1^T / n,  s = m / (2 (n-1)).
        """
        if world < 3:
            return 0.0
        paired = world - world % 2
        return float((1 - paired / (2 * (world - 1))) ** 0.5)


def doublings(world: int) -> int:
    """ceil(log2 n)."""
    return (world - 1).bit_length()
