"""Three levels in base 3: five elements a byte, 1.6 bits each. Levels and values are those of 2-bit quantizing.

    byte_j = sum_k 3^k code_(kL + j),  k = 0 .. 4,  in groups of 2560 elements with L = 512; the last, of r elements,
    has L = ceil(r / 5), and zeros where it ends

so that a byte takes one element from each of five runs, which vectors of bytes do without moving anything.
"""

from __future__ import annotations

import torch
from torch import Tensor

from laconic.core.rng import Stream
from laconic.kernels.plain.pack import blocks
from laconic.kernels.plain.quantize import levels, steps

GROUP, LANES = 2560, 512
ZEROS, LONGEST = 121, 14  # a byte of five zeros; so many of them become one
_POWERS = (1, 3, 9, 27, 81)


def trit_bytes(n: int) -> int:
    return -(-n // 5)


def pack_trits(codes: Tensor) -> Tensor:
    """n codes 0, 1, 2 (uint8) -> ceil(n / 5) bytes."""
    whole = codes.numel() // GROUP * GROUP
    rest = codes[whole:]
    lanes = trit_bytes(rest.numel())
    last = torch.nn.functional.pad(rest, (0, 5 * lanes - rest.numel()))
    both = [codes[:whole].view(-1, 5, LANES), last.view(-1, 5, lanes) if lanes else last.view(0, 5, 1)]
    return torch.cat([sum(g[:, k] * _POWERS[k] for k in range(5)).to(torch.uint8).view(-1) for g in both])  # type: ignore[union-attr]


def unpack_trits(packed: Tensor, n: int) -> Tensor:
    """The inverse: n codes 0, 1, 2 (whatever the bytes are)."""
    whole = n // GROUP * LANES
    both = [packed[:whole].view(-1, 1, LANES), packed[whole:].view(1, 1, -1)]
    powers = torch.tensor(_POWERS, dtype=torch.uint8, device=packed.device).view(1, 5, 1)
    return torch.cat([(g.div(powers, rounding_mode="floor") % 3).view(-1) for g in both])[:n]


def ternary(x: Tensor, scale: Tensor, packed: Tensor, stream: Stream, block: int) -> None:
    """Writes `packed`, with scales of the caller's, to which x is clipped; see `quantize_to`."""
    packed.copy_(pack_trits(levels(x, scale, stream, 2, block)))


def nearest_trits(x: Tensor, edge: Tensor, packed: Tensor, block: int) -> None:
    """Without chance: writes 0, 1 or 2 for x < -edge, between, and x > edge, an edge a block."""
    rows, e = blocks(x, block), edge.unsqueeze(1)
    codes = (rows > e).to(torch.uint8) + 1 - (rows < -e).to(torch.uint8)
    packed.copy_(pack_trits(codes.view(-1)[: x.numel()]))


def shorten_zero_runs(packed: Tensor) -> Tensor:
    """3LC: 2 to 14 bytes 121 (five zeros each) in a row become one byte 243 .. 255."""
    zero = packed == ZEROS
    index = torch.arange(packed.numel(), device=packed.device)
    before = torch.where(zero, torch.full_like(index, -1), index).cummax(dim=0).values if packed.numel() else index
    place = index - before - 1  # of a zero within its run
    head = ~zero | (place % LONGEST == 0)
    starts = head.nonzero().view(-1)
    span = torch.diff(starts, append=index.new_tensor([packed.numel()]))
    return torch.where(span > 1, 241 + span, packed[starts].to(torch.int64)).to(torch.uint8)


def restore_zero_runs(short: Tensor, nbytes: int) -> Tensor | None:
    """The inverse of `shorten_zero_runs`; None where that is not so many bytes."""
    run = short > 242
    times = torch.where(run, short.to(torch.int64) - 241, torch.ones_like(short, dtype=torch.int64))
    full = torch.where(run, torch.full_like(short, ZEROS), short).repeat_interleave(times)
    return full if full.numel() == nbytes else None


def ternary_unpack(out: Tensor, scale: Tensor, packed: Tensor, block: int, weight: float) -> None:
    """out <- weight * values."""
    out.copy_(_values(scale, packed, out.numel(), block, weight))


def ternary_add(total: Tensor, scale: Tensor, packed: Tensor, block: int, weight: float) -> None:
    """total += weight * values."""
    total += _values(scale, packed, total.numel(), block, weight)


def _values(scale: Tensor, packed: Tensor, n: int, block: int, weight: float) -> Tensor:
    level = unpack_trits(packed, n).to(torch.float32) - 1
    return (blocks(level, block) * (steps(scale, 2) * weight).unsqueeze(1)).view(-1)[:n]
