"""What a few real steps have shown about a model, item by item (an item is a parameter, in order of registration)."""

from __future__ import annotations

from dataclasses import dataclass

from laconic.schedule.curve import Curve


@dataclass(frozen=True)
class Profile:
    """`ready_s`: when its gradient is final, from the first one. `first_use`: at which gate of the forward pass it is
    used first. `forward_s`: seconds from each gate to the next. `cost`: seconds an exchange takes, by its bytes.
    """

    ready_s: tuple[float, ...]
    first_use: tuple[int, ...]
    forward_s: tuple[float, ...]
    cost: Curve
