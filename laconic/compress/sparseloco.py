"""SparseLoCo's code: the k largest elements of every chunk, their values in 2 bits.

    S = the k largest of each chunk of `chunk` neighbours;   m, s = mean and standard deviation of x over S
    cells (-inf, m - 1.5 s), [m - 1.5 s, m), [m, m + 1.5 s), [m + 1.5 s, inf);   C(x)_i = mean of x over i's cell

Sarfi, Thérien, Lidin, Belilovsky, 2025, arXiv:2508.15706. A place in a chunk of 4096 takes 12 bits, a value 2; the
four cell means are 32-bit numbers, one set a message (the authors' code: one a tensor). Replacing values by their
cell's mean is a projection, so |x - C(x)|^2 <= |x|^2; as one border is the mean itself, it keeps at least a K-th of
what top-k keeps (K values a message): delta >= k/(chunk K). The method around it is
`local(H) / by_tensor(ef_decay(sparseloco, beta=0.95))`: error feedback takes the place of the outer momentum. Differs:
a chunk is a run, not a 64 x 64 tile; the mean is over all ranks; their defences (median norm, late or copied messages)
are no part of the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.compress.base import Draw, Grain, Traits
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.sparse import check_indices
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.payload import Part
from laconic.kernels import reference, reference_sparse

_LONGEST = 1 << 16


@dataclass(frozen=True)
class SparseLoCo(AbstractOneShot):
    """Keep the largest elements of each chunk, values in 2 bits."""

    k: int = 64
    chunk: int = 4096

    name: ClassVar[str] = "sparseloco"
    paper: ClassVar[str] = "sarfi2025communication"
    sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.chunk, int) or not 2 <= self.chunk <= _LONGEST:
            raise PlanError(f"sparseloco(chunk={self.chunk!r}): a chunk has 2 to {_LONGEST} elements, usually 4096.")
        if not isinstance(self.k, int) or not 1 <= self.k <= self.chunk:
            raise PlanError(
                f"sparseloco(k={self.k!r}): of a chunk of {self.chunk}, 1 to {self.chunk} elements are kept."
            )

    @property
    def align(self) -> int:
        return self.chunk

    def count(self, numel: int) -> int:
        full, tail = divmod(numel, self.chunk)
        return full * self.k + min(self.k, tail)

    def traits(self, spec: BucketSpec) -> Traits:
        n = spec.numel
        share = min(self.k, n) / max(1, min(self.chunk, n))
        delta = share / self.count(n) if n else 1.0
        return Traits(unbiased=False, omega=None, delta=delta, linear=False, grain=Grain.BUCKET)

    @property
    def _bits(self) -> int:
        return (self.chunk - 1).bit_length()

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        k = self.count(numel)
        places = [Part(torch.uint8, n) for n in reference_sparse.position_bytes(k, self._bits)]
        return Part(torch.float32, 4), *places, Part(torch.uint8, reference.packed_bytes(k, 2))

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        places = self._places(x)
        values = x[places + self._starts(x.numel(), x.device)].to(torch.float64)
        cells = _cells(values)
        sums, counts = torch.bincount(cells, values, 4), torch.bincount(cells, minlength=4)
        means = (sums / counts.clamp(min=1)).to(torch.float32)
        packed = reference_sparse.pack_positions(places, self._bits)
        return 0, (means, *packed, reference.pack(cells.to(torch.uint8), 2))

    def _places(self, x: Tensor) -> Tensor:
        """Places in their chunk of what is kept, chunk after chunk."""
        full = x.numel() // self.chunk
        rows, tail = x[: full * self.chunk].view(full, self.chunk), x[full * self.chunk :]
        of_tail = reference.largest(tail, min(self.k, tail.numel()))
        return torch.cat([reference_sparse.largest_of_rows(rows, self.k).view(-1), of_tail])

    def _starts(self, numel: int, device: torch.device) -> Tensor:
        """Where the chunk of each kept element begins."""
        return torch.arange(self.count(numel), device=device) // self.k * self.chunk

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = parts[0].new_zeros(numel)
        self.add(out, parts, aux, draw, 1.0)
        return out

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        k = self.count(total.numel())
        places = reference_sparse.unpack_positions(parts[1:-1], self._bits, k)
        at = check_indices(places + self._starts(total.numel(), total.device), total.numel())
        cells = reference.unpack(parts[-1], 2, k).to(torch.int64)
        total.index_add_(0, at, parts[0][cells], alpha=weight)


def _cells(values: Tensor) -> Tensor:
    if not values.numel():
        return values.to(torch.int64)
    mean, spread = values.mean(), values.std(correction=0)
    borders = (mean - 1.5 * spread, mean, mean + 1.5 * spread)
    return torch.stack([(values >= b).to(torch.int64) for b in borders]).sum(0)
