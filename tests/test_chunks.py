"""Buckets in chunks: every element travels once, whole tensors stay whole where they must."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from laconic.buckets import Bucket, cut, joined, units
from laconic.compress import Identity, PowerSGD, TopK
from laconic.compress.base import AbstractCompressor
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged
from laconic.schedule import Fused, Priority


def _buckets(*shapes: tuple[int, ...], by: AbstractCompressor = Identity()) -> list[Bucket]:  # noqa: B008  (frozen)
    trained = {f"p{i}": nn.Parameter(torch.zeros(s)) for i, s in enumerate(shapes)}
    return cut(trained, Fused("1GiB", "1GiB"), by, 2, {})


def test_without_chunks_a_unit_is_a_bucket():
    buckets = cut({f"p{i}": nn.Parameter(torch.zeros(9)) for i in range(3)}, Fused("1B", "1B"), Identity(), 2, {})
    found = units(buckets, None)
    assert [(u.bucket, u.chunk, u.start, u.stop) for u in found] == [(i, -1, 0, 9) for i in range(3)]
    assert all(u.spec is b.spec for u, b in zip(found, buckets, strict=True))


@pytest.mark.parametrize("chunk", [4, 1000, 16384, 20000, 10**9])
def test_chunks_cover_every_element_once(chunk: int):
    buckets = _buckets((100, 70), (3,), (1, 999))
    found = units(buckets, chunk)
    assert [u.start for u in found[1:]] == [u.stop for u in found[:-1]]
    assert (found[0].start, found[-1].stop) == (0, buckets[0].spec.numel)
    assert all(u.spec.numel == u.stop - u.start for u in found)
    assert all(u.spec.nbytes <= chunk for u in found)
    assert len({u.spec.id for u in found}) == len(found)


def test_a_cut_tensor_is_named_with_its_range():
    (bucket,) = _buckets((10,), (4096,))  # the last comes first
    found = units([bucket], 4096 * 4)
    assert [u.spec.names for u in found] == [("p1",), ("p0",)]
    assert [n for u in units([bucket], 2048 * 4) for n in u.spec.names] == ["p1[0:2048]", "p1[2048:4096]", "p0"]


def test_chunks_begin_at_whole_blocks():
    starts = [u.start for u in units(_buckets((100_000,)), 5000 * 4)]
    assert starts[:3] == [0, 4096, 8192]


def test_what_needs_whole_tensors_is_cut_between_them():
    (bucket,) = _buckets((64, 64), (64, 64), (64, 64), by=PowerSGD(2))
    assert [u.spec.names for u in units([bucket], 40_000)] == [("p2", "p1"), ("p0",)]
    assert units([bucket], 40_000)[0].spec.shapes == ((64, 64), (64, 64))


def test_a_chunk_inside_a_tensor_is_refused_where_tensors_must_be_whole():
    (bucket,) = _buckets((64, 64), by=PowerSGD(2))
    with pytest.raises(PlanError, match=r"powersgd\(2\) needs whole tensors, but a chunk of 1 kB cuts inside 'p0'"):
        units([bucket], 1000)


def test_a_sparsifier_chooses_within_each_chunk():
    found = units(_buckets((256, 256), by=TopK(0.01)), 65536)
    assert len(found) == 4


def test_sums_made_in_place_need_no_copy():
    flat = torch.arange(6.0)
    outs = [Exchanged(flat[:4], flat[:4], ()), Exchanged(flat[4:], flat[4:], ())]
    assert joined(outs, flat).mean is flat
    elsewhere = [Exchanged(o.mean.clone(), o.mean, ()) for o in outs]
    assert torch.equal(joined(elsewhere, flat).mean, flat)
    assert joined(elsewhere, flat).state == ((), ())


def test_priority_cuts_no_bucket_beyond_a_chunk_unless_a_tensor_is():
    sizes = (300, 300, 300, 5000, 10)
    trained = {f"p{i}": nn.Parameter(torch.zeros(n)) for i, n in enumerate(sizes)}
    buckets = cut(trained, Priority("2400B", credit="2400B"), Identity(), 2, {})
    assert [b.spec.names for b in buckets] == [("p4",), ("p3",), ("p2", "p1"), ("p0",)]
