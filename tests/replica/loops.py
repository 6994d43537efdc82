"""Small training loops that tests run on real processes, with laconic or with plain DDP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import laconic

CLASSES = 3


def mlp(rank: int, norm: bool = True) -> nn.Module:
    """Different on every rank: distribute must make them equal."""
    torch.manual_seed(1 + rank)
    middle: list[nn.Module] = [nn.BatchNorm1d(48)] if norm else []
    return nn.Sequential(nn.Linear(20, 48), *middle, nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, CLASSES))


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def batches(rank: int, steps: int, size: int = 16) -> list[tuple[Tensor, Tensor]]:
    source = torch.Generator().manual_seed(1000 + rank)
    out = []
    for _ in range(steps):
        x = torch.randn(size, 20, generator=source)
        out.append((x, x[:, :CLASSES].argmax(1)))
    return out


def flat(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().reshape(-1).double() for p in model.parameters()])


def fit(call: Callable[..., Tensor], optimizer: torch.optim.Optimizer, data: list[tuple[Tensor, Tensor]]) -> float:
    loss = torch.zeros(())
    for x, y in data:
        loss = cross_entropy(call(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return float(loss.detach())


def trained(rank: int, plan: str, steps: int = 20, **options: Any) -> Tensor:
    model = mlp(rank)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, plan, **options)
    fit(model, optimizer, batches(rank, steps))
    replica.flush()
    return flat(model)
