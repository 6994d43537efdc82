"""Workers that are silent where nothing is new, in lockstep."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from laconic import lazily
from laconic.buckets import Bucket
from laconic.compress import AbstractCompressor
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Seat, Turn
from laconic.drive.lockstep import lockstep
from laconic.net.link import Link
from laconic.plan import Plan
from laconic.topology import AllReduce

WORLD, SIZE = 4, 2048


class Team:
    """Workers with one bucket each, and what they have said."""

    def __init__(self, text: str) -> None:
        plan = Plan.parse(text)
        self.sync, compress = plan.sync, plan.compress
        self.links = [Link() for _ in range(WORLD)]
        self.models = [nn.Parameter(torch.zeros(SIZE)) for _ in range(WORLD)]
        self.buckets = [_bucket(p, compress) for p in self.models]
        self.states: list[Any] = [lazily.fresh(self.sync, b) for b in self.buckets]
        self.turns = 0

    def say(self, gradients: list[Tensor]) -> list[Tensor]:
        programs = []
        for rank, (bucket, g) in enumerate(zip(self.buckets, gradients, strict=True)):
            turn = Turn(Seat(rank, WORLD, AllReduce(), seed=1), self.turns)
            programs.append(lazily.program(self.sync, bucket, g * bucket.weight, self.states[rank], turn))
        outs = lockstep(programs, self.links)
        self.states = [out.state for out in outs]
        self.turns += 1
        return [out.mean for out in outs]


def _bucket(p: nn.Parameter, compress: AbstractCompressor) -> Bucket:
    return Bucket(BucketSpec(0, ("x",), ((SIZE,),)), [p], compress, WORLD)


def _noise(seed: int) -> Tensor:
    return torch.randn(SIZE, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("text", ["lag(0)", "lasg(xi=0)", "lag(0) / qsgd(bits=8)"])
def test_without_a_threshold_it_is_the_mean(text: str):
    team = Team(text)
    for step in range(4):
        gradients = [_noise(10 * step + rank) for rank in range(WORLD)]
        means = team.say(gradients)
        assert all(torch.equal(m, means[0]) for m in means)
        near = torch.stack(gradients).mean(0)
        error = float((means[0] - near).norm() / near.norm())
        assert error < (1e-5 if "qsgd" not in text else 0.1)


def test_on_unequal_quadratics_most_uploads_are_saved():
    """f_i = L_i/2 |x - c_i|^2 with L_i from 1 to 1000: the smooth ones need hardly ever speak."""
    smooth, goals = [1.0, 2.0, 5.0, 100.0], [_noise(rank) for rank in range(WORLD)]
    best = sum(L * c for L, c in zip(smooth, goals, strict=True)) / sum(smooth)

    def run(text: str) -> tuple[float, int]:
        team, x, spoken = Team(text), torch.zeros(SIZE), 0
        for _ in range(300):
            before = [state.silent.clone() for state in team.states]
            mean = team.say([L * (x - c) for L, c in zip(smooth, goals, strict=True)])[0]
            spoken += sum(int(s.silent <= b) for s, b in zip(team.states, before, strict=True))
            x = x - 0.018 * mean
        return float((x - best).norm() / best.norm()), spoken

    exact, always = run("lag(0)")
    lazy, seldom = run("lag(0.1)")
    assert exact < 1e-3
    assert lazy < 1e-2
    assert seldom < 0.6 * always


def test_silence_costs_eight_bytes():
    team = Team("lag(0.1)")
    same = [_noise(rank) for rank in range(WORLD)]
    for _ in range(12):
        before = team.links[0].sent_bytes
        team.say(same)
    assert team.links[0].sent_bytes - before < 100
    assert int(team.states[0].silent) > 0


def test_lasg_is_silent_while_the_model_stands_still():
    team = Team("lasg(1)")
    for step in range(14):
        team.say([_noise(100 * step + rank) for rank in range(WORLD)])
    assert int(team.states[0].silent) > 0
    with torch.no_grad():
        for p in team.models:
            p.add_(100.0)
    team.say([_noise(rank) for rank in range(WORLD)])
    assert int(team.states[0].silent) == 0


def test_only_relevant_ways_count():
    team = Team("cmfl(4, relevance=0.8)")
    way = _noise(0)
    first = team.say([way] * WORLD)
    assert torch.allclose(first[0], way, atol=1e-6)
    second = team.say([way, way, way, -5 * way])
    assert torch.allclose(second[0], way, atol=1e-6), "the one that disagrees is left out, and the divisor knows it"
    nobody = team.say([-way] * WORLD)
    assert not nobody[0].any()
    assert float(team.states[0].threshold) < 0.8
