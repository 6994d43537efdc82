"""Laconic's compressors under DDP: the same training as without a hook, or with our own engine."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

import laconic
from laconic.core.errors import PlanError
from tests.processes import results
from tests.replica.loops import batches, fit, flat, mlp, sgd

PLANS = ["none", "fp16", "ef(topk(0.1))", "qsgd(bits=4)", "ef(powersgd(2))"]


def _hooked(rank: int, world: int) -> tuple[Tensor, list[Tensor], list[int]]:
    laconic.init(timeout_s=30)

    def run(plan: str | None) -> tuple[Tensor, int]:
        model = mlp(rank)
        optimizer = sgd(model)
        ddp = DistributedDataParallel(model, bucket_cap_mb=0.005)  # type: ignore[arg-type]  # several buckets
        sent = 0
        if plan is not None:
            state, hook = laconic.ddp_hook(plan)
            ddp.register_comm_hook(state, hook)
        fit(ddp, optimizer, batches(rank, 12))
        if plan is not None:
            sent = state.link.sent_bytes
        return flat(model), sent

    models, sent = zip(*(run(p) for p in PLANS), strict=True)
    return run(None)[0], list(models), list(sent)


def test_ddp_trains_with_every_hook_and_replicas_stay_equal() -> None:
    outs = results(2, _hooked)
    plain, models, sent = outs[0]
    assert torch.allclose(plain, models[0], atol=1e-6)
    for other in outs[1:]:
        assert all(torch.equal(a, b) for a, b in zip(models, other[1], strict=True))
    assert all(bytes_ < sent[0] for bytes_ in sent[1:])
    assert all(m.isfinite().all() for m in models)


@pytest.mark.parametrize("part", ["local(8)", "fifo", "gossip(ring)", "ps", "ps(colocated)"])
def test_a_plan_that_ddp_would_ignore_is_refused(part: str) -> None:
    with pytest.raises(PlanError, match="only the compressor"):
        laconic.ddp_hook(part)
