"""Steps in virtual time: worked examples, the runtime's own buckets, and the size of the job."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from laconic.drive.asked import Kind
from laconic.drive.simulate import told
from laconic.plan import Plan
from laconic.sim.exchanges import Setting
from laconic.sim.fluid import Both, Fluid, Gate, Need, On
from laconic.sim.machine import Coding, Machine
from laconic.sim.model import ModelTable, from_dict, table
from laconic.sim.models import layer_table
from laconic.sim.network import Line, Network, parse_line
from laconic.sim.pace import pace
from laconic.sim.step import simulate
from laconic.sim.stragglers import parse_stragglers

FAST = Network(Line(0.0, 0.0))
FREE = Machine(coding=Coding(0.0, 0.0))


def toy(layers: int = 4, numel: int = 1_000_000) -> ModelTable:
    """Each layer 1 s forward, 2 s backward."""
    return table("toy", [(f"w{i}", (numel,)) for i in range(layers)], [1.0] * layers, batch=1)


def test_threads_share_cores_and_messages_share_a_line() -> None:
    fluid = Fluid(cores=1.0)
    for name, need in (("a", On.COMPUTE), ("b", On.CODE), ("c", On.LINE), ("d", On.LINE)):
        fluid.add(name, iter([Need(need, 1.0)]))  # type: ignore[arg-type]
    fluid.run()
    assert fluid.ended == dict.fromkeys("abcd", 2.0)


def test_an_actor_waits_for_its_gate_and_for_both_of_its_needs() -> None:
    fluid, gate = Fluid(), Gate()

    def first():
        yield Need(On.CLOCK, 3.0)
        fluid.open(gate)

    def second():
        yield gate
        yield Both(Need(On.LINE, 2.0), Need(On.CODE, 1.0))

    fluid.add("first", first())
    fluid.add("second", second())
    assert fluid.run() == 5.0


def test_overlap_slows_a_line_while_a_worker_computes() -> None:
    fluid = Fluid(overlap=0.25)
    fluid.add("model", iter([Need(On.COMPUTE, 4.0)]))  # type: ignore[arg-type]
    fluid.add("bytes", iter([Need(On.LINE, 2.0)]))  # type: ignore[arg-type]
    fluid.run()
    assert fluid.ended["bytes"] == pytest.approx(5.0)  # 4 s at a quarter, the second that is left at full speed


def test_without_a_network_a_step_takes_what_one_worker_takes() -> None:
    for text in ("none", "ef(topk(0.01))", "local(8)"):
        step = simulate(Plan.parse(text), Setting(toy(), FAST, 8, FREE))
        assert step.seconds == pytest.approx(12.0)


def test_wait_free_backpropagation_follows_its_recursion() -> None:
    """start[l] = max(start[l+1] + tc, R[l]); one lane is one FIFO line. The vote rides with the last tensor."""
    model, line = toy(), Line(0.5, 1e-6)
    tc = 6 * 0.5 + 1.5 * 4e6 * 1e-6  # a ring of four
    end = 0.0
    for ready in (6.0, 8.0, 10.0, 12.0):  # after 4 s of forward
        end = max(end, ready) + tc
    vote = 1.5 * 8 * 4  # bytes: two flags for each of four tensors
    step = simulate(Plan.parse("wfbp"), Setting(model, Network(line), 4, replace(FREE, lanes=1)))
    assert step.seconds == pytest.approx(end + vote * 1e-6, rel=1e-6)
    assert step.sent_bytes == pytest.approx(4 * 1.5 * 4e6 + vote)
    after = simulate(Plan.parse("fifo"), Setting(model, Network(line), 4, replace(FREE, lanes=1)))
    assert after.seconds == pytest.approx(12 + tc + 1.5 * 12e6 * 1e-6 + vote * 1e-6, rel=1e-6)


def test_chunks_say_the_same_bytes_in_more_messages() -> None:
    setting = Setting(toy(), Network(Line(0.0, 1e-8)), 4, FREE)
    whole, cut = (simulate(Plan.parse(f"fused(100MiB, first=100MiB{c})"), setting) for c in ("", ", chunk=1MiB"))
    flags = 8 * 4
    assert cut.sent_bytes - 3 * flags == pytest.approx(
        whole.sent_bytes - 1.5 * flags
    )  # a vote of their own is gathered
    assert cut.messages > 4 * whole.messages


def test_ranks_that_share_cores_cannot_be_faster_than_their_work() -> None:
    machine = Machine(cores=0.5, coding=Coding(1e-6, 1e-6))
    step = simulate(Plan.parse("qsgd(bits=4)"), Setting(toy(), FAST, 4, machine))
    work = 12.0 + 4 * (1 + 2 + 0.25) * 1.0  # deal: encode, decode, a quarter encoded again, decode
    assert step.seconds == pytest.approx(work / 0.5, rel=1e-3)


def test_local_steps_talk_once_in_a_while() -> None:
    setting = Setting(toy(), parse_line_network("1mbit:1ms"), 4, FREE)
    every, eighth = simulate(Plan.parse("local(1)"), setting), simulate(Plan.parse("local(8)"), setting)
    assert eighth.exposed_s == pytest.approx(every.exposed_s / 8)
    assert eighth.sent_bytes == pytest.approx(every.sent_bytes / 8)


def parse_line_network(text: str) -> Network:
    return Network(parse_line(text))


def test_gossip_does_not_care_how_many_there_are() -> None:
    steps = [
        simulate(Plan.parse("gossip(ring)"), Setting(toy(), parse_line_network("100mbit:1ms"), n, FREE)).seconds
        for n in (8, 64)
    ]
    assert steps[0] == pytest.approx(steps[1])


@pytest.mark.parametrize("text", ["lognormal(0.3)", "exp(0.2)", "slow(2, 1)"])
def test_everyone_waits_for_the_slowest_and_less_so_over_several_steps(text: str) -> None:
    setting = Setting(toy(), FAST, 16, FREE)
    slow = parse_stragglers(text)
    each, eight, round_ = (pace(Plan.parse(p), setting, slow).seconds for p in ("none", "local(8)", "gossip(ring)"))
    assert each > 12.0
    assert eight <= each + 1e-9
    assert round_ <= each + 1e-9


def test_a_model_survives_its_file() -> None:
    import json

    model = toy()
    assert from_dict(json.loads(model.to_json())) == model


@pytest.mark.parametrize(
    ("name", "millions"),
    [("resnet50", 25.557), ("vgg16", 138.358), ("bert-base", 110.1), ("bert-large", 336.2), ("gpt2", 124.44)],
)
def test_layer_tables_have_the_published_number_of_parameters(name: str, millions: float) -> None:
    assert layer_table(name, batch=1).numel / 1e6 == pytest.approx(millions, rel=2e-3)


def test_running_statistics_are_counted_among_what_travels() -> None:
    """53,120 in ResNet-50: too many to wait for the vote, so they leave before it, in a message of their own."""
    assert layer_table("resnet50", batch=1).statistics == 2 * 26_560
    assert layer_table("bert-base", batch=1).statistics == 0


def test_operations_are_the_published_ones() -> None:
    """4.09 GMACs for ResNet-50, 15.5 for VGG-16 (He 2016; Simonyan 2015)."""
    for name, macs in (("resnet50", 4.09e9), ("vgg16", 15.47e9)):
        assert layer_table(name, batch=1, tflops=1e-12).forward_s / 2 == pytest.approx(macs, rel=0.02)


@pytest.mark.parametrize(
    "text",
    [
        *("none", "bf16", "powersgd(4)", "ef(topk(0.01))", "qsgd(bits=4)", "ef(sign)", "ef(powersgd(2))"),
        *("filtered(ef(topk(0.01)), deny=b)", "by_shape(powersgd(2))"),
    ],
)
@pytest.mark.parametrize("world", [2, 3, 4])
def test_requests_are_those_of_the_exchange_itself(text: str, world: int) -> None:
    """On meta tensors or declared: the same bytes as a real exchange in this process."""
    from laconic.core.bucket import BucketSpec
    from laconic.drive.sampling import sampled

    plan, spec = Plan.parse(text), BucketSpec(0, ("a", "b"), ((120, 100), (5000,)))
    seen = sampled(plan.compress, spec, plan.topology, world)
    assert told(plan.compress, spec, plan.topology, world).rounds == seen.rounds
    assert "sampled" not in told(plan.compress, spec, plan.topology, world).how


def test_codes_of_varying_length_are_sampled_and_scaled() -> None:
    from laconic.core.bucket import one_tensor

    plan = Plan.parse("ef(topk(0.01) | golomb)")
    small, large = (told(plan.compress, one_tensor(n), plan.topology, 8) for n in (1 << 16, 1 << 20))
    assert "sampled" in large.how
    assert [[a.kind for a in r] for r in large.rounds] == [[Kind.GATHER], [Kind.GATHER]]
    assert large.rounds[1][0].nbytes == pytest.approx(16 * small.rounds[1][0].nbytes, rel=0.1)


def test_trees_grow_a_round_when_workers_double() -> None:
    from laconic.core.bucket import one_tensor

    plan = Plan.parse("gtopk(0.01)")
    rounds = [len(told(plan.compress, one_tensor(20_000), plan.topology, n).rounds) for n in (4, 16, 1024)]
    assert rounds[1] - rounds[0] == 2 * (rounds[2] - rounds[1]) / 6


def test_bert_large_on_four_gpus_gives_the_survey_s_speedup() -> None:
    """Survey 002: 163 ms of computing, 441 ms of all-reduce, nothing overlapped: 1.08."""
    model = layer_table("bert-large", seconds=0.163)
    line = Line(0.0, 0.441 / (1.5 * model.nbytes))
    step = simulate(Plan.parse("fifo"), Setting(model, Network(line), 4, FREE))
    assert 4 * step.alone_s / step.seconds == pytest.approx(1.08, abs=0.005)


def test_plans_of_a_thousand_workers_are_simulated() -> None:
    """How long that takes is asked in bench/scale.py, not here."""
    model = layer_table("bert-large", batch=8)
    for text in ("none", "allreduce(tree)", "ps(servers=8)", "gossip(one_peer_exp)", "ef(topk(0.01))"):
        step = simulate(Plan.parse(text), Setting(model, parse_line_network("10gbit:50us"), 1024))
        assert math.isfinite(step.seconds)
        assert step.seconds > step.alone_s
