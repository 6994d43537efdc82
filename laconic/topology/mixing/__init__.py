"""How models are mixed with those of the neighbours."""

from __future__ import annotations

from laconic.topology.mixing.adpsgd import ADPSGD
from laconic.topology.mixing.base import AbstractMixing
from laconic.topology.mixing.choco import Choco
from laconic.topology.mixing.dcd import DCD
from laconic.topology.mixing.deepsqueeze import DeepSqueeze
from laconic.topology.mixing.dpsgd import DPSGD
from laconic.topology.mixing.ecd import ECD
from laconic.topology.mixing.powergossip import PowerGossip
from laconic.topology.mixing.push_sum import PushSum

ALL: tuple[type[AbstractMixing], ...] = (DPSGD, PushSum, ADPSGD, Choco, DCD, ECD, DeepSqueeze, PowerGossip)

__all__ = ["ADPSGD", "ALL", "DCD", "DPSGD", "ECD", "AbstractMixing", "Choco", "DeepSqueeze", "PowerGossip", "PushSum"]
