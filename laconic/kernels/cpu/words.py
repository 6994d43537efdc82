"""Lanes of 64-bit words, joined and split in one pass; truth: plain/words.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from laconic.kernels.cpu.compile import kernel
from laconic.kernels.cpu.lanes import get_u8, get_u64, put_i32, put_u64
from laconic.kernels.cpu.pool import address, spread
from laconic.kernels.plain.words import lane_bits, lanes_of

U64 = np.uint64


@kernel("void(int64, int64, int64, int64, int64, int64, int64, int64)")
def join_words(codes: Any, n: Any, lanes: Any, width: Any, shift: Any, words: Any, start: Any, stop: Any) -> None:
    w = U64(width)
    top = U64(shift) << U64(width * (lanes - 1))
    for i in range(start, stop):
        first = i * lanes
        word = U64(0)
        for lane in range(min(lanes, n - first) - 1, -1, -1):
            word = (word << w) | U64(get_u8(codes, first + lane))
        put_u64(words, i, word - top)


@kernel("void(int64, int64, int64, int64, int64, int64, int64, int64)")
def split_words(words: Any, n: Any, lanes: Any, width: Any, shift: Any, out: Any, start: Any, stop: Any) -> None:
    mask = (U64(1) << U64(width)) - U64(1)
    for i in range(start, stop):
        first, word = i * lanes, get_u64(words, i)
        count = min(lanes, n - first)
        for lane in range(min(count, lanes - 1)):
            put_i32(out, first + lane, np.int64((word >> U64(width * lane)) & mask))
        if count == lanes:
            put_i32(out, first + lanes - 1, (np.int64(word) >> (width * (lanes - 1))) + shift)


def join_lanes(codes: Tensor, most: int, shift: int) -> Tensor:
    codes, lanes = codes.contiguous(), lanes_of(most)
    n = codes.numel()
    words = torch.empty(-(-n // lanes), dtype=torch.int64)
    of, to = address(codes, torch.uint8), address(words, torch.int64)
    width = lane_bits(most)
    spread(lambda a, b: join_words(of, n, lanes, width, shift, to, a, b), words.numel(), n)
    return words


def split_lanes(words: Tensor, most: int, shift: int, n: int) -> Tensor:
    words, lanes = words.contiguous(), lanes_of(most)
    out = torch.empty(n, dtype=torch.int32)
    of, to = address(words, torch.int64), address(out, torch.int32)
    width = lane_bits(most)
    spread(lambda a, b: split_words(of, n, lanes, width, shift, to, a, b), words.numel(), n)
    return out
