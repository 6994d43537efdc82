"""Ten thousand random tensors through every encode and decode, and hundreds of damaged messages for each.

    python bench/fuzz_payloads.py [--tensors 10000] [--damages 300] [--share 1/4] [--only qsgd]

Prints a table, a line for each compressor of `tests/zoo.py`, and ends with 1 if anything crashed, was not finite, had
another shape, or was read though it was cut, or damaged under a checksum. `--share` cuts the list for several runs.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.fuzz import fuzz
from tests.zoo import ZOO


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--tensors", type=int, default=10_000)
    options.add_argument("--damages", type=int, default=300)
    options.add_argument("--share", default="1/1", help="the i-th of n parts of the list, as 2/4")
    options.add_argument("--only", default="", help="compressors whose text contains this")
    chosen = options.parse_args()
    part, parts = map(int, chosen.share.split("/"))
    torch.set_num_threads(1)
    entries = [e for e in ZOO if chosen.only in str(e)][part - 1 :: parts]
    print("| compressor | tensors | cut | bits turned | refused | read, right shape | faults | s |")
    print("|---|---|---|---|---|---|---|---|")
    bad = 0
    for entry in entries:
        start = time.perf_counter()
        t = fuzz(entry, chosen.tensors, chosen.damages, seed=2026)
        bad += len(t.faults)
        plan = str(entry).replace("|", "\\|")
        told = "; ".join(t.faults).replace("|", "\\|") or "0"
        took = time.perf_counter() - start
        line = f"| `{plan}` | {t.tensors} | {t.cut} | {t.flipped} | {t.refused} | {t.read} | {told} | {took:.1f} |"
        print(line, flush=True)
    print(f"\n{len(entries)} compressors, {bad} faults")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
