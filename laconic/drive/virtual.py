"""Virtual workers in one process: real replicas, real loops, one at a time, and lockstep in place of a network.

    crew = VirtualCrew(world, reduce_by)
    crew.run(worker)                     worker(rank, driver) is a training loop; driver goes into its Replica

Each worker is a thread, but only one of them runs at any moment: until it waits for its exchanges. When all wait, the
exchanges of all are driven to their end (drive/lockstep.py), and the first goes on. So a run is deterministic, and
hundreds of workers need no more than the memory of their models.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch

from laconic.core.errors import LaconicError
from laconic.core.exchange import Exchange, Exchanged
from laconic.drive.base import Place
from laconic.drive.lockstep import ReduceBy, lockstep
from laconic.drive.shelf import Shelf
from laconic.net.link import Link

STACK_BYTES = 1 << 20


class _EndedError(Exception):
    """Another worker failed; this one only leaves."""


class VirtualDriver:
    """One worker's end: a `drive.base.Driver`."""

    def __init__(self, crew: VirtualCrew, rank: int) -> None:
        self.crew, self.rank, self.waited_s = crew, rank, 0.0
        self.link = Link()
        self.launched: list[Exchange] = []
        self.results: list[Exchanged] = []
        self.go, self.ended = threading.Semaphore(0), False

    def launch(self, place: Place, program: Exchange) -> None:
        self.launched.append(program)

    def finish(self) -> list[Exchanged]:
        self.crew.wait_for_others(self)
        results, self.results = self.results, []
        return results


class VirtualCrew:
    def __init__(self, world: int, reduce_by: ReduceBy | None = None) -> None:
        self.drivers = [VirtualDriver(self, rank) for rank in range(world)]
        self._reduce_by, self._shelf = reduce_by, Shelf()
        self._came = threading.Semaphore(0)
        self._fault: BaseException | None = None

    def wait_for_others(self, driver: VirtualDriver) -> None:
        self._came.release()
        driver.go.acquire()
        if self._fault is not None:
            raise _EndedError

    def run(self, worker: Callable[[int, VirtualDriver], None]) -> None:
        """Until all have returned; the first error of any ends all."""
        before = threading.stack_size(STACK_BYTES)
        try:
            threads = [threading.Thread(target=self._body, args=(worker, d), daemon=True) for d in self.drivers]
            for thread in threads:
                thread.start()
        finally:
            threading.stack_size(before)
        while any(not d.ended for d in self.drivers):
            for driver in self.drivers:
                if not driver.ended:
                    driver.go.release()
                    self._came.acquire()
            if self._fault is None:
                self._exchange()
        for thread in threads:
            thread.join()
        if self._fault is not None:
            raise self._fault

    def _body(self, worker: Callable[[int, VirtualDriver], None], driver: VirtualDriver) -> None:
        driver.go.acquire()
        try:
            if self._fault is None:
                worker(driver.rank, driver)
        except _EndedError:
            pass
        except BaseException as error:  # noqa: BLE001  (raised again where `run` was called)
            self._fault = self._fault or error
        finally:
            driver.ended = True
            self._came.release()

    def _exchange(self) -> None:
        waiting = [d for d in self.drivers if not d.ended]
        if not waiting:
            return
        counts = {len(d.launched) for d in self.drivers}
        if len(waiting) < len(self.drivers) or len(counts) != 1:
            self._fault = LaconicError("Virtual workers fell out of step: some ended or launched other exchanges.")
            return
        links = [d.link for d in self.drivers]
        try:
            with torch.no_grad():
                self._drive(links)
        except LaconicError as error:
            self._fault = error
        for driver in self.drivers:
            driver.launched = []

    def _drive(self, links: list[Link]) -> None:
        for column in zip(*(d.launched for d in self.drivers), strict=True):
            outs = lockstep(column, links, self._reduce_by, self._shelf)
            for driver, out in zip(self.drivers, outs, strict=True):
                driver.results.append(out)
