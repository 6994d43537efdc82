"""Every compressor there is, in several settings: what the laws of `tests/laws` are checked on.

Adding an algorithm = its file + one line here: an instance, and a vector that it can say exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from laconic.coding import (
    Bitmap,
    Elias,
    EliasDelta,
    EliasGamma,
    Fixed,
    Golomb,
    Huffman,
    Quartic,
    RunLength,
    Varint,
    ZeroRun,
)
from laconic.compress import (
    ALQ,
    AMQ,
    CGX,
    DCT,
    DGC,
    DQSGD,
    ECQ,
    EF21,
    GMC,
    IBCD,
    LAGS,
    LAQ,
    NUQSGD,
    QSGD,
    SBC,
    STC,
    VGC,
    AbstractCompressor,
    Accordion,
    AdaComp,
    AsyLPG,
    Atomo,
    Bernoulli,
    Bf16,
    BlockTopK,
    ByShape,
    ByTensor,
    Clipped,
    DenseFirst,
    Diana,
    DistEF,
    Dithering,
    DoubleSqueeze,
    Drive,
    Eden,
    EFAveraged,
    EFDecay,
    EightBit,
    ErrorFeedback,
    Filtered,
    Fp8,
    Fp16,
    GaussianK,
    GlobalQSGD,
    GradDrop,
    GradiVeQ,
    GradZip,
    GTopK,
    HiTopK,
    Identity,
    KLevel,
    Levels,
    Majority,
    MinMax,
    Momentum,
    MSTopK,
    Natural,
    OkTopk,
    OmniReduce,
    OneBit,
    OwnMask,
    Paced,
    PowerSGD,
    Proportion,
    Quantile,
    RandomBlock,
    RandomK,
    RandomMask,
    RedSync,
    Rotated,
    Selective,
    SIDCo,
    Sign,
    SignSGD,
    Signum,
    Sketch,
    SparCML,
    SparseLoCo,
    Strom,
    TernGrad,
    ThreeLC,
    Threshold,
    TopK,
    Wangni,
    Warmup,
)
from laconic.compress.base import kept
from laconic.compress.dithering import powers_of_two
from laconic.compress.eightbit import table
from laconic.compress.levels import signed
from laconic.compress.one_shot import chunks
from laconic.compress.split import AbstractSplit, merged
from laconic.core import rng
from laconic.core.bucket import BucketSpec, flatten
from laconic.core.exchange import Route

SEED, STEP = 11, 5  # of the exchange in which exact things must come back exactly

# Matrices that shrink and one that does not, vectors, a scalar; no length is a multiple of 8.
BUCKET = BucketSpec(3, ("fc.weight", "fc.bias", "gain", "conv.weight"), ((24, 20), (13,), (), (3, 2, 2)))


@dataclass(frozen=True)
class Cut:
    """How many elements stand in each message of a vector: one, or one a rank."""

    world: int
    route: Route

    def __call__(self, numel: int, align: int) -> list[int]:
        if self.route is Route.GATHER:
            return [numel]
        return [stop - start for start, stop in chunks(numel, self.world, align)]


Exact = Callable[[BucketSpec, Cut], Tensor]


@dataclass(frozen=True)
class Entry:
    compressor: AbstractCompressor
    exact: Exact  # a vector that is said without loss
    roundoff: float = 2.0**-24  # of the type that is averaged on the wire
    top: float = 3e38  # largest magnitude that stays finite

    def __str__(self) -> str:
        return str(self.compressor)


def noise(numel: int, salt: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Repeatable N(0, 1) that does not touch torch's generator."""
    return _normal(numel, salt).to(dtype, copy=True)


@lru_cache(4096)
def _normal(numel: int, salt: int) -> Tensor:
    return rng.Stream(rng.fold(2024, salt)).normal(numel)


def _signs(numel: int, salt: int) -> Tensor:
    return noise(numel, salt).ge(0).to(torch.float32) * 2 - 1


def anything(spec: BucketSpec, cut: Cut) -> Tensor:
    return noise(spec.numel, 1)


def nothing(spec: BucketSpec, cut: Cut) -> Tensor:
    """Scaled random sparsification is right on average; only zero is right every time."""
    return torch.zeros(spec.numel)


def integers(spec: BucketSpec, cut: Cut) -> Tensor:
    return (noise(spec.numel, 2) * 20).round()


