"""A command that holds other processes ends in good order on Ctrl-C, SIGTERM and SIGHUP, and says nothing."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def ending_on_signals(*, interrupt: bool = True) -> Iterator[None]:
    """Inside, the first of these signals leaves by SystemExit(128 + number); more of them cannot disturb the leaving.

    `interrupt=False`: Ctrl-C belongs to the program that runs in the terminal, and is ignored here.
    """
    before = {number: signal.getsignal(number) for number in ENDING}
    for number in ENDING:
        signal.signal(number, _end if interrupt or number != signal.SIGINT else _ignore)
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)


def _ignore(*_: object) -> None:
    """A handler, not SIG_IGN, which the started program would inherit."""


def _end(number: int, _: FrameType | None) -> None:
    for other in ENDING:
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)
