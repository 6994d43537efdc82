"""What a replica calls after each step of a plan that does not exchange gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from laconic.replica import Replica


class Stepping(Protocol):
    def after_step(self, replica: Replica) -> None: ...

    def flush(self, replica: Replica) -> None:
        """Afterwards replicas are equal; called on all ranks alike."""
        ...

    def restart(self, replica: Replica, *, loaded: bool = False) -> None:
        """There are new parameters, the same on all ranks: go on from there. `loaded`: so is the replica's state."""
        ...

    def observe(self, loss: float) -> None: ...

    def pack(self, replica: Replica) -> dict[str, Any]:
        """What a checkpoint needs, as tensors and numbers."""
        ...

    def unpack(self, saved: dict[str, Any], replica: Replica) -> None: ...

    def close(self) -> None: ...
