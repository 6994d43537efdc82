from __future__ import annotations

import torch

from laconic.core.exchange import Gather, Mean
from laconic.drive.alone import Alone
from laconic.drive.base import Place
from laconic.net.link import Link


async def _program(value: float) -> float:
    mean = await Mean(torch.tensor([value]))
    (mine,) = await Gather(torch.zeros(3, dtype=torch.uint8))
    return float(mean) + mine.numel()


def test_a_world_of_one_answers_itself_and_sends_nothing():
    driver = Alone(Link())
    driver.launch(Place(0, 0), _program(1.0))
    driver.launch(Place(0, 1), _program(2.0))
    assert driver.finish() == [4.0, 5.0]
    assert driver.finish() == []
    assert driver.link.sent_bytes == 0
    assert driver.waited_s == 0
