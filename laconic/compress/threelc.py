"""3LC: three values, five to a byte, runs of zeros cut short.

    M = s max|x|,   q = nearest(x / M) in {-1, 0, 1},   C(x) = M q,   |C(x)_i - x_i| <= M/2,   1 <= s < 2

    delta = s (2 - s) / (1 + (B-1) s^2/4)

Lim, Andersen, Kaminsky, MLSys 2019, arXiv:1802.07389. Use `ef(threelc)`: both directions then have their memory, as in
the paper. Five values are a number below 243, so a byte (1.6 bits each), and 2 to 14 bytes of nothing but zeros in a
row become one byte, 243 .. 255: few elements come near the largest, so messages are usually far shorter than declared.
Another coding may take the place of the runs: `threelc |
huffman`. Differs: the maximum of each block, not of each tensor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import AbstractCodec, AbstractSelector, Draw, Grain, Size, Traits
from laconic.compress.blocked import AbstractBlocked
from laconic.compress.staged import AbstractStaged
from laconic.compress.three_values import AbstractTrits, ThreeValues
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PayloadError, PlanError
from laconic.core.payload import Part


@dataclass(frozen=True)
class ThreeLC(AbstractBlocked, AbstractTrits, AbstractStaged):
    """The nearest of -M, 0 and M; 1.6 bits an element, less where zeros stand in a row."""

    sparsity: float = 1.0
    block: int = 1024

    name: ClassVar[str] = "threelc"
    paper: ClassVar[str] = "lim2019threelc"

    def __post_init__(self) -> None:
        if not 1 <= self.sparsity < 2:
            raise PlanError(f"threelc(sparsity={self.sparsity!r}): M is 1 to below 2 times the largest magnitude.")
        self.check_block()

    def traits(self, spec: BucketSpec) -> Traits:
        s = self.sparsity
        delta = s * (2 - s) / (1 + (self.size(spec) - 1) * s**2 / 4)
        return Traits(False, None, delta, linear=False, rounds=2, grain=Grain.BLOCK, size=Size.MOST)

    @property
    def varies(self) -> bool:
        return True

    def stages(self) -> tuple[AbstractSelector | None, AbstractCodec]:
        return None, ThreeValues(self)

    def payload_bits(self, spec: BucketSpec) -> int:
        return sum(8 * part.nbytes for part in self.layout(spec.numel, kernel.trit_bytes(spec.numel)))

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return self.scales(numel), Part(torch.uint8, aux)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        scale = (kernel.scales(x, self.block, "max") * self.sparsity).clamp_(max=torch.finfo(x.dtype).max)
        full = torch.empty(kernel.trit_bytes(x.numel()), dtype=torch.uint8, device=x.device)
        kernel.nearest_trits(x, scale / 2, full, self.block)
        packed = kernel.shorten_zero_runs(full)
        return packed.numel(), (scale, packed)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = torch.empty(numel, device=parts[0].device)
        self.put(out, parts, aux, draw, 1.0)
        return out

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        kernel.ternary_add(total, parts[0], self._full(parts[1], total.numel()), self.block, weight)

    def put(self, out: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        kernel.ternary_unpack(out, parts[0], self._full(parts[1], out.numel()), self.block, weight)

    def _full(self, short: Tensor, numel: int) -> Tensor:
        full = kernel.restore_zero_runs(short, kernel.trit_bytes(numel))
        if full is None:
            raise PayloadError(f"A message does not unfold to {kernel.trit_bytes(numel)} bytes of three values.")
        return full
