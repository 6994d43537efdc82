"""The door of a listening socket: asks for the job's key and counts who was sent away (ZeroMQ's ZAP, RFC 27).

libzmq shakes hands by CURVE and asks this thread whether the caller's public key may come in. Only the job's own may.
A caller without the secret half of a key never gets as far as being asked about.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

import zmq
from zmq.utils import z85

from laconic.net.auth import Keys

_ENDPOINT = "inproc://zeromq.zap.01"
_FIXED_PARTS = 6  # version, request id, domain, address, identity, mechanism; then the mechanism's credentials


class Door:
    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], keys: Keys) -> None:
        self.turned_away = 0
        self._wanted = z85.decode(keys.public.encode())
        self._asked = context.socket(zmq.REP)
        self._asked.linger = 0
        self._asked.bind(_ENDPOINT)
        self._bell = context.socket(zmq.PAIR)
        self._ear = context.socket(zmq.PAIR)
        self._bell.bind(f"inproc://door-{id(self)}")
        self._ear.connect(f"inproc://door-{id(self)}")
        self._thread = threading.Thread(target=self._keep, name="laconic-door", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._bell.send(b"")
        self._thread.join()
        self._bell.close(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _keep(self) -> None:
        poller = zmq.Poller()
        poller.register(self._asked, zmq.POLLIN)
        poller.register(self._ear, zmq.POLLIN)
        try:
            while True:
                ready = dict(poller.poll())
                if self._ear in ready:
                    return
                self._asked.send_multipart(self._answer(self._asked.recv_multipart()))
        finally:
            self._asked.close(0)
            self._ear.close(0)

    def _answer(self, question: list[bytes]) -> list[bytes]:
        version, request = question[:2]
        known = question[5:6] == [b"CURVE"] and question[_FIXED_PARTS:] == [self._wanted]
        if known:
            return [version, request, b"200", b"OK", b"job", b""]
        self.turned_away += 1
        return [version, request, b"400", b"not of this job", b"", b""]
