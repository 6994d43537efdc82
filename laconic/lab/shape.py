"""From a rate to tc's words: token buckets small enough that a single 64 KB message already sees the rate.

A bucket of b bytes lets b bytes pass at once, so a message of m bytes seems m / (m - b) times faster: 64 KB with 6.2
KB, 10%. A bucket too small loses tokens whenever the kernel's timer is late by more than what is left in it, and the
link is slower than asked. Up to 250 Mbit/s one bucket at 99% of the rate satisfies both. Above, a link has two: the
rate with a bucket of 2 ms, which makes up for late timers, and 102% of the rate with a small one, which is all that a
short message sees.

The kernel is asked to hand over most of the small bucket at once, and no more (gso_max_size, of which it sets some 250
bytes aside for headers; up to 250 Mbit/s three packets): a larger piece would be cut into packets, and each piece has
timers of its own, which cost some 20 us of the cores the ranks compute on. For the same reason the way down, where
senders are held to its rate already, is `loose`: a lone sender never waits there, and many share 102% of it.

The queue behind a bucket holds 100 ms at the link's rate, within 256 KB and 4 MB; TCP finds its speed without
losing much.
"""

from __future__ import annotations

from dataclasses import dataclass

from laconic.lab.rate import rate_text

ONE_BUCKET_UP_TO = 250 * 10**6
SLOW_BYTES, SLOW_GSO, SLOW_SHARE = 6200, 5900, 0.99
FAST_BYTES, FAST_S, LARGE_S = 5120, 54e-6, 2e-3
PEAK, LOOSE = 1.02, 1.02
GSO_SHARE, GSO_MOST = 0.88, 65536
QUEUE_S, QUEUE_LEAST, QUEUE_MOST = 0.1, 256 * 1024, 4 * 1024 * 1024


@dataclass(frozen=True)
class Shape:
    """The token bucket filter of one direction of one link."""

    rate: int  # bits per second

    @property
    def small_bytes(self) -> int:
        return max(FAST_BYTES, round(self.rate / 8 * FAST_S)) if self.has_two_buckets else SLOW_BYTES

    @property
    def queue_bytes(self) -> int:
        return min(max(round(self.rate / 8 * QUEUE_S), QUEUE_LEAST), QUEUE_MOST)

    @property
    def has_two_buckets(self) -> bool:
        return self.rate > ONE_BUCKET_UP_TO

    @property
    def gso_bytes(self) -> int:
        """The largest piece the kernel should hand to this link at once."""
        return min(round(self.small_bytes * GSO_SHARE), GSO_MOST) if self.has_two_buckets else SLOW_GSO

    def words(self) -> str:
        """What follows `tc qdisc add dev X root`."""
        if not self.has_two_buckets:
            return self._tbf(SLOW_SHARE, self.small_bytes)
        peak = f"peakrate {round(self.rate * PEAK)}bit mtu {self.small_bytes}b"
        return f"{self._tbf(1, round(self.rate / 8 * LARGE_S))} {peak}"

    def loose_words(self) -> str:
        """The same where no single sender is faster than the rate."""
        return self._tbf(LOOSE, 2 * max(self.small_bytes, SLOW_BYTES))

    def _tbf(self, share: float, burst_bytes: int) -> str:
        return f"tbf rate {round(self.rate * share)}bit limit {self.queue_bytes}b burst {burst_bytes}b"

    def __str__(self) -> str:
        return rate_text(self.rate)
