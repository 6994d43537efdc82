"""A hostile peer: garbage, truncated, altered, recorded and invented frames, reproducible from a seed."""

from __future__ import annotations

import random
from types import TracebackType
from typing import Self

import torch
import zmq

from laconic.net.auth import Keys
from laconic.net.frames import DTYPES, Frame, Kind, Tag, write


class Fuzzer:
    """With `keys` it is let through the door and lies inside; the worst case."""

    def __init__(self, address: str, keys: Keys | None, seed: int) -> None:
        self._random = random.Random(seed)
        self._address, self._keys = address, keys
        self._context = zmq.Context()
        self._socket = self._call()
        self._recorded: list[list[bytes]] = []

    def _call(self) -> zmq.Socket[bytes]:
        socket = self._context.socket(zmq.DEALER)
        socket.linger = 0
        socket.set_hwm(0)
        if self._keys is not None:
            socket.curve_serverkey = socket.curve_publickey = self._keys.public.encode()
            socket.curve_secretkey = self._keys.secret.encode()
        socket.connect(self._address)
        return socket

    def frames(self, count: int) -> int:
        """How many were sent; who was turned away at the door calls again instead."""
        sent = 0
        for _ in range(count):
            try:
                self._socket.send_multipart(self._random.choice(self.KINDS)(self), zmq.NOBLOCK)
                sent += 1
            except zmq.Again:
                self._socket.close()
                self._socket = self._call()
        return sent

    def oversized(self, nbytes: int) -> None:
        self._socket.send_multipart([b"", bytes(nbytes)])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close(0)
        self._context.term()

    def _garbage(self) -> list[bytes]:
        r = self._random
        return [r.randbytes(r.randrange(100)) for _ in range(r.randrange(1, 5))]

    def _valid(self) -> list[bytes]:
        """A whole frame of somebody who never said who it is."""
        r = self._random
        dtype = r.choice(DTYPES)
        shape = tuple(r.randrange(5) for _ in range(r.randrange(4)))
        tag = Tag(r.randrange(9), r.randrange(9), r.randrange(9), r.randrange(9), r.randrange(9))
        kind = r.choice([k for k in range(256) if k != Kind.HELLO])
        frame = Frame(kind, tag, r.randrange(1 << 60), dtype, shape, r.randrange(1 << 60), r.randrange(1 << 60))
        payload = r.randbytes(frame.length)
        self._recorded.append([write(frame, payload), payload])
        return self._recorded[-1]

    def _truncated(self) -> list[bytes]:
        header, payload = self._valid()
        cut = self._random.randrange(len(header))
        return [header[:cut], payload]

    def _altered(self) -> list[bytes]:
        header, payload = self._valid()
        damaged = bytearray(header)
        damaged[self._random.randrange(len(header))] ^= 1 << self._random.randrange(8)
        return [bytes(damaged), payload]

    def _replayed(self) -> list[bytes]:
        return self._random.choice(self._recorded) if self._recorded else self._valid()

    def _boastful(self) -> list[bytes]:
        """Announces more than it carries, or more than there is memory."""
        frame = Frame(20, dtype=torch.float64, shape=(self._random.randrange(1, 1 << 50),))
        return [write(frame, b""), b""]

    def _nameless(self) -> list[bytes]:
        """A greeting that cannot be read."""
        payload = self._random.choice([b"", b"{}", b"[]", b'{"name": 3}', b'{"name": ""}', b"[" * 60000, b"\xff\xfe"])
        return [write(Frame(Kind.HELLO, word=5, shape=(len(payload),)), payload), payload]

    KINDS = (_garbage, _valid, _truncated, _altered, _replayed, _boastful, _nameless)
