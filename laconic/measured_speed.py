"""How fast compressors were when last measured: what `laconic list` and docs/catalog.md say about speed.

`kernels.json` beside this file is what `laconic bench kernels --json --sizes 1e6` printed on the machine it names. A
compressor that cannot keep up with 1 Gbit/s, encoding and decoding, is slower there than sending the raw bytes.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
from dataclasses import dataclass

ELEMENTS = 1_000_000  # of the rows that are quoted: a bucket of 4 MB
SLOW_GBIT_S = 1.0


@dataclass(frozen=True)
class Pace:
    """Rates of input, and the link below which time is saved."""

    encode_gb_s: float  # where messages are summed on the way: of an exchange as a whole
    decode_gb_s: float | None
    gbit_s: float | None  # None: its messages are not shorter

    @property
    def slow(self) -> bool:
        """Slower than sending the raw bytes at 1 Gbit/s."""
        return self.gbit_s is not None and self.gbit_s < SLOW_GBIT_S


@functools.cache
def paces() -> dict[str, Pace]:
    """By plan, as `laconic list` shows it."""
    text = importlib.resources.files("laconic").joinpath("kernels.json").read_text(encoding="utf-8")
    return {row["compressor"]: _pace(row) for row in json.loads(text)["rows"] if row["elements"] == ELEMENTS}


def _pace(row: dict[str, object]) -> Pace:
    encode, decode, gbit_s = row["encode"], row["decode"], row["gbit_s"]
    assert isinstance(encode, dict)
    assert gbit_s is None or isinstance(gbit_s, float)
    return Pace(encode["gb_s"], decode["gb_s"] if isinstance(decode, dict) else None, gbit_s)
