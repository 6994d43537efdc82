"""`laconic run --trace OUT`: ranks leave their spans beside OUT; here they become one trace, with an account."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from laconic.core.files import check_writable, write_whole
from laconic.trace.account import account
from laconic.trace.merge import chrome, parts, read_rank


@contextmanager
def traced(out: Path | None) -> Iterator[None]:
    """Around a job on this machine."""
    if out is None:
        yield
        return
    check_writable(out, "--trace")
    for old in parts(out):
        old.unlink()
    try:
        yield
    finally:
        finish(out)


def finish(out: Path) -> None:
    """Merge what ranks of this machine left, and say where their time went."""
    files = parts(out)
    traces = [read_rank(path) for path in files]
    if not traces:
        print(
            f"laconic run: no rank left a trace for {out}: none ran a plan of laconic's own.",
            file=sys.stderr,
        )
        return
    write_whole(out, json.dumps(chrome(traces)))
    for path in files:
        path.unlink()
    print(f"laconic run: trace of {len(traces)} ranks in {out}; open it at ui.perfetto.dev", file=sys.stderr)
    for trace in sorted(traces):
        found = account(trace.spans)
        lost = f" ({trace.lost} spans lost)" if trace.lost else ""
        print(f"  rank {trace.rank}: {found or 'too few steps for an account'}{lost}", file=sys.stderr)