def low_rank(rank: int) -> Exact:
    def build(spec: BucketSpec, cut: Cut) -> Tensor:
        def tensor(shape: tuple[int, ...], i: int) -> Tensor:
            if len(shape) < 2:
                return noise(math.prod(shape), 10 + i)
            rows, columns = shape[0], math.prod(shape[1:])
            left, right = noise(rows * rank, 20 + i), noise(columns * rank, 30 + i)
            return left.view(rows, rank) @ right.view(rank, -1)

        tensors = [tensor(shape, i) for i, shape in enumerate(spec.shapes)]
        return flatten(tensors, torch.empty(0))

    return build


def grid(bits: int, block: int) -> Exact:
    """Whole multiples of M/s in every block, with one element that makes M the block's scale."""
    s = 2 ** (bits - 1) - 1

    def build(spec: BucketSpec, cut: Cut) -> Tensor:
        x = (noise(spec.numel, 3) * s / 2).round().clamp(-s, s)
        for start in range(0, spec.numel, block):
            x[start] = s
        return x

    return build


def spikes(block: int, height: float = 2.0) -> Exact:
    """One element a block: then the l2 norm is the element itself."""

    def build(spec: BucketSpec, cut: Cut) -> Tensor:
        x = torch.zeros(spec.numel)
        x[::block] = -height
        return x

    return build


def level(spec: BucketSpec, cut: Cut) -> Tensor:
    """Every element of one magnitude."""
    return 0.5 * _signs(spec.numel, 4)


def coded(numbers: Tensor | tuple[float, ...], block: int, scale: float = 2.0) -> Exact:
    """Entries of a table, times the scale of the block, which stands in it as +1."""
    entries = torch.as_tensor(numbers)

    def build(spec: BucketSpec, cut: Cut) -> Tensor:
        u = rng.Stream(8).uniform(spec.numel)
        x = entries[(u * len(entries)).to(torch.int64)]
        x[::block] = 1.0
        return scale * x

    return build


def even(top: int, block: int) -> Exact:
    """Whole numbers from -2 to top - 2, both ends in every block."""

    def build(spec: BucketSpec, cut: Cut) -> Tensor:
        x = (rng.Stream(9).uniform(spec.numel) * (top + 1)).floor()
        x[::block], x[1::block] = 0, top
        return x - 2

    return build


def powers(spec: BucketSpec, cut: Cut) -> Tensor:
    return _signs(spec.numel, 12) * 2.0 ** (noise(spec.numel, 13) * 5).round()


def two_values(spec: BucketSpec, cut: Cut) -> Tensor:
    return torch.where(_signs(spec.numel, 14) > 0, 3.0, -1.0)


def signs(spec: BucketSpec, cut: Cut) -> Tensor:
    return _signs(spec.numel, 15)


def odd(top: int) -> Exact:
    """Odd whole numbers from -top to top, the last of them among them."""

    def build(spec: BucketSpec, cut: Cut) -> Tensor:
        x = (rng.Stream(16).uniform(spec.numel) * (top + 1)).floor() * 2 - top
        x[:1] = top
        return x

    return build


def sparse(ratio: float, value: Callable[[int], Tensor] = noise) -> Exact:
    """As many elements in each message as are kept; the rest is zero."""

    def one(numel: int, salt: int) -> Tensor:
        k = kept(ratio, numel)
        at = rng.Stream(rng.fold(77, salt)).choice(numel, k)
        return torch.zeros(numel).index_copy_(0, at, value(k))

    def build(spec: BucketSpec, cut: Cut) -> Tensor:
        return torch.cat([one(n, i) for i, n in enumerate(cut(spec.numel, 1))])

    return build


def plus_minus(numel: int) -> Tensor:
    return 1.5 * _signs(numel, 5)


def twos(numel: int) -> Tensor:
    return 2.0 * _signs(numel, 5)


def small_integers(numel: int) -> Tensor:
    return (noise(numel, 6) * 5).round() + 0.5


def drawn(ratio: float) -> Exact:
    """Nonzero only where the shared randomness of this very step will look."""

    def build(spec: BucketSpec, cut: Cut) -> Tensor:
        stream = rng.shared(SEED, STEP, spec.id, spec.part)
        at = stream.choice(spec.numel, kept(ratio, spec.numel))
        return torch.zeros(spec.numel).index_copy_(0, at, noise(at.numel(), 7))

    return build


