"""In which order messages leave if the most urgent goes first and only so many bytes may be under way.

    a message is launched when it is ready, the most urgent of those first, while bytes under way + its own <= credit
    (one may always be under way); what is under way is never called back; credit returns when a message has arrived

The link serves what was launched first come, first served. So an urgent message waits for at most `credit` bytes:
that is what preemption at chunk boundaries means. A credit without limit is first in, first out; the smallest is
strict priority. P3 (Jayarajan et al., MLSys 2019, arXiv:1905.03960) has tiny slices and no credit; ByteScheduler
(Peng et al., SOSP 2019) has both numbers. The order is worked out here from measured times, once, and is then the
same on every rank.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from laconic.schedule.curve import Curve


class Message(NamedTuple):
    ready_s: float
    nbytes: int
    urgency: int  # smaller goes first


def launch_order(messages: Sequence[Message], cost: Curve, credit: int) -> list[int]:
    coming = deque(sorted(range(len(messages)), key=lambda i: (messages[i].ready_s, messages[i].urgency, i)))
    waiting: list[tuple[int, int]] = []
    under_way: deque[tuple[float, int]] = deque()  # when it will have arrived, its bytes
    order: list[int] = []
    now = free = 0.0
    flying = 0
    while coming or waiting or under_way:
        while coming and messages[coming[0]].ready_s <= now:
            i = coming.popleft()
            heapq.heappush(waiting, (messages[i].urgency, i))
        while under_way and under_way[0][0] <= now:
            flying -= under_way.popleft()[1]
        while waiting and (not under_way or flying + messages[waiting[0][1]].nbytes <= credit):
            _, i = heapq.heappop(waiting)
            order.append(i)
            free = max(free, now) + cost(messages[i].nbytes)
            under_way.append((free, messages[i].nbytes))
            flying += messages[i].nbytes
        events = [under_way[0][0]] if under_way else []
        events += [messages[coming[0]].ready_s] if coming else []
        now = max(now, min(events, default=now))
    return order
