"""Ranks that are not the same program: an error on every rank that names the rank and the first difference."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import nn

import laconic
from laconic.core.errors import MismatchError, PlanError, UsageError
from laconic.kernels import choose
from tests.processes import results, run
from tests.replica.loops import mlp, sgd


def _models(rank: int, what: str) -> tuple[nn.Module, dict[str, Any]]:
    odd = rank == 2
    if what == "plan":
        return mlp(0), {"plan": "ef(topk(0.02))" if odd else "ef(topk(0.01))"}
    if what == "shape":
        return nn.Sequential(nn.Linear(4, 5 if odd else 6), nn.Linear(5 if odd else 6, 2)), {}
    if what == "frozen":
        model = mlp(0)
        if odd:
            model[0].weight.requires_grad_(False)  # type: ignore[index]
        return model, {}
    if what == "extra":
        return nn.Sequential(nn.Linear(4, 4), *([nn.Linear(4, 4)] if odd else [])), {}
    if what == "dtype":
        return (mlp(0).double() if odd else mlp(0)), {}
    if what == "kernels":
        return mlp(0), {"plan": "ef(powersgd(1))"}
    assert what == "nonfinite"
    return mlp(0), {"nonfinite": "skip" if odd else "raise"}


CASES = {
    "plan": "it has 'plan: bsp / allreduce / ef(topk(0.02)) / fused' where rank 0 has",
    "shape": "'parameter 0.weight: (5, 4) float32 cpu' where rank 0 has 'parameter 0.weight: (6, 4)",
    "frozen": "where rank 0 has 'parameter 0.weight",
    "extra": "parameter 1.weight: (4, 4)",
    "dtype": "float64 cpu' where rank 0 has",
    "kernels": "'kernels: plain torch' where rank 0 has 'kernels: compiled'",
    "nonfinite": "'nonfinite: skip' where rank 0 has 'nonfinite: raise'",
}


def _disagree(rank: int, world: int) -> dict[str, str]:
    laconic.init(timeout_s=30)
    out = {}
    for what in CASES:
        model, options = _models(rank, what)
        lacking = choose.plain() if what == "kernels" and rank == 2 else nullcontext()  # as without numba
        try:
            with lacking:
                laconic.distribute(model, sgd(model), **({"plan": "none"} | options))
        except MismatchError as error:
            out[what] = str(error)
    return out


def test_every_rank_names_the_odd_one_and_what_differs() -> None:
    for out in results(4, _disagree):
        for what, words in CASES.items():
            assert out[what].startswith("Rank 2 is not the same program as rank 0"), what
            assert words in out[what]


def _one_bad_text(rank: int, world: int) -> None:
    laconic.init(timeout_s=3)
    model = mlp(0)
    laconic.distribute(model, sgd(model), "ef(topkk)" if rank == 1 else "ef(topk(0.01))")


def test_the_others_learn_why_a_rank_stopped_before_it_could_compare() -> None:
    good, bad = run(2, _one_bad_text, timeout_s=30)
    assert "unknown name 'topkk'" in bad.error
    assert "rank 1 stopped in laconic.distribute: Plan: unknown name 'topkk'" in good.error


def test_distributing_twice_is_refused() -> None:
    model = mlp(0)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, "none")
    with pytest.raises(UsageError, match="already"):
        laconic.distribute(model, optimizer, "none")
    replica.close()
    laconic.distribute(model, optimizer, "none")


def test_a_bad_plan_text_is_refused_before_anything_is_attached() -> None:
    model = nn.Linear(2, 2)
    with pytest.raises(PlanError, match="Did you mean topk"):
        laconic.distribute(model, torch.optim.SGD(model.parameters(), lr=0.1), "ef(topkk(0.01))")


def test_the_plan_comes_from_the_environment_when_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LACONIC_PLAN", "ef(sign)")
    model = mlp(0)
    replica = laconic.distribute(model, sgd(model))
    assert str(replica.plan) == "bsp / allreduce / ef(sign(2048)) / fused"
