"""n virtual workers: every request by hand, and what happens when workers disagree."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import torch
from torch import Tensor

from laconic.core.errors import PayloadError
from laconic.core.exchange import Deal, Exchange, Gather, Max, Mean, Sum, Swap, Together, deal_ragged, gather_ragged
from laconic.drive.lockstep import lockstep
from laconic.net.link import Link


def run(world: int, program: Callable[[int], Coroutine[Any, Any, Any]], links: list[Link] | None = None) -> list[Any]:
    programs: list[Exchange] = [program(rank) for rank in range(world)]
    return lockstep(programs, links)


def message(*values: int) -> Tensor:
    return torch.tensor(values, dtype=torch.uint8)


def test_a_mean():
    async def program(rank: int) -> list[float]:
        return (await Mean(torch.tensor([float(rank), 1.0]))).tolist()

    assert run(3, program) == [pytest.approx([1.0, 1.0])] * 3


def test_a_sum_of_integers_is_exact():
    async def program(rank: int) -> list[int]:
        return (await Sum(torch.tensor([2**30 + rank, -1]))).tolist()

    assert run(3, program) == [[3 * 2**30 + 3, -3]] * 3


def test_the_largest_of_everyones():
    async def program(rank: int) -> list[float]:
        return (await Max(torch.tensor([float(rank), -float(rank), 7.0]))).tolist()

    assert run(3, program) == [[2.0, 0.0, 7.0]] * 3


def test_what_is_averaged_was_given_away():
    async def program(rank: int) -> list[float]:
        mine = torch.tensor([float(rank)])
        await Mean(mine)
        return mine.tolist()

    assert run(2, program) == [[0.5], [0.5]]


def test_a_gather_in_rank_order():
    async def program(rank: int) -> list[list[int]]:
        return [m.tolist() for m in await Gather(message(rank, 7))]

    assert run(3, program) == [[[0, 7], [1, 7], [2, 7]]] * 3


def test_a_deal_is_a_transposition():
    async def program(rank: int) -> list[list[int]]:
        return [m.tolist() for m in await Deal(tuple(message(10 * rank + to) for to in range(3)))]

    assert run(3, program) == [[[0], [10], [20]], [[1], [11], [21]], [[2], [12], [22]]]


def test_a_swap_with_the_neighbours_on_a_ring():
    async def program(rank: int) -> list[int]:
        peers = ((rank - 1) % 4, (rank + 1) % 4)
        return [int(m) for m in await Swap(message(rank), peers)]

    assert run(4, program) == [[3, 1], [0, 2], [1, 3], [2, 0]]


def test_messages_of_announced_lengths():
    async def program(rank: int) -> list[list[int]]:
        dealt = await Deal(tuple(message(*[rank] * (rank + to)) for to in range(3)), tuple(r + rank for r in range(3)))
        # Rank 2 tells rank 0 something and hears nothing; rank 1 stays silent.
        peers, lengths = (((2,), (2,)), ((), ()), ((0,), (0,)))[rank]
        swapped = await Swap(message(8, 9) if rank == 2 else message(), peers, lengths)
        return [m.tolist() for m in dealt + swapped]

    assert run(3, program) == [
        [[], [1], [2, 2], [8, 9]],
        [[0], [1, 1], [2, 2, 2]],
        [[0, 0], [1, 1, 1], [2, 2, 2, 2], []],
    ]


def test_messages_of_lengths_that_nobody_knew():
    async def program(rank: int) -> list[list[int]]:
        gathered = await gather_ragged(message(*range(rank)), most=9)
        dealt = await deal_ragged(tuple(message(*[rank] * (rank * to)) for to in range(3)), most=9)
        return [m.tolist() for m in gathered + dealt]

    links = [Link() for _ in range(3)]
    out = run(3, program, links)
    assert [o[:3] for o in out] == [[[], [0], [0, 1]]] * 3
    assert [o[3:] for o in out] == [[[], [1] * to, [2] * 2 * to] for to in range(3)]
    # The lengths, 8 bytes to each other rank, twice; the gather padded to 2; what is dealt to others.
    assert [link.sent_bytes for link in links] == [16 + 4 + 16 + dealt for dealt in (0, 2, 2)]


@pytest.mark.parametrize("length", [-1, 10, 2**62])
def test_a_length_that_nobody_could_mean_is_refused(length: int):
    program = gather_ragged(message(1, 2), most=9)
    (mine,) = [program.send(None).message]  # type: ignore[union-attr]
    hostile = torch.tensor([length]).view(torch.uint8)
    with pytest.raises(PayloadError, match=rf"Rank 1 announces a message of {length} bytes.* more than 9"):
        program.send([mine, hostile])


def test_a_length_that_was_not_kept_is_noticed():
    async def program(rank: int) -> None:
        await Gather(message(1), (1, 2))

    with pytest.raises(AssertionError, match=r"\[1, 1\] bytes were announced as \[1, 2\]"):
        run(2, program)


def test_several_at_once():
    async def program(rank: int) -> tuple[float, int]:
        mean, gathered = await Together((Mean(torch.tensor([float(rank)])), Gather(message(rank))))
        return float(mean), len(gathered)

    assert run(2, program) == [(0.5, 2), (0.5, 2)]


def test_what_one_worker_does_to_a_message_does_not_reach_the_others():
    async def program(rank: int) -> int:
        (first, _) = await Gather(message(5))
        first += rank
        await Gather(message(0))
        return int(first)

    assert run(2, program) == [5, 6]


def test_bytes_are_counted_by_the_formulas_of_the_link():
    async def program(rank: int) -> None:
        await Mean(torch.zeros(6))
        await Gather(torch.zeros(10 + rank, dtype=torch.uint8))
        await Deal((message(), message(1), message(1, 2)))
        await Swap(message(1, 2, 3), ((rank + 1) % 3,))

    links = [Link() for _ in range(3)]
    run(3, program, links)
    dealt = [3, 2, 1]  # what is addressed to others
    assert [link.sent_bytes for link in links] == [32 + 2 * 12 + d + 3 for d in dealt]
    assert [link.messages for link in links] == [4 + 2 + 2 + 1] * 3


def test_no_worker_and_no_request():
    async def program(rank: int) -> int:
        return rank

    assert run(3, program) == [0, 1, 2]
    assert lockstep([]) == []


def test_a_world_of_one_hears_itself():
    async def program(rank: int) -> list[float]:
        return (await Mean(torch.tensor([3.0]))).tolist()

    assert run(1, program) == [[3.0]]


def test_workers_that_ask_for_different_things_are_noticed():
    async def program(rank: int) -> None:
        await (Mean(torch.zeros(1)) if rank else Gather(message(1)))

    with pytest.raises(AssertionError, match=r"different things: \['Gather', 'Mean'\]"):
        run(2, program)


def test_workers_that_stop_early_are_noticed():
    async def program(rank: int) -> None:
        if rank:
            await Mean(torch.zeros(1))

    with pytest.raises(AssertionError, match="number of rounds"):
        run(2, program)


def test_workers_that_average_different_shapes_are_noticed():
    async def program(rank: int) -> None:
        await Mean(torch.zeros(1 + rank))

    with pytest.raises(AssertionError, match="different shapes"):
        run(2, program)


def test_something_that_is_no_request_is_noticed():
    class Odd:
        def __await__(self) -> Any:
            yield self

    async def program(rank: int) -> None:
        await Odd()

    with pytest.raises(TypeError, match="Odd is not a request"):
        run(2, program)


def test_an_error_of_one_worker_ends_them_all():
    ended = []

    async def program(rank: int) -> None:
        try:
            await Mean(torch.zeros(1))
            if rank == 0:
                raise ValueError("mine")
            await Mean(torch.zeros(1))
        finally:
            ended.append(rank)

    with pytest.raises(ValueError, match="mine"):
        run(3, program)
    assert ended == [0, 1, 2]
