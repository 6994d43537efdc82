"""The other traits: rounds, linear, grain are as declared."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from laconic.compress import AbstractCompressor, Fp16
from laconic.compress.base import Grain
from laconic.core.bucket import BucketSpec, one_tensor
from laconic.core.exchange import Max, Mean, Request, Seat, Sum, Together, Turn
from laconic.drive.lockstep import answer_all
from laconic.net.link import Link
from laconic.topology import AllReduce
from tests.laws import broken
from tests.laws.world import LATE, LATER, World, over_the_zoo
from tests.zoo import BUCKET, Entry, noise

VECTOR = one_tensor(1024)


def asked(compressor: AbstractCompressor, spec: BucketSpec) -> list[Request]:
    """The questions of a rank that is alone and gathers."""
    seat = Seat(0, 1, AllReduce(route_by="gather"))
    program = compressor.exchange(noise(spec.numel), compressor.init(spec, seat), spec, Turn(seat, LATE))
    questions: list[Request] = []
    answer: Any = None
    while True:
        try:
            questions.append(program.send(answer))
        except StopIteration:
            return questions
        (answer,) = answer_all([questions[-1]], [Link()])


def _flat(request: Request) -> list[Request]:
    return [r for q in request.requests for r in _flat(q)] if isinstance(request, Together) else [request]


def check_rounds(compressor: AbstractCompressor) -> None:
    for spec in (BUCKET, VECTOR):
        rounds, declared = len(asked(compressor, spec)), compressor.traits(spec).rounds
        assert rounds == declared, f"{compressor}: declares {declared} rounds, asks {rounds} times"


def check_linear(compressor: AbstractCompressor) -> None:
    for spec in (BUCKET, VECTOR):
        kinds = {type(r) for q in asked(compressor, spec) for r in _flat(q)}
        assert compressor.traits(spec).linear == (kinds <= {Mean, Sum, Max}), (
            f"{compressor}: linear={compressor.traits(spec).linear}, but it asks for {kinds}"
        )


def check_grain(compressor: AbstractCompressor) -> None:
    """Cut at its grain, a bucket gives the same result in pieces (as far as no chance is involved)."""
    grain = compressor.traits(VECTOR).grain
    size = {Grain.ELEMENT: 3, Grain.BLOCK: getattr(compressor, "block", 1024)}.get(grain)
    x = noise(VECTOR.numel)
    if size is None or not torch.equal(_alone(compressor, x), _alone(compressor, x, LATER)):
        return
    pieces = [_alone(compressor, piece) for piece in x.split(size)]
    assert torch.equal(torch.cat(pieces), _alone(compressor, x)), (
        f"{compressor}: says it may be cut by {grain.value}, but the pieces differ from the whole"
    )


def _alone(compressor: AbstractCompressor, x: Tensor, step: int = LATE) -> Tensor:
    return World(compressor, 1, "gather", one_tensor(x.numel())).exchange([x], step)[0].mean


@over_the_zoo
def test_rounds_are_as_declared(entry: Entry):
    check_rounds(entry.compressor)


@over_the_zoo
def test_linear_means_that_messages_are_joined_on_the_way(entry: Entry):
    check_linear(entry.compressor)


@over_the_zoo
def test_a_bucket_may_be_cut_at_the_declared_grain(entry: Entry):
    check_grain(entry.compressor)


@over_the_zoo
def test_a_law_is_waived_only_by_those_that_break_it(entry: Entry):
    traits = entry.compressor.traits(BUCKET)
    world = World(entry.compressor, 3, "gather")
    if not traits.mean:
        out = world.exchange(world.inputs())
        assert not torch.stack([o.sent for o in out]).mean(0).allclose(out[0].mean)
    if not traits.zero:
        assert World(entry.compressor, 1).exchange([torch.zeros(BUCKET.numel)])[0].mean.any()
    if traits.leaks:
        assert _lost(entry.compressor) > 1e-3, f"{entry.compressor}: says that its memory leaks, but nothing is missing"


def _lost(compressor: AbstractCompressor) -> float:
    """How far sent and remembered are from what came in, as a share of it; updates are large enough to be clipped."""
    world, came, sent = World(compressor, 1, "gather"), torch.zeros(BUCKET.numel), torch.zeros(BUCKET.numel)
    for step in range(4):
        x = 1000 * world.inputs(step)[0]
        came, sent = came + x, sent + world.exchange([x], step)[0].sent
    kept = getattr(world.states[0], "residual", 0)  # ef21 keeps estimates, which stand for no sum
    return float((sent + kept - came).abs().max() / came.abs().max())


def test_a_cast_may_be_cut_anywhere():
    assert Fp16().traits(VECTOR).grain is Grain.ELEMENT
    check_grain(Fp16())


def test_the_law_catches_a_hidden_round():
    with pytest.raises(AssertionError, match="asks 2 times"):
        check_rounds(broken.ClaimsOneRound())


def test_the_law_catches_messages_claimed_to_be_sums():
    with pytest.raises(AssertionError, match="linear=True"):
        check_linear(broken.ClaimsLinear())


def test_the_law_catches_a_grain_too_fine():
    with pytest.raises(AssertionError, match="pieces differ"):
        check_grain(broken.ClaimsFineGrain())
