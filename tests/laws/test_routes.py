"""Law: a compressor that says `routed` goes the way that a topology is told; any other goes the same way always.

One that `gathers` sends n - 1 messages, 3.5 times as much among 8 ranks as among 3; a sum grows by 1.3, a tree by 2.7.
"""

from __future__ import annotations

from laconic.core.bucket import BucketSpec
from laconic.topology import AllReduce
from tests.laws.world import LATE, World, over_the_zoo
from tests.zoo import Entry

LARGE = BucketSpec(0, ("matrix",), ((256, 256),))  # headers weigh little, and owners have whole blocks


@over_the_zoo
def test_a_route_matters_just_where_messages_take_it(entry: Entry):
    sent = []
    for route in ("gather", "deal"):
        world = World(entry.compressor, 3, route)
        world.exchange(world.inputs(), LATE)
        sent.append([link.sent_bytes for link in world.links])
    assert (sent[0] != sent[1]) is entry.compressor.routed


@over_the_zoo
def test_those_who_gather_send_to_everyone(entry: Entry):
    compressor, sent = entry.compressor, []
    for size in (3, 8):
        world = World(compressor, size, spec=LARGE)
        world.exchange(world.inputs(), LATE)
        sent.append(sum(link.sent_bytes for link in world.links) / size)
    gathers = not compressor.traits(LARGE).linear and compressor.gathers(AllReduce(), 8)
    said = sent[1] / sent[0] > 3.0
    assert said is gathers or (gathers and "by_shape" in str(compressor)), f"{compressor}: {sent}"  # a part gathers
