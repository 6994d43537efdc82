"""Hop programs over tagged point-to-point messages of torch.distributed.

Where messages carry tags (gloo, MPI) each program runs on a thread of its own crew, so that it goes on while the main
thread computes gradients, and several buckets are under way at once:

    tag = 1 + (bucket, step mod 2, request, round mod 64)    one program's messages are never taken for another's

Two of one tag between two ranks stay in order, so rounds may wrap. Receives are posted one round ahead: a sender then
need not ask first whether it may send. NCCL has no tags: there every round is one batch issued in order by the caller,
as collectives are, and the GPU's stream does the waiting.

gloo ends a connection for good when somebody stops waiting for a message, so nobody here waits with a deadline of his
own: threads wait as long as the group's timeout lets them, and the main thread waits for threads.
"""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from datetime import timedelta

import torch.distributed as dist
from torch import Tensor

from laconic.core.errors import UsageError
from laconic.topology.programs.hop import Program, Receive, Round, Send, overlap

HANDS = 4  # programs under way at once
_ROUNDS, _REQUESTS, _BUCKETS = 64, 2048, 8192  # 31 bits in all, with the step's
Combine = Callable[..., Tensor]  # torch.add or torch.maximum


def tags(step: int, bucket: int) -> Iterator[int]:
    """Where the tags of each reducing request of a bucket begin."""
    if bucket >= _BUCKETS:
        raise UsageError(f"Bucket {bucket}: hop programs number at most {_BUCKETS}. Use larger buckets, or allreduce.")
    for request in range(_REQUESTS - 1):
        yield 1 + ((2 * bucket + step % 2) * _REQUESTS + request) * _ROUNDS
    raise UsageError(f"Bucket {bucket} asks for too many sums: hop programs number {_REQUESTS}. Use allreduce.")


class Job:
    """Something a thread of the crew does; to be waited for as torch's works are."""

    def __init__(self, call: Callable[[], None]) -> None:
        self.call = call
        self.future: Future[None] = Future()

    def wait(self, timeout: timedelta | None = None) -> None:
        try:
            self.future.result(None if timeout is None else timeout.total_seconds())
        except TimeoutError:
            raise RuntimeError("not yet") from None

    def is_completed(self) -> bool:
        return self.future.done()

    def run(self) -> None:
        try:
            self.call()
        except BaseException as error:  # noqa: BLE001  (handed to who waits)
            self.future.set_exception(error)
        else:
            self.future.set_result(None)


class Crew:
    """Threads that take jobs in the order given; all ranks give the same, so the oldest is under way everywhere."""

    def __init__(self, hands: int = HANDS) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._hands, self._threads = hands, 0
        self.close = weakref.finalize(self, _dismiss, self._jobs)  # no more jobs: idle threads end

    def give(self, call: Callable[[], None]) -> Job:
        job = Job(call)
        self._jobs.put(job)
        if self._threads < self._hands:
            # Daemons: one that waits for a dead peer must not keep this process alive.
            threading.Thread(target=_serve, args=(self._jobs,), name="laconic-hops", daemon=True).start()
            self._threads += 1
        return job


def _serve(jobs: queue.SimpleQueue[Job | None]) -> None:
    while (job := jobs.get()) is not None:
        job.run()
        del job  # it holds tensors and the process group
    jobs.put(None)  # for the next thread


def _dismiss(jobs: queue.SimpleQueue[Job | None]) -> None:
    jobs.put(None)


def run_tagged(program: Program, flat: Tensor, combine: Combine, group: dist.ProcessGroup, first_tag: int) -> None:
    """My side of a program, in place, on this thread."""
    rank = dist.get_rank(group)
    coming = _expect(program[0], 0, flat, group, first_tag) if program else []
    for number, this in enumerate(program):
        going = [
            dist.isend(flat[s.start : s.stop], group_dst=s.peer, group=group, tag=first_tag + number % _ROUNDS)
            for s in this.sends
        ]
        after = program[number + 1] if number + 1 < len(program) else Round()
        early = _may_come_early(after, this)
        next_ = _expect(after, number + 1, flat, group, first_tag) if early else []
        wait_all([work for _, _, work in coming])
        wait_all(going)
        for x, arrived, _ in coming:
            _take(x, arrived, flat, combine, rank)
        coming = next_ if early else _expect(after, number + 1, flat, group, first_tag)


def wait_all(works: Sequence[dist.Work | None]) -> None:
    for work in works:
        assert work is not None, "this rank belongs to the group"
        work.wait()


def run_in_order(program: Program, flat: Tensor, combine: Combine, group: dist.ProcessGroup) -> None:
    """The same where messages have no tags: one batch a round, after everything issued before."""
    rank = dist.get_rank(group)
    for this in program:
        arrivals = [(x, _landing(x, flat)) for x in this.receives]
        batch = [dist.P2POp(dist.isend, flat[s.start : s.stop], group=group, group_peer=s.peer) for s in this.sends]
        batch += [dist.P2POp(dist.irecv, t, group=group, group_peer=x.peer) for x, t in arrivals]
        for work in dist.batch_isend_irecv(batch) if batch else []:
            work.wait()
        for x, arrived in arrivals:
            _take(x, arrived, flat, combine, rank)


def _expect(
    this: Round, number: int, flat: Tensor, group: dist.ProcessGroup, first_tag: int
) -> list[tuple[Receive, Tensor, dist.Work | None]]:
    out = []
    for x in this.receives:
        t = _landing(x, flat)
        work = dist.irecv(t, group_src=x.peer, group=group, tag=first_tag + number % _ROUNDS)
        out.append((x, t, work))
    return out


def _landing(x: Receive, flat: Tensor) -> Tensor:
    """What will be added lands beside; what will be copied lands in its place."""
    return flat.new_empty(x.stop - x.start) if x.add else flat[x.start : x.stop]


def _may_come_early(after: Round, this: Round) -> bool:
    """Would nothing of this round be overwritten? All or none, so that two of one sender stay in order."""
    copied = [x for x in after.receives if not x.add]
    used: list[Send | Receive] = [*this.sends, *this.receives]
    return not any(overlap(x, y) for x in copied for y in used)


def _take(x: Receive, arrived: Tensor, flat: Tensor, combine: Combine, rank: int) -> None:
    """The lower rank's operand first: two ranks that combine the same pair get the same bits."""
    if x.add:
        mine = flat[x.start : x.stop]
        first, second = (arrived, mine) if x.peer < rank else (mine, arrived)
        combine(first, second, out=mine)
