"""WHAT workers say: quantizers, sparsifiers, low rank, and the wrappers around them."""

from __future__ import annotations

from laconic.compress.adacomp import AdaComp
from laconic.compress.base import AbstractCompressor, Traits
from laconic.compress.bernoulli import Bernoulli
from laconic.compress.blocktopk import BlockTopK
from laconic.compress.by_shape import ByShape
from laconic.compress.cast import Bf16, Fp16
from laconic.compress.chain import Chain
from laconic.compress.coded import Coded
from laconic.compress.dct import DCT
from laconic.compress.dgc import DGC
from laconic.compress.error_feedback import ErrorFeedback
from laconic.compress.gaussiank import GaussianK
from laconic.compress.graddrop import GradDrop
from laconic.compress.gtopk import GTopK
from laconic.compress.hitopk import HiTopK
from laconic.compress.ibcd import IBCD
from laconic.compress.identity import Identity
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
    Coded,
    ByShape,
)

__all__ = [
    "ALL",
    "DCT",
    "DGC",
    "IBCD",
    "QSGD",
    "SBC",
    "STC",
    "VGC",
    "AbstractCompressor",
    "AdaComp",
    "Bernoulli",
    "Bf16",
    "BlockTopK",
    "ByShape",
    "Chain",
    "Coded",
    "ErrorFeedback",
    "Fp16",
    "GTopK",
    "GaussianK",
    "GradDrop",
    "HiTopK",
    "Identity",
    "MSTopK",
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
    "Sign",
    "Sketch",
    "SparCML",
    "SparseLoCo",
    "Threshold",
    "TopK",
    "Traits",
    "Wangni",
]
