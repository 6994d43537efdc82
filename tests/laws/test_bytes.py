"""Declared bits are the bytes that are counted on the wire, route by route; bits are packed.

summed on the way   2(n-1)/n S              ring all-reduce
gather              (n-1) (24 + S)          24: the header of a message
deal                what is addressed to others, then (n-1) times the longest chunk

Where the size depends on data or chance, 8 bytes that say the length are added, no message is longer than declared (or
on average, where chance decides), and a gather is padded to the longest.
"""

from __future__ import annotations

import math
import statistics
from typing import Any

import pytest

from laconic.compress import (
    CGX,
    DCT,
    LAGS,
    LAQ,
    QSGD,
    AbstractCompressor,
    Atomo,
    ByTensor,
    Diana,
    DoubleSqueeze,
    GradZip,
    GTopK,
    HiTopK,
    Majority,
    SignSGD,
    Signum,
    Strom,
)
from laconic.compress.adaptive_levels import AbstractAdaptiveLevels
from laconic.compress.agreed_bits import AbstractAgreedBits
from laconic.compress.base import Size
from laconic.compress.integer_sum import AbstractIntegerSum
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.sparse_allreduce import AbstractSparseAllReduce
from laconic.compress.split import AbstractSplit
from laconic.core.bucket import BucketSpec, one_tensor
from laconic.core.exchange import Deal, Gather, Mean, Request, Seat, Turn
from laconic.core.matrices import as_matrix, shrinks
from laconic.drive.lockstep import answer_all
from laconic.topology import AllReduce
from tests.laws import broken
from tests.laws.world import LATE, WORLDS, World, over_the_zoo, routes
from tests.zoo import BUCKET, Entry

HEADER = 24


def expected(compressor: AbstractCompressor, spec: BucketSpec, size: int, rank: int, route: str) -> float:
    """What one rank should send, from the declaration alone."""
    said, way = speaker(compressor, route)
    match said:
        case AbstractSplit():
            seat = Seat(0, size, AllReduce(route_by=way))
            return sum(expected(p.compressor, p.spec, size, rank, way) for p in said.pieces(spec, seat) if p.spec.numel)
        case CGX():  # the first exchange decides: errors are averaged, too
            table = 8 * len(spec.shapes) * (said.high - said.low + 1)
            return 2 * (size - 1) / size * table + expected(ByTensor(QSGD(said.high)), spec, size, rank, way)
        case LAGS():
            return expected(said.at(spec, size), spec, size, rank, way)
        case GradZip():
            return _odd_step(said, spec, size)
        case Atomo():
            low, rest = said.pieces(spec)
            gathered = (size - 1) * (HEADER + _bytes(said, low.spec)) if low.at else 0.0
            return gathered + 2 * (size - 1) / size * 4 * rest.spec.numel
        case GTopK():
            return _swaps(size, rank) * (HEADER + _bytes(said, spec))
        case HiTopK():
            return _three_steps(said, spec, size, rank)
        case DCT():
            return (size - 1) * (HEADER + _bytes(said, spec))
        case AbstractOneShot() if not isinstance(said, SignSGD) or way == "gather":
            return _of_messages(said, spec, size, rank, way)
        case _:
            return 2 * (size - 1) / size * _summed(said, spec, size)


def speaker(compressor: AbstractCompressor, route: str) -> tuple[AbstractCompressor, str]:
    """Who writes the messages of a wrapper, and the way they take."""
    match compressor:
        case DoubleSqueeze():
            return speaker(compressor.inner, "deal")
        case Diana():
            return speaker(compressor.inner, "gather")
        case LAQ() | Strom():
            return compressor, "gather"
        case AbstractAdaptiveLevels():
            return compressor._codec(compressor.first()), route
        case Signum():
            return Majority(compressor.zero), route
        case AbstractOneShot() | AbstractSplit() | AbstractSparseAllReduce():
            return compressor, route
        case AbstractCompressor(parts=(inner, *_)):  # a wrapper, or two that take turns
            return speaker(inner, route)
        case _:
            return compressor, route


def _of_messages(compressor: AbstractOneShot, spec: BucketSpec, size: int, rank: int, route: str) -> float:
    if route == "gather":
        return (size - 1) * (HEADER + _bytes(compressor, spec))
    lengths = [HEADER + _bytes(compressor, one_tensor(n)) for n in _chunks(spec, size, compressor.align)]
    return sum(lengths) - lengths[rank] + (size - 1) * max(lengths)


