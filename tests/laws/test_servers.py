"""Through parameter servers, too: replicas agree bit for bit, and what can be said exactly comes back exactly.

In lockstep, over the whole zoo; `tests/drive/test_mailbox.py` shows on sockets that servers give what lockstep gives.
"""

from __future__ import annotations

import pytest
import torch

from laconic.compress import AbstractCompressor
from laconic.core.exchange import Exchanged, Route, Seat, Turn
from laconic.drive.lockstep import lockstep
from laconic.drive.shelf import Shelf
from laconic.topology import ParameterServer
from tests.laws import broken
from tests.laws.world import over_the_zoo
from tests.zoo import BUCKET, SEED, STEP, Cut, Entry, noise, sparse

TOPOLOGIES = (ParameterServer(servers=2), ParameterServer(reply="encode"))
SIZES = (1, 3)


def through_servers(
    compressor: AbstractCompressor, topology: ParameterServer, inputs: list[list[torch.Tensor]], first: int = 0
) -> list[list[Exchanged]]:
    """`inputs`: over steps, over ranks."""
    size, shelf = len(inputs[0]), Shelf()
    seats = [Seat(rank, size, topology, SEED) for rank in range(size)]
    states = [compressor.init(BUCKET, seat) for seat in seats]
    told = []
    for step, xs in enumerate(inputs, first):
        turns = [Turn(seat, step) for seat in seats]
        outs = lockstep(
            [compressor.exchange(x, s, BUCKET, t) for x, s, t in zip(xs, states, turns, strict=True)], shelf=shelf
        )
        states = [out.state for out in outs]
        told.append(outs)
    return told


def check_replicas_agree(compressor: AbstractCompressor) -> None:
    for topology in TOPOLOGIES:
        for size in SIZES:
            inputs = [[noise(BUCKET.numel, 10 * step + rank) for rank in range(size)] for step in range(2)]
            for step, (one, *others) in enumerate(through_servers(compressor, topology, inputs)):
                assert one.mean.isfinite().all()
                for rank, other in enumerate(others, 1):
                    assert torch.equal(one.mean, other.mean), (
                        f"{compressor}: rank {rank} of {size} differs from rank 0 ({topology}, step {step})"
                    )


def check_exact_comes_back(entry: Entry) -> None:
    for topology in TOPOLOGIES:
        for size in SIZES:
            x = entry.exact(BUCKET, Cut(1, Route.DEAL))  # small buckets go to one server as a whole
            ((one, *_),) = through_servers(entry.compressor, topology, [[x.clone() for _ in range(size)]], STEP)
            worst = float((one.mean - x).abs().max())
            atol = (size + 4) * entry.roundoff * float(x.abs().max())
            assert worst <= atol, f"{entry}: the mean is off by {worst:.3g} among {size} ({topology})"


@over_the_zoo
def test_replicas_agree_bit_for_bit_over_servers(entry: Entry):
    check_replicas_agree(entry.compressor)


@over_the_zoo
def test_what_is_representable_comes_back_from_servers_unchanged(entry: Entry):
    check_exact_comes_back(entry)


def test_the_law_catches_ranks_that_draw_different_elements():
    with pytest.raises(AssertionError, match="differs from rank 0"):
        check_replicas_agree(broken.OwnRandomK())


def test_the_law_catches_a_sum():
    with pytest.raises(AssertionError, match="mean is off by"):
        check_exact_comes_back(Entry(broken.SumNotMean(), sparse(0.1)))
