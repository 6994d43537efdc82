"""One deliberate mistake each: compressors that a law must catch, or the law is worth nothing.

Most of these mistakes were found in published code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from laconic.compress import QSGD, AsyLPG, ErrorFeedback, Identity, RandomK, Sign, Threshold, TopK, Traits, indices
from laconic.compress.base import Draw, Grain, Size
from laconic.compress.error_feedback import Memory
from laconic.compress.one_shot import Owned, chunks
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged, Mean, Route, Turn
from laconic.core.payload import Part
from laconic.kernels import reference as kernel
from laconic.kernels.choose import plain


@dataclass(frozen=True)
class SumNotMean(TopK):
    """Forgets to divide by the number of ranks."""

    ratio: float = 0.1

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        out = await super().exchange(x, state, spec, turn)
        return out._replace(mean=out.mean * turn.world)


@dataclass(frozen=True)
class SaysItSentAll(TopK):
    """Reports its input as sent, so an error memory around it stays empty."""

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        return (await super().exchange(x, state, spec, turn))._replace(sent=x)


@dataclass(frozen=True)
class ReportsTheMean(Identity):
    """Reads a tensor that it has given away: by then it holds the mean."""

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        given = x.clone()
        return Exchanged(await Mean(given), given, state)


@dataclass(frozen=True)
class OwnerKeepsExact(QSGD):
    """The owner of a chunk applies what it knows instead of what it told the others."""

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        out = await super().exchange(x, state, spec, turn)
        if turn.seat.router.route(self.sparse, turn.world) is Route.DEAL:
            start, stop = chunks(spec.numel, turn.world, self.align)[turn.rank]
            out.mean[start:stop] = out.sent[start:stop]
        return out


@dataclass(frozen=True)
class OwnRandomK(RandomK):
    """Chooses elements with a rank's own stream but sends no indices."""

    ratio: float = 0.1

    def select(self, x: Tensor, draw: Draw) -> Tensor:
        return draw.own.choice(x.numel(), self.count(x.numel()))


@dataclass(frozen=True)
class LosesOne(TopK):
    """An off-by-one: the last element kept is not written."""

    ratio: float = 0.1

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        aux, (values, at) = super().encode(x, draw)
        values[-1:] = 0
        return aux, (values, at)


@dataclass(frozen=True)
class FloatIndices(TopK):
    """Puts indices next to the values, as float32."""

    ratio: float = 1e-7

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        aux, (values, stream) = super().encode(x, draw)
        at = indices.read(stream, aux, x.numel())
        return aux, (values, indices.write(at.to(torch.float32).to(torch.int32), x.numel()))


