"""State as a tree of tensors: flattened for a checkpoint, restored into a fresh tree.

A state is a tensor, a tuple (plain or named) of states, or empty. The checkpoint holds plain tensors under
readable paths such as `residual` or `inner.0`, so it loads with `torch.load(..., weights_only=True)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from laconic.core.errors import StateError


def to_dict(state: Any, path: str = "") -> dict[str, Tensor]:
    if isinstance(state, Tensor):
        return {path: state.detach().clone()}
    if not isinstance(state, tuple):
        raise TypeError(f"State {path!r} is a {type(state).__name__}; only tensors and tuples are kept.")
    out: dict[str, Tensor] = {}
    for name, child in _children(state):
        out |= to_dict(child, f"{path}.{name}" if path else name)
    return out


def from_dict(fresh: Any, saved: Mapping[str, Tensor], path: str = "") -> Any:
    """A tree of the shape of `fresh` with the saved tensors in it."""
    if isinstance(fresh, Tensor):
        return _fitting(fresh, saved, path)
    children = [from_dict(child, saved, f"{path}.{name}" if path else name) for name, child in _children(fresh)]
    kind = type(fresh)
    return kind(*children) if "_fields" in kind.__dict__ else tuple(children)


def _children(state: tuple[Any, ...]) -> list[tuple[str, Any]]:
    names = getattr(state, "_fields", None) or [str(i) for i in range(len(state))]
    return list(zip(names, state, strict=True))


def _fitting(fresh: Tensor, saved: Mapping[str, Tensor], path: str) -> Tensor:
    if path not in saved:
        raise StateError(f"The checkpoint has no {path!r}; it was written by another plan.")
    tensor = saved[path]
    if tensor.shape != fresh.shape or tensor.dtype != fresh.dtype:
        raise StateError(
            f"The checkpoint's {path!r} is {tuple(tensor.shape)} {tensor.dtype}, "
            f"this run needs {tuple(fresh.shape)} {fresh.dtype}."
        )
    return tensor.detach().clone().to(fresh.device)


def holds(state: Any, tensor: Tensor) -> bool:
    """Would writing into this tensor change the state?"""
    if isinstance(state, Tensor):
        return state.numel() > 0 and state.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
    return any(holds(child, tensor) for child in state)


def same(a: Any, b: Any) -> bool:
    """Bit for bit the same tree."""
    x, y = to_dict(a), to_dict(b)
    return x.keys() == y.keys() and all(torch.equal(x[k], y[k]) for k in x)