def _summed(compressor: AbstractCompressor, spec: BucketSpec, size: int) -> float:
    """Whole numbers take more bits among more ranks."""
    match compressor:
        case AbstractIntegerSum():
            return compressor.sum_bytes(spec, size)
        case SignSGD():
            return compressor.sum_bytes(spec.numel, size)
        case _:
            return _bytes(compressor, spec)


def _swaps(size: int, rank: int) -> int:
    """Merges in pairs among the largest power of two; the ranks beyond send once, and are told once."""
    pairs = size.bit_length() - 1
    beyond = size - 2**pairs
    return 1 if rank >= size - beyond else pairs + (rank < beyond)


def _three_steps(compressor: HiTopK, spec: BucketSpec, size: int, rank: int) -> int:
    """Dense shards to the node, my elements to owners of the same shards, all elements of my shards to the node."""
    node, shards, counts = compressor.node, compressor.shards(spec.numel), compressor.counts(spec.numel)

    def node_of(r: int) -> list[int]:
        return [m for m in range(size) if m // node == r // node]

    def owned(r: int) -> set[int]:
        return {s for s in range(node) if node_of(r)[s % len(node_of(r))] == r}

    others = [r for r in node_of(rank) if r != rank]
    dense = sum(HEADER + 4 * sum(shards[s][1] - shards[s][0] for s in owned(m)) for m in others)
    common = [owned(rank) & owned(r) for r in range(size) if r != rank]
    across = sum(HEADER + 8 * sum(counts[s] for s in both) for both in common if both)
    back = len(others) * (HEADER + 8 * math.ceil(size / node) * sum(counts[s] for s in owned(rank)))
    return dense + across + back


def _odd_step(compressor: GradZip, spec: BucketSpec, size: int) -> float:
    """LATE is odd: then factors of columns travel."""
    low = [shrinks(s, compressor.rank) for s in spec.shapes]
    words = [
        compressor.rank * as_matrix(s)[1] if yes else n for s, n, yes in zip(spec.shapes, spec.sizes, low, strict=True)
    ]
    return 2 * (size - 1) / size * 4 * sum(words)


def _bytes(compressor: AbstractCompressor, spec: BucketSpec) -> float:
    return compressor.payload_bits(spec) / 8


def _chunks(spec: BucketSpec, size: int, align: int) -> list[int]:
    """Whole blocks, as evenly as they go; the last block may be short."""
    blocks = math.ceil(spec.numel / align)
    edges = [min(spec.numel, align * math.floor(blocks * r / size)) for r in range(size)]
    return [b - a for a, b in zip(edges, [*edges[1:], spec.numel], strict=True)]


def check_declared_is_counted(compressor: AbstractCompressor) -> None:
    for spec, sizes in ((BUCKET, WORLDS), (one_tensor(1000), (3,))):
        if compressor.traits(spec).size is not Size.EXACT:
            continue  # see check_no_message_is_longer
        for size in sizes:
            for route in routes(compressor, spec):
                world = World(compressor, size, route, spec)
                world.exchange(world.inputs(), LATE)
                for rank, link in enumerate(world.links):
                    want = expected(compressor, spec, size, rank, route)
                    # A ring's share of each average is rounded to whole bytes; there are three at most.
                    assert abs(link.sent_bytes - want) <= 3, (
                        f"{compressor}: declared {want:g} bytes, sent {link.sent_bytes} ({route}, {size} ranks)"
                    )


def asked(compressor: AbstractCompressor, size: int, route: str, step: int) -> tuple[World, list[list[Request]]]:
    """A world after one exchange, and over its rounds what every rank asked."""
    world = World(compressor, size, route)
    programs = [
        compressor.exchange(x, state, BUCKET, Turn(seat, step))
        for x, state, seat in zip(world.inputs(step), world.states, world.seats, strict=True)
    ]
    rounds: list[list[Request]] = []
    answers: list[Any] = [None] * size
    while True:
        try:
            rounds.append([p.send(a) for p, a in zip(programs, answers, strict=True)])
        except StopIteration:
            for program in programs:
                program.close()
            return world, rounds
        answers = answer_all(rounds[-1], world.links)


def said_bytes(rounds: list[list[Request]], rank: int) -> int | None:
    """What a rank says of its bucket, headers apart: the first thing whose length was announced, or is summed."""
    for asks in rounds:
        match asks[rank]:
            case Gather(message=m, lengths=lengths) if lengths is not None:
                return m.numel() - HEADER
            case Deal(messages=ms, lengths=lengths) if lengths is not None:
                return sum(m.numel() - HEADER for m in ms)
    summed = [asks[rank].tensor.nbytes for asks in rounds if isinstance(asks[rank], Mean)]
    return summed[0] if summed else None


def check_agreed_sizes(compressor: AbstractCompressor) -> None:
    """Ranks that agree on their number of bits first: 4 bytes more, and never more than declared."""
    inner, _ = speaker(compressor, "")
    if not isinstance(inner, AbstractAgreedBits):
        return
    world = World(compressor, 2, "gather")
    for step in range(3):
        before = world.links[0].sent_bytes
        world.exchange(world.inputs(step), step)
        sent = world.links[0].sent_bytes - before
        most = 4 + HEADER + _bytes(inner, BUCKET)
        assert 0 < sent <= most, f"{compressor}: declares at most {most:g} bytes, sent {sent}"


def check_no_message_is_longer(compressor: AbstractCompressor) -> None:
    size_of = compressor.traits(BUCKET).size
    if size_of is Size.EXACT or isinstance(speaker(compressor, "")[0], AbstractAgreedBits):
        return  # see check_declared_is_counted and check_agreed_sizes
    excess: list[float] = []
    for step in range(40 if size_of is Size.EXPECTED else 3):
        for route in routes(compressor):
            world, rounds = asked(compressor, 3, route, step)
            lengths = [said_bytes(rounds, rank) for rank in range(3)]
            assert None not in lengths, f"{compressor}: says that its size varies, but announces no lengths"
            most = declared_bytes(compressor, 3, route)
            excess += [n - most for n in lengths if n is not None]
            if route == "gather" and len(rounds) == 2:
                want = 2 * (8 + HEADER + max(n for n in lengths if n is not None))
                assert world.links[0].sent_bytes == want, f"{compressor}: {world.links[0].sent_bytes} bytes, not {want}"
    if size_of is Size.MOST:
        assert max(excess) <= 0, f"{compressor}: declares at most {most:g} bytes, sent {max(excess):g} more"
    else:
        mean, sigma = statistics.fmean(excess), statistics.pstdev(excess) / math.sqrt(len(excess))
        assert mean <= 5 * sigma, f"{compressor}: declares {most:g} bytes on average, sent {mean:g} more"


def declared_bytes(compressor: AbstractCompressor, size: int, route: str) -> float:
    """What one rank may say of the bucket in one message, or in one a chunk."""
    said, way = speaker(compressor, route)
    match said:
        case AbstractOneShot() if way == "deal":
            return sum(_bytes(said, one_tensor(n)) for n in _chunks(BUCKET, size, said.align))
        case AbstractSparseAllReduce():
            return _bytes(said, BUCKET) + 2 * size  # both parts of each chunk's indices are rounded up to a byte
        case _:
            return _bytes(said, BUCKET)


@over_the_zoo
def test_sizes_that_ranks_agree_on_are_no_larger_than_declared(entry: Entry):
    check_agreed_sizes(entry.compressor)


def test_the_law_catches_more_bits_than_declared():
    with pytest.raises(AssertionError, match="declares at most"):
        check_agreed_sizes(broken.ClaimsFewBits(mu=1e-4))


@over_the_zoo
def test_no_message_is_longer_than_declared(entry: Entry):
    check_no_message_is_longer(entry.compressor)


def test_the_law_catches_a_message_longer_than_declared():
    with pytest.raises(AssertionError, match="declares at most"):
        check_no_message_is_longer(broken.ClaimsFewElements())


def test_the_law_catches_a_size_that_is_said_to_vary_and_does_not():
    with pytest.raises(AssertionError, match="announces no lengths"):
        check_no_message_is_longer(broken.ClaimsToVary())


@over_the_zoo
def test_declared_bits_are_the_bytes_on_the_wire(entry: Entry):
    check_declared_is_counted(entry.compressor)


@pytest.mark.parametrize("n", [1, 7, 8, 512, 1000, 65536])
def test_four_bit_qsgd_of_n_elements_is_half_of_n_bytes_and_the_scales(n: int):
    world = World(QSGD(bits=4), 2, "gather", one_tensor(n))
    world.exchange(world.inputs())
    assert world.links[0].sent_bytes == HEADER + math.ceil(n / 2) + 4 * math.ceil(n / 256)


@pytest.mark.parametrize("bits", range(2, 9))
def test_qsgd_needs_exactly_its_bits(bits: int):
    assert QSGD(bits).payload_bits(one_tensor(1 << 16)) == (1 << 16) * bits + 32 * (1 << 8)


def test_the_law_catches_nibbles_sent_as_bytes():
    with pytest.raises(AssertionError, match="declared"):
        check_declared_is_counted(broken.UnpackedNibbles())
