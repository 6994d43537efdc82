"""How many bytes does an element take on the wire? Interface counters of four emulated hosts, 4.2 million elements.

    python bench/wire_elements.py [--hosts 4] [--rate 1gbit] [--plans "ef(topk(0.01) | golomb)" ...]

Every rank's gradient is fresh noise (the hardest case for coded indices), so what a method keeps is known. Counters are
read after some steps and again after more: start-up is left out. A message that is gathered leaves each rank n-1
times, one that is dealt or summed 2(n-1)/n times; dividing by that, the steps and the elements gives what one
element takes once. "ours" is what replica.stats counts: messages with their headers, lengths, the vote of every step.
"on interface" is what the kernel counted on eth0: Ethernet, IP and TCP headers and acknowledgements too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

import laconic
from laconic.compress.base import AbstractCompressor
from laconic.compress.one_shot import AbstractOneShot
from laconic.core.exchange import Route
from laconic.plan import Plan

ROWS = COLUMNS = 2048
BEFORE, MEASURED = 3, 10  # steps
SPARSE = {"ef(topk(0.01))": 0.01, "ef(topk(0.01) | golomb)": 0.01, "ef(topk(0.01) | qsgd(bits=4) | golomb)": 0.01}
DENSE = ["ef(sign)", "ef(onebit)", "majority", "signum", "ef(drive(scale=mse))", "signsgd / allreduce(route=gather)"]


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--hosts", type=int, default=4)
    options.add_argument("--rate", help="of every host's link (default: unshaped)")
    options.add_argument("--plans", nargs="+", default=[*SPARSE, *DENSE])
    options.add_argument("--rank", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.rank:
        worker(chosen.rank)
        return
    print("| plan | elements said | ours | on interface | of it packets and acknowledgements |")
    print("|---|---|---|---|---|")
    for plan in chosen.plans:
        told = measured(plan, chosen.hosts, chosen.rate)
        n, times = chosen.hosts, copies(plan, chosen.hosts)
        share = SPARSE.get(plan, 1.0)
        elements = share * ROWS * COLUMNS * times * MEASURED
        factor, unit = (1, "bytes") if share < 1 else (8, "bits")
        ours, tx = (factor * told[key] / n / elements for key in ("ours", "tx"))
        text = plan.replace("|", "\\|")
        print(f"| `{text}` | {share:.0%} | {ours:.3f} {unit} | {tx:.3f} {unit} | {tx / ours - 1:.1%} |", flush=True)


def copies(text: str, world: int) -> float:
    """How often a rank's message leaves it."""
    plan = Plan.parse(text)
    said = _speaker(plan.compress)
    sparse = isinstance(said, AbstractOneShot) and said.sparse
    gathered = isinstance(said, AbstractOneShot) and plan.topology.route(sparse, world) is Route.GATHER
    return world - 1 if gathered else 2 * (world - 1) / world


def _speaker(compressor: AbstractCompressor) -> AbstractCompressor:
    inner = [] if isinstance(compressor, AbstractOneShot) else compressor.parts
    return _speaker(inner[0]) if inner else compressor


def measured(plan: str, hosts: int, rate: str | None) -> dict[str, float]:
    """Bytes of the measured steps, all ranks together."""
    with tempfile.TemporaryDirectory() as folder:
        lab = ["--hosts", str(hosts), *(["--rate", rate] if rate else [])]
        launch = [sys.executable, "-m", "laconic.cli", "run", *lab, "--plan", plan, __file__, "--rank", folder]
        done = subprocess.run(launch, capture_output=True, text=True, timeout=900, check=False, stdin=-3)
        if done.returncode:
            sys.exit(f"{plan}: {done.stderr.strip()[-800:]}")
        records = [json.loads(path.read_text()) for path in Path(folder).glob("*.json")]
        assert len(records) == hosts, f"{len(records)} of {hosts} ranks reported"
        return {key: sum(record[key] for record in records) for key in ("ours", "tx")}


def worker(folder: Path) -> None:
    session = laconic.init()
    torch.set_num_threads(1)
    weight = torch.nn.Parameter(torch.zeros(ROWS, COLUMNS))
    model = torch.nn.ParameterDict({"weight": weight})
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    replica = laconic.distribute(model, optimizer)
    noise = torch.Generator().manual_seed(session.rank)
    for step in range(BEFORE + MEASURED):
        if step == BEFORE:
            start = replica.stats
        optimizer.zero_grad()
        (weight * torch.randn(ROWS, COLUMNS, generator=noise)).sum().backward()
        optimizer.step()
    end = replica.stats
    assert start.tx_bytes is not None, "bytes are read from the interfaces of a lab's hosts"
    assert end.tx_bytes is not None
    told = {"ours": end.wire_bytes - start.wire_bytes, "tx": end.tx_bytes - start.tx_bytes}
    (folder / f"{session.rank}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main()
