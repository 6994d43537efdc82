"""Fashion-MNIST from its four idx files: 60,000 training and 10,000 test images, 28x28, ten kinds of clothing.

Xiao, Rasul, Vollgraf, 2017, arXiv:1708.07747.
"""

from __future__ import annotations

from pathlib import Path

from laconic.tasks.examples import DataError, Images
from laconic.tasks.idx import read_idx

DEBIAN_PACKAGE = "dataset-fashion-mnist"
DEBIAN_DIR = Path("/usr/share/datasets/fashion-mnist")
PIXEL_MEAN, PIXEL_STD = 72.94, 90.02  # of the training images, 0..255
CLASSES = 10
SIDE = 28


def load(data: Path | None) -> tuple[Images, Images]:
    """The training and the test images in `data`, or where Debian's package puts them."""
    return _split(data, "train"), _split(data, "t10k")


def _split(data: Path | None, name: str) -> Images:
    pixels_path = _find(data, f"{name}-images-idx3-ubyte")
    labels_path = _find(data, f"{name}-labels-idx1-ubyte")
    pixels, labels = read_idx(pixels_path, dims=3), read_idx(labels_path, dims=1).long()
    if pixels.shape[1:] != (SIDE, SIDE):
        raise DataError(
            f"{pixels_path} holds images of {pixels.shape[1]}x{pixels.shape[2]}, Fashion-MNIST's are {SIDE}x{SIDE}. "
            "Point --data at Fashion-MNIST's files."
        )
    if len(pixels) != len(labels) or not len(labels):
        raise DataError(
            f"{pixels_path} holds {len(pixels)} images, but {labels_path} holds {len(labels)} labels. "
            "Fetch both files again."
        )
    if int(labels.max()) >= CLASSES:
        raise DataError(
            f"{labels_path} holds the label {int(labels.max())}; Fashion-MNIST's are 0 to {CLASSES - 1}. "
            "Point --data at Fashion-MNIST's files."
        )
    return Images(pixels, labels, PIXEL_MEAN, PIXEL_STD)


def _find(data: Path | None, name: str) -> Path:
    folder = DEBIAN_DIR if data is None else data
    for path in (folder / f"{name}.gz", folder / name):
        if path.is_file():
            return path
    raise DataError(
        f"Fashion-MNIST: {folder} has no {name} or {name}.gz. "
        f"Install Debian's package (apt-get install {DEBIAN_PACKAGE}), or give the folder of the four idx files with "
        "--data DIR."
    )
