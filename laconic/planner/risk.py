"""What a plan asks the model to bear.

lossless     the same mean as DDP's up to the order of additions: how sums travel, how gradients are fused and cut
rounded      every number rounded to 16 bits
unbiased     random, right on average
biased + EF  wrong in each step, made good later by an error memory, or by an estimate that catches up (EF21)
biased       wrong in each step, and what was lost stays lost; so is what a memory forgets, or what is clipped after it
stale        not everyone's gradient of this step and model: local steps, gossip, servers that wait for nobody,
             workers or blocks of the model that are left out of a step, old uploads used again

Claims hold for one bucket, so compressors are judged on a matrix and a vector too large for any of them to say as they
are. What only chooses where or when a part is at work is as risky as its riskiest part.
"""

from __future__ import annotations

from enum import Enum

from laconic.compress import EF21, LAQ, AbstractCompressor, Bf16, Coded, Fp16, Traits
from laconic.compress.phased import AbstractPhased
from laconic.compress.split import AbstractSplit
from laconic.core.bucket import BucketSpec
from laconic.plan import Plan
from laconic.sync import BSP
from laconic.topology import Gossip

JUDGED = BucketSpec(0, ("matrix", "vector"), ((1 << 16, 1 << 16), (1 << 16,)))


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
    return _of(plan.compress)


def _of(compressor: AbstractCompressor) -> Risk:
    parts = [_of(part) for part in compressor.parts]
    if isinstance(compressor, AbstractSplit | AbstractPhased | Coded):
        return _riskiest(parts)
    own = _itself(compressor)
    return own if own is Risk.BIASED else _riskiest([own, *parts])  # a memory makes good what its parts lose


def _itself(compressor: AbstractCompressor) -> Risk:
    if isinstance(compressor, Bf16 | Fp16):
        return Risk.ROUNDED
    if isinstance(compressor, LAQ) and compressor.patience:
        return Risk.STALE
    return Risk.BIASED if isinstance(compressor, EF21) else _claimed(compressor.traits(JUDGED))


def _claimed(traits: Traits) -> Risk:
    if traits.unbiased:
        return Risk.LOSSLESS if traits.omega == 0 else Risk.UNBIASED
    return Risk.BIASED if traits.remembers and not traits.leaks else Risk.UNMENDED


def _riskiest(of: list[Risk]) -> Risk:
    return max(of, key=MILDEST_FIRST.index)
