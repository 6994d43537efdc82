"""ResNet-50. He et al., CVPR 2016, arXiv:1512.03385. The stride stands on the 3 x 3 convolution."""

from __future__ import annotations

from torch import Tensor, nn


class Bottleneck(nn.Module):
    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        after = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, after, 1, bias=False), nn.BatchNorm2d(after)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn1(self.conv1(x)).relu()
        y = self.bn2(self.conv2(y)).relu()
        out: Tensor = (self.bn3(self.conv3(y)) + self.downsample(x)).relu()
        return out


class ResNet50(nn.Module):
    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.pool = nn.MaxPool2d(3, 2, 1)
        stages, before = [], 64
        for stage, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
            for block in range(blocks):
                stages.append(Bottleneck(before, width, 2 if stage and not block else 1))
                before = 4 * width
        self.layers, self.fc = nn.Sequential(*stages), nn.Linear(before, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(self.bn1(self.conv1(x)).relu())
        out: Tensor = self.fc(self.layers(x).mean((2, 3)))
        return out
