"""The mean of what was sent is the mean that comes back; among any number of ranks, never a sum.

On the deal route an owner writes the mean a second time; what must hold there is in
`test_bias_and_variance.py` (the second rounding obeys the declared bound) and in
`test_conservation.py` (inside an error memory nothing is lost). A majority vote waives the mean, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from laconic.compress import AbstractCompressor
from laconic.core.bucket import BucketSpec
from tests.laws import broken
from tests.laws.history import history
from tests.laws.world import WORLDS, over_the_zoo, routes
from tests.zoo import BUCKET, Entry


def check_mean_of_sent(
    compressor: AbstractCompressor,
    roundoff: float = 2.0**-24,
    spec: BucketSpec = BUCKET,
    sizes: Sequence[int] = WORLDS,
) -> None:
    for size in sizes:
        first, *_ = routes(compressor, spec)  # not the deal route
        for step, moment in enumerate(history(compressor, size, first, spec).steps(2)):
            sent = torch.stack(moment.sent).double()
            # One rounding for each addend, and those of products with short rows (PowerSGD).
            tolerance = (size + 24) * roundoff * float(sent.abs().max())
            worst = float((moment.means[0].double() - sent.mean(0)).abs().max())
            waived = not compressor.traits(spec).mean
            assert waived or worst <= tolerance, f"{compressor}: off by {worst:.3g} among {size} (step {step})"
            assert len(sent.unique(dim=0)) == size, f"{compressor}: ranks with different inputs report the same as sent"


@over_the_zoo
def test_the_mean_is_the_mean_of_what_was_sent(entry: Entry):
    check_mean_of_sent(entry.compressor, entry.roundoff)


@over_the_zoo
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_it_is_so_for_other_types_than_float32(entry: Entry, dtype: torch.dtype):
    spec = replace(BUCKET, dtype=dtype)
    check_mean_of_sent(entry.compressor, max(entry.roundoff, torch.finfo(dtype).eps), spec, sizes=(1, 3))


def test_the_law_catches_a_sum():
    with pytest.raises(AssertionError, match="off by"):
        check_mean_of_sent(broken.SumNotMean())


def test_the_law_catches_one_that_reports_the_mean_as_its_own():
    with pytest.raises(AssertionError, match="report the same as sent"):
        check_mean_of_sent(broken.ReportsTheMean())


def test_the_law_catches_one_that_reports_its_input_as_sent():
    with pytest.raises(AssertionError, match="off by"):
        check_mean_of_sent(broken.SaysItSentAll())
