from __future__ import annotations

import torch

from laconic.compress import ByShape, ErrorFeedback, Fp16, Identity, Majority, PowerSGD, Sign, TopK
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Together
from laconic.core.rng import shared
from tests.laws.test_promises import asked
from tests.laws.world import World

SPEC = BucketSpec(4, ("a", "w", "b", "v"), ((2,), (2, 3), (), (1, 2)))


def test_matrices_go_one_way_and_the_rest_another():
    x = torch.tensor([5.0, 6.0, 1, -2, 3, -4, 5, -6, 7.0, 0.5, 8.0])
    (out,) = World(ByShape(TopK(0.125), rest=Identity()), 1, "gather", SPEC).exchange([x])
    assert out.mean.tolist() == [5, 6, 0, 0, 0, 0, 0, 0, 7, 0, 8]


def test_both_are_asked_for_in_the_same_round():
    questions = asked(ByShape(PowerSGD(1), rest=Sign()), BucketSpec(0, ("w", "b"), ((16, 16), (5,))))
    assert len(questions) == 2  # powersgd's two; sign rides along in the first
    assert all(isinstance(q, Together) for q in questions)
    assert [len(q.requests) for q in questions if isinstance(q, Together)] == [2, 1]


def test_a_bucket_without_matrices_asks_nothing_about_them():
    vector = BucketSpec(0, ("b",), ((5,),))
    (question,) = asked(ByShape(TopK(0.1), rest=Fp16()), vector)
    assert isinstance(question, Together)
    assert len(question.requests) == 1
    matrix = BucketSpec(0, ("w",), ((5, 5),))
    world = World(ByShape(TopK(0.1), rest=Sign()), 2, "gather", matrix)
    world.exchange(world.inputs())
    assert world.links[0].sent_bytes == 24 + 3 * 4 + 2


def test_parts_and_parts_of_parts_have_random_streams_of_their_own():
    def parts(spec: BucketSpec) -> list[BucketSpec]:
        return [piece.spec for piece in ByShape(Sign()).pieces(spec)]

    first = parts(SPEC)
    every = [SPEC, *first, *parts(first[0]), *parts(first[1])]
    assert len({shared(0, 0, s.id, s.part).key for s in every}) == len(every)


def test_bits_add_up():
    plan = ByShape(TopK(0.5), rest=Fp16())
    assert plan.payload_bits(SPEC) == 4 * 32 + 8 + 3 * 16


def test_a_promise_holds_only_if_both_keep_it():
    traits = ByShape(TopK(0.5), rest=Identity()).traits(SPEC)
    assert traits.delta == 0.5
    assert not traits.unbiased
    assert not traits.linear
    assert ByShape(ErrorFeedback(Sign())).traits(SPEC).remembers


def test_a_memory_around_it_covers_both():
    world = World(ErrorFeedback(ByShape(TopK(0.125), rest=TopK(0.3))), 1, "gather", SPEC)
    x = torch.arange(1.0, 12.0)
    world.exchange([x])
    kept = x.clone()
    kept[[8, 10]] = 0  # the largest of a, b is 9 (at 8); the largest of w, v is 11
    assert torch.equal(world.states[0].residual, kept)


def test_what_one_half_waives_the_whole_waives():
    traits = ByShape(Majority()).traits(SPEC)
    assert not traits.mean
    assert not traits.zero
