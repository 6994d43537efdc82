"""Wangni's sparsification: keep large elements more likely, so that the variance is the least for k elements.

    p_i = min(1, |x_i| / tau),  sum p_i = k;      C(x)_i = x_i / p_i  with probability p_i  else 0

Wangni, Wang, Liu, Zhang, NeurIPS 2018, arXiv:1710.09854. Elements with p = 1 are said exactly; all others decode to
+-tau, so of them only the index and the sign are sent, in one word of 32 bits. Unbiased; the expected number of
elements is k = ceil(ratio n) and the second moment is the least of all such p, so omega <= n/k - 1, that of uniform
sampling. Differs: the greedy rule is repeated until no further element reaches p = 1 (the paper stops after 2
rounds), which gives sum p = k exactly. An element of zero is never drawn.

    words:  count of exact elements | tau | their indices | their values | indices of the others, sign in the top bit
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.compress.base import Draw, Grain, Size, Traits, kept
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.sparse import check_indices, check_ratio, signed_indices, with_signs
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PayloadError
from laconic.core.payload import HEADER_BYTES, Part
from laconic.kernels import reference_sparse as kernel


@dataclass(frozen=True)
class Wangni(AbstractOneShot):
    """Keep elements with a probability that follows their size; unbiased with the least variance."""

    ratio: float = 0.01

    name: ClassVar[str] = "wangni"
    paper: ClassVar[str] = "wangni2018gradient"
    sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_ratio(self)

    @property
    def varies(self) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        omega = max(1, spec.numel) / max(1, kept(self.ratio, spec.numel)) - 1
        return Traits(True, omega, None, linear=False, rounds=2, grain=Grain.BUCKET, size=Size.EXPECTED)

    def payload_bits(self, spec: BucketSpec) -> int:
        return 64 + 64 * kept(self.ratio, spec.numel)

    def most_bytes(self, numel: int) -> int:
        return HEADER_BYTES + 8 + 8 * numel

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return (Part(torch.int32, aux),)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        size = x.abs()
        tau = kernel.fair_threshold(size, kept(self.ratio, x.numel())) if x.numel() else 0.0
        certain = (size >= tau) & (size > 0)
        drawn = ~certain & (draw.own.uniform(x.numel(), x.device) * tau < size)
        exact, others = certain.nonzero().view(-1), drawn.nonzero().view(-1)
        head = torch.tensor([exact.numel()], dtype=torch.int32, device=x.device)
        magnitude = torch.tensor([min(tau, torch.finfo(torch.float32).max)], dtype=torch.float32, device=x.device)
        words = torch.cat(
            [
                head,
                magnitude.view(torch.int32),
                exact.to(torch.int32),
                x[exact].view(torch.int32),
                with_signs(others, x[others] < 0),
            ]
        )
        return words.numel(), (words,)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = torch.zeros(numel, device=parts[0].device)
        self.add(out, parts, aux, draw, 1.0)
        return out

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        (words,) = parts
        k = int(words[0]) if aux >= 2 else -1
        if not 0 <= 2 * k <= aux - 2:
            raise PayloadError(f"A message of {aux} words claims to hold {k} elements exactly.")
        tau, words = words[1:2].clone().view(torch.float32), words[2:]
        exact = check_indices(words[:k], total.numel())
        others, negative = signed_indices(words[2 * k :], total.numel())
        total.index_add_(0, exact, words[k : 2 * k].clone().view(torch.float32), alpha=weight)
        total.index_add_(0, others, torch.where(negative, -tau, tau), alpha=weight)
