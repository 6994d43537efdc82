"""What quantizers by blocks have in common: one or more scales for every `block` elements, and codes of a few bits.

A short last block has scales of its own. Chunks dealt to owners are cut between blocks.
"""

from __future__ import annotations

from abc import ABC

import torch

from laconic import kernels as kernel
from laconic.compress.one_shot import AbstractOneShot
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.payload import Part


class AbstractBlocked(AbstractOneShot, ABC):
    """Concrete classes have a field `block`, in elements."""

    block: int

    @property
    def align(self) -> int:
        return self.block

    def check_block(self) -> None:
        if not isinstance(self.block, int) or self.block < 8 or self.block % 8:
            raise PlanError(f"{self.name}(block={self.block!r}): a block is a multiple of 8 elements.")

    def size(self, spec: BucketSpec) -> int:
        """Elements of the largest block, for bounds that depend on it."""
        return max(1, min(self.block, spec.numel))

    def scales(self, numel: int, each: int = 1) -> Part:
        return Part(torch.float32, each * -(-numel // self.block))


def codes(numel: int, bits: int) -> Part:
    return Part(torch.uint8, kernel.packed_bytes(numel, bits))


def check_bits(name: str, bits: object, low: int, high: int) -> None:
    if not isinstance(bits, int) or not low <= bits <= high:
        raise PlanError(f"{name}(bits={bits!r}): bits must be {low} to {high}.")
