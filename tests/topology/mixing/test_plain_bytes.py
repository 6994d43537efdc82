"""A mixing says what its messages hold; links count as much."""

from __future__ import annotations

import pytest
import torch

from laconic.core.bucket import BucketSpec
from laconic.core.payload import HEADER_BYTES
from tests.topology.village import Village, village

ROUNDS = 4
SPEC = BucketSpec(0, ("weight", "bias", "conv"), ((24, 40), (20,), (30, 5, 4)))


def each(crew: Village) -> float:
    """Bytes behind the header of a message."""
    crew.rounds(ROUNDS)
    sent, messages = sum(link.sent_bytes for link in crew.links), sum(link.messages for link in crew.links)
    return sent / messages - HEADER_BYTES


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("by", ["dpsgd", "push_sum", "noloco", "powergossip(2)", "choco", "dcd", "ecd", "deepsqueeze"])
def test_a_message_holds_what_the_mixing_says(by: str, dtype: torch.dtype) -> None:
    spec = BucketSpec(0, SPEC.names, SPEC.shapes, dtype)
    crew = village(f"gossip(ring, {by})", 4, spec)
    assert crew.topology.by.plain_bytes(spec) == each(crew)
