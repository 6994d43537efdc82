"""(all-reduce algorithm x a compressor of each family): means are means, replicas are equal, hops are counted."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from torch import Tensor

from laconic.components import component
from laconic.compress import AbstractCompressor
from laconic.core.exchange import Exchanged, Turn
from laconic.drive.lockstep import lockstep
from laconic.topology import AllReduce
from laconic.topology.programs import NAMES, build
from tests.laws.world import World

# dense, cast, summed integers with an agreed scale, sums in two rounds, gathered, dealt, voted
FAMILIES = ("none", "fp16", "global_qsgd", "terngrad", "powersgd(2)", "ef(topk(0.05))", "qsgd(bits=4)", "majority")


def exchanged(text: str, size: int, algorithm: str) -> tuple[list[Exchanged], World]:
    compressor = component(text)
    assert isinstance(compressor, AbstractCompressor)
    world = World(compressor, size)
    programs = [
        compressor.exchange(x.clone(), state, world.spec, Turn(seat, 0))
        for x, state, seat in zip(world.inputs(), world.states, world.seats, strict=True)
    ]
    return lockstep(programs, world.links, AllReduce(algorithm).program), world


@cache
def native_mean(text: str, size: int) -> Tensor:
    return exchanged(text, size, "native")[0][0].mean


@pytest.mark.parametrize("algorithm", NAMES)
@pytest.mark.parametrize("text", FAMILIES)
def test_every_family_gives_the_backends_mean_and_equal_replicas(text: str, algorithm: str):
    for size in (1, 2, 3, 5, 6, 8) if text == "none" else (1, 3, 6):
        outs, world = exchanged(text, size, algorithm)
        native = native_mean(text, size)
        means = [out.mean for out in outs]
        assert all(torch.equal(means[0], m) for m in means), size
        assert close(means[0], native, text), size
        if text == "none":
            programs = [build(algorithm, rank, size, world.spec.numel) for rank in range(size)]
            hops = [[4 * (s.stop - s.start) for r in p for s in r.sends] for p in programs]
            assert [link.sent_bytes for link in world.links] == [sum(h) for h in hops]
            assert [link.messages for link in world.links] == [len(h) for h in hops]


def close(a: Tensor, b: Tensor, text: str) -> bool:
    """Sums are made in another order: a few units in the last place, of 16 bits for fp16; power iteration adds some."""
    tolerance = {"fp16": 4e-3, "powersgd(2)": 1e-3}.get(text, 1e-5)
    return bool((a - b).abs().max() <= tolerance * b.abs().max())
