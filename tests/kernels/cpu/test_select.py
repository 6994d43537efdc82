"""The k largest, exactly and by the same rule among equals, whatever the sample says."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from laconic.kernels import reference
from laconic.kernels.cpu import pool, select
from tests.kernels.parity import same_bits
from tests.zoo import noise

SIZES = (0, 1, 2, 31, 32, 33, 5003, 20_000, 300_001)


def vectors(n: int) -> dict[str, Tensor]:
    sparse = torch.zeros(n)
    sparse[::997] = noise(sparse[::997].numel(), 2)  # an embedding's gradient: fewer than k are not zero
    broken = noise(n, 4)
    broken[n // 2 :: 1000], broken[n // 3 :: 1500] = torch.nan, -torch.inf
    return {
        "normal": noise(n, 1),
        "heavy tails": noise(n, 1) ** 5,
        "mostly zeros": sparse,
        "many ties": (noise(n, 3) * 2).round(),
        "all equal": torch.full((n,), -0.5),
        "sorted": noise(n, 1).sort().values,
        "one layer larger": noise(n, 5) * torch.where(torch.arange(n) < n // 50, 100.0, 1.0),
        "subnormal": noise(n, 6) * 1e-41,
        "not finite": broken,
    }


def counts(n: int) -> set[int]:
    return {k for k in (0, 1, 2, n // 1000, n // 100, n // 10, n // 3, n - 1, n) if 0 <= k <= n}


@pytest.mark.parametrize("n", SIZES)
def test_the_same_elements_as_the_reference(n: int):
    for what, x in vectors(n).items():
        for k in counts(n):
            at, values = select.select(x, k)
            want, there = reference.select(x, k)
            assert torch.equal(at, want), f"{k} of {n}, {what}"
            assert same_bits(values, there), f"{k} of {n}, {what}"
            assert torch.equal(select.largest(x, k), want.to(torch.int64))


@pytest.mark.parametrize("n", SIZES)
def test_error_feedback_in_the_same_pass(n: int):
    for what, x in vectors(n).items():
        e = noise(n, 9) if what in ("normal", "not finite") else torch.zeros(n)
        for k in counts(n):
            mine, theirs = torch.full((n,), 3.0), torch.full((n,), 4.0)
            a, b = select.select_keep(x, e, mine, k), reference.select_keep(x, e, theirs, k)
            assert torch.equal(a[0], b[0]), f"{k} of {n}, {what}"
            assert same_bits(a[1], b[1]), f"{k} of {n}, {what}"
            assert same_bits(mine, theirs), f"{k} of {n}, {what}"


@pytest.mark.parametrize("rank", [1, 2, 40, 2000])
def test_a_bad_sample_costs_time_but_no_exactness(rank: int, monkeypatch: pytest.MonkeyPatch):
    """Too few above the threshold, too many, or no room for them: the residual is complete and the k are right."""
    n, k = 300_001, 3000
    x, e = noise(n, 1), noise(n, 2)

    def edge(*_: object) -> tuple[int, int]:
        value = (x + e).abs().sort(descending=True).values[rank * 20]
        return int(value.view(torch.int32)), k + 64

    monkeypatch.setattr(select, "_edge", edge)
    mine, theirs = torch.empty(n), torch.empty(n)
    a, b = select.select_keep(x, e, mine, k), reference.select_keep(x, e, theirs, k)
    assert torch.equal(a[0], b[0])
    assert torch.equal(mine, theirs)


@pytest.mark.parametrize("threads", [2, 3])
def test_any_number_of_threads_selects_the_same(threads: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pool, "ENOUGH", 10_000)
    monkeypatch.setattr(select, "ENOUGH", 10_000)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    for what, x in vectors(300_001).items():
        for k in (30, 3000, 100_000):
            mine, theirs = torch.empty(x.numel()), torch.empty(x.numel())
            a = select.select_keep(x, torch.zeros_like(x), mine, k)
            b = reference.select_keep(x, torch.zeros_like(x), theirs, k)
            assert torch.equal(a[0], b[0]), f"{what}, {k}"
            assert same_bits(mine, theirs), f"{what}, {k}"


@pytest.mark.parametrize("threshold", [0.0, 0.5, 2.0, 1e30])
def test_all_above_a_threshold(threshold: float):
    for what, x in vectors(5003).items():
        at, values = select.above(x, threshold)
        want, there = reference.above(x, threshold)
        assert torch.equal(at, want), what
        assert same_bits(values, there), what


@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
def test_scattering_adds_where_it_should(kind: torch.dtype):
    at = torch.arange(0, 5000, 7).to(kind)
    values = noise(at.numel(), 1)
    mine, theirs = noise(5000, 2), noise(5000, 2)
    select.scatter_add(mine, at, values, 1 / 3)
    reference.scatter_add(theirs, at, values, 1 / 3)
    assert torch.equal(mine, theirs)


def test_doubles_are_compared_as_doubles():
    x = torch.tensor([1.0, 1.0 + 1e-12, -1.0 - 2e-12], dtype=torch.float64)
    assert select.largest(x, 2).tolist() == [1, 2]
