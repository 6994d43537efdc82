"""`selective` with what was measured."""

from __future__ import annotations

import pytest

from laconic.compress import Selective
from laconic.plan import Plan
from laconic.planner.selecting import selecting
from laconic.sim.machine import Coding, Machine
from laconic.sim.network import Line


def test_its_numbers_are_the_planners_own() -> None:
    known = {str(Plan.parse("qsgd(bits=4)").compress): Coding(2e-9, 1e-9, tensor_s=2e-5)}
    machine = Machine(cores=0.5, exchange_s=1e-5, codings=known)
    text = selecting(machine, Line(1e-4, 8e-10), "qsgd(bits=4)")
    assert text is not None
    made = Plan.parse(text).compress
    assert isinstance(made, Selective)
    assert (made.gbits, made.encode_gbytes, made.decode_gbytes, made.overhead_us) == (10, 1, 2, 60)


def test_who_reads_a_sparse_message_touches_only_what_was_sent() -> None:
    text = selecting(Machine(), Line(1e-4, 8e-10), "ef(topk(0.01))")
    assert text is not None
    made = Plan.parse(text).compress
    assert isinstance(made, Selective)
    assert made.encode_gbytes == 2
    assert made.decode_gbytes == pytest.approx(2 / 0.0126, rel=0.03)  # 1% of elements, 5.05 bytes each instead of 4


def test_where_bytes_cost_nothing_there_is_nothing_to_select() -> None:
    assert selecting(Machine(), Line(1e-4, 0.0), "qsgd(bits=4)") is None


def test_coding_that_costs_nothing_has_a_speed_that_can_be_written() -> None:
    text = selecting(Machine(coding=Coding(0.0, 0.0)), Line(1e-4, 8e-10), "bf16")
    assert text is not None
    assert Plan.parse(text)
