"""What `laconic doctor --weights FILE` says about mixing weights: who may use them, and how fast models meet."""

from __future__ import annotations

from laconic.core.errors import PlanError
from laconic.topology.gossip import check
from laconic.topology.weight_file import read


def weights_report(path: str) -> str:
    """PlanError where nobody can use them."""
    graph = read(path)
    world = len(graph.rounds[0])
    check(graph, world, rows=False)
    try:
        check(graph, world, rows=True)
    except PlanError as error:
        who = f"only push_sum can use them: {error}"
    else:
        fixed = "all algorithms" if graph.static else "dpsgd, push_sum and deepsqueeze (the others need one matrix)"
        who = f"{fixed} can use them" + ("" if graph.symmetric else ", but for powergossip: not symmetric")
    gap, most = graph.gap(world), graph.messages(world)
    return (
        f"{path}: {world} workers, {len(graph.rounds)} matrices in turn, at most {most} messages a rank and round.\n"
        f"Spectral gap {gap:.4g}: the distance to the mean falls by {gap:.1%} a round.\n{who[0].upper()}{who[1:]}."
    )
