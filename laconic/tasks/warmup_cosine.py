"""The learning rate of every task: a linear warm-up over the first tenth, then half a cosine down to (almost) zero."""

from __future__ import annotations

import math

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

WARMUP_SHARE = 0.1
FLOOR = 0.01


def factor(step: int, steps: int) -> float:
    """What the learning rate is multiplied with at this step, counted from 0."""
    warmup = max(1, round(steps * WARMUP_SHARE))
    if step < warmup:
        return (step + 1) / warmup
    done = min(1.0, (step - warmup) / max(1, steps - warmup))
    return FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * done))


def warmup_cosine(optimizer: Optimizer, steps: int) -> LambdaLR:
    return LambdaLR(optimizer, lambda step: factor(step, steps))
