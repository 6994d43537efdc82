"""Layer tables of well-known models, computed from their architectures on the meta device.

    layer_table("bert-large", batch=8, seconds=0.163)

Operations are counted layer by layer by running forward on shapes (flops.py); seconds are shared out in proportion,
backward at twice the forward. What a device really does with small layers differs: `laconic profile` measures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from laconic.core.errors import UsageError
from laconic.inventory import norms_of
from laconic.sim.model import ModelTable, table
from laconic.sim.models.bert import Bert
from laconic.sim.models.flops import operations
from laconic.sim.models.gpt2 import Gpt2
from laconic.sim.models.resnet import ResNet50
from laconic.sim.models.vgg import Vgg16


@dataclass(frozen=True)
class Architecture:
    build: Callable[[], nn.Module]
    sample: Callable[[int], Tensor]  # a batch of inputs, as shapes
    batch: int


def _images(batch: int) -> Tensor:
    return torch.empty(batch, 3, 224, 224, device="meta")


def _words(length: int, batch: int) -> Tensor:
    return torch.zeros(batch, length, dtype=torch.int64, device="meta")


ARCHITECTURES = {
    "resnet50": Architecture(ResNet50, _images, 64),
    "vgg16": Architecture(Vgg16, _images, 32),
    "bert-base": Architecture(partial(Bert, 768, 12, 12), partial(_words, 64), 64),
    "bert-large": Architecture(partial(Bert, 1024, 24, 16), partial(_words, 64), 8),
    "gpt2": Architecture(Gpt2, partial(_words, 1024), 4),
}
TFLOPS = 10.0  # of a device, really reached; where the user says nothing


def layer_table(
    name: str, batch: int | None = None, seconds: float | None = None, tflops: float = TFLOPS
) -> ModelTable:
    """`seconds` of forward and backward of one batch; else operations / (`tflops` 1e12)."""
    found = ARCHITECTURES.get(name)
    if found is None:
        raise UsageError(f"there is no built-in model '{name}'. There are {', '.join(ARCHITECTURES)}, or a model.json.")
    batch = batch or found.batch
    with torch.device("meta"):
        model = found.build()
    counted = operations(model, found.sample(batch))
    named = [(n, tuple(p.shape)) for n, p in counted.parameters]
    forward = [f / (tflops * 1e12) for f in counted.forward]
    statistics = sum(2 * norm.num_features for norm in norms_of(model))
    made = table(name, named, forward, batch=batch, statistics=statistics)
    return made if seconds is None else made.scaled(seconds)
