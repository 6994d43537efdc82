"""How models are mixed along a graph: the interface of gossip algorithms.

    async def mix(x, state, place) -> Exchanged       x: my model after its own step;  .mean: the model to go on with

A worker's optimizer has taken its step alone; x is the result. What the step was, d = x - (the model before it), some
algorithms work out from their state. So every optimizer works with every algorithm, where papers write -eta g. All
workers start from equal models, which is what `init` relies on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from laconic.core import memory
from laconic.core.bucket import BucketSpec
from laconic.core.component import Component
from laconic.core.exchange import Exchanged, Mean, Post, Seat, Turn, post_ragged
from laconic.core.payload import Label, Part, method_tag, pack, unpack
from laconic.topology.graph import Hood


class Desk(Protocol):
    """Where messages of one bucket in one round are written and read."""

    @property
    def most(self) -> int | None:
        """The longest message, in bytes, where lengths differ; None: all are as long as mine."""
        ...

    def write(self, x: Tensor) -> Tensor: ...

    def read(self, message: Tensor) -> Tensor:
        """What the writer of this message wanted to say, flat."""
        ...


@dataclass(frozen=True)
class Plain:
    """Numbers as they are, behind a header that says of which step and bucket they are."""

    spec: BucketSpec
    turn: Turn
    dtype: torch.dtype
    numel: int

    @property
    def most(self) -> int | None:
        return None

    def write(self, x: Tensor) -> Tensor:
        return pack(self._label, 0, (x.to(self.dtype),), checksum=self.turn.seat.checksum)

    def read(self, message: Tensor) -> Tensor:
        return unpack(message, self._label, lambda numel, _: (Part(self.dtype, numel),))[1][0]

    @property
    def _label(self) -> Label:
        return Label(method_tag(f"gossip {self.dtype}"), self.spec.id, self.turn.step, self.numel)


@dataclass(frozen=True)
class Around:
    """One bucket in one round: who I am, whom I talk to, how messages are written."""

    spec: BucketSpec
    turn: Turn
    hood: Hood
    desk: Desk

    async def tell(self, message: Tensor) -> list[Tensor]:
        """This message to everyone who hears me; the messages of those I hear."""
        hood, most = self.hood, self.desk.most
        if most is not None:
            return await post_ragged(message, hood.peers, hood.sources, most)
        lengths = (message.numel(),) * len(hood.sources)
        return await Post((message,) * len(hood.peers), hood.peers, hood.sources, lengths)

    def plain(self, dtype: torch.dtype, numel: int) -> Plain:
        return Plain(self.spec, self.turn, dtype, numel)

    def pull(self, start: Tensor, mine: Tensor, heard: Iterable[Tensor], scale: float = 1.0) -> Tensor:
        """start + scale sum_j W_ij (heard_j - mine), in start's type.

        Where rows of W add up to one and start = mine this is sum_j W_ij heard_j. But models that are equal stay what
        they are, bit for bit: a sum of thirds would shrink or grow them by a rounding error in every round. (In float64
        that error does not matter, so nothing is written down in between.)
        """
        total, pairs = memory.copy(start), list(zip(self.hood.weights, heard, strict=True))
        if start is mine and len(pairs) == 1:
            ((weight, theirs),) = pairs
            return total.lerp_(theirs.to(total.dtype), scale * weight)  # one pass
        if total.dtype == torch.float64:
            for weight, theirs in pairs:
                total.add_(theirs, alpha=scale * weight)
            return total.sub_(mine, alpha=scale * sum(self.hood.weights))
        for weight, theirs in pairs:
            total.add_(theirs.to(total.dtype) - mine, alpha=scale * weight)
        return total

    def share(self, mine: Tensor, heard: Iterable[Tensor]) -> Tensor:
        """W_ii mine + sum_j W_ij heard_j, whatever rows add up to."""
        total = memory.copy(mine).mul_(self.hood.own)
        for weight, theirs in zip(self.hood.weights, heard, strict=True):
            total.add_(theirs, alpha=weight)
        return total


class AbstractMixing(Component, ABC):
    folder: ClassVar[str] = "mixing"
    compresses: ClassVar[bool] = False  # does it take a compressor, or only whole models?
    unbiased: ClassVar[bool] = False  # only an unbiased one?
    fixed: ClassVar[bool] = False  # does it keep something about neighbours, who then must stay the same?
    paired: ClassVar[bool] = False  # does it mix along edges that have no direction?
    waits: ClassVar[bool] = True  # in rounds, or does it meet neighbours beside the training?
    pushes: ClassVar[bool] = False  # is it enough that columns of weights add up to one?

    def init(self, x: Tensor, spec: BucketSpec, seat: Seat, hood: Hood) -> Any:
        """State of a bucket whose model x is the same on all workers."""
        return ()

    @abstractmethod
    async def mix(self, x: Tensor, state: Any, at: Around) -> Exchanged:
        """Does not modify x or state. `sent` is not used."""

    def plain_bytes(self, spec: BucketSpec) -> float:
        """What a message without a compressor holds behind its header, on average over rounds."""
        return spec.numel * wide(spec).itemsize

    async def agree(self, x: Tensor, state: Any) -> Exchanged:
        """The one model that all workers end with: the mean."""
        mean = await Mean(x.clone())
        return Exchanged(mean, mean, state)

    @abstractmethod
    def traits(self) -> dict[str, object]: ...


def wide(spec: BucketSpec) -> torch.dtype:
    """Sums are taken in at least float32."""
    return torch.promote_types(spec.dtype, torch.float32)
