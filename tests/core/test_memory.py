from __future__ import annotations

import pytest
import torch

from laconic.core import memory

LARGE = memory.LARGE_BYTES // 4


@pytest.fixture(autouse=True)
def _nothing_waits():
    memory.release()
    yield
    memory.release()


def test_a_large_block_is_used_again_when_nobody_looks_at_it():
    first = memory.empty(LARGE)
    at, view = first.data_ptr(), first[5:9]
    del first
    assert memory.waiting_bytes() == 0, "a view still looks at it"
    view.fill_(1.0)
    del view
    assert memory.waiting_bytes() == memory.LARGE_BYTES
    assert memory.empty(LARGE).data_ptr() == at


def test_two_that_live_at_once_do_not_share():
    a, b = memory.empty(LARGE), memory.empty(LARGE)
    a.fill_(1.0)
    b.fill_(2.0)
    assert a.eq(1).all()


def test_no_more_waits_than_was_in_use_together():
    for _ in range(3):
        several = [memory.empty(LARGE) for _ in range(2)]
        del several
    assert memory.waiting_bytes() == 2 * memory.LARGE_BYTES
    memory.release()
    assert memory.waiting_bytes() == 0


def test_a_copy_may_have_another_type():
    x = torch.arange(5.0)
    assert memory.copy(x, torch.float16).dtype == torch.float16
    assert torch.equal(memory.copy(x), x)


def test_types_share_blocks_of_the_same_bytes():
    whole = memory.empty(4 * LARGE, torch.uint8)
    at = whole.data_ptr()
    del whole
    assert memory.empty(LARGE).data_ptr() == at


def test_small_tensors_are_torchs_own():
    small = memory.empty(10, torch.float16)
    assert (small.shape, small.dtype) == ((10,), torch.float16)
    del small
    assert memory.waiting_bytes() == 0
