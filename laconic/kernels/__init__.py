"""The hot loops: same names in every implementation, the plain torch one is the truth.

reference   plain torch, any device                    laconic/kernels/plain
cpu         numba, in one pass over memory             laconic/kernels/cpu
"""

from __future__ import annotations

from laconic.kernels import reference
from laconic.kernels.choose import dispatched
from laconic.kernels.reference import blocks, packed_bytes

above = dispatched(reference.above)
copy_finite = dispatched(reference.copy_finite)
dequantize = dispatched(reference.dequantize)
dequantize_add = dispatched(reference.dequantize_add)
half_add = dispatched(reference.half_add)
largest = dispatched(reference.largest)
pack = dispatched(reference.pack)
quantize = dispatched(reference.quantize)
quantize_keep = dispatched(reference.quantize_keep)
quantize_to = dispatched(reference.quantize_to)
scatter_add = dispatched(reference.scatter_add)
select = dispatched(reference.select)
select_keep = dispatched(reference.select_keep)
sign_add = dispatched(reference.sign_add)
sign_keep = dispatched(reference.sign_keep)
sign_pack = dispatched(reference.sign_pack)
sign_unpack = dispatched(reference.sign_unpack)
to_half = dispatched(reference.to_half)
unpack = dispatched(reference.unpack)

__all__ = [
    "above",
    "blocks",
    "copy_finite",
    "dequantize",
    "dequantize_add",
    "half_add",
    "largest",
    "pack",
    "packed_bytes",
    "quantize",
    "quantize_keep",
    "quantize_to",
    "scatter_add",
    "select",
    "select_keep",
    "sign_add",
    "sign_keep",
    "sign_pack",
    "sign_unpack",
    "to_half",
    "unpack",
]
