"""The seam: an exchange asks, a driver answers.

    async def exchange(x, state, spec, turn) -> Exchanged

takes my update and returns the update I should apply. It performs no I/O: it *asks*, by awaiting one of
the requests below, and whoever drives the coroutine answers. There is no event loop; a coroutine here is
a suspended computation. The same lines therefore run in a unit test, on processes and in virtual time.

A tensor put into Mean, Sum or Max is given away: the driver may overwrite it. Messages are only read. State passed to
an exchange is NOT given away: it must come back unchanged if the step is aborted, so an exchange never writes into it.

Messages whose length depends on the data (thresholds, random counts, entropy codes) need no request of their own: one
more round says the lengths, then the messages travel with `lengths` known:

    gather_ragged(message, most)    everyone's length by Gather (8 bytes each), then Gather(message, lengths)
    deal_ragged(messages, most)     the lengths meant for me by Deal (8 bytes each), then Deal(messages, lengths)
    post_ragged(message, ...)       the lengths of my sources by Post (8 bytes each), then Post

Every driver therefore counts, compares and times them as any other round, and they may stand side by side in
Together. `most` is the longest message anyone could honestly write: a damaged or hostile length is refused before
memory is asked for. A message says itself what it holds: its `aux` word (see core/payload.py) is the number of
elements, words or bytes from which the codec's `layout(numel, aux)` derives every part.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import torch
from torch import Tensor

from laconic.core import rng
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PayloadError
from laconic.core.minutes import Decision, Minutes


@dataclass(frozen=True, eq=False)
class Mean:
    """Average this, elementwise, over everyone I talk to."""

    tensor: Tensor

    def __await__(self) -> Generator[Request, Any, Tensor]:
        answer: Tensor = yield self
        return answer


@dataclass(frozen=True, eq=False)
class Sum:
    """Add this, elementwise, over everyone I talk to: integers, and what I have divided myself.

    Who asks makes sure that a sum of integers fits its type: a backend wraps round in silence.
    """

    tensor: Tensor

    def __await__(self) -> Generator[Request, Any, Tensor]:
        answer: Tensor = yield self
        return answer


@dataclass(frozen=True, eq=False)
class Max:
    """The largest of everyone's, elementwise."""

    tensor: Tensor

    def __await__(self) -> Generator[Request, Any, Tensor]:
        answer: Tensor = yield self
        return answer


@dataclass(frozen=True, eq=False)
class Scatter:
    """Add this, elementwise, over everyone, and leave each a share of the sum: half of `Sum`, in place.

    Only my share holds sums afterwards; `Collect` of the same tensor is the other half.
    """

    tensor: Tensor

    def __await__(self) -> Generator[Request, Any, Tensor]:
        answer: Tensor = yield self
        return answer


@dataclass(frozen=True, eq=False)
class Collect:
    """Everyone's share of what was scattered, in place."""

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

    All messages to one rank have the same length, so a receiver knows it from its own; where they do not,
    `lengths` are the bytes that each rank sends to me.
    """

    messages: tuple[Tensor, ...]
    lengths: tuple[int, ...] | None = None

    def __await__(self) -> Generator[Request, Any, list[Tensor]]:
        answer: list[Tensor] = yield self
        return answer


@dataclass(frozen=True, eq=False)
class Swap:
    """Send this to these peers; give me what each of them sent me, in that order.

    Messages are as long as mine; where they are not, `lengths` are the bytes that each peer sends to me. Nothing is
    moved for an empty message.
    """

    message: Tensor
    peers: tuple[int, ...]
    lengths: tuple[int, ...] | None = None

    def __await__(self) -> Generator[Request, Any, list[Tensor]]:
        answer: list[Tensor] = yield self
        return answer


class Clerk(Protocol):
    """What a server does with one chunk: a pure function that both ends know by its text."""

    @property
    def key(self) -> tuple[int, int, int]:
        """(bucket, part, chunk): whose memory it works on."""
        ...

    @property
    def memory_size(self) -> int:
        """Elements of error memory it keeps."""
        ...

    def text(self) -> str: ...

    def reply(self, messages: list[Tensor], error: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """From everyone's messages in rank order: what all are told, and the new error memory."""
        ...


@dataclass(frozen=True, eq=False)
class Serve:
    """Message s goes to the server of chunk s, which averages everyone's and says the mean; give me their replies.

    Servers remember errors by version: they start from the memory that version `base` left (0: from nothing) and leave
    version `made`. A step that is aborted is not built on, so both are kept until the next.
    """

    messages: tuple[Tensor, ...]
    clerks: tuple[Clerk, ...]
    base: int
    made: int

    def __await__(self) -> Generator[Request, Any, list[Tensor]]:
        answer: list[Tensor] = yield self
        return answer


