"""An exchange leaves alone what is not its own, and hands out nothing that it keeps.

Type and device stay. The input, the state it was given and the user's random generators are as before; the
caller may overwrite its gradient and what it got back without reaching into the next step's memory.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from laconic.compress import AbstractCompressor, TopK
from tests.laws import broken
from tests.laws.history import history
from tests.laws.world import over_the_zoo, routes
from tests.zoo import BUCKET, Entry

TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def check_type_is_kept(compressor: AbstractCompressor) -> None:
    for dtype in TYPES:
        spec = replace(BUCKET, dtype=dtype)
        for route in routes(compressor, spec):
            for moment in history(compressor, 3, route, spec).steps(2):
                for what, ts in (("mean", moment.means), ("sent", moment.sent)):
                    for t, x in zip(ts, moment.inputs, strict=True):
                        assert t.dtype == dtype, f"{compressor}: {what} of {dtype} is {t.dtype}"
                        assert t.device == x.device, f"{compressor}: {what} moved to {t.device}"
                        assert t.shape == x.shape, f"{compressor}: {what} has shape {tuple(t.shape)}"
                        assert t.isfinite().all(), f"{compressor}: {what} of {dtype} is not finite"


def check_hands_off(compressor: AbstractCompressor) -> None:
    for route in routes(compressor):
        for moment in history(compressor, 3, route).steps(2):
            assert not moment.trespasses, f"{compressor}: {', '.join(moment.trespasses)} ({route})"


@over_the_zoo
def test_type_device_and_shape_are_kept(entry: Entry):
    check_type_is_kept(entry.compressor)


@over_the_zoo
def test_inputs_states_and_the_users_generators_are_left_alone(entry: Entry):
    check_hands_off(entry.compressor)


def test_the_law_catches_a_wrong_type():
    with pytest.raises(AssertionError, match=r"float16 is torch\.float32"):
        check_type_is_kept(broken.ReturnsFloat32())


def test_the_law_catches_an_input_written_to():
    with pytest.raises(AssertionError, match="the input was modified"):
        check_hands_off(broken.WritesInput(TopK(0.1)))


def test_the_law_catches_a_state_written_to():
    with pytest.raises(AssertionError, match="the state was modified"):
        check_hands_off(broken.WritesState(TopK(0.1)))


def test_the_law_catches_a_state_that_is_lent():
    with pytest.raises(AssertionError, match="lends its state"):
        check_hands_off(broken.LendsState(TopK(0.1)))


def test_the_law_catches_a_seeded_generator():
    with torch.random.fork_rng(), pytest.raises(AssertionError, match="generator of torch was touched"):
        check_hands_off(broken.SeedsTorch())
