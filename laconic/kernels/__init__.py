"""The hot loops: same names in every implementation, the plain torch one is the truth.

reference   plain torch, any device                    laconic/kernels/plain
cpu         numba, in one pass over memory             laconic/kernels/cpu
cuda        Triton, the core five                      laconic/kernels/cuda
"""

from __future__ import annotations

from laconic.kernels import reference
from laconic.kernels.choose import dispatched
from laconic.kernels.reference import blocks, lanes_of, pack_trits, packed_bytes, rising_bytes, trit_bytes, unpack_trits

above = dispatched(reference.above)
abs_sums = dispatched(reference.abs_sums)
across = dispatched(reference.across)
along = dispatched(reference.along)
along_keep = dispatched(reference.along_keep)
add_finite = dispatched(reference.add_finite)
copy_finite = dispatched(reference.copy_finite)
dequantize = dispatched(reference.dequantize)
dequantize_add = dispatched(reference.dequantize_add)
half_add = dispatched(reference.half_add)
join_lanes = dispatched(reference.join_lanes)
largest = dispatched(reference.largest)
merge = dispatched(reference.merge)
natural_add = dispatched(reference.natural_add)
natural_pack = dispatched(reference.natural_pack)
natural_unpack = dispatched(reference.natural_unpack)
nearest_trits = dispatched(reference.nearest_trits)
orthonormal = dispatched(reference.orthonormal)
pack = dispatched(reference.pack)
quantize = dispatched(reference.quantize)
quantize_keep = dispatched(reference.quantize_keep)
quantize_to = dispatched(reference.quantize_to)
rebuilt = dispatched(reference.rebuilt)
rebuilt_keep = dispatched(reference.rebuilt_keep)
restore_zero_runs = dispatched(reference.restore_zero_runs)
rising_pack = dispatched(reference.rising_pack)
rising_unpack = dispatched(reference.rising_unpack)
scales = dispatched(reference.scales)
scatter_add = dispatched(reference.scatter_add)
select = dispatched(reference.select)
select_keep = dispatched(reference.select_keep)
shorten_zero_runs = dispatched(reference.shorten_zero_runs)
sign_add = dispatched(reference.sign_add)
sign_keep = dispatched(reference.sign_keep)
sign_pack = dispatched(reference.sign_pack)
sign_unpack = dispatched(reference.sign_unpack)
split_lanes = dispatched(reference.split_lanes)
square_sums = dispatched(reference.square_sums)
subset = dispatched(reference.subset)
ternary = dispatched(reference.ternary)
ternary_add = dispatched(reference.ternary_add)
ternary_unpack = dispatched(reference.ternary_unpack)
to_half = dispatched(reference.to_half)
unpack = dispatched(reference.unpack)
way_finite = dispatched(reference.way_finite)
within = dispatched(reference.within)
zeros = dispatched(reference.zeros)

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
    "merge",
    "natural_add",
    "natural_pack",
    "natural_unpack",
    "nearest_trits",
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
