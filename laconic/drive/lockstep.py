"""n virtual workers in one process: for tests and convergence studies, no sockets, no sleeping.

All programs are advanced to their next request; the requests must be of one kind; all are answered; repeat.
Messages are copied, so a worker that keeps or alters what it received cannot reach its neighbours. Sums are made in
rank order, or hop by hop where `reduce_by` has a program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from laconic.core.exchange import (
    Deal,
    Exchange,
    Exchanged,
    Gather,
    Max,
    Mean,
    Post,
    Request,
    Serve,
    Sum,
    Swap,
    Together,
)
from laconic.drive.lockstep_hops import all_reduce_in_step
from laconic.drive.shelf import Shelf
from laconic.net.link import Link
from laconic.topology.programs.hop import Program

ReduceBy = Callable[[int, int, int], Program | None]  # rank, world, numel


def lockstep(
    programs: Sequence[Exchange],
    links: Sequence[Link] | None = None,
    reduce_by: ReduceBy | None = None,
    shelf: Shelf | None = None,
) -> list[Exchanged]:
    """Run one exchange of every worker to its end.

    `links` count what each would have sent; `reduce_by` names the program sums are made by; `shelf` is what servers
    remember from one exchange to the next.
    """
    shelf = shelf or Shelf()
    links = links or [Link() for _ in programs]
    done: dict[int, Exchanged] = {}
    answers: list[Any] = [None] * len(programs)
    try:
        while True:
            asks: list[Request] = []
            for rank, (program, answer) in enumerate(zip(programs, answers, strict=True)):
                try:
                    asks.append(program.send(answer))
                except StopIteration as stop:
                    done[rank] = stop.value
            if not asks:
                return [done[rank] for rank in range(len(programs))]
            assert len(asks) == len(programs), "ranks disagree on the number of rounds"
            answers = answer_all(asks, links, reduce_by, shelf)
    finally:
        for program in programs:
            program.close()


def answer_all(
    asks: Sequence[Any], links: Sequence[Link], reduce_by: ReduceBy | None = None, shelf: Shelf | None = None
) -> list[Any]:
    kinds = {type(ask) for ask in asks}
    assert len(kinds) == 1, f"ranks ask for different things: {[type(a).__name__ for a in asks]}"
    n = len(asks)
    match asks[0]:
        case Mean() | Sum() | Max():
            return _reduced(asks, links, reduce_by)
        case Gather():
            length = max(a.message.numel() for a in asks)
            for link in links:
                link.all_gather(length, n)
            return [_heard([a.message for a in asks], ask.lengths) for ask in asks]
        case Deal():
            for rank, (ask, link) in enumerate(zip(asks, links, strict=True)):
                link.all_to_all([m.numel() for m in ask.messages], rank)
            return [_heard([a.messages[rank] for a in asks], asks[rank].lengths) for rank in range(n)]
        case Swap() | Post() | Serve():
            return _between(asks, links, shelf or Shelf())
        case Together():
            columns = zip(*(a.requests for a in asks), strict=True)
            rows = [answer_all(column, links, reduce_by, shelf) for column in columns]
            return [tuple(row[rank] for row in rows) for rank in range(n)]
        case other:
            raise TypeError(f"{type(other).__name__} is not a request.")


def _between(asks: Sequence[Any], links: Sequence[Link], shelf: Shelf) -> list[list[Tensor]]:
    match asks[0]:
        case Swap():
            return _swapped(asks, links)
        case Post():
            return _posted(asks, links)
        case _:
            return _served(asks, links, shelf)


def _swapped(asks: Sequence[Any], links: Sequence[Link]) -> list[list[Tensor]]:
    for ask, link in zip(asks, links, strict=True):
        link.send(ask.message.numel(), len(ask.peers))
    return [_heard([asks[peer].message for peer in ask.peers], ask.lengths) for ask in asks]


def _posted(asks: Sequence[Any], links: Sequence[Link]) -> list[list[Tensor]]:
    out = []
    for rank, (ask, link) in enumerate(zip(asks, links, strict=True)):
        for message, to in zip(ask.messages, ask.peers, strict=True):
            assert rank in asks[to].sources, f"rank {rank} writes to rank {to}, which does not listen"
            link.send(message.numel(), 1)
        for source in ask.sources:
            assert rank in asks[source].peers, f"rank {rank} waits for rank {source}, which does not write to it"
        letters = [asks[source].messages[asks[source].peers.index(rank)] for source in ask.sources]
        out.append(_heard(letters, ask.lengths))
    return out


def _heard(messages: Sequence[Tensor], lengths: tuple[int, ...] | None) -> list[Tensor]:
    """Copies; where lengths were announced they must be true, or real receivers would wait for other bytes."""
    told = [m.numel() for m in messages]
    assert lengths is None or told == list(lengths), f"messages of {told} bytes were announced as {list(lengths)}"
    return [m.clone() for m in messages]


def _served(asks: Sequence[Serve], links: Sequence[Link], shelf: Shelf) -> list[list[Tensor]]:
    first = asks[0]
    for ask, link in zip(asks, links, strict=True):
        assert (ask.clerks, ask.base, ask.made) == (first.clerks, first.base, first.made), (
            "ranks order different things"
        )
        link.send(sum(m.numel() for m in ask.messages), 1)
    replies = [
        shelf.serve(clerk, [ask.messages[chunk].clone() for ask in asks], first.base, first.made)
        for chunk, clerk in enumerate(first.clerks)
    ]
    return [[reply.clone() for reply in replies] for _ in asks]


def _reduced(
    asks: Sequence[Mean | Sum | Max], links: Sequence[Link], reduce_by: ReduceBy | None = None
) -> list[Tensor]:
    n, tensors = len(asks), [a.tensor for a in asks]
    if reduce_by is not None and reduce_by(0, n, tensors[0].numel()) is not None:
        return _hopped(asks, links, reduce_by)
    sizes = {tuple(t.shape) for t in tensors}
    assert len(sizes) == 1, f"ranks add up tensors of different shapes: {sizes}"
    total = tensors[0].clone() if isinstance(asks[0], Max) else torch.zeros_like(tensors[0])
    for t in tensors:
        match asks[0]:
            case Mean():
                total += t * (1.0 / n)
            case Sum():
                total += t
            case Max():
                total = torch.maximum(total, t)
    for link in links:
        link.all_reduce(total.nbytes, n)
    return [t.copy_(total) for t in tensors]  # in place, as torch.distributed does: they were given away


def _hopped(asks: Sequence[Mean | Sum | Max], links: Sequence[Link], reduce_by: ReduceBy) -> list[Tensor]:
    n, tensors = len(asks), [a.tensor.contiguous() for a in asks]
    if isinstance(asks[0], Mean):
        for t in tensors:
            t.mul_(1.0 / n)  # before the sum, as drive/torch_dist.py
    programs = [reduce_by(rank, n, t.numel()) or () for rank, t in enumerate(tensors)]
    combine = torch.maximum if isinstance(asks[0], Max) else torch.add
    all_reduce_in_step(programs, [t.view(-1) for t in tensors], combine, links)
    return tensors
