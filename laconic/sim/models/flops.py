"""Operations of every layer, from the shapes that pass through it: 2 a multiply-add.

    linear 2 rows in out, convolution 2 outputs (in / groups) kernel^2, attention 4 b h t^2 d
what is only read or added element by element counts once an output element: it is small but not nothing

A layer's operations are booked on the first of its parameters that no layer before has used; where all have been used
(a head that is the embedding), on the parameter that came into use last. So they happen there, in forward and backward,
though the shared weight's gradient is final only with its first use.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


class Attend(nn.Module):
    """softmax(q k^T / sqrt(d)) v of b x h x t x d: a module, so that its operations can be counted."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores: Tensor = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        out: Tensor = scores.softmax(-1) @ v
        return out


class Counted(NamedTuple):
    parameters: list[tuple[str, nn.Parameter]]  # in the order of first use
    forward: list[float]  # operations booked on each; a layer's other parameters have none


def operations(model: nn.Module, sample: Tensor) -> Counted:
    of: dict[int, float] = {}
    used: list[int] = []
    last: list[int] = []  # the place of the layer before

    def count(module: nn.Module, args: tuple[Any, ...], out: Any) -> None:
        mine = [id(p) for p in module.parameters(recurse=False)]
        new = [p for p in mine if p not in used]
        used.extend(new)
        if mine:
            last[:] = new[:1] or used[-1:]  # a tied head works now: its weight came first, and its gradient comes last
        for place in last:
            of[place] = of.get(place, 0.0) + _cost(module, args, out)

    leaves = [m for m in model.modules() if not list(m.children())]
    hooks = [m.register_forward_hook(count) for m in leaves]
    with torch.no_grad():
        model(sample)
    for hook in hooks:
        hook.remove()
    named = {id(p): (n, p) for n, p in model.named_parameters()}
    order = [p for p in used if p in named] + [p for p in named if p not in used]
    return Counted([named[p] for p in order], [of.get(p, 0.0) for p in order])


def _cost(module: nn.Module, args: tuple[Any, ...], out: Any) -> float:
    size = float(out.numel()) if isinstance(out, Tensor) else 0.0
    match module:
        case nn.Linear():
            return 2.0 * size * module.in_features
        case nn.Conv2d():
            height, width = module.kernel_size
            return 2.0 * size * module.in_channels / module.groups * height * width
        case Attend():
            q = args[0]
            return 4.0 * float(q.numel()) * int(q.shape[-2])
        case _:
            return size
