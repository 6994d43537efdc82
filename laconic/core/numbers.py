"""Numbers out of files that people may have edited: right, or a ValueError that says which one is wrong."""

from __future__ import annotations

import math
from typing import Any


def amount(value: Any, name: str) -> float:
    """A finite number, not below 0: seconds, bytes, rates."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{name} is {value!r}, which is not a number from 0 up")
    return float(value)


def whole(value: Any, name: str, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} is {value!r}, which is not a whole number from {least} up")
    return value


def listed(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{name} is {value!r}, which is not a list")
    return value


def object_of(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} is {type(value).__name__}, not an object with names and values")
    return value


def reason(error: Exception) -> str:
    """What is wrong with a file, as the end of a sentence."""
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)
