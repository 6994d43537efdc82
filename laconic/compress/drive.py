"""DRIVE: the signs of a randomly rotated block and one scale; one bit an element.

    z = H D x / sqrt(d);   scale=unbiased:  C(x) = |x|^2/|z|_1 D H sgn(z) / sqrt(d)     vNMSE pi/2 - 1 = 0.571
                           scale=mse:       C(x) = |z|_1/d D H sgn(z) / sqrt(d)         vNMSE 1 - 2/pi = 0.363

Vargaftik et al., NeurIPS 2021, arXiv:2105.08339. It is `eden` with one bit, see there for claims and differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.compress.eden import AbstractEden


@dataclass(frozen=True)
class Drive(AbstractEden):
    """One bit an element after a random rotation."""

    block: int = 4096
    scale: str = "unbiased"

    name: ClassVar[str] = "drive"
    paper: ClassVar[str] = "vargaftik2021drive"
    bits: ClassVar[int] = 1  # type: ignore[misc]  # not a choice here

    def __post_init__(self) -> None:
        self.check()
