"""One group of workers on one server, without sockets."""

from __future__ import annotations

import pytest
import torch

from laconic.components import component
from laconic.compress.served import ServerClerk
from laconic.drive.asks import Ask, order_part, versions
from laconic.net.frames import Tag
from laconic.net.peer import Letter
from laconic.server.room import Room


class Post:
    """Keeps what a room sends."""

    def __init__(self, world: int) -> None:
        self.sent: list = []
        self.room = Room(world, lambda *args: self.sent.append(args))
        self.room.here |= set(range(world))

    def take(self, rank: int, kind: int, payload=None, tag=Tag(), word=0) -> None:  # noqa: B008
        payload = torch.empty(0, dtype=torch.uint8) if payload is None else payload
        self.room.take(rank, Letter(f"worker/{rank}", kind, tag, word, payload))

    def troubles(self) -> list[str]:
        return [bytes(p.numpy()).decode() for _, kind, p, _, _ in self.sent if kind == Ask.TROUBLE]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_sums_do_not_depend_on_who_comes_first(order):
    values = [torch.tensor([1e8, 1.0]), torch.tensor([-1e8, 1.0]), torch.tensor([1.0, 1.0])]
    post = Post(3)
    for rank in order:
        post.take(rank, Ask.SUM, values[rank].clone())
    assert sorted(rank for rank, *_ in post.sent) == [0, 1, 2]
    for _, kind, total, _, _ in post.sent:
        assert kind == Ask.ANSWER
        assert torch.equal(total, torch.tensor([1.0, 3.0]))


def test_nothing_is_answered_before_everybody_has_come():
    post = Post(2)
    post.take(0, Ask.SUM, torch.ones(2))
    post.take(0, Ask.SUM, torch.ones(2), Tag(bucket=1))
    assert post.sent == []


def _hostile() -> list[tuple[int, torch.Tensor | None, Tag, int]]:
    text = torch.frombuffer(bytearray(b'{"codec": "qsgd(bits=4)"}'), dtype=torch.uint8)
    nested = torch.frombuffer(bytearray(b"[" * 5000), dtype=torch.uint8)
    return [
        (Ask.SUM, torch.ones(3), Tag(), 7),
        (Ask.PARCEL, None, Tag(), 2**63),
        (Ask.ORDER, None, Tag(), 0),
        (Ask.ORDER, text, Tag(), 0),
        (Ask.ORDER, nested, Tag(), 0),
        (Ask.SERVE, None, Tag(part=5), 0),
        (Ask.PUSH, torch.ones(1), Tag(), 0),
        (Ask.PUSH, torch.ones(1), Tag(), 2**40),
        (Ask.PULL, None, Tag(), 0),
        (Ask.RULE, text, Tag(), 0),
        (Ask.TROUBLE, None, Tag(), 0),
        (99, None, Tag(), 0),
    ]


@pytest.mark.parametrize(("kind", "payload", "tag", "word"), _hostile())
def test_what_makes_no_sense_is_told_and_not_applied(kind, payload, tag, word):
    post = Post(2)
    post.take(0, kind, payload, tag, word)
    assert len(post.troubles()) == 2
    assert all(kind == Ask.TROUBLE for _, kind, *_ in post.sent)


def _order(post: Post, rank: int, codec: str, *, bucket: int = 0, number: int = 0) -> ServerClerk:
    clerk = ServerClerk(component(codec), 64, 0, 1, 2, bucket, 0, 0, False, False, 1.0)
    post.take(rank, Ask.ORDER, torch.frombuffer(bytearray(clerk.text().encode()), dtype=torch.uint8), word=number)
    return clerk


def test_damaged_packed_messages_are_told_and_not_applied():
    post = Post(2)
    for rank in (0, 1):
        _order(post, rank, "qsgd(bits=4)")
        post.take(rank, Ask.SERVE, torch.zeros(50, dtype=torch.uint8), Tag(part=order_part(0, 0)), versions(0, 1))
    assert "not one of ours" in post.troubles()[0]


def test_ranks_may_number_their_orders_differently():
    """As they do when exchanges of two rounds come to their second in another order on every rank."""
    post = Post(2)
    for rank, buckets in ((0, (0, 1)), (1, (1, 0))):
        for number, bucket in enumerate(buckets):
            clerk = _order(post, rank, "qsgd(bits=4)", bucket=bucket, number=number)
            tag = Tag(bucket=bucket, part=order_part(number, 0))
            post.take(rank, Ask.SERVE, clerk._desk(0).write(torch.ones(64), 0, None), tag, versions(0, 1))
    assert post.troubles() == []
    assert sorted((rank, tag) for rank, _, _, tag, _ in post.sent) == [
        (rank, Tag(bucket=bucket)) for rank in (0, 1) for bucket in (0, 1)
    ]


def test_ranks_with_different_codecs_are_told():
    post = Post(2)
    for rank, codec in ((0, "qsgd(bits=4)"), (1, "qsgd(bits=8)")):
        _order(post, rank, codec)
        post.take(rank, Ask.SERVE, torch.zeros(50, dtype=torch.uint8), Tag(part=order_part(0, 0)), versions(0, 1))
    assert "different codecs" in post.troubles()[0]


def test_only_one_shot_codecs_can_be_ordered():
    post = Post(2)
    words = torch.frombuffer(bytearray(b'{"codec": "powersgd(4)"}'), dtype=torch.uint8)
    post.take(0, Ask.ORDER, words)
    assert "writes no packed messages" in post.troubles()[0]


def test_who_waits_for_one_that_left_is_told_and_nobody_else():
    post = Post(2)
    post.room.leave(1, "done", died=False)
    assert [(rank, kind, word) for rank, kind, _, _, word in post.sent] == [(0, Ask.LEFT, 1)]
    post.take(0, Ask.SUM, torch.ones(2))
    assert "Rank 1 has left already (done)" in post.troubles()[0]
