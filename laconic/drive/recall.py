"""What servers remember, for a checkpoint: each rank fetches and gives back its share of the chunks.

A server keeps two versions of a chunk's error memory (drive/shelf.py), and only a worker's own state knows which was
committed, so both are saved. When a rank gives its share back, that arrives before anything it sends later; a server
averages only when all ranks have sent. So nothing needs a barrier.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from torch import Tensor

from laconic.core.errors import PeerError, StateError
from laconic.drive.asks import Ask
from laconic.drive.mailbox import MailboxDriver
from laconic.net.frames import Tag
from laconic.net.peer import Letter

_VERSIONS = 2
_STEP = 0xFFFFFFFF  # no exchange has this number


def recall(driver: MailboxDriver) -> dict[str, Tensor]:
    """'server.bucket.part.chunk.version' -> error memory; this rank's share of it."""
    kept: dict[str, Tensor] = {}
    for number, (key, server) in enumerate(sorted(driver.homes.items())):
        if number % driver.wiring.world != driver.wiring.rank:
            continue
        for which in range(_VERSIONS):
            letter = _ask(driver, server, _tag(key, which))
            if letter.word:
                kept[".".join(map(str, (server, *key, letter.word)))] = letter.payload.clone()
    return kept


def remind(driver: MailboxDriver, kept: Mapping[str, Tensor]) -> None:
    for name, error in kept.items():
        try:
            server, bucket, part, chunk, version = map(int, name.split("."))
            to = driver.wiring.servers[server]
        except (ValueError, IndexError):
            raise StateError(f"This checkpoint names a server's memory {name!r}, which this run has not.") from None
        driver.box.send(to, Ask.REMIND, error, _tag((bucket, part, chunk), 0), version)


def _tag(key: tuple[int, int, int], which: int) -> Tag:
    bucket, part, chunk = key
    return Tag(_STEP, bucket, which, part, chunk)


def _ask(driver: MailboxDriver, server: int, tag: Tag) -> Letter:
    driver.box.send(driver.wiring.servers[server], Ask.RECALL, "", tag)
    end = time.monotonic() + driver.timeout_s
    while time.monotonic() < end:
        letter = driver.box.receive(1.0)
        if letter is not None and letter.tag == tag and letter.kind == Ask.ANSWER:
            return letter
        if letter is not None:
            driver.take(letter)
    raise PeerError(f"{driver.wiring.servers[server]} did not say within {driver.timeout_s:g} s what it remembers.")
