from __future__ import annotations

import pytest
import torch

from laconic.compress import CGX
from laconic.compress.cgx import allocate
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Seat, Turn
from laconic.core.minutes import Minutes
from laconic.drive.lockstep import lockstep
from laconic.topology import AllReduce
from tests.laws.world import World
from tests.zoo import noise

SPEC = BucketSpec(0, ("loud", "quiet"), ((512,), (512,)))
# errors of two tensors at 2, 3 and 4 bits
TABLE = [[8.0, 2.0, 0.5], [1.0, 0.25, 0.06]]


def test_bits_go_first_where_the_error_falls_most():
    assert allocate(TABLE, [100, 100], budget=10.0, low=2) == [2, 2]
    assert allocate(TABLE, [100, 100], budget=4.0, low=2) == [3, 2]
    assert allocate(TABLE, [100, 100], budget=1.6, low=2) == [4, 2]
    assert allocate(TABLE, [100, 100], budget=0.8, low=2) == [4, 3]


def test_a_large_tensor_pays_more_for_a_bit():
    assert allocate(TABLE, [10000, 100], budget=8.3, low=2) == [2, 3]


def test_more_budget_never_takes_more_bits_and_the_budget_is_met():
    errors = [[float(v) for v in noise(7, i).abs().sort(descending=True).values] for i in range(5)]
    sizes = [10, 200, 30, 4000, 50]
    before = None
    for budget in (0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 9.0):
        bits = allocate(errors, sizes, budget, low=2)
        spent = sum(b * n for b, n in zip(bits, sizes, strict=True))
        total = sum(row[b - 2] for row, b in zip(errors, bits, strict=True))
        assert total <= budget or bits == [8] * 5
        assert before is None or spent <= before
        before = spent


def test_a_budget_out_of_reach_ends_at_the_most_bits():
    assert allocate(TABLE, [1, 1], budget=0.0, low=2) == [4, 4]


def run(budget: float, steps: int = 3) -> World:
    world = World(CGX(budget, every=2), 3, "gather", SPEC)
    for step in range(steps):
        world.exchange([x * torch.tensor([1.0] * 512 + [0.01] * 512) for x in world.inputs(step)], step)
    return world


def test_ranks_agree_on_bits_from_errors_they_do_not_share():
    world = run(0.05)
    first, *others = (state.bits for state in world.states)
    assert all(torch.equal(first, bits) for bits in others)
    loud, quiet = first.tolist()
    assert loud > quiet == 2


def test_the_measured_error_is_within_the_budget():
    world = run(0.02)
    x = [noise(1024, 77 + r) * torch.tensor([1.0] * 512 + [0.01] * 512) for r in range(3)]
    sent = world.exchange([t.clone() for t in x], 3)[0].sent
    assert float((sent - x[0]).pow(2).sum() / x[0].pow(2).sum()) < 1.5 * 0.02  # another draw than the one measured


def test_fewer_bits_travel_after_the_decision():
    world = run(0.05, steps=1)
    before = world.links[0].sent_bytes
    world.exchange(world.inputs(1), 1)
    high = 2 * (24 + 512 + 8)
    assert world.links[0].sent_bytes - before < 2 * high * 0.7


def test_a_change_of_bits_is_noted_and_no_change_is_not():
    plan, minutes, x = CGX(0.05, every=2), Minutes(), noise(1024) * torch.tensor([1.0] * 512 + [0.01] * 512)
    seat = Seat(0, 1, AllReduce())
    state = plan.init(SPEC, seat)
    for step in range(3):
        (out,) = lockstep([plan.exchange(x, state, SPEC, Turn(seat, step, 1.0, minutes))])
        state = out.state
    first, *later = minutes.keep(3)
    assert (first.exchange, first.before) == (1, "8 bits")
    assert first.after.startswith("2 bits for 'quiet', ")
    assert first.after.endswith(" bits for 'loud'")
    assert all(d.before != d.after for d in later)


def decided(turns: list[int]) -> list[int]:
    """Exchanges whose means were of a table of errors, too, by their place in what this bucket said."""
    world, tables = World(CGX(0.05, every=3), 2, "gather", SPEC), []
    for number, turn in enumerate(turns):
        before = world.links[0].messages
        world.exchange(world.inputs(number), turn)
        tables.append((world.links[0].messages - before, number))
    quiet = min(tables)[0]
    return [number for messages, number in tables if messages > quiet]


@pytest.mark.parametrize("block", [0, 1, 2])
def test_a_bucket_that_speaks_in_some_turns_only_decides_by_its_own_exchanges(block: int):
    assert decided([3 * k + block for k in range(7)]) == decided(list(range(7))) == [0, 3, 6]


@pytest.mark.parametrize("bad", [{"budget": 0.0}, {"low": 1}, {"low": 8}, {"high": 9}, {"every": 0}])
def test_numbers_out_of_range_are_refused(bad: dict[str, float]):
    with pytest.raises(PlanError, match="cgx"):
        CGX(**bad)  # type: ignore[arg-type]
