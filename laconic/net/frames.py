"""One frame: a header of fixed fields, then a shape; the payload travels beside it, uncopied.

    magic 2 | version 1 | kind 1 | flags 1 | dtype 1 | dims 1 | 0 1 | step 4 | bucket 4 | round 2 | slot 2 | part 4
    word 8 | session 8 | sequence 8 | length 8 | crc32 4 | shape 8 x dims

`(step, bucket, round, slot, part)` is the tag that tells messages in flight apart. `word` is what the kind says it is
(a version, an operation, a length). `session` is a number the reader chose for this connection, `sequence` grows with
every frame of it: what was recorded elsewhere, or is sent twice, fits neither. `length` are the bytes of the payload;
they must be those of the shape and no more than the reader allows, which is looked at before anything is made of them.
The checksum covers header and shape, and the payload too unless the transport authenticates it already (CURVE does).
No pickle: a payload is raw little-endian numbers, or UTF-8 text as numbers of 8 bits.
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import torch

from laconic.core.errors import PayloadError

_FIXED = struct.Struct("<2sBBBBBBIIHHIQQQQI")
_MAGIC = b"Lf"
_VERSION = 1
_WHOLE = 1  # flag: the checksum covers the payload too
_MOST_DIMS = 8
FIXED_BYTES = _FIXED.size
LARGEST_HEADER_BYTES = FIXED_BYTES + 8 * _MOST_DIMS
DTYPES = (
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.bool,
)


class Kind(IntEnum):
    """What a mailbox itself understands; kinds from `FIRST_OWN` on belong to those who use it."""

    HELLO = 1  # a name, and the session in which its bearer wants to be addressed
    WELCOME = 2
    REFUSED = 3  # why not
    BYE = 4  # the bearer of the name leaves on purpose
    LOST = 5  # made by the reader: a peer died or was cut off


FIRST_OWN = 16


class Tag(NamedTuple):
    """Which message of a run this is."""

    step: int = 0
    bucket: int = 0
    round: int = 0
    slot: int = 0
    part: int = 0


@dataclass(frozen=True)
class Frame:
    kind: int
    tag: Tag = Tag()  # noqa: RUF009  (immutable)
    word: int = 0
    dtype: torch.dtype = torch.uint8
    shape: tuple[int, ...] = (0,)
    session: int = 0
    sequence: int = 0

    @property
    def length(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def header_bytes(self) -> int:
        return FIXED_BYTES + 8 * len(self.shape)


def write(frame: Frame, payload: memoryview | bytes = b"", *, whole: bool = True) -> bytes:
    """The header; with `whole` its checksum covers the payload."""
    assert len(frame.shape) <= _MOST_DIMS, f"a shape of {len(frame.shape)} dimensions"
    shape = struct.pack(f"<{len(frame.shape)}Q", *frame.shape)
    fixed = _pack(frame, whole, 0)
    crc = zlib.crc32(shape, zlib.crc32(fixed))
    return _pack(frame, whole, zlib.crc32(payload, crc) if whole else crc) + shape


def _pack(frame: Frame, whole: bool, crc: int) -> bytes:
    code, dims = DTYPES.index(frame.dtype), len(frame.shape)
    head = (_MAGIC, _VERSION, frame.kind, _WHOLE * whole, code, dims, 0)
    return _FIXED.pack(*head, *frame.tag, frame.word, frame.session, frame.sequence, frame.length, crc)


def read(header: memoryview | bytes, payload: memoryview | bytes, most: int, *, whole: bool = True) -> Frame:
    """Refuses whatever is not exactly one frame with at most `most` bytes of payload. `whole`: insist on a checksum
    of the payload."""
    if not FIXED_BYTES <= len(header) <= LARGEST_HEADER_BYTES:
        raise PayloadError(f"A header of {len(header)} bytes is none of ours.")
    magic, version, kind, flags, code, dims, zero, *rest = _FIXED.unpack_from(header)
    step, bucket, round_, slot, part, word, session, sequence, length, crc = rest
    if magic != _MAGIC or version != _VERSION:
        raise PayloadError(f"A frame starts with {bytes(header[:3])!r}: not one of ours, or another version.")
    if zero or flags & ~_WHOLE or code >= len(DTYPES) or len(header) != FIXED_BYTES + 8 * dims:
        raise PayloadError(f"A frame with flags {flags}, type {code} and {dims} dimensions cannot be read.")
    if length > most or length != len(payload):
        raise PayloadError(f"A frame announces {length} bytes, carries {len(payload)} and may carry {most}.")
    if whole and not flags & _WHOLE:
        raise PayloadError("A frame came without a checksum of its payload over a transport that has none.")
    shape = struct.unpack_from(f"<{dims}Q", header, FIXED_BYTES)
    if math.prod(shape) * DTYPES[code].itemsize != length:
        raise PayloadError(f"A frame of shape {shape} and type {DTYPES[code]} cannot have {length} bytes.")
    tag = Tag(step, bucket, round_, slot, part)
    frame = Frame(kind, tag, word, DTYPES[code], shape, session, sequence)
    if write(frame, payload, whole=bool(flags & _WHOLE)) != bytes(header):
        raise PayloadError(f"The checksum {crc:08x} of a frame does not match its bytes.")
    return frame
