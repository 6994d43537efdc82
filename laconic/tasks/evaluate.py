"""The score of a model on held-out examples, shared out over the ranks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F

from laconic.tasks.examples import Examples


@dataclass(frozen=True)
class Score:
    loss: float  # nats per label
    accuracy: float  # share of labels that were the likeliest


def evaluate(model: nn.Module, examples: Examples, *, batch: int, rank: int, world: int) -> Score:
    """Every rank scores its share of the examples with its own replica; all get the same score."""
    sums = torch.zeros(3, dtype=torch.float64)  # loss, hits, labels
    model.eval()
    with torch.no_grad():
        for indices in torch.arange(rank, len(examples), world).split(batch):
            sums += _sums(model, examples, indices)
    model.train()
    if world > 1:
        dist.all_reduce(sums)
    loss, hits, labels = sums.tolist()
    return Score(loss / labels, hits / labels)


def _sums(model: nn.Module, examples: Examples, indices: Tensor) -> Tensor:
    x, y = examples.take(indices)
    logits, labels = model(x).flatten(0, -2), y.flatten()
    loss = F.cross_entropy(logits, labels, reduction="sum")
    hits = (logits.argmax(-1) == labels).sum()
    return torch.tensor([loss.item(), hits.item(), labels.numel()], dtype=torch.float64)
