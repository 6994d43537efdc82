"""Exchanges through servers that go on while backward does: a thread of its own works the mailbox.

An exchange has something to do whenever an answer arrives. If nobody looks before the end of backward, only what was
sent at launch is hidden. Here a thread looks: it encodes, sends, takes what arrives, decodes and asks again, while the
launching thread computes gradients (what drive/lanes.py is to collectives). Tags make order meaningless, so one thread
serves all exchanges in flight. While none is, it sleeps, and `ask` lets others use the mailbox through it.

`waited_s` is the time `finish` stood still: waiting for servers, and coding that backward did not hide.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, TypeVar

import torch

from laconic.core.clock import Clock, WallClock
from laconic.core.exchange import Exchange, Exchanged
from laconic.drive.base import Place
from laconic.drive.mailbox import MailboxDriver
from laconic.drive.roster import Roster

_Job = Callable[[], None]
T = TypeVar("T")


class Apart:
    def __init__(self, desk: MailboxDriver, clock: Clock | None = None) -> None:
        self.desk, self.waited_s = desk, 0.0
        self._clock = clock or WallClock()
        self._ring = desk.box.bell()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._over = Event()
        desk.given_up = self._over.is_set
        self._failed: BaseException | None = None
        self._thread: Thread | None = Thread(target=self._work, name="laconic-apart", daemon=True)
        self._thread.start()

    @property
    def roster(self) -> Roster:
        return self.desk.roster

    def launch(self, place: Place, program: Exchange) -> None:
        self._give(lambda: self._begin(place, program))

    def finish(self) -> list[Exchanged]:
        start = self._clock.now()
        try:
            return self.ask(lambda desk: desk.finish())
        finally:
            self.waited_s += self._clock.now() - start

    def ask(self, question: Callable[[MailboxDriver], T]) -> T:
        """What `question` returns in the thread, after what was launched before; raises what that raised."""
        answer: Future[T] = Future()
        self._give(lambda: self._answer(question, answer))
        return answer.result()

    def close(self, why: str = "") -> None:
        """What is under way is given up."""
        if self._thread is not None:
            self._over.set()
            self._give(None)
            self._thread.join()
            self._thread = None
            self.desk.close(why)

    def _give(self, job: _Job | None) -> None:
        self._jobs.put(job)
        self._ring()

    # ------------------------------------------------------------- in the thread

    def _work(self) -> None:
        with torch.no_grad():  # which is set by thread
            while (job := self._next()) is not None:
                job()

    def _next(self) -> _Job | None:
        """Look after what is in flight until there is something new to do."""
        while self.desk.flying and self._failed is None:
            try:
                return self._jobs.get_nowait()
            except Empty:
                self._try(self.desk.wait)
        return self._jobs.get()

    def _begin(self, place: Place, program: Exchange) -> None:
        if self._failed is None:
            self._try(lambda: self.desk.launch(place, program))
        else:
            program.close()

    def _try(self, step: _Job) -> None:
        """An error is kept for who asks next."""
        try:
            step()
        except BaseException as error:  # noqa: BLE001  (whatever it was, the training thread raises it)
            self._failed = error

    def _answer(self, question: Callable[[MailboxDriver], Any], answer: Future[Any]) -> None:
        failed, self._failed = self._failed, None
        try:
            if failed is not None:
                self.desk.forget()
                raise failed
            answer.set_result(question(self.desk))
        except BaseException as error:  # noqa: BLE001  (see _try)
            answer.set_exception(error)
