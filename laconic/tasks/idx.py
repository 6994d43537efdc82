"""Reads idx files, the format of the MNIST family: big-endian header, then unsigned bytes; plain or gzipped.

    00 00 08 d | d sizes, 4 bytes each | the product of the sizes, in bytes

LeCun, Cortes, Burges, "The MNIST database". Only element type 08 (unsigned byte) occurs there, so only that is read.
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path

from torch import Tensor

from laconic.tasks.examples import DataError, uint8

GZIP_MAGIC = b"\x1f\x8b"
UNSIGNED_BYTE = 0x08


def read_idx(path: Path, dims: int) -> Tensor:
    """The file as a uint8 tensor of `dims` dimensions, or a DataError that says what is wrong with it."""
    data = _content(path)
    if len(data) < 4:
        raise DataError(f"{path} is not an idx file: it holds {len(data)} bytes. {_ADVICE}")
    if data[:3] != bytes([0, 0, UNSIGNED_BYTE]) or data[3] != dims:
        raise DataError(
            f"{path} is not an idx file of {dims}-dimensional unsigned bytes: it begins with {data[:4].hex(' ')}, "
            f"expected 00 00 08 {dims:02x}. {_ADVICE}"
        )
    start = 4 + 4 * dims
    if len(data) < start:
        raise DataError(f"{path} is truncated: its header ends after {len(data)} bytes. {_ADVICE}")
    shape = struct.unpack(f">{dims}I", data[4:start])
    size, expected = len(data) - start, math.prod(shape)
    if size != expected:
        what = "is truncated" if size < expected else "has bytes left over"
        shape_text = " x ".join(map(str, shape))
        raise DataError(
            f"{path} {what}: its header says {shape_text} = {expected} bytes of data, it holds {size}. {_ADVICE}"
        )
    return uint8(data[start:]).reshape(shape)


_ADVICE = "Fetch the file again."


def _content(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data.startswith(GZIP_MAGIC) else data
    except OSError as error:  # gzip.BadGzipFile is one too
        raise DataError(f"{path} cannot be read: {error}. {_ADVICE}") from error
    except (EOFError, zlib.error) as error:
        raise DataError(f"{path} is a damaged gzip file: {error}. {_ADVICE}") from error
