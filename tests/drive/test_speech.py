"""What neighbours say to each other: sums are conserved, both ends know the same, models come together."""

from __future__ import annotations

import pytest
import torch

from laconic.components import component
from laconic.compress.solo import solo
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Seat
from laconic.drive.speech import Speech
from laconic.topology import AllReduce

SPEC = BucketSpec(0, ("x",), ((256,),))


def speeches(text: str, gamma: float, *, loaded: list[torch.Tensor] | None = None) -> list[Speech]:
    made = []
    for rank in range(2):
        seat = Seat(rank, 2, AllReduce(), seed=3)
        compress = component(text)
        way = solo(compress, SPEC, "test")  # type: ignore[arg-type]
        made.append(Speech(seat, [way], gamma) if text != "none" else Speech())
        made[-1].reset([torch.zeros(256)] if loaded is None else [loaded[rank]], equal=loaded is None)
    return made


def meet(two: list[Speech], models: list[torch.Tensor]) -> None:
    """As drive/pairs.py does it: 0 offers, 1 answers."""
    offer, number = two[0].write("b", 0, models[0])
    two[1].read("a", 0, offer, number)
    answer, number = two[1].write("a", 0, models[1])
    models[1] = models[1] + two[1].change("a", 0)
    two[0].read("b", 0, answer, number)
    models[0] = models[0] + two[0].change("b", 0)


@pytest.mark.parametrize(
    ("text", "gamma", "meetings"),
    [("none", 1.0, 1), ("qsgd(bits=4)", 0.5, 60), ("topk(0.1)", 0.2, 200), ("sign", 0.3, 200)],
)
def test_two_come_together_and_keep_their_sum(text: str, gamma: float, meetings: int):
    two = speeches(text, gamma)
    models = [torch.randn(256, generator=torch.Generator().manual_seed(r)) for r in range(2)]
    total, apart = sum(models), float((models[0] - models[1]).norm())
    for _ in range(meetings):
        meet(two, models)
        assert torch.allclose(models[0] + models[1], total, atol=1e-4)
    assert float((models[0] - models[1]).norm()) < 0.05 * apart


@pytest.mark.parametrize("text", ["none", "qsgd(bits=4)"])
def test_loaded_models_that_differ_come_together_too(text: str):
    """Each worker's checkpoint has its own model: the first word on an edge is whole, then differences are said."""
    models = [torch.randn(256, generator=torch.Generator().manual_seed(r)) for r in range(2)]
    two, total, apart = speeches(text, 0.5, loaded=models), sum(models), float((models[0] - models[1]).norm())
    for _ in range(60):
        meet(two, models)
        assert torch.allclose(models[0] + models[1], total, atol=1e-4)
    assert float((models[0] - models[1]).norm()) < 0.05 * apart


def test_what_a_message_cannot_be_is_seen():
    whole, packed = speeches("none", 1.0)[0], speeches("topk(0.1)", 0.2)[0]
    model = torch.zeros(256)
    assert whole.fits(0, torch.zeros(256), model)
    assert not whole.fits(0, torch.zeros(255), model)
    assert packed.fits(0, torch.zeros(256), model, 0)
    assert not packed.fits(0, torch.zeros(256), model, 1)
    assert not packed.fits(0, torch.zeros(9, dtype=torch.uint8), model, 0)
    assert packed.fits(0, torch.zeros(9, dtype=torch.uint8), model, 1)
