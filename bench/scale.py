"""How long the simulator itself takes: 1,024 workers of any plan and compressor, 10,000 of symmetric plans, BERT-Large,
one core.

python bench/scale.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from laconic.plan import Plan
from laconic.sim.exchanges import Setting
from laconic.sim.models import layer_table
from laconic.sim.network import Network, parse_line
from laconic.sim.pace import pace
from laconic.sim.step import fits
from laconic.sim.stragglers import Stragglers, parse_stragglers

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.zoo import ZOO

PLANS = (
    *("none", "wfbp", "fifo", "bf16", "powersgd(4)", "ef(topk(0.01))", "ef(topk(0.01) | qsgd(bits=4) | golomb)"),
    *("qsgd(bits=4)", "ef(sign)", "gtopk(0.01)", "oktopk(0.01)", "cgx", "local(8)", "local(8) / ef(powersgd(4))"),
    *("allreduce(ring)", "allreduce(tree)", "allreduce(double_tree)", "allreduce(torus)", "allreduce(mesh)"),
    *("allreduce(hierarchical)", "allreduce(masters)", "allreduce(blueconnect)", "allreduce(recursive_doubling)"),
    *("allreduce(halving_doubling)", "allreduce(sra)", "allreduce(auto)", "ps(servers=16)", "ps(colocated)"),
    *("gossip(ring)", "gossip(exp)", "gossip(one_peer_exp)", "gossip(ring, choco) / topk(0.01)"),
    *("gossip(complete)", "gossip(torus)", "diloco(100, fragments=4)", "cocod(8)", "blocks(4)", "ps(tree)"),
    *("planned", "mgwfbp", "priority", "tic", "crossed", "crossed / ef(topk(0.01))", "ssp(3) / ps(servers=16)"),
)
RACES = ("ssp(3) / ps(servers=65)", "asp / ps", "r2sp / ps(servers=16)", "backup(32) / ps(servers=16)")
WORLDS = (1024, 1024, 10_000)


def main() -> None:
    model = layer_table("bert-large")
    even = Network(parse_line("10gbit:50us"))
    uneven = Network(parse_line("10gbit:50us"), {3: 8e-9}, 4, parse_line("1gbit:30ms"))
    plans = [Plan.parse(text) for text in PLANS]
    for world, network, name in zip(WORLDS, (even, uneven, even), ("even", "uneven", "even"), strict=True):
        report(f"{world} workers, {name} lines", plans, Setting(model, network, world))
    zoo = [Plan(compress=entry.compressor) for entry in ZOO]
    report(f"{WORLDS[0]} workers, even lines, every compressor of tests/zoo.py", zoo, Setting(model, even, WORLDS[0]))
    late = parse_stragglers("lognormal(0.2)")
    plans += [Plan.parse(text) for text in RACES]
    report(f"{WORLDS[0]} workers, even lines, {late}", plans, Setting(model, even, WORLDS[0]), late)


def report(title: str, plans: Sequence[Plan], setting: Setting, late: Stragglers | None = None) -> None:
    took = {plan: seconds_of(plan, setting, late) for plan in plans if fits(plan, setting.world) is None}
    slowest = max(took, key=lambda plan: took[plan])
    print(f"{title}: at most {took[slowest]:.2f} s of a core, of {len(took)} plans ({slowest})\n", flush=True)


def seconds_of(plan: Plan, setting: Setting, late: Stragglers | None) -> float:
    started = time.process_time()
    seen = pace(plan, setting, late)
    took = time.process_time() - started
    print(
        f"{setting.world:6} {plan!s:60} step {seen.seconds:9.3f} s   simulated in {took:6.2f} s of a core", flush=True
    )
    return took


if __name__ == "__main__":
    main()
