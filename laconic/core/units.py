"""Sizes and times as people write them."""

from __future__ import annotations

import re

from laconic.core.errors import PlanError

_BYTES = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
}


def parse_bytes(text: str | int) -> int:
    """`parse_bytes("25MiB") == 26214400`; a bare number is bytes."""
    found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]*)\s*", str(text))
    if found is None or found[2].lower() not in _BYTES:
        raise PlanError(f"{text!r} is not a size. Write a number with KB, MB, KiB, MiB or GiB.")
    nbytes = int(float(found[1]) * _BYTES[found[2].lower()])
    if nbytes < 1:
        raise PlanError(f"{text!r} is less than a byte. Buckets of a tensor each are wfbp's.")
    return nbytes


def bytes_text(n: float) -> str:
    """Decimal units, three significant digits: `bytes_text(67180000) == "67.2 MB"`."""
    for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(n) >= scale:
            return f"{_three_digits(n / scale)} {unit}"
    return f"{n:.0f} B"


def seconds_text(s: float) -> str:
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if abs(s) >= scale:
            return f"{_three_digits(s / scale)} {unit}"
    return f"{s * 1e6:.2g} us"


def _three_digits(x: float) -> str:
    """Three significant digits, and never an exponent: `1234`, not `1.23e+03`."""
    return f"{x:.3g}" if abs(x) < 999.5 else f"{x:.0f}"
