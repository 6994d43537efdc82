"""WITH WHOM workers talk."""

from __future__ import annotations

from laconic.topology.allreduce import AllReduce
from laconic.topology.base import AbstractTopology
from laconic.topology.ps import ParameterServer

ALL: tuple[type[AbstractTopology], ...] = (AllReduce, ParameterServer)

__all__ = ["ALL", "AbstractTopology", "AllReduce", "ParameterServer"]
