"""Compress only what comes late: a pattern for the layers whose gradients are ready first, and stay dense.

They travel while backward goes on, so their bytes cost nothing and their coding would. Names that share a module are
written as its prefix, `^(layers[.]23[.]|head[.]weight$)`, as long as nothing outside is meant by it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from laconic.buckets import SMALL, SMALL_VECTOR
from laconic.sim.model import ModelTable

LONGEST_PATTERN = 400  # characters: a plan should still be readable


def skipping(model: ModelTable, share: float, compress: str) -> str | None:
    """This compressor, but dense for what is ready first, up to this share of the bytes; None: that is nothing."""
    early = sorted((w for w in model.weights if not _is_small(w.shape)), key=lambda w: w.ready)
    allowed, names = share * sum(w.numel for w in early), list[str]()
    for w in early:
        allowed -= w.numel
        if allowed < 0:
            break
        names.append(w.name)
    deny = pattern(names, [w.name for w in early[len(names) :]])
    return None if not names or deny is None else f"filtered({compress}, deny='{deny}')"


def pattern(names: Sequence[str], others: Sequence[str]) -> str | None:
    """Matches these names and none of the others; where that would be too long, as many of the first as fit."""
    words: list[str] = []
    for name in names:
        word = _word(name, others)
        if word in words:
            continue
        if len("|".join([*words, word])) > LONGEST_PATTERN:
            break
        words.append(word)
    found = f"^({'|'.join(words)})"
    return None if not words or not others or "'" in found else found


def _word(name: str, others: Sequence[str]) -> str:
    steps = name.split(".")
    for depth in range(1, len(steps)):
        prefix = ".".join(steps[:depth]) + "."
        if not any(other.startswith(prefix) for other in others):
            return _escaped(prefix)
    return _escaped(name) + "$"


def _escaped(text: str) -> str:
    """Dots in brackets: backslashes are hard to type into a shell."""
    return "".join(f"[{c}]" if c == "." else re.escape(c) for c in text)


def _is_small(shape: tuple[int, ...]) -> bool:
    return math.prod(shape) < (SMALL if len(shape) >= 2 else SMALL_VECTOR)
