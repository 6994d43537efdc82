"""WITH WHOM workers talk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from laconic.core.component import Component
from laconic.core.exchange import Route


class AbstractTopology(Component, ABC):
    folder: ClassVar[str] = "topology"

    @abstractmethod
    def route(self, sparse: bool, world: int) -> Route:
        """How messages that cannot be summed on the way become a mean."""

    @property
    def told(self) -> str:
        """The option with which a user chose that route; empty where the choice is the topology's."""
        return ""

    def owners(self, world: int) -> int:
        """How many servers own chunks of what workers push."""
        return 0

    @abstractmethod
    def traits(self) -> dict[str, object]: ...
