"""What a model brings along: the parameters to exchange, the running statistics, and what cannot work.

Tied parameters count once, under their first name. Parameters frozen at this moment are left out; touching them later
is noticed (`Inventory.check`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from laconic.core.errors import UsageError


@dataclass(frozen=True)
class Inventory:
    trained: dict[str, nn.Parameter]
    frozen: dict[str, nn.Parameter]
    norms: list[_NormBase]  # layers with running means and variances
    buffers: dict[str, Tensor]  # as they were when the inventory was taken
    optimizer_count: int
    dtypes: dict[str, torch.dtype]

    def statistics(self) -> list[Tensor]:
        """Looked up each time: `model.to(...)` puts new tensors in their place."""
        pairs = [(norm.running_mean, norm.running_var) for norm in self.norms]
        return [t for pair in pairs for t in pair if t is not None]

    def check(self, optimizer: torch.optim.Optimizer) -> None:
        """Before every step: is this still the model that was distributed?"""
        if _count(optimizer) != self.optimizer_count:
            raise UsageError(
                f"The optimizer now holds {_count(optimizer)} parameters, but {self.optimizer_count} when "
                f"laconic.distribute was called. Add parameter groups before distributing."
            )
        for name, p in self.trained.items():
            if p.dtype != self.dtypes[name]:
                raise UsageError(f"{name!r} became {p.dtype} after laconic.distribute. Convert the model before it.")
        for name, p in self.frozen.items():
            if p.grad is not None:
                raise UsageError(
                    f"{name!r} was frozen when laconic.distribute was called but has a gradient now; it would differ "
                    f"between ranks. Unfreeze before distributing, or distribute again after replica.close()."
                )

    def lines(self) -> Iterator[str]:
        """One line a parameter, for comparing ranks."""
        for kind, named in (("parameter", self.trained), ("frozen parameter", self.frozen)):
            for name, p in named.items():
                yield f"{kind} {name}: {tuple(p.shape)} {str(p.dtype).removeprefix('torch.')} {p.device.type}"
        for name, b in self.buffers.items():
            yield f"buffer {name}: {tuple(b.shape)} {str(b.dtype).removeprefix('torch.')} {b.device.type}"


def take(model: nn.Module, optimizer: torch.optim.Optimizer) -> Inventory:
    named = dict(model.named_parameters())
    trained = {n: p for n, p in named.items() if p.requires_grad}
    if not trained:
        raise UsageError("The model has no parameter that requires a gradient: there is nothing to distribute.")
    _refuse(model, named, optimizer)
    norms = norms_of(model)
    frozen = {n: p for n, p in named.items() if not p.requires_grad}
    dtypes = {n: p.dtype for n, p in trained.items()}
    return Inventory(trained, frozen, norms, dict(model.named_buffers()), _count(optimizer), dtypes)


def _refuse(model: nn.Module, named: dict[str, nn.Parameter], optimizer: torch.optim.Optimizer) -> None:
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding | nn.EmbeddingBag) and module.sparse:
            raise UsageError(f"{name!r} makes sparse gradients, which cannot be bucketed. Build it with sparse=False.")
    for name, p in named.items():
        if p.requires_grad and not p.dtype.is_floating_point:
            raise UsageError(f"{name!r} is {p.dtype}; only real floating-point parameters can be exchanged.")
    known = {id(p) for p in named.values()}
    strangers = [p for group in optimizer.param_groups for p in group["params"] if id(p) not in known]
    if strangers:
        raise UsageError(
            f"The optimizer holds {len(strangers)} parameters that the model does not (the first has shape "
            f"{tuple(strangers[0].shape)}): they would differ between ranks. Give each model its own optimizer."
        )


def _count(optimizer: torch.optim.Optimizer) -> int:
    return sum(len(group["params"]) for group in optimizer.param_groups)


def norms_of(model: nn.Module) -> list[_NormBase]:
    """Layers with running means and variances."""
    return [m for m in model.modules() if isinstance(m, _NormBase) and m.running_mean is not None]
