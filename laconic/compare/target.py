"""The metric a run should reach, as the user writes it: `accuracy>=0.97`, `loss<1.2`; and which way is better."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from laconic.core.errors import UsageError

_FORM = re.compile(r"\s*([A-Za-z_]\w*)\s*(>=|<=|>|<)\s*([-+.\w]+)\s*")
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_LOWER = ("loss", "error", "perplexity", "ppl", "bits", "mse", "mae", "rmse", "nll", "distance", "wer")
_HIGHER = ("acc", "score", "f1", "bleu", "auc", "precision", "recall", "reward", "map", "iou", "psnr")


@dataclass(frozen=True)
class Target:
    metric: str
    sign: str
    value: float

    def __str__(self) -> str:
        return f"{self.metric}{self.sign}{self.value:g}"

    def met(self, metrics: Mapping[str, float | None]) -> bool:
        value = metrics.get(self.metric)
        return value is not None and _OPERATORS[self.sign](value, self.value)


def read(text: str) -> Target:
    found = _FORM.fullmatch(text)
    try:
        value = float(found[3]) if found else math.nan
    except ValueError:
        value = math.nan
    if found is None or not math.isfinite(value):
        raise UsageError(f"--until {text!r} is not a metric, >=, <=, > or <, and a number, such as accuracy>=0.97.")
    return Target(found[1], found[2], value)


def higher_is_better(metric: str, target: Target | None = None) -> bool | None:
    """By the target, else by the name; None where neither tells."""
    if target is not None and target.metric == metric:
        return target.sign.startswith(">")
    name = metric.lower()
    if any(word in name for word in _LOWER):
        return False
    return True if any(word in name for word in _HIGHER) else None
