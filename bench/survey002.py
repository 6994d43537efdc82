"""Survey 002's seven methods on 4 and 32 GPUs: predicted from its published inputs beside what it measured.

    python bench/survey002.py

The second table and the lines below it are the numbers behind what docs/scale.md says about deviations.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from laconic.sim.survey002 import BYTE_SCHEDULER, SAME_NODE, Row, allowed_s, rows

LIMIT = 0.15


def main() -> None:
    print("| model | method | GPUs | measured | predicted | predicted / measured |\n|---|---|---|---|---|---|")
    seen = rows()
    for r in seen:
        print(f"| {r.model} | {r.method} | {r.gpus} | {r.measured:.2f} | {r.predicted:.2f} | {r.ratio:.2f} |")
    print()
    for limit in (0.10, LIMIT, 0.20):
        near = sum(abs(r.ratio - 1) <= limit for r in seen)
        print(f"{near} of {len(seen)} within {limit:.0%}.")
    off = [f"{r.model} {r.method} {r.gpus} ({r.ratio:.2f})" for r in seen if abs(r.ratio - 1) > LIMIT]
    print(f"Outside {LIMIT:.0%}: {', '.join(off)}.\n")
    byte_scheduler(seen)
    growth(seen)


def byte_scheduler(seen: Sequence[Row]) -> None:
    steps = {(r.model, r.gpus): r.step_s for r in seen if r.method == "BSP-A2A"}
    print(f"{BYTE_SCHEDULER}, steps in ms:\n")
    print("| model | GPUs | one GPU | BSP-A2A | ByteScheduler-A2A | more than BSP-A2A | tensors | a tensor, at most |")
    print("|---|---|---|---|---|---|---|---|")
    mine = [r for r in seen if r.method == BYTE_SCHEDULER]
    for r in mine:
        bsp = steps[r.model, r.gpus]
        times = " | ".join(f"{1e3 * s:.0f}" for s in (r.alone_s, bsp, r.step_s, r.step_s - bsp))
        print(f"| {r.model} | {r.gpus} | {times} | {r.tensors} | {1e3 * r.each_s:.2f} |")
    print()
    for r in mine:
        if abs(r.ratio - 1) > LIMIT:
            each_s = allowed_s(seen, r)
            slower = r.passing(each_s)
            missing, found = (1e3 * (s - r.predicted_s) for s in (r.step_s, slower.predicted_s))
            print(
                f"{r.model}, {r.gpus} GPUs: {1e3 * each_s:.2f} ms a tensor, the most that the other models allow, turn "
                f"predicted / measured {r.ratio:.2f} into {slower.ratio:.2f}: {found:.0f} of {missing:.0f} missing ms."
            )
    for method, samples in SAME_NODE.items():
        print(
            f"{method}, resnet50, 4 GPUs of one node, three series of runs: {', '.join(f'{s:.0f}' for s in samples)} "
            f"samples/s, {max(samples) / min(samples) - 1:.1%} apart."
        )


def growth(seen: Sequence[Row]) -> None:
    share = (2 * 31 / 32) / (2 * 3 / 4)
    print(
        f"\nAll-reduce of the whole model, BSP-A2A's step less one GPU's (a ring of 32 takes {share:.2f} rings of 4):"
    )
    for few, many in pairwise(r for r in seen if r.method == "BSP-A2A"):
        if few.model == many.model:
            print(
                f"{few.model}: 4 GPUs {_ms(few)}, 32 GPUs {_ms(many)}; "
                f"measured growth {(many.step_s - many.alone_s) / (few.step_s - few.alone_s):.2f}."
            )


def _ms(row: Row) -> str:
    measured, predicted = (1e3 * (s - row.alone_s) for s in (row.step_s, row.predicted_s))
    return f"{measured:.0f} ms (predicted {predicted:.0f})"


if __name__ == "__main__":
    main()
