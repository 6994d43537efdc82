"""VGG-16. Simonyan, Zisserman, ICLR 2015, arXiv:1409.1556, configuration D."""

from __future__ import annotations

from torch import Tensor, nn


class Vgg16(nn.Module):
    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = 3
        for width, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
            for _ in range(count):
                layers += [nn.Conv2d(before, width, 3, 1, 1), nn.ReLU()]
                before = width
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(512 * 49, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, classes)
        )

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.classifier(self.features(x).flatten(1))
        return out
