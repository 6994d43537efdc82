"""Virtual workers and real processes give the same; so do many exchanges in flight and one at a time.

One set of four processes serves the whole zoo; two of them are the world of two as well. What is gathered or dealt is
equal bit for bit; what is summed on the way is added up in another order by gloo's ring, so it is equal up to rounding.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from laconic.compress import AbstractCompressor
from laconic.core import state as tree
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged, Seat, Turn
from laconic.drive.base import Place
from laconic.drive.roster import Roster
from laconic.drive.torch_dist import TorchDist
from laconic.net.link import Link
from laconic.topology import AllReduce
from tests.laws import broken
from tests.laws.world import World, routes
from tests.processes import join, results
from tests.zoo import BUCKET, SEED, ZOO, Entry, noise

STEPS = 2
# gloo adds in another order; eigenvectors of such a sum move by more than its rounding where eigenvalues are close.
# Only taking ranks in another order, in lockstep, moves the mean by up to 2.2 of the plain bound (40 seeds); gloo
# was seen to move what one rank sent by 9.
AMPLIFIED = {"gradiveq": 32}
SIZES = (4, 2)
sizes = pytest.mark.parametrize("size", SIZES)
pytestmark = pytest.mark.timeout(600)  # the first test waits for what the processes do for all


class Case(NamedTuple):
    """One compressor on one route; it travels in a bucket of its own."""

    compressor: AbstractCompressor
    route: str
    bucket: int

    @property
    def spec(self) -> BucketSpec:
        return replace(BUCKET, id=self.bucket)

    def input(self, rank: int, step: int) -> Tensor:
        """The same wherever in the zoo it stands."""
        name = zlib.crc32(f"{self.compressor!r} {self.route}".encode())
        return noise(BUCKET.numel, (name << 16) + 100 * step + rank)


class Told(NamedTuple):
    """What one rank reports about one exchange."""

    mean: Tensor
    sent: Tensor
    state: dict[str, Tensor]
    nbytes: int


def cases(compressors: Sequence[AbstractCompressor]) -> list[Case]:
    both = [(c, route) for c in compressors for route in routes(c)]
    return [Case(c, route, i) for i, (c, route) in enumerate(both)]


def _process(rank: int, world: int, sizes: Sequence[int], compressors: Sequence[AbstractCompressor]) -> dict[int, Any]:
    """By the number of ranks: [one at a time, all in flight], each a list over steps of a list over cases."""
    join(timeout_s=300)
    groups = {size: dist.new_group(range(size)) for size in sizes}
    every, told = cases(compressors), {}
    for size, group in groups.items():
        if rank < size:
            store = dist.PrefixStore(f"of {size}", dist.distributed_c10d._get_default_store())
            driver = TorchDist(group, Link(), Roster(store, rank, size))
            told[size] = [_run(every, driver, rank, size, flights) for flights in (1, len(every))]
    return told


def _run(every: Sequence[Case], driver: TorchDist, rank: int, world: int, flights: int) -> list[list[Told]]:
    seats = [Seat(rank, world, AllReduce(route_by=case.route), SEED) for case in every]
    states = [c.compressor.init(c.spec, seat) for c, seat in zip(every, seats, strict=True)]
    steps = []
    for step in range(STEPS):
        out: list[Exchanged] = []
        counts: list[int] = []
        for case, seat, state in zip(every, seats, states, strict=True):
            turn, before = Turn(seat, step), driver.link.sent_bytes
            x = case.input(rank, step)
            program = case.compressor.exchange(x, state, case.spec, turn)
            driver.launch(Place(step, case.bucket), program)
            if flights == 1:
                out += driver.finish()
            counts.append(driver.link.sent_bytes - before)
        out += driver.finish()
        states = [o.state for o in out]
        told = zip(out, counts, strict=True)
        steps.append([Told(o.mean, o.sent, tree.to_dict(o.state), n) for o, n in told])
    return steps


def check_lockstep_is_gloo(case: Case, told: Sequence[Sequence[Told]], roundoff: float = 2.0**-24) -> None:
    """`told`: over ranks, over steps."""
    size = len(told)
    world = World(case.compressor, size, case.route, case.spec)
    linear = case.compressor.traits(case.spec).linear
    for step in range(STEPS):
        before = [link.sent_bytes for link in world.links]
        out = world.exchange([case.input(rank, step) for rank in range(size)], step)
        for rank, (virtual, real) in enumerate(zip(out, (t[step] for t in told), strict=True)):
            where = f"{case.compressor} ({case.route}), rank {rank} of {size}, step {step}"
            assert torch.equal(real.mean, told[0][step].mean), f"{where}: differs from rank 0"
            for what in ("mean", "sent"):
                a, b = getattr(virtual, what), getattr(real, what)
                amplified = (size + 24) * AMPLIFIED.get(case.compressor.name, 1)
                close = amplified * roundoff * float(a.abs().max()) if linear or roundoff > 2**-24 else 0.0
                assert (a - b).abs().max() <= close, f"{where}: {what} in processes is not that in lockstep"
            assert real.state.keys() == tree.to_dict(virtual.state).keys(), f"{where}: other state"
            counted = world.links[rank].sent_bytes - before[rank]
            assert counted == real.nbytes, f"{where}: {real.nbytes} bytes, {counted} in lockstep"


def check_flights_do_not_mix(case: Case, alone: Sequence[Sequence[Told]], many: Sequence[Sequence[Told]]) -> None:
    for rank, (one, all_) in enumerate(zip(alone, many, strict=True)):
        for step, (a, b) in enumerate(zip(one, all_, strict=True)):
            same = torch.equal(a.mean, b.mean) and torch.equal(a.sent, b.sent)
            assert same, f"{case.compressor}: rank {rank}, step {step} differs with others in flight"
            assert a.state.keys() == b.state.keys()
            assert all(torch.equal(a.state[k], b.state[k]) for k in a.state)


def _of_case(told: Sequence[Any], flights: int, index: int) -> list[list[Told]]:
    return [[step[index] for step in rank[flights]] for rank in told]


@cache
def _all_told() -> list[dict[int, Any]]:
    """Over ranks: what each reports about the zoo, see `_process`."""
    return results(max(SIZES), _process, SIZES, [e.compressor for e in ZOO], timeout_s=550)


def _told(size: int) -> list[Any]:
    return [told[size] for told in _all_told()[:size]]


@cache
def _cases() -> list[Case]:
    return cases([e.compressor for e in ZOO])


def _of_entry(entry: Entry, size: int) -> Iterator[tuple[Case, list[Any], int]]:
    """Its cases, what all ranks told about the zoo, and where in that each case stands."""
    for i, case in enumerate(_cases()):
        if case.compressor is entry.compressor:
            yield case, _told(size), i


@sizes
@pytest.mark.parametrize("entry", ZOO, ids=str)
def test_processes_and_virtual_workers_agree(entry: Entry, size: int):
    for case, told, i in _of_entry(entry, size):
        check_lockstep_is_gloo(case, _of_case(told, 0, i), entry.roundoff)


@sizes
@pytest.mark.parametrize("entry", ZOO, ids=str)
def test_many_in_flight_give_the_same_as_one_at_a_time(entry: Entry, size: int):
    for case, told, i in _of_entry(entry, size):
        check_flights_do_not_mix(case, _of_case(told, 0, i), _of_case(told, 1, i))


def test_the_law_catches_what_works_in_one_process_only_and_what_works_alone_only():
    guilty = [broken.SharesMemory(), broken.ConfusesFlights(1), broken.ConfusesFlights(2)]
    told = [by_size[2] for by_size in results(2, _process, [2], guilty)]
    shares, confuses, _ = cases(guilty)
    with pytest.raises(AssertionError, match="not that in lockstep"):
        check_lockstep_is_gloo(shares, _of_case(told, 0, 0))
    with pytest.raises(AssertionError, match="differs with others in flight"):
        check_flights_do_not_mix(confuses, _of_case(told, 0, 1), _of_case(told, 1, 1))
