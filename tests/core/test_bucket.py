from __future__ import annotations

import pytest
import torch

from laconic.core.bucket import BucketSpec, flatten, one_tensor

SPEC = BucketSpec(2, ("w", "b", "s"), ((2, 3), (2,), ()), torch.float16)


def test_sizes_by_hand():
    assert SPEC.sizes == (6, 2, 1)
    assert SPEC.numel == 9
    assert SPEC.nbytes == 18


def test_views_share_memory_with_the_bucket_and_have_the_parameters_shapes():
    flat = torch.arange(9.0)
    w, b, s = SPEC.views(flat)
    assert w.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert b.tolist() == [6, 7]
    assert s.item() == 8
    w[0, 0] = 100
    assert flat[0] == 100


def test_flatten_undoes_views_with_a_copy():
    flat = torch.arange(9.0)
    again = flatten(SPEC.views(flat), flat)
    assert torch.equal(again, flat)
    assert again.data_ptr() != flat.data_ptr()


def test_flatten_of_nothing_is_empty_and_keeps_the_type():
    assert flatten([], torch.empty(0, dtype=torch.float64)).dtype == torch.float64


def test_a_subset_keeps_the_bucket_and_names_the_part():
    sub = SPEC.subset([0, 2], part=5)
    assert sub == BucketSpec(2, ("w", "s"), ((2, 3), ()), torch.float16, part=5)


def test_an_empty_bucket_is_possible():
    empty = BucketSpec(0, (), ())
    assert empty.numel == empty.nbytes == 0
    assert empty.views(torch.empty(0)) == []


def test_every_shape_has_a_name():
    with pytest.raises(AssertionError):
        BucketSpec(0, ("w",), ())


def test_one_tensor_is_a_single_vector():
    assert one_tensor(7).shapes == ((7,),)
