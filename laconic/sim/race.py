"""Workers that do not wait for everybody: asynchronous (ASP) and stale synchronous (SSP) training through servers.

    each worker, over and over:   compute; push a share of its update to every server; pull what they have; go on
    SSP(s)                        never more than s steps ahead of the slowest; ASP: s without end; s = 0: all in step
    taking                        whom servers answer when an update has come (taking.py); None: its worker, at once

Played on the switch, message by message, so servers that many want at once are waited for (Ho et al., NeurIPS 2013;
survey 003, section 4). Who is slow delays itself, and others only by the staleness they are allowed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from laconic.sim.kernel import Call, Kernel
from laconic.sim.network import Network
from laconic.sim.switch import Switch
from laconic.sim.taking import Taking


def race(
    seconds: NDArray[np.float64],
    nbytes: float,
    network: Network,
    servers: int = 1,
    staleness: int | None = None,
    *,
    reply_bytes: float | None = None,
    taking: Taking | None = None,
    hosts: Sequence[int] | None = None,
) -> NDArray[np.float64]:
    """When each worker is through with all its steps. `seconds`: of computing, steps x workers; `nbytes`: of an update,
    and of what is read back, unless `reply_bytes` says otherwise; staleness None: asynchronous; `hosts`: workers on
    whose lines the servers live, None: they have lines of their own."""
    sizes = nbytes, nbytes if reply_bytes is None else reply_bytes
    world = seconds.shape[1]
    homes = list(hosts or range(world, world + servers))
    made = _Race(seconds, sizes, network, homes, staleness, taking)
    made.kernel.run()
    return made.finished


class _Race:
    def __init__(
        self,
        seconds: NDArray[np.float64],
        nbytes: tuple[float, float],
        network: Network,
        homes: list[int],
        staleness: int | None,
        taking: Taking | None,
    ) -> None:
        self.seconds, self.homes, self.staleness, self.taking = seconds, homes, staleness, taking
        self.push, self.pull = (n / len(homes) for n in nbytes)  # bytes of a server's share
        self.steps, self.world = seconds.shape
        self.kernel = Kernel()
        self.switch = Switch(self.kernel, network, max(self.world, *(h + 1 for h in homes)), self.world)
        self.done = [0] * self.world  # steps of each worker
        self.at = Counter({0: self.world})  # how many have done so many
        self.slowest = 0
        self.held: list[int] = []
        self.left = [0] * self.world  # answers that a worker waits for
        self.unheard = [0] * self.world  # shares of its update that are on their way
        self.finished = np.zeros(self.world)
        for worker in range(self.world):
            self.kernel.at(0.0, partial(self._begin, worker))

    def _begin(self, worker: int) -> None:
        step = self.done[worker]
        if step == self.steps or (self.taking is not None and self.taking.over(self.steps)):
            self.finished[worker] = self.kernel.now()
        elif self.staleness is not None and step - self.slowest > self.staleness:
            self.held.append(worker)
        else:
            self.kernel.after(float(self.seconds[step, worker]), partial(self._push, worker))

    def _push(self, worker: int) -> None:
        count = len(self.homes)
        self.left[worker] = self.unheard[worker] = count
        for j in range(count):
            home = self.homes[(worker + j) % count]
            self._send(worker, home, self.push, partial(self._arrived, worker, home), j)

    def _arrived(self, worker: int, home: int) -> None:
        if self.taking is None:
            self._answer(worker, home)
            return
        self.unheard[worker] -= 1
        if self.unheard[worker] == 0:
            for other in self.taking.arrived(worker):
                for one in self.homes:
                    self._answer(other, one)

    def _answer(self, worker: int, home: int) -> None:
        self._send(home, worker, self.pull, partial(self._told, worker))

    def _send(self, source: int, target: int, nbytes: float, done: Call, position: int = 0) -> None:
        if source == target:  # a server beside its worker
            self.kernel.after(0.0, done)
        else:
            self.switch.send(source, target, nbytes, done, position)

    def _told(self, worker: int) -> None:
        self.left[worker] -= 1
        if self.left[worker]:
            return
        step = self.done[worker]
        self.at[step] -= 1
        self.at[step + 1] += 1
        self.done[worker] = step + 1
        if step == self.slowest and not self.at[step]:
            self.slowest += 1
            free, self.held = self.held, []
            for other in free:
                self._begin(other)
        self._begin(worker)
