"""What a step computes: every parameter's size, its share of forward and backward, and the order of its gradient.

    model.json   {"name", "batch", "forward_s", "backward_s", "update_s", "other_s", "how", "statistics", "cold_s",
                  "parameters": [{"name", "shape", "dtype", "forward_s", "backward_s", "first_use", "ready"}]}

`first_use`: which parameter forward needs first; `ready`: whose gradient is final first (both count from 0).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import nn

from laconic.core.errors import UsageError
from laconic.core.files import json_text, write_whole
from laconic.core.numbers import amount, listed, object_of, reason, whole

HEAD = ("name", "batch", "forward_s", "backward_s", "update_s", "other_s", "how", "statistics", "cold_s")
DTYPES = {"float32": torch.float32, "float64": torch.float64, "float16": torch.float16, "bfloat16": torch.bfloat16}
MOST_ELEMENTS = 1 << 40  # of one tensor
COLD_AFTER_S = 0.02  # a shorter wait costs less, by its root


@dataclass(frozen=True)
class Weight:
    """One trained parameter; seconds are its layer's own, of one step on one worker alone."""

    name: str
    shape: tuple[int, ...]
    forward_s: float
    backward_s: float
    first_use: int
    ready: int
    dtype: str = "float32"

    @property
    def numel(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class ModelTable:
    name: str
    weights: tuple[Weight, ...]  # in the order of registration
    update_s: float = 0.0  # optimizer.step()
    other_s: float = 0.0  # loading data, zeroing gradients, what else the loop does
    batch: int = 0
    how: str = "computed"
    statistics: int = 0  # elements of running means and variances, which are averaged too
    cold_s: float = 0.0  # what a step takes more after a wait of COLD_AFTER_S: caches have forgotten

    @property
    def forward_s(self) -> float:
        return sum(w.forward_s for w in self.weights)

    @property
    def backward_s(self) -> float:
        return sum(w.backward_s for w in self.weights)

    @property
    def step_s(self) -> float:
        """Of one worker that talks to nobody."""
        return self.forward_s + self.backward_s + self.update_s + self.other_s

    @property
    def numel(self) -> int:
        return sum(w.numel for w in self.weights)

    @property
    def nbytes(self) -> int:
        return sum(w.numel * DTYPES[w.dtype].itemsize for w in self.weights)

    @cached_property
    def parameters(self) -> dict[str, nn.Parameter]:
        """On the meta device, for the code that cuts buckets."""
        return {w.name: nn.Parameter(torch.empty(w.shape, dtype=DTYPES[w.dtype], device="meta")) for w in self.weights}

    def scaled(self, seconds: float) -> ModelTable:
        """The same shape of work in so many seconds of forward and backward."""
        share = seconds / (self.forward_s + self.backward_s)
        weights = tuple(
            replace(w, forward_s=w.forward_s * share, backward_s=w.backward_s * share) for w in self.weights
        )
        return replace(self, weights=weights)

    def to_json(self) -> str:
        head = {f: getattr(self, f) for f in HEAD}
        return json_text({**head, "parameters": [asdict(w) for w in self.weights]}, indent=1)

    def write(self, path: Path) -> None:
        write_whole(path, self.to_json() + "\n")


def read_model(path: Path) -> ModelTable:
    try:
        return from_dict(json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{path} is not a model.json of `laconic profile`: {reason(error)}.") from error


def from_dict(data: Mapping[str, Any]) -> ModelTable:
    rows = listed(object_of(data, "what it holds")["parameters"], "parameters")
    if not rows:
        raise ValueError("it has no parameters")
    made = ModelTable(
        name=str(data["name"]),
        weights=tuple(_weight(object_of(row, "a parameter")) for row in rows),
        update_s=amount(data["update_s"], "update_s"),
        other_s=amount(data["other_s"], "other_s"),
        batch=whole(data["batch"], "batch"),
        how=str(data["how"]),
        statistics=whole(data.get("statistics", 0), "statistics"),
        cold_s=amount(data.get("cold_s", 0.0), "cold_s"),
    )
    if not made.forward_s + made.backward_s > 0:
        raise ValueError("forward and backward take no time at all")
    _check_names([w.name for w in made.weights])
    return made


def _check_names(names: Sequence[str]) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"{twice[0]} is there twice; every parameter has a name of its own")


def _weight(row: Mapping[str, Any]) -> Weight:
    name = str(row["name"])
    made = Weight(
        name=name,
        shape=tuple(whole(n, f"the shape of {name}") for n in listed(row["shape"], f"the shape of {name}")),
        forward_s=amount(row["forward_s"], f"forward_s of {name}"),
        backward_s=amount(row["backward_s"], f"backward_s of {name}"),
        first_use=whole(row["first_use"], f"first_use of {name}"),
        ready=whole(row["ready"], f"ready of {name}"),
        dtype=str(row.get("dtype", "float32")),
    )
    if made.dtype not in DTYPES:
        raise ValueError(f"the dtype of {name} is '{made.dtype}', which is none of {', '.join(DTYPES)}")
    if made.numel > MOST_ELEMENTS:
        raise ValueError(f"the shape of {name} has {made.numel:.3g} elements; {MOST_ELEMENTS:.3g} are the most")
    return made


def table(name: str, named: Sequence[tuple[str, Sequence[int]]], forward: Sequence[float], **rest: Any) -> ModelTable:
    """From each parameter's forward seconds in the order of use; backward takes twice as long, in reverse order."""
    last = len(named) - 1
    weights = tuple(
        Weight(n, tuple(shape), f, 2 * f, i, last - i)
        for i, ((n, shape), f) in enumerate(zip(named, forward, strict=True))
    )
    return ModelTable(name, weights, **rest)
