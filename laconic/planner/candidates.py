"""Plans worth a thought by themselves; combined.py puts the best of them together.

Where virtual time cannot follow one, it is passed over. Some only show what they are worth in a long training: orders
that are worked out while training (besides `planned`), rounds of a hundred steps, and memories that keep a thousand
steps of what was not said.
"""

from __future__ import annotations

LOSSLESS = (
    "none",
    "fused(bucket=4MiB)",
    "fused(bucket=100MiB)",
    "wfbp",
    "fifo(bucket=1GiB)",
    "planned",
    "allreduce(ring)",
    "allreduce(halving_doubling)",
    "allreduce(recursive_doubling)",
    "allreduce(double_tree)",
    "allreduce(torus)",
    "allreduce(hierarchical)",
    "allreduce(sra)",
    "ps(colocated)",
)
SETTLED = ("mgwfbp", "priority", "crossed")  # by measured steps
SERVERS = ("ps(servers=2)", "ps(servers=8)")  # on hosts of their own
COMPRESSED = (
    "bf16",
    "fp16",
    "qsgd(bits=8)",
    "qsgd(bits=4)",
    "natural",
    "terngrad",
    "ef(sign)",
    "ef(qsgd(bits=4))",
    "ef(topk(0.1))",
    "ef(topk(0.01))",
    "ef(topk(0.01) | qsgd(bits=4) | golomb)",
    "ef(powersgd(1))",
    "ef(powersgd(2))",
    "ef(powersgd(4))",
    "ef(powersgd(8))",
)
LEAST = ("ef(topk(0.001))",)
RARE = ("local(4)", "local(8)", "local(32)")
RARER = ("diloco(h=100, fragments=4, overlap=5)",)
STALE_SERVERS = ("ssp(3) / ps(colocated)", *(f"ssp(3) / {where}" for where in SERVERS))
GOSSIP = ("gossip(ring)", "gossip(one_peer_exp)", "gossip(exp)")


def compressors() -> list[str]:
    """Those whose cost for a core is worth measuring."""
    return [*COMPRESSED, *LEAST]


def candidates(*, lossy: bool, servers: bool = False, long: bool = False) -> list[str]:
    """Plan texts, mildest first. `servers`: also those that need more hosts than workers; `long`: also those that a try
    of a few dozen steps cannot judge."""
    lossless = [*LOSSLESS, *(SETTLED if long else ()), *(SERVERS if servers else ())]
    if not lossy:
        return lossless
    both = [f"{when} / {what}" for when in RARE for what in ("bf16", "ef(powersgd(4))", "ef(topk(0.01))")]
    order = [f"{what} / fifo(bucket=1GiB)" for what in ("ef(sign)", "ef(topk(0.01))", "ef(powersgd(2))")]
    stale = [*RARE, *(RARER if long else ()), *both, *(STALE_SERVERS if servers else ()), *GOSSIP]
    return [*lossless, *COMPRESSED, *(LEAST if long else ()), *order, *stale]
