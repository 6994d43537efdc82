"""Survey 002's cluster from its published inputs, and what it measured, to hold the simulator against.

Shi et al., "A Quantitative Survey of Communication Optimizations in Distributed Deep Learning", IEEE Network 2020,
arXiv:2005.13247; samples per second from its repository, HKBU-HPML/ddl-benchmarks, results/2020-05-29, 100 Gb/s IB.

Inputs used:
    computing      batch / samples per second of one RTX2080Ti: 253.1, 212.8, 49 (163 ms for BERT-Large)
    inside a node  an all-reduce of BERT-Large among 4 GPUs takes 441 ms: PCIe, 1.5 S / 441 ms for each GPU
    between nodes  a message of 16 KiB takes 7.85 us, of 32 KiB 10.1 us: latency 5.6 us; 1 MB moves at 83.2 Gb/s
    overlap        0.33 of a link's speed while a GPU computes: fitted, to BERT-Large by WFBP-A2A on 4 GPUs alone

    A2A    a ring of all GPUs, every one on its PCIe line
    PS     an all-reduce inside each node, then push and pull, both ways at once, over the node's InfiniBand
    BSP    everything in one message after backward;  WFBP  every tensor by itself;  MG-WFBP  fused
    ByteScheduler-PS only changes the order on servers in that repository, so it is simulated as WFBP-PS
    ByteScheduler-A2A is simulated as WFBP-A2A: its partitions (4M elements) cut nothing of ResNet-50. What that leaves
    out is Python: a thread that polls and one that schedules, beside Horovod's cycle (5 ms unless set; the repository
    sets 0 for the other three A2A methods only). If every tensor passes through them after the one before, from the
    end of forward on, a step cannot be shorter than  forward + tensors x each_s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from laconic.plan import Plan
from laconic.sim.collective import Curve
from laconic.sim.exchanges import Setting
from laconic.sim.machine import Coding, Machine
from laconic.sim.model import ModelTable
from laconic.sim.models import layer_table
from laconic.sim.network import Line, Network
from laconic.sim.step import simulate

LATENCY_S = 2 * 7.85e-6 - 10.1e-6
NODE_S = 0.441  # BERT-Large among the four GPUs of a node
BETWEEN = 83.2e9 / 8  # bytes per second
OVERLAP = 0.33
SINGLE = {"resnet50": (64, 253.1), "bert-base": (64, 212.8), "bert-large": (8, 49.0)}
PLANS = {
    "BSP-A2A": "fifo(bucket=4GiB)",
    "WFBP-A2A": "wfbp",
    "MG-WFBP": "fused",
    "ByteScheduler-A2A": "wfbp",
    "BSP-PS": "fifo(bucket=4GiB)",
    "WFBP-PS": "wfbp",
    "ByteScheduler-PS": "wfbp",
}
# samples per second of 4 and of 32 GPUs
MEASURED = {
    ("resnet50", "BSP-A2A"): (920.28, 7126.52),
    ("resnet50", "WFBP-A2A"): (1014.28, 7326.56),
    ("resnet50", "MG-WFBP"): (1003.90, 7876.46),
    ("resnet50", "ByteScheduler-A2A"): (653.80, 4766.38),
    ("resnet50", "BSP-PS"): (862.96, 6587.63),
    ("resnet50", "WFBP-PS"): (1010.80, 7977.79),
    ("resnet50", "ByteScheduler-PS"): (1015.82, 7999.83),
    ("bert-base", "BSP-A2A"): (555.70, 4184.38),
    ("bert-base", "WFBP-A2A"): (631.80, 4098.68),
    ("bert-base", "MG-WFBP"): (660.42, 4940.08),
    ("bert-base", "ByteScheduler-A2A"): (621.20, 4521.26),
    ("bert-base", "BSP-PS"): (557.92, 4162.21),
    ("bert-base", "WFBP-PS"): (652.78, 4899.63),
    ("bert-base", "ByteScheduler-PS"): (651.74, 4783.97),
    ("bert-large", "BSP-A2A"): (53.08, 375.22),
    ("bert-large", "WFBP-A2A"): (56.30, 339.82),
    ("bert-large", "MG-WFBP"): (57.50, 400.16),
    ("bert-large", "ByteScheduler-A2A"): (49.42, 326.40),
    ("bert-large", "BSP-PS"): (51.38, 355.69),
    ("bert-large", "WFBP-PS"): (55.30, 344.02),
    ("bert-large", "ByteScheduler-PS"): (55.36, 349.93),
}


# ByteScheduler-A2A and WFBP-A2A, ResNet-50, the 4 GPUs of one node, in the repository's three series of runs: 10GbE,
# 100Gb InfiniBand, 100GbE. None of these links carries anything inside a node.
SAME_NODE = {"ByteScheduler-A2A": (658.12, 653.80, 728.52), "WFBP-A2A": (1015.40, 1014.28, 1015.10)}
BYTE_SCHEDULER = "ByteScheduler-A2A"


@dataclass(frozen=True)
class Row:
    model: str
    method: str
    gpus: int
    measured: float  # speedup over one GPU
    predicted: float
    tensors: int
    forward_s: float

    @property
    def ratio(self) -> float:
        return self.predicted / self.measured

    @property
    def alone_s(self) -> float:
        batch, single = SINGLE[self.model]
        return batch / single

    @property
    def step_s(self) -> float:
        """As measured."""
        return self.gpus * self.alone_s / self.measured

    @property
    def predicted_s(self) -> float:
        return self.gpus * self.alone_s / self.predicted

    @property
    def each_s(self) -> float:
        """What a tensor takes at most, if tensors pass one after the other."""
        return (self.step_s - self.forward_s) / self.tensors

    def passing(self, each_s: float) -> Row:
        """The prediction where every tensor takes at least so long."""
        step_s = self.forward_s + self.tensors * each_s
        return replace(self, predicted=min(self.predicted, self.gpus * self.alone_s / step_s))


def rows() -> list[Row]:
    large = layer_table("bert-large").nbytes
    line = Line(LATENCY_S, NODE_S / (1.5 * large))
    out = []
    for name, (batch, single) in SINGLE.items():
        model = layer_table(name, batch, batch / single)
        for method, plan in PLANS.items():
            for gpus, samples in zip((4, 32), MEASURED[name, method], strict=True):
                setting = _setting(model, line, gpus, served=method.endswith("-PS"), whole=large)
                step = simulate(Plan.parse(plan), setting)
                found, predicted = samples / single, gpus * step.alone_s / step.seconds
                out.append(Row(name, method, gpus, found, predicted, len(model.weights), model.forward_s))
    return out


def allowed_s(seen: Sequence[Row], row: Row) -> float:
    """The most that the other models of its method leave for a tensor, with as many GPUs."""
    return min(r.each_s for r in seen if (r.method, r.gpus) == (row.method, row.gpus) and r.model != row.model)


def _setting(model: ModelTable, line: Line, gpus: int, *, served: bool, whole: int) -> Setting:
    machine = Machine(overlap=OVERLAP, coding=Coding(0.0, 0.0), lanes=1, votes=False)
    if not served:
        return Setting(model, Network(line), gpus, machine)
    size = 1e9
    across = size / BETWEEN if gpus > 4 else 0.0
    table = {"reduce": Curve((1.0, size), (6 * LATENCY_S, 6 * LATENCY_S + size * NODE_S / whole + across))}
    return Setting(model, Network(line), gpus, machine, table)
