"""Law: a compressor that says `routed` goes the way that a topology is told; any other goes the same way always."""

from __future__ import annotations

from tests.laws.world import LATE, World, over_the_zoo
from tests.zoo import Entry


@over_the_zoo
def test_a_route_matters_just_where_messages_take_it(entry: Entry):
    sent = []
    for route in ("gather", "deal"):
        world = World(entry.compressor, 3, route)
        world.exchange(world.inputs(), LATE)
        sent.append([link.sent_bytes for link in world.links])
    assert (sent[0] != sent[1]) is entry.compressor.routed
