"""The yardstick: McCalpin's STREAM copy, c[i] = a[i], by the same compiler as the kernels.

A loop of ordinary loads and stores. memcpy with streaming stores, which spares reading what it overwrites, is faster.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from laconic.kernels.cpu.compile import kernel
from laconic.kernels.cpu.lanes import get_f32, put_f32, wide
from laconic.kernels.cpu.pool import address


@kernel("void(int64, int64, int64)")
def copy_floats(a: Any, c: Any, n: Any) -> None:
    wide()
    for i in range(n):
        put_f32(c, i, get_f32(a, i))


def stream_copy(a: Tensor, c: Tensor) -> None:
    copy_floats(address(a, torch.float32), address(c, torch.float32), a.numel())
