"""WHAT workers say: quantizers, sparsifiers, low rank, and the wrappers around them."""

from __future__ import annotations

from laconic.compress.accordion import Accordion
from laconic.compress.adacomp import AdaComp
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
from laconic.compress.dct import DCT
from laconic.compress.dense_first import DenseFirst
from laconic.compress.dgc import DGC
from laconic.compress.dist_ef import DistEF
from laconic.compress.doublesqueeze import DoubleSqueeze
from laconic.compress.ef21 import EF21
from laconic.compress.ef_decay import EFDecay
from laconic.compress.error_feedback import ErrorFeedback
from laconic.compress.filtered import Filtered
from laconic.compress.gaussiank import GaussianK
from laconic.compress.gmc import GMC
from laconic.compress.graddrop import GradDrop
from laconic.compress.gradiveq import GradiVeQ
from laconic.compress.gradzip import GradZip
from laconic.compress.gtopk import GTopK
from laconic.compress.hitopk import HiTopK
from laconic.compress.ibcd import IBCD
from laconic.compress.identity import Identity
from laconic.compress.lags import LAGS
from laconic.compress.momentum import Momentum
from laconic.compress.mstopk import MSTopK
from laconic.compress.oktopk import OkTopk
from laconic.compress.omnireduce import OmniReduce
from laconic.compress.ownmask import OwnMask
from laconic.compress.powersgd import PowerSGD
from laconic.compress.proportion import Proportion
from laconic.compress.qsgd import QSGD
from laconic.compress.randomblock import RandomBlock
from laconic.compress.randomk import RandomK
from laconic.compress.randommask import RandomMask
from laconic.compress.redsync import RedSync
from laconic.compress.sbc import SBC
from laconic.compress.selective import Selective
from laconic.compress.sidco import SIDCo
from laconic.compress.sign import Sign
from laconic.compress.sketch import Sketch
from laconic.compress.sparcml import SparCML
from laconic.compress.sparseloco import SparseLoCo
from laconic.compress.stc import STC
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
    "DCT",
    "DGC",
    "EF21",
    "GMC",
    "IBCD",
    "LAGS",
    "QSGD",
    "SBC",
    "STC",
    "VGC",
    "AbstractCompressor",
    "Accordion",
    "AdaComp",
    "Atomo",
    "Bernoulli",
    "Bf16",
    "BlockTopK",
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
    "GTopK",
    "GaussianK",
    "GradDrop",
    "GradZip",
    "GradiVeQ",
    "HiTopK",
    "Identity",
    "MSTopK",
    "Momentum",
    "OkTopk",
    "OmniReduce",
    "OwnMask",
    "PowerSGD",
    "Proportion",
    "RandomBlock",
    "RandomK",
    "RandomMask",
    "RedSync",
    "SIDCo",
    "Selective",
    "Sign",
    "Sketch",
    "SparCML",
    "SparseLoCo",
    "Threshold",
    "TopK",
    "Traits",
    "Wangni",
    "Warmup",
]
