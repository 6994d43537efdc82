"""What a lab should be: how many hosts, how fast each link in each direction, who is slow, what the path does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from laconic.core.errors import UsageError
from laconic.lab.rate import rate_text

MOST_HOSTS = 200


@dataclass(frozen=True)
class LabSpec:
    """Rates are bits per second, None: not shaped. Hosts count from 0. Delay and loss meet a packet once."""

    hosts: int
    rate: int | None = None
    up: Mapping[int, int] = field(default_factory=dict)  # from that host to the switch, where not `rate`
    down: Mapping[int, int] = field(default_factory=dict)  # from the switch to that host
    slow: Mapping[int, float] = field(default_factory=dict)  # the share of time a host's processes may run
    delay_s: float = 0.0
    jitter_s: float = 0.0
    loss: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.hosts <= MOST_HOSTS:
            raise UsageError(f"A lab of {self.hosts} hosts: it must have 1 to {MOST_HOSTS}.")
        for option, values in (("--up", self.up), ("--down", self.down), ("--slow", self.slow)):
            for host in values:
                if not 0 <= host < self.hosts:
                    raise UsageError(f"{option} names host {host}, but the hosts are 0 to {self.hosts - 1}.")
        for host, share in self.slow.items():
            if not 0 < share <= 1:
                raise UsageError(f"--slow {host}={share:g}: a share of time is above 0 and at most 1.")
        if self.jitter_s > self.delay_s:
            raise UsageError("--jitter must not be above --delay: a packet cannot arrive before it was sent.")

    def up_of(self, host: int) -> int | None:
        return self.up.get(host, self.rate)

    def down_of(self, host: int) -> int | None:
        return self.down.get(host, self.rate)

    def share_of(self, host: int) -> float:
        return self.slow.get(host, 1.0)

    def path_rate(self, source: int, target: int) -> int | None:
        """The slower of the two links between them."""
        return min((rate for rate in (self.up_of(source), self.down_of(target)) if rate is not None), default=None)

    def senders_are_held_to(self, rate: int, target: int) -> bool:
        """Can no other host, on its own, send to `target` faster than `rate`?"""
        ups = [self.up_of(host) for host in range(self.hosts) if host != target]
        return all(up is not None and up <= rate for up in ups)

    @property
    def needs_netem(self) -> bool:
        return bool(self.delay_s or self.jitter_s or self.loss)

    def __str__(self) -> str:
        parts = [f"{self.hosts} hosts", "not shaped" if self.rate is None else rate_text(self.rate)]
        parts += [f"host {host} up {rate_text(rate)}" for host, rate in self.up.items()]
        parts += [f"host {host} down {rate_text(rate)}" for host, rate in self.down.items()]
        parts += [f"host {host} runs {share:.0%} of the time" for host, share in self.slow.items()]
        if self.delay_s:
            parts.append(f"delay {self.delay_s * 1e3:g} ms +- {self.jitter_s * 1e3:g} ms")
        if self.loss:
            parts.append(f"loss {self.loss:.3%}")
        return ", ".join(parts)
