"""Sentences about what was not measured, each only where it is true."""

from __future__ import annotations

from dataclasses import replace

from laconic.planner.grounds import grounds
from laconic.planner.network_file import NetworkTable
from laconic.planner.search import DDP, Planner, planner_of
from laconic.sim.machine import Coding, Machine
from laconic.sim.model import table
from laconic.sim.network import Network, parse_line
from tests.planner.networks import network

MODEL = table("m", [("a", (2000, 250))], [0.1], batch=8)
TIMED = replace(network(4), codings={"ef(topk(0.01))": Coding(1e-9, 1e-9)})


def said(planner: Planner, *texts: str, world: int = 4) -> str:
    found = (planner.predict(text, world) for text in texts)
    return " ".join(grounds(planner, world, [f for f in found if f is not None]))


def probed(table: NetworkTable, *texts: str, world: int = 4) -> str:
    return said(planner_of(MODEL, table), *texts, world=world)


def test_where_everything_was_measured_nothing_is_said() -> None:
    assert probed(TIMED, DDP, "none", "ef(topk(0.01)) / wfbp", "filtered(ef(topk(0.01)), deny='b')") == ""


def test_a_line_fitted_to_other_ranks_is_told_with_the_cores_they_share() -> None:
    fitted = "The network was probed with 4 ranks on 1 machine: a line of 100mbit:100us, fitted to what they measured,"
    assert probed(TIMED, DDP, world=32).startswith(fitted)
    assert probed(TIMED, DDP, world=32).endswith(" 4 workers are taken to share the 2 cores of each machine.")
    assert probed(TIMED, DDP, world=2).endswith(" 2 workers are taken to share the 2 cores of each machine.")
    spread = replace(TIMED, machines=4)
    assert "4 ranks on 4 machines" in probed(spread, DDP, world=8)
    assert "Each worker is taken to have a machine of 2 cores to itself." in probed(spread, DDP, world=8)


def test_a_link_given_as_text_has_no_machine() -> None:
    link = Planner(MODEL, Network(parse_line("10gbit:50us")), Machine())
    own = "10gbit:50us is a link, not a machine: each worker is taken to have a core (or device) of its own."
    assert said(link, DDP, "none") == own
    assert said(link, "qsgd(bits=4)").endswith(
        "how fast qsgd(4) can be written and read here: 2 GB/s of gradient is assumed."
    )


def test_coding_that_was_not_timed_is_nominal() -> None:
    hint = "2 GB/s of gradient is assumed (laconic probe measures it, unless --quick)."
    assert (
        probed(network(4), "none", "bf16", "bf16 / wfbp")
        == f"Nobody measured how fast bf16 can be written and read here: {hint}"
    )
    assert "how fast bf16 can be" in probed(TIMED, "bf16", "ef(topk(0.01))")
    assert "--quick" not in probed(TIMED, "bf16")
    assert "bf16, fp16, natural and 2 more" in probed(TIMED, "bf16", "fp16", "natural", "terngrad", "ef(sign)")
