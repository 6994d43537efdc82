"""`none` is torch DDP: the same parameters, the same bytes; lossy plans keep replicas equal."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

import laconic
from tests.processes import results
from tests.replica.loops import batches, fit, flat, mlp, sgd, trained

LOSSLESS = ["none", "none / fifo", "none / wfbp", "none / fused(8KiB, first=1KiB)"]
LOSSY = [
    "fp16",
    "bf16",
    "ef(topk(0.05))",
    "randomk(0.5)",
    "ef(randomk(0.3))",
    "qsgd(bits=4)",
    "ef(sign)",
    "ef(powersgd(2))",
    "ef(topk(0.1) | qsgd(bits=4))",
    "by_shape(powersgd(2), rest=fp16)",
    "local(4)",
    "local(4) / ef(topk(0.1) | qsgd(4))",
    "qsgd(bits=4) / allreduce(route=gather) / wfbp",
]


def _ddp(rank: int, steps: int) -> Tensor:
    model = mlp(rank)
    optimizer = sgd(model)
    fit(DistributedDataParallel(model), optimizer, batches(rank, steps))
    return flat(model)


def _against_ddp(rank: int, world: int) -> dict[str, Any]:
    laconic.init(timeout_s=30)
    reference = _ddp(rank, 50)
    out: dict[str, Any] = {p: float((trained(rank, p, 50) - reference).abs().max()) for p in LOSSLESS}
    out["in place"] = float((trained(rank, "ddp", 50) - reference).abs().max())
    model = mlp(rank, norm=False)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, "none")
    fit(model, optimizer, batches(rank, 10))
    out["bytes"] = replica.stats.wire_bytes / replica.stats.dense_bytes
    return out


@pytest.mark.parametrize("world", [2, 4])
def test_none_gives_the_parameters_and_the_bytes_of_ddp(world: int) -> None:
    for out in results(world, _against_ddp):
        assert out.pop("in place") == 0.0  # the baseline is DDP itself
        assert out.pop("bytes") == pytest.approx(1.0, abs=0.02)
        assert max(out.values()) < 1e-6, out


def _lossy(rank: int, world: int) -> list[Tensor]:
    laconic.init(timeout_s=30)
    return [trained(rank, plan, 9) for plan in LOSSY]


@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_replicas_are_equal_bit_for_bit_after_any_plan(world: int) -> None:
    by_rank = results(world, _lossy, timeout_s=100)
    for plan, *models in zip(LOSSY, *by_rank, strict=True):
        assert models[0].isfinite().all(), plan
        assert all(torch.equal(models[0], m) for m in models), plan


def _eight(rank: int, world: int) -> list[Tensor]:
    laconic.init(timeout_s=60)
    return [trained(rank, plan, 3) for plan in ("none", "ef(sign)", "ef(topk(0.05))", "local(2)")]


def test_eight_workers_agree() -> None:
    by_rank = results(8, _eight, timeout_s=100)
    for models in zip(*by_rank, strict=True):
        assert all(torch.equal(models[0], m) for m in models)


def _alone() -> Tensor:
    model = mlp(0)
    optimizer = sgd(model)
    fit(model, optimizer, batches(0, 20))
    return flat(model)


def test_one_worker_without_torchrun_trains_as_if_alone() -> None:
    assert torch.equal(trained(0, "none"), _alone())


def _local_one(rank: int, world: int) -> tuple[Tensor, Tensor]:
    laconic.init(timeout_s=30)

    def plain_sgd(plan: str) -> Tensor:
        model = mlp(rank, norm=False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        laconic.distribute(model, optimizer, plan)
        fit(model, optimizer, batches(rank, 10))
        return flat(model)

    return plain_sgd("local(1)"), plain_sgd("bsp")


def test_averaging_models_after_every_plain_sgd_step_is_averaging_gradients() -> None:
    for local, bsp in results(3, _local_one):
        assert torch.allclose(local, bsp, atol=1e-6)  # one more rounding a step
