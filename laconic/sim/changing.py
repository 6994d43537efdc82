"""What a compressor does differently later on, and as what virtual time takes it.

warmup, dense_first                     as what they are after their first steps
paced, accordion, cgx, laq, dqsgd, ...  by what they say of noise: what they decide while they train depends on
                                        gradients, or on how long messages take
"""

from __future__ import annotations

from laconic.compress import AbstractCompressor
from laconic.compress.phased import AbstractPhased

ADAPTS = "how much it says is decided while it trains; this is what it says of noise, before any later decision"


def changing(compress: AbstractCompressor) -> tuple[str, ...]:
    """Notes; none where all steps are alike."""
    return (*([ADAPTS] if compress.adapts else []), *_phases(compress))


def _phases(compress: AbstractCompressor) -> tuple[str, ...]:
    inside = tuple(note for part in compress.parts for note in _phases(part))
    if not isinstance(compress, AbstractPhased):
        return inside
    return (f"{compress} as {compress.inner}, which it is after {compress.steps} steps", *inside)
