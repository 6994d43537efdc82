"""`laconic serve`: one parameter server, on this machine or for workers on others.

It listens on loopback unless told otherwise and prints its address; give those of all servers to the workers:

    laconic serve --host 10.0.0.5 --port 4711 --key job.key
    LACONIC_SERVERS=tcp://10.0.0.5:4711 laconic run --key job.key --plan "ps(servers=1)" ... train.py
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from laconic.core.errors import UsageError
from laconic.net.auth import Keys, read_keys
from laconic.server.server import Server


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="laconic serve", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument("--key", type=Path, metavar="FILE", help="the job's key, from `laconic keygen`")
    parser.add_argument("--insecure", action="store_true", help="plain text for anyone who can reach the address")
    parser.add_argument("--once", action="store_true", help="end when the first job's workers have left")
    parser.add_argument("--until-eof", action="store_true", help=argparse.SUPPRESS)  # ends with who started it
    args = parser.parse_args(argv)
    logging.basicConfig(format="laconic serve: %(message)s", level=logging.INFO)
    server = Server(args.host, args.port, _keys(args.key, insecure=args.insecure), insecure=args.insecure)
    print(server.address, flush=True)
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    if args.until_eof:
        threading.Thread(target=_wait_for_eof, args=(over,), daemon=True).start()
    server.run(lambda: over.is_set() or (args.once and server.served > 0 and not server.busy))
    refused = dict(server.box.refused)
    logging.getLogger("laconic.server").info("served %d groups; dropped frames: %s", server.served, refused or "none")
    return 0


def _keys(path: Path | None, *, insecure: bool) -> Keys | None:
    """What was typed, else what the environment says, as for workers."""
    if insecure and path is not None:
        raise UsageError(f"--insecure means no key, but --key {path} gives one. Leave one of them out.")
    if insecure or path is not None:
        return None if path is None else read_keys(path)
    text, file = os.environ.get("LACONIC_KEY"), os.environ.get("LACONIC_KEY_FILE")
    return Keys.from_text(text) if text else read_keys(Path(file)) if file else None


def _wait_for_eof(over: threading.Event) -> None:
    sys.stdin.buffer.read()
    over.set()