@dataclass(frozen=True, eq=False)
class Post:
    """Message k goes to peers[k]; give me what each of `sources` sent me, in that order.

    Where edges have a direction, those I tell and those I hear are not the same. `lengths` are the bytes that each
    source sends to me. Who is in my `sources` has me in its `peers`. Nothing is moved for an empty message.
    """

    messages: tuple[Tensor, ...]
    peers: tuple[int, ...]
    sources: tuple[int, ...]
    lengths: tuple[int, ...]

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


Request = Mean | Sum | Max | Scatter | Collect | Gather | Deal | Swap | Post | Serve | Together


async def gather_ragged(message: Tensor, most: int) -> list[Tensor]:
    """Everyone's message in rank order, of lengths (up to `most` bytes) that nobody knows beforehand; two rounds."""
    told = await Gather(_length(message))
    return await Gather(message, _lengths(told, most))


async def deal_ragged(messages: tuple[Tensor, ...], most: int) -> list[Tensor]:
    """Message r to rank r, and those addressed to me, of lengths nobody knows beforehand; two rounds."""
    told = await Deal(tuple(_length(m) for m in messages))
    return await Deal(messages, _lengths(told, most))


async def post_ragged(message: Tensor, peers: tuple[int, ...], sources: tuple[int, ...], most: int) -> list[Tensor]:
    """This to all these peers, and what the sources sent me, of lengths nobody knows beforehand; two rounds."""
    told = await Post((_length(message),) * len(peers), peers, sources, (8,) * len(sources))
    return await Post((message,) * len(peers), peers, sources, _lengths(told, most, sources))


def _length(message: Tensor) -> Tensor:
    return torch.tensor([message.numel()], dtype=torch.int64, device=message.device).view(torch.uint8)


def _lengths(told: list[Tensor], most: int, ranks: Sequence[int] | None = None) -> tuple[int, ...]:
    """`ranks`: whose they are, if not everyone's in rank order."""
    lengths = tuple(int(t.clone().view(torch.int64)) for t in told)
    for rank, length in zip(ranks or range(len(told)), lengths, strict=True):
        if not 0 <= length <= most:
            raise PayloadError(
                f"Rank {rank} announces a message of {length} bytes, but none can have more than {most}: "
                f"it was damaged on the way, or ranks are not at the same place or plan."
            )
    return lengths


class Exchanged:
    """What comes back.

    mean    the update I should apply
    sent    what my own contribution decoded to; may be given as a function, since few ask
    state   what I keep for the next step
    finite  is the mean known to hold no NaN or infinity? Then nobody needs to look
    """

    __slots__ = ("_sent", "finite", "mean", "state")

    def __init__(self, mean: Tensor, sent: Tensor | Callable[[], Tensor], state: Any, *, finite: bool = False) -> None:
        self.mean, self._sent, self.state, self.finite = mean, sent, state, finite

    @property
    def sent(self) -> Tensor:
        if not isinstance(self._sent, Tensor):
            self._sent = self._sent()
        return self._sent

    def _replace(self, **changes: Any) -> Exchanged:
        """As of a named tuple."""
        same = {"mean": self.mean, "sent": self._sent, "state": self.state, "finite": self.finite}
        return Exchanged(**(same | changes))


Exchange = Coroutine[Request, Any, Exchanged]


class Route(Enum):
    """How messages that cannot be summed on the way become a mean."""

    GATHER = "gather"  # everyone receives all messages
    DEAL = "deal"  # everyone owns a chunk: receives it from all, averages, re-encodes, sends it on
    SERVER = "server"  # servers own the chunks: everyone pushes, they average and re-encode, everyone pulls


class Router(Protocol):
    def route(self, sparse: bool, world: int) -> Route: ...

    def owners(self, world: int) -> int:
        """How many own chunks on the server route."""
        ...


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
    """One exchange of one seat: names the random streams and labels the messages.

    `lr`: what the optimizer will multiply the answer with, for the few that follow it (`follows_lr`). `minutes`: where
    decisions are noted, and what a step was measured to take; None where nobody asks (probes, tests). `parts`: turns in
    which a bucket speaks once, where parts of the model take turns.
    """

    seat: Seat
    step: int
    lr: float = 1.0
    minutes: Minutes | None = None
    parts: int = 1

    @property
    def number(self) -> int:
        """Of this exchange among its bucket's own; the first is 0. What is done every k exchanges goes by this."""
        return self.step // self.parts

    @property
    def rank(self) -> int:
        return self.seat.rank

    @property
    def world(self) -> int:
        return self.seat.world

    def decided(self, spec: BucketSpec, before: object, after: object, why: str) -> None:
        """From the next exchange on, on all ranks alike; `why` must be the same text everywhere."""
        if self.minutes is not None:
            said = (str(before), str(after), why)
            self.minutes.note(Decision(self.step + 1, spec.id, spec.part, spec.names[0], *said))

    def shared(self, spec: BucketSpec) -> rng.Stream:
        return rng.shared(self.seat.seed, self.step, spec.id, spec.part)

    def own(self, spec: BucketSpec) -> rng.Stream:
        return rng.own(self.seat.seed, self.step, spec.id, self.seat.rank, spec.part)
