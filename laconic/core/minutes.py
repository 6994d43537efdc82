"""What a plan decides while it runs, and the times it may decide by: between exchanges and the replica that runs them.

    exchange    turn.decided(spec, before, after, why)     a note; it counts once all ranks have agreed to the turn
    replica     first_gradient(), wait(), arrived()        what a step computes while its messages are under way
                keep(turns) -> list[Decision]              the notes of turns before that, in one order on all ranks

Reasons name only numbers that all ranks know alike, so that every rank's notes are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from laconic.core.bucket import BucketSpec
from laconic.core.clock import Clock, WallClock


@dataclass(frozen=True)
class Decision:
    """From the exchange after number `exchange` (the first is 1) on; one is made a step where gradients travel."""

    exchange: int
    bucket: int
    part: int
    name: str  # of its first tensor
    before: str
    after: str
    why: str

    def __str__(self) -> str:
        where = f"exchange {self.exchange}, bucket {self.bucket} ({self.name!r})"
        return f"{where}: {self.before} -> {self.after}; {self.why}"


class Minutes:
    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or WallClock()
        self.sizes: dict[int, int] = {}  # elements of what is exchanged in a turn, by number
        self.lanes = 1  # exchanges under way at once
        self.hiding_s: float | None = None  # what the last step computed while messages were, or could be, under way
        self._notes: list[Decision] = []
        self._first: float | None = None
        self._arrived: float | None = None

    # ------------------------------------------------------------- told by exchanges, perhaps in threads of their own

    def note(self, decision: Decision) -> None:
        self._notes.append(decision)

    def allowed_s(self, spec: BucketSpec) -> float | None:
        """How long this exchange may take, if all together are to be hidden; None: nothing was measured yet.

        A message costs a + b m, so half of the time is shared out evenly and half by elements.
        """
        total, count = sum(self.sizes.values()), len(self.sizes)
        if self.hiding_s is None or not total:
            return None
        share = (1 / count + self.sizes.get(spec.id, 0) / total) / 2
        return self.hiding_s * min(self.lanes, count) * share

    # ------------------------------------------------------------- told by the replica

    def first_gradient(self) -> None:
        self._first = self.clock.now()

    def wait(self, *, overlapped: bool) -> None:
        """Nothing is left to compute. `overlapped`: messages left during backward, else they leave only now."""
        since = self._first if overlapped else self._arrived
        self.hiding_s = None if since is None else self.clock.now() - since
        self._first = None

    def arrived(self) -> None:
        self._arrived = self.clock.now()

    def keep(self, turns: int) -> list[Decision]:
        """Of all turns before this one; they are forgotten here."""
        ripe = [d for d in self._notes if d.exchange <= turns]
        self._notes = [d for d in self._notes if d.exchange > turns]
        return sorted(ripe, key=lambda d: (d.exchange, d.bucket, d.part))
