"""WHAT workers say: quantizers, sparsifiers, low rank, and the wrappers around them."""

from __future__ import annotations

from laconic.compress.accordion import Accordion
from laconic.compress.atomo import Atomo
from laconic.compress.base import AbstractCompressor, Traits
from laconic.compress.by_shape import ByShape
from laconic.compress.by_tensor import ByTensor
from laconic.compress.cast import Bf16, Fp16
from laconic.compress.cgx import CGX
from laconic.compress.chain import Chain
from laconic.compress.clipped import Clipped
from laconic.compress.dense_first import DenseFirst
from laconic.compress.dist_ef import DistEF
from laconic.compress.doublesqueeze import DoubleSqueeze
from laconic.compress.ef21 import EF21
from laconic.compress.ef_decay import EFDecay
from laconic.compress.error_feedback import ErrorFeedback
from laconic.compress.filtered import Filtered
from laconic.compress.gmc import GMC
from laconic.compress.gradiveq import GradiVeQ
from laconic.compress.gradzip import GradZip
from laconic.compress.identity import Identity
from laconic.compress.lags import LAGS
from laconic.compress.momentum import Momentum
from laconic.compress.powersgd import PowerSGD
from laconic.compress.qsgd import QSGD
from laconic.compress.randomk import RandomK
from laconic.compress.selective import Selective
from laconic.compress.sign import Sign
from laconic.compress.topk import TopK
from laconic.compress.warmup import Warmup

ALL: tuple[type[AbstractCompressor], ...] = (
    Identity,
    Fp16,
    Bf16,
    TopK,
    RandomK,
    QSGD,
    Sign,
    PowerSGD,
    ErrorFeedback,
    Chain,
    ByShape,
    Atomo,
    GradZip,
    GradiVeQ,
    LAGS,
    CGX,
    EFDecay,
    Momentum,
    GMC,
    DistEF,
    EF21,
    DoubleSqueeze,
    Clipped,
    Warmup,
    DenseFirst,
    Accordion,
    ByTensor,
    Filtered,
    Selective,
)

__all__ = [
    "ALL",
    "CGX",
    "EF21",
    "GMC",
    "LAGS",
    "QSGD",
    "AbstractCompressor",
    "Accordion",
    "Atomo",
    "Bf16",
    "ByShape",
    "ByTensor",
    "Chain",
    "Clipped",
    "DenseFirst",
    "DistEF",
    "DoubleSqueeze",
    "EFDecay",
    "ErrorFeedback",
    "Filtered",
    "Fp16",
    "GradZip",
    "GradiVeQ",
    "Identity",
    "Momentum",
    "PowerSGD",
    "RandomK",
    "Selective",
    "Sign",
    "TopK",
    "Traits",
    "Warmup",
]
