from __future__ import annotations

import pytest

from laconic.compress import AMQ
from laconic.core.bucket import one_tensor
from tests.compress.test_adaptive_levels import uniform
from tests.compress.test_alq import _variance, laplace
from tests.laws.world import World


def test_levels_are_powers_of_one_number_and_none_is_zero():
    assert AMQ(3).first() == (0.125, 0.25, 0.5, 1.0)
    a, b, c, d = AMQ(3).fit(uniform(), AMQ(3).first())
    assert d == 1.0
    assert a / b == pytest.approx(b / c) == pytest.approx(c)


def test_the_number_is_the_best_of_its_neighbourhood():
    seen, plan = uniform(), AMQ(3)
    p = plan.fit(seen, plan.first())[-2]
    best = seen.variance(plan.fit(seen, plan.first()))
    for other in (0.9 * p, 0.99 * p, 1.01 * p, 1.1 * p):
        assert seen.variance(plan._powers(other)) >= best


def test_fitted_powers_beat_powers_of_two():
    x, spec = laplace(8192, 1), one_tensor(8192)
    fitted = World(AMQ(3, block=8192, refresh=1), 1, "gather", spec)
    fitted.exchange([laplace(8192, 2)], 0)
    plain = World(AMQ(3, block=8192, refresh=1000), 1, "gather", spec)
    assert _variance(fitted, x, 1) < 0.1 * _variance(plain, x, 1)


def test_as_many_levels_as_codes():
    assert len(AMQ(4).first()) == 8  # with their negatives, 16
    assert AMQ(3, block=1024).payload_bits(one_tensor(2048)) == 3 * 2048 + 64
