"""Plans that own the momentum, on processes: replicas stay equal, a falling rate reaches them, checkpoints hold."""

from __future__ import annotations

import io
from typing import Any

import torch
from torch import Tensor, nn

import laconic
from tests.processes import results
from tests.replica.loops import batches, fit, flat, mlp

PLANS = ["momentum(topk(0.1))", "gmc(topk(0.1))", "dist_ef(sign)", "ef(accordion(topk(0.5), topk(0.1), window=4))"]
Schedule = torch.optim.lr_scheduler.StepLR


def _plain(model: nn.Module) -> tuple[torch.optim.Optimizer, Schedule]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    return optimizer, Schedule(optimizer, step_size=3, gamma=0.5)


def _train(model: nn.Module, optimizer: torch.optim.Optimizer, schedule: Schedule, data: list[Any]) -> None:
    for batch in data:
        fit(model, optimizer, [batch])
        schedule.step()


def _stopped_and_not(rank: int, world: int) -> dict[str, tuple[Tensor, Tensor]]:
    laconic.init(timeout_s=30)
    data, out = batches(rank, 12), {}
    for plan in PLANS:
        model = mlp(rank)
        optimizer, schedule = _plain(model)
        replica = laconic.distribute(model, optimizer, plan)
        _train(model, optimizer, schedule, data[:7])
        file = io.BytesIO()
        parts = {"model": model, "optimizer": optimizer, "schedule": schedule, "replica": replica}
        torch.save({name: part.state_dict() for name, part in parts.items()}, file)
        _train(model, optimizer, schedule, data[7:])

        fresh = mlp(rank + 50)
        optimizer, schedule = _plain(fresh)
        replica = laconic.distribute(fresh, optimizer, plan)
        file.seek(0)
        saved = torch.load(file, weights_only=True)
        parts = {"model": fresh, "optimizer": optimizer, "schedule": schedule, "replica": replica}
        for name, part in parts.items():
            part.load_state_dict(saved[name])
        _train(fresh, optimizer, schedule, data[7:])
        out[plan] = (flat(model), flat(fresh))
    return out


def test_replicas_stay_equal_and_continue_from_checkpoints():
    first, *others = results(3, _stopped_and_not, timeout_s=110)
    for plan, (through, continued) in first.items():
        assert torch.equal(through, continued), plan
        assert all(torch.equal(through, other[plan][0]) for other in others), plan
