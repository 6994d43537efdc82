"""What a plan asks the model to bear.

lossless     the same mean as DDP's up to the order of additions: how sums travel, how gradients are fused and cut
rounded      every number rounded to 16 bits
unbiased     random, right on average
biased + EF  wrong in each step, made good later by an error memory
biased       wrong in each step, and what was lost stays lost
stale        not everyone's gradient of this step and model: local steps, gossip, servers that wait for nobody,
             workers or blocks of the model that are left out of a step
"""

from __future__ import annotations

from enum import Enum

from laconic.compress import Identity
from laconic.compress.base import NOMINAL
from laconic.plan import Plan
from laconic.sync import BSP
from laconic.topology import Gossip


class Risk(Enum):
    """Mildest first."""

    LOSSLESS = "lossless"
    ROUNDED = "rounded"
    UNBIASED = "unbiased"
    BIASED = "biased+EF"
    UNMENDED = "biased"
    STALE = "stale"


MILDEST_FIRST = tuple(Risk)


def risk(plan: Plan) -> Risk:
    if plan.sync != BSP() or isinstance(plan.topology, Gossip):
        return Risk.STALE
    if plan.compress == Identity():
        return Risk.LOSSLESS
    traits = plan.compress.traits(NOMINAL)
    if str(plan.compress) in ("bf16", "fp16"):
        return Risk.ROUNDED
    if traits.remembers:
        return Risk.BIASED
    return Risk.UNBIASED if traits.unbiased else Risk.UNMENDED
