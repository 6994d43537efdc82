"""Exchanges over processes, by the collectives of torch.distributed (gloo, NCCL, MPI).

`launch` issues the first collective of an exchange and returns; `finish` goes round all exchanges in flight in a
fixed rotation: wait, hand over the answer, issue the next. So every rank issues the same collectives in the same
order whatever its timing, which gloo needs (two swapped all-reduces of one size give silently wrong sums). In
debug mode each collective is first announced to all ranks and compared.

Sums and means are the backend's own all-reduce, or the hop program that `program` names for a tensor (drive/hops.py).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from laconic.core.clock import Clock, WallClock
from laconic.core.errors import LaconicError, MismatchError, PeerError
from laconic.core.exchange import (
    Collect,
    Deal,
    Exchange,
    Exchanged,
    Gather,
    Max,
    Mean,
    Post,
    Scatter,
    Sum,
    Swap,
    Together,
)
from laconic.drive.base import Place
from laconic.drive.hops import Crew, run_in_order, run_tagged, tags, wait_all
from laconic.drive.roster import Roster
from laconic.net.link import Link
from laconic.topology import programs
from laconic.topology.programs import HALVES_BY
from laconic.topology.programs.hop import Program
from laconic.trace.spans import Spans

_LOOK_UP = timedelta(seconds=1)
_KINDS = (Mean, Sum, Max, Gather, Deal, Swap, Together, Post, Scatter, Collect)


class GivenUpError(Exception):
    """This rank stopped waiting by its own will; nobody sees it beside the error that was the reason."""


@dataclass
class _Flight:
    """One exchange under way: what it waits for, and what to tell it then."""

    place: Place
    program: Exchange
    works: list[Any]
    answer: Callable[[], Any]
    tags: Iterator[int]  # for hop programs, one a sum
    round: int = 0
    issued: float = 0.0  # when, by the tracing clock


class TorchDist:
    def __init__(
        self,
        group: dist.ProcessGroup,
        link: Link,
        roster: Roster,
        *,
        debug: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self.group, self.link, self.roster, self.debug = group, link, roster, debug
        self.rank, self.world = dist.get_rank(group), dist.get_world_size(group)
        self.waited_s = 0.0
        self.program: Callable[[int, int], Program | None] | None = None  # numel, nbytes; None: the backend sums
        self.crew = Crew()
        self.blocks = "nccl" not in dist.get_backend(group)  # there waiting blocks a stream, not this thread
        self.given_up: Callable[[], bool] = lambda: False  # is waiting of no use any more?
        self.spans: Spans | None = None  # where to note what was done when
        self._clock = clock or WallClock()
        self._line: deque[_Flight] = deque()
        self._done: dict[Place, Exchanged] = {}
        self._order: list[Place] = []

    def launch(self, place: Place, program: Exchange) -> None:
        assert place not in self._order, f"{place} is under way already"
        self._order.append(place)
        self._advance(_Flight(place, program, [], lambda: None, tags(place.step, place.number), -1))

    @property
    def busy(self) -> bool:
        return bool(self._order)

    def first_round(self, place: Place, program: Exchange) -> None:
        """Launch, and wait for the first answer; it is handed over by `rest`."""
        self.launch(place, program)
        if place not in self._done:
            self._wait(self._line[-1])

    def rest(self, place: Place) -> Exchanged:
        """Go on with what waits after its first round."""
        try:
            while place not in self._done:
                flight = next(f for f in self._line if f.place == place)
                self._line.remove(flight)
                self._wait(flight)
                self._advance(flight)
            return self._done.pop(place)
        finally:
            self._order.remove(place)

    def finish(self) -> list[Exchanged]:
        try:
            while self._line:
                flight = self._line.popleft()
                self._wait(flight)
                self._advance(flight)
            return [self._done[place] for place in self._order]
        finally:
            self._line.clear()
            self._done, self._order = {}, []

    def close(self) -> None:
        """Let go of the process group, so that it can end before the interpreter does."""
        self.crew.close()
        del self.group

    def _advance(self, flight: _Flight) -> None:
        """Hand over the answer; issue what is asked next, or keep the result."""
        start = self._now()
        try:
            ask = flight.program.send(flight.answer())
        except StopIteration as stop:
            self._done[flight.place] = stop.value
            self._mark("decode", flight, start)
            return
        self._mark("encode", flight, start)
        flight.round += 1
        if self.debug:
            self._compare(flight, ask)
        flight.issued = self._now()
        with self._named(flight.place):
            flight.works, flight.answer = self._issue(ask, flight.tags)
        self._mark("launch", flight, flight.issued)
        self._line.append(flight)

    def _now(self) -> float:
        return 0.0 if self.spans is None else self.spans.now()

    def _mark(self, name: str, flight: _Flight, start: float) -> None:
        if self.spans is not None:
            place, mine = flight.place, threading.current_thread().name
            # without lanes several answers are under way at once: each has a line of its own
            line = f"bucket {place.number}" if name == "wire" and not mine.startswith("laconic-") else mine
            self.spans.add(name, start, self.spans.now(), place.step, place.bucket, place.chunk, line)

    def _wait(self, flight: _Flight) -> None:
        start = self._clock.now()
        with self._named(flight.place):
            for work in flight.works:
                self._listen(work) if self.blocks else work.wait()
        if flight.works:
            self._mark("wire", flight, flight.issued)
            flight.works = []
        self.waited_s += self._clock.now() - start

    def _listen(self, work: Any) -> None:
        """Wait, and look up now and then: only a rank's neighbours on gloo's ring notice that it died."""
        while True:
            try:
                work.wait(_LOOK_UP)
            except RuntimeError:
                if work.is_completed():  # perhaps only just now: ask again for the true outcome
                    work.wait()
                    return
                if self.given_up():
                    raise GivenUpError("Another exchange of this rank has failed.") from None
                if self.roster.trouble():
                    raise RuntimeError("another rank has given up") from None
            else:
                return

    def _named(self, place: Place) -> _Named:
        return _Named(self.roster, place)

    def _issue(self, ask: Any, tags: Iterator[int]) -> tuple[list[Any], Callable[[], Any]]:
        match ask:
            case Mean() | Sum() | Max() | Scatter() | Collect():
                return self._reduce(ask, tags)
            case Gather(message=m, lengths=lengths):
                return self._gather(m, lengths or (m.numel(),) * self.world)
            case Deal(messages=messages, lengths=lengths):
                return self._deal(messages, lengths or (messages[self.rank].numel(),) * self.world)
            case Swap(message=m, peers=peers, lengths=lengths):
                return self._swap(m, peers, (m.numel(),) * len(peers) if lengths is None else lengths)
            case Post():
                return self._post(ask)
            case Together(requests=requests):
                works, answers = zip(*(self._issue(r, tags) for r in requests), strict=True)
                return [w for ws in works for w in ws], lambda: tuple(a() for a in answers)
            case other:
                raise TypeError(f"{type(other).__name__} is not a request.")

    def _reduce(
        self, ask: Mean | Sum | Max | Scatter | Collect, tags: Iterator[int]
    ) -> tuple[list[Any], Callable[[], Tensor]]:
        t = ask.tensor.contiguous()
        if t.numel() == 0:
            return [], lambda: t
        if isinstance(ask, Scatter | Collect):
            half = programs.reduce_scatter if isinstance(ask, Scatter) else programs.all_gather
            hops = half(HALVES_BY, self.rank, self.world, t.numel())
            return self._hop(hops, t, torch.add, next(tags)), lambda: t
        if isinstance(ask, Mean):
            t.mul_(1.0 / self.world)  # before the sum: half precision must not overflow on the way
        program = None if self.program is None else self.program(t.numel(), t.nbytes)
        if program is not None:
            return self._hop(program, t, torch.maximum if isinstance(ask, Max) else torch.add, next(tags)), lambda: t
        op = dist.ReduceOp.MAX if isinstance(ask, Max) else dist.ReduceOp.SUM
        self.link.all_reduce(t.nbytes, self.world)
        return [dist.all_reduce(t, op, group=self.group, async_op=True)], lambda: t

    def _hop(self, program: Program, t: Tensor, combine: Callable[..., Tensor], tag: int) -> list[Any]:
        for this in program:
            for s in this.sends:
                self.link.send((s.stop - s.start) * t.itemsize, 1)
        if t.is_cuda:
            run_in_order(program, t.view(-1), combine, self.group)
            return []
        return [self.crew.give(partial(run_tagged, program, t.view(-1), combine, self.group, tag))]

    def _gather(self, m: Tensor, lengths: tuple[int, ...]) -> tuple[list[Any], Callable[[], list[Tensor]]]:
        longest = max(lengths)
        if longest == 0:
            return [], lambda: [m.clone() for _ in lengths]
        mine = torch.nn.functional.pad(m, (0, longest - m.numel())) if m.numel() < longest else m
        out = [torch.empty_like(mine) for _ in range(self.world)]
        self.link.all_gather(longest, self.world)
        work = dist.all_gather(out, mine, group=self.group, async_op=True)
        return [work], lambda: [t[:n] for t, n in zip(out, lengths, strict=True)]

    def _deal(
        self, messages: tuple[Tensor, ...], lengths: tuple[int, ...]
    ) -> tuple[list[Any], Callable[[], list[Tensor]]]:
        sizes, out = [m.numel() for m in messages], messages[0].new_empty(sum(lengths))
        self.link.all_to_all(sizes, self.rank)
        work = dist.all_to_all_single(out, torch.cat(messages), list(lengths), sizes, group=self.group, async_op=True)
        return [work], lambda: list(out.split(list(lengths)))

    def _swap(
        self, m: Tensor, peers: tuple[int, ...], lengths: tuple[int, ...]
    ) -> tuple[list[Any], Callable[[], list[Tensor]]]:
        out = [m.new_empty(n) for n in lengths]
        return self._between([m] * len(peers), peers, out, peers), lambda: out

    def _post(self, ask: Post) -> tuple[list[Any], Callable[[], list[Tensor]]]:
        device = ask.messages[0].device if ask.messages else torch.device("cpu")
        out = [torch.empty(n, dtype=torch.uint8, device=device) for n in ask.lengths]
        return self._between(ask.messages, ask.peers, out, ask.sources), lambda: out

    def _between(
        self, messages: Sequence[Tensor], peers: Sequence[int], out: Sequence[Tensor], sources: Sequence[int]
    ) -> list[Any]:
        """Receives first: a sender need not wait until somebody listens."""
        there = [(t, dist.get_global_rank(self.group, r)) for t, r in zip(out, sources, strict=True) if t.numel()]
        here = [(m, dist.get_global_rank(self.group, r)) for m, r in zip(messages, peers, strict=True) if m.numel()]
        works = [dist.irecv(t, r, group=self.group) for t, r in there]
        works += [dist.isend(m, r, group=self.group) for m, r in here]
        for m in messages:
            self.link.send(m.numel(), 1)
        # A message that is waited for with a deadline takes its connection along when the deadline passes: not _listen.
        return [self.crew.give(partial(wait_all, works))] if self.blocks and works else works

    def _compare(self, flight: _Flight, ask: Any) -> None:
        """Debug: everyone says what it is about to do; a difference is an error on every rank."""
        kind = _KINDS.index(type(ask))
        words = [flight.place.step, flight.place.number, flight.round, kind, _nbytes(ask)]
        mine = torch.tensor(words, dtype=torch.int64)
        if self.group.name() == "nccl":
            mine = mine.cuda()
        out = [torch.empty_like(mine) for _ in range(self.world)]
        with self._named(flight.place):
            dist.all_gather(out, mine, group=self.group)
        said = [tuple(t.tolist()) for t in out]
        for rank, theirs in enumerate(said):
            if theirs != said[0]:
                raise MismatchError(
                    f"Rank {rank} is about to do {_sentence(theirs)} but rank 0 {_sentence(said[0])}: "
                    f"ranks must issue collectives in the same order."
                )


class _Named:
    """Turns a backend's exception into one that names the place and the ranks that are missing."""

    def __init__(self, roster: Roster, place: Place) -> None:
        self.roster, self.place = roster, place

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, RuntimeError) and not isinstance(error, LaconicError):
            cause = str(error).strip().splitlines()[0][:300].rstrip(".")
            raise PeerError(self.roster.explain(self.place, cause)) from error


def _nbytes(ask: Any) -> int:
    match ask:
        case Mean(tensor=t) | Sum(tensor=t) | Max(tensor=t) | Scatter(tensor=t) | Collect(tensor=t):
            return t.nbytes
        case Deal() | Post():
            return 0  # differ by rank
        case Swap(lengths=lengths) if lengths is not None:
            return 0  # so do messages of announced lengths
        case Together(requests=requests):
            return sum(map(_nbytes, requests))
        case Gather(lengths=lengths) if lengths is not None:
            return sum(lengths)
        case other:
            return int(other.message.nbytes)


def _sentence(words: tuple[int, ...]) -> str:
    step, bucket, round_, kind, nbytes = words
    return f"{_KINDS[kind].__name__} of {nbytes} bytes in round {round_} of step {step}, bucket {bucket}"
