"""WHAT workers say: quantizers, sparsifiers, low rank, and the wrappers around them."""

from __future__ import annotations

from laconic.compress.accordion import Accordion
from laconic.compress.adacomp import AdaComp
from laconic.compress.alq import ALQ
from laconic.compress.amq import AMQ
from laconic.compress.asylpg import AsyLPG
from laconic.compress.atomo import Atomo
from laconic.compress.base import AbstractCompressor, Traits
from laconic.compress.bernoulli import Bernoulli
from laconic.compress.blocktopk import BlockTopK
from laconic.compress.by_shape import ByShape
from laconic.compress.by_tensor import ByTensor
from laconic.compress.cast import Bf16, Fp16
from laconic.compress.cgx import CGX
from laconic.compress.chain import Chain
from laconic.compress.clipped import Clipped
from laconic.compress.coded import Coded
from laconic.compress.dct import DCT
from laconic.compress.dense_first import DenseFirst
from laconic.compress.dgc import DGC
from laconic.compress.diana import Diana
from laconic.compress.dist_ef import DistEF
from laconic.compress.dithering import Dithering
from laconic.compress.doublesqueeze import DoubleSqueeze
from laconic.compress.dqsgd import DQSGD
from laconic.compress.drive import Drive
from laconic.compress.ecq import ECQ
from laconic.compress.eden import Eden
from laconic.compress.ef21 import EF21
from laconic.compress.ef_averaged import EFAveraged
from laconic.compress.ef_decay import EFDecay
from laconic.compress.eightbit import EightBit
from laconic.compress.error_feedback import ErrorFeedback
from laconic.compress.filtered import Filtered
from laconic.compress.fp8 import Fp8
from laconic.compress.gaussiank import GaussianK
from laconic.compress.global_qsgd import GlobalQSGD
from laconic.compress.gmc import GMC
from laconic.compress.graddrop import GradDrop
from laconic.compress.gradiveq import GradiVeQ
from laconic.compress.gradzip import GradZip
from laconic.compress.gtopk import GTopK
from laconic.compress.hitopk import HiTopK
from laconic.compress.ibcd import IBCD
from laconic.compress.identity import Identity
from laconic.compress.klevel import KLevel
from laconic.compress.lags import LAGS
from laconic.compress.laq import LAQ
from laconic.compress.levels import Levels
from laconic.compress.majority import Majority
from laconic.compress.minmax import MinMax
from laconic.compress.momentum import Momentum
from laconic.compress.mstopk import MSTopK
from laconic.compress.natural import Natural
from laconic.compress.nuqsgd import NUQSGD
from laconic.compress.oktopk import OkTopk
from laconic.compress.omnireduce import OmniReduce
from laconic.compress.onebit import OneBit
from laconic.compress.ownmask import OwnMask
from laconic.compress.paced import Paced
from laconic.compress.powersgd import PowerSGD
from laconic.compress.proportion import Proportion
from laconic.compress.qsgd import QSGD
from laconic.compress.quantile import Quantile
from laconic.compress.randomblock import RandomBlock
from laconic.compress.randomk import RandomK
from laconic.compress.randommask import RandomMask
from laconic.compress.redsync import RedSync
from laconic.compress.rotated import Rotated
from laconic.compress.sbc import SBC
from laconic.compress.selective import Selective
from laconic.compress.sidco import SIDCo
from laconic.compress.sign import Sign
from laconic.compress.signsgd import SignSGD
from laconic.compress.signum import Signum
from laconic.compress.sketch import Sketch
from laconic.compress.sparcml import SparCML
from laconic.compress.sparseloco import SparseLoCo
from laconic.compress.stc import STC
from laconic.compress.strom import Strom
from laconic.compress.terngrad import TernGrad
from laconic.compress.threelc import ThreeLC
from laconic.compress.threshold import Threshold
from laconic.compress.topk import TopK
from laconic.compress.vgc import VGC
from laconic.compress.wangni import Wangni
from laconic.compress.warmup import Warmup

ALL: tuple[type[AbstractCompressor], ...] = (
    Identity,
    Fp16,
    Bf16,
    TopK,
    RandomK,
    RandomMask,
    RandomBlock,
    Bernoulli,
    OwnMask,
    IBCD,
    Wangni,
    MSTopK,
    Threshold,
    GradDrop,
    RedSync,
    GaussianK,
    SIDCo,
    SBC,
    STC,
    Proportion,
    BlockTopK,
    AdaComp,
    VGC,
    DGC,
    SparseLoCo,
    DCT,
    GTopK,
    SparCML,
    OmniReduce,
    OkTopk,
    HiTopK,
    Sketch,
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
    Coded,
    ByShape,
    Atomo,
    GradZip,
    GradiVeQ,
    LAGS,
    CGX,
    EFDecay,
    EFAveraged,
    Momentum,
    GMC,
    DistEF,
    EF21,
    DoubleSqueeze,
    Clipped,
    Warmup,
    DenseFirst,
    Accordion,
    Paced,
    ByTensor,
    Filtered,
    Selective,
)

__all__ = [
    "ALL",
    "ALQ",
    "AMQ",
    "CGX",
    "DCT",
    "DGC",
    "DQSGD",
    "ECQ",
    "EF21",
    "GMC",
    "IBCD",
    "LAGS",
    "LAQ",
    "NUQSGD",
    "QSGD",
    "SBC",
    "STC",
    "VGC",
    "AbstractCompressor",
    "Accordion",
    "AdaComp",
    "AsyLPG",
    "Atomo",
    "Bernoulli",
    "Bf16",
    "BlockTopK",
    "ByShape",
    "ByTensor",
    "Chain",
    "Clipped",
    "Coded",
    "DenseFirst",
    "Diana",
    "DistEF",
    "Dithering",
    "DoubleSqueeze",
    "Drive",
    "EFAveraged",
    "EFDecay",
    "Eden",
    "EightBit",
    "ErrorFeedback",
    "Filtered",
    "Fp8",
    "Fp16",
    "GTopK",
    "GaussianK",
    "GlobalQSGD",
    "GradDrop",
    "GradZip",
    "GradiVeQ",
    "HiTopK",
    "Identity",
    "KLevel",
    "Levels",
    "MSTopK",
    "Majority",
    "MinMax",
    "Momentum",
    "Natural",
    "OkTopk",
    "OmniReduce",
    "OneBit",
    "OwnMask",
    "Paced",
    "PowerSGD",
    "Proportion",
    "Quantile",
    "RandomBlock",
    "RandomK",
    "RandomMask",
    "RedSync",
    "Rotated",
    "SIDCo",
    "Selective",
    "Sign",
    "SignSGD",
    "Signum",
    "Sketch",
    "SparCML",
    "SparseLoCo",
    "Strom",
    "TernGrad",
    "ThreeLC",
    "Threshold",
    "TopK",
    "Traits",
    "Wangni",
    "Warmup",
]
