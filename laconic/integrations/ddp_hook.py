"""For people who keep DDP: any Laconic compressor as a communication hook.

    state, hook = laconic.ddp_hook("ef(topk(0.01))")
    ddp.register_comm_hook(state, hook)

DDP packs its buckets anew after the first step, so the first exchange of each bucket is dense and states begin with the
second; a bucket that changes later is an error. Exchanges are finished when DDP hands over its last bucket. DDP decides
when (bsp) and in what order (its own buckets); a plan that says otherwise is refused.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import GradBucket

from laconic.compress import AbstractCompressor, Identity
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError, UsageError
from laconic.core.exchange import Seat, Turn
from laconic.drive.base import Place
from laconic.net.link import Link
from laconic.plan import Plan
from laconic.schedule import Fused
from laconic.session import init
from laconic.sync import BSP


class HookState:
    """Residuals, warm starts and byte counts of one DDP model."""

    def __init__(self, plan: Plan, seed: int) -> None:
        session = init()
        self.plan, self.link = plan, Link()
        self.seat = session.seat(plan.topology, seed)
        self._driver = session.driver(dist.group.WORLD, self.link)
        self._memory: dict[int, tuple[BucketSpec, Any]] = {}
        self._flying: list[tuple[int, BucketSpec, torch.futures.Future[Tensor]]] = []
        self._rebuilt = False
        self.turns = 0

    def exchange(self, bucket: GradBucket) -> torch.futures.Future[Tensor]:
        spec = _spec(bucket)
        compressor, state = self._remembered(spec, bucket.buffer().device)
        flat = bucket.buffer()
        program = compressor.exchange(flat, state, spec, Turn(self.seat, self.turns))
        self._driver.launch(Place(self.turns, spec.id, "DDP"), program)
        future: torch.futures.Future[Tensor] = torch.futures.Future()
        self._flying.append((spec.id, spec, future))
        if bucket.is_last():
            self._finish()
        return future

    def _remembered(self, spec: BucketSpec, device: torch.device) -> tuple[AbstractCompressor, Any]:
        if not self._rebuilt:
            return Identity(), ()
        if spec.id not in self._memory:
            seat = Seat(self.seat.rank, self.seat.world, self.seat.router, self.seat.seed, device)
            self._memory[spec.id] = (spec, self.plan.compress.init(spec, seat))
        known, state = self._memory[spec.id]
        if known != spec:
            raise UsageError(f"DDP changed bucket {spec.id} during training; its memory no longer fits.")
        return self.plan.compress, state

    def _finish(self) -> None:
        for (number, spec, future), out in zip(self._flying, self._driver.finish(), strict=True):
            if self._rebuilt:
                self._memory[number] = (spec, out.state)
            future.set_result(out.mean)
        self._flying, self._rebuilt = [], True
        self.turns += 1


def ddp_hook(plan: Plan | str, *, seed: int = 0) -> tuple[HookState, Any]:
    """What `register_comm_hook` takes: `ddp.register_comm_hook(*laconic.ddp_hook("qsgd(bits=4)"))`."""
    chosen = Plan.parse(plan) if isinstance(plan, str) else plan
    if chosen.sync != BSP() or chosen.schedule != Fused():
        raise PlanError(f"ddp_hook({chosen}): under DDP only the compressor and the route can be chosen.")

    def hook(state: HookState, bucket: GradBucket) -> torch.futures.Future[Tensor]:
        return state.exchange(bucket)

    hook.__annotations__ = {}  # DDP compares annotations with types and cannot read postponed ones
    return HookState(chosen, seed), hook


def _spec(bucket: GradBucket) -> BucketSpec:
    shapes = tuple(tuple(t.shape) for t in bucket.gradients())
    names = tuple(f"{bucket.index()}.{i}" for i in range(len(shapes)))
    return BucketSpec(bucket.index(), names, shapes, bucket.buffer().dtype)
