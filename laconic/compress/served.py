"""The server route of one-shot codecs: push a packed message, let servers average and say it again, pull.

    worker i    say C(p_i) chunk by chunk, chunk s to server s
    server s    q = 1/n sum_i D(message_i) + E;   say C(q) to all;   E <- q - d D(C(q))

Everyone applies d D(C(q)), bit for bit alike. E is kept only inside an error memory (DoubleSqueeze, Tang et al., ICML
2019, arXiv:1905.05957) and lives on the server; in a worker's state stands its version, so that an aborted step is
not built on. d = 1/(1 + omega) where C alone is no contraction. Differs: the mean is summed in rank order whoever comes
first, so a run can be repeated bit for bit.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from laconic.compress.one_shot import AbstractOneShot, Desk, Keeping, Owned, chunks
from laconic.compress.routed import Always
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PayloadError
from laconic.core.exchange import Exchanged, Route, Seat, Serve, Turn

SMALLEST_CHUNK = 4096  # elements; below, one server is enough


def chunk_count(numel: int, servers: int, align: int) -> int:
    """How many servers a bucket is shared by."""
    return max(1, min(servers, numel // SMALLEST_CHUNK, -(-numel // align)))


def ticket(version: int) -> Tensor:
    """Stands for E in a worker's state: who multiplies E (`dist_ef`) multiplies it, and the server does so later."""
    return torch.tensor([version, 1.0], dtype=torch.float64)


def start(codec: AbstractOneShot, spec: BucketSpec, *, remember: bool) -> Owned:
    damping = codec.traits(spec).damping if remember else 1.0
    return Owned(ticket(0) if remember else torch.zeros(0), torch.tensor(damping))


@dataclass(frozen=True)
class ServerClerk:
    """One chunk's work on a server, which builds `codec` from its text."""

    codec: AbstractOneShot
    numel: int
    chunk: int
    chunks: int
    world: int
    bucket: int
    part: int
    seed: int
    checksum: bool
    remember: bool
    damping: float
    scale: float = 1.0  # of E, before it is used

    @property
    def key(self) -> tuple[int, int, int]:
        return self.bucket, self.part, self.chunk

    @property
    def memory_size(self) -> int:
        return self.numel if self.remember else 0

    def text(self) -> str:
        numbers = {f.name: getattr(self, f.name) for f in fields(self)}
        return json.dumps({**numbers, "codec": str(self.codec)})

    def decode(self, message: Tensor, step: int) -> Tensor:
        """What one worker's message stands for."""
        return self._desk(step).read([(message, self.numel, self.chunk)], message, 1.0)

    def encode(self, x: Tensor, step: int) -> Tensor:
        """As a worker would."""
        return self._desk(step).write(x, self.chunk)

    def _desk(self, step: int) -> Desk:
        # A rank of its own for every chunk, so that servers round independently of workers and of each other.
        rank, router = self.world + self.chunk, Always(Route.SERVER, self.chunks)
        seat = Seat(rank, self.world, router, self.seed, checksum=self.checksum)
        spec = BucketSpec(self.bucket, ("chunk",), ((self.numel,),), part=self.part)
        return Desk(self.codec, spec, Turn(seat, step))

    def reply(self, messages: list[Tensor], error: Tensor, step: int) -> tuple[Tensor, Tensor]:
        desk, q = self._desk(step), torch.empty(self.numel)
        desk.average(messages, q, self.chunk, 1.0)
        owed = error if self.scale == 1.0 else error * self.scale
        keep = Keeping(owed, torch.empty_like(error), self.damping) if error.numel() else None
        reply = desk.write(q, self.chunks + self.chunk, keep)
        return reply, keep.left if keep else error


def clerk_from(words: dict[str, Any], codec: AbstractOneShot) -> ServerClerk:
    """From the text's numbers; they came over a network."""
    names = [f.name for f in fields(ServerClerk) if f.name != "codec"]
    wanted = {f: float if f in ("damping", "scale") else bool if f in ("checksum", "remember") else int for f in names}
    for name, kind in wanted.items():
        if type(words.get(name)) is not kind:
            raise PayloadError(
                f"An order to a server has {name} = {words.get(name)!r} where a {kind.__name__} belongs."
            )
    clerk = ServerClerk(codec, **{name: words[name] for name in names})
    if min(clerk.numel, clerk.chunk, clerk.bucket, clerk.part) < 0 or clerk.world < 1 or clerk.chunk >= clerk.chunks:
        raise PayloadError(f"An order to a server makes no sense: {clerk}.")
    return clerk


async def serve(
    codec: AbstractOneShot, x: Tensor, keep: Keeping | None, state: Owned, spec: BucketSpec, turn: Turn
) -> Exchanged:
    desk = Desk(codec, spec, turn)
    count = chunk_count(x.numel(), turn.seat.router.owners(turn.world), codec.align)
    cuts = chunks(x.numel(), count, codec.align)
    mine = [desk.write(x[a:b], s, keep and keep.part(a, b)) for s, (a, b) in enumerate(cuts)]
    sizes, again = [b - a for a, b in cuts], float(state.damping)
    version, scale = state.error.tolist() if state.error.numel() else (0.0, 1.0)
    base, remember = (round(version / scale) if scale else 0), bool(state.error.numel())
    of = (turn.world, spec.id, spec.part, turn.seat.seed, desk.checksum, remember, again, scale)
    clerks = tuple(ServerClerk(codec, size, s, count, *of) for s, size in enumerate(sizes))
    made = turn.step + 1
    replies = await Serve(tuple(mine), clerks, base, made)
    damping = keep.damping if keep else 1.0
    mean = desk.read(list(zip(replies, sizes, range(count, 2 * count), strict=True)), x, again * damping)
    sent = list(zip(mine, sizes, range(count), strict=True))
    error = ticket(made) if remember else state.error
    return Exchanged(mean, lambda: desk.read(sent, mean, damping), Owned(error, state.damping))
