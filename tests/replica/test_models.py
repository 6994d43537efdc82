"""Models and loops as people write them: accumulation, frozen, unused, tied, mixed types, clipping, several models."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

import laconic
from laconic.core.errors import UsageError
from tests.processes import results
from tests.replica.loops import batches, fit, flat, mlp, sgd


class Branches(nn.Module):
    """`spare` is used by rank 0 only, `never` by nobody, `head` shares its weight with `body`, `ice` is frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(20, 20)
        self.tied = nn.Linear(20, 20)
        self.tied.weight = self.body.weight
        self.spare = nn.Linear(20, 20)
        self.never = nn.Linear(20, 20)
        self.ice = nn.Linear(20, 20)
        self.ice.requires_grad_(False)
        self.head = nn.Linear(20, 3)

    def forward(self, x: Tensor, spare: bool) -> Tensor:
        x = torch.relu(self.tied(torch.relu(self.body(self.ice(x)))))
        y: Tensor = self.head(self.spare(x) if spare else x)
        return y


def _branches(rank: int, world: int, plan: str) -> dict[str, Any]:
    laconic.init(timeout_s=30)

    def run(with_ddp: bool) -> tuple[Tensor, Branches]:
        torch.manual_seed(rank)
        model = Branches()
        optimizer = torch.optim.AdamW(
            [
                {"params": model.head.parameters(), "lr": 1e-2},
                {
                    "params": [
                        *model.body.parameters(),
                        model.tied.bias,
                        *model.spare.parameters(),
                        *model.never.parameters(),
                    ],
                    "lr": 1e-3,
                },
            ]
        )
        call: Callable[..., Tensor] = model
        if with_ddp:
            call = DistributedDataParallel(model, find_unused_parameters=True)
        else:
            laconic.distribute(model, optimizer, plan)
        for x, y in batches(rank, 12):
            cross_entropy(call(x, rank == 0), y).backward()
            optimizer.step()
            optimizer.zero_grad()
        return flat(model), model

    ours, model = run(with_ddp=False)
    theirs, _ = run(with_ddp=True)
    return {
        "gap": float((ours - theirs).abs().max()),
        "never": model.never.weight.grad is None and "never.weight" in model.state_dict(),
        "keys": list(model.state_dict()),
        "values": ours,
    }


def test_unused_frozen_and_tied_parameters_train_as_under_ddp() -> None:
    outs = results(2, _branches, "none")
    for out in outs:
        assert out["gap"] < 1e-6
        assert out["never"]
        assert out["keys"] == list(Branches().state_dict())
    assert torch.equal(outs[0]["values"], outs[1]["values"])


def test_unused_parameters_work_with_memory_and_with_local_steps() -> None:
    for plan in ("ef(topk(0.1))", "local(5)"):
        outs = results(2, _branches, plan)
        # 12 steps of local(5) end between two exchanges; the comparison is for plans that agree at every step
        assert plan == "local(5)" or torch.equal(outs[0]["values"], outs[1]["values"])


def _accumulate(rank: int, world: int, plan: str) -> tuple[Tensor, Tensor]:
    laconic.init(timeout_s=30)

    def run(pieces: int) -> Tensor:
        model = mlp(rank, norm=False)
        optimizer = sgd(model)
        replica = laconic.distribute(model, optimizer, plan)
        for x, y in batches(rank, 8):
            for i, (a, b) in enumerate(zip(x.chunk(pieces), y.chunk(pieces), strict=True)):
                loss = cross_entropy(model(a), b) / pieces
                if i < pieces - 1:
                    with replica.no_sync():
                        loss.backward()
                else:
                    loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        assert replica.stats.exchanges == 8
        return flat(model)

    return run(1), run(4)


@pytest.mark.parametrize("plan", ["none", "ef(topk(0.2))"])
def test_accumulated_pieces_are_one_batch(plan: str) -> None:
    for whole, pieces in results(2, _accumulate, plan):
        assert torch.allclose(whole, pieces, atol=1e-4)  # sums of pieces round differently


def _forgot_last_sync(rank: int, world: int) -> Tensor:
    laconic.init(timeout_s=30)
    model = mlp(rank, norm=False)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, "none")
    for x, y in batches(rank, 4):
        with replica.no_sync():
            cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
    return flat(model)


