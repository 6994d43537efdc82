"""The vote and running statistics ride with the last plain bucket, where there is one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy

import laconic
from laconic import riders
from laconic.buckets import Bucket, cut, units
from laconic.drive.base import Place
from laconic.plan import Plan
from tests.processes import results
from tests.replica.loops import batches, flat, mlp, sgd

RIDE = [
    "none",
    "none / wfbp",
    "none / fifo",
    "qsgd(bits=4) / fused(4KiB)",
    "none / blocks(2) / wfbp",
    "allreduce(algorithm=ring)",
]
WALK = ["none / fused(4KiB, chunk=1KiB)", "ps", "lag", "none / blocks(2, delay=1) / wfbp", "bf16"]


def _buckets(plan: Plan) -> list[Bucket]:
    return cut(dict(mlp(0).named_parameters()), plan.schedule, plan.compress, 2, {})


@pytest.mark.parametrize("text", RIDE + WALK)
def test_only_one_sum_that_is_waited_for_carries(text):
    plan = Plan.parse(text)
    buckets = _buckets(plan)
    last = riders.carrier(plan, units(buckets, plan.schedule.chunk_bytes), buckets)
    assert (last is buckets[-1]) == (text in RIDE)


def test_room_is_for_statistics_and_two_flags_a_parameter():
    plan = Plan.parse("none / wfbp")
    buckets = _buckets(plan)
    last = riders.make_room(plan, units(buckets, None), buckets, [torch.zeros(48), torch.ones(48)])
    assert last is not None
    assert last.room == 96 + 2 * sum(len(b.params) for b in buckets)
    assert all(b.room == 0 for b in buckets[:-1])


def test_statistics_of_another_type_travel_alone():
    plan = Plan.parse("none")
    buckets = _buckets(plan)
    assert riders.make_room(plan, units(buckets, None), buckets, [torch.zeros(48).double()]) is None
    assert buckets[-1].room == 0


def test_what_boards_alights_as_the_mean_and_the_verdict():
    plan = Plan.parse("none / fifo")
    buckets, statistics = _buckets(plan), [torch.arange(4.0)]
    last = riders.make_room(plan, units(buckets, None), buckets, statistics)
    assert last is not None
    last.whole, count = torch.zeros(last.spec.numel + last.room), len(last.params)
    total = torch.zeros(last.room)
    for rank in range(3):
        used, bad = [k != 1 for k in range(count)], [k == 2 and rank == 1 for k in range(count)]
        riders.board(last.whole[last.spec.numel :], [(rank + 1) * s for s in statistics], used, bad, 3)
        total += last.whole[last.spec.numel :]
    means, verdict = riders.alight(total, count)
    torch.testing.assert_close(means, 2 * statistics[0])
    assert verdict.used == tuple(k != 1 for k in range(count))
    assert verdict.bad == tuple(k == 2 for k in range(count))


def _launches(rank: int, world: int, plan: str, explode: bool) -> dict[str, Any]:
    laconic.init(timeout_s=30)
    model = mlp(rank)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, plan, nonfinite="skip")
    assert isinstance(replica, laconic.Replica)
    launched: list[str] = []
    numbers: list[int] = []
    launch = replica.driver.launch

    def note(place: Place, program: Any) -> None:
        launched.append(place.what)
        numbers.append(place.number)
        launch(place, program)

    replica.driver.launch = note  # type: ignore[method-assign]
    x, y = batches(rank, 1)[0]
    (cross_entropy(model(x), y) * (torch.inf if explode and rank == 1 else 1.0)).backward()
    if explode:
        with pytest.warns(UserWarning, match="Rank 1 found NaN or infinity in the gradient of '5.bias' at step 1"):
            optimizer.step()
    else:
        optimizer.step()
    assert len(set(numbers)) == len(numbers), "two exchanges of one step have one number"
    norm = model[1]
    return {"launched": launched, "flat": flat(model), "running": norm.running_mean.clone()}


def test_a_plain_step_is_one_collective_and_an_objection_two():
    ranks = results(2, _launches, "none / fifo", False)
    assert [len(r["launched"]) for r in ranks] == [1, 1]
    assert torch.equal(ranks[0]["flat"], ranks[1]["flat"])
    assert torch.equal(ranks[0]["running"], ranks[1]["running"])
    ranks = results(2, _launches, "none / fifo", True)
    assert [r["launched"][1:] for r in ranks] == [["vote"], ["vote"]]


def test_until_steps_are_delayed_a_crossing_schedule_costs_what_fused_does():
    ranks = results(2, _launches, "crossed", False)
    assert [r["launched"] for r in ranks] == [r["launched"] for r in results(2, _launches, "fused", False)]
    assert all(len(r["launched"]) == 1 for r in ranks)


def test_without_a_plain_bucket_riders_share_a_message_of_their_own():
    ranks = results(2, _launches, "bf16 / fifo", False)
    assert all(len(r["launched"]) == 2 and r["launched"][1] == "vote" for r in ranks)
    assert torch.equal(ranks[0]["running"], ranks[1]["running"])
    ranks = results(2, _launches, "bf16 / fifo", True)
    assert [r["launched"][2:] for r in ranks] == [["vote"], ["vote"]]


def test_only_few_statistics_wait_for_the_vote():
    many = [torch.zeros(riders.FEW_BYTES // 4 + 1)]
    assert riders.wait(Plan.parse("bf16"), [many[0][1:]])
    assert not riders.wait(Plan.parse("bf16"), many)
    assert not riders.wait(Plan.parse("cocod(2)"), [])
    assert not riders.wait(Plan.parse("bf16"), [torch.zeros(8, dtype=torch.float64)])


def _late(rank: int, world: int, plan: str) -> str:
    """Rank 1 has NaN; rank 0 saves while the others do something else."""
    laconic.init(timeout_s=20)
    model = mlp(rank)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, plan, nonfinite="skip")
    assert isinstance(replica, laconic.Replica)
    x, y = batches(rank, 1)[0]
    (cross_entropy(model(x), y) * (torch.nan if rank == 1 else 1.0)).backward()
    optimizer.step()
    if rank == 0:
        replica.state_dict()
    torch.distributed.barrier()
    return "saved"


def test_what_is_looked_at_later_needs_no_second_answer():
    assert results(2, _late, "blocks(1, delay=1)") == ["saved", "saved"]
