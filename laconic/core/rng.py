"""Counter-based random numbers: (seed, step, bucket, rank or shared) names a stream.

    key    = splitmix64(seed, step, bucket, part, who)  folded word by word
    u32_j  = lowbias32(key_block ^ j),  key_block = splitmix64(key + block) >> 32, 2**16 words a block
    u16    word j of the c-th 256 words has the low half for element 512 c + j, the high half for 256 further on

Nothing is stored between calls, every device computes the same words, and the user's own generator
is never touched. splitmix64: Steele, Lea, Flood, OOPSLA 2014. lowbias32: C. Wellons, hash-prospector.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_M64 = (1 << 64) - 1
_M32 = 0xFFFFFFFF
_BLOCK = 1 << 16
_PAIRED = 256
_SHARED = -1


def splitmix64(z: int) -> int:
    z = (z + 0x9E3779B97F4A7C15) & _M64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _M64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _M64
    return z ^ (z >> 31)


def fold(*words: int) -> int:
    """One 64-bit key from several integers; the order matters."""
    key = 0
    for word in words:
        key = splitmix64(key ^ (word & _M64))
    return key


def lowbias32(x: Tensor) -> Tensor:
    """The hash on int64 tensors that hold 32-bit words (products wrap, the mask keeps 32 bits)."""
    x = x ^ (x >> 16)
    x = (x * 0x7FEB352D) & _M32
    x = x ^ (x >> 15)
    x = (x * 0x846CA68B) & _M32
    return x ^ (x >> 16)


@dataclass(frozen=True)
class Stream:
    key: int

    def words(self, n: int, device: torch.device | str = "cpu") -> Tensor:
        """n uniform 32-bit words as int64."""
        blocks = -(-n // _BLOCK)
        keys = [splitmix64(self.key + b) >> 32 for b in range(blocks)]
        lane = torch.arange(min(n, _BLOCK), dtype=torch.int64, device=device)
        if blocks <= 1:
            return lowbias32(lane ^ keys[0]) if n else lane
        column = torch.tensor(keys, dtype=torch.int64, device=device)[:, None]
        return lowbias32(lane[None, :] ^ column).view(-1)[:n]

    def halves(self, n: int, device: torch.device | str = "cpu") -> Tensor:
        """n uniform 16-bit numbers as int64: enough to round by chance, at half the price of words."""
        words = self.words(_PAIRED * -(-n // (2 * _PAIRED)), device).view(-1, _PAIRED)
        return torch.cat([words & 0xFFFF, words >> 16], dim=1).view(-1)[:n]

    def uniform(self, n: int, device: torch.device | str = "cpu") -> Tensor:
        """n float32 in [0, 1), on a grid of 2**-24."""
        return (self.words(n, device) >> 8).to(torch.float32) * 2.0**-24

    def normal(self, n: int, device: torch.device | str = "cpu") -> Tensor:
        """n float32 from N(0, 1) by Box-Muller."""
        half = -(-n // 2)
        u = (self.words(2 * half, device) >> 8).to(torch.float64)
        radius = (-2.0 * ((u[:half] + 1.0) * 2.0**-24).log()).sqrt()
        angle = u[half:] * (2.0**-24 * 2.0 * torch.pi)
        both = torch.cat([radius * angle.cos(), radius * angle.sin()])
        return both[:n].to(torch.float32)

    def choice(self, n: int, k: int, device: torch.device | str = "cpu") -> Tensor:
        """k distinct indices of range(n), sorted, every k-subset alike (int64).

        Small k: draw with a few to spare, drop repeats in order of drawing, top up. Drawing until k
        distinct values were seen is uniform over subsets, as each new value is uniform over the rest.
        """
        assert 0 <= k <= n, f"cannot choose {k} of {n}"
        if 8 * k >= n:
            return self.words(n, device).argsort(stable=True)[:k].sort().values
        want = k + k // 4 + 16
        while True:
            drawn = (self.words(want, device) * n) >> 32
            _, first = _distinct_in_order(drawn)
            if first.numel() >= k:
                return drawn[first[:k]].sort().values
            want *= 2

    def child(self, salt: int) -> Stream:
        return Stream(fold(self.key, salt))


def _distinct_in_order(drawn: Tensor) -> tuple[Tensor, Tensor]:
    """Distinct values and the sorted positions at which each was first drawn."""
    ordered, where = drawn.sort(stable=True)
    new = torch.ones_like(ordered, dtype=torch.bool)
    new[1:] = ordered[1:] != ordered[:-1]
    first = where[new].sort().values
    return drawn[first], first


def shared(seed: int, step: int, bucket: int, part: int = 0) -> Stream:
    """The stream that all ranks draw alike."""
    return Stream(fold(seed, step, bucket, part, _SHARED))


def own(seed: int, step: int, bucket: int, rank: int, part: int = 0) -> Stream:
    """The stream of one rank."""
    return Stream(fold(seed, step, bucket, part, rank))
