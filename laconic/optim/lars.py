"""LARS: every layer's step is as long as its weights want it, whatever the size of its gradient.

    l = trust |w| / (|g| + decay |w| + eps);   v <- mu v + lr l (g + decay w);   w <- w - v

You, Gitman, Ginsburg, 2017, arXiv:1708.03888. Vectors (biases, scales of norms) are left out: l = 1, no decay. Where
|w| or |g| is 0, l = 1. A drop-in for torch.optim.SGD with batches of many thousands.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from laconic.core.errors import UsageError
from laconic.optim.by_tensor import ByTensor


class LARS(ByTensor):
    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        momentum: float = 0.9,
        weight_decay: float = 1e-4,
        trust: float = 0.001,
        eps: float = 1e-9,
    ) -> None:
        if not (lr >= 0 and 0 <= momentum < 1 and weight_decay >= 0 and trust > 0):
            raise UsageError(f"LARS(lr={lr:g}, momentum={momentum:g}, weight_decay={weight_decay:g}, trust={trust:g}).")
        settings = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "trust": trust, "eps": eps}
        super().__init__(params, settings)

    def _move(self, p: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        rate, change = group["lr"], grad
        if p.dim() > 1:
            rate = rate * local_rate(p, grad, group["trust"], group["weight_decay"], group["eps"])
            change = grad.add(p, alpha=group["weight_decay"])
        velocity = self.state[p].setdefault("velocity", torch.zeros_like(p))
        velocity.mul_(group["momentum"]).add_(change * rate)
        p.sub_(velocity)


def local_rate(p: Tensor, grad: Tensor, trust: float, decay: float, eps: float) -> Tensor:
    weight, slope = torch.linalg.vector_norm(p), torch.linalg.vector_norm(grad)
    usual = trust * weight / (slope + decay * weight + eps)
    return torch.where((weight > 0) & (slope > 0), usual, torch.ones_like(usual))
