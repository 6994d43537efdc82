"""Companions of large batches: rates, warm-ups, layer-wise optimizers, batches that grow."""

from __future__ import annotations

from laconic.optim.growth import Growth
from laconic.optim.lamb import LAMB
from laconic.optim.lars import LARS
from laconic.optim.scaling import Legw, gradual, linear, sqrt

__all__ = ["LAMB", "LARS", "Growth", "Legw", "gradual", "linear", "sqrt"]
