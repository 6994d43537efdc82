"""For people who keep DDP: any Laconic compressor as a communication hook.

    state, hook = laconic.ddp_hook("ef(topk(0.01))")
    ddp.register_comm_hook(state, hook)

DDP packs its buckets anew during the first steps, so a bucket travels dense until it has stayed the same for two steps;
one that changes later is an error. Exchanges are finished when DDP hands over its last bucket; then ranks vote: if any
saw NaN or infinity, the whole step becomes NaN on all ranks (as GradScaler expects) and no memory changes. DDP
decides when (bsp) and in what order (its own buckets); a plan that says otherwise is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch._C._distributed_c10d import GradBucket

from laconic.census import census
from laconic.compress import LAGS, AbstractCompressor, Filtered, Identity
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError, UsageError
from laconic.core.exchange import Seat, Turn
from laconic.drive.alone import Alone
from laconic.drive.base import Place
from laconic.drive.reduce_by import reduce_by
from laconic.net.link import Link
from laconic.plan import Plan
from laconic.schedule import Fused
from laconic.session import init
from laconic.sync import BSP
from laconic.topology import AllReduce

SETTLED = 2  # turns; with static_graph DDP packs anew after the second


class HookState:
    """Residuals, warm starts and byte counts of one DDP model."""

    def __init__(self, plan: Plan, seed: int) -> None:
        session = init()
        self.plan, self.link = plan, Link()
        self.seat = session.seat(plan.topology, seed)
        self._driver = session.driver(self.link)
        assert isinstance(plan.topology, AllReduce), "see ddp_hook"
        plan.topology.fit(session.world)
        if not isinstance(self._driver, Alone):
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            reduce_by(plan.topology, self._driver, device)
        self._memory: dict[int, tuple[BucketSpec, Any]] = {}
        self._flying: list[tuple[BucketSpec, torch.futures.Future[Tensor]]] = []
        self._stayed: dict[int, tuple[BucketSpec, int]] = {}  # and for how many turns it has been the same
        self._bad: list[bool] = []
        self.turns = 0

    def exchange(self, bucket: GradBucket) -> torch.futures.Future[Tensor]:
        spec = _spec(bucket)
        compressor, state = self._remembered(spec, bucket.buffer().device)
        flat = bucket.buffer()
        self._bad.append(not bool(torch.isfinite(flat).all()))
        if self._bad[-1]:
            flat = torch.zeros_like(flat)
        program = compressor.exchange(flat, state, spec, Turn(self.seat, self.turns))
        self._driver.launch(Place(self.turns, spec.id, "DDP"), program)
        future: torch.futures.Future[Tensor] = torch.futures.Future()
        self._flying.append((spec, future))
        if bucket.is_last():
            self._finish()
        return future

    def _remembered(self, spec: BucketSpec, device: torch.device) -> tuple[AbstractCompressor, Any]:
        if spec.id not in self._memory:
            before, turns = self._stayed.get(spec.id, (None, 0))
            if before != spec or turns < SETTLED:
                return Identity(), ()
            seat = Seat(self.seat.rank, self.seat.world, self.seat.router, self.seat.seed, device)
            self._memory[spec.id] = (spec, self.plan.compress.init(spec, seat))
        known, state = self._memory[spec.id]
        if known != spec:
            raise UsageError(f"DDP changed bucket {spec.id} during training; its memory no longer fits.")
        return self.plan.compress, state

    def _finish(self) -> None:
        vote = census([True] * len(self._bad), self._bad, self.seat.device)
        self._driver.launch(Place(self.turns, len(self._flying), "vote"), vote)
        *outs, judged = self._driver.finish()
        fine = judged.state.culprit is None and all(bool(torch.isfinite(out.mean).all()) for out in outs)
        for (spec, future), out in zip(self._flying, outs, strict=True):
            if fine and spec.id in self._memory:
                self._memory[spec.id] = (spec, out.state)
            before, turns = self._stayed.get(spec.id, (None, 0))
            self._stayed[spec.id] = (spec, turns + 1 if before == spec else 1)
            future.set_result(out.mean if fine else torch.full_like(out.mean, torch.nan))
        self._flying, self._bad = [], []
        self.turns += 1


def ddp_hook(plan: Plan | str, *, seed: int = 0) -> tuple[HookState, Any]:
    """What `register_comm_hook` takes: `ddp.register_comm_hook(*laconic.ddp_hook("qsgd(bits=4)"))`."""
    chosen = Plan.parse(plan) if isinstance(plan, str) else plan
    if not isinstance(chosen, Plan):
        raise PlanError(f"ddp_hook({plan!r}): it takes a laconic.Plan or a text such as 'qsgd(bits=4)'.")
    if chosen.sync != BSP() or chosen.schedule != Fused() or not isinstance(chosen.topology, AllReduce):
        raise PlanError(f"ddp_hook({chosen}): under DDP only the compressor and the kind of allreduce can be chosen.")
    if chosen.compress.follows_lr:
        raise PlanError(f"ddp_hook({chosen}): a hook cannot see the learning rate. Use laconic.distribute.")
    if chosen.compress.follows_pace:
        raise PlanError(
            f"ddp_hook({chosen}): a hook cannot see what a step computes. Say how long an exchange may take: "
            f"paced(..., within=20)."
        )
    if any(isinstance(part, LAGS) or (isinstance(part, Filtered) and part.by_name) for part in _all(chosen.compress)):
        raise PlanError(f"ddp_hook({chosen}): a hook knows no names and no next bucket. Use laconic.distribute.")

    def hook(state: HookState, bucket: GradBucket) -> torch.futures.Future[Tensor]:
        return state.exchange(bucket)

    hook.__annotations__ = {}  # DDP compares annotations with types and cannot read postponed ones
    return HookState(chosen, seed), hook


def _all(compressor: AbstractCompressor) -> Iterator[AbstractCompressor]:
    yield compressor
    for part in compressor.parts:
        yield from _all(part)


def _spec(bucket: GradBucket) -> BucketSpec:
    shapes = tuple(tuple(t.shape) for t in bucket.gradients())
    names = tuple(f"{bucket.index()}.{i}" for i in range(len(shapes)))
    return BucketSpec(bucket.index(), names, shapes, bucket.buffer().dtype)
