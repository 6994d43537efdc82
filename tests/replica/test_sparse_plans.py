"""Messages of lengths that nobody knows, and sparse collectives, under real training loops."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import laconic
from tests.processes import results
from tests.replica.loops import trained

PLANS = (
    "ef(threshold(0.01))",
    "allreduce(route=deal) / ef(redsync(0.05))",
    "ef(threshold(0.01) | qsgd(4)) / wfbp",
    "adacomp",
    "dgc(0.02, momentum=0)",
    "by_shape(ef(sidco(0.05)), rest=fp16)",
    "ef(gtopk(0.05))",
    "ef(oktopk(0.05, reuse=4))",
    "ef(sparcml(topk(0.05)))",
    "ef(hitopk(0.05, node=2))",
    "local(3) / ef(sparseloco(16, chunk=256))",
    "ef(dct(8))",
)


def _train(rank: int, world: int) -> list[Tensor]:
    laconic.init(timeout_s=30)
    return [trained(rank, plan, 9) for plan in PLANS]


@pytest.mark.parametrize("debug", ["0", "1"])
def test_replicas_are_equal_bit_for_bit_after_sparse_plans(debug: str) -> None:
    by_rank = results(3, _train, timeout_s=100, env={"LACONIC_DEBUG": debug})
    for plan, *models in zip(PLANS, *by_rank, strict=True):
        assert models[0].isfinite().all(), plan
        assert all(torch.equal(models[0], m) for m in models), plan
