"""What travels: a fixed header of 24 bytes, then the parts of a message as raw little-endian bytes.

    magic 2 | version 1 | flags 1 | method 2 | bucket 2 | step 4 | numel 4 | aux 4 | crc32 4

`method` is a tag of the codec and its settings, `numel` the number of elements it stands for, `aux` what
the codec needs to know the sizes of its parts (e.g. how many elements were kept). The reader knows what
it waits for, so a message of another step, bucket or codec is an error and never garbage. The checksum, where a run
asks for it, covers the header too; without one its field is 0. Parts stand in
order of falling element size: every one is aligned and nothing is padded. Parts made by `blank` stand in their message
already: packing those writes the header and copies nothing.
"""

from __future__ import annotations

import ctypes
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from laconic.core import memory
from laconic.core.errors import PayloadError

_HEADER = struct.Struct("<2sBBHHIIII")
HEADER_BYTES = _HEADER.size
_MAGIC = b"La"
_VERSION = 1
_CHECKED = 1
_CRC_AT = HEADER_BYTES - 4


class Part(NamedTuple):
    """One array of a message: its element type and how many elements."""

    dtype: torch.dtype
    size: int

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize * self.size


Layout = Callable[[int, int], tuple[Part, ...]]  # (numel, aux) -> parts


@dataclass(frozen=True)
class Label:
    """What the reader of a message already knows about it."""

    method: int
    bucket: int
    step: int
    numel: int

    def fields(self) -> tuple[int, int, int, int]:
        return self.method & 0xFFFF, self.bucket & 0xFFFF, self.step & 0xFFFFFFFF, self.numel


def method_tag(text: str) -> int:
    """16 bits that differ between codecs (and settings) with high probability."""
    return zlib.crc32(text.encode()) & 0xFFFF


def blank(parts: tuple[Part, ...], device: torch.device | str = "cpu") -> tuple[Tensor, ...]:
    """Parts to be written, with anything in them, side by side in the message they will travel in."""
    return _cut(memory.empty(HEADER_BYTES + sum(p.nbytes for p in parts), torch.uint8, device), parts)


def pack(label: Label, aux: int, parts: tuple[Tensor, ...], *, checksum: bool = False) -> Tensor:
    """One flat uint8 tensor on the parts' device."""
    sizes = [p.element_size() for p in parts]
    assert sizes == sorted(sizes, reverse=True), "parts stand in order of falling element size"
    message = _around(parts)
    if message is None:
        message = _copied(parts)
    head = _HEADER.pack(_MAGIC, _VERSION, _CHECKED * checksum, *label.fields(), aux, 0)
    if checksum:
        head = head[:_CRC_AT] + struct.pack("<I", _crc(head, message))
    if message.device.type == "cpu":
        ctypes.memmove(message.data_ptr(), head, HEADER_BYTES)  # a tenth of what torch takes for 24 bytes
    else:
        message[:HEADER_BYTES] = torch.frombuffer(bytearray(head), dtype=torch.uint8).to(message.device)
    return message


def _around(parts: tuple[Tensor, ...]) -> Tensor | None:
    """The message these parts stand in, if `blank` made them."""
    if not parts or parts[0].is_meta:
        return None
    storage = parts[0].untyped_storage()
    start, at = storage.data_ptr(), HEADER_BYTES
    for part in parts:
        if part.data_ptr() != start + at or not part.is_contiguous():
            return None
        at += part.nbytes
    if storage.nbytes() != at:
        return None
    return torch.empty(0, dtype=torch.uint8, device=parts[0].device).set_(storage, 0, (at,), (1,))


def _copied(parts: tuple[Tensor, ...]) -> Tensor:
    device = parts[0].device if parts else torch.device("cpu")
    message = torch.empty(HEADER_BYTES + sum(p.nbytes for p in parts), dtype=torch.uint8, device=device)
    at = HEADER_BYTES
    for part in parts:
        flat = part.detach().contiguous().view(-1)
        message[at : at + part.nbytes].copy_(flat.view(torch.uint8))
        at += part.nbytes
    return message


def unpack(message: Tensor, label: Label, layout: Layout) -> tuple[int, tuple[Tensor, ...]]:
    """The `aux` word and the parts, as views of the message; refuses what does not fit."""
    if message.dtype != torch.uint8 or message.numel() < HEADER_BYTES:
        raise PayloadError(f"A message of {message.nbytes} bytes is shorter than its header.")
    head = _head(message)
    magic, version, flags, method, bucket, step, numel, aux, crc = _HEADER.unpack(head)
    if magic != _MAGIC or version != _VERSION:
        raise PayloadError(f"A message starts with {head[:3]!r}: not one of ours, or another version.")
    if (method, bucket, step, numel) != label.fields():
        raise PayloadError(
            f"Expected (method, bucket, step, elements) = {label.fields()}, "
            f"got {(method, bucket, step, numel)}: ranks are not at the same place or plan."
        )
    if flags not in (0, _CHECKED) or (not flags and crc):
        raise PayloadError(f"A message has the flags {flags} and the checksum {crc}: it was damaged on the way.")
    if flags and crc != _crc(head, message):
        raise PayloadError(f"The checksum of bucket {bucket}, step {step} does not match its bytes.")
    return aux, _cut(message, layout(numel, aux))


def _head(message: Tensor) -> bytes:
    if message.device.type == "cpu" and message.is_contiguous():
        return ctypes.string_at(message.data_ptr(), HEADER_BYTES)
    return bytes(message[:HEADER_BYTES].cpu().numpy())


def _cut(message: Tensor, parts: tuple[Part, ...]) -> tuple[Tensor, ...]:
    sizes = [p.nbytes for p in parts]
    want = HEADER_BYTES + sum(sizes)
    if message.numel() != want:
        raise PayloadError(f"A message of {message.numel()} bytes should have {want}.")
    _, *pieces = torch.split_with_sizes(message, [HEADER_BYTES, *sizes])  # half the price of Tensor.split
    return tuple(_as(part.dtype, piece) for part, piece in zip(parts, pieces, strict=True))


def _as(dtype: torch.dtype, piece: Tensor) -> Tensor:
    if dtype == torch.uint8:
        return piece
    if piece.storage_offset() % dtype.itemsize:
        piece = piece.clone()  # a message inside a larger buffer may start anywhere
    return piece.view(dtype)


def _crc(head: bytes, message: Tensor) -> int:
    return zlib.crc32(message[HEADER_BYTES:].cpu().numpy().data, zlib.crc32(head[:_CRC_AT]))
