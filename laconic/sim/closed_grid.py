"""Grids whose dimensions have lines of their own: machines inside racks inside sites.

    grid p_1 .. p_m      sum_i  2 (p_i - 1) (alpha_i + S / (p_1 .. p_i) beta_i)
    hierarchical         G ranks on each of N hosts:  2(G-1)(a1 + S/G b1) + 2(N-1)(a2 + S/(GN) b2)
    shared card          the G ranks of a host share its card: b2 = G b_card, so across  2(N-1)/N S b_card
    BCube(p, k), BML     k cards a worker, p^k workers:  2k (p-1) alpha + 2(n-1)/n S/k beta

Grids: BlueConnect, Cho et al., MLSys 2019; m = 1 is the ring, two dimensions the 2D torus and hierarchical all-reduce.
BML: Wang et al., NeurIPS 2018: k threads of S/k each go through the dimensions in turn, each thread on a card of its
own in every phase, so that they never meet: 1/k of the time of one card. On a single card they would share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from laconic.sim.network import Line
from laconic.topology.cost import legs
from laconic.topology.programs import Shape


def grid_s(sides: Sequence[int], nbytes: float, lines: Sequence[Line]) -> float:
    """`sides`: ranks along each dimension, in the order they reduce; `lines`: of each dimension."""
    parts = legs("blueconnect", prod(sides), nbytes, Shape(factors=tuple(sides)))
    return sum(leg.hops * line.alpha_s + leg.nbytes * line.beta_s for leg, line in zip(parts, lines, strict=True))


def shared(card: Line, ranks: int) -> Line:
    """What one of so many ranks has of a card that all of them use at once."""
    return Line(card.alpha_s, ranks * card.beta_s)


def bcube_s(side: int, cards: int, nbytes: float, line: Line) -> float:
    """`side` workers on each small switch, `cards` of them each worker hangs on."""
    return grid_s([side] * cards, nbytes / cards, [line] * cards)
