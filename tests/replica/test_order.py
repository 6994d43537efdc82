"""No schedule changes the result: parameters after 30 steps are those of fifo.

bit for bit, world of two     every schedule: a sum of two does not depend on its order
to 1e-12, world of three      where buckets, chunks or halves change the order in which three or more are added up; in
                              float64, so that nothing but rounding can hide (in float32 it grows to 2e-6 here)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import laconic
from laconic import pricing
from laconic.pilot import WARM, WATCH
from tests.processes import results
from tests.replica.loops import CLASSES, batches, fit, flat, mlp, sgd

STEPS = 30
POLICIES = [  # with the guard off, so that what a policy proposes is what runs
    "wfbp",
    "fused(4KiB, first=1KiB)",
    "fused(4KiB, chunk=1KiB)",
    "planned(guard=off)",
    "mgwfbp(guard=off)",
    "priority(1KiB, credit=4KiB, guard=off)",
    "priority(2KiB, credit=2KiB, guard=off)",
    "tic(2KiB, guard=off)",
    "tac(2KiB, guard=off)",
    "crossed(2KiB, guard=off)",
    "crossed",  # guarded: whatever the trial says, in the middle of the run
]
WIDER = [
    "fused(4KiB, chunk=1KiB)",
    "planned(guard=off)",
    "priority(1KiB, credit=4KiB, guard=off)",
    "crossed(2KiB, guard=off)",
]


class Tied(nn.Module):
    """A language model in small: the embedding is the last weight too, and one layer is used without a call."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.middle = nn.Sequential(nn.Linear(16, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 16))
        self.unused_by_call = nn.Linear(16, 16)
        self.head = nn.Linear(16, 20, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x: Tensor) -> Tensor:
        h = self.middle(self.embed((x.abs() * 7).long() % 20).mean(1))
        h = h + nn.functional.linear(h, self.unused_by_call.weight, self.unused_by_call.bias)
        out: Tensor = self.head(h)[:, :CLASSES]
        return out


def _groups(model: nn.Module) -> list[dict[str, Any]]:
    weights = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() <= 1]
    return [{"params": weights, "weight_decay": 0.01}, {"params": rest, "lr": 0.02}]


SGD, ADAMW = "sgd with momentum", "adamw, accumulating"

# Tied weights and two parameter groups in both; the second accumulates over two backward passes.
CASES: dict[str, tuple[Callable[[nn.Module], torch.optim.Optimizer], int]] = {
    SGD: (lambda m: torch.optim.SGD(_groups(m), lr=0.1, momentum=0.9, nesterov=True), 1),
    ADAMW: (lambda m: torch.optim.AdamW(_groups(m), lr=0.01), 2),
}


def _train(rank: int, case: str, plan: str, dtype: torch.dtype) -> tuple[Tensor, laconic.Replica]:
    optimize, micro = CASES[case]
    torch.manual_seed(1 + rank)
    model = Tied().to(dtype)
    optimizer = optimize(model)
    decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.97)  # moves on before a delayed step is taken
    replica = laconic.distribute(model, optimizer, plan)
    assert isinstance(replica, laconic.Replica)
    data = batches(rank, STEPS * micro, size=8)
    for step in range(STEPS):
        for part in range(micro):
            x, y = data[step * micro + part]
            if part < micro - 1:
                with replica.no_sync():
                    cross_entropy(model(x), y).backward()
            else:
                cross_entropy(model(x), y).backward()
        optimizer.step()
        decay.step()
        optimizer.zero_grad()
        if step == STEPS // 2:
            with torch.no_grad():
                model(data[0][0])  # an evaluation in the middle of a run
    model.state_dict()
    out = flat(model)
    replica.close()
    return out, replica


def _all_policies(rank: int, world: int, case: str) -> dict[str, tuple[float, bool, list[str]]]:
    laconic.init(timeout_s=40)
    pricing.SIZES = (2**10, 2**13)  # small models need no curve of large messages
    out, dtype = {}, torch.float32 if world == 2 else torch.float64
    reference, _ = _train(rank, case, "fifo", dtype)
    for plan in POLICIES if world == 2 else WIDER:
        got, replica = _train(rank, case, plan, dtype)
        refused = any("not delayed" in d for d in replica.decisions)
        out[plan] = float((got - reference).abs().max()), refused, replica.decisions
    return out


@pytest.mark.parametrize(
    ("world", "case", "tolerance"), [(2, SGD, 0.0), (2, ADAMW, 0.0), (3, SGD, 1e-12)], ids=["sgd", "adamw", "three"]
)
def test_no_schedule_changes_the_result(world: int, case: str, tolerance: float):
    checked = {"LACONIC_DEBUG": "1"} if world == 3 else {}  # ranks compare every message before they send it
    for found in results(world, _all_policies, case, timeout_s=110, env=checked):
        for plan, (difference, refused, decisions) in found.items():
            assert difference <= tolerance, (plan, difference)
            assert not refused, (plan, decisions)
            if "guard=off" in plan:
                assert len(decisions) == 1, (plan, decisions)
                assert f"from step {WARM + WATCH + 1} on {plan.split('(')[0]}" in decisions[0]


# A compressor sees the same buckets in the same steps, so its randomness and its memories are the same too.
COMPRESSED = ["ef(topk(0.1))", "qsgd(bits=4)", "ef(powersgd(2))"]
BARRIER, CROSSING = "fused(2KiB, first=2KiB)", ["crossed(2KiB, guard=off)", "tic(2KiB, guard=off)"]


def _end(rank: int, plan: str) -> tuple[Tensor, str]:
    model = mlp(rank)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, plan)
    assert isinstance(replica, laconic.Replica)
    fit(model, optimizer, batches(rank, 15))
    replica.close()
    return flat(model), " ".join(replica.decisions)


def _compressed(rank: int, world: int) -> dict[str, tuple[float, str]]:
    laconic.init(timeout_s=60)
    pricing.SIZES = (2**10, 2**13)
    out = {}
    for compress in COMPRESSED:
        reference, _ = _end(rank, f"{compress} / {BARRIER}")
        for schedule in CROSSING:
            got, said = _end(rank, f"{compress} / {schedule}")
            out[f"{compress} / {schedule}"] = float((got - reference).abs().max()), said
    return out


def test_crossing_changes_nothing_of_what_compressors_say():
    for found in results(2, _compressed, timeout_s=110):
        for plan, (difference, said) in found.items():
            assert difference == 0.0, (plan, difference)
            assert f"from step {WARM + WATCH + 1} on " in said, (plan, said)
