"""Link rates and times as people write them: `100mbit`, `1.5gbit`, `20ms`, `0.1%`."""

from __future__ import annotations

import re

from laconic.core.errors import UsageError

_BITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
SLOWEST, FASTEST = 8 * 10**3, 100 * 10**9  # bits per second
LONGEST_S = 60.0


def parse_rate(text: str) -> int:
    """Bits per second: `parse_rate("100mbit") == 100_000_000`."""
    value, unit = _number_and_unit(text, "a rate")
    if unit.endswith("bps"):
        raise UsageError(f"'{text}' could mean bits or bytes. Write 100mbit or 1gbit for bits per second.")
    if unit not in _BITS:
        raise UsageError(f"'{text}' is not a rate. Write a number with kbit, mbit or gbit, for example 100mbit.")
    rate = round(value * _BITS[unit])
    if not SLOWEST <= rate <= FASTEST:
        raise UsageError(f"A rate of '{text}': it must lie between {rate_text(SLOWEST)} and {rate_text(FASTEST)}.")
    return rate


def rate_text(rate: float) -> str:
    """The shortest exact form: `rate_text(1_500_000_000) == "1.5gbit"`."""
    unit = next((unit for unit, bits in reversed(_BITS.items()) if rate >= bits), "bit")
    return f"{rate / _BITS[unit]:.10g}{unit}"


def parse_seconds(text: str) -> float:
    value, unit = _number_and_unit(text, "a time")
    if unit not in _SECONDS:
        raise UsageError(f"'{text}' is not a time. Write a number with us, ms or s, for example 20ms.")
    seconds = value * _SECONDS[unit]
    if seconds > LONGEST_S:
        raise UsageError(f"A delay of '{text}' is longer than {LONGEST_S:g} s.")
    return seconds


def parse_percent(text: str) -> float:
    """`parse_percent("0.1%") == 0.001`; the sign is required, so that 1 cannot mean everything."""
    value, unit = _number_and_unit(text, "a share of packets")
    if unit != "%" or not value < 100:
        raise UsageError(f"'{text}' is not a share of packets. Write a number below 100 with a percent sign: 0.1%.")
    return value / 100


def _number_and_unit(text: str, what: str) -> tuple[float, str]:
    found = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,9})?)\s*([A-Za-z]*|%)\s*", text)
    if found is None:
        raise UsageError(f"'{text}' is not {what}: it needs a number and a unit.")
    return float(found[1]), found[2].lower()
