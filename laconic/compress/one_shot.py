"""The exchange most of the literature needs, written once: encode, route, decode, average.

    gather   mean = 1/n sum_r D(message_r)                    everyone decodes everyone
    deal     rank r owns chunk r:  q_r = 1/n sum_i D(message_i,r) + E_r
             everyone applies D(C(q_r)), its owner too, or replicas drift;  E_r <- q_r - D(C(q_r))

The second error E is kept only inside an error memory (DoubleSqueeze, Tang et al., ICML 2019,
arXiv:1905.05957); without one an owner keeps nothing, as the user asked. Like the memory around it, E needs a
contraction: where C is none, everyone applies d D(C(q_r)) and E_r <- q_r - d D(C(q_r)), d = 1/(1 + omega).
"""

from __future__ import annotations

from abc import ABC
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import AbstractCodec, AbstractCompressor, Draw, as_float32, back_to
from laconic.core.bucket import BucketSpec, one_tensor
from laconic.core.exchange import Deal, Exchanged, Gather, Route, Seat, Turn, deal_ragged, gather_ragged
from laconic.core.payload import HEADER_BYTES, Label, method_tag, pack, unpack


class Owned(NamedTuple):
    error: Tensor  # E of my chunk; empty where nothing is remembered
    damping: Tensor  # d, a float on the CPU; every rank's, also where its own chunk is empty


class AbstractOneShot(AbstractCompressor, AbstractCodec, ABC):
    """Concrete classes write `layout`, `encode`, `decode`, `traits`; the exchange is final."""

    sparse: ClassVar[bool] = False
    checked: ClassVar[bool] = False  # do messages carry a checksum, whatever the run asks for?

    @property
    def align(self) -> int:
        """Chunks start at multiples of this, so that no block is cut in two."""
        return 1

    @property
    def varies(self) -> bool:
        """Does the length of a message depend on data or chance? Then lengths are said first."""
        return False

    @property
    def dialect(self) -> str:
        """What writer and reader must agree on; a message of another dialect is refused."""
        return str(self)

    @property
    def spares_small(self) -> bool:
        return True

    def payload_bits(self, spec: BucketSpec) -> int:
        return 8 * self.message_bytes(spec.numel) - 8 * HEADER_BYTES

    def message_bytes(self, numel: int, aux: int = 0) -> int:
        return HEADER_BYTES + sum(part.nbytes for part in self.layout(numel, aux))

    def most_bytes(self, numel: int) -> int:
        """The longest message that can stand for so many elements."""
        return HEADER_BYTES + -(-self.payload_bits(one_tensor(numel)) // 8)

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Any:
        deals = seat.router.route(self.sparse, seat.world) is Route.DEAL
        start, stop = chunks(spec.numel, seat.world, self.align)[seat.rank]
        remembers = deals and remember
        size = stop - start if remembers else 0
        damping = self.traits(spec).damping if remembers else 1.0
        return Owned(torch.zeros(size, device=seat.device), torch.tensor(damping))

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        x32 = as_float32(x)
        if turn.seat.router.route(self.sparse, turn.world) is Route.GATHER:
            mean, sent, error = *await self._gather(x32, spec, turn), state.error
        else:
            mean, sent, error = await self._deal(x32, state, spec, turn)
        return Exchanged(back_to(x.dtype, mean), back_to(x.dtype, sent), Owned(error, state.damping))

    async def _gather(self, x: Tensor, spec: BucketSpec, turn: Turn) -> tuple[Tensor, Tensor]:
        desk = _Desk(self, spec, turn)
        mine = desk.write(x, salt=0)
        messages = await (gather_ragged(mine, self.most_bytes(x.numel())) if self.varies else Gather(mine))
        return desk.average(messages, x), desk.read(messages[turn.rank], x.numel(), salt=0)

    async def _deal(self, x: Tensor, state: Owned, spec: BucketSpec, turn: Turn) -> tuple[Tensor, Tensor, Tensor]:
        desk, n = _Desk(self, spec, turn), turn.world
        cuts = chunks(x.numel(), n, self.align)
        mine = [desk.write(x[a:b], salt=r) for r, (a, b) in enumerate(cuts)]
        sent = [desk.read(m, b - a, salt=r) for r, (m, (a, b)) in enumerate(zip(mine, cuts, strict=True))]
        most = self.most_bytes(max(b - a for a, b in cuts)) if self.varies else 0
        received = await (deal_ragged(tuple(mine), most) if self.varies else Deal(tuple(mine)))
        a, b = cuts[turn.rank]
        q = desk.average(received, x[a:b], salt=turn.rank)
        if state.error.numel():
            q += state.error
        again = desk.write(q, salt=n + turn.rank)
        lengths = () if self.varies else tuple(self.message_bytes(b - a) for a, b in cuts)
        replies = await (gather_ragged(again, most) if self.varies else Gather(again, lengths))
        said = [desk.read(m, b - a, salt=n + r) for r, (m, (a, b)) in enumerate(zip(replies, cuts, strict=True))]
        if (damping := float(state.damping)) != 1.0:
            said = [chunk * damping for chunk in said]
        left = q - said[turn.rank] if state.error.numel() else state.error
        return torch.cat(said), torch.cat(sent), left


class _Desk:
    """Where messages of one exchange are written and read; `salt` tells its chunks apart."""

    def __init__(self, codec: AbstractOneShot, spec: BucketSpec, turn: Turn) -> None:
        self.codec = codec
        self.checksum = turn.seat.checksum or codec.checked
        self.draw = Draw(turn.own(spec), turn.shared(spec))
        self.tag = method_tag(codec.dialect)
        self.place = (spec.id + 4096 * spec.part, turn.step)

    def _label(self, numel: int, salt: int) -> Label:
        return Label(self.tag + salt, *self.place, numel)

    def write(self, x: Tensor, salt: int) -> Tensor:
        aux, parts = self.codec.encode(x, self.draw.child(salt))
        return pack(self._label(x.numel(), salt), aux, parts, checksum=self.checksum)

    def read(self, message: Tensor, numel: int, salt: int) -> Tensor:
        aux, parts = unpack(message, self._label(numel, salt), self.codec.layout)
        return self.codec.decode(parts, numel, aux, self.draw.child(salt))

    def average(self, messages: list[Tensor], like: Tensor, salt: int = 0) -> Tensor:
        total = torch.zeros_like(like)
        label, draw = self._label(like.numel(), salt), self.draw.child(salt)
        for message in messages:  # in rank order on every rank: the same sum, bit for bit
            aux, parts = unpack(message, label, self.codec.layout)
            self.codec.add(total, parts, aux, draw, 1.0 / len(messages))
        return total


def chunks(numel: int, n: int, align: int) -> list[tuple[int, int]]:
    """n consecutive ranges that cover numel, as equal as whole blocks allow; some may be empty."""
    count = -(-numel // align)
    edges = [min(numel, align * (count * r // n)) for r in range(n)] + [numel]
    return list(pairwise(edges))
