"""What acts differently at first: the step alone says which compressor is at work, so all ranks agree."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor

from laconic.compress.base import AbstractCompressor, Traits
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Seat, Turn


class AbstractPhased(AbstractCompressor, ABC):
    """Concrete classes have fields `inner` and `steps` and write `at`; claims and bits are those after `steps`.

    The first phase may lose less than is claimed, never more.
    """

    inner: AbstractCompressor
    steps: int

    def __post_init__(self) -> None:
        if not isinstance(self.steps, int) or self.steps < 1:
            raise PlanError(f"{self.name}(steps={self.steps!r}): it lasts a whole number of steps, from 1 up.")

    @abstractmethod
    def at(self, step: int) -> AbstractCompressor:
        """Who is at work; from `steps` on it is `inner`. Its state fits that of `inner`."""

    @property
    def spares_small(self) -> bool:
        return self.inner.spares_small

    @property
    def lossless(self) -> AbstractCompressor | None:
        return self.inner.lossless

    def traits(self, spec: BucketSpec) -> Traits:
        return self.inner.traits(spec)

    def payload_bits(self, spec: BucketSpec) -> int:
        return self.inner.payload_bits(spec)

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Any:
        return self.inner.init(spec, seat, remember=remember)

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        return await self.at(turn.step).exchange(x, state, spec, turn)
