"""`a | b`: a chooses which elements are said, b how their values are written.

    C(x) = scatter(B(scale x[S])),   S chosen by a

Basu et al., Qsparse-local-SGD, NeurIPS 2019, arXiv:1906.02367. With a contraction a (delta_a) and b a
contraction (delta_b, or unbiased with omega_b < 1, then delta_b = 1 - omega_b): delta = delta_a delta_b.
Where omega_b >= 1, B is damped to B / (1 + omega_b), a contraction too: delta = delta_a / (1 + omega_b). Both unbiased:
omega = omega_a omega_b + omega_a + omega_b, and nothing is damped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress import indices
from laconic.compress.base import (
    NOMINAL,
    AbstractCodec,
    AbstractCompressor,
    AbstractSelector,
    Draw,
    Entries,
    Grain,
    Size,
    Traits,
    clip,
)
from laconic.compress.one_shot import AbstractOneShot
from laconic.core.bucket import BucketSpec, one_tensor
from laconic.core.errors import PayloadError, PlanError
from laconic.core.payload import Part


@dataclass(frozen=True)
class Chain(AbstractOneShot):
    """Choose elements with one method, write their values with another."""

    first: AbstractCompressor
    then: AbstractCompressor

    name: ClassVar[str] = "chain"
    paper: ClassVar[str] = "basu2019qsparse"
    sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.first, AbstractSelector):
            raise PlanError(
                f"{self.first} | {self.then}: the left side of '|' chooses elements; "
                f"{self.first} does not. Use for example topk(0.01) | {self.then}."
            )
        if self.first.traits(NOMINAL).remembers:
            raise PlanError(
                f"{self.first} | {self.then}: {self.first} keeps a memory of its own, for values as they are. "
                f"Use for example {self.first} alone, or ef(topk(0.01) | {self.then})."
            )
        self._refuse_writer()

    def _refuse_writer(self) -> None:
        then, traits = self.then, self.then.traits(NOMINAL)
        if traits.remembers:
            raise PlanError(
                f"{self.first} | {then}: {then} remembers every element, but would see other ones in "
                f"every step. Use for example ef({self.first} | qsgd(bits=4))."
            )
        chooses = isinstance(then, AbstractSelector) or (isinstance(then, AbstractOneShot) and then.sparse)
        if chooses or not isinstance(then, AbstractCodec):
            raise PlanError(
                f"{self.first} | {then}: the right side of '|' writes values; "
                f"{then} cannot. Use for example {self.first} | qsgd(bits=4)."
            )
        if traits.size is not Size.EXACT:
            raise PlanError(
                f"{self.first} | {then}: the right side of '|' must write values in a known size; {then} does not. "
                f"Use for example {self.first} | qsgd(bits=4)."
            )
        if not traits.mean:
            raise PlanError(f"{self.first} | {then}: ranks that chose different elements cannot vote on them.")

    def __str__(self) -> str:
        return f"{self.first} | {self.then}"

    @property
    def _selector(self) -> AbstractSelector:
        assert isinstance(self.first, AbstractSelector)
        return self.first

    @property
    def _codec(self) -> AbstractCodec:
        assert isinstance(self.then, AbstractCodec)
        return self.then

    def traits(self, spec: BucketSpec) -> Traits:
        # Bounds of codecs fall with the number of values; a count by chance is bounded by all.
        a, b = self.first.traits(spec), self.then.traits(one_tensor(self._most(spec.numel)))
        rounds = 2 if self.varies else 1
        if a.unbiased and b.unbiased and a.omega is not None and b.omega is not None:
            omega = a.omega * b.omega + a.omega + b.omega
            return Traits(True, omega, None, linear=False, rounds=rounds, grain=Grain.BUCKET, size=a.size)
        delta = None
        if a.contraction is not None and (b.contraction is not None or b.omega is not None):
            delta = a.contraction * (b.damping if b.contraction is None else b.contraction)
        return Traits(False, None, delta, linear=False, rounds=rounds, grain=Grain.BUCKET, size=a.size)

    def damping(self, numel: int) -> float:
        """Of the values, where a contraction would otherwise be lost."""
        a, b = self.first.traits(one_tensor(numel)), self.then.traits(one_tensor(self._most(numel)))
        if a.unbiased or b.contraction is not None or b.omega is None:
            return 1.0
        return b.damping

    @property
    def varies(self) -> bool:
        return self._selector.varies

    def _most(self, numel: int) -> int:
        return numel if self.first.traits(one_tensor(numel)).size is Size.EXPECTED else self._selector.count(numel)

    @property
    def bounded(self) -> bool:
        return self._codec.bounded and self._selector.scale(1) == 1.0

    @property
    def takes_sums(self) -> bool:
        return self._selector.takes_sums

    def payload_bits(self, spec: BucketSpec) -> int:
        return sum(8 * part.nbytes for part in self.layout(spec.numel, self._selector.count(spec.numel)))

    def most_bytes(self, numel: int) -> int:
        return self.message_bytes(numel, self._most(numel))

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        k = aux if self.varies else self._selector.count(numel)
        where = (indices.part(numel, k),) if self._selector.travels else ()
        return self._codec.layout(k, 0) + where

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        at, values = self._selector.pick(x, draw)
        return at.numel(), self._parts(at, values, x.numel(), draw)

    def encode_keep(
        self, x: Tensor, residual: Tensor, left: Tensor, damping: float, draw: Draw
    ) -> tuple[int, tuple[Tensor, ...]]:
        at, values = self._selector.pick_keep(x, residual, left, draw)
        parts = self._parts(at, values, x.numel(), draw)
        said = self._codec.decode(parts[:-1] if self._selector.travels else parts, at.numel(), 0, draw)
        kernel.scatter_add(left, at, values - damping * self.damping(x.numel()) * said, 1.0)
        return at.numel(), parts

    def _parts(self, at: Tensor, values: Tensor, numel: int, draw: Draw) -> tuple[Tensor, ...]:
        scale = self._selector.scale(numel)
        aux, parts = self._codec.encode(values if scale == 1.0 else clip(values * scale, values.dtype), draw)
        assert aux == 0, "a values codec has a size that follows from the number of values"
        return parts + ((indices.write(at, numel),) if self._selector.travels else ())

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = torch.zeros(numel, device=parts[0].device)
        self.add(out, parts, aux, draw, 1.0)
        return out

    def entries(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Entries | None:
        if not self._selector.travels:
            return None
        at = indices.read(parts[-1], aux if self.varies else self._selector.count(numel), numel)
        return Entries(at, self._codec.decode(parts[:-1], at.numel(), 0, draw), self.damping(numel))

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        sent = self.entries(parts, total.numel(), aux, draw)
        if sent is not None:
            sent.add_to(total, weight)
            return
        at = self._selector.select(total, draw)
        if self.varies and at.numel() != aux:
            raise PayloadError(f"A message of {aux} values came where {at.numel()} were drawn.")
        values = self._codec.decode(parts, at.numel(), 0, draw)
        kernel.scatter_add(total, at, values, weight * self.damping(total.numel()))
