"""A small convolutional network: two 3x3 convolutions, each halved by pooling, then two linear layers."""

from __future__ import annotations

from torch import Tensor, nn


class CNN(nn.Module):
    def __init__(self, side: int, channels: tuple[int, int], hidden: int, classes: int = 10) -> None:
        super().__init__()
        first, second = channels
        self.features = nn.Sequential(
            nn.Conv2d(1, first, 3, padding=1, bias=False),
            nn.BatchNorm2d(first),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(first, second, 3, padding=1, bias=False),
            nn.BatchNorm2d(second),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        flat = second * (side // 4) ** 2
        self.classify = nn.Sequential(nn.Linear(flat, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.classify(self.features(x))
        return logits
