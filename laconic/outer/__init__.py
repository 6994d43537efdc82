"""What workers that averaged their ways do with the mean."""

from __future__ import annotations

from laconic.outer.add import Add
from laconic.outer.base import AbstractOuter, Memory, Round
from laconic.outer.bmuf import BMUF
from laconic.outer.nesterov import Nesterov
from laconic.outer.slowmo import SlowMo

ALL: tuple[type[AbstractOuter], ...] = (Add, Nesterov, SlowMo, BMUF)

__all__ = ["ALL", "BMUF", "AbstractOuter", "Add", "Memory", "Nesterov", "Round", "SlowMo"]
