"""The tasks' models have the sizes they are known by, and do what their names say."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from laconic.core.errors import LaconicError
from laconic.tasks import bytes as bytes_task
from laconic.tasks import digits, fashion
from laconic.tasks.gpt import GPT
from laconic.tasks.resnet import ResNet18


def size(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def default_gpt() -> GPT:
    return GPT(bytes_task.LAYERS, bytes_task.WIDTH, bytes_task.HEADS, bytes_task.CONTEXT)


@pytest.mark.parametrize(
    ("model", "least", "most"),
    [
        (digits.model, 50_000, 150_000),
        (lambda: fashion.model("cnn"), 200_000, 400_000),
        (lambda: fashion.model("resnet18"), 11_150_000, 11_250_000),
        (default_gpt, 9_500_000, 10_500_000),
    ],
    ids=["digits", "fashion-cnn", "resnet18", "bytes"],
)
def test_sizes(model, least: int, most: int):
    assert least <= size(model()) <= most


@pytest.mark.parametrize("side", [28, 32])
def test_resnet_takes_28_and_32_pixels(side: int):
    assert ResNet18()(torch.zeros(2, 1, side, side)).shape == (2, 10)


def test_gpt_cannot_see_the_future():
    model = GPT(layers=2, width=16, heads=2, context=8)
    x = torch.arange(8).unsqueeze(0)
    changed = x.clone()
    changed[0, 5] = 99
    with torch.no_grad():
        same, other = model(x), model(changed)
    assert torch.equal(same[:, :5], other[:, :5])
    assert not torch.equal(same[:, 5:], other[:, 5:])


def test_gpt_begins_as_ignorant_as_it_should():
    """256 equally likely bytes cost ln 256 nats; a bad initialisation would start far above."""
    torch.manual_seed(0)
    model = GPT(layers=2, width=64, heads=2, context=16)
    x = torch.randint(0, 256, (8, 16))
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), torch.randint(0, 256, (128,)))
    assert loss.item() == pytest.approx(torch.log(torch.tensor(256.0)).item(), abs=0.1)  # logits' std is 0.16


def test_gpt_refuses_heads_that_do_not_divide_the_width():
    with pytest.raises(LaconicError, match="width 10 is not a multiple of 3 heads"):
        GPT(layers=1, width=10, heads=3, context=4)
