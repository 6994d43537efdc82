from __future__ import annotations

import pytest
import torch

from laconic.compress import ErrorFeedback, OkTopk, SparCML, TopK
from laconic.compress.oktopk import Sparse, _nudged, _Post, _quantiles, _spread, _survivors, _whole
from laconic.core.bucket import one_tensor
from laconic.core.errors import PayloadError, PlanError
from laconic.core.exchange import Seat, Turn
from laconic.core.payload import HEADER_BYTES
from laconic.drive.lockstep import lockstep
from laconic.net.link import Link
from laconic.topology import AllReduce
from tests.laws.world import World
from tests.zoo import noise

WORLDS = (1, 2, 3, 4, 5, 8)


def post(rank: int, world: int, numel: int) -> _Post:
    return _Post(OkTopk(), one_tensor(numel), Turn(Seat(rank, world, AllReduce()), 0))


@pytest.mark.parametrize("size", WORLDS)
def test_keeping_everything_is_the_mean(size: int):
    world = World(OkTopk(1, reuse=2), size, spec=one_tensor(40))
    for step in range(4):  # exact thresholds, then reused ones, which may leave out the smallest
        xs = world.inputs(step)
        out = world.exchange(xs, step)
        if step % 2 == 0:
            assert torch.allclose(out[0].mean, torch.stack(xs).mean(0), atol=1e-6)


@pytest.mark.parametrize("size", WORLDS)
def test_the_first_step_is_the_top_k_of_the_sum_of_top_ks(size: int):
    world = World(OkTopk(0.05), size, spec=one_tensor(400))
    xs = world.inputs()
    out = world.exchange(xs)
    tops = torch.stack([x * 0 + (x.abs() >= x.abs().topk(20).values[-1]) * x for x in xs]).sum(0)
    at = tops.abs().topk(20).indices
    assert set(out[0].mean.nonzero().view(-1).tolist()) == set(at.tolist())
    assert torch.allclose(out[0].mean[at], tops[at] / size, atol=1e-6)


@pytest.mark.parametrize("size", WORLDS)
def test_over_many_steps_what_is_applied_and_what_waits_is_all_there_was(size: int):
    world = World(ErrorFeedback(OkTopk(0.05, reuse=4, rebalance=3)), size, spec=one_tensor(300))
    came = applied = torch.zeros(300, dtype=torch.float64)
    for step in range(20):
        xs = world.inputs(step)
        applied = applied + world.exchange(xs, step)[0].mean
        came = came + torch.stack(xs).double().mean(0)
    waiting = torch.stack([s.residual.double() for s in world.states]).mean(0)
    assert torch.allclose(applied + waiting, came, atol=1e-4)


def test_a_rank_says_what_it_selected_and_all_selected():
    # k = 1: both ranks select element 0 and 1; the sums are 5 and 4.5.
    world = World(OkTopk(1 / 3), 2, spec=one_tensor(3))
    out = world.exchange([torch.tensor([5.0, 1, 0]), torch.tensor([1.0, 4.5, 0])])
    assert out[0].mean.tolist() == [2.5, 0, 0]
    assert out[0].sent.tolist() == [5, 0, 0]
    assert out[1].sent.tolist() == [0, 0, 0]  # its own choice was not that of all


@pytest.mark.parametrize("size", [4, 8])
def test_a_rank_moves_less_than_6k_words_in_most_steps(size: int):
    n, k = 20_000, 200
    world = World(ErrorFeedback(OkTopk(0.01)), size, spec=one_tensor(n))
    words = []
    for step in range(16):
        before = [link.sent_bytes for link in world.links]
        # Large elements cluster in one corner: without balanced regions one rank would do all the work.
        xs = [x * torch.linspace(3, 0.1, n) for x in world.inputs(step)]
        world.exchange(xs, step)
        if step:
            overhead = (8 * 3 + HEADER_BYTES * 3) * (size - 1)  # lengths, counts and headers
            words += [(link.sent_bytes - b - overhead) / 4 for link, b in zip(world.links, before, strict=True)]
    assert sum(words) / len(words) <= 6 * k
    assert max(words) <= 7.5 * k  # what a rank and what all say is cut to 5/4 k


