"""Running means and variances of norm layers, where no round carries them along."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from laconic.replica import Replica


def average_statistics(replica: Replica) -> None:
    """To be called on all ranks alike, while nothing is under way."""
    if replica.inventory.norms:
        replica.talk.launch_statistics()
        replica.talk.statistics = replica.driver.finish()[0].mean
        replica.talk.write_statistics()
