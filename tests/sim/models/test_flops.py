"""Operations are booked where they happen, also those of a head that shares the embedding's weight."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from laconic.sim.models import layer_table
from laconic.sim.models.flops import operations


class Tied(nn.Module):
    def __init__(self, *, bias: bool) -> None:
        super().__init__()
        self.word, self.middle = nn.Embedding(100, 4), nn.Linear(4, 4, bias=False)
        self.head = nn.Linear(4, 100, bias=bias)
        self.head.weight = self.word.weight

    def forward(self, words: Tensor) -> Tensor:
        out: Tensor = self.head(self.middle(self.word(words)))
        return out


@pytest.mark.parametrize(("bias", "last"), [(False, "middle.weight"), (True, "head.bias")])
def test_a_tied_head_works_last_in_forward_though_its_weight_comes_first(bias: bool, last: str) -> None:
    counted = operations(Tied(bias=bias), torch.zeros(2, 3, dtype=torch.int64))
    booked = {name: cost for (name, _), cost in zip(counted.parameters, counted.forward, strict=True)}
    names = list(booked)
    assert (names[0], names[-1]) == ("word.weight", last)
    assert booked["word.weight"] == 6 * 4  # reading six words, and nothing else
    head, middle = 2 * 6 * 4 * 100, 2 * 6 * 4 * 4
    assert booked[last] == head + (0 if bias else middle)


@pytest.mark.parametrize("name", ["bert-base", "gpt2"])
def test_backward_begins_with_the_head_and_ends_with_the_tied_gradient(name: str) -> None:
    weights = sorted(layer_table(name, batch=1).weights, key=lambda w: w.ready)
    assert weights[-1].name == "word.weight"
    longest = max(weights, key=lambda w: w.backward_s)
    assert longest is weights[0]
    assert weights[-1].backward_s < 0.01 * longest.backward_s
