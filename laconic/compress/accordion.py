"""Accordion: compress mildly while training is in a critical phase, harshly otherwise.

    every `window` steps:   s = | sum of the means of this window |
    critical iff   |s' - s| >= change s'   or s' = 0   or lr < 0.9 lr';      s', lr': of the window before
    critical -> mild,  else -> harsh;   the first two windows are critical

Agarwal et al., MLSys 2021, arXiv:2010.16248. The means that came back are equal on all ranks, so is the decision; the
learning rate is averaged once a window, in case a scheduler saw different losses. Both compressors keep their own
state (warm starts, what owners owe) while the other is at work; changes are in `replica.decisions`. Stand it inside a
memory, which then sees one stream of errors: `ef(accordion(powersgd(4), powersgd(1)))`; around it, `by_tensor` decides
layer by layer. Differs: windows are counted in steps, not epochs, and mild and harsh may be any two; a learning rate
that falls by at most a tenth in a window is not critical, as cosine and linear schedules lower it in every one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import NOMINAL, AbstractCompressor, Traits
from laconic.compress.identity import average
from laconic.compress.split import joined, jointly
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Seat, Turn

FELL = 0.1  # by more than this share in a window the learning rate has fallen


class Phase(NamedTuple):
    harsh: Tensor  # a bool: who is at work
    seen: Tensor  # steps of this window
    total: Tensor  # sum of its means
    norm: Tensor  # s', negative before the first window ended
    lr: Tensor  # of the window before
    inner: tuple[Any, Any]  # of mild, of harsh


@dataclass(frozen=True)
class Accordion(AbstractCompressor):
    """Switch between two compressors by how fast gradients change."""

    mild: AbstractCompressor
    harsh: AbstractCompressor
    window: int = 1000
    change: float = 0.5

    name: ClassVar[str] = "accordion"
    paper: ClassVar[str] = "agarwal2021accordion"

    def __post_init__(self) -> None:
        if not isinstance(self.window, int) or self.window < 1:
            raise PlanError(f"accordion(window={self.window!r}): a whole number of steps from 1 up.")
        if not 0 < self.change < 1:
            raise PlanError(f"accordion(change={self.change!r}): a relative change is above 0 and below 1.")
        if any(c.traits(NOMINAL).remembers for c in (self.mild, self.harsh)):
            raise PlanError(
                f"accordion({self.mild}, {self.harsh}): two memories would each keep errors that the other does not "
                f"know. Put one around both, for example ef(accordion(powersgd(4), powersgd(1)))."
            )
        if self.mild == self.harsh:
            raise PlanError(f"accordion({self.mild}, {self.harsh}): the two are the same. Use {self.mild}.")

    @property
    def adapts(self) -> bool:
        return True

    @property
    def follows_lr(self) -> bool:
        return True

    @property
    def spares_small(self) -> bool:
        return self.mild.spares_small or self.harsh.spares_small

    def traits(self, spec: BucketSpec) -> Traits:
        return joined([self.mild.traits(spec), self.harsh.traits(spec)])

    def payload_bits(self, spec: BucketSpec) -> int:
        """At most: those of the mild one."""
        return max(self.mild.payload_bits(spec), self.harsh.payload_bits(spec))

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Phase:
        inner = tuple(c.init(spec, seat, remember=remember) for c in (self.mild, self.harsh))
        scalar = torch.zeros((), dtype=torch.float64)
        total = torch.zeros(spec.numel, device=seat.device)
        return Phase(
            torch.tensor(False), torch.zeros((), dtype=torch.int64), total, scalar - 1, scalar, (inner[0], inner[1])
        )

    async def exchange(self, x: Tensor, state: Phase, spec: BucketSpec, turn: Turn) -> Exchanged:
        harsh = bool(state.harsh)
        program = (self.harsh if harsh else self.mild).exchange(x, state.inner[harsh], spec, turn)
        seen = int(state.seen) + 1
        lr = turn.lr
        if seen < self.window:
            out = await program
        else:
            out, rate = await jointly(program, average(torch.tensor([turn.lr], dtype=torch.float64)))
            lr = float(rate.mean)
        inner = (state.inner[0], out.state) if harsh else (out.state, state.inner[1])
        total = state.total + out.mean.to(torch.float32)
        kept = state._replace(seen=torch.tensor(seen), total=total, inner=inner)
        if seen < self.window:
            return out._replace(state=kept)
        after, why = self._decided(kept, lr)
        if bool(after.harsh) != harsh:
            both = (self.harsh, self.mild) if harsh else (self.mild, self.harsh)
            turn.decided(spec, *both, why)
        return out._replace(state=after)

    def _decided(self, state: Phase, lr: float) -> tuple[Phase, str]:
        norm = float(torch.linalg.vector_norm(state.total, dtype=torch.float64))
        before, fell = float(state.norm), lr < (1 - FELL) * float(state.lr)
        critical = before <= 0 or fell or abs(before - norm) >= self.change * before
        after = Phase(
            harsh=torch.tensor(not critical),
            seen=torch.zeros((), dtype=torch.int64),
            total=torch.zeros_like(state.total),
            norm=torch.tensor(norm, dtype=torch.float64),
            lr=torch.tensor(lr, dtype=torch.float64),
            inner=state.inner,
        )
        rate = f"the learning rate fell from {float(state.lr):g} to {lr:g}"
        sums = f"the sum of {self.window} means has norm {norm:.4g}, that of the window before {before:.4g}"
        return after, rate if fell and before > 0 else sums
