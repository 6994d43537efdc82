"""The bytes that virtual time foretells of a step are the bytes that links count in lockstep."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

import pytest
import torch
from torch import Tensor, nn

from laconic.compress.base import NOMINAL, AbstractCompressor, Size
from laconic.core.exchange import Seat, Turn
from laconic.drive.lockstep import lockstep
from laconic.drive.sampling import LATE
from laconic.drive.simulate import told
from laconic.net.link import Link
from laconic.plan import Plan
from laconic.sim.collective import Collectives
from laconic.sim.exchanges import Setting
from laconic.sim.model import table
from laconic.sim.network import Line, Network
from laconic.sim.step import simulate
from laconic.sim.train import Job, virtual
from laconic.topology import AllReduce
from tests.laws.world import over_the_zoo
from tests.zoo import BUCKET, SEED, Entry, noise

WORLD = 8
FREE = Network(Line(0.0, 0.0))
TURNS = 4
PERIOD = 4  # steps, of the longest of the plans below
# Lengths that follow data: other noise, and the longest of eight is what is gathered. Thresholds that are searched for
# stop anywhere between k and 2k elements.
VARIES = 0.3
# The zoo's have periods of two or three steps, so that laws see all of them. Virtual time counts the usual step, as
# with their own periods of 32, 100 and 1000 the rest is rare; accordion while its phase is critical.
USUAL = {"alq": min, "amq": min, "oktopk": min, "accordion": max}
WAIVED = {
    "adacomp": 0.5,  # what is not sent is kept and grows over dozens of steps; virtual time sees the second
    "accordion": 0.02,  # the learning rates of every second step
    "paced": 0.02,  # and its votes
    "gradiveq": 0.15,  # ten steps are looked at, of periods of four
}


def measured(compress: AbstractCompressor) -> list[float]:
    """What a rank's link counts in a turn, on average over the ranks."""
    seats = [Seat(rank, WORLD, AllReduce(), SEED) for rank in range(WORLD)]
    states = [compress.init(BUCKET, seat) for seat in seats]
    counted = []
    for turn, step in enumerate((0, *range(LATE, LATE + TURNS))):
        links = [Link() for _ in seats]
        xs = [noise(BUCKET.numel, 1000 * turn + rank) for rank in range(WORLD)]
        programs = [
            compress.exchange(x, state, BUCKET, Turn(seat, step))
            for x, state, seat in zip(xs, states, seats, strict=True)
        ]
        states = [out.state for out in lockstep(programs, links)]
        counted.append(sum(link.sent_bytes for link in links) / WORLD)
    return counted[1:]


@over_the_zoo
def test_an_exchange_sends_what_is_foretold(entry: Entry) -> None:
    compress, ways = entry.compressor, Collectives(AllReduce(), FREE, WORLD)
    rounds = told(compress, BUCKET, AllReduce(), WORLD).rounds
    foretold, counted = sum(ways.round(asks).sent for asks in rounds), measured(compress)
    usual = next((of for name, of in USUAL.items() if name in str(compress)), fmean)(counted)
    exact = compress.traits(NOMINAL).size is Size.EXACT
    waived = next((far for name, far in WAIVED.items() if name in str(compress)), 0.005 if exact else VARIES)
    assert foretold == pytest.approx(usual, rel=waived)


class Net(nn.Module):
    """Matrices that are worth compressing, small tensors beside them, and running statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(40, 60), nn.BatchNorm1d(60), nn.Linear(60, 10)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.last(self.norm(self.first(x)).relu())
        return out


def job() -> Job:
    def make() -> tuple[nn.Module, torch.optim.Optimizer]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            net = Net()
        return net, torch.optim.SGD(net.parameters(), lr=0.01)

    def batches(rank: int, world: int) -> Iterator[tuple[Tensor, Tensor]]:
        step = 0
        while True:
            step += 1
            x = noise(16 * 40, 100 * step + rank).view(16, 40)
            yield x, x[:, :10]

    return Job(make, lambda net, x, y: (net(x) - y).pow(2).mean(), batches, lambda _: {})


def setting() -> Setting:
    named = [(name, tuple(p.shape)) for name, p in Net().named_parameters()]
    return Setting(table("net", named, [1.0] * len(named), batch=16, statistics=120), FREE, WORLD)


@pytest.mark.parametrize(
    "text",
    [
        *("none", "bf16", "wfbp", "local(4)", "allreduce(ring)", "ef(powersgd(2))", "qsgd(bits=4)", "ef(topk(0.05))"),
        *("gossip(ring)", "gossip(exp, push_sum)", "gossip(one_peer_exp)", "gossip(torus, powergossip(2))"),
        *("gossip(random_pairs, noloco)", "local(4) / gossip(ring, noloco)", "gossip(complete, choco) / topk(0.05)"),
        *("gossip(ring, dcd) / qsgd(bits=8)", "gossip(ring, ecd)", "gossip(ring, deepsqueeze) / sign"),
        *("gossip(ring, choco) / randomk(0.1)", "gossip(ring, choco) / fp16"),
    ],
)
def test_a_step_of_real_replicas_sends_what_is_foretold(text: str) -> None:
    """Gradients, votes, running statistics; to a few bytes of rounding in a ring's shares."""
    plan = Plan.parse(text)
    first, last = virtual(plan, job(), WORLD, 2 * PERIOD, PERIOD, lambda _: 1.0).seen
    assert simulate(plan, setting()).sent_bytes == pytest.approx(
        (last.sent_bytes - first.sent_bytes) / PERIOD, rel=0.005
    )


@pytest.mark.parametrize("code", ["topk(0.05) | golomb", "qsgd(bits=4) | huffman"])
def test_letters_of_varying_length_are_as_long_as_foretold(code: str) -> None:
    """Within 15 %: differences of models are not the noise that was sampled."""
    plan = Plan.parse(f"gossip(ring, choco) / {code}")
    first, last = virtual(plan, job(), WORLD, 2 * PERIOD, PERIOD, lambda _: 1.0).seen
    assert simulate(plan, setting()).sent_bytes == pytest.approx(
        (last.sent_bytes - first.sent_bytes) / PERIOD, rel=0.15
    )
