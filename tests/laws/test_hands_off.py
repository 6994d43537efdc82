"""An exchange leaves alone what is not its own, and hands out nothing that it keeps.

Type and device stay. The input, the state it was given and the user's random generators are as before; the
caller may overwrite its gradient and what it got back without reaching into the next step's memory.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from laconic.compress import AbstractCompressor, TopK
from laconic.core import state as tree
from tests.laws import broken
from tests.laws.world import World, over_the_zoo, routes
from tests.zoo import BUCKET, Entry

TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def check_type_is_kept(compressor: AbstractCompressor) -> None:
    for dtype in TYPES:
        spec = replace(BUCKET, dtype=dtype)
        for route in routes(compressor, spec):
            world = World(compressor, 3, route, spec)
            for step in range(2):
                xs = world.inputs(step)
                for got, x in zip(world.exchange(xs, step), xs, strict=True):
                    for what, t in (("mean", got.mean), ("sent", got.sent)):
                        assert t.dtype == dtype, f"{compressor}: {what} of {dtype} is {t.dtype}"
                        assert t.device == x.device, f"{compressor}: {what} moved to {t.device}"
                        assert t.shape == x.shape, f"{compressor}: {what} has shape {tuple(t.shape)}"
                        assert t.isfinite().all(), f"{compressor}: {what} of {dtype} is not finite"


def check_inputs_and_state_are_left_alone(compressor: AbstractCompressor) -> None:
    for route in routes(compressor):
        world = World(compressor, 3, route)
        for step in range(2):
            xs, states = world.inputs(step), list(world.states)
            before = [x.clone() for x in xs], [tree.to_dict(s) for s in states]
            out = world.exchange(xs, step)
            for x, was in zip(xs, before[0], strict=True):
                assert torch.equal(x, was), f"{compressor}: the input was modified ({route})"
            for state, was in zip(states, before[1], strict=True):
                assert _same(tree.to_dict(state), was), f"{compressor}: the state was modified ({route})"
            after = [tree.to_dict(s) for s in world.states]
            for t in (*xs, *(o.mean for o in out), *(o.sent for o in out)):
                t.fill_(torch.nan)
            for state, was in zip(world.states, after, strict=True):
                assert _same(tree.to_dict(state), was), f"{compressor}: lends its state ({route})"


def _same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


def _generators() -> tuple[object, object, object]:
    words = np.random.get_state()[1]  # noqa: NPY002  (it is the user's legacy generator that matters)
    return torch.get_rng_state().tolist(), words.tolist(), random.getstate()


def check_generators_are_untouched(compressor: AbstractCompressor) -> None:
    for route in routes(compressor):
        before = _generators()
        world = World(compressor, 3, route)
        world.exchange(world.inputs())
        after = _generators()
        for whose, was, now in zip(("torch", "numpy", "Python"), before, after, strict=True):
            assert was == now, f"{compressor}: the generator of {whose} was touched"


@over_the_zoo
def test_type_device_and_shape_are_kept(entry: Entry):
    check_type_is_kept(entry.compressor)


@over_the_zoo
def test_inputs_and_states_are_left_alone(entry: Entry):
    check_inputs_and_state_are_left_alone(entry.compressor)


@over_the_zoo
def test_the_users_generators_are_untouched(entry: Entry):
    check_generators_are_untouched(entry.compressor)


def test_the_law_catches_a_wrong_type():
    with pytest.raises(AssertionError, match=r"float16 is torch\.float32"):
        check_type_is_kept(broken.ReturnsFloat32())


def test_the_law_catches_an_input_written_to():
    with pytest.raises(AssertionError, match="the input was modified"):
        check_inputs_and_state_are_left_alone(broken.WritesInput(TopK(0.1)))


def test_the_law_catches_a_state_written_to():
    with pytest.raises(AssertionError, match="the state was modified"):
        check_inputs_and_state_are_left_alone(broken.WritesState(TopK(0.1)))


def test_the_law_catches_a_state_that_is_lent():
    with pytest.raises(AssertionError, match="lends its state"):
        check_inputs_and_state_are_left_alone(broken.LendsState(TopK(0.1)))


def test_the_law_catches_a_seeded_generator():
    with torch.random.fork_rng(), pytest.raises(AssertionError, match="generator of torch was touched"):
        check_generators_are_untouched(broken.SeedsTorch())
