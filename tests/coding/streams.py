"""Numbers worth coding, and ways to damage a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from laconic.coding import ALL, AbstractIndexCoding, AbstractSymbolCoding
from laconic.core.errors import PayloadError
from laconic.kernels.reference_coding import Bytes, Ints

INDEX = [kind() for kind in ALL if issubclass(kind, AbstractIndexCoding)]
SYMBOL = [kind() for kind in ALL if issubclass(kind, AbstractSymbolCoding)]


def chance(salt: int = 0) -> np.random.Generator:
    return np.random.default_rng(2026 + salt)


def some_of(numel: int, share: float, salt: int = 0) -> Ints:
    """Sorted indices that fall by chance."""
    return np.flatnonzero(chance(salt).random(numel) < share).astype(np.int64)


def levels(count: int, alphabet: int, salt: int = 0) -> Bytes:
    """Small symbols are likely, as in gradients."""
    return np.minimum(chance(salt).geometric(0.5, count) - 1, alphabet - 1).astype(np.uint8)


def damages(stream: Bytes, salt: int = 0) -> Iterator[Bytes]:
    """Cut short anywhere, with bytes too many, and with single bits turned."""
    yield from (stream[:n].copy() for n in {0, 1, stream.size // 2, stream.size - 1} if 0 <= n < stream.size)
    yield from (np.append(stream, np.zeros(n, dtype=np.uint8)) for n in (1, 3))
    for at in chance(salt).integers(0, max(1, 8 * stream.size), 64 if stream.size else 0):
        flipped = stream.copy()
        flipped[at >> 3] ^= np.uint8(1 << (at & 7))
        yield flipped


def refuses(read: Callable[[], Ints | Bytes]) -> Ints | Bytes | None:
    """What was read, or None where it was refused; any other error is one of ours."""
    try:
        return read()
    except PayloadError:
        return None
