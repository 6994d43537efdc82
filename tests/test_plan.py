"""Plans: four answers in any order, one sentence for each mistake, and texts that come back."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laconic import baseline
from laconic.baseline import Baseline
from laconic.catalogue import catalogue
from laconic.components import COMPONENTS, component
from laconic.compress import (
    QSGD,
    AbstractCompressor,
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
from laconic.core.errors import PlanError
from laconic.plan import Plan, check_text
from laconic.schedule import Fifo, Fused, Wfbp
from laconic.sync import BSP, Local, Silent
from laconic.topology import AllReduce
from laconic.topology.programs import NAMES


def test_what_is_left_out_takes_its_default():
    assert Plan.parse("none") == Plan()
    assert Plan.parse("bsp") == Plan()
    assert str(Plan()) == "bsp / allreduce / none / fused"


def test_parts_may_stand_in_any_order():
    assert Plan.parse("fused / ef(topk(0.01)) / local(8)") == Plan.parse("local(8) / ef(topk(0.01)) / fused")


def test_the_example_of_the_design_but_for_gossip():
    plan = Plan.parse("local(8) / ef(topk(0.01) | qsgd(bits=4)) / fused")
    assert plan == Plan(sync=Local(8), compress=ErrorFeedback(TopK(0.01) | QSGD(4)))


def test_case_spaces_and_fractions_do_not_matter():
    assert Plan.parse("  EF( TopK( 1/4 ) )/FIFO(bucket = 2MiB)") == Plan(
        compress=ErrorFeedback(TopK(0.25)), schedule=Fifo("2MiB")
    )


def test_a_chain_of_three_is_refused_since_a_chain_does_not_choose():
    with pytest.raises(PlanError, match="chooses elements"):
        Plan.parse("topk(0.1) | qsgd(4) | fp16")


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("tokp(0.01)", 0, "unknown name 'tokp'. Did you mean topk"),
        ("local(8) / ef(topkk(0.01))", 14, "unknown name 'topkk'. Did you mean topk"),
        ("chain(topk, qsgd)", 0, "unknown name 'chain'"),
        ("topk(ratoi=0.01)", 11, "topk has no 'ratoi'. Did you mean ratio"),
        ("topk(0.01, 5)", 11, "topk takes 1 values: ratio"),
        ("wfbp(3)", 5, "wfbp takes no values"),
        ("local(8, outer=none)", 15, "wants an outer part, got none"),
        ("by_shape(none)", 0, "treated alike. Use none"),
        ("topk(0.01, ratio=0.1)", 17, "topk is given 'ratio' twice"),
        ("topk(many)", 5, "wants a number, got 'many'"),
        ("qsgd(4.5)", 5, "wants a whole number, got 4.5"),
        ("local(x)", 6, "wants a whole number, got 'x'"),
        ("ef(3)", 3, "expected an algorithm, got 3"),
        ("ef", 0, "ef needs 'inner'"),
        ("by_shape(rest=fp16)", 0, "by_shape needs 'matrices'"),
        ("topk(0.1) / qsgd(4)", 12, "qsgd(4) is a second compress part beside topk(0.1)"),
        ("local(8) / bsp", 11, "bsp is a second sync part beside local(8)"),
        ("local(8) | topk(0.1)", 0, "'|' joins compressors and codings, not local(8) and topk(0.1)"),
        ("none / topk(2)", 7, "the share of elements to keep must be above 0 and at most 1"),
        ("topk(0)", 0, "must be above 0"),
        ("qsgd(9)", 0, "bits must be 2 to 8"),
        ("qsgd(1)", 0, "for 1 bit use ef(sign)"),
        ("qsgd(4, block=7)", 0, "a block is a multiple of 8"),
        ("qsgd(4, norm=l3)", 0, "'max' or 'l2'"),
        ("sign(12)", 0, "a block is a multiple of 8"),
        ("powersgd(0)", 0, "a whole number from 1 up"),
        ("local(0)", 0, "a whole number from 1 up"),
        ("fused(bucket=big)", 0, "'big' is not a size"),
        ("fused(0)", 0, "less than a byte"),
        ("allreduce(route=ring)", 0, "the route is auto, gather or deal"),
        ("allreduce(gather)", 0, "this is a route. Write allreduce(route=gather)"),
        ("allreduce(spiral)", 0, "the algorithm is one of native, auto, ring"),
        ("allreduce(ring, groups=2)", 0, "groups= has no effect here, only with hierarchical or masters"),
        ("allreduce(torus, rows=-1)", 0, "give a number from 1 to 4096"),
        ("allreduce(blueconnect, factors=2y3)", 0, "as in 2x2x3"),
        ("ef(none)", 0, "nothing is lost without compression"),
        ("ef(ef(topk(0.1)))", 0, "already remembers its error"),
        ("ef(by_shape(ef(topk(0.1))))", 0, "already remembers its error"),
        ("ef(by_shape(randomk(0.1), rest=fp16))", 0, "promises no bound"),
        ("qsgd(4) | topk(0.1)", 0, "the left side of '|' chooses elements"),
        ("topk(0.1) | powersgd(4)", 0, "the right side of '|' writes values"),
        ("topk(0.1) | randomk(0.1)", 0, "the right side of '|' writes values"),
        ("ef(bsp)", 3, "ef(inner=...) wants a compress part, got bsp"),
    ],
)
def test_an_error_says_what_is_wrong_and_points_at_it(text: str, place: int, problem: str):
    with pytest.raises(PlanError) as caught:
        Plan.parse(text)
    sentence, shown, marker = str(caught.value).rsplit("\n", 2)
    assert problem in sentence
    assert shown == f"    {text}"
    assert marker.index("^") == 4 + place


@pytest.mark.parametrize("text", ["auto", "Auto", "auto(lossy)", "auto / ps"])
def test_auto_is_no_plan_and_that_is_said_in_one_sentence(text: str):
    with pytest.raises(PlanError) as caught:
        Plan.parse(text)
    assert "`laconic run --plan auto train.py`" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_an_empty_text_is_refused_with_an_example(text: str):
    with pytest.raises(PlanError, match=r"empty. Write for example 'ef\(topk"):
        Plan.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "silent / topk(0.1)",
        "silent / ps",
        "silent / allreduce(ring)",
        "silent / fused(4MiB)",
        "allreduce(route=deal)",
        "allreduce(route=gather) / fp16",
        "allreduce(route=deal) / ef(powersgd(2))",
        "allreduce(route=deal) / by_shape(powersgd(2), fp16)",
        "allreduce(route=deal) / diana",  # always gathered
        "allreduce(route=gather) / doublesqueeze(sign)",  # always dealt
        "ps(reply=all)",
        "ps(reply=all) / ssp(2) / qsgd",
        "ps(reply=encode) / lag / qsgd(8)",
        "allreduce(route=deal) / cmfl / qsgd(8)",
    ],
)
def test_an_option_without_effect_is_refused(text: str):
    with pytest.raises(PlanError, match="would have no effect"):
        Plan.parse(text)


@pytest.mark.parametrize(
    "text", ["qsgd", "ef(topk(0.1))", "by_shape(powersgd(2), qsgd)", "ssp(2) / ef(sign)", "signum"]
)
def test_a_route_may_be_chosen_for_messages_that_take_one(text: str):
    assert Plan.parse(f"allreduce(route=gather) / {text}").topology.told == "route=gather"


@pytest.mark.parametrize("slots", [{"sync": TopK()}, {"compress": BSP()}, {"schedule": None}])
def test_a_component_in_the_wrong_slot_is_refused(slots: dict[str, object]):
    with pytest.raises(PlanError, match="not a "):
        Plan(**slots)  # type: ignore[arg-type]


def test_a_component_from_its_text():
    assert component("qsgd(bits=2)") == QSGD(2)
    with pytest.raises(PlanError, match="expected a single component"):
        component("none / bsp")


def test_plans_are_values():
    assert Plan.parse("topk(0.5)") == Plan(compress=TopK(0.5))
    assert len({Plan(), Plan.parse("none"), Plan.parse("fp16")}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        Plan().sync = Local(3)  # type: ignore[misc]


def test_the_fingerprint_is_16_hex_digits():
    assert Plan().fingerprint == Plan.parse("none").fingerprint
    assert len(Plan().fingerprint) == 16
    int(Plan().fingerprint, 16)
    assert Plan().fingerprint != Plan(compress=Fp16()).fingerprint


def test_json_by_hand():
    data = json.loads(Plan(compress=ErrorFeedback(TopK(0.5))).to_json())
    assert data["compress"] == {"name": "ef", "inner": {"name": "topk", "ratio": 0.5}}
    assert data["sync"] == {"name": "bsp"}
    assert Plan.from_json('{"compress": "topk(0.5)", "sync": {"name": "local", "h": 2}}') == Plan(
        sync=Local(2), compress=TopK(0.5)
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not JSON"),
        ("[1]", "expected an object"),
        ('{"comprss": "none"}', "unknown key 'comprss'. Did you mean compress"),
        ('{"compress": 3}', "should be text or an object with a 'name'"),
        ('{"compress": {"ratio": 1}}', "should be text or an object with a 'name'"),
        ('{"compress": {"name": "topkk"}}', "unknown name 'topkk'. Did you mean topk"),
        ('{"compress": {"name": "topk", "k": 1}}', "topk has no 'k'"),
        ('{"compress": {"name": "ef"}}', "inner"),
        ('{"compress": {"name": "ef", "inner": {"name": "bsp"}}}', "compress.inner wants a compress part, got bsp"),
        ('{"compress": {"name": "topk", "ratio": "x"}}', "compress.ratio wants a number, got 'x'"),
        ('{"compress": {"name": "topk", "ratio": 7}}', "above 0 and at most 1"),
        ('{"compress": {"name": "qsgd", "bits": 4.5}}', "compress.bits wants a whole number, got 4.5"),
        ('{"sync": "topk(0.1)"}', "not a sync component"),
    ],
)
def test_bad_json_gets_a_plan_error(text: str, problem: str):
    with pytest.raises(PlanError) as caught:
        Plan.from_json(text)
    assert problem in str(caught.value)


@pytest.mark.parametrize("bits", [4.0, True, "4", None])
def test_a_number_of_another_type_is_refused_when_the_object_is_built(bits: object):
    with pytest.raises(PlanError):
        QSGD(bits)  # type: ignore[arg-type]


def test_every_name_can_be_read():
    for name, kind in COMPONENTS.items():
        if all(f.default is not dataclasses.MISSING for f in dataclasses.fields(kind)):  # type: ignore[arg-type]
            assert component(name) == kind()


def test_every_example_of_the_list_can_be_read():
    for entry in catalogue():
        assert str(component(entry.usage)) == entry.usage


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ddp", Baseline()),
        (" ddp + bf16 ", Baseline("bf16")),
        ("DDP+fp16", Baseline("fp16")),
        ("ddp+powersgd(2)", Baseline("powersgd", 2)),
        ("ddp+powersgd", Baseline("powersgd", 4)),
        ("topk(0.1)", None),
    ],
)
def test_baselines_have_names_of_their_own(text: str, found: Baseline | None):
    assert baseline.parse(text) == found
    if found is not None:
        assert baseline.parse(str(found)) == found
        assert check_text(text) == str(found)


@pytest.mark.parametrize("text", ["ddp+topk", "ddp+fp16(3)", "ddp+powersgd(0)", "ddpx", "ddp+"])
def test_what_is_no_baseline_is_refused(text: str):
    with pytest.raises(PlanError, match="not a baseline"):
        check_text(text)


ratios = st.floats(1e-6, 1.0)
blocks = st.integers(1, 512).map(lambda n: 8 * n)
sizes = st.builds("{}{}".format, st.integers(1, 99), st.sampled_from(["KiB", "MiB", "kb", ""]))
NONE = Identity()
selectors = st.builds(TopK, ratios) | st.builds(RandomK, ratios)
quantizers = (
    st.builds(QSGD, st.integers(2, 8), blocks, st.sampled_from(["max", "l2"]))
    | st.builds(Sign, blocks)
    | st.sampled_from([Fp16(), Bf16()])
)
leaves = (
    selectors
    | quantizers
    | st.builds(PowerSGD, st.integers(1, 64))
    | st.just(Identity())
    | st.builds(Chain, selectors, quantizers)
)


def _by_shape(matrices: AbstractCompressor, rest: AbstractCompressor = NONE) -> AbstractCompressor:
    return matrices if matrices == rest else ByShape(matrices, rest)


def _remembering(inner: AbstractCompressor) -> AbstractCompressor:
    try:
        return ErrorFeedback(inner)
    except PlanError:
        return inner


compressors = st.recursive(
    leaves,
    lambda inner: st.builds(_by_shape, inner, inner) | st.builds(_by_shape, inner) | inner.map(_remembering),
    max_leaves=4,
)


def _plan(**parts: Any) -> Plan:
    """Routes are for those who take one."""
    if parts["topology"].told and not parts["compress"].routed:
        parts["topology"] = dataclasses.replace(parts["topology"], route_by="auto")
    return Plan(**parts)


plans = st.builds(
    _plan,
    sync=st.builds(Local, st.integers(1, 10**6)) | st.just(BSP()),
    topology=st.builds(
        AllReduce, st.sampled_from(["native", *NAMES]), route_by=st.sampled_from(["auto", "gather", "deal"])
    )
    | st.sampled_from([AllReduce("hierarchical", groups=2), AllReduce("mesh", rows=3), AllReduce("auto")])
    | st.sampled_from([AllReduce("blueconnect", factors="2x3"), AllReduce("double_tree", pieces=4)]),
    compress=compressors,
    schedule=st.builds(Fused, sizes, sizes) | st.builds(Fifo, sizes) | st.just(Wfbp()),
) | st.just(Plan(sync=Silent()))


@given(plans)
def test_any_plan_survives_text_and_json(plan: Plan):
    assert Plan.parse(str(plan)) == plan
    assert str(Plan.parse(str(plan))) == str(plan)
    assert Plan.from_json(plan.to_json()) == plan


@given(plans, st.randoms(use_true_random=False))
def test_any_plan_survives_in_any_order(plan: Plan, random: object):
    parts = str(plan).split(" / ")
    random.shuffle(parts)  # type: ignore[attr-defined]
    assert Plan.parse("  /".join(parts)) == plan


@given(st.text(alphabet="topkefqsgd(0.1,)|/= 'MiB-", max_size=25))
def test_any_other_text_is_a_plan_or_a_plan_error(text: str):
    try:
        plan = Plan.parse(text)
    except PlanError:
        return
    assert Plan.parse(str(plan)) == plan


@given(plans, plans)
def test_fingerprints_are_equal_only_for_equal_plans(a: Plan, b: Plan):
    assert (a.fingerprint == b.fingerprint) == (a == b)
