"""WITH WHOM workers talk."""

from __future__ import annotations

from laconic.topology.allreduce import AllReduce
from laconic.topology.base import AbstractTopology

ALL: tuple[type[AbstractTopology], ...] = (AllReduce,)

__all__ = ["ALL", "AbstractTopology", "AllReduce"]
