"""torch's own DDP, attached in place, so that a script written for Laconic also runs its baselines unchanged.

DDP is a wrapper module; here its forward prologue and epilogue run as hooks of the user's module, everything else is
DDP itself. They are private methods of DDP, stable since torch 2.0; a test compares this with a plain DDP run. Forward
passes without gradients are left alone, so one rank may evaluate on its own.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch._C._distributed_c10d import GradBucket
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

from laconic.baseline import Baseline
from laconic.core.errors import StateError, UsageError
from laconic.net.link import Link, all_reduce_bytes
from laconic.stats import Stats

_ONE_BUCKET_MB = 100_000  # the PowerSGD hook chains all-reduces; with several buckets gloo aborts


class DdpReplica:
    """The surface of a Replica, with DDP behind it."""

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, plan: Baseline, world: int, link: Link
    ) -> None:
        self.plan, self.world, self.link, self.steps = plan, world, link, 0
        params = [p for p in model.parameters() if p.requires_grad]
        self._dense = sum(p.nbytes for p in params)
        self._power: Any = None
        self._called = False  # since the last step
        self.ddp = self._wrap(model) if dist.is_initialized() else None
        self._hooks: list[Any] = [optimizer.register_step_post_hook(self._count)]
        if self.ddp is not None:
            self._hooks += [
                model.register_forward_pre_hook(self._before, with_kwargs=True),
                model.register_forward_hook(self._after),
            ]

    def _wrap(self, model: nn.Module) -> DistributedDataParallel:
        one_bucket = self.plan.hook == "powersgd"
        ddp = DistributedDataParallel(model, bucket_cap_mb=_ONE_BUCKET_MB if one_bucket else None)
        match self.plan.hook:
            case "fp16":
                ddp.register_comm_hook(None, default_hooks.fp16_compress_hook)
            case "bf16":
                ddp.register_comm_hook(None, _bf16)
            case "powersgd":
                self._power = powerSGD_hook.PowerSGDState(
                    process_group=None,
                    matrix_approximation_rank=self.plan.rank,
                    start_powerSGD_iter=2,
                )
                ddp.register_comm_hook(self._power, powerSGD_hook.powerSGD_hook)
        return ddp

    def _before(self, module: nn.Module, args: Any, kwargs: Any) -> Any:
        if self.ddp is None or not torch.is_grad_enabled():
            return None
        self._called = True
        return self.ddp._pre_forward(*args, **kwargs)  # noqa: SLF001  (see the top)

    def _after(self, module: nn.Module, args: Any, output: Any) -> Any:
        if self.ddp is None or not torch.is_grad_enabled():
            return None
        return self.ddp._post_forward(output)  # noqa: SLF001

    def _count(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self.ddp is not None and not self._called:
            raise UsageError("The model was trained without calling model(...), so DDP never saw it: no baseline.")
        self.steps += 1
        self._called = False

    def __deepcopy__(self, memo: Any) -> DdpReplica:
        """A copy of the model carries hooks along; they do nothing there."""
        twin = copy.copy(self)
        twin.ddp = None
        return twin

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        if self.ddp is None:
            yield
            return
        with self.ddp.no_sync():
            yield

    def flush(self) -> None:
        """Nothing is ever under way outside a backward pass."""

    def average(self) -> None:
        """Models are equal already."""

    def consensus_distance(self) -> float:
        """Models are equal."""
        return 0.0

    @property
    def stats(self) -> Stats:
        return Stats(self.steps, self.steps, self._sent(), self._dense_bytes(), None, 0, self.link.tx_bytes)

    def _dense_bytes(self) -> int:
        return self.steps * all_reduce_bytes(self._dense, self.world)

    def _sent(self) -> int:
        if self._power is not None:
            early = min(self.steps, 2) * self._dense  # the hook starts with two dense steps
            later = 4 * int(self._power.total_numel_after_compression)
            return all_reduce_bytes(early + later, self.world)
        return self._dense_bytes() // (2 if self.plan.hook else 1)

    def state_dict(self) -> dict[str, Any]:
        return {"plan": str(self.plan), "steps": self.steps}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        if saved.get("plan") != str(self.plan):
            raise StateError(f"This checkpoint has plan = {saved.get('plan')!r}, this run {str(self.plan)!r}.")
        self.steps = copy.copy(saved["steps"])

    def keep(self, hook: Any) -> None:
        """Somebody else's hook that ends with this replica: `close` removes it."""
        self._hooks.append(hook)

    def close(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self.ddp = None


def _bf16(state: Any, bucket: GradBucket) -> torch.futures.Future[torch.Tensor]:
    """torch's hook under another name: DDP refuses the original by name without CUDA, though gloo adds bf16."""
    return default_hooks.bf16_compress_hook(state, bucket)


_bf16.__annotations__ = {}  # DDP compares annotations with types and cannot read postponed ones
