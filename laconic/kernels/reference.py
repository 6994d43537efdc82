"""The hot loops in plain torch: any device, no compiler; the truth other implementations are held to.

Written in `laconic/kernels/plain/`, one idea a file.
"""

from __future__ import annotations

from laconic.kernels.plain.half import half_add, to_half
from laconic.kernels.plain.lowrank import across, along, along_keep, orthonormal, rebuilt, rebuilt_keep
from laconic.kernels.plain.merge import merge
from laconic.kernels.plain.natural import (
    natural_add,
    natural_pack,
    natural_unpack,
)
from laconic.kernels.plain.pack import blocks, pack, packed_bytes, unpack
from laconic.kernels.plain.quantize import (
    dequantize,
    dequantize_add,
    levels,
    levels_with,
    quantize,
    quantize_keep,
    quantize_to,
    scales,
    steps,
)
from laconic.kernels.plain.rising import rising_bytes, rising_pack, rising_unpack
from laconic.kernels.plain.select import above, largest, scatter_add, select, select_keep, within
from laconic.kernels.plain.sign import mean_magnitudes, sign_add, sign_keep, sign_pack, sign_unpack
from laconic.kernels.plain.subset import subset
from laconic.kernels.plain.sums import abs_sums, ordered_sums, square_sums
from laconic.kernels.plain.sweep import add_finite, copy_finite, way_finite, zeros
from laconic.kernels.plain.trits import (
    nearest_trits,
    pack_trits,
    restore_zero_runs,
    shorten_zero_runs,
    ternary,
    ternary_add,
    ternary_unpack,
    trit_bytes,
    unpack_trits,
)
from laconic.kernels.plain.words import join_lanes, lanes_of, split_lanes

__all__ = [
    "above",
    "abs_sums",
    "across",
    "add_finite",
    "along",
    "along_keep",
    "blocks",
    "copy_finite",
    "dequantize",
    "dequantize_add",
    "half_add",
    "join_lanes",
    "lanes_of",
    "largest",
    "levels",
    "levels_with",
    "mean_magnitudes",
    "merge",
    "natural_add",
    "natural_pack",
    "natural_unpack",
    "nearest_trits",
    "ordered_sums",
    "orthonormal",
    "pack",
    "pack_trits",
    "packed_bytes",
    "quantize",
    "quantize_keep",
    "quantize_to",
    "rebuilt",
    "rebuilt_keep",
    "restore_zero_runs",
    "rising_bytes",
    "rising_pack",
    "rising_unpack",
    "scales",
    "scatter_add",
    "select",
    "select_keep",
    "shorten_zero_runs",
    "sign_add",
    "sign_keep",
    "sign_pack",
    "sign_unpack",
    "split_lanes",
    "square_sums",
    "steps",
    "subset",
    "ternary",
    "ternary_add",
    "ternary_unpack",
    "to_half",
    "trit_bytes",
    "unpack",
    "unpack_trits",
    "way_finite",
    "within",
    "zeros",
]
