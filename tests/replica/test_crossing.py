"""Crossing the boundary between steps: what is flushed, what is refused, what falls back with a message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import laconic
from laconic import pricing
from laconic.core.errors import LaconicError, PlanError
from laconic.pilot import WARM, WATCH
from laconic.plan import Plan
from tests.processes import results
from tests.replica.loops import batches, flat, mlp, sgd

PLAN = "crossed(2KiB, guard=off)"
DRY = WARM + WATCH
Loop = Callable[[int], Any]


class Start:
    """A model in training, and a step of it."""

    def __init__(self, rank: int, plan: str = PLAN, model: nn.Module | None = None, **options: Any) -> None:
        self.model = mlp(rank) if model is None else model
        self.optimizer = sgd(self.model)
        replica = laconic.distribute(self.model, self.optimizer, plan, **options)
        assert isinstance(replica, laconic.Replica)
        self.replica = replica
        self.data = iter(batches(rank, 200, size=8))

    def backward(self) -> None:
        x, y = next(self.data)
        cross_entropy(self.model(x), y).backward()

    def step(self, count: int = 1, between: Callable[[], Any] = lambda: None) -> None:
        for _ in range(count):
            self.backward()
            between()
            self.optimizer.step()
            self.optimizer.zero_grad()


def _late(start: Start) -> bool:
    """Are steps of some buckets still to be taken?"""
    return start.replica.crossing is not None and bool(start.replica.crossing.pending)


def _said(start: Start) -> str:
    return " ".join(start.replica.decisions)


def _refusal(call: Callable[[], Any]) -> str:
    try:
        call()
    except LaconicError as error:
        return str(error)
    return ""


def _flushes(rank: int, world: int) -> dict[str, Any]:
    laconic.init(timeout_s=30)
    pricing.SIZES = (2**10, 2**13)
    out: dict[str, Any] = {}
    start = Start(rank)
    start.step(DRY)
    out["dry run"] = _late(start)
    looks: dict[str, Callable[[], Any]] = {
        "flush": start.replica.flush,
        "state_dict": start.model.state_dict,
        "a layer's state_dict": start.model[0].state_dict,  # type: ignore[index,operator]
        "the optimizer's state_dict": start.optimizer.state_dict,
        "the replica's state_dict": start.replica.state_dict,
        "loading": lambda: start.model.load_state_dict({k: v.clone() for k, v in start.model.state_dict().items()}),
        "loading the optimizer": lambda: start.optimizer.load_state_dict(start.optimizer.state_dict()),
        "evaluation": lambda: _evaluate(start.model),
    }
    for name, look in looks.items():
        start.step()
        before = _late(start)
        look()
        out[name] = before, _late(start)
    start.step()
    start.replica.close()
    out["close"] = True, _late(start)
    out["model"] = flat(start.model)
    return out


@torch.inference_mode()
def _evaluate(model: nn.Module) -> Tensor:
    return model(torch.ones(4, 20))


def test_whoever_looks_sees_steps_that_are_taken():
    ranks = results(2, _flushes)
    assert torch.equal(*(out.pop("model") for out in ranks))
    for out in ranks:
        assert out.pop("dry run") is False
        assert out == dict.fromkeys(out, (True, False))


class Detour(nn.Module):
    """Uses a weight without calling the layer that owns it, and in some passes before anything else was called."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(20, 20), nn.Linear(20, 3)
        self.early = False

    def forward(self, x: Tensor) -> Tensor:
        if self.early:
            x = nn.functional.linear(x, self.first.weight)
            return self.second(x)
        h = self.second.weight.sum() * 0  # before any layer is called: gated by the model itself
        return self.second(torch.relu(self.first(x))) + h


