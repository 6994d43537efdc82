"""What all tests share: one thread (tensors are tiny, cores few), repeatable property tests."""

from __future__ import annotations

import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("laconic", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("laconic")
