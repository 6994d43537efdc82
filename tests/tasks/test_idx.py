"""An idx file is read exactly, or refused with a sentence that names it."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest
import torch

from laconic.tasks.examples import DataError
from laconic.tasks.idx import read_idx


def idx(*shape: int, data: bytes | None = None, magic: bytes | None = None) -> bytes:
    head = magic if magic is not None else bytes([0, 0, 8, len(shape)])
    size = torch.Size(shape).numel()
    return head + struct.pack(f">{len(shape)}I", *shape) + (bytes(range(size)) if data is None else data)


def written(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "some-idx3-ubyte"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_2x2x3_file_is_read_in_row_order(tmp_path: Path, pack):
    read = read_idx(written(tmp_path, pack(idx(2, 2, 3))), dims=3)
    assert read.dtype == torch.uint8
    assert read.tolist() == [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]]


def test_no_images_is_an_empty_tensor(tmp_path: Path):
    assert read_idx(written(tmp_path, idx(0, 28, 28)), dims=3).shape == (0, 28, 28)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it holds 0 bytes"),
        (b"\0\0", "it holds 2 bytes"),
        (b"<!DOCTYPE html>", "begins with 3c 21 44 4f"),
        (idx(2, 2, 3, magic=b"\0\0\x0d\x03"), "begins with 00 00 0d 03, expected 00 00 08 03"),
        (idx(12), "begins with 00 00 08 01"),
        (idx(2, 2, 3)[:9], "header ends after 9 bytes"),
        (idx(2, 2, 3)[:-1], "is truncated: its header says 2 x 2 x 3 = 12 bytes of data, it holds 11"),
        (idx(2, 2, 3) + b"\0", "has bytes left over"),
        (idx(2**32 - 1, 2**32 - 1, 2**32 - 1, data=b""), "is truncated"),
        (gzip.compress(idx(2, 2, 3), mtime=0)[:-9], "damaged gzip"),
        (gzip.compress(idx(2, 2, 3), mtime=0)[:20] + b"\xff" * 30, "damaged gzip"),
        (b"\x1f\x8b\x07 not really", "cannot be read"),
    ],
)
def test_what_is_not_an_idx_file_is_refused(tmp_path: Path, content: bytes, says: str):
    path = written(tmp_path, content)
    with pytest.raises(DataError) as refused:
        read_idx(path, dims=3)
    assert says in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(DataError, match="absent"):
        read_idx(tmp_path / "absent", dims=1)
