"""Which module must wait for which parameter, observed in real forward passes.

A gate is a forward pre-hook: the last one before the first operation that reads a parameter. It is found by looking at
every operation below autograd while a pass runs, so tied weights belong to their earliest user, and parameters that are
used without a call of the module that owns them belong to whoever was called before. In addition every module waits
for the parameters it owns. What cannot be gated is a reason not to cross the boundary between steps:

    a parameter that gets a gradient but is read by no observed operation (compiled graphs), or outside any module
    a parameter that is read between optimizer.step() and the next forward pass (moving averages of weights)
    gradients that change between backward and optimizer.step() (clipping, GradScaler): they must be means by then
    an optimizer whose step is not one parameter at a time, or a second one
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

OUTSIDE = -1


class _Reads(TorchDispatchMode):
    """Tells which watched tensors operations are given."""

    def __init__(self, seen: Callable[[int], None], watched: Mapping[int, str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's
        self._seen, self._watched = seen, watched

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        for value in (*args, *kwargs.values()):
            for t in value if isinstance(value, list | tuple) else (value,):
                if isinstance(t, Tensor) and id(t) in self._watched:
                    self._seen(id(t))
        return func(*args, **kwargs)


class Scout:
    """Watches passes until `stop`; then `gate` and `first_use` say what was seen in the last whole one."""

    def __init__(self, model: nn.Module, trained: Mapping[str, nn.Parameter], now: Callable[[], float]) -> None:
        self.names = {id(p): name for name, p in trained.items()}
        self._now = now
        self._modules = dict(model.named_modules())
        self._hooks: list[Any] = []
        self._mode: _Reads | None = None
        self._depth = 0
        self._events: list[str] = []  # modules in the order they were called, in the pass under way
        self._times: list[float] = []
        self._first: dict[int, int] = {}
        self.gate: dict[str, str] = {}  # parameter -> module before whose call it must be there
        self.first_use: dict[str, int] = {}  # parameter -> number of that call in the pass
        self.call_s: list[float] = []  # seconds from one call to the next
        self.outside: set[str] = set()  # parameters read between steps
        for name, module in self._modules.items():
            self._hooks.append(module.register_forward_pre_hook(self._entering(name)))
            self._hooks.append(module.register_forward_hook(self._leaving, always_call=True))
            self._hooks.append(module.register_state_dict_pre_hook(self._excuse))

    def after_step(self) -> None:
        """From here to the next pass nobody should read parameters."""
        self._events, self._times, self._first = [], [], {}
        self._watch()

    def stop(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        self._unwatch()

    def _watch(self) -> None:
        if self._mode is None:
            self._mode = _Reads(self._saw, self.names)
            self._mode.__enter__()  # type: ignore[no-untyped-call]  # torch's

    def _unwatch(self) -> None:
        if self._mode is not None:
            mode, self._mode = self._mode, None
            mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]  # torch's

    def _entering(self, name: str) -> Callable[..., None]:
        def enter(*_: Any) -> None:
            if self._depth == 0:
                self._unwatch()  # that between steps
                self._watch()
            self._depth += 1
            self._events.append(name)
            self._times.append(self._now())

        return enter

    def _leaving(self, *_: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._unwatch()
            self._conclude()

    def _excuse(self, *_: Any) -> None:
        """A checkpoint reads parameters, and is served by a flush."""
        if self._depth == 0:
            self._unwatch()

    def _saw(self, parameter: int) -> None:
        if self._depth == 0:
            self.outside.add(self.names[parameter])
        else:
            self._first.setdefault(parameter, len(self._events) - 1)

    def _conclude(self) -> None:
        if not torch.is_grad_enabled():
            return  # an evaluation
        self.first_use = {self.names[p]: event for p, event in self._first.items()}
        self.gate = {name: self._events[event] for name, event in self.first_use.items()}
        ends = [*self._times[1:], self._now()]
        self.call_s = [b - a for a, b in zip(self._times, ends, strict=True)]
