"""Are the bytes we count the bytes that travel? Loopback counters of a network namespace against replica.stats.

    python bench/wire.py

Each plan trains `digits` twice, with few and with more steps, alone in a network namespace of its own; the difference
of the interface counters, over the extra steps and ranks, leaves start-up out. TCP/IP headers and acknowledgements are
in it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FEW, MORE = 40, 140
KEY = "wire_bytes_per_step"
# /proc/net is the namespace's own; /sys/class/net would still show the host's
SCRIPT = "ip link set lo up && {command} 1>&2 && cat /proc/net/dev"
SENT_COLUMN = 9


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--plans", nargs="+", default=["ddp", "none", "bf16", "qsgd(bits=4)", "ef(topk(0.01))"])
    options.add_argument("--world", type=int, default=4)
    chosen = options.parse_args()
    print("| plan | counted, bytes per worker and step | on the interface | ratio | to the first plan |")
    print("|---|---|---|---|---|")
    first = 0.0
    for plan in chosen.plans:
        few, few_record = measured(plan, chosen.world, FEW)
        more, record = measured(plan, chosen.world, MORE)
        wire = (more - few) / (MORE - FEW) / chosen.world
        counted = (MORE * record[KEY] - FEW * few_record[KEY]) / (MORE - FEW)
        first = first or wire
        print(f"| `{plan}` | {counted:,.0f} | {wire:,.0f} | {wire / counted:.3f} | {wire / first:.3f} |", flush=True)


def measured(plan: str, world: int, steps: int) -> tuple[int, dict[str, Any]]:
    """Bytes over loopback in a whole run, and the run's own record."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        task = f"-m laconic.tasks.digits --steps {steps} --eval-every 0 --json {out}"
        command = f"{sys.executable} -m laconic.cli run -n {world} --plan '{plan}' {task}"
        shell = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", SCRIPT.format(command=command)]
        done = subprocess.run(shell, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            sys.exit(f"{plan}: {done.stderr.strip()[-800:]}")
        lo = next(line for line in done.stdout.splitlines() if line.strip().startswith("lo:"))
        return int(lo.split()[SENT_COLUMN]), json.loads(out.read_text())


if __name__ == "__main__":
    main()
