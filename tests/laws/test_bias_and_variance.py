"""Bias, omega and delta are as declared, on inputs chosen to hurt; measured, with 5-sigma bounds.

The randomness is counter-based and the steps are fixed, so a test that passes always passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from laconic.compress import QSGD, AbstractCompressor, GlobalQSGD, KLevel, Levels, Natural, Rotated, TernGrad
from laconic.core.bucket import BucketSpec, one_tensor
from laconic.core.rng import Stream
from tests.laws import broken
from tests.laws.world import World, over_the_zoo
from tests.zoo import ZOO, Entry, noise

DRAWS = 100
SMALL = BucketSpec(1, ("w", "b", "g"), ((8, 8), (5,), ()))
TINY = (one_tensor(1), one_tensor(3))
ROUNDING = 1e-6  # bounds are theorems about real numbers; float32 adds this much


@dataclass(frozen=True)
class Family:
    name: str
    spec: BucketSpec
    x: Tensor

    def __str__(self) -> str:
        return self.name


def families() -> Iterator[Family]:
    n = SMALL.numel
    u = Stream(3).uniform(n) - 0.5
    spike = torch.zeros(n)
    spike[n // 3] = 5.0
    over = torch.full((n,), 0.06)
    over[7] = 1.0  # close to the worst case of QSGD: one large element over many small ones
    yield Family("normal", SMALL, noise(n, 40))
    yield Family("Laplace", SMALL, -u.sign() * (1 - 2 * u.abs()).clamp(min=1e-6).log())
    yield Family("one spike", SMALL, spike)
    yield Family("one spike over small ones", SMALL, over)
    yield Family("all equal", SMALL, torch.full((n,), -0.7))
    yield Family("alternating", SMALL, torch.tensor([1.0, -1.0]).repeat(n)[:n])
    for spec in TINY:
        yield Family(f"{spec.numel} elements", spec, noise(spec.numel, 41) + 0.1)


def draws(compressor: AbstractCompressor, family: Family) -> Tensor:
    """What a single rank sends for the same input in different steps, one a row."""
    out = []
    chance = compressor.traits(family.spec).by_chance
    world = World(compressor, 1, "gather", family.spec)
    fresh = list(world.states)
    for step in range(DRAWS if chance else 25):
        world.states = list(fresh)  # an empty memory every time; exchanges leave states as they were
        out.append(world.exchange([family.x.clone()], step)[0].sent)
        if step == 4 and not chance and all(torch.equal(out[0], t) for t in out):
            break  # nothing is drawn
    return torch.stack(out).double()


def check_unbiased(x: Tensor, drawn: Tensor, what: str) -> None:
    """The mean error is within 5 sigma of zero: as a vector, along x, and along its signs."""
    errors = drawn - x.double()
    n, floor = len(errors), ROUNDING * float(x.abs().max())
    spread = float(errors.var(0, correction=0).sum())
    norm = float(errors.mean(0).norm())
    assert norm <= 5 * math.sqrt(spread / n) + floor * math.sqrt(x.numel()), (
        f"{what}: claims to be unbiased, its mean error is {norm:.3g}"
    )
    for direction in (x.double(), x.sign().double(), torch.ones_like(x).double()):
        unit = direction / direction.norm().clamp(min=1e-30)
        along = errors @ unit
        bound = 5 * float(along.std(correction=0)) / math.sqrt(n) + floor * math.sqrt(x.numel())
        assert abs(float(along.mean())) <= bound, f"{what}: claims to be unbiased, is off by {float(along.mean()):.3g}"


def check_ratio(errors: Tensor, of: Tensor, bound: float, what: str) -> None:
    """E |error|^2 <= bound |of|^2, row by row."""
    ratios = errors.pow(2).sum(1) / of.pow(2).sum(-1).clamp(min=1e-300)
    measured = float(ratios.mean())
    sigma = float(ratios.std(correction=0)) / math.sqrt(len(ratios))
    assert measured <= bound + 5 * sigma + ROUNDING, f"{what}: claims at most {bound:.4g}, measured {measured:.4g}"


def check_claims(compressor: AbstractCompressor) -> None:
    for family in families():
        traits = compressor.traits(family.spec)
        if not traits.unbiased and traits.omega is None and traits.delta is None:
            continue
        drawn, what = draws(compressor, family), f"{compressor} on {family}"
        errors, x = drawn - family.x.double(), family.x.double()
        if traits.unbiased:
            check_unbiased(family.x, drawn, what)
        if traits.omega is not None:
            check_ratio(errors, x, traits.omega, f"{what}: omega")
        if traits.delta is not None:
            check_ratio(errors, x, 1 - traits.delta, f"{what}: 1 - delta")


def check_second_rounding(compressor: AbstractCompressor, steps: int = 40) -> None:
    """Deal: what an owner writes again obeys the same claims as what was written first."""
    spec = BucketSpec(1, ("w", "b"), ((7, 9), (5,)))
    traits, what = compressor.traits(spec), f"{compressor} dealt among 3"
    x = [noise(spec.numel, 50 + rank) for rank in range(3)]
    applied, averages = [], []
    world = World(compressor, 3, "deal", spec)
    fresh = list(world.states)
    for step in range(steps):
        world.states = list(fresh)
        out = world.exchange([t.clone() for t in x], step)
        applied.append(out[0].mean.double())
        averages.append(torch.stack([o.sent.double() for o in out]).mean(0))
        if step == 4 and not traits.by_chance and all(torch.equal(applied[0], t) for t in applied):
            break  # nothing is drawn
    said, averaged = torch.stack(applied), torch.stack(averages)
    if traits.unbiased:
        check_unbiased(torch.stack(x).mean(0), said, what)
    bound = traits.omega if traits.delta is None else 1 - traits.delta
    if bound is not None:
        check_ratio(said - averaged, averaged, bound, f"{what}: the second rounding")


def check_noise_is_independent(compressor: AbstractCompressor) -> None:
    """Four ranks that round the same vector by chance: the error of the mean is a quarter."""
    x, ranks = noise(64, 60), 4
    spec = one_tensor(64)
    one, all_ = [], []
    for step in range(40):
        out = World(compressor, ranks, "gather", spec).exchange([x.clone() for _ in range(ranks)], step)
        one.append(out[0].sent - x)
        all_.append(out[0].mean - x)
    single = float(torch.stack(one).pow(2).sum(1).mean())
    check_ratio(
        torch.stack(all_).double(),
        x.double(),
        1.2 * single / ranks / float(x.pow(2).sum()),
        f"{compressor} among {ranks}",
    )


DEALT = [e for e in ZOO if not e.compressor.traits(SMALL).linear and not e.compressor.traits(SMALL).remembers]
ROUNDED = [
    QSGD(2),
    QSGD(4, block=8),
    QSGD(8),
    QSGD(4, norm="l2"),
    KLevel(4),
    Rotated(4, block=64),
    Natural(),
    Levels(),
    GlobalQSGD(3),
    TernGrad(clip=0),
]


@over_the_zoo
def test_bias_omega_and_delta_are_as_declared(entry: Entry):
    check_claims(entry.compressor)


@pytest.mark.parametrize("entry", DEALT, ids=str)
def test_the_second_rounding_is_as_declared(entry: Entry):
    check_second_rounding(entry.compressor)


@pytest.mark.parametrize("compressor", ROUNDED, ids=str)
def test_ranks_round_independently(compressor: AbstractCompressor):
    check_noise_is_independent(compressor)


def test_the_law_catches_rounding_without_chance():
    with pytest.raises(AssertionError, match="claims to be unbiased"):
        check_claims(broken.BiasedRounding())


def test_the_law_catches_a_variance_claimed_too_small():
    with pytest.raises(AssertionError, match="omega: claims at most"):
        check_claims(broken.ClaimsLittleVariance())


def test_the_law_catches_a_contraction_claimed_too_strong():
    with pytest.raises(AssertionError, match="1 - delta: claims at most"):
        check_claims(broken.ClaimsMuchContraction())


def test_the_law_catches_an_owner_that_shrinks_what_it_averages():
    with pytest.raises(AssertionError, match="claims to be unbiased"):
        check_second_rounding(broken.BiasedSecondRounding())


def test_the_law_catches_ranks_that_share_their_noise():
    with pytest.raises(AssertionError, match="among 4: claims at most"):
        check_noise_is_independent(broken.SameNoise())
