"""Plans worth a thought by themselves; combined.py puts the best of them together.

Orders that are worked out while training stand here too; where virtual time cannot follow one, it is passed over.
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
    "ef(topk(0.001))",
    "ef(topk(0.01) | qsgd(bits=4) | golomb)",
    "ef(powersgd(1))",
    "ef(powersgd(2))",
    "ef(powersgd(4))",
    "ef(powersgd(8))",
)
RARE = ("local(4)", "local(8)", "local(32)")
GOSSIP = ("gossip(ring)", "gossip(one_peer_exp)", "gossip(exp)")


def compressors() -> list[str]:
    """Those whose cost for a core is worth measuring."""
    return list(COMPRESSED)


def candidates(*, lossy: bool, servers: bool = False) -> list[str]:
    """Plan texts, mildest first. `servers`: also those that need more hosts than workers."""
    lossless = [*LOSSLESS, *(SERVERS if servers else ())]
    if not lossy:
        return lossless
    both = [f"{when} / {what}" for when in RARE for what in ("bf16", "ef(powersgd(4))", "ef(topk(0.01))")]
    order = [f"{what} / fifo(bucket=1GiB)" for what in ("ef(sign)", "ef(topk(0.01))", "ef(powersgd(2))")]
    return [*lossless, *COMPRESSED, *order, *RARE, *both, *GOSSIP]