def _falls_back(rank: int, world: int) -> dict[str, str]:
    laconic.init(timeout_s=30)
    pricing.SIZES = (2**10, 2**13)
    out = {}

    def after(name: str, start: Start, between: Callable[[Start], Any], steps: int = DRY) -> None:
        start.step(steps, lambda: between(start))
        start.step(2, lambda: between(start))
        out[name] = f"{_said(start)} {_late(start)}"
        start.replica.close()

    after("clipping", Start(rank), lambda s: nn.utils.clip_grad_norm_(s.model.parameters(), 1.0))
    average = {}

    def averaged(s: Start) -> None:
        s.optimizer.step()
        average["w"] = s.model[0].weight.detach() * 0.9  # type: ignore[index,union-attr,operator]
        s.optimizer.zero_grad()

    start = Start(rank)
    for _ in range(DRY + 1):
        start.backward()
        averaged(start)
    out["moving average"] = f"{_said(start)} {_late(start)}"
    start.replica.close()
    start = Start(rank)
    for step in range(DRY + 1):
        start.backward()
        if rank == 1 and step == 2:
            start.model[0].weight.grad.mul_(1.0)  # type: ignore[index,union-attr,operator]
        start.optimizer.step()
        start.optimizer.zero_grad()
    out["one rank"] = f"{_said(start)} {_late(start)}"
    return out


def test_what_cannot_be_delayed_is_not_and_says_why():
    zero, one = results(2, _falls_back)
    for out in (zero, one):
        assert all("False" in said and "steps are not delayed, because" in said for said in out.values()), out
        assert "changed between backward and step" in out["clipping"]
        assert "read between optimizer.step()" in out["moving average"]
    assert "another rank" in zero["one rank"]
    assert "'0.weight' is changed" in one["one rank"]


def _refuses(rank: int, world: int) -> dict[str, Any]:
    laconic.init(timeout_s=30)
    pricing.SIZES = (2**10, 2**13)
    out: dict[str, Any] = {}
    start = Start(rank)
    start.step(DRY + 1)
    start.backward()
    nn.utils.clip_grad_norm_(start.model.parameters(), 0.1)
    out["late clipping"] = _refusal(start.optimizer.step)

    start = Start(rank)
    start.step(DRY + 1)
    start.backward()
    start.replica.flush()
    nn.utils.clip_grad_norm_(start.model.parameters(), 0.1)
    out["flush, then clip"] = _refusal(start.optimizer.step) + str(_late(start))

    start = Start(rank)
    start.step(DRY + 1)
    start.backward()
    out["twice"] = _refusal(start.backward)

    torch.manual_seed(0)
    start = Start(rank, "crossed(256B, guard=off)", Detour())  # the first weight has a bucket of its own
    start.step(DRY + 2)
    out["detour gated"] = _late(start)
    start.model.early = True  # type: ignore[assignment]
    out["detour ungated"] = _refusal(start.step)

    start = Start(rank, nonfinite="skip")
    start.step(DRY + 1)
    with pytest.warns(UserWarning, match="Step skipped"):
        start.step(1, lambda: None) if rank else _poisoned(start)
    out["skipped"] = start.replica.stats.skipped_steps, bool(flat(start.model).isfinite().all())
    return out


def _poisoned(start: Start) -> None:
    x, y = next(start.data)
    cross_entropy(start.model(x * torch.nan), y).backward()
    start.optimizer.step()
    start.optimizer.zero_grad()


def test_what_comes_up_later_is_an_error_and_never_silent():
    for out in results(2, _refuses):
        assert "between backward and optimizer.step()" in out["late clipping"]
        assert out["flush, then clip"] == "False"
        assert "second backward pass" in out["twice"]
        assert out["detour gated"] is True
        assert "'first.weight' was used in the forward pass before its last step" in out["detour ungated"]
        assert out["skipped"] == (1, True)


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ("local(8) / crossed", "all exchange in every step"),
        ("gossip(ring) / priority", "all exchange in every step"),
        ("local(8) / planned", "all exchange in every step"),
        ("gossip(ring) / fused(chunk='1MiB')", "says whole buckets"),
        ("post_local(10, h=4) / crossed", "all exchange in every step"),
        ("lag / planned", "all exchange in every step"),
        ("lag / fused(chunk='1MiB')", "says whole buckets"),
        ("asp / fused(chunk='1MiB')", "says whole buckets"),
        ("ps / crossed", "two halves"),
        ("momentum(topk(0.1)) / planned", "momentum"),
        ("priority('4MiB', credit='1MiB')", "lets nothing leave"),
        ("priority(auto)", "both are 'auto' or none"),
        ("crossed(guard=perhaps)", "on or off"),
    ],
)
def test_plans_that_cannot_work_are_refused_in_a_sentence(plan: str, reason: str):
    with pytest.raises(PlanError, match=reason):
        Plan.parse(plan)
