from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from laconic.compress import sparse_form
from laconic.compress.sparse_form import Form, form
from laconic.core.errors import PayloadError
from laconic.core.rng import Stream
from tests.zoo import noise


def test_the_shortest_form_by_hand():
    # 64 elements: a value has 4 bytes; one index takes a low part of 5 bits and a plane of 2, many a bitmap of 8 bytes.
    assert [form(64, k) for k in (0, 1, 2, 3, 61, 62)] == [Form.LIST] * 6
    assert [form(64, k) for k in (63, 64)] == [Form.DENSE] * 2
    assert [sparse_form.nbytes(64, k) for k in (0, 1, 2, 62, 63, 64)] == [0, 6, 10, 256, 256, 256]


def test_a_dense_form_starts_where_the_bytes_are_equal():
    # SparCML's rule for lists of words is m/2; here no list is longer than a bitmap, so dense wins at m - m/32.
    m = 1024
    sizes = [sparse_form.nbytes(m, k) for k in range(m + 1)]
    switch = next(k for k in range(m + 1) if form(m, k) is Form.DENSE)
    assert sizes[switch] == 4 * m
    assert m / 8 + 4 * switch > 4 * m >= m / 8 + 4 * (switch - 1)
    assert sizes == sorted(sizes)


def test_blocks_are_slots_too():
    at, rows = torch.tensor([1, 4]), torch.arange(6.0).view(2, 3)
    parts = sparse_form.write(at, rows, 5)
    assert form(5, 2, 3) is Form.LIST
    assert [p.tolist() for p in parts] == [[0, 1, 2, 3, 4, 5], [0b10010]]
    got = sparse_form.read(parts, 5, 2, 3)
    assert got[0].tolist() == [1, 4]
    assert torch.equal(got[1], rows)


@given(slots=st.integers(0, 200), share=st.floats(0, 1), width=st.sampled_from([1, 3]))
def test_what_is_written_is_read(slots: int, share: float, width: int):
    k = int(share * slots)
    at, values = Stream(slots).choice(slots, k), noise(k * width, 3).view(k, width)
    parts = sparse_form.write(at, values, slots)
    assert sum(p.nbytes for p in parts) == sparse_form.nbytes(slots, k, width)
    got, rows = sparse_form.read(parts, slots, k, width)
    full, again = torch.zeros(2, slots, width)
    full[at], again[got] = values, rows
    assert torch.equal(full, again)


def test_a_damaged_message_is_refused():
    with pytest.raises(PayloadError, match="9 elements or blocks of 8"):
        sparse_form.layout(8, 9)
    with pytest.raises(PayloadError, match="2 bytes of indices, not 3"):
        sparse_form.read((torch.ones(4), torch.tensor([7, 0], dtype=torch.uint8)), 64, 4)
    with pytest.raises(PayloadError, match="does not name 4 of 64 elements"):
        sparse_form.read((torch.ones(4), torch.tensor([7, 0, 0], dtype=torch.uint8)), 64, 4)