def test_a_step_without_an_exchanged_pass_is_exchanged_by_the_step() -> None:
    a, b = results(2, _forgot_last_sync)
    assert torch.equal(a, b)


def _idle_rank(rank: int, world: int) -> Tensor:
    laconic.init(timeout_s=30)
    model = mlp(rank, norm=False)
    optimizer = sgd(model)
    laconic.distribute(model, optimizer, "none")
    for x, y in batches(rank, 4):
        if rank == 0:  # rank 1 has run out of data but still steps
            cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
    return flat(model)


def test_a_rank_without_a_backward_pass_does_not_hang_the_others() -> None:
    a, b = results(2, _idle_rank)
    assert torch.equal(a, b)


def _statistics(rank: int, world: int, plan: str) -> tuple[Tensor, Tensor, int]:
    laconic.init(timeout_s=30)
    model = mlp(rank)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, plan)
    fit(model, optimizer, batches(rank, 8))
    replica.flush()
    norm = model[1]  # type: ignore[index]
    return norm.running_mean.clone(), norm.running_var.clone(), int(norm.num_batches_tracked)


@pytest.mark.parametrize("plan", ["none", "ef(topk(0.1))", "local(4)"])
def test_running_statistics_are_averaged(plan: str) -> None:
    (mean_a, var_a, n_a), (mean_b, var_b, n_b) = results(2, _statistics, plan)
    assert torch.equal(mean_a, mean_b)
    assert torch.equal(var_a, var_b)
    assert n_a == n_b == 8


