"""WHAT workers say: quantizers, sparsifiers, low rank, and the wrappers around them."""

from __future__ import annotations

from laconic.compress.alq import ALQ
from laconic.compress.amq import AMQ
from laconic.compress.asylpg import AsyLPG
from laconic.compress.base import AbstractCompressor, Traits
from laconic.compress.by_shape import ByShape
from laconic.compress.cast import Bf16, Fp16
from laconic.compress.chain import Chain
from laconic.compress.diana import Diana
from laconic.compress.dithering import Dithering
from laconic.compress.dqsgd import DQSGD
from laconic.compress.drive import Drive
from laconic.compress.ecq import ECQ
from laconic.compress.eden import Eden
from laconic.compress.eightbit import EightBit
from laconic.compress.error_feedback import ErrorFeedback
from laconic.compress.fp8 import Fp8
from laconic.compress.global_qsgd import GlobalQSGD
from laconic.compress.identity import Identity
from laconic.compress.klevel import KLevel
from laconic.compress.laq import LAQ
from laconic.compress.levels import Levels
from laconic.compress.majority import Majority
from laconic.compress.minmax import MinMax
from laconic.compress.natural import Natural
from laconic.compress.nuqsgd import NUQSGD
from laconic.compress.onebit import OneBit
from laconic.compress.powersgd import PowerSGD
from laconic.compress.qsgd import QSGD
from laconic.compress.quantile import Quantile
from laconic.compress.randomk import RandomK
from laconic.compress.rotated import Rotated
from laconic.compress.sign import Sign
from laconic.compress.signsgd import SignSGD
from laconic.compress.signum import Signum
from laconic.compress.strom import Strom
from laconic.compress.terngrad import TernGrad
from laconic.compress.threelc import ThreeLC
from laconic.compress.topk import TopK

ALL: tuple[type[AbstractCompressor], ...] = (
    Identity,
    Fp16,
    Bf16,
    TopK,
    RandomK,
    QSGD,
    Sign,
    Fp8,
    EightBit,
    MinMax,
    KLevel,
    Rotated,
    Natural,
    Dithering,
    NUQSGD,
    Levels,
    GlobalQSGD,
    TernGrad,
    ThreeLC,
    Quantile,
    OneBit,
    SignSGD,
    Majority,
    Signum,
    Drive,
    Eden,
    ALQ,
    AMQ,
    DQSGD,
    AsyLPG,
    ECQ,
    Diana,
    LAQ,
    Strom,
    PowerSGD,
    ErrorFeedback,
    Chain,
    ByShape,
)

__all__ = [
    "ALL",
    "ALQ",
    "AMQ",
    "DQSGD",
    "ECQ",
    "LAQ",
    "NUQSGD",
    "QSGD",
    "AbstractCompressor",
    "AsyLPG",
    "Bf16",
    "ByShape",
    "Chain",
    "Diana",
    "Dithering",
    "Drive",
    "Eden",
    "EightBit",
    "ErrorFeedback",
    "Fp8",
    "Fp16",
    "GlobalQSGD",
    "Identity",
    "KLevel",
    "Levels",
    "Majority",
    "MinMax",
    "Natural",
    "OneBit",
    "PowerSGD",
    "Quantile",
    "RandomK",
    "Rotated",
    "Sign",
    "SignSGD",
    "Signum",
    "Strom",
    "TernGrad",
    "ThreeLC",
    "TopK",
    "Traits",
]
