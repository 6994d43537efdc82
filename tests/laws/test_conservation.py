"""Error feedback conserves: what was sent + what is remembered = everything that came in.

    each rank      sum of sent_i + residual_i = sum of x_i
    all of them    sum of applied + mean of residual_i + d E = sum of mean x_i

E is what owners of chunks still owe (deal route), d the damping of the memory around them. And a
memory stays bounded: it is no use to conserve an error that grows without end. A memory with momentum (`dgc`) says
every update more than once by intention; what it conserves is in its own test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from laconic.compress import (
    CGX,
    ECQ,
    LAGS,
    AbstractCompressor,
    Accordion,
    DistEF,
    DoubleSqueeze,
    EFAveraged,
    EFDecay,
    ErrorFeedback,
    Paced,
    RandomK,
    Strom,
    TopK,
)
from laconic.compress.agreed_bits import AbstractAgreedBits
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.phased import AbstractPhased
from laconic.compress.split import AbstractSplit, merged
from laconic.core import state as tree
from laconic.core.bucket import BucketSpec
from tests.laws import broken
from tests.laws.history import history
from tests.laws.world import WORLDS, routes
from tests.zoo import BUCKET, ZOO, Entry

REMEMBERING = [e for e in ZOO if e.compressor.traits(BUCKET).remembers]
# Momentum adds to what came in, and some forget on purpose; their own tests say what holds instead.
CONSERVING = [e for e in REMEMBERING if not (e.compressor.owns_momentum or e.compressor.traits(BUCKET).leaks)]
over_memories = pytest.mark.parametrize("entry", REMEMBERING, ids=str)
over_conserving = pytest.mark.parametrize("entry", CONSERVING, ids=str)


def remembered(compressor: AbstractCompressor, state: Any, spec: BucketSpec) -> Tensor:
    """A rank's residual; NaN for elements nobody remembers anything about."""
    match compressor:
        case ErrorFeedback() | EFDecay() | EFAveraged() | DoubleSqueeze():
            return state.residual.double()
        case DistEF():
            return state.core.residual.double()
        case AbstractSplit():
            pieces = compressor.pieces(spec)
            flats = [remembered(p.compressor, s, p.spec) for p, s in zip(pieces, state, strict=True)]
            return merged(pieces, flats, torch.empty(0, dtype=torch.float64))
        case AbstractPhased():
            return remembered(compressor.inner, state, spec)
        case _ if compressor.traits(spec).remembers:
            return state.residual.double()
        case _:
            return torch.full((spec.numel,), torch.nan, dtype=torch.float64)


def owed(  # noqa: C901  (one line a kind of memory)
    compressor: AbstractCompressor, states: Sequence[Any], spec: BucketSpec
) -> Tensor:
    """What owners have averaged but not said yet, over the whole bucket."""
    match compressor:
        case ErrorFeedback():
            inner = [s.inner for s in states]
            return compressor.damping(spec) * owed(compressor.inner, inner, spec)
        case EFDecay() | EFAveraged() | DoubleSqueeze():
            return owed(compressor.core, states, spec)
        case DistEF():
            return owed(compressor.core, [s.core for s in states], spec)
        case AbstractSplit() | CGX():
            pieces = compressor.pieces(spec) if isinstance(compressor, AbstractSplit) else compressor.all_at(8, spec)
            columns = zip(*(s if isinstance(compressor, AbstractSplit) else s.inner for s in states), strict=True)
            flats = [owed(p.compressor, column, p.spec) for p, column in zip(pieces, columns, strict=True)]
            return merged(pieces, flats, torch.empty(0, dtype=torch.float64))
        case Accordion():
            both = zip((compressor.mild, compressor.harsh), zip(*(s.inner for s in states), strict=True), strict=True)
            return sum((owed(c, column, spec) for c, column in both), torch.zeros(spec.numel, dtype=torch.float64))
        case AbstractPhased():
            return owed(compressor.inner, states, spec)
        case LAGS():
            return owed(compressor.at(spec, len(states)), states, spec)
        case ECQ() | Paced():
            return owed(compressor.inner, [s.inner for s in states], spec)
        case Strom():
            return torch.zeros(spec.numel, dtype=torch.float64)  # it has no owners
        case AbstractOneShot() | AbstractAgreedBits():
            errors = torch.cat([s.error for s in states]).double()
            return errors if errors.numel() else torch.zeros(spec.numel, dtype=torch.float64)
        case _:
            return torch.zeros(spec.numel, dtype=torch.float64)


