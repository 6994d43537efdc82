"""What coding costs a core, by what was measured."""

from __future__ import annotations

import pytest

from laconic.compress import AbstractCompressor
from laconic.core.bucket import BucketSpec
from laconic.drive.simulate import told
from laconic.plan import Plan
from laconic.sim.machine import Coding, Machine
from laconic.topology import AllReduce

SPEC = BucketSpec(0, ("x",), ((100, 100),))
MACHINE = Machine(codings={"ef(topk(0.01))": Coding(1e-9, 2e-9)})


def _seconds(compress: AbstractCompressor) -> tuple[float, ...]:
    return MACHINE.seconds(compress, SPEC, told(compress, SPEC, AllReduce(), 4), 4)


def test_what_was_measured_is_not_scaled_again_where_layers_are_left_out() -> None:
    plain, filtered = (Plan.parse(text).compress for text in ("ef(topk(0.01))", "filtered(ef(topk(0.01)), deny='^y$')"))
    assert _seconds(filtered) == pytest.approx(_seconds(plain))
    assert sum(_seconds(plain)) == pytest.approx((1e-9 + 4 * 2e-9) * 10_000)
