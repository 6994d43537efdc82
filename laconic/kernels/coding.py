"""The hot loops of codings as compiled code where numba is installed, else in numpy: the same results."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from typing import Protocol, cast

from laconic.kernels.reference_coding import Bytes, Ints, Words


class Kernels(Protocol):
    def put(self, words: Words, at: Ints, values: Ints) -> None: ...
    def put_ones(self, words: Words, at: Ints) -> None: ...
    def take(self, words: Words, at: Ints, widths: Ints) -> Ints: ...
    def ones(self, words: Words, nbits: int, count: int) -> Ints: ...
    def rice_shifts(self, gaps: Ints, block: int) -> Ints: ...
    def rice_put(self, gaps: Ints, block: int, shifts: Ints) -> tuple[Words, int]: ...
    def rice_take(self, words: Words, nbits: int, block: int, shifts: Ints, out: Ints) -> int: ...
    def put_codes(self, words: Words, symbols: Bytes, codes: Ints, lengths: Ints) -> int: ...
    def follow(self, words: Words, nbits: int, table: Ints, depth: int, out: Bytes) -> int: ...


@functools.cache
def kernels() -> Kernels:
    """Imported at the first message that is coded, not with the package: numba takes a while."""
    compiled = importlib.util.find_spec("numba") is not None
    name = "cpu_coding" if compiled else "reference_coding"
    return cast(Kernels, importlib.import_module(f"laconic.kernels.{name}"))
