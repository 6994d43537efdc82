"""Fashion-MNIST is found where it should be, and what is not Fashion-MNIST is refused."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest
import torch

from laconic.tasks import fashion_mnist
from laconic.tasks.examples import DataError
from laconic.tasks.fashion_mnist import load


def write(folder: Path, split: str, *, images: int = 5, labels: int = 5, side: int = 28, top: int = 9) -> None:
    pixels = struct.pack(">BBBBIII", 0, 0, 8, 3, images, side, side) + bytes(images * side * side)
    (folder / f"{split}-images-idx3-ubyte").write_bytes(pixels)
    kinds = struct.pack(">BBBBI", 0, 0, 8, 1, labels) + bytes([top] * labels)
    (folder / f"{split}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(kinds))


def test_plain_and_gzipped_files_may_stand_side_by_side(tmp_path: Path):
    write(tmp_path, "train", images=7, labels=7)
    write(tmp_path, "t10k")
    train, test = load(tmp_path)
    assert (len(train), len(test)) == (7, 5)
    x, y = train.take(torch.tensor([0, 6]))
    assert x.shape == (2, 1, 28, 28)
    assert x.dtype == torch.float32
    assert y.tolist() == [9, 9]


def test_missing_files_name_the_package_and_the_option(tmp_path: Path):
    with pytest.raises(DataError, match=r"apt-get install dataset-fashion-mnist.*--data DIR") as refused:
        load(tmp_path)
    assert str(tmp_path) in str(refused.value)


def test_without_data_debians_folder_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fashion_mnist, "DEBIAN_DIR", tmp_path / "debian")
    with pytest.raises(DataError, match="debian has no train-images"):
        load(None)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"side": 32}, "images of 32x32"),
        ({"labels": 4}, "5 images, but .* 4 labels"),
        ({"images": 0, "labels": 0}, "0 images"),
        ({"top": 10}, "the label 10"),
    ],
)
def test_other_data_in_the_same_format_is_refused(tmp_path: Path, wrong: dict[str, int], says: str):
    write(tmp_path, "train", **wrong)
    write(tmp_path, "t10k")
    with pytest.raises(DataError, match=says):
        load(tmp_path)
