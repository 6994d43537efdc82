"""Fashion-MNIST: a small CNN, or ResNet-18 (11 million parameters), tells ten kinds of clothing apart."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from torch import nn

import laconic
from laconic.tasks.cnn import StridedCNN
from laconic.tasks.evaluate import Score
from laconic.tasks.examples import spread
from laconic.tasks.fashion_mnist import DEBIAN_DIR, DEBIAN_PACKAGE, SIDE, load
from laconic.tasks.loop import Task, train
from laconic.tasks.options import parser, positive, shared
from laconic.tasks.resnet import ResNet18
from laconic.tasks.start import start

MODELS = ("cnn", "resnet18")
# by model: ResNet-18 diverges in its first steps at the CNN's rate, and a batch of 32 takes it seconds on one core
LR = {"cnn": 0.2, "resnet18": 0.05}
BATCH = {"cnn": 32, "resnet18": 8}
EVAL_BATCH = 250
MOMENTUM_HELP = "of SGD, after the exchange; with it lower --lr to about 0.05 (default: %(default)s)"
DATA_HELP = (
    f"folder of the four idx files, gzipped or not (default: {DEBIAN_DIR}, of Debian's package {DEBIAN_PACKAGE})"
)


def model(name: str) -> nn.Module:
    return ResNet18() if name == "resnet18" else StridedCNN(side=SIDE, channels=(32, 64), hidden=96)


def variant(model: str, momentum: float) -> str:
    return f"{model} momentum={momentum:g}" if momentum else model


def metrics(score: Score) -> dict[str, float]:
    return {"accuracy": score.accuracy, "loss": score.loss}


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    name = _model_in(argv)
    options_of = parser("fashion", __doc__ or "", steps=600, batch=BATCH[name], lr=LR[name], eval_every=120)
    options_of.add_argument("--model", choices=MODELS, default="cnn", help="(default: %(default)s)")
    options_of.add_argument("--momentum", type=float, default=0.0, help=MOMENTUM_HELP)
    options_of.add_argument("--eval-images", type=positive, metavar="N", help="held-out images (default: all)")
    options_of.add_argument("--data", type=Path, metavar="DIR", help=DATA_HELP)
    return options_of.parse_args(argv)


def _model_in(argv: list[str] | None) -> str:
    """The model asked for, before the other options are read: usual batch and learning rate depend on it."""
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument("--model", nargs="?")
    name: str | None = first.parse_known_args(argv)[0].model
    return name if name in MODELS else "cnn"  # the full parser refuses what is wrong


def task(parsed: argparse.Namespace) -> Task:
    train_images, test_images = load(parsed.data)
    heldout = spread(test_images, parsed.eval_images or len(test_images))
    torch.manual_seed(parsed.seed)
    net = model(parsed.model)
    optimizer = torch.optim.SGD(net.parameters(), lr=parsed.lr, momentum=parsed.momentum, weight_decay=5e-4)
    return Task(
        "fashion",
        variant(parsed.model, parsed.momentum),
        net,
        optimizer,
        train_images,
        heldout,
        EVAL_BATCH,
        metrics,
    )


def main(argv: list[str] | None = None) -> dict[str, Any]:
    parsed = arguments(argv)
    made = task(parsed)
    return train(made, shared(parsed), laconic.init())


if __name__ == "__main__":
    start(main)
