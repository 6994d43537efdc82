"""DiLoCo: many inner steps, then one outer step with Nesterov's momentum; in fragments, if wanted, and overlapped.

    fragment p (buckets p, p + P, ...) at steps t = p h/P mod h:   say a_p - x_p
    `overlap` steps later:   a_p <- outer(a_p, mean);   x_p <- keep x_p + (1 - keep) a_p

Douillard et al., 2023, arXiv:2311.08105 (P = 1); Streaming DiLoCo: Douillard et al., 2025, arXiv:2501.18512 (P
fragments one after the other, so that the peak of traffic falls by P; overlapped with training; keep = 0.5). Inner
optimizer state stays with its worker. With outer=add it is local(h). h is a multiple of P and overlap below h/P, so
that one fragment is under way at a time. Differs: fragments are made of buckets, not of layers: use `wfbp` or a small
`fused(bucket=...)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor

from laconic.core.errors import PlanError
from laconic.outer import AbstractOuter, Nesterov
from laconic.sync.rounds import AbstractRounds, check_steps


@dataclass(frozen=True)
class DiLoCo(AbstractRounds):
    """Many inner steps, then an outer step with momentum; streaming in fragments if wanted."""

    h: int = 100
    outer: AbstractOuter = field(default=Nesterov())
    fragments: int = 1
    overlap: int = 0  # steps
    keep: float = 0.0  # share of the worker's own model

    name: ClassVar[str] = "diloco"
    paper: ClassVar[str] = "douillard2023diloco"

    def __post_init__(self) -> None:
        check_steps(self, "h", self.h)
        check_steps(self, "fragments", self.fragments)
        check_steps(self, "overlap", self.overlap, least=0)
        if self.h % self.fragments:
            raise PlanError(f"{self}: {self.h} steps cannot be shared evenly by {self.fragments} fragments.")
        if self.overlap >= self.h // self.fragments:
            raise PlanError(
                f"{self}: a fragment starts every {self.h // self.fragments} steps, so one must land within "
                f"{self.h // self.fragments - 1}: overlap is at most that."
            )
        if not 0 <= self.keep < 1:
            raise PlanError(f"{self}: the share of its own model that a worker keeps is at least 0 and below 1.")

    def outer_by(self) -> AbstractOuter:
        return self.outer

    @property
    def parts(self) -> int:
        return self.fragments

    @property
    def lag(self) -> int:
        return self.overlap

    @property
    def agrees(self) -> bool:
        return super().agrees and not self.keep

    def starts(self, step: int) -> int | None:
        every = self.h // self.fragments
        return step // every % self.fragments if step % every == 0 else None

    def talks(self, step: int) -> bool:
        return self.starts(step) is not None

    def go_on(self, now: Tensor, then: Tensor, agreed: Tensor) -> Tensor:
        return agreed + self.keep * (now - agreed) if self.keep else agreed

    def papers(self) -> tuple[str, ...]:
        streams = self.fragments > 1 or self.overlap > 0
        return (self.paper, *(["douillard2025streaming"] if streams else []))

    def traits(self) -> dict[str, object]:
        equal = "equal after" if self.agrees else "close, each fragment agreed on every"
        return {
            "subject": "model delta",
            "replicas": f"{equal} {self.h} steps",
            "lost_on_fault": f"at most {self.h + self.overlap} steps",
        }
