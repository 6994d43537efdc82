"""What few workers say of many: sampled requests against a real exchange of all of them."""

from __future__ import annotations

import pytest

from laconic.core.bucket import BucketSpec, one_tensor
from laconic.core.exchange import Seat, Turn
from laconic.drive.asked import Asked, Kind
from laconic.drive.lockstep import lockstep
from laconic.drive.sampling import LATE, allotted
from laconic.drive.simulate import told
from laconic.net.link import Link
from laconic.plan import Plan
from laconic.sim.collective import Collectives
from laconic.sim.network import Line, Network
from laconic.topology import ParameterServer
from tests.zoo import noise

LARGE = BucketSpec(0, ("a", "b"), ((300, 200), (20_000,)))  # more than a sample


def foretold(plan: Plan, spec: BucketSpec, world: int) -> float:
    ways = Collectives(plan.topology, Network(Line(0.0, 0.0)), world)
    return sum(ways.round(asks).sent for asks in told(plan.compress, spec, plan.topology, world).rounds)


def counted(plan: Plan, spec: BucketSpec, world: int) -> float:
    """What a rank's link counts on average, in the second exchange."""
    seats = [Seat(rank, world, plan.topology) for rank in range(world)]
    states = [plan.compress.init(spec, seat) for seat in seats]
    links = [Link() for _ in seats]
    for step in (0, LATE):
        links = [Link() for _ in seats]
        outs = lockstep(
            [
                plan.compress.exchange(noise(spec.numel, rank + 100 * step), state, spec, Turn(seat, step))
                for rank, (state, seat) in enumerate(zip(states, seats, strict=True))
            ],
            links,
        )
        states = [out.state for out in outs]
    return sum(link.sent_bytes for link in links) / world


@pytest.mark.parametrize("world", [5, 8, 16])
@pytest.mark.parametrize(
    "text",
    [
        *("cgx", "qsgd(bits=4) | huffman", "ef(qsgd(bits=4) | huffman)", "accordion(qsgd(bits=8), qsgd(bits=4))"),
        *("accordion(qsgd(bits=8), qsgd(bits=4), window=1)", "paced(qsgd(bits=4), window=2)", "natural | elias"),
        *("ef(oktopk(0.02))", "ef(topk(0.02) | golomb)", "signsgd"),
        *("ef(hitopk(0.05, node=2))", "gradzip(2)", "qsgd(bits=4) | huffman / ps(colocated)"),
        "qsgd(bits=4) | huffman / ps(servers=32)",
    ],
)
def test_many_workers_say_what_a_sample_says_they_would(text: str, world: int) -> None:
    """Within 10 %: what is said depends on data, and what is gathered is as long as the longest. Links in lockstep do
    not see what a host's own server passes on, nor that a host's own share stays there."""
    plan = Plan.parse(text)
    beside = 2 * (world - 1) / world if plan.topology == ParameterServer(layout="colocated") else 1.0
    assert foretold(plan, LARGE, world) == pytest.approx(beside * counted(plan, LARGE, world), rel=0.1)


@pytest.mark.parametrize("world", [4, 8, 16, 32])
def test_a_tree_of_pairs_has_a_message_more_when_workers_double(world: int) -> None:
    plan, spec = Plan.parse("gtopk(0.02)"), one_tensor(2000)
    assert foretold(plan, spec, world) == pytest.approx(counted(plan, spec, world))


@pytest.mark.parametrize("world", [8, 16, 32])
def test_sums_of_sparse_vectors_are_at_most_dense(world: int) -> None:
    """Supports begin to overlap above the sample: up to a fifth too much is foretold."""
    plan, spec = Plan.parse("sparcml(topk(0.05))"), one_tensor(20_000)
    assert 0.99 < foretold(plan, spec, world) / counted(plan, spec, world) < 1.2


def test_servers_get_as_many_chunks_as_the_runtime_cuts() -> None:
    plan = Plan.parse("qsgd(bits=4) | huffman / ps(servers=32)")
    ((asked,),) = told(plan.compress, one_tensor(1 << 20), plan.topology, 64).rounds
    assert (asked.kind, asked.messages) == (Kind.SERVE, 32)


def test_the_watched_exchange_is_no_deciding_one() -> None:
    """Rare work is left out: the table of cgx, the exact thresholds of oktopk and its new regions."""
    for text in ("cgx", "ef(oktopk(0.02))", "accordion(qsgd(bits=8), qsgd(bits=4))", "paced(qsgd(bits=4))"):
        plan = Plan.parse(text)
        rounds = told(plan.compress, one_tensor(50_000), plan.topology, 8).rounds
        assert all(a.kind is not Kind.REDUCE for asks in rounds for a in asks), text


def test_cgx_says_a_message_a_tensor_however_large_the_bucket() -> None:
    plan = Plan.parse("cgx")
    shapes = ((1000, 300),) * 5
    spec = BucketSpec(0, tuple("abcde"), shapes)
    rounds = told(plan.compress, spec, plan.topology, 8).rounds
    assert [len(asks) for asks in rounds] == [5, 5]
    assert allotted(plan.compress, spec) == (4,) * 5


def test_rounds_of_few_bytes_stay_what_they_are() -> None:
    plan = Plan.parse("ef(topk(0.01) | golomb)")
    lengths = told(plan.compress, one_tensor(1 << 20), plan.topology, 1024).rounds[0]
    assert lengths == (Asked(Kind.GATHER, 8),)
