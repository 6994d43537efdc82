"""Running statistics go on while a round is under way: none of what norm layers have seen is set back."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import laconic
from tests.processes import results

STEPS = 12
PLANS = ["bsp", "local(4)", "cocod(2)", "cocod(4)", "diloco(4, fragments=2, overlap=1) / wfbp"]


def _seen(rank: int, world: int) -> dict[str, Tensor]:
    """The running mean of a layer that sees the same numbers in every step, and cannot change."""
    laconic.init(timeout_s=30)
    out = {}
    for plan in PLANS:
        torch.manual_seed(0)
        model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        replica = laconic.distribute(model, optimizer, plan)
        x = torch.tensor([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]]) * (rank + 1)
        for _ in range(STEPS):
            model(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        replica.flush()
        out[plan] = model.state_dict()["0.running_mean"].clone()
        replica.close()
    return out


def test_all_steps_count_in_the_mean_of_all_ranks() -> None:
    for out in results(3, _seen, timeout_s=60):
        for plan, seen in out.items():
            wanted = torch.tensor([2.0, 3.0, 4.0]) * 2 * (1 - 0.9**STEPS)  # ranks saw 1, 2 and 3 times these
            torch.testing.assert_close(seen, wanted, msg=lambda text, plan=plan: f"{plan}: {text}")
