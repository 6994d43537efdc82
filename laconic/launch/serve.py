"""The zygote's own side: import what every rank needs, then fork a head for every job until the launcher is gone.

Forking is safe only without threads, because a lock another thread holds is never released in the child. Importing
torch starts none. OpenBLAS (numpy, scipy) starts some when OMP_NUM_THREADS is above 1, and ends them itself before
every fork. A thread of Python's is
found before each fork and is an error. CUDA is never touched here.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import socket
import sys
import threading

from laconic.launch.head import lead
from laconic.launch.rank import Rank

PRELOAD = ("torch._dynamo", "torch.distributed", "laconic", "laconic.tasks")  # the first optimizer step needs _dynamo


def main(handle: int) -> None:
    """`handle` is the socket the launcher speaks through. Returns only in ranks, when their script has ended."""
    with socket.socket(fileno=handle) as launcher:
        rank = _serve(launcher)
    rank.run()


def _serve(launcher: socket.socket) -> Rank:
    for name in PRELOAD:
        importlib.import_module(name)
    while True:
        message, handles, _, _ = socket.recv_fds(launcher, 1 << 16, 3)
        _collect_heads()
        if not message:
            os._exit(0)
        stream, *outputs = handles
        for name in json.loads(message):
            with contextlib.suppress(ImportError):  # the script says better what is missing
                importlib.import_module(name)
        rank = _fork_head(stream, (outputs[0], outputs[1]))
        if rank is not None:
            return rank


def _fork_head(stream: int, outputs: tuple[int, int]) -> Rank | None:
    """None in the zygote, otherwise this is a rank."""
    if threading.active_count() > 1:
        names = ", ".join(thread.name for thread in threading.enumerate()[1:])
        print(f"laconic: a preloaded module started threads ({names}); cannot fork.", file=sys.stderr)
        os._exit(1)
    gc.collect()
    gc.freeze()  # a rank's collector would write to, and so copy, every page of the modules: 0.7 s of CPU at its end
    if os.fork() == 0:
        with socket.socket(fileno=stream) as connection:
            return lead(connection, outputs)
    for handle in (stream, *outputs):
        os.close(handle)
    return None


def _collect_heads() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
