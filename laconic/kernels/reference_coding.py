"""The hot loops of codings in numpy: no compiler; the truth other implementations are held to.

A bit stream is an array of 32-bit words, two more than its bits need (a window of 64 bits can be read anywhere).
Bit j stands in word j >> 5, at place j & 31: as bytes, little-endian. Fields of up to 32 bits lie anywhere in it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]

_LOW = 0xFFFFFFFF
_LARGEST = _LOW - 1  # of a gap
_SLAB = 1 << 14  # symbols that `follow` looks for at a time


def put(words: Words, at: Ints, values: Ints) -> None:
    """Write values of up to 32 bits at these bit offsets; nothing overlaps, and the place is zero before."""
    wide, shifted = words.astype(np.int64), values << (at & 31)
    np.add.at(wide, at >> 5, shifted & _LOW)
    np.add.at(wide, (at >> 5) + 1, shifted >> 32)
    words[:] = wide


def put_ones(words: Words, at: Ints) -> None:
    """Set single bits."""
    put(words, at, np.ones_like(at))


def take(words: Words, at: Ints, widths: Ints) -> Ints:
    """Fields of these widths (0 to 32 bits) from these bit offsets."""
    wide = words.astype(np.uint64)
    window = wide[at >> 5] | wide[(at >> 5) + 1] << np.uint64(32)
    mask = (np.uint64(1) << widths.astype(np.uint64)) - np.uint64(1)
    out: Ints = (window >> (at & 31).astype(np.uint64) & mask).astype(np.int64)
    return out


def ones(words: Words, nbits: int, count: int) -> Ints:
    """Where the first `count` set bits are; fewer, where there are fewer below nbits."""
    bits = np.unpackbits(words.view(np.uint8), count=nbits, bitorder="little")
    return np.flatnonzero(bits)[:count].astype(np.int64)


def rice_shifts(gaps: Ints, block: int) -> Ints:
    """For each block of m gaps the least b >= 0 with sum <= 2^(b+1) m."""
    starts = np.arange(0, gaps.size, block)
    if not gaps.size:
        return starts
    sizes = np.minimum(block, gaps.size - starts)
    mean = -(-np.add.reduceat(gaps, starts) // sizes)  # rounded up
    length = np.frexp((np.maximum(mean, 1) - 1).astype(np.float64))[1].astype(np.int64)
    shifts: Ints = np.maximum(length - 1, 0)
    return shifts


def rice_put(gaps: Ints, block: int, shifts: Ints) -> tuple[Words, int]:
    """A stream of gap >> b in unary (so many zeros and a one), then of the b low bits of each gap; and its bits."""
    widths = np.repeat(shifts, block)[: gaps.size]
    ends, stops = np.cumsum((gaps >> widths) + 1), np.cumsum(widths)
    unary, binary = (int(x[-1]) if x.size else 0 for x in (ends, stops))
    words: Words = np.zeros((unary + binary + 31) // 32 + 2, dtype=np.uint32)
    put_ones(words, ends - 1)
    put(words, unary + stops - widths, gaps & ((np.int64(1) << widths) - 1))
    return words, unary + binary


def rice_take(words: Words, nbits: int, block: int, shifts: Ints, out: Ints) -> int:
    """The inverse: fills `out`; the bits that were read, -1 where there are too few, -2 where a gap has over 32."""
    places = ones(words, nbits, out.size)
    if places.size < out.size:
        return -1
    widths = np.repeat(shifts, block)[: out.size]
    stops = np.cumsum(widths)
    unary, binary = (int(x[-1]) if x.size else 0 for x in (places + 1, stops))
    if unary + binary > nbits:
        return -1
    high = np.diff(places, prepend=-1) - 1
    if (high > _LARGEST >> widths).any():
        return -2
    out[:] = high << widths | take(words, unary + stops - widths, widths)
    return unary + binary


def put_codes(words: Words, symbols: Bytes, codes: Ints, lengths: Ints) -> int:
    """Write the code of each symbol, one after the other; the number of bits."""
    widths = lengths[symbols]
    ends = np.cumsum(widths)
    put(words, ends - widths, codes[symbols])
    return int(ends[-1]) if ends.size else 0


def follow(words: Words, nbits: int, table: Ints, depth: int, out: Bytes) -> int:
    """Read prefix codes until `out` is full; the bits that were read, or -1 where they are no codes or too few.

    `table[next depth bits]` is symbol + 256 length, 0 for what no code starts with. Codes start where others end: from
    every bit there is one next bit, and the places after 2^j codes are found by jumping twice as far each time.
    """
    start = 0
    for done in range(0, out.size, _SLAB):
        want = min(_SLAB, out.size - done)
        here = np.arange(start, min(nbits, start + want * depth), dtype=np.int64)
        entry = table[take(words, here, np.full(here.size, depth))]
        nowhere = here.size  # past the end of this slab
        jump = np.append(np.where(entry > 0, np.minimum(here - start + (entry >> 8), nowhere), nowhere), nowhere)
        places = np.zeros(1, dtype=np.int64)
        while places.size < want:
            places = np.concatenate([places, jump[places]])
            jump = jump[jump]
        places = places[:want]
        if places[-1] >= nowhere or not entry[places[-1]]:
            return -1
        out[done : done + want] = entry[places] & 0xFF
        start += int(places[-1] + (entry[places[-1]] >> 8))
        if start > nbits:
            return -1
    return start
