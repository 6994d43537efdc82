"""From a rate to tc's words: token buckets small enough that a single 64 KB message already sees the rate.

A bucket of b bytes lets b bytes pass at once, so a message of m bytes seems m / (m - b) times faster: 64 KB with 5
KB, 8%. A bucket too small loses tokens whenever the kernel's timer is late by more than b / rate (50 us are common,
more on a busy machine), and the link is slower than asked. Up to 250 Mbit/s one bucket of 5 KB satisfies both.
Above, a link has two: the rate with a bucket of 2 ms, which makes up for late timers, and 105% of the rate with a
bucket of 54 us, which is all that a short message sees.

The kernel is asked to hand over most of the small bucket at once, and no more (gso_max_size; at 5 KB three packets): a
larger piece would be cut into packets, and each piece has a timer of its own, which costs about 10 us of the cores
the ranks compute on. One packet a timer made a step of ResNet-18 under `ef(sign)` at 100 Mbit/s 15% longer.

The queue behind a bucket holds 100 ms at the link's rate, within 256 KB and 4 MB; TCP finds its speed without
losing much.
"""

from __future__ import annotations

from dataclasses import dataclass

from laconic.lab.rate import rate_text

ONE_BUCKET_UP_TO = 250 * 10**6
SMALL_BYTES = 5120
SMALL_S, LARGE_S = 54e-6, 2e-3
PEAK = 1.05
GSO_SHARE, GSO_MOST = 0.88, 65536
QUEUE_S, QUEUE_LEAST, QUEUE_MOST = 0.1, 256 * 1024, 4 * 1024 * 1024


@dataclass(frozen=True)
class Shape:
    """The token bucket filter of one direction of one link."""

    rate: int  # bits per second

    @property
    def small_bytes(self) -> int:
        return max(SMALL_BYTES, round(self.rate / 8 * SMALL_S))

    @property
    def queue_bytes(self) -> int:
        return min(max(round(self.rate / 8 * QUEUE_S), QUEUE_LEAST), QUEUE_MOST)

    @property
    def has_two_buckets(self) -> bool:
        return self.rate > ONE_BUCKET_UP_TO

    @property
    def gso_bytes(self) -> int:
        """The largest piece the kernel should hand to this link at once."""
        return min(round(self.small_bytes * GSO_SHARE), GSO_MOST)

    def words(self) -> str:
        """What follows `tc qdisc add dev X root`."""
        head = f"tbf rate {self.rate}bit limit {self.queue_bytes}b"
        if not self.has_two_buckets:
            return f"{head} burst {self.small_bytes}b"
        large = round(self.rate / 8 * LARGE_S)
        return f"{head} burst {large}b peakrate {round(self.rate * PEAK)}bit mtu {self.small_bytes}b"

    def __str__(self) -> str:
        return rate_text(self.rate)
