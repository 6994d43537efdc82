"""Bugs a review found: each once, small."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

import laconic
from laconic.core.errors import MismatchError, NonFiniteError, PlanError, UsageError
from laconic.stepping.eager import Eager
from tests.processes import results
from tests.replica.loops import batches, fit, flat, mlp, sgd


def _closure(rank: int, optimizer: torch.optim.Optimizer, model: nn.Module) -> None:
    for x, y in batches(rank, 3):

        def closure(x: Tensor = x, y: Tensor = y) -> float:
            optimizer.zero_grad()
            loss = cross_entropy(model(x), y)
            loss.backward()
            return float(loss.detach())

        optimizer.step(closure)  # type: ignore[arg-type]


def _buffers(model: nn.Module) -> Tensor:
    return torch.cat([b.double().reshape(-1) for b in model.buffers()])


def _cases(rank: int, world: int) -> dict[str, Any]:
    laconic.init(timeout_s=30)
    out: dict[str, Any] = {}

    model = mlp(rank)
    optimizer = sgd(model)
    laconic.distribute(model, optimizer, "none")
    _closure(rank, optimizer, model)
    out["statistics after closures"] = _buffers(model)

    model = mlp(rank).double()
    optimizer = sgd(model)
    laconic.distribute(model, optimizer, "none")
    x, y = batches(rank, 1)[0]
    cross_entropy(model(x.double()), y).backward()
    optimizer.step()
    mean = model[1].running_mean  # type: ignore[index]
    out["doubles stay doubles"] = torch.tensor(not torch.equal(mean, mean.float().double()))

    model = mlp(rank, norm=False)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, "none")
    for x, y in batches(rank, 3):
        cross_entropy(model(x), y).backward()
        with replica.no_sync():
            cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
    out["a quiet pass after the exchanged one"] = flat(model)

    model = mlp(rank, norm=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    laconic.distribute(model, optimizer, "local(2) / ef(topk(0.01))")
    model.load_state_dict({k: torch.full_like(v, 5.0) for k, v in model.state_dict().items()})
    fit(model, optimizer, batches(rank, 2))
    out["weights loaded after distribute"] = flat(model)

    model = nn.Linear(4, 4)
    model.register_buffer("extra", torch.zeros(2 + rank))
    try:
        laconic.distribute(model, sgd(model), "none")
    except MismatchError as error:
        out["buffers"] = "buffer extra" in str(error)

    model = mlp(0)
    try:
        laconic.distribute(model, sgd(model), "ddp" if rank else "none")
    except MismatchError as error:
        out["baseline against plan"] = "'plan: ddp' where rank 0 has 'plan: bsp" in str(error)

    model = nn.Linear(4, 4)
    model.register_buffer("odd", torch.full((3,), rank, dtype=torch.int16))
    laconic.distribute(model, sgd(model), "none")
    out["int16 buffers"] = model.get_buffer("odd").double()
    return out


def test_what_the_review_found_on_two_ranks() -> None:
    a, b = results(2, _cases)
    for name, value in a.items():
        if isinstance(value, Tensor):
            assert torch.equal(value, b[name]), name
        else:
            assert value, name
    assert a["doubles stay doubles"]
    assert (a["weights loaded after distribute"] == 5).all()
    assert {"buffers", "baseline against plan"} <= a.keys()


def _hook_overflow(rank: int, world: int, plan: str) -> list[bool]:
    laconic.init(timeout_s=30)
    model = mlp(rank, norm=False)
    optimizer = sgd(model)
    ddp = DistributedDataParallel(model, static_graph=True)
    ddp.register_comm_hook(*laconic.ddp_hook(plan))
    finite = []
    for step, (x, y) in enumerate(batches(rank, 8)):
        factor = torch.inf if step == 4 and rank == 1 else 1.0
        (cross_entropy(ddp(x), y) * factor).backward()
        finite.append(all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None))
        if finite[-1]:
            optimizer.step()
        optimizer.zero_grad()
    return finite


@pytest.mark.parametrize("plan", ["fp16", "ef(topk(0.1))"])
def test_a_hook_shows_infinity_to_all_ranks_and_recovers(plan: str) -> None:
    for finite in results(2, _hook_overflow, plan):
        assert finite == [True] * 4 + [False] + [True] * 3


@pytest.mark.parametrize("plan", ["ef(topk(0.3))", "ef(powersgd(2))"])
def test_overflow_inside_a_codec_is_an_error_and_not_a_nan(plan: str) -> None:
    model = nn.Linear(64, 64, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-30)
    laconic.distribute(model, optimizer, plan)
    try:
        for _ in range(4):
            model.weight.grad = None
            (model.weight * 3e38).sum().backward()
            optimizer.step()
    except NonFiniteError:
        pass
    assert model.weight.isfinite().all()


def test_a_long_vector_is_compressed_and_a_tiny_model_is_told() -> None:
    long = nn.ParameterList([nn.Parameter(torch.zeros(100_000))])
    replica = laconic.distribute(long, sgd(long), "ef(topk(0.01))")
    assert isinstance(replica, laconic.Replica)
    assert [str(b.compress) for b in replica.buckets] == ["ef(topk(0.01))"]
    tiny = nn.Linear(2, 2)
    with pytest.warns(UserWarning, match="nothing to do"):
        laconic.distribute(tiny, sgd(tiny), "ef(topk(0.01))")


def test_a_second_optimizer_on_one_model_is_refused() -> None:
    model = mlp(0)
    laconic.distribute(model, sgd(model), "none")
    with pytest.raises(UsageError, match="already"):
        laconic.distribute(model, sgd(model), "none")


def test_a_distance_is_not_measured_in_the_middle_of_rounds() -> None:
    """Rounds of `ssp` over all-reduce run in a thread that uses the same connections."""
    replica = object.__new__(laconic.Replica)
    replica.plan, replica.stepping, replica.since = laconic.Plan.parse("ssp(2)"), object.__new__(Eager), 1
    with pytest.raises(UsageError, match=r"Call replica.flush\(\) on all ranks before consensus_distance"):
        replica.consensus_distance()


def test_options_without_effect_are_refused() -> None:
    for plan in ("silent", "ddp"):
        model = mlp(0)
        with pytest.raises(UsageError, match="no effect"):
            laconic.distribute(model, sgd(model), plan, nonfinite="skip")


def test_a_model_under_the_ddp_baseline_can_be_copied() -> None:
    model = mlp(0)
    laconic.distribute(model, sgd(model), "ddp")
    copy.deepcopy(model)(torch.zeros(2, 20))


@pytest.mark.parametrize(
    "text", ["ef(" * 3000, "topk(" + "9" * 500 + ")", "by_shape(" * 200, "topk(-0.01)", "topk(.5.)"]
)
def test_hostile_plan_texts_get_a_plan_error(text: str) -> None:
    with pytest.raises(PlanError):
        laconic.Plan.parse(text)


def test_numbers_may_start_with_a_dot() -> None:
    assert laconic.Plan.parse("topk(.01)") == laconic.Plan.parse("topk(0.01)")
