"""How far a training scales, before anything is simulated.

    speedup = t_s / (t_s / N + t_m)      t_s: computing a step on one worker; t_m: its messages; nothing hides
    C2C     = f(N) / (M I)               communication over computation, free of any machine's speed

f(N): parameters that pass a worker's line for each parameter of the model, as `topology.cost.cost(name, N, 1).nbytes`;
M: samples of a worker's batch; I: operations a sample and parameter (ResNet-50 470, BERT 249).
t_m N / t_s = C2C times the seconds of a parameter on the line, over those of an operation.

Shi et al., "A Quantitative Survey of Communication Optimizations in Distributed Deep Learning", IEEE Network 2020,
arXiv:2005.13247.
"""

from __future__ import annotations


def speedup(alone_s: float, workers: int, messages_s: float) -> float:
    """`alone_s`: one worker's computing of what all workers compute in a step."""
    return alone_s / (alone_s / workers + messages_s)


def c2c(passing: float, batch: float, intensity: float) -> float:
    """`passing`: f(N)."""
    return passing / (batch * intensity)