def check_nothing_is_lost(
    compressor: AbstractCompressor, size: int, route: str, dtype: torch.dtype = torch.float32, steps: int = 5
) -> None:
    spec = replace(BUCKET, dtype=dtype)
    came, sent = torch.zeros(2, size, spec.numel, dtype=torch.float64)
    applied = torch.zeros(spec.numel, dtype=torch.float64)
    for moment in history(compressor, size, route, spec).steps(steps):
        came += torch.stack(moment.inputs).double()
        sent += torch.stack(moment.sent).double()
        applied += moment.means[0].double()
    memory = torch.stack([remembered(compressor, s, spec) for s in moment.states])
    # A few roundings of the memory's type a step; the mean itself is made in float32 (or less).
    scale = float(torch.cat([came, sent]).abs().max()) * steps
    tolerance = 4 * torch.finfo(dtype).eps * scale
    known = ~memory[0].isnan()
    assert known.any(), f"{compressor} claims to remember but has no residual"
    kept = (sent + memory - came).abs()[:, known].max()
    assert kept <= tolerance, f"{compressor}: a rank of {size} lost {float(kept):.3g} ({route})"
    total = applied + memory.mean(0) + owed(compressor, moment.states, spec) - came.mean(0)
    lost = total.abs()[known].max()
    mean_tolerance = 4 * 2.0**-8 * scale if _half(compressor) else 8 * 2.0**-23 * scale
    assert lost <= mean_tolerance, f"{compressor}: the world of {size} lost {float(lost):.3g} ({route})"


def _half(compressor: AbstractCompressor) -> bool:
    return "fp16" in str(compressor) or "bf16" in str(compressor)


def _norm(states: Sequence[Any]) -> float:
    return float(sum(t.double().norm() for state in states for t in tree.to_dict(state).values()))


def check_memory_is_bounded(compressor: AbstractCompressor) -> None:
    """Twice as many steps may double what is remembered (no promised contraction), not square it."""
    for route in routes(compressor):
        moments = list(history(compressor, 3, route).steps(24))
        half, full = (_norm(moments[step].states) for step in (11, 23))
        assert full <= 3 * half + 10, (
            f"{compressor}: the memory grew from {half:.3g} to {full:.3g} in 12 steps ({route})"
        )


@over_conserving
@pytest.mark.parametrize("size", WORLDS)
def test_nothing_is_lost(entry: Entry, size: int):
    """A law about single steps: one with an empty memory, one with a full one; some do rare work in later ones."""
    for route in routes(entry.compressor):
        check_nothing_is_lost(entry.compressor, size, route, steps=5 if size in (1, 3, 4) else 2)


@over_conserving
def test_nothing_is_lost_in_double_precision(entry: Entry):
    for route in routes(entry.compressor):
        check_nothing_is_lost(entry.compressor, 2, route, torch.float64)


@over_memories
def test_the_memory_stays_bounded(entry: Entry):
    check_memory_is_bounded(entry.compressor)


def test_the_law_catches_a_residual_that_forgets():
    with pytest.raises(AssertionError, match="lost"):
        check_nothing_is_lost(broken.Forgets(TopK(0.1)), 2, "gather")


def test_the_law_catches_an_owner_that_forgets():
    with pytest.raises(AssertionError, match="the world of 3 lost"):
        check_nothing_is_lost(ErrorFeedback(broken.OwnerForgets()), 3, "deal")


def test_the_law_catches_a_compressor_that_says_it_sent_everything():
    with pytest.raises(AssertionError, match="lost"):
        check_nothing_is_lost(ErrorFeedback(broken.SaysItSentAll(0.1)), 2, "gather")


def test_the_law_catches_a_memory_that_explodes():
    with pytest.raises(AssertionError, match="the memory grew"):
        check_memory_is_bounded(broken.Explodes(RandomK(0.1)))
