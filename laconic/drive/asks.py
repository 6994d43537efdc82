"""What workers and servers say to each other: the kinds of their frames, and what `word` means in each."""

from __future__ import annotations

from enum import IntEnum

from laconic.net.frames import FIRST_OWN


class Ask(IntEnum):
    """From a worker, unless said otherwise."""

    SUM = FIRST_OWN  # add this to everyone's; word: 0 sum, 1 maximum
    GATHER = FIRST_OWN + 1  # to all other workers; arrives with the sender's rank as word
    PARCEL = FIRST_OWN + 2  # to worker `word`; arrives with the sender's rank as word
    ORDER = FIRST_OWN + 3  # text of a clerk, to be known by number `word`
    SERVE = FIRST_OWN + 4  # a packed message; word: version to build on and version to make, see `versions`
    ANSWER = FIRST_OWN + 5  # from a server: the result, with the tag of what was asked
    TROUBLE = FIRST_OWN + 6  # from a server: a sentence; nobody needs to wait any longer
    RULE = FIRST_OWN + 7  # text: how updates of key `tag.bucket` are applied
    START = FIRST_OWN + 8  # the first value of a key
    PUSH = FIRST_OWN + 9  # an update of a key; answered with its new version
    PULL = (
        FIRST_OWN + 10
    )  # a range of a key; word: my pushes and the version it must have, everyone's pushes `tag.part`
    RECALL = FIRST_OWN + 11  # one of the versions of a chunk's memory: `tag.round` 0 or 1; answered with its number
    REMIND = FIRST_OWN + 12  # ... and back: version `word`
    REST = FIRST_OWN + 13  # nobody shall wait for this worker (word 1), or again (0)
    LEFT = FIRST_OWN + 14  # from a server: worker `word` took leave, and all it sent by way of me has been handed on


def versions(base: int, made: int) -> int:
    return base << 32 | made


def split_versions(word: int) -> tuple[int, int]:
    return word >> 32, word & 0xFFFFFFFF


def order_part(number: int, chunk: int) -> int:
    """The part of a tag with which a worker pushes: its own number of the order, and the chunk.

    Workers number orders as they come to them, and exchanges of several rounds come to them in any order. So the number
    means something only together with the worker: messages are paired, and answered, by chunk alone.
    """
    assert 0 <= chunk < 1 << 12, f"chunk {chunk}"
    assert 0 <= number < 1 << 20, f"order {number}"
    return number << 12 | chunk


def order_of(part: int) -> int:
    return part >> 12


def chunk_of(part: int) -> int:
    return part & 0xFFF
