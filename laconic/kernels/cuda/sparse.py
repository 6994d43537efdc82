"""What exceeds a threshold, in order, and sparse vectors added to dense ones; truth: plain/select.py.

Selecting takes two passes: how many in each chunk, then (after a running sum) where each goes. Indices are distinct, so
adding needs no atomics and gives the same bits every time.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from laconic.kernels.cuda.quantize import launch

CHUNK = 1024


@triton.jit
def count_chunk(bits, counts, n, edge):
    chunk = tl.program_id(0)
    at = chunk * 1024 + tl.arange(0, 1024)
    over = (tl.load(bits + at, at < n, 0) & 0x7FFFFFFF) > edge
    tl.store(counts + chunk, tl.sum(over.to(tl.int32)))


@triton.jit
def emit_chunk(bits, starts, index, values, n, edge):
    chunk = tl.program_id(0)
    at = chunk * 1024 + tl.arange(0, 1024)
    v = tl.load(bits + at, at < n, 0)
    over = (v & 0x7FFFFFFF) > edge
    to = tl.load(starts + chunk) + tl.cumsum(over.to(tl.int32)) - 1
    tl.store(index + to, at, over)
    tl.store(values + to, v, over)


@triton.jit
def add_chunk(total, index, values, k, weight):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    inside = i < k
    at = tl.load(index + i, inside, 0)
    v = tl.load(total + at, inside, 0.0) + tl.load(values + i, inside, 0.0) * tl.load(weight)
    tl.store(total + at, v, inside)


def above(x: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    n, bits = x.numel(), x.contiguous().view(torch.int32)
    edge = int(torch.tensor(threshold, dtype=torch.float32).view(torch.int32))
    chunks = -(-n // CHUNK)
    counts = torch.zeros(chunks, dtype=torch.int32, device=x.device)
    launch(count_chunk, chunks, bits, counts, n, edge)
    ends = counts.cumsum(0, dtype=torch.int32)
    k = int(ends[-1]) if chunks else 0
    index = torch.empty(k, dtype=torch.int32, device=x.device)
    values = torch.empty(k, dtype=torch.int32, device=x.device)
    launch(emit_chunk, chunks if k else 0, bits, ends - counts, index, values, n, edge)
    return index, values.view(torch.float32)


def scatter_add(total: Tensor, at: Tensor, values: Tensor, weight: float) -> None:
    factor = torch.tensor([weight], dtype=torch.float32, device=total.device)
    launch(add_chunk, -(-at.numel() // CHUNK), total, at.contiguous(), values.contiguous(), at.numel(), factor)
