"""CGX bit allocation: each tensor gets as few bits as a shared error budget allows.

    err_l(b) = |Q_b(x_l) - x_l|^2, measured
    b_l in low..high:   min sum b_l d_l   s.t.   sum err_l(b_l) <= budget |x|^2

Markov et al., CGX, Middleware 2022, arXiv:2111.08617. From all at `low`, bits go one by one to the tensor whose error
falls most per bit on the wire, until the budget is met (`allocate`). Every `every` exchanges of its bucket, which need
not be turns of the run (`blocks(4)` says a bucket in one turn of four), each rank measures its own table of errors on a
sample; the tables are averaged in the round of that exchange's messages, so ranks decide alike, and nobody waits;
changes are in `replica.decisions`. Q is `qsgd`, one message a tensor; before the first decision every tensor has `high`
bits. Differs: greedy as in the catalogue, not the paper's k-means over layers; the budget is relative to the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor, Draw, Traits, as_float32
from laconic.compress.identity import average
from laconic.compress.one_shot import Owned
from laconic.compress.qsgd import QSGD
from laconic.compress.split import Piece, joined, jointly, merged
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Seat, Turn

SAMPLE = 1 << 16  # elements of a tensor that are tried
FEW = 3  # tensors that are named in a decision


class Allocation(NamedTuple):
    bits: Tensor  # one a tensor, equal on all ranks
    seen: Tensor  # exchanges since the last decision; the first exchange decides
    inner: tuple[Any, ...]


@dataclass(frozen=True)
class CGX(AbstractCompressor):
    """Stochastic rounding with as few bits a tensor as an error budget allows."""

    budget: float = 0.05
    low: int = 2
    high: int = 8
    every: int = 100  # exchanges

    name: ClassVar[str] = "cgx"
    paper: ClassVar[str] = "markov2022cgx"

    def __post_init__(self) -> None:
        if not self.budget > 0:
            raise PlanError(
                f"cgx(budget={self.budget!r}): the share of the gradient's energy that may be lost is above 0."
            )
        if not 2 <= self.low < self.high <= 8:
            raise PlanError(f"cgx(low={self.low}, high={self.high}): from 2 to 8 bits, low below high.")
        if self.every < 1:
            raise PlanError(f"cgx(every={self.every}): a whole number of exchanges from 1 up.")

    @property
    def adapts(self) -> bool:
        return True

    @property
    def spares_small(self) -> bool:
        return True

    def pieces(self, spec: BucketSpec, bits: Sequence[int]) -> tuple[Piece, ...]:
        return tuple(Piece((i,), spec.subset((i,), 4096 * (spec.part + 1) + i), QSGD(b)) for i, b in enumerate(bits))

    def all_at(self, bits: int, spec: BucketSpec) -> tuple[Piece, ...]:
        return self.pieces(spec, [bits] * len(spec.shapes))

    @property
    def routed(self) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        return joined([p.compressor.traits(p.spec) for p in self.all_at(self.low, spec) if p.spec.numel])

    def payload_bits(self, spec: BucketSpec) -> int:
        """At most: all tensors at `high`."""
        return sum(p.compressor.payload_bits(p.spec) for p in self.all_at(self.high, spec))

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Allocation:
        bits = [self.high] * len(spec.shapes)
        inner = tuple(p.compressor.init(p.spec, seat, remember=remember) for p in self.pieces(spec, bits))
        return Allocation(torch.tensor(bits), torch.zeros((), dtype=torch.int64), inner)

    async def exchange(self, x: Tensor, state: Allocation, spec: BucketSpec, turn: Turn) -> Exchanged:
        pieces, views = self.pieces(spec, state.bits.tolist()), spec.views(x)
        said = [i for i, p in enumerate(pieces) if p.spec.numel]
        programs = [
            p.compressor.exchange(views[i].reshape(-1), _damped(state.inner[i], p), p.spec, turn)
            for i, p in enumerate(pieces)
            if p.spec.numel
        ]
        seen = int(state.seen)
        decides = seen == 0 and bool(said)
        if decides:
            programs.append(average(self._table(as_float32(x), spec, turn).view(-1)))
        outs = await jointly(*programs) if programs else []
        bits = self._decided(outs.pop().mean, spec, state.bits.device) if decides else state.bits
        if not torch.equal(bits, state.bits):
            before, after = (_told(spec, t.tolist()) for t in (state.bits, bits))
            turn.decided(spec, before, after, f"as few as lose at most {self.budget:g} of the gradient's energy")
        of = dict(zip(said, outs, strict=True))
        empty = x[:0]
        mean = merged(pieces, [of[i].mean if i in of else empty for i in range(len(pieces))], x)
        sent = merged(pieces, [of[i].sent if i in of else empty for i in range(len(pieces))], x)
        inner = tuple(of[i].state if i in of else state.inner[i] for i in range(len(pieces)))
        return Exchanged(mean, sent, Allocation(bits, torch.tensor((seen + 1) % self.every), inner))

    def _table(self, x: Tensor, spec: BucketSpec, turn: Turn) -> Tensor:
        """Errors of this rank, as shares of |x|^2: a row a tensor, a column a number of bits; last the share of all."""
        draw = Draw(turn.own(spec).child(1), turn.shared(spec).child(1))
        top = x.abs().amax()
        flat = (x / torch.where(top > 0, top, torch.ones_like(top))).double()
        rows = []
        for view in spec.views(flat):
            tried = view.reshape(-1)[:SAMPLE].float()
            scale = view.numel() / max(1, tried.numel())
            rows.append([scale * _error(QSGD(b), tried, draw) for b in range(self.low, self.high + 1)])
        energy = float(flat.pow(2).sum())
        table = torch.tensor(rows, dtype=torch.float64, device=x.device)
        return table / energy if energy else table

    def _decided(self, table: Tensor, spec: BucketSpec, device: torch.device) -> Tensor:
        errors = table.view(len(spec.sizes), -1).tolist()
        return torch.tensor(allocate(errors, spec.sizes, self.budget, self.low), device=device)


def _told(spec: BucketSpec, bits: Sequence[int]) -> str:
    """In words: `2 bits for 'a', 'b'; 4 bits for 12 tensors`, without names where all have the same."""
    of = {b: [n for n, own in zip(spec.names, bits, strict=True) if own == b] for b in sorted(set(bits))}
    if len(of) == 1:
        return f"{bits[0]} bits"
    who = {b: ", ".join(map(repr, names)) if len(names) <= FEW else f"{len(names)} tensors" for b, names in of.items()}
    return ", ".join(f"{b} bits for {names}" for b, names in who.items())


def _error(codec: QSGD, x: Tensor, draw: Draw) -> float:
    if not x.numel():
        return 0.0
    aux, parts = codec.encode(x, draw)
    return float((codec.decode(parts, x.numel(), aux, draw) - x).double().pow(2).sum())


def _damped(state: Owned, piece: Piece) -> Owned:
    """An owner's damping is that of the bits in use."""
    if not state.error.numel() and float(state.damping) == 1.0:
        return state
    return state._replace(damping=torch.tensor(piece.compressor.traits(piece.spec).damping))


def allocate(errors: Sequence[Sequence[float]], sizes: Sequence[int], budget: float, low: int) -> list[int]:
    """Bits of each tensor. errors[l][j] is that of tensor l at low + j bits; sizes in elements.

    A tensor's next step is the number of bits with the steepest fall from where it stands, so that chance that makes
    one more bit look useless does not end the search.
    """
    at = [0] * len(sizes)
    total = sum(row[0] for row in errors)
    while total > budget:
        best, gain = None, 0.0
        for i, (row, size) in enumerate(zip(errors, sizes, strict=True)):
            for j in range(at[i] + 1, len(row)):
                slope = (row[at[i]] - row[j]) / (max(1, size) * (j - at[i]))
                if slope > gain:
                    best, gain = (i, j), slope
        if best is None:
            break  # nothing helps: everything that helps has been given
        i, j = best
        total += errors[i][j] - errors[i][at[i]]
        at[i] = j
    return [low + j for j in at]
