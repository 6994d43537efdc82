"""A byte-level GPT (about 10 million parameters unless told otherwise) learns Python's own standard library."""

from __future__ import annotations

import argparse
import math
from typing import Any

import torch
from torch import nn
from torch.optim import AdamW

import laconic
from laconic.tasks.evaluate import Score
from laconic.tasks.examples import DataError, Examples, Windows, spread
from laconic.tasks.gpt import GPT
from laconic.tasks.loop import Task, train
from laconic.tasks.options import DEFAULT, parser, positive, shared
from laconic.tasks.start import start
from laconic.tasks.stdlib_text import load, stdlib_folder

LAYERS, WIDTH, HEADS, CONTEXT = 8, 320, 5, 128
EVAL_WINDOWS = 128
EVAL_BATCH = 8


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    made = parser("bytes", __doc__ or "", steps=200, batch=4, lr=5e-4, eval_every=40)
    add = made.add_argument
    add("--layers", type=positive, default=LAYERS, help=DEFAULT)
    add("--width", type=positive, default=WIDTH, help=DEFAULT)
    add("--heads", type=positive, default=HEADS, help=DEFAULT)
    add("--context", type=positive, default=CONTEXT, help=f"bytes per example {DEFAULT}")
    add("--eval-windows", type=positive, default=EVAL_WINDOWS, help=f"held-out examples {DEFAULT}")
    return made.parse_args(argv)


def adamw(model: nn.Module, lr: float) -> AdamW:
    """Weight decay on matrices only, as is usual for transformers."""
    matrices = [parameter for parameter in model.parameters() if parameter.dim() >= 2]
    vectors = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return AdamW(groups, lr=lr, betas=(0.9, 0.95))


def metrics(score: Score) -> dict[str, float]:
    return {"loss": score.loss, "bits_per_byte": score.loss / math.log(2), "accuracy": score.accuracy}


def task(parsed: argparse.Namespace) -> Task:
    train_windows, heldout = windows(parsed.context, parsed.eval_windows)
    torch.manual_seed(parsed.seed)
    net = GPT(parsed.layers, parsed.width, parsed.heads, parsed.context)
    variant = f"gpt layers={parsed.layers} width={parsed.width} heads={parsed.heads} context={parsed.context}"
    return Task("bytes", variant, net, adamw(net, parsed.lr), train_windows, heldout, EVAL_BATCH, metrics)


def main(argv: list[str] | None = None) -> dict[str, Any]:
    parsed = arguments(argv)
    made = task(parsed)
    return train(made, shared(parsed), laconic.init())


def windows(context: int, eval_windows: int) -> tuple[Examples, Examples]:
    text = load(stdlib_folder())
    heldout = Windows(text.heldout, context)
    if not len(heldout):
        raise DataError(
            f"bytes: the held-out text has {len(text.heldout)} bytes, less than one example of --context {context}. "
            "Use a shorter --context."
        )
    return Windows(text.train, context), spread(heldout, eval_windows)


if __name__ == "__main__":
    start(main)
