"""From a forked copy of the zygote to a rank: its group, network, output and environment, then the script."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from io import TextIOWrapper

from laconic.launch.as_main import run_as_main
from laconic.launch.linux import die_with_parent, enter_network
from laconic.launch.order import Order, Seat


@dataclass(frozen=True)
class Rank:
    """One rank that was forked and has not begun."""

    order: Order
    seat: Seat
    head: int  # process id of the parent
    outputs: tuple[int, int]

    def run(self) -> None:
        """Ends like the script ends; call it from the top, so that the interpreter's own ending follows."""
        os.setsid()  # Ctrl-C reaches the launcher alone, and one signal reaches this rank with all it starts
        die_with_parent(self.head)
        _take_outputs(self.outputs)
        _take_environment({**self.order.env, **self.seat.env})
        _reseed()
        try:
            os.chdir(self.order.folder)
            if self.seat.cores:
                os.sched_setaffinity(0, self.seat.cores)
            if self.seat.netns is not None:
                enter_network(self.seat.netns)
        except OSError as error:
            sys.exit(f"laconic: rank {self.seat.env.get('RANK')} cannot start: {error}.")
        run_as_main(self.order.script)


def _take_outputs(outputs: tuple[int, int]) -> None:
    for handle, place in zip(outputs, (1, 2), strict=True):
        os.dup2(handle, place)
        os.close(handle)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=os.isatty(1))


def _take_environment(env: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)


def _reseed() -> None:
    """numpy draws its seed when it is imported; every rank of every job would share the zygote's. Python's own
    `random` reseeds itself after a fork, and torch starts from a fixed seed in any process."""
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
