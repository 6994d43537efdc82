"""Virtual workers are the runtime itself: the same steps as one worker with everyone's batch."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from laconic.core.errors import LaconicError
from laconic.drive.virtual import VirtualCrew, VirtualDriver
from laconic.plan import Plan
from laconic.sim.train import Job, virtual

X = torch.linspace(-1, 1, 64).view(16, 4)


def second(now: Plan) -> float:
    """What every step takes here."""
    return 1.0


def job(finals: dict[int, torch.Tensor] | None = None) -> Job:
    def make() -> tuple[nn.Module, torch.optim.Optimizer]:
        net = nn.Linear(4, 1)
        with torch.no_grad():
            net.weight.fill_(0.5)
            net.bias.zero_()
        return net, torch.optim.SGD(net.parameters(), lr=0.1)

    def batches(rank: int, world: int):  # type: ignore[no-untyped-def]
        while True:
            x = X[rank::world]
            yield x, x.sum(1, keepdim=True)

    def score(model: nn.Module) -> dict[str, float]:
        with torch.no_grad():
            return {"loss": float((model(X) - X.sum(1, keepdim=True)).pow(2).mean())}

    return Job(make, lambda m, x, y: (m(x) - y).pow(2).mean(), batches, score)


@pytest.mark.parametrize("text", ["none", "allreduce(ring)", "local(2)", "gossip(complete)", "ps(servers=2)"])
@pytest.mark.parametrize("world", [1, 2, 4])
def test_any_number_of_workers_trains_as_one_would(text: str, world: int) -> None:
    if world == 1 and "gossip" in text:
        pytest.skip("nobody to talk to")
    alone = virtual(Plan.parse("none"), job(), 1, 6, 3, second).seen
    seen = virtual(Plan.parse(text), job(), world, 6, 3, lambda _: 2.0).seen
    assert [(s.step, s.seconds) for s in seen] == [(3, 6.0), (6, 12.0)]
    exact = text in ("none", "allreduce(ring)", "ps(servers=2)")
    assert seen[-1].metrics["loss"] == pytest.approx(alone[-1].metrics["loss"], rel=1e-4 if exact else 0.2)
    assert (seen[-1].sent_bytes > 0) == (world > 1)


def test_compressed_training_works_with_many_workers() -> None:
    seen = virtual(Plan.parse("ef(topk(0.5)) / wfbp"), job(), 16, 30, 10, second).seen
    assert seen[-1].metrics["loss"] < seen[0].metrics["loss"]


def test_an_error_of_one_worker_ends_all() -> None:
    def worker(rank: int, driver: VirtualDriver) -> None:
        if rank == 1:
            raise LaconicError("no more")
        driver.finish()

    with pytest.raises(LaconicError, match="no more"):
        VirtualCrew(3).run(worker)


def test_who_ends_early_is_noticed() -> None:
    def worker(rank: int, driver: VirtualDriver) -> None:
        if rank:
            driver.finish()

    with pytest.raises(LaconicError, match="out of step"):
        VirtualCrew(2).run(worker)
