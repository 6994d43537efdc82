from __future__ import annotations

import torch
from torch import Tensor

from laconic.kernels import reference
from laconic.kernels.cpu import sweep
from tests.kernels.parity import SIZES, same_bits, vectors
from tests.zoo import noise

LARGE = (sweep.LARGE, sweep.LARGE + 77)


def _not_aligned(n: int, by: int) -> Tensor:
    """Floats that begin `by` elements into an allocation, and are guarded on both sides."""
    return torch.full((n + 64,), 7.0)[by : by + n]


def test_a_sum_notices_what_is_not_finite():
    for n in SIZES:
        for what, x in vectors(n):
            mine, theirs, more = torch.empty(n), torch.empty(n), noise(n, 9)
            assert sweep.add_finite(x, more, mine) == reference.add_finite(x, more, theirs), f"{what}, {n}"
            assert same_bits(mine, theirs)


def test_a_way_notices_what_is_not_finite():
    for n in SIZES:
        for what, x in vectors(n):
            mine, theirs, start, more = torch.empty(n), torch.empty(n), noise(n, 8), noise(n, 9)
            assert sweep.way_finite(start, x, more, mine) == reference.way_finite(start, x, more, theirs), (
                f"{what}, {n}"
            )
            assert same_bits(mine, theirs)


def test_a_copy_notices_what_is_not_finite():
    for n in SIZES:
        for what, x in vectors(n):
            out = torch.empty(n)
            assert sweep.copy_finite(x, out) == bool(x.isfinite().all()), f"{what}, {n}"
            assert same_bits(out, x)


def test_large_vectors_are_written_whole_wherever_they_begin():
    for n in LARGE:
        x, more = noise(n, 1), noise(n, 2)
        for by in (0, 1, 15, 16, 31):
            out = _not_aligned(n, by)
            assert sweep.add_finite(x, more, out)
            assert same_bits(out, x + more)
            assert sweep.copy_finite(x, out)
            assert same_bits(out, x)
            assert sweep.way_finite(x, more, x, out)
            assert same_bits(out, x + (x - more))
            assert sweep.zeros(out) is out
            assert int(torch.count_nonzero(out)) == 0
            around = out.untyped_storage().nbytes() // 4
            whole = out.as_strided((around,), (1,), 0)
            assert int((whole == 7.0).sum()) == 64, "nothing beside it was touched"


def test_large_vectors_are_looked_at_from_end_to_end():
    for n in LARGE:
        for at in (0, 3, n // 2, n - 1):
            for bad in (torch.nan, -torch.inf):
                x, out = noise(n, 3), _not_aligned(n, 5)
                x[at] = bad
                assert not sweep.copy_finite(x, out)
                assert not sweep.add_finite(x, noise(n, 4), out)
                assert not sweep.way_finite(noise(n, 4), x, noise(n, 5), out)


def test_zeros_of_other_types_are_zeros_too():
    for t in (torch.ones(9, dtype=torch.float64), torch.ones(8, 8)[:, 1], torch.ones(0)):
        assert int(torch.count_nonzero(sweep.zeros(t))) == 0
