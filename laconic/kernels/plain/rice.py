"""Sorted indices as Rice-coded gaps, with a parameter of its own for every 128 of them.

    gap g_i = at_i - at_(i-1) - 1, at_(-1) = -1;   k = floor(log2(max(1, 0.69 mean gap))) of the 128, one byte
    q = g >> k:   q < 24: q ones, a zero, the k low bits of g      else: 24 ones and 32 bits of g

Bits are written from the lowest of a byte upwards; every 128 start at a byte. For gaps without structure this is within
0.2 bits of the entropy, and it follows them where some layers are denser. Golomb 1966; Rice, Plaunt 1971.
"""

from __future__ import annotations

import torch
from torch import Tensor

from laconic.core.errors import PayloadError
from laconic.kernels.plain.pack import pack

GROUP = 128
LONG = 24  # ones that announce a gap written in full


def rice_pack(at: Tensor) -> Tensor:
    """Sorted distinct indices (int32) -> bytes."""
    if not at.numel():
        return torch.empty(0, dtype=torch.uint8, device=at.device)
    value, length, group, k = _codes(at.to(torch.int64))
    ends = torch.cumsum(length, 0)
    groups = k.numel()
    bits = torch.zeros(groups, dtype=torch.int64, device=at.device).index_add_(0, group, length)
    start = torch.cumsum(1 + -(-bits // 8), 0)
    first = 8 * torch.cat([start.new_zeros(1), start[:-1]])  # the bit each group starts at
    before = ends - length - torch.cat([bits.new_zeros(1), torch.cumsum(bits, 0)[:-1]])[group]
    stream = torch.zeros(8 * int(start[-1]), dtype=torch.uint8, device=at.device)
    _write(stream, first, k, torch.full_like(k, 8))
    _write(stream, first[group] + 8 + before, value, length)
    return pack(stream, 1)


def _codes(at: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Code and length of every gap, which group it is in, and the parameter of every group."""
    gap = torch.diff(at, prepend=at.new_full((1,), -1)) - 1
    group = torch.arange(at.numel(), device=at.device) // GROUP
    groups = int(group[-1]) + 1
    total = torch.zeros(groups, dtype=torch.int64, device=at.device).index_add_(0, group, gap)
    count = torch.bincount(group, minlength=groups)
    k = _log2((69 * total // (100 * count)).clamp(min=1))
    mine = k[group]
    q = gap >> mine
    short = q < LONG
    q = q.clamp(max=LONG)
    value = torch.where(short, ((1 << q) - 1) | ((gap & ((1 << mine) - 1)) << (q + 1)), (1 << LONG) - 1 | gap << LONG)
    return value, torch.where(short, q + 1 + mine, LONG + 32), group, k


def _log2(n: Tensor) -> Tensor:
    """floor(log2 n) of whole numbers from 1 to 2^31."""
    powers = 2 ** torch.arange(1, 32, dtype=torch.int64, device=n.device)
    return torch.bucketize(n, powers, right=True)


def _write(stream: Tensor, at: Tensor, value: Tensor, length: Tensor) -> None:
    """The low bits of each value, one a byte of the stream."""
    which = torch.repeat_interleave(torch.arange(at.numel(), device=at.device), length)
    ends = torch.cumsum(length, 0)
    place = torch.arange(which.numel(), device=at.device) - (ends - length)[which]
    stream[at[which] + place] = ((value[which] >> place) & 1).to(torch.uint8)


def rice_unpack(packed: Tensor, count: int, numel: int) -> Tensor:
    """So many indices (int32), ascending and below numel; bytes that do not say that are refused."""
    data = bytes(packed.cpu().numpy())
    out, last, byte = [], -1, 0
    for first in range(0, count, GROUP):
        if byte >= len(data) or data[byte] > 31:
            raise damaged(count, numel)
        k, at = data[byte], 0
        window = int.from_bytes(data[byte + 1 : byte + 1 + 7 * GROUP], "little")
        for _ in range(min(GROUP, count - first)):
            code = window >> at & ((1 << 56) - 1)
            q = ((~code & (code + 1)).bit_length() - 1) if code & 1 else 0
            if q < LONG:
                gap, at = q << k | code >> (q + 1) & ((1 << k) - 1), at + q + 1 + k
            else:
                gap, at = code >> LONG, at + LONG + 32
            last += 1 + gap
            out.append(last)
        byte += 1 - (-at // 8)
        if byte > len(data) or last >= numel:
            raise damaged(count, numel)
    if byte != len(data):
        raise damaged(count, numel)
    return torch.tensor(out, dtype=torch.int32, device=packed.device)


def damaged(count: int, numel: int) -> PayloadError:
    return PayloadError(f"A message does not hold {count} ascending indices below {numel}: it was damaged on the way.")
