"""Every hop program: laws, sums, hops and bytes; the trees' shape."""

from __future__ import annotations

import math

import pytest
import torch

from laconic.core.errors import PlanError
from laconic.drive.lockstep_hops import all_reduce_in_step
from laconic.net.link import Link
from laconic.topology.cost import cost, legs
from laconic.topology.programs import (
    ANY,
    HALVES,
    NAMES,
    Program,
    Shape,
    all_gather,
    build,
    factors,
    fault,
    owned,
    reduce_scatter,
    tally,
)
from laconic.topology.programs.trees import children, height, second_tree

WORLDS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16)
SIZES = (0, 1, 4, 5, 8, 1000)


def everyone(name: str, world: int, numel: int, shape: Shape = ANY) -> list[Program]:
    return [build(name, rank, world, numel, shape) for rank in range(world)]


def numbers(world: int, numel: int) -> list[torch.Tensor]:
    return [torch.arange(numel) * (rank + 1) + rank for rank in range(world)]


over_all = pytest.mark.parametrize("name", NAMES)


@over_all
def test_what_is_sent_is_what_is_expected_and_nothing_is_used_twice(name: str):
    for world in WORLDS:
        for numel in SIZES:
            assert fault(everyone(name, world, numel)) is None, (world, numel)


@over_all
def test_everybody_ends_with_the_sum_of_all(name: str):
    for world in WORLDS:
        for numel in SIZES:
            tensors = numbers(world, numel)
            total = sum(tensors)
            all_reduce_in_step(everyone(name, world, numel), tensors, torch.add, [Link() for _ in tensors])
            assert all(torch.equal(t, total) for t in tensors), (world, numel)


SHAPES = [
    ("hierarchical", 6, Shape(groups=2)),
    ("hierarchical", 6, Shape(groups=3)),
    ("hierarchical", 8, Shape(groups=8)),
    ("hierarchical", 5, Shape(groups=1)),
    ("masters", 5, Shape(groups=2)),
    ("masters", 8, Shape(groups=3)),
    ("masters", 7, Shape(groups=7)),
    ("masters", 3, Shape(groups=1)),
    ("torus", 8, Shape(rows=4)),
    ("torus", 12, Shape(rows=2)),
    ("mesh", 12, Shape(rows=2)),
    ("mesh", 6, Shape(rows=6)),
    ("blueconnect", 8, Shape(factors=(2, 2, 2))),
    ("blueconnect", 12, Shape(factors=(3, 1, 4))),
    ("double_tree", 6, Shape(pieces=1)),
    ("double_tree", 8, Shape(pieces=5)),
    ("double_tree", 5, Shape(pieces=12)),
]


@pytest.mark.parametrize(("name", "world", "shape"), SHAPES)
def test_any_shape_gives_the_sum_at_the_formulas_cost(name: str, world: int, shape: Shape):
    numel = 5040  # divisible by all there is
    programs, tensors = everyone(name, world, numel, shape), numbers(world, numel)
    total = sum(tensors)
    assert fault(programs) is None
    all_reduce_in_step(programs, tensors, torch.add, [Link() for _ in tensors])
    assert all(torch.equal(t, total) for t in tensors)
    check_cost(name, world, numel, shape)


@over_all
def test_hops_and_bytes_are_those_of_the_formulas(name: str):
    for world in WORLDS:
        check_cost(name, world, 1680 * 64, Shape())


def check_cost(name: str, world: int, numel: int, shape: Shape) -> None:
    counted, said = tally(everyone(name, world, numel, shape)), cost(name, world, 4 * numel, shape)
    assert counted.hops == said.hops, (name, world)
    if name == "double_tree":
        assert 4 * counted.critical <= said.nbytes * (1 + 1e-9)  # a bound: the pipeline is not always full
        assert 4 * counted.critical >= 0.75 * said.nbytes or world == 3
        assert counted.busiest <= 2 * numel
    elif name == "masters" and world % (shape.groups or factors("torus", world)[1]):
        # Small groups run their ring in larger chunks, beside the large groups' and without waiting for them.
        assert said.nbytes <= 4 * counted.critical <= 1.2 * said.nbytes
    else:
        assert 4 * counted.critical == pytest.approx(said.nbytes), (name, world)
    added = [sum(x.stop - x.start for r in p for x in r.receives if x.add) for p in everyone(name, world, numel, shape)]
    assert 4 * max(added) <= said.added * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("numel", [1, 7, 1000, 1001])
def test_odd_sizes_cost_an_element_a_hop_more_at_most(numel: int):
    for name in set(NAMES) - {"double_tree"}:
        for world in WORLDS:
            counted, said = tally(everyone(name, world, numel)), cost(name, world, numel)
            assert counted.critical <= said.nbytes + 2 * said.hops * (world if name == "sra" else 1), (name, world)


