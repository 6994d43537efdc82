"""ResNet-18 for small grey images: the ImageNet network with a 3x3 stem of stride 2, one input channel, no max-pooling.

    stage i of 4: two blocks of relu(x' + bn(conv(relu(bn(conv(x)))))), width 64 * 2^i, stride 2 at its start for i > 0

He, Zhang, Ren, Sun, CVPR 2016, arXiv:1512.03385. Differs: the stem, because a 7x7
stride-2 stem and pooling would leave a 28x28 image 7x7 pixels before the first block; this one leaves 14x14.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def conv3x3(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
    )


class Block(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = conv3x3(inputs, outputs, stride)
        self.second = conv3x3(outputs, outputs, 1)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.second(torch.relu(self.first(x))) + self.shortcut(x))


class ResNet18(nn.Module):
    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.stem = conv3x3(1, 64, 2)
        stages: list[nn.Module] = []
        inputs = 64
        for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            stages += [Block(inputs, width, stride), Block(width, width, 1)]
            inputs = width
        self.stages = nn.Sequential(*stages)
        self.classify = nn.Linear(inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        features = self.stages(torch.relu(self.stem(x))).mean(dim=(2, 3))
        logits: Tensor = self.classify(features)
        return logits
