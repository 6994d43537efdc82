"""Products of a matrix with thin factors, and the factors made orthonormal.

    M is rows x columns;  P is rank x rows,  Q is rank x columns: a factor's vectors lie in memory one after another,
    so that every product runs along the rows of M.

    along(M, Q)    P_k = M Q_k            across(M, P)   Q_k = M^T P_k            rebuilt   M' = P^T Q

Sums of float32 in any order: implementations agree to rounding, not to the bit. `orthonormal` and `rebuilt` have equal
inputs on all ranks and must have equal results there, which they do as long as ranks run the same implementation.
"""

from __future__ import annotations

import torch
from torch import Tensor


def along(m: Tensor, q: Tensor) -> Tensor:
    """P_k = M Q_k: rank x rows."""
    return q @ m.T


def along_keep(m: Tensor, residual: Tensor, left: Tensor, q: Tensor) -> Tensor:
    """left <- residual + m, and `along` of that."""
    return along(torch.add(residual, m, out=left), q)


def across(m: Tensor, p: Tensor) -> Tensor:
    """Q_k = M^T P_k: rank x columns."""
    return p @ m


def rebuilt(out: Tensor, p: Tensor, q: Tensor) -> None:
    """out <- P^T Q."""
    torch.mm(p.T, q, out=out)


def rebuilt_keep(out: Tensor, left: Tensor, p: Tensor, q: Tensor, own: Tensor) -> None:
    """out <- P^T Q;  left <- left - P^T own."""
    rebuilt(out, p, q)
    left.addmm_(p.T, own, alpha=-1.0)


def orthonormal(p: Tensor) -> Tensor:
    """The vectors of a factor made orthonormal one after another; rank x length, rank <= length.

    Householder's way, in float64, with the signs of Gram and Schmidt's: what depends on those before it is replaced by
    some vector at right angles to them, so that a factor never loses rank.
    """
    wide = p.to(torch.float64)
    top = wide.abs().amax(dim=1, keepdim=True) if p.numel() else wide[:, :1]
    q, r = torch.linalg.qr((wide / torch.where(top == 0, 1.0, top)).T)
    signs = torch.where(r.diagonal() < 0, -1.0, 1.0)
    basis: Tensor = (q * signs).T.to(p.dtype).contiguous()
    return basis