def whole(recipe: Exact, parts: int = 1) -> Exact:
    """The same on every route: of the whole bucket, or of so many parts of it."""

    def build(spec: BucketSpec, cut: Cut) -> Tensor:
        return recipe(spec, Cut(parts, Route.DEAL))

    return build


def ones(numel: int) -> Tensor:
    return torch.full((numel,), 1.5)


def one_each(spec: BucketSpec, cut: Cut) -> Tensor:
    """In each message one positive and one negative element."""
    x, start = torch.zeros(spec.numel), 0
    for n in cut(spec.numel, 1):
        x[start : start + min(n, 1)], x[start + 1 : start + min(n, 2)] = 2.0, -3.0
        start += n
    return x


def some_blocks(ratio: float, block: int) -> Exact:
    """As many blocks in each message as are kept."""

    def one(numel: int, salt: int) -> Tensor:
        m = -(-numel // block)
        at = rng.Stream(rng.fold(78, salt)).choice(m, kept(ratio, m))
        rows = torch.zeros(m, block).index_copy_(0, at, noise(at.numel() * block, salt).view(-1, block))
        return rows.view(-1)[:numel]

    def build(spec: BucketSpec, cut: Cut) -> Tensor:
        return torch.cat([one(n, i) for i, n in enumerate(cut(spec.numel, block))])

    return build


def octaves(spec: BucketSpec, cut: Cut) -> Tensor:
    """Powers of two within seven octaves."""
    return _signs(spec.numel, 8) * 0.5 ** (noise(spec.numel, 9).abs() * 3).floor().clamp(max=7)


def of_chunks(k: int, chunk: int) -> Exact:
    """k elements of +-1.5 in every chunk; messages are whole chunks."""

    def build(spec: BucketSpec, cut: Cut) -> Tensor:
        x = torch.zeros(spec.numel)
        for start in range(0, spec.numel, chunk):
            n = min(chunk, spec.numel - start)
            at = rng.Stream(rng.fold(79, start)).choice(n, min(k, n))
            x[start : start + n][at] = plus_minus(at.numel())
        return x

    return build


def cosines(k: int, chunk: int) -> Exact:
    """Every tile the sum of k of its cosines."""

    def build(spec: BucketSpec, cut: Cut) -> Tensor:
        pieces = []
        for i, shape in enumerate(spec.shapes):
            tiles = DCT(k, chunk).tiles(shape)
            rows = torch.zeros(tiles.rows * tiles.columns, tiles.size)
            rows[:, : min(k, tiles.size)] = noise(rows.shape[0] * min(k, tiles.size), i).view(rows.shape[0], -1)
            pieces.append(tiles.back(rows))
        return flatten(pieces, torch.empty(0))

    return build


def split(matrices: Exact, rest: Exact) -> Exact:
    """By shape: each kind of tensor from its own recipe."""

    def build(spec: BucketSpec, cut: Cut) -> Tensor:
        big = [i for i, s in enumerate(spec.shapes) if len(s) >= 2]
        small = [i for i, s in enumerate(spec.shapes) if len(s) < 2]
        parts = {}
        for keep, recipe, part in ((big, matrices, 1), (small, rest, 2)):
            sub = spec.subset(keep, 2 * spec.part + part)
            parts |= dict(zip(keep, sub.views(recipe(sub, cut)), strict=True))
        return flatten([parts[i] for i in range(len(spec.shapes))], torch.empty(0))

    return build


_SUM_TOP = 1e37  # what a merge drops is reported in the units of one rank: n times as much


def pieces_of(compressor: AbstractSplit, *recipes: Exact) -> Exact:
    """Each piece of a bucket from its own recipe; the last one serves all others."""

    def build(spec: BucketSpec, cut: Cut) -> Tensor:
        pieces = compressor.pieces(spec)
        made = [recipes[min(i, len(recipes) - 1)](p.spec, cut) for i, p in enumerate(pieces)]
        return merged(pieces, made, torch.empty(0))

    return build


def dealt(recipe: Exact) -> Exact:
    """For what is dealt on every route."""
    return lambda spec, cut: recipe(spec, Cut(cut.world, Route.DEAL))


def firsts(count: int, of: int) -> Exact:
    """Only the first elements of each slice are not zero."""

    def build(spec: BucketSpec, cut: Cut) -> Tensor:
        return torch.where(torch.arange(spec.numel) % of < count, noise(spec.numel, 8), 0.0)

    return build


_HALF, _BRAIN = 2.0**-11, 2.0**-8
_PRODUCT = 2.0**-17  # roundings of a row of products, times the condition of a random sketch
_MATRIX_TOP = 1e36  # products with an orthonormal basis add up a row: 24 elements, and some to spare

_TWO_SUMS = 2.0**-23  # some of it is averaged by gloo, which adds up in another order
_DENY, _PAYS = Filtered(TopK(0.1), deny="bias|gain"), Selective(QSGD(4), gbits=0.1)

ZOO: tuple[Entry, ...] = (
    Entry(Identity(), anything),
    Entry(Fp16(), integers, _HALF),
    Entry(Bf16(), integers, _BRAIN),
    Entry(TopK(0.01), sparse(0.01)),
    Entry(TopK(0.1), sparse(0.1)),
    Entry(TopK(1), anything),
    Entry(RandomK(0.05), nothing),
    Entry(RandomK(0.6), nothing),
    Entry(RandomK(1), anything),
    *(Entry(QSGD(bits), grid(bits, 256)) for bits in range(2, 9)),
    Entry(QSGD(4, block=8), grid(4, 8)),
    Entry(QSGD(3, block=64), grid(3, 64)),
    Entry(QSGD(4, block=64, norm="l2"), spikes(64)),
    Entry(QSGD(8, block=2048, norm="l2"), spikes(4096)),
    Entry(Sign(), level),
    Entry(Sign(block=8), level),
    Entry(Fp8(), coded(tuple(k / 448 for k in (*range(-16, 17), 448)), 1024, 448.0)),
    Entry(Fp8("e5m2", block=64), coded(tuple(k / 57344 for k in (*range(-8, 9), 57344)), 64, 57344.0)),
    Entry(EightBit(), coded(table("dynamic"), 2048)),
    Entry(EightBit("linear", block=64), coded(table("linear"), 64)),
    Entry(EightBit("float", block=64), coded(table("float"), 64)),
    Entry(MinMax(), even(255, 512)),
    Entry(MinMax(1, block=64), even(1, 64)),
    Entry(KLevel(), even(15, 512)),
    Entry(KLevel(5, block=64), even(4, 64)),
    Entry(Rotated(), nothing),
    Entry(Rotated(8, block=64), nothing),
    Entry(Natural(), powers, top=1.5e38),
    Entry(Dithering(), coded(signed(powers_of_two(7)), 256)),
    Entry(Dithering(3, block=64, norm="l2"), spikes(64)),
    Entry(NUQSGD(block=64), spikes(64)),
    Entry(Levels(), coded((-1, -0.4, -0.15, -0.05, 0, 0.05, 0.15, 0.4, 1), 256)),
    Entry(Levels("0.125 0.25 0.5 1", block=64), coded((-0.25, -0.125, 0.125, 0.25, 0.5), 64)),
    Entry(GlobalQSGD(), grid(4, 256)),
    Entry(GlobalQSGD(8, block=50), grid(8, 50)),
    Entry(TernGrad(), level),
    Entry(TernGrad(clip=0), level),
    Entry(ThreeLC(), coded((-1, 0, 1), 1024)),
    Entry(ThreeLC(1.5, block=64), nothing),
    Entry(Quantile(), level),
    Entry(Quantile(3), level),
    Entry(OneBit(), two_values),
    Entry(OneBit(block=64), two_values),
    Entry(SignSGD(), signs),
    Entry(SignSGD("zero"), signs),
    Entry(Majority(), signs),
    Entry(Majority("zero"), signs),
    Entry(Signum(), signs),
    Entry(Drive(block=64), spikes(64), _PRODUCT),
    Entry(Eden(block=64), spikes(64), _PRODUCT),
    Entry(ALQ(4, block=64, refresh=3), spikes(64)),
    Entry(ALQ(3, block=64, norm="max"), coded(signed(powers_of_two(3)), 64)),
    Entry(AMQ(3, block=64, refresh=3, norm="max"), coded((-0.5, -0.25, -0.125, 0.125, 0.25, 0.5, 1), 64)),
    Entry(DQSGD(total=4, scale=0.1), nothing),
    Entry(AsyLPG(), grid(2, 256)),
    Entry(ECQ(), grid(4, 256)),
    Entry(ECQ(QSGD(6), alpha=0.5, beta=1), grid(6, 256)),
    Entry(Diana(), grid(4, 256)),
    Entry(Diana(RandomK(0.6)), nothing),
    Entry(LAQ(), odd(15)),
    Entry(LAQ(8, patience=0), odd(255)),
    Entry(Strom(1), nothing),
    Entry(Strom(0.5, unit="absolute"), nothing),
    Entry(PowerSGD(1), low_rank(1), _PRODUCT, top=_MATRIX_TOP),
    Entry(PowerSGD(4), low_rank(4), _PRODUCT, top=_MATRIX_TOP),
    Entry(PowerSGD(64), anything),
    Entry(TopK(0.1) | QSGD(4), sparse(0.1, plus_minus)),
    Entry(TopK(0.1) | Fp16(), sparse(0.1, small_integers)),
    Entry(TopK(0.05) | Sign(), sparse(0.05, plus_minus)),
    Entry(RandomK(0.2) | QSGD(4), nothing),
    Entry(RandomK(0.2) | Bf16(), nothing),
    Entry(ErrorFeedback(Fp16()), integers, _HALF),
    Entry(ErrorFeedback(Bf16()), integers, _BRAIN),
    Entry(ErrorFeedback(TopK(0.01)), sparse(0.01)),
    Entry(ErrorFeedback(TopK(0.25)), sparse(0.25)),
    Entry(ErrorFeedback(Sign()), level),
    Entry(ErrorFeedback(Sign(block=16)), level),
    Entry(ErrorFeedback(QSGD(2)), nothing),
    Entry(ErrorFeedback(QSGD(4)), grid(4, 256)),
    Entry(ErrorFeedback(QSGD(8, block=64)), grid(8, 64)),
    Entry(ErrorFeedback(QSGD(4, block=512, norm="l2")), nothing),
    Entry(ErrorFeedback(Fp8()), coded(tuple(k / 448 for k in (*range(-16, 17), 448)), 1024, 448.0)),
    Entry(ErrorFeedback(EightBit()), coded(table("dynamic"), 2048)),
    Entry(ErrorFeedback(MinMax()), even(255, 512)),
    Entry(ErrorFeedback(KLevel(32, block=64)), even(31, 64)),
    Entry(ErrorFeedback(Rotated()), nothing),
    Entry(ErrorFeedback(Natural()), powers, top=1.5e38),
    Entry(ErrorFeedback(Dithering()), coded(signed(powers_of_two(7)), 256)),
    Entry(ErrorFeedback(NUQSGD(block=64)), spikes(64)),
    Entry(ErrorFeedback(Levels()), coded((-1, -0.4, -0.15, -0.05, 0, 0.05, 0.15, 0.4, 1), 256)),
    Entry(ErrorFeedback(ThreeLC()), coded((-1, 0, 1), 1024)),
    Entry(ErrorFeedback(Quantile()), level, top=1.5e38),  # a cell may hold numbers of both signs
    Entry(ErrorFeedback(OneBit()), two_values),
    Entry(ErrorFeedback(Drive(block=64, scale="mse")), spikes(64), _PRODUCT, top=_MATRIX_TOP),
    Entry(ErrorFeedback(Eden(block=64, scale="mse")), spikes(64), _PRODUCT, top=_MATRIX_TOP),
    Entry(ErrorFeedback(DQSGD(total=4, scale=0.1)), nothing),
    Entry(ErrorFeedback(AsyLPG()), grid(2, 256)),
    Entry(ErrorFeedback(RandomK(0.1)), drawn(0.1)),
    Entry(ErrorFeedback(RandomK(0.8)), nothing),
    Entry(ErrorFeedback(PowerSGD(1)), low_rank(1), _PRODUCT, top=_MATRIX_TOP),
    Entry(ErrorFeedback(PowerSGD(2)), low_rank(2), _PRODUCT, top=_MATRIX_TOP),
    Entry(ErrorFeedback(TopK(0.1) | QSGD(4)), sparse(0.1, plus_minus)),
    Entry(ErrorFeedback(TopK(0.1) | Sign()), sparse(0.1, plus_minus)),
    Entry(ErrorFeedback(TopK(0.5) | QSGD(2, norm="l2")), nothing),  # damped: the variance of its values is large
    Entry(ErrorFeedback(RandomK(0.2) | QSGD(4)), nothing, top=3e37),  # five times as large on the way, and remembered
    # Sparsifiers.
    Entry(STC(0.1), sparse(0.1, plus_minus)),
    Entry(SBC(0.1), sparse(0.1, ones)),
    Entry(Proportion(0.1), one_each),
    Entry(BlockTopK(0.3, block=8), some_blocks(0.3, 8)),
    Entry(AdaComp(50), level),
    Entry(AdaComp(100), level),
    Entry(VGC(0.5), octaves),
    Entry(DGC(0.05, momentum=0), sparse(0.05, plus_minus)),
    Entry(DGC(0.02, clip=1000), sparse(0.02, plus_minus)),
    Entry(SparseLoCo(8, chunk=64), of_chunks(8, 64)),
    Entry(SparseLoCo(16, chunk=300), of_chunks(16, 300)),
    Entry(DCT(8, chunk=8), cosines(8, 8), _PRODUCT, top=_MATRIX_TOP),
    Entry(ErrorFeedback(STC(0.05)), sparse(0.05, plus_minus)),
    Entry(ErrorFeedback(SBC(0.05)), sparse(0.05, ones)),
    Entry(ErrorFeedback(Proportion(1 / 64)), one_each),
    Entry(ErrorFeedback(BlockTopK(0.1, block=16)), some_blocks(0.1, 16)),
    Entry(ErrorFeedback(SparseLoCo(8, chunk=64)), of_chunks(8, 64)),
    Entry(ErrorFeedback(DCT(20, chunk=16)), cosines(20, 16), _PRODUCT, top=_MATRIX_TOP),
    Entry(RandomMask(0.2), drawn(0.2)),
    Entry(RandomBlock(0.3), nothing),
    Entry(Bernoulli(0.3), nothing),
    Entry(Bernoulli(0.3) | Fp16(), nothing),
    Entry(OwnMask(0.3), nothing),
    Entry(OwnMask(1), anything),
    Entry(IBCD(0.4, block=8), nothing),
    Entry(Wangni(0.1), sparse(0.1)),
    Entry(ErrorFeedback(RandomMask(0.1)), drawn(0.1)),
    Entry(ErrorFeedback(RandomBlock(0.4)), nothing),
    Entry(ErrorFeedback(Bernoulli(0.2)), nothing),
    Entry(ErrorFeedback(OwnMask(0.1)), nothing),
    Entry(ErrorFeedback(IBCD(0.2, block=16)), nothing, top=3e37),
    Entry(ErrorFeedback(Wangni(0.1)), nothing),
    Entry(MSTopK(0.1), sparse(0.1)),
    Entry(Threshold(0.5), level),
    Entry(Threshold(1.5), sparse(0.02, plus_minus)),
    Entry(GradDrop(0.1, sample=0.2), sparse(0.1, plus_minus)),
    Entry(RedSync(0.1), sparse(0.1)),
    Entry(GaussianK(0.1), sparse(0.1, plus_minus)),
    Entry(SIDCo(0.1), sparse(0.1, plus_minus)),
    Entry(SIDCo(0.02, fit="gamma", stages=2), sparse(0.02, plus_minus)),
    Entry(Threshold(1.5) | QSGD(4), sparse(0.1, plus_minus)),
    Entry(ErrorFeedback(MSTopK(0.02)), sparse(0.02)),
    Entry(ErrorFeedback(Threshold(1.5)), sparse(0.1, plus_minus)),
    Entry(ErrorFeedback(GradDrop(0.1, sample=0.2)), sparse(0.1, plus_minus)),
    Entry(ErrorFeedback(RedSync(0.02)), sparse(0.02)),
    Entry(ErrorFeedback(GaussianK(0.1)), sparse(0.1, plus_minus)),
    Entry(ErrorFeedback(SIDCo(0.02, fit="gpareto")), sparse(0.02, plus_minus)),
    Entry(ErrorFeedback(RedSync(0.1) | Sign()), sparse(0.1, plus_minus)),
    # Sparse collectives.
    Entry(GTopK(0.1), whole(sparse(0.1)), top=_SUM_TOP),
    Entry(SparCML(TopK(0.1)), whole(sparse(0.1))),
    Entry(OmniReduce(Identity(), block=8), anything),
    Entry(OkTopk(0.1), whole(sparse(0.1))),
    Entry(HiTopK(0.1, node=2), whole(sparse(0.1), 2), top=_SUM_TOP),
    Entry(Sketch(0.02, width=0.2), whole(sparse(0.02))),
    Entry(ErrorFeedback(GTopK(0.05)), whole(sparse(0.05)), top=_SUM_TOP),
    Entry(ErrorFeedback(SparCML(Threshold(1.5))), whole(sparse(0.1, plus_minus))),
    Entry(ErrorFeedback(OmniReduce(BlockTopK(0.1, block=8), block=8)), whole(some_blocks(0.1, 8))),
    Entry(ErrorFeedback(OkTopk(0.05, reuse=3, rebalance=2)), whole(sparse(0.05))),
    Entry(ErrorFeedback(HiTopK(0.05, node=3)), whole(sparse(0.05), 3), top=_SUM_TOP),
    Entry(ErrorFeedback(Sketch(0.02, width=0.1, rows=3)), whole(sparse(0.02))),
    # Codings.
    Entry(TopK(0.1) | Golomb(), sparse(0.1)),
    Entry(TopK(0.02) | Varint(), sparse(0.02)),
    Entry(TopK(0.02) | RunLength(), sparse(0.02)),
    Entry(TopK(0.25) | Bitmap(), sparse(0.25)),
    Entry(TopK(0.02) | Fixed(), sparse(0.02)),
    Entry(TopK(0.1) | QSGD(4) | Elias(), sparse(0.1, plus_minus)),
    Entry(TopK(0.1) | Fp16() | EliasGamma(), sparse(0.1, small_integers)),
    Entry(TopK(0.1) | Sign() | EliasDelta(), sparse(0.1, plus_minus)),
    Entry(Threshold(1.5) | Golomb(), sparse(0.1, plus_minus)),
    Entry(QSGD(4) | Huffman(), grid(4, 256)),
    Entry(QSGD(4, block=64, norm="l2") | Elias(), spikes(64)),
    Entry(QSGD(2) | Quartic(), grid(2, 256)),
    Entry(QSGD(2) | ZeroRun(), grid(2, 256)),
    Entry(RandomK(0.2) | QSGD(4) | Huffman(), nothing),
    Entry(ErrorFeedback(TopK(0.1) | Golomb()), sparse(0.1)),
    Entry(ErrorFeedback(TopK(0.1) | QSGD(4) | Golomb() | Huffman()), sparse(0.1, plus_minus)),
    Entry(ErrorFeedback(QSGD(4) | Huffman()), grid(4, 256)),
    Entry(SBC(0.1) | Golomb(), sparse(0.1, ones)),
    Entry(ErrorFeedback(STC(0.05) | Golomb()), sparse(0.05, plus_minus)),
    Entry(ErrorFeedback(Proportion(1 / 64) | Golomb()), one_each),
    Entry(ErrorFeedback(RedSync(0.1) | Sign() | Golomb()), sparse(0.1, plus_minus)),
    Entry(KLevel(16) | Huffman(), even(15, 512)),
    Entry(Natural() | Huffman(), powers, top=1.5e38),
    Entry(Dithering() | EliasDelta(), coded(signed(powers_of_two(7)), 256)),
    Entry(EightBit() | Huffman(), coded(table("dynamic"), 2048)),
    Entry(ErrorFeedback(ThreeLC() | Huffman()), coded((-1, 0, 1), 1024)),
    Entry(ErrorFeedback(TopK(0.1) | Natural() | Elias()), sparse(0.1, twos)),
    Entry(ByShape(PowerSGD(2)), split(low_rank(2), anything), _PRODUCT, top=_MATRIX_TOP),
    Entry(ByShape(PowerSGD(2), rest=QSGD(8)), split(low_rank(2), grid(8, 256)), _PRODUCT, top=_MATRIX_TOP),
    Entry(ByShape(QSGD(4), rest=TopK(0.5)), split(grid(4, 256), sparse(0.5))),
    Entry(ByShape(TopK(0.1) | Fp16(), rest=Fp16()), split(sparse(0.1, small_integers), integers), _HALF),
    Entry(ByShape(ErrorFeedback(TopK(0.1)), rest=Bf16()), split(sparse(0.1), integers), _BRAIN),
    Entry(ErrorFeedback(ByShape(Sign(), rest=TopK(0.5))), split(level, sparse(0.5))),
    Entry(
        ErrorFeedback(ByShape(PowerSGD(1), rest=Identity())), split(low_rank(1), anything), _PRODUCT, top=_MATRIX_TOP
    ),
    Entry(Atomo(2), low_rank(2), _PRODUCT, top=_MATRIX_TOP),
    Entry(ErrorFeedback(Atomo(3)), nothing, _PRODUCT, top=_MATRIX_TOP),
    Entry(GradZip(2), nothing, _PRODUCT, top=_MATRIX_TOP),
    Entry(ErrorFeedback(GradZip(1)), nothing, _PRODUCT, top=_MATRIX_TOP),
    Entry(GradiVeQ(4, slice=16, collect=1, use=3), firsts(4, 16)),
    Entry(ErrorFeedback(GradiVeQ(2, slice=8, collect=2, use=2)), firsts(2, 8), _PRODUCT, top=_MATRIX_TOP),
    Entry(EFAveraged(TopK(0.1)), sparse(0.1)),
    Entry(EFAveraged(Sign(), every=50), level),
    Entry(EFDecay(TopK(0.1)), sparse(0.1)),
    Entry(EFDecay(Sign(), beta=1.0), level),
    Entry(Momentum(TopK(0.1)), sparse(0.1)),
    Entry(Momentum(Sign(block=16)), level),
    Entry(Momentum(Identity()), anything),
    Entry(GMC(TopK(0.1)), sparse(0.1)),
    Entry(DistEF(Sign()), nothing, top=1e38),
    Entry(DistEF(TopK(0.1), beta=0.0), sparse(0.1)),
    Entry(EF21(TopK(0.1)), sparse(0.1)),
    Entry(EF21(Sign(), average=0.1), level),
    Entry(DoubleSqueeze(TopK(0.1)), dealt(sparse(0.1))),
    Entry(Clipped(ErrorFeedback(TopK(0.1)), norm=100.0), sparse(0.1)),
    Entry(Warmup(TopK(0.05), steps=4, stages=2), sparse(0.05)),
    Entry(ErrorFeedback(Warmup(TopK(0.05), steps=3, stages=3)), sparse(0.05)),
    Entry(DenseFirst(Sign(), steps=2), level, _TWO_SUMS),
    Entry(ErrorFeedback(DenseFirst(Sign(), steps=2)), level, _TWO_SUMS),
    Entry(Accordion(TopK(0.5), TopK(0.1), window=2), sparse(0.5)),
    Entry(Paced(TopK(0.5), within=1e6, window=2), sparse(0.5)),
    Entry(ErrorFeedback(Paced(QSGD(4), within=1e6, window=2, rungs=2)), nothing),
    Entry(ErrorFeedback(Accordion(PowerSGD(2), PowerSGD(1), window=2)), low_rank(2), _PRODUCT, top=_MATRIX_TOP),
    Entry(ByTensor(TopK(0.25)), pieces_of(ByTensor(TopK(0.25)), sparse(0.25))),
    Entry(ErrorFeedback(ByTensor(Sign())), level),
    Entry(_DENY, pieces_of(_DENY, sparse(0.1), anything), _TWO_SUMS),
    Entry(ErrorFeedback(Filtered(Sign(), min_numel=100)), level, _TWO_SUMS),
    Entry(_PAYS, pieces_of(_PAYS, grid(4, 256), anything), _TWO_SUMS),
    Entry(ErrorFeedback(Selective(Sign(), gbits=0.1)), level, _TWO_SUMS),
    Entry(CGX(), pieces_of(ByTensor(QSGD(8)), grid(8, 256))),
    Entry(ErrorFeedback(CGX(low=4)), pieces_of(ByTensor(QSGD(8)), grid(8, 256))),
    Entry(LAGS(0.05, high=0.5), sparse(0.05)),
    Entry(ErrorFeedback(LAGS(0.1, high=0.5)), sparse(0.1)),
)
