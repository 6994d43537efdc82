from __future__ import annotations

import torch

from laconic.core.exchange import Exchanged


def test_what_was_sent_is_computed_when_somebody_asks_and_once():
    asked = []

    def sent() -> torch.Tensor:
        asked.append(1)
        return torch.ones(2)

    out = Exchanged(torch.zeros(2), sent, ())
    assert not asked
    assert out.sent is out.sent
    assert len(asked) == 1


def test_one_field_can_be_replaced_without_asking():
    out = Exchanged(torch.zeros(2), lambda: torch.ones(2), ())._replace(state=3)
    assert out.state == 3
    assert out.sent.tolist() == [1, 1]
    assert out._replace(sent=torch.zeros(2)).sent.tolist() == [0, 0]
