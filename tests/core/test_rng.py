"""Random streams: pinned words, different names give different streams, the right distributions."""

from __future__ import annotations

import math

import pytest
import torch

from laconic.core import rng
from laconic.core.rng import Stream


def _lowbias32(x: int) -> int:
    """The hash in Python's own integers, as its author publishes it."""
    x ^= x >> 16
    x = x * 0x7FEB352D & 0xFFFFFFFF
    x ^= x >> 15
    x = x * 0x846CA68B & 0xFFFFFFFF
    return x ^ (x >> 16)


def test_splitmix64_gives_the_published_first_words():
    assert rng.splitmix64(0) == 0xE220A8397B1DCDAF
    assert rng.splitmix64(0x9E3779B97F4A7C15) == 0x6E789E6AA1B965F4


def test_words_are_pinned_for_all_platforms():
    # A change here makes checkpoints of running trainings continue differently.
    assert rng.shared(0, 0, 0).words(4).tolist() == [0x8FD7F5BE, 0x15A844A4, 0x2D4B828D, 0x6039469A]
    assert rng.own(7, 3, 2, 1).words(4).tolist() == [0x6A5D7A45, 0xBDD463CE, 0x3B48199A, 0x130B72E0]
    assert Stream(5).words(65538)[65536:].tolist() == [0x99F77BD0, 0xD87E16E0]
    assert Stream(5).choice(1000, 4).tolist() == [261, 276, 445, 874]
    assert Stream(5).choice(10, 4).tolist() == [0, 2, 3, 4]


def test_words_are_the_hash_of_a_counter_block_by_block():
    words = Stream(99).words(70_000)
    for at in (0, 1, 65_535, 65_536, 69_999):
        key = rng.splitmix64(99 + at // 65_536) >> 32
        assert int(words[at]) == _lowbias32(key ^ at % 65_536)


def test_a_longer_draw_begins_with_the_shorter_one():
    assert torch.equal(Stream(1).words(70_000)[:10], Stream(1).words(10))


def test_every_part_of_the_name_matters():
    names = [(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)]
    streams = [rng.own(seed, step, bucket, rank) for seed, step, bucket, rank in names]
    streams += [rng.own(0, 0, 0, 0, part=1), rng.shared(0, 0, 0), rng.shared(0, 0, 0, part=1)]
    streams += [Stream(0).child(1), Stream(0).child(2)]
    words = {tuple(s.words(4).tolist()) for s in streams}
    assert len(words) == len(streams)


def test_swapped_numbers_give_another_stream():
    assert rng.own(1, 2, 3, 4) != rng.own(2, 1, 3, 4)
    assert rng.own(1, 2, 3, 4) != rng.own(1, 3, 2, 4)


def test_the_shared_stream_does_not_depend_on_who_asks():
    assert rng.shared(3, 4, 5) == rng.shared(3, 4, 5)
    assert rng.shared(3, 4, 5) not in [rng.own(3, 4, 5, rank) for rank in range(64)]


def test_neighbouring_streams_are_uncorrelated():
    n = 20_000
    for a, b in ((rng.own(0, 0, 0, 0), rng.own(0, 0, 0, 1)), (rng.own(0, 0, 0, 0), rng.own(0, 1, 0, 0))):
        product = (a.uniform(n) - 0.5).dot(b.uniform(n) - 0.5) / n * 12
        assert abs(float(product)) < 5 / math.sqrt(n)


def test_uniform_fills_its_interval_evenly():
    n, bins = 64_000, 64
    u = Stream(3).uniform(n)
    assert float(u.min()) >= 0
    assert float(u.max()) < 1
    counts = torch.histc(u, bins, 0, 1)
    chi2 = float(((counts - n / bins) ** 2 / (n / bins)).sum())
    assert abs(chi2 - (bins - 1)) < 5 * math.sqrt(2 * (bins - 1))


def test_every_bit_is_as_often_set_as_not():
    words, n = Stream(4).words(20_000), 20_000
    for bit in range(32):
        share = float(((words >> bit) & 1).double().mean())
        assert abs(share - 0.5) < 5 * 0.5 / math.sqrt(n)


def test_normal_has_the_moments_of_a_normal():
    n = 50_000
    x = Stream(6).normal(n).double()
    assert x.isfinite().all()
    for power, want, spread in ((1, 0, 1), (2, 1, math.sqrt(2)), (3, 0, math.sqrt(15)), (4, 3, math.sqrt(96))):
        assert abs(float(x.pow(power).mean()) - want) < 5 * spread / math.sqrt(n)


def test_normal_takes_odd_lengths_and_none():
    assert Stream(6).normal(7).shape == (7,)
    assert Stream(6).normal(0).shape == (0,)


@pytest.mark.parametrize(
    ("n", "k"), [(1, 1), (5, 0), (0, 0), (10, 10), (1000, 3), (1000, 124), (1000, 125), (10**7, 50)]
)
def test_a_choice_is_sorted_distinct_and_in_range(n: int, k: int):
    at = Stream(8).choice(n, k)
    assert at.dtype == torch.int64
    assert at.numel() == k
    assert at.unique().tolist() == at.tolist()
    assert not k or 0 <= int(at[0]) <= int(at[-1]) < n


@pytest.mark.parametrize(("n", "k"), [(40, 4), (40, 5), (64, 7), (64, 8)])
def test_every_element_is_chosen_alike(n: int, k: int):
    draws = 3000
    counts = torch.zeros(n)
    for step in range(draws):
        counts[rng.shared(0, step, 0).choice(n, k)] += 1
    p = k / n
    sigma = math.sqrt(draws * p * (1 - p))
    assert float((counts - draws * p).abs().max()) < 5 * sigma


def test_every_pair_is_chosen_alike():
    pairs: dict[tuple[int, ...], int] = {}
    draws = 3000
    for step in range(draws):
        pair = tuple(Stream(step).child(9).choice(6, 2).tolist())
        pairs[pair] = pairs.get(pair, 0) + 1
    assert len(pairs) == 15
    sigma = math.sqrt(draws / 15 * (14 / 15))
    assert max(abs(c - draws / 15) for c in pairs.values()) < 5 * sigma


def test_the_users_generator_is_never_touched():
    before = torch.get_rng_state()
    Stream(1).normal(100), Stream(1).choice(100, 5), Stream(1).uniform(10)
    assert torch.equal(before, torch.get_rng_state())


def test_halves_are_the_two_ends_of_words():
    words, halves = Stream(3).words(512), Stream(3).halves(1000)
    assert torch.equal(halves[:256], words[:256] & 0xFFFF)
    assert torch.equal(halves[256:512], words[:256] >> 16)
    assert torch.equal(halves[512:768], words[256:512] & 0xFFFF)
    assert torch.equal(halves[768:], (words[256:512] >> 16)[:232])
    assert Stream(3).halves(0).numel() == 0
