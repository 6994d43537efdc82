"""LAQ: quantized differences from what was last uploaded, and silence where little has changed.

    R = max|x - q'|,   t = 1/(2^b - 1),   n_j = nearest((x_j - q'_j + R) / (2 t R)),   q = q' + 2 t R n - R
    upload unless  |q - q'|^2 < sum_{j<=D} xi |update^(t-j)|^2 + 3 (|e|^2 + |e'|^2)   and   silent for < patience steps
    update = mean of q'_i, kept on every rank and moved by what was uploaded;    |x - q|_inf <= t R

Sun, Chen, Giannakis, Yang, NeurIPS 2019, arXiv:1909.07588; q' is the last uploaded gradient, e = x - q, e' its value
then. Differs: the paper compares with differences of the model over the learning rate; for plain SGD with a constant
one those are the past updates, which are used here, so with momentum the test is only alike. Two rounds: lengths, then
messages, nothing but a header where silent. A gather is as long as its longest message, so bytes are saved only in
steps in which everyone is silent. Noise of minibatches defeats the test, as the paper notes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import Draw, Grain, Size, Traits, as_float32, back_to
from laconic.compress.blocked import check_bits, codes
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.routed import seat_on, turn_on
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Route, Seat, Turn
from laconic.core.payload import Part
from laconic.kernels import reference_quant as quant


class Lazy(NamedTuple):
    uploaded: Tensor  # q' of this rank
    mean: Tensor  # of all ranks' q'
    error: Tensor  # |e'|^2
    silent: Tensor  # steps since the last upload
    updates: Tensor  # |update|^2 of the last D steps, newest first
    inner: Any


@dataclass(frozen=True)
class LAQ(AbstractOneShot):
    """Quantized changes since the last upload; silent where little has changed."""

    bits: int = 4
    patience: int = 100  # steps
    weight: float = 0.08  # xi
    window: int = 10  # D, steps

    name: ClassVar[str] = "laq"
    paper: ClassVar[str] = "sun2019laq"

    def __post_init__(self) -> None:
        check_bits(self.name, self.bits, 1, 8)
        if not isinstance(self.patience, int) or self.patience < 0:
            raise PlanError(f"laq(patience={self.patience!r}): silence lasts a whole number of steps, 0 or more.")
        if not isinstance(self.window, int) or self.window < 1:
            raise PlanError(f"laq(window={self.window!r}): the past is a whole number of steps from 1 up.")
        if not 0 <= self.weight * self.window <= 1:
            raise PlanError(f"laq(weight={self.weight!r}): the weights of {self.window} steps add up to at most 1.")

    @property
    def adapts(self) -> bool:
        return self.patience > 0

    @property
    def varies(self) -> bool:
        return True

    @property
    def top(self) -> int:
        return (1 << self.bits) - 1

    @property
    def routed(self) -> bool:
        return False

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(False, None, None, linear=False, rounds=2, grain=Grain.BUCKET, size=Size.MOST)

    def payload_bits(self, spec: BucketSpec) -> int:
        return sum(8 * part.nbytes for part in self.layout(spec.numel, 1))

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return (Part(torch.float32, 1), codes(numel, self.bits)) if aux and numel else ()

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        """Of a change; none at all is silence."""
        if not x.any():
            return 0, ()
        radius = quant.largest_of(x.view(1, -1))
        n = ((x / radius + 1) / 2 * self.top).round_().to(torch.uint8)
        return 1, (radius, kernel.pack(n, self.bits))

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        if not parts:
            return torch.zeros(numel)
        radius, packed = parts
        return (kernel.unpack(packed, self.bits, numel).to(torch.float32) * 2 / self.top - 1) * radius

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        if aux:
            super().add(total, parts, aux, draw, weight)

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Lazy:
        zeros, device = torch.zeros(spec.numel, device=seat.device), seat.device
        inner = super().init(spec, seat_on(Route.GATHER, seat))
        return Lazy(
            zeros,
            zeros.clone(),
            torch.zeros((), dtype=torch.float64, device=device),
            torch.zeros((), dtype=torch.int64),
            torch.zeros(self.window, dtype=torch.float64, device=device),
            inner,
        )

    async def exchange(self, x: Tensor, state: Lazy, spec: BucketSpec, turn: Turn) -> Exchanged:
        x32 = as_float32(x)
        change = x32 - state.uploaded
        rounded, error, speaks = self._decide(x32, change, state)
        said = change if speaks else torch.zeros_like(change)
        out = await super().exchange(said, state.inner, spec, turn_on(Route.GATHER, turn))
        mean, sent = state.mean + out.mean, rounded if speaks else state.uploaded
        kept = Lazy(
            sent.clone(),
            mean.clone(),
            error if speaks else state.error,
            torch.zeros_like(state.silent) if speaks else state.silent + 1,
            torch.cat([_square(mean).view(1), state.updates[:-1]]),
            out.state,
        )
        return Exchanged(back_to(x.dtype, mean), back_to(x.dtype, sent), kept)

    def _decide(self, x: Tensor, change: Tensor, state: Lazy) -> tuple[Tensor, Tensor, bool]:
        """q, |e|^2, and whether to upload."""
        draw: Any = None  # nothing is drawn
        aux, parts = self.encode(change, draw)
        step = self.decode(parts, x.numel(), aux, draw) if aux else torch.zeros_like(x)
        q = state.uploaded + step
        error = _square(x - q)
        little = self.weight * state.updates.sum() + 3 * (error + state.error)
        lazy = bool(_square(step) < little) and int(state.silent) < self.patience
        return q, error, not lazy


def _square(x: Tensor) -> Tensor:
    return x.double().pow(2).sum()
