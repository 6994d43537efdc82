"""WHAT is said: the interface of compressors, and the traits they declare about themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.coding import AbstractCoding
from laconic.core import memory
from laconic.core.bucket import BucketSpec, one_tensor
from laconic.core.component import Component
from laconic.core.exchange import Exchanged, Route, Router, Seat, Turn
from laconic.core.payload import Part
from laconic.core.rng import Stream

NOMINAL = one_tensor(1 << 20)  # bounds that depend on the length are quoted for this one


class Grain(Enum):
    """The smallest piece that may be cut from a bucket without changing the result."""

    ELEMENT = "element"
    BLOCK = "block"
    TENSOR = "tensor"
    BUCKET = "bucket"


class Size(Enum):
    """What `payload_bits` says about messages whose size depends on data or chance."""

    EXACT = "exact"  # every message has this many bits
    MOST = "at most"  # none has more
    EXPECTED = "expected"  # on average they have no more


def vaguest(sizes: Iterable[Size]) -> Size:
    """What can be said of a sum of sizes."""
    return max(sizes, key=list(Size).index, default=Size.EXACT)


@dataclass(frozen=True)
class Traits:
    """Claims about one compressor on one bucket; the law suite measures each of them.

    unbiased   E C(v) = v
    omega      E|C(v)-v|^2 <= omega |v|^2          (stated for unbiased ones)
    delta      E|C(v)-v|^2 <= (1-delta) |v|^2      (a contraction; None: no such bound)
    linear     messages are averaged on the way (all-reduce)
    rounds     questions asked one after the other, when messages are gathered
    remembers  keeps an error memory
    leaks      forgets a share of what it remembers, on purpose
    mean       what comes back is the mean of what was sent (a majority vote is not)
    zero       zeros come back as zeros (where sgn(0) = +1 they do not)
    size       what `payload_bits` is: exact, at most, or expected; not exact costs a round that says lengths
    """

    unbiased: bool
    omega: float | None
    delta: float | None
    linear: bool
    rounds: int = 1
    grain: Grain = Grain.ELEMENT
    remembers: bool = False
    leaks: bool = False
    mean: bool = True
    zero: bool = True
    size: Size = Size.EXACT

    def to_dict(self) -> dict[str, object]:
        """Rare traits only where they differ from the usual."""
        rare = ("leaks", "mean", "zero")
        told = [f for f in fields(self) if f.name not in rare or getattr(self, f.name) != f.default]
        return {f.name: getattr(self, f.name) for f in told} | {"grain": self.grain.value, "size": self.size.value}

    @property
    def by_chance(self) -> bool:
        """Does the same input give different messages?"""
        return self.unbiased and self.omega != 0.0

    @property
    def contraction(self) -> float | None:
        """delta, also for unbiased compressors whose variance is small enough to contract."""
        if self.delta is not None:
            return self.delta
        if self.omega is not None and self.omega < 1:
            return 1 - self.omega
        return None

    @property
    def damping(self) -> float:
        """What to multiply with to get a contraction: 1, or 1/(1 + omega) where omega is large."""
        if self.contraction is not None or self.remembers:
            return 1.0
        assert self.omega is not None, "ef refuses what promises nothing"
        return 1.0 / (1.0 + self.omega)


class AbstractCompressor(Component, ABC):
    """A frozen dataclass: its fields are the hyper-parameters, its state is passed in and handed back."""

    folder: ClassVar[str] = "compress"

    @abstractmethod
    def traits(self, spec: BucketSpec) -> Traits: ...

    @property
    def spares_small(self) -> bool:
        """Should biases, norm scales and other small tensors travel dense beside it? They are few and easily hurt."""
        return False

    @property
    def parts(self) -> tuple[AbstractCompressor, ...]:
        """The compressors it is made of."""
        values = [getattr(self, f.name) for f in fields(self)]  # type: ignore[arg-type]  # concrete ones are dataclasses
        return tuple(v for v in values if isinstance(v, AbstractCompressor))

    @property
    def owns_momentum(self) -> bool:
        """Is momentum added in here? Then the optimizer must add none."""
        return any(part.owns_momentum for part in self.parts)

    @property
    def follows_lr(self) -> bool:
        """Does it need to know the learning rate (`Turn.lr`)? Then a bucket holds parameters of one group only."""
        return any(part.follows_lr for part in self.parts)

    @property
    def follows_pace(self) -> bool:
        """Does it need to know what a step computes while messages are under way (`Turn.minutes`)?"""
        return any(part.follows_pace for part in self.parts)

    @property
    def adapts(self) -> bool:
        """Does it decide while it trains how much it says? What it will say is not known before."""
        return any(part.adapts for part in self.parts)

    @property
    def routed(self) -> bool:
        """Do messages take the route that a topology is told? What is summed, or always gathered, does not."""
        return any(part.routed for part in self.parts)

    def gathers(self, router: Router, world: int) -> bool:
        """Does every rank receive the whole message of every other? Then a link carries n - 1 of them."""
        if self.routed and not self.parts:
            return router.route(sparse=False, world=world) is Route.GATHER
        return any(part.gathers(router, world) for part in self.parts)

    @property
    def lossless(self) -> AbstractCompressor | None:
        """What stands in for it where tensors travel dense; None: a plain mean. Momentum, for one, must go on."""
        return None

    @abstractmethod
    def payload_bits(self, spec: BucketSpec) -> int:
        """Bits one worker needs to say this bucket once, headers apart; exact unless `traits.size` says otherwise."""

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Any:
        """State before the first exchange. `remember`: an error memory stands around this compressor."""
        return ()

    def apart(self, state: Any) -> tuple[Tensor, Any] | None:
        """A memory that may be added to x while gradients are collected, which saves a pass, and the state with which
        `exchange` then takes the sum, given away to it. None: `exchange` adds by itself."""
        return None

    @abstractmethod
    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        """Must be called on all ranks; does not modify x (unless it was given away, `apart`) or state."""

    async def remember(
        self, x: Tensor, residual: Tensor, damping: float, state: Any, spec: BucketSpec, turn: Turn
    ) -> tuple[Exchanged, Tensor]:
        """Error feedback around `exchange`: p = residual + x is said. What came back times `damping`, and p - sent.

        Where it can be done in fewer passes over memory, a subclass does. One that `takes_sums` may be given p itself
        as x, with an empty residual, and leaves p - sent in its place.
        """
        p, left = (memory.empty(x.numel(), residual.dtype, residual.device) for _ in range(2))
        out = await self.exchange(torch.add(residual, x, out=p), state, spec, turn)
        if damping == 1.0:
            return out, torch.sub(p, out.sent, out=left)
        sent = out.sent * damping
        return Exchanged(out.mean * damping, sent, out.state), torch.sub(p, sent, out=left)

    @property
    def takes_sums(self) -> bool:
        """Does `remember` go without a residual, where x is p already?"""
        return False

    def __or__(self, then: AbstractCompressor | AbstractCoding) -> AbstractCompressor:
        from laconic.compress.chain import Chain
        from laconic.compress.coded import Coded

        return Coded(self, then) if isinstance(then, AbstractCoding) else Chain(self, then)


@dataclass(frozen=True)
class Draw:
    """The randomness of one message: `own` differs between ranks, `shared` does not."""

    own: Stream
    shared: Stream

    def child(self, salt: int) -> Draw:
        return Draw(self.own.child(salt), self.shared.child(salt))


class Entries(NamedTuple):
    """A sparse vector as it was sent: zero but for these elements."""

    at: Tensor  # int32, rising, checked
    values: Tensor  # float32
    factor: float  # of all of them

    def add_to(self, total: Tensor, weight: float) -> None:
        kernel.scatter_add(total, self.at, self.values, weight * self.factor)


class AbstractCodec(ABC):
    """A message for a float32 vector: encode, decode, and the layout both agree on."""

    @property
    def bounded(self) -> bool:
        """Is no decoded value larger than the largest number (float) in the message?"""
        return False

    @abstractmethod
    def layout(self, numel: int, aux: int) -> tuple[Part, ...]: ...

    @abstractmethod
    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        """(aux, parts); x is flat float32 and stays as it is."""

    @abstractmethod
    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        """Flat float32; `draw.own` belongs to the reader, only `draw.shared` may be used."""

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        """total += weight * decoded; sparse codecs touch only what was sent."""
        total.add_(self.decode(parts, total.numel(), aux, draw), alpha=weight)

    def entries(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Entries | None:
        """What a sparse message says, where that is all and its indices rise; None: ask `add`."""
        return None

    def put(self, out: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        """out <- weight * decoded, whatever was in it."""
        self.add(kernel.zeros(out), parts, aux, draw, weight)

    def encode_keep(
        self, x: Tensor, residual: Tensor, left: Tensor, damping: float, draw: Draw
    ) -> tuple[int, tuple[Tensor, ...]]:
        """Encodes p = residual + x; left <- p - damping * decoded. One that overrides `encode` looks here too.

        Where sums are taken (`takes_sums`), residual may be empty: x is p then, and left is x.
        """
        p = residual + x
        aux, parts = self.encode(p, draw)
        torch.sub(p, self.decode(parts, p.numel(), aux, draw), alpha=damping, out=left)
        return aux, parts


class AbstractSelector(ABC):
    """Chooses which elements are said at all."""

    travels: ClassVar[bool]  # do the indices stand in the message, or does every rank derive them?

    @property
    def varies(self) -> bool:
        """Does the number of selected elements depend on data or chance?"""
        return False

    @abstractmethod
    def count(self, numel: int) -> int:
        """How many elements are selected; where that varies, the number that `payload_bits` is about."""

    @abstractmethod
    def select(self, x: Tensor, draw: Draw) -> Tensor:
        """Sorted, distinct int64 indices, `count(x.numel())` of them unless their number varies."""

    def pick(self, x: Tensor, draw: Draw) -> tuple[Tensor, Tensor]:
        """Indices (of any integer type) as `select` has them, and the values there."""
        at = self.select(x, draw)
        return at, x[at]

    def pick_keep(self, x: Tensor, residual: Tensor, left: Tensor, draw: Draw) -> tuple[Tensor, Tensor]:
        """The same of p = residual + x; left <- p with those elements set to zero."""
        at, values = self.pick(torch.add(residual, x, out=left), draw)
        left[at.to(torch.int64)] = 0
        return at, values

    @property
    def takes_sums(self) -> bool:
        """Does `pick_keep` go without a residual, where x is p already, and left?"""
        return False

    @abstractmethod
    def scale(self, numel: int) -> float:
        """Kept values are multiplied by this."""


def clip(x: Tensor, dtype: torch.dtype) -> Tensor:
    """x as another type; what is beyond its range (or was scaled beyond x's own) is clipped, not infinite."""
    top = min(torch.finfo(dtype).max, torch.finfo(x.dtype).max)
    return x.clamp(-top, top).to(dtype)


def as_float32(x: Tensor) -> Tensor:
    """Lossy codecs work in float32."""
    return clip(x, torch.float32) if x.dtype == torch.float64 else x.to(torch.float32)


def back_to(dtype: torch.dtype, x: Tensor) -> Tensor:
    """A finite result in the bucket's own type."""
    return x if x.dtype == dtype else clip(x, dtype)


def wide(spec: BucketSpec) -> BucketSpec:
    """The bucket as a memory keeps it: at least float32, where small updates do not vanish."""
    dtype = torch.promote_types(spec.dtype, torch.float32)
    return spec if dtype == spec.dtype else replace(spec, dtype=dtype)


def kept(ratio: float, numel: int) -> int:
    """How many of numel elements a ratio keeps: at least one, never more than there are."""
    exact = ratio * numel
    nearest = round(exact)
    k = nearest if abs(exact - nearest) < 1e-6 * max(1.0, exact) else -int(-exact // 1)
    return min(numel, max(1, k)) if numel else 0
