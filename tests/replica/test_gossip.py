"""Gossip on real processes: models that differ but stay close, one model at the end, faults, checkpoints."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import laconic
from laconic.net.link import all_reduce_bytes
from tests.processes import results, run
from tests.replica.loops import batches, fit, flat, mlp, sgd

LIMIT_S = 15.0


def _trained(rank: int, world: int, plan: str, steps: int = 12) -> dict[str, Any]:
    laconic.init(timeout_s=LIMIT_S)
    model = mlp(rank)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, plan)
    assert isinstance(replica, laconic.Replica)
    loss = fit(model, optimizer, batches(rank, steps))
    before = flat(model)
    sent, messages = replica.stats.wire_bytes, replica.link.messages
    distance = replica.consensus_distance()
    replica.average()
    norm = model[1]
    assert isinstance(norm, nn.BatchNorm1d)
    return {
        "before": before,
        "after": flat(model),
        "statistics": norm.running_mean,
        "distance": distance,
        "left": replica.consensus_distance(),
        "loss": loss,
        "sent": sent,
        "messages": messages,
        "exchanges": replica.stats.exchanges,
        "buckets": len(replica.buckets),
    }


PLANS = {
    4: ("gossip(ring)", "gossip(one_peer_exp, push_sum)", "gossip(one_peer_exp)"),
    3: ("gossip(random_pairs)", "local(3) / gossip(complete)", "gossip(ring, choco(0.3)) / topk(0.2)"),
    2: ("gossip(ring, powergossip(2))", "local(5) / gossip(ring)"),
    1: ("gossip(ring, choco)",),
}


def _every(rank: int, world: int) -> dict[str, dict[str, Any]]:
    return {plan: _trained(rank, world, plan) for plan in PLANS[world]}


@cache
def told(world: int) -> list[dict[str, dict[str, Any]]]:
    """One set of processes for all plans of a world."""
    return results(world, _every, timeout_s=100)


@pytest.mark.parametrize(("world", "plan"), [(world, plan) for world, plans in PLANS.items() for plan in plans])
def test_models_stay_close_and_end_as_their_mean(world: int, plan: str):
    outs = [by_plan[plan] for by_plan in told(world)]
    table = torch.stack([o["before"] for o in outs])
    mean = table.mean(0)
    distance = (table - mean).square().sum(1).mean().sqrt()
    alone = (table - mean).norm() / table.norm()
    for o in outs:
        assert o["distance"] == pytest.approx(float(distance), rel=1e-4, abs=1e-5)
        assert torch.equal(o["after"], outs[0]["after"])
        assert torch.equal(o["statistics"], outs[0]["statistics"])
        assert torch.allclose(o["after"], mean, atol=1e-4 if "push_sum" not in plan else 0.5)
        assert o["left"] < 1e-5  # a mean of equal numbers is theirs but for rounding
        assert o["loss"] < 1.2  # it was above log 3 = 1.1 at the start for most, and has learned something
    assert alone < 0.5
    assert world == 1 or plan.endswith("complete)") or float(distance) > 1e-4  # they do differ


def test_one_peer_exponential_sends_the_model_once_in_one_message_a_bucket():
    dense = 4 * flat(mlp(0)).numel()
    for o in (by_plan["gossip(one_peer_exp)"] for by_plan in told(4)):
        assert o["sent"] <= 0.70 * 12 * all_reduce_bytes(dense, 4)
        assert o["sent"] == 12 * (dense + 24 * o["buckets"])
        assert o["messages"] == 12 * o["buckets"]  # not 6 a bucket, one after the other


def test_local_gossip_talks_every_h_steps():
    assert told(2)[0]["local(5) / gossip(ring)"]["exchanges"] == 2


def _as_bsp(rank: int, world: int, plans: list[str]) -> list[Tensor]:
    return [_linear(rank, plan) for plan in plans]


def _linear(rank: int, plan: str) -> Tensor:
    laconic.init(timeout_s=LIMIT_S)
    model = mlp(rank, norm=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    laconic.distribute(model, optimizer, plan)
    fit(model, optimizer, batches(rank, 15))
    return flat(model)


def test_gossip_with_everyone_is_bsp():
    """Plain SGD is linear in the gradient, so the mean of the models is the model of the mean."""
    for gossip, bsp in results(3, _as_bsp, ["gossip(complete)", "none"]):
        assert torch.allclose(gossip, bsp, atol=1e-5)


def _debugging(rank: int, world: int) -> float:
    return float(_trained(rank, world, "gossip(one_peer_exp)", 3)["left"])


def test_debug_mode_goes_along():
    assert max(results(3, _debugging, env={"LACONIC_DEBUG": "1"})) < 1e-5


def _exploding(rank: int, world: int, where: str) -> None:
    laconic.init(timeout_s=LIMIT_S)
    model = mlp(rank, norm=False)
    optimizer = sgd(model)
    laconic.distribute(model, optimizer, "gossip(ring)")
    for step, (x, y) in enumerate(batches(rank, 6)):
        bad = step == 2 and rank == 1
        factor = torch.nan if bad and where == "gradient" else 1.0
        (cross_entropy(model(x), y) * factor).backward()
        if bad and where == "model":
            with torch.no_grad():
                next(model.parameters()).fill_(torch.inf)
        optimizer.step()
        optimizer.zero_grad()


@pytest.mark.parametrize(("where", "world"), [("gradient", 4), ("model", 2)])
def test_a_rank_that_sees_nan_stops_alone_and_the_others_learn_why(where: str, world: int):
    outcomes = run(world, _exploding, where, timeout_s=60)
    assert "NonFiniteError: Rank 1 found NaN or infinity in" in outcomes[1].error
    for rank in {0, 2, 3} & set(range(world)):
        last = outcomes[rank].error.strip().splitlines()[-1]
        assert f"Rank {rank} lost a peer at step" in last  # 2, or 3 where it is not a neighbour
        assert "rank 1 stopped: Rank 1 found NaN or infinity" in last


def _skipping(rank: int, world: int) -> Any:
    laconic.init(timeout_s=LIMIT_S)
    model = mlp(rank, norm=False)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, "gossip(ring)", nonfinite="skip")
    for step, (x, y) in enumerate(batches(rank, 5)):
        factor = torch.inf if step == 2 and rank == 1 else 1.0
        (cross_entropy(model(x), y) * factor).backward()
        optimizer.step()
        optimizer.zero_grad()
    return replica.stats.skipped_steps, flat(model)


@pytest.mark.filterwarnings("ignore:Step skipped")
def test_a_rank_may_skip_its_own_step_and_still_mixes():
    outs = results(3, _skipping)
    assert [skipped for skipped, _ in outs] == [0, 1, 0]
    assert all(model.isfinite().all() for _, model in outs)


def _resumed(rank: int, world: int, plans: list[str]) -> list[tuple[Tensor, Tensor]]:
    return [_continued(rank, plan) for plan in plans]


def _continued(rank: int, plan: str) -> tuple[Tensor, Tensor]:
    """Six steps in one go, and three, saved, loaded into another run, three more."""
    laconic.init(timeout_s=LIMIT_S)
    data = batches(rank, 6)

    def start() -> tuple[nn.Module, torch.optim.Optimizer, Any]:
        model = mlp(rank)
        optimizer = sgd(model)
        return model, optimizer, laconic.distribute(model, optimizer, plan)

    through, optimizer, _ = start()
    fit(through, optimizer, data)
    model, optimizer, replica = start()
    fit(model, optimizer, data[:3])
    saved = model.state_dict(), optimizer.state_dict(), replica.state_dict()
    again, optimizer, replica = start()
    if rank % 2:  # in either order
        again.load_state_dict(saved[0])
        replica.load_state_dict(saved[2])
    else:
        replica.load_state_dict(saved[2])
        again.load_state_dict(saved[0])
    optimizer.load_state_dict(saved[1])
    fit(again, optimizer, data[3:])
    return flat(through), flat(again)


def test_a_continued_run_equals_one_that_never_stopped():
    plans = ["gossip(one_peer_exp, push_sum)", "gossip(ring, choco(0.3)) / topk(0.2)"]
    for by_plan in results(3, _resumed, plans):
        assert all(torch.equal(a, b) for a, b in by_plan)


def _other_files(rank: int, world: int, folder: str) -> None:
    laconic.init(timeout_s=LIMIT_S)
    model = mlp(rank)
    laconic.distribute(model, sgd(model), f"gossip(weights('{folder}/same'))")


def test_ranks_with_other_weights_in_their_files_are_refused(tmp_path: Any):
    path = tmp_path / "same"
    path.write_text("1/2 1/2\n1/2 1/2\n")
    assert [o.error for o in run(2, _other_files, str(tmp_path))] == ["", ""]
    outcomes = run(2, _rewriting, str(path))
    assert all("mixing weights" in o.error for o in outcomes)


def _rewriting(rank: int, world: int, path: str) -> None:
    from laconic.topology import weight_file

    rows = ((0.5, 0.5), (0.5, 0.5)) if rank == 0 else ((0.25, 0.75), (0.75, 0.25))
    weight_file.read = lambda path, world=None: weight_file.Matrices(path, (rows,))  # as if on another machine
    laconic.init(timeout_s=LIMIT_S)
    model = mlp(rank)
    laconic.distribute(model, sgd(model), f"gossip(weights('{path}'))")


def _apart(rank: int, world: int) -> dict[str, Any]:
    """Ranks take different numbers of steps; only the end is common."""
    laconic.init(timeout_s=LIMIT_S)
    model = mlp(rank)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, "gossip(ring, adpsgd)")
    assert isinstance(replica, laconic.Replica)
    loss = fit(model, optimizer, batches(rank, 10 + 5 * rank))
    distance = replica.consensus_distance()
    before = flat(model)
    replica.average()
    fit(model, optimizer, batches(rank, 4))
    replica.average()
    out = {"before": before, "after": flat(model), "distance": distance, "loss": loss}
    out["sent"] = replica.stats.wire_bytes
    replica.close()
    return out


@pytest.mark.parametrize("world", [1, 4])  # others: between threads, in tests/drive/test_pairs.py
def test_asynchronous_workers_end_with_one_model(world: int):
    outs = results(world, _apart)
    table = torch.stack([o["before"] for o in outs])
    distance = (table - table.mean(0)).square().sum(1).mean().sqrt()
    for o in outs:
        assert torch.equal(o["after"], outs[0]["after"])
        assert o["after"].isfinite().all()
        assert o["distance"] == pytest.approx(float(distance), rel=1e-4, abs=1e-6)
        assert o["loss"] < 1.2
        assert (o["sent"] > 0) == (world > 1)


def _leaves(rank: int, world: int) -> None:
    import os
    import signal

    laconic.init(timeout_s=LIMIT_S)
    model = mlp(rank)
    optimizer = sgd(model)
    laconic.distribute(model, optimizer, "gossip(complete, adpsgd)")
    for step, (x, y) in enumerate(batches(rank, 2000)):
        if step == 3 and rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()


def test_asynchronous_workers_name_the_one_that_died():
    outcomes = run(3, _leaves, timeout_s=60)
    assert "code -9" in outcomes[1].error
    assert all(f"PeerError: Rank {r} lost Rank 1:" in outcomes[r].error for r in (0, 2))
