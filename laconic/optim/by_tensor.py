"""One loop over all parameters that have a gradient, for optimizers that move each by itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class ByTensor(torch.optim.Optimizer):
    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._move(p, p.grad, group)
        return loss

    @abstractmethod
    def _move(self, p: Tensor, grad: Tensor, group: dict[str, Any]) -> None: ...