def _empty(rank: int, world: int, plan: str) -> list[tuple[int, ...]]:
    """A parameter without elements at the front, in the middle and at the end of a bucket."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 4))
    for name in ("a", "b"):
        model.register_parameter(name, nn.Parameter(torch.empty(0, 5)))
    model[0].register_parameter("none", nn.Parameter(torch.empty(3, 0)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    laconic.distribute(model, optimizer, plan)
    for _ in range(2):
        nothing = sum(p.sum() for p in model.parameters() if p.numel() == 0)
        (model(torch.ones(2, 6)).sum() + nothing).backward()
        shapes = [tuple(p.grad.shape) for p in model.parameters() if p.grad is not None]
        assert shapes == [tuple(p.shape) for p in model.parameters()]
        optimizer.step()
        optimizer.zero_grad()
    return shapes


@pytest.mark.parametrize("plan", ["none", "none / wfbp", "ef(topk(0.5))", "qsgd(4) / wfbp"])
def test_parameters_without_elements_take_part(plan: str) -> None:
    assert len(results(2, _empty, plan)[0]) == 7


def _mixed(rank: int, world: int) -> tuple[list[torch.dtype], bool, Tensor]:
    laconic.init(timeout_s=30)
    torch.manual_seed(rank)
    model = nn.ModuleDict({"a": nn.Linear(20, 8).double(), "b": nn.Linear(8, 8), "c": nn.Linear(8, 3).bfloat16()})
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, "ef(topk(0.3))")
    assert isinstance(replica, laconic.Replica)
    for x, y in batches(rank, 5):
        out = model["c"](model["b"](model["a"](x.double()).float()).bfloat16())
        cross_entropy(out.float(), y).backward()
        optimizer.step()
        optimizer.zero_grad()
    kinds = [b.spec.dtype for b in replica.buckets]
    return kinds, all(p.isfinite().all() for p in model.parameters()), flat(model)


def test_parameters_of_several_float_types_keep_them() -> None:
    (kinds, finite, a), (_, _, b) = results(2, _mixed)
    assert kinds == [torch.bfloat16, torch.float32, torch.float64]
    assert finite
    assert torch.equal(a, b)


def _clipped(rank: int, world: int) -> tuple[float, Tensor, Tensor]:
    laconic.init(timeout_s=30)

    def run(ddp: bool) -> tuple[float, Tensor]:
        model = mlp(rank, norm=False)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
        call = DistributedDataParallel(model) if ddp else model
        if not ddp:
            laconic.distribute(model, optimizer, "none")
        norm = torch.zeros(())
        for x, y in batches(rank, 6):
            cross_entropy(call(x), y).backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=False)
        return float(norm), flat(model)

    norm, ours = run(ddp=False)
    _, theirs = run(ddp=True)
    return norm, ours, theirs


def test_clipping_and_schedulers_see_the_mean() -> None:
    (norm_a, ours, theirs), (norm_b, _, _) = results(2, _clipped)
    assert norm_a == norm_b
    assert torch.allclose(ours, theirs, atol=1e-6)


def _two_models(rank: int, world: int) -> tuple[Tensor, Tensor]:
    laconic.init(timeout_s=30)
    a, b = mlp(rank, norm=False), mlp(rank + 10, norm=False)
    opt_a, opt_b = sgd(a), sgd(b)
    laconic.distribute(a, opt_a, "ef(topk(0.1))")
    laconic.distribute(b, opt_b, "local(2)")
    for x, y in batches(rank, 6):
        (cross_entropy(a(x), y) + cross_entropy(b(x), y)).backward()
        opt_a.step()
        opt_b.step()
        opt_a.zero_grad()
        opt_b.zero_grad()
    return flat(a), flat(b)


def test_two_models_in_one_process_do_not_mix() -> None:
    (a0, b0), (a1, b1) = results(2, _two_models)
    assert torch.equal(a0, a1)
    assert torch.equal(b0, b1)


def test_a_copy_of_a_distributed_model_is_only_a_model() -> None:
    model = mlp(0)
    replica = laconic.distribute(model, sgd(model), "none")
    twin = copy.deepcopy(model)
    x, y = batches(0, 1)[0]
    cross_entropy(twin(x), y).backward()
    assert replica.stats.exchanges == 0
    assert list(twin.state_dict()) == list(model.state_dict())


def test_a_second_backward_before_a_step_warns_and_accumulates() -> None:
    model = mlp(0, norm=False)
    optimizer = sgd(model)
    laconic.distribute(model, optimizer, "none")
    x, y = batches(0, 1)[0]
    cross_entropy(model(x), y).backward()
    once = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    with pytest.warns(UserWarning, match="no_sync"):
        cross_entropy(model(x), y).backward()
    twice = [p.grad for p in model.parameters() if p.grad is not None]
    assert all(torch.allclose(2 * a, b) for a, b in zip(once, twice, strict=True))


def test_sparse_embeddings_are_refused_with_advice() -> None:
    model = nn.Embedding(10, 4, sparse=True)
    with pytest.raises(UsageError, match="sparse=False"):
        laconic.distribute(model, torch.optim.SGD(model.parameters(), lr=0.1), "none")


def test_a_model_without_anything_to_train_is_refused() -> None:
    model = nn.Linear(2, 2).requires_grad_(False)
    with pytest.raises(UsageError, match="nothing to distribute"):
        laconic.distribute(model, torch.optim.SGD(model.parameters(), lr=0.1), "none")


def test_an_optimizer_of_another_model_is_refused() -> None:
    model, other = nn.Linear(2, 2), nn.Linear(3, 3)
    with pytest.raises(UsageError, match="own optimizer"):
        laconic.distribute(model, sgd(other), "none")


def test_lbfgs_is_refused_where_its_decisions_would_split_the_ranks() -> None:
    model = nn.Linear(2, 2)
    with pytest.raises(UsageError, match="LBFGS"):
        laconic.distribute(model, torch.optim.LBFGS(model.parameters()), "none")


def test_unfreezing_after_distribute_is_noticed() -> None:
    model = Branches()
    optimizer = sgd(model)
    laconic.distribute(model, optimizer, "none")
    model.ice.requires_grad_(True)
    x, y = batches(0, 1)[0]
    cross_entropy(model(x, True), y).backward()
    with pytest.raises(UsageError, match=r"ice\.weight"):
        optimizer.step()


def test_a_closed_replica_leaves_the_model_alone() -> None:
    model = mlp(0, norm=False)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, "topk(0.01)")
    replica.close()
    fit(model, optimizer, batches(0, 3))
    assert replica.stats.exchanges == 0


def test_a_closure_is_exchanged_inside_the_step() -> None:
    model = mlp(0, norm=False)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, "none")
    x, y = batches(0, 1)[0]

    def closure() -> float:
        optimizer.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()
        return float(loss.detach())

    optimizer.step(closure)
    assert replica.stats.exchanges == 1
