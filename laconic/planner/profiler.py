"""Watches a user's loop for a few steps, by hooks: what each parameter's layer takes, whose gradient comes when.

    forward    seconds between the ends of leaf modules, given to the first parameter of each; first use in this order
    backward   seconds between gradients that become final, in the order in which they do
    update     optimizer.step();   other   what is left between the ends of two steps
    cold       what a step takes more after a pause

On CPUs these are seconds on a core: what counts when ranks share cores. Where a rank computes with several threads it
has cores of its own, and these are seconds; so they are on GPUs, with the stream waited for at every hook. Medians over
the steps after the first few; passes without gradients (evaluations) are not looked at.
"""

from __future__ import annotations

import atexit
import os
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from laconic.core.files import check_writable, write_whole
from laconic.inventory import norms_of
from laconic.sim.model import COLD_AFTER_S, ModelTable, Weight

SETTLE = 3  # steps that do not count
STEPS = 10  # looked at layer by layer
WHOLE = 10  # and as a whole, at least: looking closely takes time, too
NEEDED = SETTLE + STEPS + WHOLE
COLD = 10  # and after a pause each, as ranks pause for each other: caches forget
ENOUGH_S, MOST = 1.0, 60  # short steps are repeated for so long, at most so often
WANTED = SETTLE + STEPS + 2 * MOST
SHORT = ".short"  # what a rank that ended before it had seen enough leaves: how many it took


class Profiler:
    """Of one process; `laconic.distribute` attaches it to the first model."""

    current: ClassVar[Profiler | None] = None

    def __init__(self, path: Path | None, steps: int = STEPS, clock: Callable[[], float] | None = None) -> None:
        """`path`: where to write the table, which also ends the process; None: whoever watches asks for it."""
        if path is not None:
            check_writable(path, "LACONIC_PROFILE:")
        self.path, self.steps = path, steps
        self._clock = clock
        self._attached = False

    @classmethod
    def watching(cls, steps: int = STEPS, clock: Callable[[], float] | None = None) -> Profiler:
        return cls(None, steps, clock)

    @property
    def enough(self) -> bool:
        if self.path is None:
            return len(self.whole) >= WHOLE
        return _is_enough(self.whole, WHOLE) and _is_enough(self.cold, COLD)

    def attach(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        if self._attached:
            return
        self._attached = True
        self.names = {id(p): n for n, p in model.named_parameters() if p.requires_grad}
        self.parameters = {id(p): p for p in model.parameters() if p.requires_grad}
        self.statistics = sum(2 * norm.num_features for norm in norms_of(model))
        on_gpu = any(p.is_cuda for p in self.parameters.values())
        on_cpu = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
        self.now = self._clock or (_gpu_time if on_gpu else on_cpu)
        self.seen: list[dict[tuple[str, int], float]] = []
        self.whole: list[float] = []
        self.cold: list[float] = []
        self._close: list[Any] = []  # hooks that look closely
        self.used: list[int] = []
        self.ready: list[int] = []
        self.batch = self._place = 0
        self._step: dict[tuple[str, int], float] = defaultdict(float)
        self._last = self._began = self.now()
        for module in model.modules():
            if not list(module.children()):
                self._close.append(module.register_forward_hook(self._forward))
        self._close.append(model.register_forward_pre_hook(self._start))
        for p in self.parameters.values():
            self._close.append(p.register_post_accumulate_grad_hook(self._final))
        self._close.append(optimizer.register_step_pre_hook(self._before))
        optimizer.register_step_post_hook(self._after)
        if self.path is not None:
            atexit.register(self._ended, self.path, os.getpid())

    def _ended(self, path: Path, owner: int) -> None:
        """At the end of the process: too early? What was seen will do, if it is something. A forked data loader does
        not speak for it."""
        if self.enough or os.getpid() != owner:
            return
        write_whole(path.with_suffix(SHORT), str(len(self.seen) + len(self.whole) + len(self.cold)))
        if len(self.whole) >= WHOLE:
            self.table().write(path)

    def _lap(self) -> float:
        now = self.now()
        took, self._last = now - self._last, now
        return took

    def _start(self, module: nn.Module, args: Any) -> None:
        if torch.is_grad_enabled():
            self._place = 0
            self._step["other", 0] += self._lap()
            sample = next((a for a in args if isinstance(a, Tensor) and a.dim()), None)
            self.batch = self.batch if sample is None else len(sample)

    def _forward(self, module: nn.Module, args: Any, out: Any) -> None:
        if not torch.is_grad_enabled():
            return
        mine = [id(p) for p in module.parameters(recurse=False) if id(p) in self.names]
        self.used += [p for p in mine if p not in self.used]
        self._place = mine[0] if mine else self._place
        self._step["forward", self._place] += self._lap()

    def _final(self, p: Tensor) -> None:
        if len(self.seen) == 0 and id(p) not in self.ready:
            self.ready.append(id(p))
        self._step["backward", id(p)] += self._lap()

    def _before(self, *_: Any) -> None:
        self._step["other", 0] += self._lap()

    def _after(self, *_: Any) -> None:
        if len(self.seen) < self.steps + SETTLE:
            self._step["update", 0] += self._lap()
            self.seen.append(dict(self._step))
            self._step.clear()
        else:
            for hook in self._close:
                hook.remove()
            self._close = []
            warm = self.path is None or not _is_enough(self.whole, WHOLE)
            (self.whole if warm else self.cold).append(self._lap())
        if self.path is None:
            return
        if self.enough:
            self.table().write(self.path)
            raise SystemExit(0)
        if _is_enough(self.whole, WHOLE):
            time.sleep(COLD_AFTER_S)
            self._lap()

    def table(self) -> ModelTable:
        kept = self.seen[SETTLE:] or self.seen
        spent = {key: median(s.get(key, 0.0) for s in kept) for key in {k for s in kept for k in s}}
        # the first whole step began while hooks still looked closely
        scale = median(self.whole[1:] or [sum(spent.values())]) / max(sum(spent.values()), 1e-12)
        spent = {key: scale * seconds for key, seconds in spent.items()}
        order = [p for p in self.used if p in self.names] + [p for p in self.names if p not in self.used]
        ready = [*self.ready, *(p for p in reversed(order) if p not in self.ready)]
        lost = spent.get(("forward", 0), 0.0)  # before any parameter was used
        weights = tuple(
            Weight(
                name=self.names[p],
                shape=tuple(self.parameters[p].shape),
                forward_s=spent.get(("forward", p), 0.0),
                backward_s=spent.get(("backward", p), 0.0),
                first_use=order.index(p),
                ready=ready.index(p),
                dtype=str(self.parameters[p].dtype).removeprefix("torch."),
            )
            for p in self.names
        )
        other, update = spent.get(("other", 0), 0.0) + lost, spent.get(("update", 0), 0.0)
        how = f"profiled over {len(kept)} steps"
        cold = max(0.0, median(self.cold) - median(self.whole[1:])) if self.cold else 0.0
        return ModelTable("profiled", weights, update, other, self.batch, how, self.statistics, cold)


def _is_enough(seen: Sequence[float], least: int) -> bool:
    return len(seen) >= MOST or (len(seen) >= least and sum(seen) >= ENOUGH_S)


def _gpu_time() -> float:
    torch.cuda.synchronize()
    return time.perf_counter()


def start(path: Path | None) -> None:
    """None: nobody asked for a profile."""
    if path is not None and Profiler.current is None:
        Profiler.current = Profiler(path)
