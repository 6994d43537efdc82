"""Handwritten digits: a small CNN on the 1,797 8x8 images that come with scikit-learn.

The quick one: a few hundred steps take seconds and reach 97% on the 360 images that are held out.
"""

from __future__ import annotations

import argparse
import importlib
from typing import Any

import torch

import laconic
from laconic.tasks.cnn import CNN
from laconic.tasks.evaluate import Score
from laconic.tasks.examples import DataError, Images
from laconic.tasks.loop import Task, train
from laconic.tasks.options import parser, shared
from laconic.tasks.start import start

HELD_OUT = 360
SPLIT_SEED = 1797  # of the split, the same for every --seed
PIXEL_MEAN, PIXEL_STD = 4.88, 6.02  # 0..16
SIDE = 8


def load() -> tuple[Images, Images]:
    """The training and the held-out images."""
    bunch = _sklearn_datasets().load_digits()
    pixels = torch.from_numpy(bunch.images).to(torch.uint8)
    labels = torch.from_numpy(bunch.target).long()
    generator = torch.Generator().manual_seed(SPLIT_SEED)
    order = torch.randperm(len(labels), generator=generator)
    heldout, rest = order[:HELD_OUT], order[HELD_OUT:]
    return _images(pixels[rest], labels[rest]), _images(pixels[heldout], labels[heldout])


def model() -> CNN:
    return CNN(side=SIDE, channels=(32, 64), hidden=256)


def metrics(score: Score) -> dict[str, float]:
    return {"accuracy": score.accuracy, "loss": score.loss}


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    return parser("digits", __doc__ or "", steps=300, batch=16, lr=0.05, eval_every=40).parse_args(argv)


def task(parsed: argparse.Namespace) -> Task:
    train_images, heldout = load()
    torch.manual_seed(parsed.seed)
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=parsed.lr, momentum=0.9, weight_decay=5e-4)
    return Task("digits", "cnn", net, optimizer, train_images, heldout, HELD_OUT, metrics)


def main(argv: list[str] | None = None) -> dict[str, Any]:
    parsed = arguments(argv)
    made = task(parsed)
    return train(made, shared(parsed), laconic.init())


def _images(pixels: torch.Tensor, labels: torch.Tensor) -> Images:
    return Images(pixels, labels, PIXEL_MEAN, PIXEL_STD)


def _sklearn_datasets() -> Any:
    try:
        return importlib.import_module("sklearn.datasets")
    except ImportError as error:
        raise DataError(
            "digits: the images come with scikit-learn, which is not installed. pip install 'laconic[demo]'"
        ) from error


if __name__ == "__main__":
    start(main)
