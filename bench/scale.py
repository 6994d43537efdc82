"""How long the simulator itself takes: 1,024 workers of any plan, 10,000 of symmetric ones, BERT-Large, one core.

python bench/scale.py
"""

from __future__ import annotations

import time

from laconic.plan import Plan
from laconic.sim.exchanges import Setting
from laconic.sim.models import layer_table
from laconic.sim.network import Network, parse_line
from laconic.sim.pace import pace
from laconic.sim.step import fits

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


def main() -> None:
    model = layer_table("bert-large")
    even = Network(parse_line("10gbit:50us"))
    uneven = Network(parse_line("10gbit:50us"), {3: 8e-9}, 4, parse_line("1gbit:30ms"))
    for world, network, name in ((1024, even, "even"), (1024, uneven, "uneven"), (10_000, even, "even")):
        worst = 0.0
        for text in PLANS:
            plan = Plan.parse(text)
            if fits(plan, world) is not None:
                continue
            started = time.process_time()
            seen = pace(plan, Setting(model, network, world))
            took = time.process_time() - started
            worst = max(worst, took)
            print(
                f"{world:6} {name:6} {text:42} step {seen.seconds:9.3f} s   simulated in {took:6.2f} s of a core",
                flush=True,
            )
        print(f"{world} workers, {name} lines: at most {worst:.2f} s\n", flush=True)


if __name__ == "__main__":
    main()
