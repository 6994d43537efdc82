"""What the memories around a compressor have in common: each is error feedback on another input.

    p = a e + f(x);   say C(p);   e <- p - C(p)

A memory says how f(x) is made (momentum, an average, a clipped gradient) and what it keeps for that; remembering the
error itself is left to `ErrorFeedback`. Around `none` there is no error and only f remains.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor, Traits, back_to, wide
from laconic.compress.error_feedback import ErrorFeedback
from laconic.compress.identity import Identity
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Seat, Turn


class Kept(NamedTuple):
    own: Tensor  # what f needs: a momentum, the last mean, ...
    core: Any  # the error memory


class AbstractMemory(AbstractCompressor, ABC):
    """Concrete classes have a field `inner` and write `exchange`."""

    inner: AbstractCompressor

    def __post_init__(self) -> None:
        self.core  # noqa: B018  (refuses what cannot be remembered)

    @property
    def core(self) -> AbstractCompressor:
        if self.inner == Identity():
            return self.inner
        try:
            return ErrorFeedback(self.inner)
        except PlanError as error:
            raise PlanError(str(error).replace("ef(", f"{self.name}(", 1)) from error

    @property
    def spares_small(self) -> bool:
        return self.inner.spares_small

    def traits(self, spec: BucketSpec) -> Traits:
        return replace(self.core.traits(spec), unbiased=False, omega=None, remembers=True)

    def payload_bits(self, spec: BucketSpec) -> int:
        return self.core.payload_bits(spec)

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Any:
        return Kept(self.zeros(spec, seat), self.core.init(spec, seat))

    def zeros(self, spec: BucketSpec, seat: Seat) -> Tensor:
        """At least float32: in half precision small updates would vanish."""
        return torch.zeros(spec.numel, dtype=wide(spec).dtype, device=seat.device)

    async def say(self, f: Tensor, core: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        """Error feedback on f, answered in the memory's own type."""
        return await self.core.exchange(f, core, _as(f.dtype, spec), turn)


def narrowed(out: Exchanged, dtype: torch.dtype, state: Any) -> Exchanged:
    """The answer in the bucket's own type."""
    return Exchanged(back_to(dtype, out.mean), lambda: back_to(dtype, out.sent), state)


def check_share(component: AbstractCompressor, name: str, value: float, *, one: bool = False) -> None:
    if not (0 <= value < 1 or (one and value == 1)):
        top = "at most 1" if one else "below 1"
        raise PlanError(f"{component.name}({name}={value!r}): it must be at least 0 and {top}.")


def _as(dtype: torch.dtype, spec: BucketSpec) -> BucketSpec:
    return spec if spec.dtype == dtype else replace(spec, dtype=dtype)
