"""Compress a tensor only where it pays: `selective` with what was measured here in place of its usual numbers.

gbits                   8e-9 / beta of the line
encode, decode_gbytes   4 bytes over the seconds an element takes on this worker's share of the cores
overhead_us             what an exchange and a tensor cost whatever their size
"""

from __future__ import annotations

from laconic.core.bucket import one_tensor
from laconic.drive.simulate import told
from laconic.plan import Plan
from laconic.sim.machine import Machine
from laconic.sim.network import Line
from laconic.topology import AllReduce

SAMPLE = one_tensor(1 << 20)
FASTEST_GBYTES = 1e4  # of coding that costs nothing


def selecting(machine: Machine, line: Line, text: str) -> str | None:
    """None where bytes cost nothing, so that no compressor would pay."""
    if not line.beta_s:
        return None
    compress, share = Plan.parse(text).compress, min(1.0, machine.cores)
    code = machine.fitting(compress, SAMPLE.numel, told(compress, SAMPLE, AllReduce(), 2))
    encode, decode = (_gbytes(seconds / share) for seconds in (code.encode_s, code.decode_s))
    overhead_us = 1e6 * (machine.exchange_s + code.fixed_s + code.tensor_s) / share
    numbers = {
        "gbits": 8e-9 / line.beta_s,
        "encode_gbytes": encode,
        "decode_gbytes": decode,
        "overhead_us": overhead_us,
    }
    return f"selective({text}, {', '.join(f'{name}={value:.3g}' for name, value in numbers.items())})"


def _gbytes(seconds: float) -> float:
    """Of an element."""
    return FASTEST_GBYTES if seconds <= 0 else min(FASTEST_GBYTES, 4e-9 / seconds)