def test_programs_that_scatter_move_every_element_as_often_as_the_ring_does_in_all():
    for name in HALVES:
        for world in (2, 4, 8):
            for numel in (1, 9, 1000):
                assert tally(everyone(name, world, numel)).sent == 2 * (world - 1) * numel, (name, world)


def test_trees_send_everything_over_every_edge_twice():
    for name in ("tree", "double_tree"):
        for world in WORLDS:
            assert tally(everyone(name, world, 1000)).sent == 2 * (world - 1) * 1000


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("world", [1, 2, 4, 6, 8])
def test_halves_stand_alone(name: str, world: int):
    if name == "halving_doubling" and world == 6:
        with pytest.raises(PlanError, match="power of two"):
            reduce_scatter(name, 0, world, 10)
        return
    numel, links = 1003, [Link() for _ in range(world)]
    tensors = numbers(world, numel)
    total = sum(tensors)
    all_reduce_in_step([reduce_scatter(name, r, world, numel) for r in range(world)], tensors, torch.add, links)
    held = [owned(name, r, world, numel) for r in range(world)]
    for t, spans in zip(tensors, held, strict=True):
        for start, stop in spans:
            assert torch.equal(t[start:stop], total[start:stop])
    covered = sorted(i for spans in held for start, stop in spans for i in range(start, stop))
    assert covered == list(range(numel))
    assert sum(link.sent_bytes for link in links) == (world - 1) * numel * 8
    for t, spans in zip(tensors, held, strict=True):  # nothing else is needed for the second half
        kept = t.clone()
        t.fill_(-1)
        for start, stop in spans:
            t[start:stop] = kept[start:stop]
    all_reduce_in_step([all_gather(name, r, world, numel) for r in range(world)], tensors, torch.add, links)
    assert all(torch.equal(t, total) for t in tensors)


def test_trees_and_doubling_have_no_halves():
    with pytest.raises(PlanError, match="Take one of ring"):
        reduce_scatter("tree", 0, 4, 10)


def test_in_the_two_trees_nobody_has_children_twice_but_rank_0_of_an_odd_world():
    for world in range(2, 40):
        there, _ = second_tree(world)
        inner = {r for r in range(world) if children(r, world)}
        also = {r for r in range(world) if children(there(r), world)}
        assert all(len(children(r, world)) <= 2 for r in range(world))
        assert inner & also <= ({0} if world % 2 else set()), world


def test_a_ring_of_three_by_hand():
    first, second, third, fourth = build("ring", 0, 3, 6)
    assert first == (((1, 4, 6),), ((2, 2, 4, True),))  # my chunk 2 goes on, chunk 1 of rank 2 comes
    assert second == (((1, 2, 4),), ((2, 0, 2, True),))  # now chunk 0 is complete here
    assert third == (((1, 0, 2),), ((2, 4, 6, False),))
    assert fourth == (((1, 4, 6),), ((2, 2, 4, False),))


def test_legs_of_a_grid_add_up_to_its_cost():
    for name, world, shape in SHAPES:
        if name in ("hierarchical", "torus", "mesh", "blueconnect"):
            total = cost(name, world, 1000.0, shape)
            parts = legs(name, world, 1000.0, shape)
            assert sum(leg.hops for leg in parts) == total.hops
            assert sum(leg.nbytes for leg in parts) == pytest.approx(total.nbytes)
    inside, across = legs("hierarchical", 1024, 1.0, Shape(groups=64))
    assert (inside.hops, across.hops) == (30, 126)
    assert across.nbytes == pytest.approx(2 * 63 / 64 / 16)
    with pytest.raises(PlanError, match="not a grid"):
        legs("tree", 8, 1.0)


def test_small_tensors_want_few_hops_and_large_ones_few_bytes():
    def best(nbytes: float) -> str:
        names = ("ring", "recursive_doubling", "halving_doubling", "tree")
        return min(names, key=lambda name: cost(name, 16, nbytes).seconds(1e-4, 1e-8))

    assert best(100) == "recursive_doubling"
    assert best(1e8) == "halving_doubling"


@pytest.mark.parametrize(
    ("name", "world", "shape", "says"),
    [
        ("hierarchical", 5, Shape(groups=2), "5 ranks cannot form 2 equal groups"),
        ("masters", 2, Shape(groups=3), "2 ranks cannot form 3 groups"),
        ("torus", 6, Shape(rows=4), "6 ranks cannot stand in 4 equal rows"),
        ("blueconnect", 8, Shape(factors=(2, 3)), "2 x 3 is 6, but there are 8 ranks"),
        ("spiral", 4, Shape(), "'spiral' is no all-reduce program"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(name: str, world: int, shape: Shape, says: str):
    with pytest.raises(PlanError, match=says):
        build(name, 0, world, 10, shape)


def test_heights_are_rounded_up_logarithms():
    assert all(height(n) == math.ceil(math.log2(n)) for n in range(1, 100))
