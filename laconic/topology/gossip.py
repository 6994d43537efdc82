"""Gossip: every worker trains its own model and mixes it with those of a few neighbours.

    gossip(ring)    gossip(one_peer_exp, push_sum)    gossip(ring, choco(0.3)) / topk(0.01)    local(4) / gossip(exp)

After every step (bsp) or every h steps (local) models are exchanged along a graph, by one of the algorithms in
`mixing/`. Nobody waits for all: a round takes one message's time, whatever the number of workers. Models stay close
but differ; `replica.average()` ends with one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
from torch import Tensor

from laconic.core.errors import PlanError
from laconic.core.exchange import Route
from laconic.topology.base import AbstractTopology
from laconic.topology.graph import AbstractGraph
from laconic.topology.mixing import DPSGD, AbstractMixing

_EXACT = 1e-9  # weights that are off by more shrink or grow the model noticeably over a training


@dataclass(frozen=True)
class Gossip(AbstractTopology):
    """Everyone trains its own model and mixes it with a few neighbours'."""

    graph: AbstractGraph
    by: AbstractMixing = field(default=DPSGD())

    name: ClassVar[str] = "gossip"

    def __post_init__(self) -> None:
        by, graph = self.by, self.graph
        if by.fixed and not graph.static:
            raise PlanError(
                f"{self}: {by.name} keeps what it knows of its neighbours, but those of {graph} change in every round. "
                f"Use a graph that stays (ring, torus, exp, complete), or dpsgd, push_sum or deepsqueeze."
            )
        if by.paired and not graph.symmetric:
            raise PlanError(
                f"{self}: {by.name} works along edges in both directions, but in {graph} who hears me is not whom I "
                f"hear. Use ring, torus, complete or symmetric weights."
            )

    def settle(self, world: int) -> Gossip:
        """For so many workers: files read, weights checked."""
        settled = replace(self, graph=self.graph.settle(world))
        check(settled.graph, world, rows=not self.by.pushes)
        return settled

    def lines(self, world: int) -> list[str]:
        """What all ranks must have in common, beside the plan's text."""
        rounds = [self.graph.weights(world, t, 0).dense() for t in range(self.graph.period(world) or 1)]
        digest = hashlib.sha256(torch.stack(rounds).numpy().tobytes()).hexdigest()[:16]
        return [f"mixing weights: {digest}"]

    def route(self, sparse: bool, world: int) -> Route:
        raise AssertionError("messages go to neighbours; nothing is averaged over all")

    def traits(self) -> dict[str, object]:
        return {"peers": "neighbours", "mean": "kept, models differ", "bytes": "one message a neighbour"}


def check(graph: AbstractGraph, world: int, *, rows: bool) -> None:
    """Do these weights keep the mean, and do models meet? PlanError where not."""
    for turn in range(graph.period(world) or 1):
        w = graph.weights(world, turn, 0).dense()
        if not bool(torch.isfinite(w).all()) or bool((w < 0).any()):
            raise PlanError(f"{graph}: a weight is negative or not a number.")
        _check_sums(graph, w.sum(0), "column", "what a rank sends must be handed out completely, or the mean drifts.")
        if rows:
            _check_sums(graph, w.sum(1), "row", "fix it, or mix by push_sum, which needs only columns.")
        for rank in (~(w > 0).any(1)).nonzero().flatten().tolist():
            raise PlanError(f"{graph}: row {rank} of the weights is zero: rank {rank} would be left without a model.")
    if graph.gap(world) < _EXACT or not (rows or _all_meet(graph, world)):
        raise PlanError(
            f"{graph}: these weights do not bring all models together (spectral gap {graph.gap(world):.2g}): some "
            f"ranks never hear of each other, or only swap their models."
        )


def _all_meet(graph: AbstractGraph, world: int) -> bool:
    """Does everyone hear of everyone, after enough periods in all later ones? (A positive gap says so where rows and
    columns add up to one; of columns alone it does not: one rank could gather all weight.)"""
    if not graph.period(world):
        return True
    reach = (graph.product(world) > 0).to(torch.float64)
    for _ in range((world * world).bit_length()):  # a power of (n-1)^2 + 1 is enough (Wielandt)
        if bool(reach.all()):
            break
        reach = (reach @ reach > 0).to(torch.float64)
    return bool(reach.all())


def _check_sums(graph: AbstractGraph, sums: Tensor, what: str, advice: str) -> None:
    worst = int((sums - 1).abs().argmax())
    if abs(float(sums[worst]) - 1) > _EXACT:
        raise PlanError(f"{graph}: {what} {worst} of the weights adds up to {float(sums[worst]):.9g}, not 1; {advice}")
