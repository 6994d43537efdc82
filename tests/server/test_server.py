"""The server's loop, without workers."""

from __future__ import annotations

import threading

import pytest

from laconic.drive.asks import Ask
from laconic.net.frames import Tag
from laconic.net.peer import Letter, encoded
from laconic.server.server import Server


def test_a_server_that_is_never_idle_can_still_be_stopped(monkeypatch: pytest.MonkeyPatch):
    server = Server("127.0.0.1", 0, None)
    asked = iter([False, True])
    monkeypatch.setattr("laconic.server.server._LOOK_UP_S", 0.01)
    endless = Letter("nobody", Ask.SUM, Tag(), 0, encoded(""))
    stopped = threading.Event()

    def receive(timeout_s: float) -> Letter | None:
        return None if stopped.is_set() else endless

    monkeypatch.setattr(server.box, "receive", receive)
    thread = threading.Thread(target=server.run, args=(lambda: stopped.is_set() or next(asked),))
    thread.start()
    thread.join(20.0)
    ended = not thread.is_alive()
    stopped.set()
    thread.join()
    assert ended
