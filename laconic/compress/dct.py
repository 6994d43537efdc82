"""DCT top-k (DeMo's code): each tile of a matrix by its k largest cosine coefficients.

    Y = D_h T D_w^T  for every tile T of h x w elements;   C keeps the k largest |Y| of each tile;   T' = D_h^T Y' D_w

h and w are the largest divisors of the matrix's sides up to `chunk`; D is the orthonormal DCT-II, so the error is
that of the coefficients and delta = k/(h w) of the largest tile. Peng, Quesnelle, Kingma, 2024, arXiv:2411.19870. A
coefficient takes 32 bits and its place in the tile 12 (64 x 64). Vectors are matrices of one row, tensors of more
dimensions matrices (first) x (rest). Messages are gathered on every route: a tile cannot be dealt in chunks.

DeMo itself is `ef(dct)` with a memory that decays (0.999) and an optimizer that applies the sign of the mean.
Differs: the mean is over all ranks; DeMo divides each coefficient by the number of ranks that sent it, which is not a
mean of anything a memory could conserve.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor, Grain, Traits, as_float32, back_to
from laconic.core.bucket import BucketSpec, Shape, flatten
from laconic.core.errors import PayloadError, PlanError
from laconic.core.exchange import Exchanged, Gather, Router, Turn
from laconic.core.payload import Label, Part, method_tag, pack, unpack
from laconic.kernels import reference_sparse as kernel


class Tiles(NamedTuple):
    """How one tensor is cut: a grid of `rows` x `columns` tiles of h x w elements."""

    rows: int
    columns: int
    h: int
    w: int

    @property
    def size(self) -> int:
        return self.h * self.w

    def transform(self, t: Tensor) -> Tensor:
        """The tensor's coefficients, one tile a row."""
        grid = t.reshape(self.rows, self.h, self.columns, self.w).permute(0, 2, 1, 3).reshape(-1, self.h, self.w)
        left, right = self._bases(t)
        return (left @ grid @ right.T).reshape(-1, self.size)

    def back(self, y: Tensor) -> Tensor:
        left, right = self._bases(y)
        grid = (left.T @ y.reshape(-1, self.h, self.w) @ right).reshape(self.rows, self.columns, self.h, self.w)
        return grid.permute(0, 2, 1, 3).reshape(-1)

    def _bases(self, like: Tensor) -> tuple[Tensor, Tensor]:
        return kernel.dct_matrix(self.h).to(like.device), kernel.dct_matrix(self.w).to(like.device)


@dataclass(frozen=True)
class DCT(AbstractCompressor):
    """Keep the largest cosine coefficients of each tile of a matrix."""

    k: int = 32
    chunk: int = 64

    name: ClassVar[str] = "dct"
    paper: ClassVar[str] = "peng2024demo"

    def __post_init__(self) -> None:
        if not isinstance(self.chunk, int) or not 1 <= self.chunk <= 256:
            raise PlanError(f"dct(chunk={self.chunk!r}): a tile has sides of 1 to 256 elements, usually 64.")
        if not isinstance(self.k, int) or not 1 <= self.k <= self.chunk**2:
            raise PlanError(f"dct(k={self.k!r}): of a tile, 1 to {self.chunk**2} coefficients are kept.")

    @property
    def spares_small(self) -> bool:
        return True

    def tiles(self, shape: Shape) -> Tiles:
        rows, columns = (shape[0], math.prod(shape[1:])) if len(shape) > 1 else (1, math.prod(shape))
        h, w = (max(d for d in range(1, self.chunk + 1) if side % d == 0) for side in (rows, columns))
        return Tiles(rows // h, columns // w, h, w)

    def _cut(self, spec: BucketSpec) -> Iterator[Tiles]:
        return (self.tiles(shape) for shape, size in zip(spec.shapes, spec.sizes, strict=True) if size)

    def count(self, spec: BucketSpec) -> int:
        return sum(t.rows * t.columns * min(self.k, t.size) for t in self._cut(spec))

    def gathers(self, router: Router, world: int) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        delta = min((min(1.0, self.k / t.size) for t in self._cut(spec)), default=1.0)
        return Traits(unbiased=False, omega=None, delta=delta, linear=False, grain=Grain.TENSOR)

    @property
    def _bits(self) -> int:
        return max(1, (self.chunk**2 - 1).bit_length())

    def payload_bits(self, spec: BucketSpec) -> int:
        return sum(8 * part.nbytes for part in self._layout(spec))

    def _layout(self, spec: BucketSpec) -> tuple[Part, ...]:
        k = self.count(spec)
        places = (Part(torch.uint8, n) for n in kernel.position_bytes(k, self._bits))
        return Part(torch.float32, k), *places

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        label = Label(method_tag(str(self)), spec.id + 4096 * spec.part, turn.step, spec.numel)
        mine = pack(label, 0, self._encode(as_float32(x), spec), checksum=turn.seat.checksum)
        messages = await Gather(mine)
        total = torch.zeros(spec.numel, device=x.device)
        for rank, message in enumerate(messages):
            _, parts = unpack(message, label, lambda *_: self._layout(spec))
            at = self._places(parts[1:], spec, x.device)
            total.index_add_(0, at, parts[0], alpha=1 / turn.world)
            if rank == turn.rank:
                own = torch.zeros_like(total).index_add_(0, at, parts[0])
        mean, sent = (back_to(x.dtype, self._back(y, spec)) for y in (total, own))
        return Exchanged(mean, sent, state)

    def _encode(self, x: Tensor, spec: BucketSpec) -> tuple[Tensor, ...]:
        places, values = [], []
        for cut, t in zip(self._cut(spec), (v for v in spec.views(x) if v.numel()), strict=True):
            rows = cut.transform(t)
            at = kernel.largest_of_rows(rows, min(self.k, cut.size))
            places.append(at)
            values.append(rows.gather(1, at))
        where = flatten(places, torch.empty(0, dtype=torch.int64, device=x.device))
        return flatten(values, x), *kernel.pack_positions(where, self._bits)

    def _places(self, parts: tuple[Tensor, ...], spec: BucketSpec, device: torch.device) -> Tensor:
        """Where in the coefficients of the bucket each value stands."""
        at = kernel.unpack_positions(parts, self._bits, self.count(spec))
        starts, sizes, begin = [], [], 0
        for cut in self._cut(spec):
            n, k = cut.rows * cut.columns, min(self.k, cut.size)
            starts.append((begin + cut.size * torch.arange(n, device=device)).repeat_interleave(k))
            sizes.append(torch.full((n * k,), cut.size, device=device))
            begin += n * cut.size
        if starts and bool((at >= torch.cat(sizes)).any()):
            raise PayloadError("A message names a coefficient outside its tile.")
        return at + torch.cat(starts) if starts else at

    def _back(self, y: Tensor, spec: BucketSpec) -> Tensor:
        pieces = y.split([size for size in spec.sizes if size])
        return flatten([cut.back(piece) for cut, piece in zip(self._cut(spec), pieces, strict=True)], y)
