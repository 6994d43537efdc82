"""QSGD with a number of bits that all ranks agree on anew in every step: the most that anyone wants."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor, as_float32
from laconic.compress.identity import Identity
from laconic.compress.qsgd import QSGD
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Max, Seat, Turn

RAW = 32  # bits: not quantized at all


class AbstractAgreedBits(AbstractCompressor, ABC):
    """Concrete classes have a field `block` and say what they want."""

    block: int

    @property
    @abstractmethod
    def fewest(self) -> int: ...

    @abstractmethod
    def wanted(self, x: Tensor, spec: BucketSpec, turn: Turn) -> int:
        """2 to 8 bits, or RAW."""

    def check_block(self) -> None:
        if not isinstance(self.block, int) or self.block < 8 or self.block % 8:
            raise PlanError(f"{self.name}(block={self.block!r}): a block is a multiple of 8 elements.")

    @property
    def adapts(self) -> bool:
        return True

    @property
    def spares_small(self) -> bool:
        return True

    def codec(self, bits: int) -> AbstractCompressor:
        return Identity() if bits == RAW else QSGD(bits, block=self.block)

    @property
    def routed(self) -> bool:
        return True

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Any:
        return self.codec(self.fewest).init(spec, seat, remember=remember)

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        mine = torch.tensor([float(self.wanted(as_float32(x), spec, turn))], device=x.device)
        codec = self.codec(int(await Max(mine)))
        return await codec.exchange(x, state, spec, turn)
