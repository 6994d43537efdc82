"""The launcher's handle on a process that has imported torch once and forks ranks from there.

Four cold interpreters that import torch cost ten seconds on two cores; forked, they cost a fraction of one. A
zygote ends by itself when the launcher does, however it does: its socket closes. It lives in a session of its own,
so Ctrl-C reaches the launcher alone.
"""

from __future__ import annotations

import atexit
import json
import socket
import subprocess
from collections.abc import Mapping, Sequence

from laconic.core.errors import LaconicError
from laconic.launch.again import python_again

# Read by libraries while they load: in a rank it is too late to change them, so each setting has its own zygote.
LOAD_TIME = (
    "PYTHON",
    "OMP_",
    "KMP_",
    "GOMP_",
    "MKL_",
    "OPENBLAS_",
    "DNNL_",
    "ONEDNN_",
    "LD_",
    "TORCH",
    "PYTORCH_",
    "CUDA_",
)
START = "from laconic.launch.serve import main; main(int(sys.argv[1]))"


class Zygote:
    def __init__(self, env: Mapping[str, str]) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                python_again(START, str(theirs.fileno())),
                stdin=subprocess.DEVNULL,
                env=dict(env),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def head(self, outputs: tuple[int, int], preload: Sequence[str]) -> socket.socket:
        """A stream to a new head, whose ranks write to `outputs` (handles of this process)."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                handles = [theirs.fileno(), *outputs]
                socket.send_fds(self._ours, [json.dumps(list(preload)).encode()], handles)
            except OSError as error:
                ours.close()
                raise LaconicError(
                    f"the process that starts ranks has ended ({error}); run the command again."
                ) from None
        return ours

    def close(self) -> None:
        """Heads are processes of their own: a job that still runs is not touched."""
        self._ours.close()
        self._process.kill()
        self._process.wait()


_running: dict[frozenset[tuple[str, str]], Zygote] = {}  # one of the few things that belong to the process


def zygote_for(env: Mapping[str, str]) -> Zygote:
    """The one this process already has for such an environment, or a new one."""
    settings = frozenset((name, value) for name, value in env.items() if name.startswith(LOAD_TIME))
    zygote = _running.get(settings)
    if zygote is None or not zygote.alive:
        zygote = _running[settings] = Zygote(env)
        atexit.register(zygote.close)
    return zygote
