"""WITH WHOM workers talk."""

from __future__ import annotations

from laconic.core.component import Component
from laconic.topology import mixing
from laconic.topology.allreduce import AllReduce
from laconic.topology.base import AbstractTopology
from laconic.topology.gossip import Gossip
from laconic.topology.graph import AbstractGraph
from laconic.topology.graphs import Complete, Exponential, OnePeerExponential, RandomPairs, Ring, Torus
from laconic.topology.ps import ParameterServer
from laconic.topology.weight_file import WeightFile

TOPOLOGIES: tuple[type[AbstractTopology], ...] = (AllReduce, ParameterServer, Gossip)
GRAPHS: tuple[type[AbstractGraph], ...] = (
    Ring,
    Torus,
    Complete,
    Exponential,
    OnePeerExponential,
    RandomPairs,
    WeightFile,
)
ALL: tuple[type[Component], ...] = (*TOPOLOGIES, *GRAPHS, *mixing.ALL)

__all__ = [
    "ALL",
    "GRAPHS",
    "TOPOLOGIES",
    "AbstractGraph",
    "AbstractTopology",
    "AllReduce",
    "Complete",
    "Exponential",
    "Gossip",
    "OnePeerExponential",
    "ParameterServer",
    "RandomPairs",
    "Ring",
    "Torus",
    "WeightFile",
]
