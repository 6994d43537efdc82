"""BSP over every all-reduce algorithm trains the parameters that the backend's all-reduce trains."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.parallel import DistributedDataParallel

import laconic
from laconic.core.errors import PlanError
from laconic.topology.programs import NAMES
from tests.processes import results
from tests.replica.loops import batches, fit, flat, mlp, sgd, trained


def _far(rank: int, world: int, names: list[str], steps: int) -> dict[str, Any]:
    """How far each algorithm's parameters are from native's; and whether replicas are equal."""
    laconic.init(timeout_s=60)
    native = trained(rank, "none", steps)
    plans = [f"allreduce({name})" for name in names] + ["allreduce(ring) / fused(8KiB, first=1KiB)"]
    ends = {plan: trained(rank, plan, steps) for plan in plans}
    sums = {plan: float(end.sum()) for plan, end in ends.items()}
    return {"far": {plan: float((end - native).abs().max()) for plan, end in ends.items()}, "sums": sums}


@pytest.mark.parametrize(
    ("world", "names", "steps"), [(4, [*NAMES], 50), (3, ["recursive_doubling", "double_tree", "auto"], 8)]
)
def test_parameters_after_fifty_steps_are_those_of_native_all_reduce(world: int, names: list[str], steps: int):
    by_rank = results(world, _far, names, steps, timeout_s=110)
    assert all(out["sums"] == by_rank[0]["sums"] for out in by_rank)
    for out in by_rank:
        assert max(out["far"].values()) < 1e-5, out["far"]


def _mixed(rank: int, world: int) -> Any:
    """Compressors whose sums hop while other messages use collectives; local SGD; DDP's hook; the statistics."""
    laconic.init(timeout_s=60)
    plans = ["ef(powersgd(2))", "global_qsgd", "ef(topk(0.1))", "gtopk(0.1)", "local(2)"]
    ends = [trained(rank, f"{plan} / allreduce(halving_doubling)", 6) for plan in plans]
    model = mlp(rank)
    ddp = DistributedDataParallel(model)
    ddp.register_comm_hook(*laconic.ddp_hook("bf16 / allreduce(ring)"))
    fit(ddp, sgd(model), batches(rank, 6))
    said = []
    for text in ("allreduce(sra)", "allreduce(auto)"):
        other = mlp(rank)
        said.append(laconic.distribute(other, sgd(other), text).stats.reduced_by)
    return [*ends, flat(model)], said


def test_sums_hop_beside_other_messages():
    by_rank = results(3, _mixed, timeout_s=200)
    for models in zip(*(ends for ends, _ in by_rank), strict=True):
        assert models[0].isfinite().all()
        assert all(torch.equal(models[0], m) for m in models)
    for _, (sra, auto) in by_rank:
        assert sra == "sra"
        assert auto.startswith("auto: ")
        assert auto == by_rank[0][1][1]


def _refused(rank: int, world: int) -> str:
    laconic.init(timeout_s=30)
    model = mlp(rank)
    with pytest.raises(PlanError) as caught:
        laconic.distribute(model, sgd(model), "allreduce(hierarchical, groups=2)")
    return str(caught.value)


def test_a_world_that_does_not_fit_is_refused_on_every_rank():
    assert all("3 ranks cannot form 2 equal groups" in said for said in results(3, _refused))


def test_alone_any_algorithm_trains_as_if_alone():
    alone = trained(0, "none", 5)
    for name in (*NAMES, "auto"):
        assert torch.equal(trained(0, f"allreduce({name})", 5), alone)
