"""A tree that hands its sum up and down in k pieces, one after the other.

    2 d (h + k - 1)(alpha + S/k beta)      height h; an inner rank hears its d children one after the other
    best k = sqrt((h - 1) S beta / alpha)

With d = 1 and h = log2 n this is the literature's 2 (log2 n + k - 1)(alpha + S/k beta): it has a rank hear its children
at once, which our switch does not, so that a binary tree of this height takes twice as long (Sanders et al. 2009 use
two trees for that reason: `double_tree`). The usual k = sqrt(S beta log2 n / alpha) takes h for h - 1.

Thakur et al. 2005; Sanders, Speck, Traeff, Parallel Computing 2009. Differs: the way down begins when the last piece is
up, as the formula has it.
"""

from __future__ import annotations

from math import sqrt

from laconic.sim.network import Line


def climb_s(height: int, nbytes: float, line: Line, pieces: int, children: int = 1) -> float:
    return 2 * children * (height + pieces - 1) * line.seconds(nbytes / pieces)


def best_pieces(height: int, nbytes: float, line: Line) -> int:
    """For which `climb_s` is least; at most one more than there are bytes."""
    ideal = sqrt((height - 1) * nbytes * line.beta_s / line.alpha_s) if line.alpha_s else nbytes
    fewer = max(1, min(int(ideal), int(nbytes)))
    return min((fewer, fewer + 1), key=lambda pieces: climb_s(height, nbytes, line, pieces))
