"""Laconic: data-parallel PyTorch training that says less over the network.

import laconic
laconic.init()
replica = laconic.distribute(model, optimizer, "ef(topk(0.01))")
"""

from __future__ import annotations

from laconic.compress import (
    QSGD,
    Bf16,
    ByShape,
    Chain,
    ErrorFeedback,
    Fp16,
    Identity,
    PowerSGD,
    RandomK,
    Sign,
    TopK,
)
from laconic.core.errors import LaconicError
from laconic.distribute import distribute
from laconic.integrations.ddp_hook import ddp_hook
from laconic.journal import log
from laconic.plan import Plan
from laconic.replica import Replica
from laconic.schedule import Fifo, Fused, Wfbp
from laconic.session import Session, init
from laconic.sync import BSP, Local, Silent
from laconic.topology import AllReduce

__all__ = [
    "BSP",
    "QSGD",
    "AllReduce",
    "Bf16",
    "ByShape",
    "Chain",
    "ErrorFeedback",
    "Fifo",
    "Fp16",
    "Fused",
    "Identity",
    "LaconicError",
    "Local",
    "Plan",
    "PowerSGD",
    "RandomK",
    "Replica",
    "Session",
    "Sign",
    "Silent",
    "TopK",
    "Wfbp",
    "ddp_hook",
    "distribute",
    "init",
    "log",
]
