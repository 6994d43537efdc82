"""`laconic keygen FILE`: a key for jobs that span machines. Copy the file to each of them; it admits to the job."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from laconic.net.auth import Keys, write_keys


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="laconic keygen", description=__doc__)
    parser.add_argument("file", type=Path, help="where to write it, readable by you alone")
    args = parser.parse_args(argv)
    write_keys(args.file, Keys.make())
    print(f"laconic: wrote {args.file}. Give it to `laconic run --key` and `laconic serve --key` on every machine.")
    return 0
