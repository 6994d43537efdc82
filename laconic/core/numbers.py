"""Numbers out of files that people may have edited: right, or a ValueError that says which one is wrong."""

from __future__ import annotations

from typing import Any

LARGEST = 1 << 62  # beyond it neither torch's sizes nor sums of seconds hold
TOLD = 60  # characters of a wrong value


def amount(value: Any, name: str) -> float:
    """A finite number, not below 0: seconds, bytes, rates."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
        raise ValueError(f"{name} is {value!r:.{TOLD}}, which is not a number from 0 to {LARGEST:.2g}")
    return float(value)


def whole(value: Any, name: str, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST:
        raise ValueError(f"{name} is {value!r:.{TOLD}}, which is not a whole number from {least} to {LARGEST:.2g}")
    return value


def listed(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{name} is {value!r:.{TOLD}}, which is not a list")
    return value


def object_of(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} is {type(value).__name__}, not an object with names and values")
    return value


def reason(error: Exception) -> str:
    """What is wrong with a file, as the end of a sentence."""
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)
