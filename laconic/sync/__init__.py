"""WHEN workers talk."""

from __future__ import annotations

from laconic.sync.adacomm import AdaComm
from laconic.sync.asp import ASP
from laconic.sync.backup import Backup
from laconic.sync.base import AbstractSync, Subject
from laconic.sync.blocks import Blocks
from laconic.sync.bsp import BSP
from laconic.sync.cmfl import CMFL
from laconic.sync.cocod import CoCoD
from laconic.sync.diloco import DiLoCo
from laconic.sync.downpour import Downpour
from laconic.sync.k_avg import KAvg
from laconic.sync.lag import LAG
from laconic.sync.lasg import LASG
from laconic.sync.lazy import AbstractLazy
from laconic.sync.local import Local
from laconic.sync.lupa import Lupa
from laconic.sync.one_shot import OneShot
from laconic.sync.post_local import PostLocal
from laconic.sync.round_robin import RoundRobin
from laconic.sync.rounds import AbstractAdaptive, AbstractRounds
from laconic.sync.shared import AbstractShared
from laconic.sync.silent import Silent
from laconic.sync.ssp import SSP

ALL: tuple[type[AbstractSync], ...] = (
    BSP,
    Local,
    PostLocal,
    KAvg,
    OneShot,
    AdaComm,
    Lupa,
    CoCoD,
    DiLoCo,
    SSP,
    ASP,
    Downpour,
    RoundRobin,
    Backup,
    LAG,
    LASG,
    CMFL,
    Blocks,
    Silent,
)

__all__ = [
    "ALL",
    "ASP",
    "BSP",
    "CMFL",
    "LAG",
    "LASG",
    "SSP",
    "AbstractAdaptive",
    "AbstractLazy",
    "AbstractRounds",
    "AbstractShared",
    "AbstractSync",
    "AdaComm",
    "Backup",
    "Blocks",
    "CoCoD",
    "DiLoCo",
    "Downpour",
    "KAvg",
    "Local",
    "Lupa",
    "OneShot",
    "PostLocal",
    "RoundRobin",
    "Silent",
    "Subject",
]
