"""On processes over gloo every way of mixing gives, bit for bit, what virtual workers give, and sends as many bytes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from laconic.compress import letters
from laconic.core.exchange import Turn
from laconic.drive.base import Place
from laconic.topology.mixing.base import Around
from tests.drive.test_torch_dist import driver
from tests.processes import results
from tests.topology.mixing.test_laws import WHOLE
from tests.topology.village import noise, village

ROUNDS = 3
# Of the compressed ones only those whose messages differ in kind: every process loads its own kernels.
SQUEEZED = ["gossip(ring, choco(0.2)) / topk(0.2)", "gossip(exp, choco(0.2)) / topk(0.2) | golomb"]


def _mixed(rank: int, world: int, texts: list[str]) -> list[Any]:
    d = driver(rank, world)
    return [_alone(d, rank, world, text) for text in texts]


def _alone(d: Any, rank: int, world: int, text: str) -> Any:
    """This rank's part of a village, by a driver."""
    v = village(text, world)
    by, x, state, before = v.topology.by, v.models[rank], v.states[rank], d.link.sent_bytes
    for turns in range(ROUNDS):
        x = x + noise(rank, seed=turns)
        turn = Turn(v.seats[rank], turns)
        v.turns = turns
        at = Around(v.spec, turn, v._hood(rank), letters.desk(v.compress, by, v.spec, turn))
        d.launch(Place(turns, 0), by.mix(x, state, at))
        (out,) = d.finish()
        x, state = out.mean, out.state
    return x, d.link.sent_bytes - before


@pytest.mark.parametrize(("world", "texts"), [(2, WHOLE), (3, SQUEEZED), (5, WHOLE)])
def test_processes_give_what_virtual_workers_give(world: int, texts: list[str]):
    outs = results(world, _mixed, texts)
    for number, text in enumerate(texts):
        v = village(text, world)
        for turns in range(ROUNDS):
            v.round(lambda rank, _, turns=turns: noise(rank, seed=turns))
        for rank in range(world):
            x, sent = outs[rank][number]
            assert torch.equal(x, v.models[rank]), text
            assert sent == v.links[rank].sent_bytes, text
