"""What coding costs a core, by what was measured."""

from __future__ import annotations

import pytest

from laconic.compress import AbstractCompressor
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Seat
from laconic.drive.simulate import told
from laconic.plan import Plan
from laconic.sim.machine import Coding, Machine
from laconic.topology import AllReduce

SPEC = BucketSpec(0, ("x",), ((100, 100),))
MACHINE = Machine(codings={"ef(topk(0.01))": Coding(1e-9, 2e-9)})


def _seconds(compress: AbstractCompressor) -> tuple[float, ...]:
    return MACHINE.seconds(compress, SPEC, told(compress, SPEC, AllReduce(), 4), Seat(0, 4, AllReduce()))


def test_what_was_measured_is_not_scaled_again_where_layers_are_left_out() -> None:
    plain, filtered = (Plan.parse(text).compress for text in ("ef(topk(0.01))", "filtered(ef(topk(0.01)), deny='^y$')"))
    assert _seconds(filtered) == pytest.approx(_seconds(plain))
    assert sum(_seconds(plain)) == pytest.approx((1e-9 + 4 * 2e-9) * 10_000)


def test_selective_codes_only_where_it_pays() -> None:
    slow, fast = (Plan.parse(f"selective(topk(0.01), gbits={g}, overhead_us=0)").compress for g in (1, 1000))
    assert sum(_seconds(slow)) > 0
    assert sum(_seconds(fast)) == 0.0
