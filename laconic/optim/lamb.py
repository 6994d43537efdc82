"""LAMB: Adam's direction, with a step as long as the layer's weights.

    m, v as Adam, bias corrected;   r = m / (sqrt v + eps) + decay w;   w <- w - lr min(|w|, 10) / |r| r

You et al., ICLR 2020, arXiv:1904.00962. Where |w| or |r| is 0, the ratio is 1. For AdamW's jobs with batches of many
thousands.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from laconic.core.errors import UsageError
from laconic.optim.by_tensor import ByTensor

LONGEST = 10.0  # phi clips |w| to this


class LAMB(ByTensor):
    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.01,
    ) -> None:
        if not (lr >= 0 and all(0 <= b < 1 for b in betas) and eps > 0 and weight_decay >= 0):
            raise UsageError(f"LAMB(lr={lr:g}, betas={betas}, eps={eps:g}, weight_decay={weight_decay:g}).")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def _move(self, p: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        state, (b1, b2) = self.state[p], group["betas"]
        if not state:
            state |= {"step": torch.tensor(0.0), "mean": torch.zeros_like(p), "square": torch.zeros_like(p)}
        state["step"] += 1
        t = float(state["step"])
        mean = state["mean"].lerp_(grad, 1 - b1) / (1 - b1**t)
        square = state["square"].lerp_(grad * grad, 1 - b2) / (1 - b2**t)
        change = mean / (square.sqrt() + group["eps"]) + group["weight_decay"] * p
        p.sub_(change * (group["lr"] * ratio(p, change)))


def ratio(p: Tensor, change: Tensor) -> Tensor:
    weight, length = torch.linalg.vector_norm(p), torch.linalg.vector_norm(change)
    usual = weight.clamp(max=LONGEST) / length
    return torch.where((weight > 0) & (length > 0), usual, torch.ones_like(usual))
