"""Small convolutional networks: two convolutions, each halving the image, then two linear layers."""

from __future__ import annotations

from torch import Tensor, nn


class CNN(nn.Module):
    """3x3 convolutions, halved by pooling."""

    def __init__(self, side: int, channels: tuple[int, int], hidden: int, classes: int = 10) -> None:
        super().__init__()
        first, second = channels
        self.features = nn.Sequential(
            *_block(nn.Conv2d(1, first, 3, padding=1, bias=False)),
            nn.MaxPool2d(2),
            *_block(nn.Conv2d(first, second, 3, padding=1, bias=False)),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        self.classify = _classifier(second * (side // 4) ** 2, hidden, classes)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.classify(self.features(x))
        return logits


class StridedCNN(nn.Module):
    """5x5 and 3x3 convolutions with stride 2: a quarter of the time of pooling, for larger images."""

    def __init__(self, side: int, channels: tuple[int, int], hidden: int, classes: int = 10) -> None:
        super().__init__()
        first, second = channels
        self.features = nn.Sequential(
            *_block(nn.Conv2d(1, first, 5, stride=2, padding=2, bias=False)),
            *_block(nn.Conv2d(first, second, 3, stride=2, padding=1, bias=False)),
            nn.Flatten(),
        )
        self.classify = _classifier(second * (side // 4) ** 2, hidden, classes)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.classify(self.features(x))
        return logits


def _block(convolution: nn.Conv2d) -> tuple[nn.Module, ...]:
    return convolution, nn.BatchNorm2d(convolution.out_channels), nn.ReLU()


def _classifier(flat: int, hidden: int, classes: int) -> nn.Module:
    return nn.Sequential(nn.Linear(flat, hidden), nn.ReLU(), nn.Linear(hidden, classes))
