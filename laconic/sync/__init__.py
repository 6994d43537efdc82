"""WHEN workers talk."""

from __future__ import annotations

from laconic.sync.base import AbstractSync, Subject
from laconic.sync.bsp import BSP
from laconic.sync.local import Local
from laconic.sync.silent import Silent

ALL: tuple[type[AbstractSync], ...] = (BSP, Local, Silent)

__all__ = ["ALL", "BSP", "AbstractSync", "Local", "Silent", "Subject"]
