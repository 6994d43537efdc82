"""Asynchronous CHOCO: pairs meet as in AD-PSGD and tell each other compressed differences.

    q_i = C(x_i - h_ij);   h_ij <- h_ij + q_i   (on i and j);   x_i <- x_i + gamma (h_ji - h_ij) / 2

h_ij is what has been said of i on the edge to j, the same on both ends. Pairing: Lian, Zhang, Zhang, Liu, ICML 2018,
arXiv:1710.06952; differences: Koloskova, Stich, Jaggi, ICML 2019, arXiv:1902.00340; we know of no paper that joins
them. Any contraction C; the sum of all models changes by the steps alone, however messages and steps interleave. Two
copies of the model are kept for each neighbour. gamma as for `choco`. `drive/pairs.py` and `drive/speech.py` do it,
over the mailbox.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from laconic.core.exchange import Exchanged
from laconic.topology.mixing.base import AbstractMixing, Around
from laconic.topology.mixing.choco import check_gamma


@dataclass(frozen=True)
class ADChoco(AbstractMixing):
    """Compressed differences to one neighbour at a time, while training goes on; nobody waits."""

    gamma: float = 0.3

    name: ClassVar[str] = "adchoco"
    paper: ClassVar[str] = "koloskova2019choco"
    compresses: ClassVar[bool] = True
    fixed: ClassVar[bool] = True
    paired: ClassVar[bool] = True
    waits: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_gamma(self, self.gamma)

    def papers(self) -> tuple[str, ...]:
        return self.paper, "lian2018adpsgd"

    async def mix(self, x: Tensor, state: Any, at: Around) -> Exchanged:
        raise AssertionError("pairs meet beside the training, not in rounds")

    def traits(self) -> dict[str, object]:
        return {
            "says": "a compressed difference",
            "graph": "static, undirected",
            "memory": "2 models a neighbour",
            "waits": False,
        }
