"""100,000 hostile frames and more at a parameter server: nothing crashes, nothing is applied, all is counted.

    python bench/fuzz_servers.py [--frames 120000] [--seed 1]

A server runs in a process of its own and serves a worker that trains on. Beside it, attackers send garbage, truncated,
altered, replayed, boastful and nameless frames: without a key, with a key of their own, with the job's key (the worst
case: an insider), in plain text, and as raw bytes on the port; some are larger than the server allows. At the end the
worker's values must be exactly those of its own pushes, and the server must have counted what it dropped. (In plain
text it counts more than was sent: ZeroMQ cuts raw bytes into several messages, see docs/servers.md.)
"""

from __future__ import annotations

import argparse
import os
import random
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from laconic.drive.table import Table
from laconic.net.auth import Keys
from laconic.net.link import Link
from tests.drive.cluster import mailbox
from tests.net.fuzz import Fuzzer

BURST = 500


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=120_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for title, keys in (("with a job key (CURVE)", Keys.make()), ("in plain text on loopback", None)):
        attack(title, keys, args.frames // 2, args.seed)
    return 0


def attack(title: str, keys: Keys | None, frames: int, seed: int) -> None:
    command = [sys.executable, "-m", "laconic.cli", "serve", "--until-eof"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "LACONIC_KEY": keys.text() if keys else ""}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as server:
        address = server.stdout.readline().strip()
        start = time.monotonic()
        sent, updates = _storm(address, keys, frames, seed)
        server.stdin.close()
        said = server.stderr.read()
        code = server.wait(30)
    dropped = re.search(r"dropped frames: (.*)", said)
    took = time.monotonic() - start
    print(f"{title}: {sent} hostile frames in {took:.1f} s beside {updates} true updates; server ended with {code}")
    print(f"    dropped: {dropped.group(1) if dropped else 'NOT REPORTED'}")
    if code != 0 or dropped is None:
        sys.exit(f"the server did not survive:\n{said}")


def _storm(address: str, keys: Keys | None, frames: int, seed: int) -> tuple[int, int]:
    box = mailbox(0, 1, [address], keys)
    table = Table(box, box.peers, Link(), 60.0)
    table.start(0, torch.zeros(1000))
    port, chance = int(address.rpartition(":")[2]), random.Random(seed)  # noqa: S311  (attacks are to be repeatable)
    others = [None, Keys.make()] if keys else [Keys.make()]
    sent = updates = 0
    with Fuzzer(address, keys, seed) as insider:
        strangers = [Fuzzer(address, other, seed + 1 + i) for i, other in enumerate(others)]
        while sent < frames:
            sent += insider.frames(BURST)
            for stranger in strangers:
                stranger.frames(1)  # never gets through the door, so it is not counted here
            _raw(port, chance)
            sent += 1
            if updates % 60 == 0:
                with Fuzzer(address, keys, sent) as giant:
                    giant.oversized(300 << 20)  # more than any mailbox accepts
                    sent += 1
            table.push(0, torch.ones(1000))
            updates += 1
            value, version, _ = table.pull(0, at_least=updates)
            assert version == updates, f"{version} updates were applied, {updates} were sent"
            assert bool((value == updates).all()), "an update of somebody else was applied"
        for stranger in strangers:
            stranger.__exit__(None, None, None)
    box.close()
    return sent, updates


def _raw(port: int, chance: random.Random) -> None:
    with socket.create_connection(("127.0.0.1", port)) as raw:
        raw.sendall(chance.randbytes(chance.randrange(2000)))


if __name__ == "__main__":
    sys.exit(main())
