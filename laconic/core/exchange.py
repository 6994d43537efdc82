"""The seam: an exchange asks, a driver answers.

    async def exchange(x, state, spec, turn) -> Exchanged

takes my update and returns the update I should apply. It performs no I/O: it *asks*, by awaiting one of
the requests below, and whoever drives the coroutine answers. There is no event loop; a coroutine here is
a suspended computation. The same lines therefore run in a unit test, on processes and in virtual time.

A tensor put into Mean or Sum is given away: the driver may overwrite it. Messages are only read. State passed to an
exchange is NOT given away: it must come back unchanged if the step is aborted, so an exchange never writes into it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import torch
from torch import Tensor

from laconic.core import rng
from laconic.core.bucket import BucketSpec


@dataclass(frozen=True, eq=False)
class Mean:
    """Average this, elementwise, over everyone I talk to."""

    tensor: Tensor

    def __await__(self) -> Generator[Request, Any, Tensor]:
        answer: Tensor = yield self
        return answer


@dataclass(frozen=True, eq=False)
class Sum:
    """Add this, elementwise, over everyone I talk to: integers, and what I have divided myself."""

    tensor: Tensor

    def __await__(self) -> Generator[Request, Any, Tensor]:
        answer: Tensor = yield self
        return answer


@dataclass(frozen=True, eq=False)
class Gather:
    """Give me everyone's message, mine included, in rank order.

    `lengths`: bytes of each rank's message, where they differ; all ranks must know them.
    """

    message: Tensor
    lengths: tuple[int, ...] | None = None

    def __await__(self) -> Generator[Request, Any, list[Tensor]]:
        answer: list[Tensor] = yield self
        return answer


@dataclass(frozen=True, eq=False)
class Deal:
    """Message r goes to rank r; give me those addressed to me, in rank order.

    All messages to one rank have the same length, so a receiver knows it from its own.
    """

    messages: tuple[Tensor, ...]

    def __await__(self) -> Generator[Request, Any, list[Tensor]]:
        answer: list[Tensor] = yield self
        return answer


@dataclass(frozen=True, eq=False)
class Swap:
    """Send this to these peers; give me what each of them sent me (same length), in that order."""

    message: Tensor
    peers: tuple[int, ...]

    def __await__(self) -> Generator[Request, Any, list[Tensor]]:
        answer: list[Tensor] = yield self
        return answer


@dataclass(frozen=True, eq=False)
class Together:
    """Several requests at once, answered together: two algorithms share one round."""

    requests: tuple[Request, ...]

    def __await__(self) -> Generator[Request, Any, tuple[Any, ...]]:
        answer: tuple[Any, ...] = yield self
        return answer


Request = Mean | Sum | Gather | Deal | Swap | Together


class Exchanged:
    """What comes back.

    mean    the update I should apply
    sent    what my own contribution decoded to; may be given as a function, since few ask
    state   what I keep for the next step
    """

    __slots__ = ("_sent", "mean", "state")

    def __init__(self, mean: Tensor, sent: Tensor | Callable[[], Tensor], state: Any) -> None:
        self.mean, self._sent, self.state = mean, sent, state

    @property
    def sent(self) -> Tensor:
        if not isinstance(self._sent, Tensor):
            self._sent = self._sent()
        return self._sent

    def _replace(self, **changes: Any) -> Exchanged:
        """As of a named tuple."""
        return Exchanged(**({"mean": self.mean, "sent": self._sent, "state": self.state} | changes))


Exchange = Coroutine[Request, Any, Exchanged]


class Route(Enum):
    """How messages that cannot be summed on the way become a mean."""

    GATHER = "gather"  # everyone receives all messages
    DEAL = "deal"  # everyone owns a chunk: receives it from all, averages, re-encodes, sends it on


class Router(Protocol):
    def route(self, sparse: bool, world: int) -> Route: ...


@dataclass(frozen=True)
class Seat:
    """Who I am among those I talk to; fixed for the run."""

    rank: int
    world: int
    router: Router
    seed: int = 0
    device: torch.device = torch.device("cpu")  # noqa: RUF009  (immutable)
    checksum: bool = False


@dataclass(frozen=True)
class Turn:
    """One exchange of one seat: names the random streams and labels the messages."""

    seat: Seat
    step: int

    @property
    def rank(self) -> int:
        return self.seat.rank

    @property
    def world(self) -> int:
        return self.seat.world

    def shared(self, spec: BucketSpec) -> rng.Stream:
        return rng.shared(self.seat.seed, self.step, spec.id, spec.part)

    def own(self, spec: BucketSpec) -> rng.Stream:
        return rng.own(self.seat.seed, self.step, spec.id, self.seat.rank, spec.part)
