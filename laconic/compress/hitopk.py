"""HiTopKComm: dense inside a node, top-k between nodes.

    1  inside a node, member j adds up shard j of all members                    dense
    2  it keeps the k largest elements of that sum and sends them to the owners of shard j in all other nodes
    3  it passes what it heard on to the members of its node;   everyone adds up all nodes' elements

Shi et al., MLSys 2021, arXiv:2010.10458. Only step 2 crosses the slow links between nodes, with `ratio` of the bucket
and split over the node's members. `node` ranks in a row share a node; a last node with fewer members gives each
several shards. What step 2 drops belongs to all members; the owner of the shard reports it as not sent, so nothing is
lost under `ef(...)`, which it needs. Since that is what others brought too, no rank promises a share of its own norm:
delta = 0. Declared bits are what crosses between nodes; inside a node the bucket travels dense. `mstopk` is the
paper's way to select.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import AbstractCompressor, Grain, Traits, as_float32, back_to, kept
from laconic.compress.one_shot import chunks
from laconic.compress.sparse import check_indices, check_ratio
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Deal, Exchanged, Turn
from laconic.core.payload import HEADER_BYTES, Label, Part, method_tag, pack, unpack


@dataclass(frozen=True)
class HiTopK(AbstractCompressor):
    """Add up densely inside a node, exchange the largest elements between nodes."""

    ratio: float = 0.01
    node: int = 8

    name: ClassVar[str] = "hitopk"
    paper: ClassVar[str] = "shi2021towards"

    def __post_init__(self) -> None:
        check_ratio(self)
        if not isinstance(self.node, int) or self.node < 1:
            raise PlanError(f"hitopk(node={self.node!r}): the number of ranks that share a node, from 1 up.")

    @property
    def spares_small(self) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(unbiased=False, omega=None, delta=0.0, linear=False, rounds=3, grain=Grain.BUCKET)

    def payload_bits(self, spec: BucketSpec) -> int:
        return sum(64 * k for k in self.counts(spec.numel))

    def shards(self, numel: int) -> list[tuple[int, int]]:
        return chunks(numel, self.node, 1)

    def counts(self, numel: int) -> list[int]:
        """Elements said of each shard."""
        return [kept(self.ratio, b - a) for a, b in self.shards(numel)]

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        x32, floor = as_float32(x), _Floor(self, spec, turn)
        shards, counts, owned = self.shards(spec.numel), self.counts(spec.numel), floor.owned(turn.rank)

        heard = await floor.deal(
            1, {m: [(x32[slice(*shards[s])] / turn.world,) for s in floor.owned(m)] for m in floor.members()}
        )
        sums = {s: torch.stack([heard[m][i][0] for m in floor.members()]).sum(0) for i, s in enumerate(owned)}
        best = {s: kernel.largest(sums[s], counts[s]) for s in owned}
        said = {s: ((best[s] + shards[s][0]).to(torch.int32), sums[s][best[s]]) for s in owned}
        sent = x32.clone()
        for s in owned:
            sums[s][best[s]] = 0
            sent[slice(*shards[s])] -= sums[s] * turn.world

        heard = await floor.deal(2, {r: [said[s] for s in floor.both(turn.rank, r)] for r in floor.owners_like_me()})
        lists = {s: [heard[r][floor.both(turn.rank, r).index(s)] for r in floor.owners(s)] for s in owned}

        told = [one for s in owned for one in lists[s]]
        for at, _ in told:
            check_indices(at, spec.numel)  # before it is handed on
        heard = await floor.deal(3, dict.fromkeys(floor.members(), told))
        mean = torch.zeros_like(x32)
        for member in floor.members():
            for at, values in heard[member]:
                mean.index_add_(0, check_indices(at, spec.numel), values)
        return Exchanged(back_to(x.dtype, mean), back_to(x.dtype, sent), state)


class _Floor:
    """Who shares a node with whom, who owns which shard, and how they write to each other."""

    def __init__(self, hitopk: HiTopK, spec: BucketSpec, turn: Turn) -> None:
        self.size, self.world, self.rank = hitopk.node, turn.world, turn.rank
        self.counts, self.shards = hitopk.counts(spec.numel), hitopk.shards(spec.numel)
        self.tag = method_tag(str(hitopk))
        self.place = (spec.id + 4096 * spec.part, turn.step, spec.numel)
        self.checksum = turn.seat.checksum

    def members(self, rank: int | None = None) -> range:
        """The ranks of a node, mine by default."""
        first = (self.rank if rank is None else rank) // self.size * self.size
        return range(first, min(first + self.size, self.world))

    def owned(self, rank: int) -> list[int]:
        """The shards of a rank."""
        members = self.members(rank)
        return list(range(rank - members.start, self.size, len(members)))

    def both(self, a: int, b: int) -> list[int]:
        return [s for s in self.owned(a) if s in self.owned(b)]

    def owners(self, shard: int) -> list[int]:
        """Of a shard, one in each node, in order."""
        nodes = [self.members(first) for first in range(0, self.world, self.size)]
        return [members[shard % len(members)] for members in nodes]

    def owners_like_me(self) -> list[int]:
        return [r for r in range(self.world) if self.both(self.rank, r)]

    async def deal(self, phase: int, pieces: dict[int, list[tuple[Tensor, ...]]]) -> dict[int, list[Any]]:
        """To each of these ranks its pieces; from each of them theirs. Others neither write nor read."""
        label = Label(self.tag + phase, *self.place)
        device = next(t for some in pieces.values() for one in some for t in one).device
        silence = torch.empty(0, dtype=torch.uint8, device=device)
        messages = [
            pack(label, 0, _columns(pieces[r]), checksum=self.checksum) if r in pieces else silence
            for r in range(self.world)
        ]
        shapes = {r: self._shapes(phase, r) for r in pieces}
        layouts = {r: _layout(shapes[r], dense=phase == 1) for r in pieces}
        lengths = [HEADER_BYTES + sum(p.nbytes for p in layouts[r]) if r in pieces else 0 for r in range(self.world)]
        heard = await Deal(tuple(messages), tuple(lengths))
        out = {}
        for r, shape in shapes.items():
            _, parts = unpack(heard[r], label, lambda *_, layout=layouts[r]: layout)
            out[r] = list(zip(*(part.split(shape) for part in parts), strict=True))
        return out

    def _shapes(self, phase: int, sender: int) -> list[int]:
        """How many elements each piece from a rank has."""
        if phase == 1:
            return [self.shards[s][1] - self.shards[s][0] for s in self.owned(self.rank)]
        if phase == 2:
            return [self.counts[s] for s in self.both(self.rank, sender)]
        nodes = -(-self.world // self.size)
        return [self.counts[s] for s in self.owned(sender) for _ in range(nodes)]


def _columns(pieces: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    return tuple(torch.cat(column) for column in zip(*pieces, strict=True))


def _layout(shape: list[int], *, dense: bool) -> tuple[Part, ...]:
    n = sum(shape)
    return (Part(torch.float32, n),) if dense else (Part(torch.int32, n), Part(torch.float32, n))
