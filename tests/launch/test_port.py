"""A reserved port is kept from others and free for a server that says SO_REUSEADDR, as torch's store does."""

from __future__ import annotations

import socket

import pytest
import torch.distributed as dist

from laconic.core.errors import UsageError
from laconic.launch import port


def test_the_store_may_listen_on_the_reserved_port_and_others_may_not() -> None:
    with port.reserve() as held:
        number = held.getsockname()[1]
        assert number in port.PORTS
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("", number))
        store = dist.TCPStore("127.0.0.1", number, is_master=True, wait_for_workers=False)
        store.set("key", "value")
        assert store.get("key") == b"value"


def test_two_reservations_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    with port.reserve() as one:
        taken = one.getsockname()[1]
        one.listen()
        monkeypatch.setattr(port, "PORTS", range(taken, taken + 1))
        monkeypatch.setattr(port, "TRIES", 1)
        with pytest.raises(UsageError, match="is free"):
            port.reserve()