def test_among_many_it_moves_less_than_an_exact_sparse_all_reduce_or_a_gather():
    sent = {}
    for compressor in (OkTopk(0.01), SparCML(TopK(0.01)), TopK(0.01)):
        world = World(ErrorFeedback(compressor), 16, "gather", one_tensor(10_000))
        for step in range(3):
            world.exchange(world.inputs(step), step)
            before = world.links[5].sent_bytes
        world.exchange(world.inputs(9), 9)
        sent[compressor.name] = world.links[5].sent_bytes - before
    assert sent["oktopk"] < min(sent["sparcml"], sent["topk"])


def test_thresholds_are_reused_and_nudged():
    world = World(OkTopk(0.1, reuse=10), 1, spec=one_tensor(100))
    world.exchange([noise(100, 1)])
    first = float(world.states[0].local)
    assert first == pytest.approx(float(noise(100, 1).abs().topk(10).values[-1]))
    world.exchange([noise(100, 1) * 0.9], 1)  # fewer than 3/4 reach the old one
    assert float(world.states[0].local) < first
    assert _nudged(1.0, 100, 100) == 1.0
    assert _nudged(1.0, 200, 100) == pytest.approx(2**0.125)
    assert _nudged(1.0, 0, 100) == 0.5


def test_a_threshold_that_leaves_nothing_is_found_anew():
    world = World(OkTopk(0.1, reuse=100), 1, spec=one_tensor(100))
    world.exchange([1000 * noise(100, 1)])
    (out,) = world.exchange([noise(100, 2)], 1)
    assert float(world.states[0].local) == pytest.approx(float(noise(100, 2).abs().topk(10).values[-1]))
    assert not out.sent.any()  # the threshold for the sums is still too high ...
    for step in range(2, 14):
        (out,) = world.exchange([noise(100, step)], step)
    assert out.sent.any()  # ... and has come down


def test_borders_are_averaged_quantiles():
    at = torch.tensor([1, 2, 3, 10, 20, 30, 40, 50])
    assert _quantiles(at, 100, 4, at.device).tolist() == [3, 20, 40]
    assert _quantiles(at[:2], 100, 4, at.device).tolist() == [25, 50, 75]
    assert _whole(torch.tensor([2.9999999, 3.5, 99.9]), 100).tolist() == [3, 4, 100]


def test_survivors_are_spread_evenly_and_stay_in_order():
    counts = [0, 7, 1, 0]

    def program(rank: int):  # type: ignore[no-untyped-def]
        start = sum(counts[:rank])
        at = torch.arange(start, start + counts[rank])
        return _spread(Sparse(at, at.float()), counts, post(rank, 4, 100))

    out = lockstep([program(r) for r in range(4)])
    assert [o[0].at.tolist() for o in out] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert all(o[1] == [2, 2, 2, 2] for o in out)


def test_too_many_survivors_are_cut_to_the_most_allowed():
    values = [torch.arange(1.0, 7.0), torch.arange(10.0, 13.0)]

    def program(rank: int):  # type: ignore[no-untyped-def]
        at = torch.arange(values[rank].numel()) + 10 * rank
        return _survivors(Sparse(at, values[rank]), 0.5, 6, post(rank, 2, 20))

    links = [Link(), Link()]
    for final, reached in lockstep([program(r) for r in range(2)], links):
        assert reached == 9
        assert final.at.tolist() == [2, 3, 4, 5, 11, 12]  # 6 of 9 from each: 4 and 2, the largest


def test_hostile_counts_and_indices_are_refused():
    with pytest.raises(PayloadError, match="announce"):
        post(0, 2, 10).counts([torch.tensor([n]).view(torch.uint8) for n in (3, 8)])
    desk = post(0, 1, 10)
    for at in ([3, 3], [2, 9]):
        message = desk.write(Sparse(torch.tensor(at), torch.ones(2)))
        with pytest.raises(PayloadError, match="name"):
            desk.read(message, 0, 5)


@pytest.mark.parametrize("bad", [{"ratio": 0.0}, {"reuse": 0}, {"rebalance": -1}])
def test_bad_settings_are_refused(bad: dict[str, float]):
    with pytest.raises(PlanError, match="oktopk"):
        OkTopk(**bad)  # type: ignore[arg-type]
