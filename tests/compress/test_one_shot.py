from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from laconic.compress import QSGD, ErrorFeedback, TopK
from laconic.compress.one_shot import chunks
from laconic.core.bucket import one_tensor
from laconic.core.errors import PayloadError
from laconic.core.exchange import Deal, Gather, Seat, Turn
from laconic.core.payload import HEADER_BYTES
from laconic.topology import AllReduce
from tests.laws.world import World
from tests.zoo import noise


def test_chunks_by_hand():
    assert chunks(10, 3, 1) == [(0, 3), (3, 6), (6, 10)]
    assert chunks(600, 2, 256) == [(0, 256), (256, 600)]
    assert chunks(100, 3, 256) == [(0, 0), (0, 0), (0, 100)]
    assert chunks(0, 2, 8) == [(0, 0), (0, 0)]


@given(numel=st.integers(0, 5000), n=st.integers(1, 9), align=st.sampled_from([1, 8, 64, 256]))
def test_chunks_cover_everything_once_in_whole_blocks(numel: int, n: int, align: int):
    cuts = chunks(numel, n, align)
    assert len(cuts) == n
    assert cuts[0][0] == 0
    assert cuts[-1][1] == numel
    assert all(a[1] == b[0] for a, b in itertools.pairwise(cuts))
    assert all(start % align == 0 for start, stop in cuts if stop > start)
    blocks = [-(-(stop - start) // align) for start, stop in cuts]
    assert max(blocks) - min(blocks) <= 1


def test_gather_asks_once_and_deal_asks_twice():
    kinds = {}
    for route in ("gather", "deal"):
        seat = Seat(0, 1, AllReduce(route_by=route))
        q, spec = QSGD(), one_tensor(10)
        program = q.exchange(noise(10), q.init(spec, seat), spec, Turn(seat, 0))
        asked, answer = [], None
        while True:
            try:
                asked.append(program.send(answer))
            except StopIteration:
                break
            answer = [asked[-1].message] if isinstance(asked[-1], Gather) else list(asked[-1].messages)
        kinds[route] = [type(a) for a in asked]
    assert kinds == {"gather": [Gather], "deal": [Deal, Gather]}


def test_dealing_moves_fewer_bytes_than_gathering_among_many():
    sent = {}
    for route in ("gather", "deal"):
        world = World(QSGD(4), 8, route, one_tensor(8192))
        world.exchange(world.inputs())
        sent[route] = world.links[0].sent_bytes
    assert sent["deal"] < 0.3 * sent["gather"]


def test_without_an_error_memory_an_owner_keeps_nothing():
    world = World(QSGD(4), 4, "deal", one_tensor(512))
    assert all(s.error.numel() == 0 for s in world.states)
    remembering = World(ErrorFeedback(QSGD(4)), 2, "deal", one_tensor(512))
    assert [s.inner.error.numel() for s in remembering.states] == [256, 256]
    gathering = World(ErrorFeedback(QSGD(4)), 2, "gather", one_tensor(512))
    assert all(s.inner.error.numel() == 0 for s in gathering.states)


def _message_of(step: int, compressor: TopK | QSGD, *, checksum: bool = False) -> tuple[object, torch.Tensor]:
    seat, spec = Seat(0, 1, AllReduce(route_by="gather"), checksum=checksum), one_tensor(8)
    program = compressor.exchange(noise(8), compressor.init(spec, seat), spec, Turn(seat, step))
    return program, program.send(None).message


@pytest.mark.parametrize(("step", "other"), [(1, TopK(0.5)), (0, TopK(0.25)), (0, QSGD(4))])
def test_a_message_of_another_step_or_codec_is_refused(step: int, other: TopK | QSGD):
    program, _ = _message_of(0, TopK(0.5))
    stranger, message = _message_of(step, other)
    stranger.close()  # type: ignore[attr-defined]
    with pytest.raises(PayloadError, match="not at the same place or plan"):
        program.send([message])  # type: ignore[attr-defined]


def test_with_a_checksum_a_flipped_value_is_noticed():
    program, message = _message_of(0, TopK(0.5), checksum=True)
    message[-1] ^= 1
    with pytest.raises(PayloadError, match="checksum"):
        program.send([message])  # type: ignore[attr-defined]


def test_checksums_do_not_change_sizes_or_results():
    plain, checked = (World(QSGD(4), 3, "deal", checksum=c) for c in (False, True))
    a, b = plain.exchange(plain.inputs()), checked.exchange(checked.inputs())
    assert torch.equal(a[0].mean, b[0].mean)
    assert plain.links == checked.links


def test_a_bucket_of_n_elements_costs_a_header_and_its_layout():
    assert TopK(0.5).message_bytes(10) == HEADER_BYTES + 5 * 4 + 2
