"""A shared model over all-reduce, without waiting: whoever has a step to say starts a round, the others join with what
they have, even if that is nothing.

    round k:   U_k = mean_i (what worker i has done since the last round it was in);   X <- X + U_k, on everyone alike
    worker i:  x_i = X_newest + 1/n (what it has done that is not in X yet);   it waits only where `ssp` says so

Li, Ben-Nun, Di Girolamo, Alistarh, Hoefler, PPoPP 2020, arXiv:1908.04207 (eager-SGD, solo: late gradients are not
lost, they join the next round). Rounds run in a thread beside the training, started by a mark in the job's store.
They are ordinary exchanges in the same order on all ranks, so every compressor works, PowerSGD too. Every round also
adds up everyone's clock: that is how the bound of `ssp` is known. Differs: models move by steps of any optimizer
instead of gradients, and all ranks see all rounds, so no weights have to be synchronized from time to time.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch._C._distributed_c10d import Store

from laconic.compress.identity import add_up
from laconic.core.errors import LaconicError, PeerError
from laconic.core.exchange import Exchanged, Sum, Turn
from laconic.drive.base import Place
from laconic.gossiping import check_finite
from laconic.stepping.on_servers import check_flushed
from laconic.stepping.statistics import average_statistics
from laconic.sync.clocks import may_go_on, may_read
from laconic.sync.shared import AbstractShared

if TYPE_CHECKING:
    from laconic.replica import Replica

_LOOK_UP_S = 0.5


@dataclass
class _Request:
    """The training waits for a model."""

    clock: int
    model: list[Tensor] | None = None
    slowest: int = 0


class Eager:
    def __init__(self, sync: AbstractShared, replica: Replica, store: Store, timeout_s: float) -> None:
        """Marks are set and waited for over connections of their own: who waits keeps one busy."""
        self.sync, self._timeout_s = sync, timeout_s
        self._store: Store = store.clone()  # type: ignore[attr-defined]  # the stubs do not know it
        self._bell: Store = store.clone()  # type: ignore[attr-defined]
        self._replica, self._world, self._rank = replica, replica.seat.world, replica.seat.rank
        self.staleness = self.dropped = 0
        self._lock = threading.Condition()
        self._round = 0
        self._clock = 0  # my steps
        self._clocks = [0] * self._world  # those in X
        self._resting = self._paused = self._closing = False
        self._dirty = False  # I have something to say that is in no round yet
        self._busy = False  # a round is under way; after it the thread looks by itself
        self._request: _Request | None = None
        self._error: LaconicError | None = None
        self._set(replica)
        self._thread = threading.Thread(target=self._run, name="laconic-eager", daemon=True)
        self._thread.start()

    def _set(self, replica: Replica) -> None:
        self._shared = [_wide(b.values()) for b in replica.buckets]  # X
        self._seen = [b.values() for b in replica.buckets]  # my model after the last reading
        self._unsaid = [torch.zeros_like(x) for x in self._shared]
        self._flying: list[Tensor] = []  # what I have said in the round under way

    # ------------------------------------------------------------- the training's side

    def after_step(self, replica: Replica) -> None:
        check_finite(replica, [b.values() for b in replica.buckets])
        with self._lock:
            self._paused = self._resting = False
            for unsaid, bucket, seen in zip(self._unsaid, replica.buckets, self._seen, strict=True):
                unsaid.add_(bucket.values().to(unsaid) - seen.to(unsaid))
            self._clock += 1
            request, ring = self._ask(), not self._busy
            number = self._round
        if ring:
            self._ring(number)
        self._read(replica, request)

    def flush(self, replica: Replica) -> None:
        with self._lock:
            self._paused, self._resting, self._dirty = False, True, True
            ring, number = not self._busy, self._round
        if ring:
            self._ring(number)
        with self._lock:
            self._wait(lambda: self._paused, "all ranks to flush")
            self._seen = [x.to(b.spec.dtype, copy=True) for x, b in zip(self._shared, replica.buckets, strict=True)]
            for bucket, x in zip(replica.buckets, self._seen, strict=True):
                bucket.write_values(x)
        replica.turns += 1  # counts these meetings only: in steps workers are not at the same place
        average_statistics(replica)
        replica.since = 0

    def restart(self, replica: Replica, *, loaded: bool = False) -> None:
        """To be called on all ranks, after a flush or before the first step."""
        with self._lock:
            self._set(replica)

    @property
    def pushed(self) -> int:
        return self._clock

    def observe(self, loss: float) -> None:
        pass

    def close(self) -> None:
        with self._lock:
            self._closing = True
            number = self._round
            self._lock.notify_all()
        with contextlib.suppress(RuntimeError):  # the store may be gone, and the thread with it
            _mark(self._bell, number, [self._rank])
        self._thread.join()

    def pack(self, replica: Replica) -> dict[str, Any]:
        check_flushed(replica)
        return {}

    def unpack(self, saved: dict[str, Any], replica: Replica) -> None:
        self.restart(replica)

    def _ask(self) -> _Request:
        """Answered at once if nobody has to be waited for, else by the first round that settles it."""
        self._dirty = True
        self._request = request = _Request(self._clock)
        if may_read(self._rank, self._clock, self._clocks, self.sync.bound):
            self._answer(min([self._clock, *(c for r, c in enumerate(self._clocks) if r != self._rank)]))
        return request

    def _answer(self, slowest: int) -> None:
        assert self._request is not None, "there is a question"
        share = 1.0 / self._world
        model = [x + share * u for x, u in zip(self._shared, self._unsaid, strict=True)]
        for x, u in zip(model, self._flying, strict=False):
            x.add_(u, alpha=share)
        self._request.model = model
        self._request.slowest, self._request = slowest, None

    def _read(self, replica: Replica, request: _Request) -> None:
        with self._lock:
            self._wait(lambda: request.model is not None, "the slowest worker")
            assert request.model is not None, "just waited for"
            self.staleness = max(self.staleness, request.clock - request.slowest)
            for number, (bucket, x) in enumerate(zip(replica.buckets, request.model, strict=True)):
                self._seen[number] = x.to(bucket.spec.dtype)
                bucket.write_values(self._seen[number])
        if self.sync.bound is not None and request.clock - request.slowest > self.sync.bound:
            raise LaconicError(
                f"{self.sync} was broken: a model was read at step {request.clock} while the slowest worker was at "
                f"{request.slowest}. This is a mistake of laconic; please report it."
            )

    def _wait(self, until: Callable[[], bool], what: str) -> None:
        if not self._lock.wait_for(lambda: until() or self._error is not None, self._timeout_s):
            raise PeerError(f"Rank {self._rank} waited {self._timeout_s:g} s for {what} in vain.")
        if self._error is not None:
            raise self._error

    # ------------------------------------------------------------- rounds

    def _ring(self, number: int) -> None:
        """Everyone's thread looks out for its mark."""
        _mark(self._bell, number, range(self._world))
        with self._lock:
            self._lock.notify_all()

    def _run(self) -> None:
        try:
            with torch.no_grad():
                while self._await_round():
                    self._go_round()
        except LaconicError as error:
            self._error = error
        except Exception as error:  # noqa: BLE001  (whatever it was, the training raises it)
            self._error = PeerError(f"Rank {self._rank} lost its peers in round {self._round}: {error}")
            self._error.__cause__ = error
        finally:
            with self._lock:
                self._error = self._error or (None if self._closing else PeerError("The rounds have ended."))
                self._lock.notify_all()

    def _await_round(self) -> bool:
        """True when round `_round` has begun; False when all is over."""
        number = self._round
        while not self._closing:
            with self._lock:
                if self._paused:
                    self._lock.wait(_LOOK_UP_S)
                    continue
                if self._dirty:
                    _mark(self._store, number, range(self._world))
                    return True
            try:
                self._store.wait([_key(number, self._rank)], timedelta(seconds=self._timeout_s))
            except RuntimeError:  # not yet; or the store is gone, and the next round will say so
                continue
            return not self._closing
        return False

    def _go_round(self) -> None:
        replica, number = self._replica, self._round
        with self._lock:
            said = self._flying = self._unsaid
            self._unsaid = [torch.zeros_like(u) for u in said]
            clocks = torch.zeros(self._world + 1, dtype=torch.float64)
            clocks[self._rank], clocks[-1] = self._clock, float(self._resting)
            self._dirty, self._busy = False, True
        self._launch(replica, said, number)
        replica.driver.launch(Place(number, len(replica.buckets), "clocks"), _total(clocks))
        *outs, counted = replica.driver.finish()
        with self._lock:
            self._round += 1
            self._busy, self._flying = False, []
            for bucket, x, out in zip(replica.buckets, self._shared, outs, strict=True):
                x.add_(out.mean.to(x))
                replica.state[bucket.spec.id] = out.state
            self._clocks = [int(c) for c in counted.mean[:-1].tolist()]
            slowest = min(self._clocks)
            request = self._request
            if request is not None and may_go_on(request.clock, self._clocks, self.sync.bound):
                self._answer(slowest)
            self._paused = self._resting and int(counted.mean[-1]) == self._world
            self._lock.notify_all()
        if number > 1 and self._rank == 0:
            for rank in range(self._world):
                self._store.delete_key(_key(number - 2, rank))

    def _launch(self, replica: Replica, said: list[Tensor], number: int) -> None:
        for bucket, step in zip(replica.buckets, said, strict=True):
            x = (step * bucket.weight).to(bucket.spec.dtype)  # a copy: what I have said is still read
            if bucket.plain:
                program = add_up(x)
            else:
                turn = Turn(replica.seat, number)
                program = bucket.compress.exchange(x, replica.state[bucket.spec.id], bucket.spec, turn)
            replica.driver.launch(Place(number, bucket.spec.id, bucket.spec.names[0]), program)


def _key(number: int, rank: int) -> str:
    return f"round/{number}/{rank}"


def _mark(store: Store, number: int, ranks: Iterable[int]) -> None:
    """Wake the threads of these ranks for this round."""
    for rank in ranks:
        store.set(_key(number, rank), "1")


async def _total(x: Tensor) -> Exchanged:
    total = await Sum(x)
    return Exchanged(total, total, ())


def _wide(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32), copy=True)
