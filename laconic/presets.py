"""Whole systems and methods as plans, by name: `--plan preset:dgc`, `laconic list --presets`.

A preset is a text and nothing else: `Plan.parse` reads it, and it may be copied and changed. Each says which paper or
system it follows and where it differs. Optimizer settings that belong to a method are the user's: `differs` names them.
`preset:seven` in a list of plans stands for the seven of Shi et al.'s survey (arXiv:2005.13247, Table 1).
"""

from __future__ import annotations

from dataclasses import dataclass

from laconic.core import grammar
from laconic.core.errors import PlanError

PREFIX = "preset:"
SEVEN = ("bsp-ps", "bsp-a2a", "wfbp-ps", "wfbp-a2a", "mg-wfbp", "bytescheduler-ps", "bytescheduler-a2a")
GROUPS = {"seven": SEVEN}


@dataclass(frozen=True)
class Preset:
    plan: str
    follows: str  # a paper or system
    differs: str = ""


PRESETS: dict[str, Preset] = {
    # ------------------------------------------------------------- systems: order and architecture, lossless
    "bsp-ps": Preset(
        "ps(colocated) / fifo", "BSP with parameter servers (survey 002)", "servers beside the workers, no extra hosts"
    ),
    "bsp-a2a": Preset("fifo", "BSP with all-reduce (survey 002)"),
    "wfbp-ps": Preset(
        "ps(colocated) / wfbp", "Poseidon's wait-free backpropagation with servers", "servers beside the workers"
    ),
    "wfbp-a2a": Preset("wfbp", "wait-free backpropagation with all-reduce, a message a tensor"),
    "mg-wfbp": Preset(
        "mgwfbp(guard=off)", "MG-WFBP, Shi et al. 2019", "latency and bandwidth are measured, not looked up"
    ),
    "bytescheduler-ps": Preset(
        "ps(colocated) / priority('4MiB', credit='16MiB', guard=off)",
        "ByteScheduler with servers, Peng et al. 2019",
        "over servers chunks leave by priority, but a step ends before the next begins",
    ),
    "bytescheduler-a2a": Preset(
        "priority('16MiB', credit='64MiB', guard=off)",
        "ByteScheduler with all-reduce, Peng et al. 2019",
        "one order for all ranks from measured times, no announcements; two messages under way",
    ),
    "poseidon": Preset("ps(colocated) / wfbp", "Poseidon, Zhang et al. 2017", "without sufficient-factor broadcasting"),
    "p3": Preset(
        "ps(colocated) / priority('200KB', credit='200KB', guard=off)",
        "P3, Jayarajan et al. 2019: slices of 50,000 parameters",
        "over servers a step ends before the next begins",
    ),
    "tictac": Preset("ps(colocated) / tac(guard=off)", "TicTac, Hashemi et al. 2019", "orders what is sent, see tac"),
    "dear": Preset("crossed('25MiB', guard=off)", "DeAR, Zhang et al. 2023", "real optimizers, see crossed"),
    "horovod": Preset(
        "fused('128MiB', first='128MiB')",
        "Horovod's fusion buffer, Sergeev and Del Balso 2018",
        "static order, no cycle time",
    ),
    "byteps": Preset(
        "ps(colocated) / fused('4096000', chunk='4096000')",
        "BytePS, Jiang et al. 2020",
        "as many servers as workers, on the same hosts",
    ),
    # ------------------------------------------------------------- asynchronous, servers
    "downpour": Preset(
        "downpour(4) / ps(colocated)",
        "Downpour SGD, Dean et al. 2012",
        "any inner optimizer; give it Adagrad for the paper's",
    ),
    "ssp": Preset("ssp(3) / ps(colocated)", "stale synchronous parallel (Petuum), Ho et al. 2013"),
    # ------------------------------------------------------------- compression
    "dgc": Preset(
        "dgc(0.001, clip=1.0)",
        "Deep Gradient Compression, Lin et al. 2018",
        "give the optimizer momentum=0; ratio warm-up: warmup(dgc(0.001))",
    ),
    "1bit-sgd": Preset("ef(onebit)", "1-bit SGD, Seide et al. 2014", "columns are blocks of 2048"),
    "qsgd": Preset(
        "qsgd(bits=4)", "QSGD, Alistarh et al. 2017", "fixed-length levels; Elias coding: qsgd(bits=4) | elias"
    ),
    "terngrad": Preset("terngrad", "TernGrad, Wen et al. 2017"),
    "ef-signsgd": Preset("ef(sign)", "EF-signSGD, Karimireddy et al. 2019"),
    "signsgd-vote": Preset(
        "majority", "signSGD with majority vote, Bernstein et al. 2019", "give the optimizer a small learning rate"
    ),
    "powersgd": Preset("ef(powersgd(4))", "PowerSGD, Vogels et al. 2019"),
    "gtopk": Preset("ef(gtopk(0.001))", "gTop-k S-SGD, Shi et al. 2019"),
    "ok-topk": Preset("ef(oktopk(0.01))", "Ok-Topk, Li and Hoefler 2022"),
    "redsync": Preset("ef(redsync(0.001))", "RedSync, Fang et al. 2019"),
    "sidco": Preset("ef(sidco(0.001))", "SIDCo, Abdelmoniem et al. 2021"),
    "cgx-4bit": Preset(
        "minmax(bits=4, block=1024)",
        "CGX at 4 bits, Markov et al. 2022",
        "one width for all layers; adaptive widths: cgx",
    ),
    "bagua-bytegrad": Preset("minmax(bits=8)", "Bagua ByteGrad, Gan et al. 2022"),
    "hipress": Preset(
        "ef(selective(onebit))",
        "HiPress, Bai et al. 2021: which tensors to compress by their cost",
        "costs are given, not profiled",
    ),
    "omnireduce": Preset(
        "ef(omnireduce(blocktopk(0.01)))",
        "OmniReduce, Fei et al. 2021",
        "without its aggregators on hosts of their own",
    ),
    # ------------------------------------------------------------- rarely
    "local-sgd": Preset("local(8)", "local SGD, Stich 2019"),
    "post-local": Preset("post_local(1000, h=16)", "post-local SGD, Lin et al. 2020"),
    "slowmo": Preset("local(12, outer=slowmo(0.7))", "SlowMo, Wang et al. 2020"),
    "bmuf": Preset("local(16, outer=bmuf)", "BMUF, Chen and Huo 2016"),
    "diloco": Preset("diloco(500)", "DiLoCo, Douillard et al. 2023", "AdamW inside is the user's"),
    "sparseloco": Preset(
        "local(30) / by_tensor(ef_decay(sparseloco, beta=0.95))",
        "SparseLoCo, Sarfi et al. 2025",
        "chunks are runs, not tiles",
    ),
    # ------------------------------------------------------------- gossip
    "d-psgd": Preset("gossip(ring)", "D-PSGD, Lian et al. 2017"),
    "sgp": Preset("gossip(one_peer_exp, push_sum)", "Stochastic Gradient Push, Assran et al. 2019"),
    "ad-psgd": Preset(
        "asp / gossip(ring, adpsgd)", "AD-PSGD, Lian et al. 2018", "needs an even number of ranks on a ring"
    ),
    "choco": Preset("gossip(ring, choco) / topk(0.01)", "Choco-SGD, Koloskova et al. 2019"),
    "powergossip": Preset("gossip(ring, powergossip)", "PowerGossip, Vogels et al. 2020"),
}


def expand(text: str) -> str:
    """A plan text; what begins with preset: becomes the text it stands for."""
    if not text.strip().startswith(PREFIX):
        return text
    name = text.strip().removeprefix(PREFIX).strip()
    if name in GROUPS:
        raise PlanError(f"{text.strip()!r} is {len(GROUPS[name])} plans. Use it in laconic compare --plans.")
    alone, _, rest = (part.strip() for part in name.partition("/"))
    if rest and alone in PRESETS:
        raise PlanError(f"{text.strip()!r}: a preset stands alone. Change its text: '{PRESETS[alone].plan} / {rest}'.")
    if name not in PRESETS:
        raise PlanError(f"There is no preset {name!r}.{grammar.near(name, PRESETS)} See laconic list --presets.")
    return PRESETS[name].plan


def expand_all(texts: list[str]) -> list[str]:
    """The same of a list, in which a group stands for its members."""
    out: list[str] = []
    for text in texts:
        name = text.strip().removeprefix(PREFIX).strip()
        is_group = text.strip().startswith(PREFIX) and name in GROUPS
        out += [f"{PREFIX}{member}" for member in GROUPS[name]] if is_group else [text]
    return out