class _NoNoise:
    def halves(self, n: int, device: object = "cpu") -> Tensor:
        return torch.full((n,), 65536 // 4)

    def child(self, salt: int) -> _NoNoise:
        return self


@dataclass(frozen=True)
class BiasedRounding(QSGD):
    """Rounds to a neighbour without chance, and still says it is unbiased."""

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        with plain():
            return super().encode(x, replace(draw, own=_NoNoise()))  # type: ignore[arg-type]


@dataclass(frozen=True)
class BiasedSecondRounding(QSGD):
    """Only what an owner writes again is biased: the first message is fine."""

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        out = await super().exchange(x, state, spec, turn)
        return out._replace(mean=out.mean * 0.9) if turn.world > 1 else out


@dataclass(frozen=True)
class SameNoise(QSGD):
    """All ranks round with the same random numbers: averaging does not help."""

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        return super().encode(x, replace(draw, own=draw.shared))


@dataclass(frozen=True)
class ClaimsLittleVariance(QSGD):
    """Claims a tenth of its variance."""

    def traits(self, spec: BucketSpec) -> Traits:
        honest = super().traits(spec)
        return replace(honest, omega=(honest.omega or 0.0) / 10)


@dataclass(frozen=True)
class ClaimsMuchContraction(TopK):
    """Claims to keep nine tenths of the norm."""

    ratio: float = 0.1

    def traits(self, spec: BucketSpec) -> Traits:
        return replace(super().traits(spec), delta=0.9)


@dataclass(frozen=True)
class Forgets(ErrorFeedback):
    """An error memory that is emptied after every step."""

    async def exchange(self, x: Tensor, state: Memory, spec: BucketSpec, turn: Turn) -> Exchanged:
        out = await super().exchange(x, state, spec, turn)
        return out._replace(state=Memory(torch.zeros_like(x), out.state.inner))


@dataclass(frozen=True)
class OwnerForgets(QSGD):
    """Keeps no second error where one was asked for."""

    async def exchange(self, x: Tensor, state: Owned, spec: BucketSpec, turn: Turn) -> Exchanged:
        out = await super().exchange(x, state, spec, turn)
        return out._replace(state=Owned(torch.zeros_like(state.error), state.damping))


@dataclass(frozen=True)
class Explodes(ErrorFeedback):
    """Puts a memory around something that is no contraction, undamped."""

    def damping(self, spec: BucketSpec) -> float:
        return 1.0


@dataclass(frozen=True)
class NanOnZeros(Sign):
    """Divides by the scale of a block without asking whether there is one."""

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        scale = kernel.blocks(x, self.block).abs().amax(dim=1) if x.numel() else x
        aux, (mean, bits) = super().encode(x, draw)
        return aux, (mean / scale * scale, bits)


@dataclass(frozen=True)
class SquaresHuge(QSGD):
    """An l2 norm whose squares overflow."""

    norm: str = "l2"

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        aux, (_, codes) = super().encode(x, draw)
        return aux, (kernel.blocks(x, self.block).pow(2).sum(1).sqrt(), codes)


@dataclass(frozen=True)
class SeedsTorch(RandomK):
    """Gets shared randomness by seeding the user's generator."""

    def select(self, x: Tensor, draw: Draw) -> Tensor:
        torch.manual_seed(0)
        return torch.randperm(x.numel())[: self.count(x.numel())].sort().values


@dataclass(frozen=True)
class WritesInput(ErrorFeedback):
    """Adds the residual to the gradient in place."""

    async def exchange(self, x: Tensor, state: Memory, spec: BucketSpec, turn: Turn) -> Exchanged:
        x += state.residual + 1
        return await super().exchange(x, state, spec, turn)


@dataclass(frozen=True)
class WritesState(ErrorFeedback):
    """Updates its memory in place, so an aborted step cannot be undone."""

    async def exchange(self, x: Tensor, state: Memory, spec: BucketSpec, turn: Turn) -> Exchanged:
        out = await super().exchange(x, state, spec, turn)
        state.residual.copy_(out.state.residual)
        return out


@dataclass(frozen=True)
class LendsState(ErrorFeedback):
    """Keeps the very tensor it hands out: clipping the gradient changes the memory."""

    async def exchange(self, x: Tensor, state: Memory, spec: BucketSpec, turn: Turn) -> Exchanged:
        out = await super().exchange(x, state, spec, turn)
        return out._replace(state=Memory(out.mean, out.state.inner))


@dataclass(frozen=True)
class ReturnsFloat32(Identity):
    """Forgets the type it was given."""

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        mean = await Mean(x.to(torch.float32, copy=True))
        return Exchanged(mean, x.to(torch.float32), state)


@dataclass(frozen=True)
class UnpackedNibbles(QSGD):
    """Declares four bits an element and sends a byte."""

    def payload_bits(self, spec: BucketSpec) -> int:
        return sum(8 * part.nbytes for part in super().layout(spec.numel, 0))

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return super().layout(numel, aux)[0], Part(torch.uint8, numel)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        aux, (scale, packed) = super().encode(x, draw)
        return aux, (scale, kernel.unpack(packed, self.bits, x.numel()))

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        return super().decode((parts[0], kernel.pack(parts[1], self.bits)), numel, aux, draw)


@dataclass(frozen=True)
class ClaimsFewElements(Threshold):
    """Declares room for a tenth of the elements and says all that are large."""

    def count(self, numel: int) -> int:
        return numel // 10

    def most_bytes(self, numel: int) -> int:
        return 24 + 4 * numel


@dataclass(frozen=True)
class ClaimsFewBits(AsyLPG):
    """Declares two bits and takes as many as it likes."""

    def payload_bits(self, spec: BucketSpec) -> int:
        return self.codec(2).payload_bits(spec)


@dataclass(frozen=True)
class ClaimsToVary(TopK):
    """Says that its messages differ in length; they do not."""

    def traits(self, spec: BucketSpec) -> Traits:
        return replace(super().traits(spec), size=Size.MOST)


@dataclass(frozen=True)
class ClaimsOneRound(Identity):
    """Asks twice and says it asks once."""

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        await Mean(x.new_zeros(1))
        return await super().exchange(x, state, spec, turn)


@dataclass(frozen=True)
class ClaimsLinear(TopK):
    """Gathers messages and says they can be summed."""

    def traits(self, spec: BucketSpec) -> Traits:
        return replace(super().traits(spec), linear=True)


@dataclass(frozen=True)
class ClaimsFineGrain(TopK):
    """Says that a bucket may be cut anywhere, though the largest of a half are not those of all."""

    ratio: float = 0.1

    def traits(self, spec: BucketSpec) -> Traits:
        return replace(super().traits(spec), grain=Grain.ELEMENT)


@dataclass(frozen=True)
class ShortText(TopK):
    """Prints its ratio to two digits."""

    ratio: float = 0.0123

    def __str__(self) -> str:
        return f"topk({self.ratio:.2f})"


@dataclass(frozen=True)
class ReprOfNothing(TopK):
    """A repr for people only."""

    def __repr__(self) -> str:
        return "TopK(default)"


@dataclass(frozen=True)
class HiddenState(Identity):
    """Momentum on the object itself, where no checkpoint looks."""

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        before = self.__dict__.get("momentum", torch.zeros_like(x))
        out = await super().exchange(x + before, state, spec, turn)
        object.__setattr__(self, "momentum", 0.5 * out.mean)
        return out


@dataclass(frozen=True)
class SharesMemory(Identity):
    """Works only where all ranks live in one process."""

    board: ClassVar[list[Tensor]] = []

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        self.board.append(x)
        await Mean(x.clone())
        mean = torch.stack(self.board[-turn.world :]).mean(0)
        return Exchanged(mean, x, state)


@dataclass(frozen=True)
class ConfusesFlights(Identity):
    """Remembers the bucket it saw last: right alone, wrong with several exchanges under way."""

    number: int = 0  # two of them are not the same
    desk: ClassVar[dict[int, Tensor]] = {}

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        self.desk[turn.rank] = x
        mean = await Mean(x.clone())
        return Exchanged(mean, self.desk[turn.rank], state)


@dataclass(frozen=True)
class PicklesItsDefault(TopK):
    """Comes back from a pickle with its default."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()
