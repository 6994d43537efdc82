"""Every plan says what it asks the model to bear."""

from __future__ import annotations

import pytest

from laconic.compress import ALL as COMPRESSORS
from laconic.compress import AbstractCompressor
from laconic.plan import Plan
from laconic.planner.risk import Risk, risk
from laconic.sync import ALL, BSP, Silent

CLASSES = {
    Risk.LOSSLESS: "none; omnireduce(none); randomk(1)",
    Risk.ROUNDED: "bf16; fp16; dense_first(bf16); filtered(bf16, deny='bias'); by_shape(bf16); selective(fp16)",
    Risk.UNBIASED: (
        "randomk(0.1); randomblock(0.1); bernoulli(0.1); ibcd(0.1); wangni(0.1); qsgd; klevel; rotated; "
        "natural; dithering; nuqsgd; levels; global_qsgd; terngrad(0); alq; amq; dqsgd(4, scale=0.1); "
        "asylpg(0.05); diana; cgx(0.05); atomo(2); qsgd | huffman; randomk(0.1) | qsgd; "
        "accordion(qsgd(8), qsgd(4)); by_tensor(qsgd)"
    ),
    Risk.BIASED: (
        "ef(topk(0.01)); ef(qsgd(4)); ef(powersgd(4)); ef(bf16); ef(dense_first(sign)); "
        "ef(filtered(sign, allow='fc')); dense_first(ef(topk(0.01))); "
        "filtered(ef(topk(0.01)), allow='fc'); by_shape(ef(topk(0.01))); "
        "by_shape(ef(topk(0.01)), rest=bf16); ef21(topk(0.1)); ef_averaged(topk(0.1)); "
        "ef_decay(topk(0.1), beta=1); ecq(alpha=0.5, beta=1); dist_ef(sign); doublesqueeze(topk(0.1)); "
        "momentum(topk(0.1)); gmc(topk(0.1)); dgc(0.01); strom(1); adacomp; vgc"
    ),
    Risk.UNMENDED: (
        "topk(0.01); randommask(0.1); ownmask(0.1); mstopk(0.1); threshold(1.5); graddrop(0.1); "
        "redsync(0.1); gaussiank(0.1); sidco(0.1); sbc(0.1); stc(0.1); proportion(0.1); blocktopk(0.1); "
        "sparseloco(8); dct(8); gtopk(0.1); sparcml(topk(0.1)); oktopk(0.1); hitopk(0.1, node=2); "
        "sketch(0.1); sign; fp8; eightbit; minmax; threelc; quantile; onebit; signsgd; majority; signum; "
        "drive; eden; terngrad; powersgd(4); powersgd(1000); gradzip(4); gradiveq(4); lags(0.1); "
        "accordion(powersgd(4), powersgd(1)); by_tensor(powersgd(4)); by_shape(topk(0.01)); "
        "by_shape(powersgd(2)); filtered(topk(0.01), allow='fc'); "
        "filtered(topk(0.01), min_numel=2000000); selective(topk(0.01), gbits=1000); warmup(topk(0.01)); "
        "paced(topk(0.5)); topk(0.1) | qsgd; topk(0.1) | golomb; by_shape(ef(topk(0.1)), rest=sign); "
        "ef_decay(topk(0.1)); ef_decay(topk(0.1), beta=0); ecq; clipped(ef(topk(0.1))); laq(patience=0)"
    ),
    Risk.STALE: "laq; filtered(laq, deny='bias')",
}
CLASSED = [(text, kind) for kind, texts in CLASSES.items() for text in texts.split("; ")]


@pytest.mark.parametrize(("text", "expected"), CLASSED)
def test_a_compressor_is_as_risky_as_the_worst_it_may_do(text: str, expected: Risk) -> None:
    assert risk(Plan.parse(text)) is expected


def test_every_compressor_has_its_class_told_here() -> None:
    def kinds(compressor: AbstractCompressor) -> set[type[AbstractCompressor]]:
        return {type(compressor)}.union(*(kinds(part) for part in compressor.parts))

    assert set().union(*(kinds(Plan.parse(text).compress) for text, _ in CLASSED)) == set(COMPRESSORS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", Risk.LOSSLESS),
        ("allreduce(ring)", Risk.LOSSLESS),
        ("planned", Risk.LOSSLESS),
        ("ps(servers=2)", Risk.LOSSLESS),
        ("bf16", Risk.ROUNDED),
        ("qsgd(bits=4)", Risk.UNBIASED),
        ("ef(topk(0.01))", Risk.BIASED),
        ("topk(0.01)", Risk.UNMENDED),
        ("local(4)", Risk.STALE),
        ("gossip(ring)", Risk.STALE),
        ("asp / ps", Risk.STALE),
        ("ssp(3) / ps", Risk.STALE),
        ("downpour(4) / ps", Risk.STALE),
        ("backup / ps", Risk.STALE),
        ("post_local(10)", Risk.STALE),
        ("blocks(4)", Risk.STALE),
        ("lag", Risk.STALE),
    ],
)
def test_every_plan_says_what_it_asks_the_model_to_bear(text: str, expected: Risk) -> None:
    assert risk(Plan.parse(text)) is expected


def test_only_a_step_of_all_together_can_be_lossless() -> None:
    for kind in set(ALL) - {BSP, Silent}:
        servers = " / ps" if getattr(kind, "only_servers", False) else ""
        assert risk(Plan.parse(f"{kind.name}{servers}")) is Risk.STALE
