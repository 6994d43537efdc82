"""AdaComp: in every bin of neighbouring elements, those that the newest gradient could make the largest.

    G = e + x,  H = G + x;   in each bin of `block` elements:  S = { i : |H_i| >= max |G| of the bin > 0 }
    say sign(G_i) s  for i in S,   s = mean over the bins of max |G|;     e <- G - what was said

Chen et al., AAAI 2018, arXiv:1712.02679 (there 50 elements for convolutions, 500 for other layers). It keeps its own
memory, since the choice depends on both G and x: do not wrap it in `ef(...)`. How many elements are said follows the
gradient, and no share of the norm is promised (delta is None). An element takes a byte (bins of up to 64) or two:
its place in the bin, its sign, and whether it is the first of its bin; one bit a bin says which bins say anything.
Differs: a bin of zeros says nothing (by the paper's rule it would say everything) and does not count in s; one s a
bucket, not a layer. An owner that re-encodes a dealt chunk has no x: it says the largest element of each bin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import Draw, Grain, Size, Traits, as_float32, back_to, wide
from laconic.compress.one_shot import AbstractOneShot, Owned
from laconic.compress.sparse import check_indices
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PayloadError, PlanError
from laconic.core.exchange import Exchanged, Seat, Turn
from laconic.core.payload import Part
from laconic.kernels import reference, reference_sparse

_SHORT = 64  # bins whose places fit into 6 bits
_LONGEST = 1 << 14


class Accumulated(NamedTuple):
    error: Tensor
    damping: Tensor
    residual: Tensor


@dataclass(frozen=True)
class AdaComp(AbstractOneShot):
    """Say what is or soon could be the largest of its bin, with one magnitude; remembers the rest."""

    block: int = 50

    name: ClassVar[str] = "adacomp"
    paper: ClassVar[str] = "chen2018adacomp"
    sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.block, int) or not 2 <= self.block <= _LONGEST:
            raise PlanError(f"adacomp(block={self.block!r}): a bin has 2 to {_LONGEST} elements, for example 50.")

    @property
    def align(self) -> int:
        return self.block

    @property
    def varies(self) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(False, None, None, linear=False, rounds=2, grain=Grain.BUCKET, remembers=True, size=Size.MOST)

    @property
    def _code(self) -> torch.dtype:
        return torch.uint8 if self.block <= _SHORT else torch.int16

    @property
    def _places(self) -> int:
        """Bits of a place in the bin; the sign and the first-of-its-bin mark stand above."""
        return 8 * self._code.itemsize - 2

    def payload_bits(self, spec: BucketSpec) -> int:
        return sum(8 * part.nbytes for part in self.layout(spec.numel, spec.numel))

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        bitmap = reference.packed_bytes(-(-numel // self.block), 1)
        return Part(torch.float32, 1), Part(self._code, aux), Part(torch.uint8, bitmap)

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Accumulated:
        owned = super().init(spec, seat, remember=True)
        residual = torch.zeros(spec.numel, dtype=wide(spec).dtype, device=seat.device)
        return Accumulated(owned.error, owned.damping, residual)

    async def exchange(self, x: Tensor, state: Accumulated, spec: BucketSpec, turn: Turn) -> Exchanged:
        total = state.residual + x
        said = self._marked(as_float32(total), as_float32(total + x))
        out = await super().exchange(said, Owned(state.error, state.damping), wide(spec), turn)
        kept = Accumulated(out.state.error, out.state.damping, total - out.sent)
        return Exchanged(back_to(x.dtype, out.mean), lambda: back_to(x.dtype, out.sent), kept)

    def _marked(self, total: Tensor, soon: Tensor) -> Tensor:
        """sign(G) s where |H| reaches the largest |G| of the bin, else 0."""
        top = reference.blocks(total, self.block).abs().amax(dim=1)
        reaches = reference.blocks(soon, self.block).abs() >= top.unsqueeze(1)
        chosen = (reaches & (top > 0).unsqueeze(1)).view(-1)[: total.numel()]
        return torch.where(chosen, total.sign() * _scale(top), 0.0)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        x = self._marked(x, x)
        at = x.nonzero().view(-1)
        bins, first = at // self.block, torch.ones_like(at)
        first[1:] = (bins[1:] != bins[:-1]).to(torch.int64)
        marks = at % self.block + ((x[at] < 0).to(torch.int64) << self._places) + (first << self._places + 1)
        if self._code is torch.int16:
            marks -= first << 16  # the top bit is the sign of an int16
        said = torch.zeros(-(-x.numel() // self.block), dtype=torch.uint8, device=x.device).index_fill_(0, bins, 1)
        scale = x.abs().max().view(1) if x.numel() else x.new_zeros(1)
        return at.numel(), (scale, marks.to(self._code), reference.pack(said, 1))

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = parts[0].new_zeros(numel)
        self.add(out, parts, aux, draw, 1.0)
        return out

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        scale, codes, bitmap = parts
        marks = codes.to(torch.int64) & (1 << self._places + 2) - 1
        bins = reference.unpack(bitmap, 1, -(-total.numel() // self.block)).nonzero().view(-1)
        which = (marks >> self._places + 1).cumsum(0) - 1
        if aux and (int(which[0]) != 0 or int(which[-1]) + 1 != bins.numel()):
            raise PayloadError(f"A message marks {bins.numel()} bins and brings {int(which[-1]) + 1}.")
        place = marks & (1 << self._places) - 1
        at = check_indices(bins[which] * self.block + place, total.numel()) if aux else place
        sign = 1.0 - 2.0 * (marks >> self._places & 1).to(torch.float32)
        total.index_add_(0, at, sign * scale, alpha=weight)


def _scale(top: Tensor) -> float:
    """The mean over bins that say something; of equal numbers it is that number, bit for bit."""
    return reference_sparse.mean_of(top[top > 0])
