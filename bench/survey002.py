"""Survey 002's seven methods on 4 and 32 GPUs: predicted from its published inputs beside what it measured.

python bench/survey002.py
"""

from __future__ import annotations

from laconic.sim.survey002 import rows


def main() -> None:
    print("| model | method | GPUs | measured | predicted | predicted / measured |\n|---|---|---|---|---|---|")
    seen = rows()
    for r in seen:
        print(f"| {r.model} | {r.method} | {r.gpus} | {r.measured:.2f} | {r.predicted:.2f} | {r.ratio:.2f} |")
    for limit in (0.10, 0.15, 0.20):
        near = sum(abs(r.ratio - 1) <= limit for r in seen)
        print(f"\n{near} of {len(seen)} within {limit:.0%}.")


if __name__ == "__main__":
    main()
