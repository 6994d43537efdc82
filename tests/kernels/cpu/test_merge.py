from __future__ import annotations

import torch
from torch import Tensor

from laconic.kernels import reference
from laconic.kernels.cpu import merge, sweep
from tests.kernels.parity import same_bits
from tests.zoo import noise


def _some(n: int, k: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    at = torch.randperm(n, generator=generator)[:k].sort().values.to(torch.int32)
    return at, noise(k, seed)


def test_sparse_vectors_are_added_in_order_bit_for_bit():
    for n in (0, 1, 33, merge.BLOCK, sweep.LARGE - 1, sweep.LARGE, sweep.LARGE + 2 * merge.BLOCK + 77):
        for vectors in (1, 2, 3, 5, 8):
            sparse = [_some(n, min(n, 1 + n // (2 + r)), 10 * vectors + r) for r in range(vectors)]
            ats, values = [s[0] for s in sparse], [s[1] for s in sparse]
            mine, theirs = torch.full((n,), 7.0), torch.full((n,), 8.0)
            merge.merge(mine, ats, values, 1 / vectors)
            reference.merge(theirs, ats, values, 1 / vectors)
            assert same_bits(mine, theirs), f"{n}, {vectors}"


def test_nothing_beside_a_large_sum_is_touched_wherever_it_begins():
    n = sweep.LARGE + 5
    at, values = _some(n, n // 50, 1)
    for by in (0, 1, 15, 16, 31):
        whole = torch.full((n + 64,), 7.0)
        merge.merge(whole[by : by + n], [at], [values], 1.0)
        wanted = torch.zeros(n)
        wanted[at.long()] = values
        assert same_bits(whole[by : by + n], wanted)
        assert int((whole == 7.0).sum()) == 64 + int((wanted == 7.0).sum())


def test_vectors_of_nothing_make_zeros():
    out = torch.full((sweep.LARGE,), 7.0)
    nothing = torch.empty(0, dtype=torch.int32), torch.empty(0)
    merge.merge(out, [nothing[0]] * 2, [nothing[1]] * 2, 0.5)
    assert int(torch.count_nonzero(out)) == 0
