"""How models are mixed with those of the neighbours."""

from __future__ import annotations

from laconic.topology.mixing.adchoco import ADChoco
from laconic.topology.mixing.adpsgd import ADPSGD
from laconic.topology.mixing.base import AbstractMixing
from laconic.topology.mixing.choco import Choco
from laconic.topology.mixing.dcd import DCD
from laconic.topology.mixing.deepsqueeze import DeepSqueeze
from laconic.topology.mixing.dpsgd import DPSGD
from laconic.topology.mixing.ecd import ECD
from laconic.topology.mixing.noloco import NoLoCo
from laconic.topology.mixing.powergossip import PowerGossip
from laconic.topology.mixing.push_sum import PushSum

ALL: tuple[type[AbstractMixing], ...] = (
    DPSGD,
    PushSum,
    ADPSGD,
    ADChoco,
    Choco,
    DCD,
    ECD,
    DeepSqueeze,
    PowerGossip,
    NoLoCo,
)

__all__ = [
    "ADPSGD",
    "ALL",
    "DCD",
    "DPSGD",
    "ECD",
    "ADChoco",
    "AbstractMixing",
    "Choco",
    "DeepSqueeze",
    "NoLoCo",
    "PowerGossip",
    "PushSum",
]
