"""`a | coding`: the message of a, its indices or levels written by a lossless coding.

    topk(0.01) | golomb                    values as they are, indices coded
    topk(0.01) | qsgd(bits=4) | elias      indices and levels coded
    topk(0.01) | qsgd(bits=4) | golomb | huffman
    qsgd(bits=4) | huffman                 levels coded; so are those of klevel, dithering, eightbit, threelc, ...
    natural | huffman                      exponents coded

A coding takes what it is made for and no earlier stage has coded. The result is that of a, bit for bit: bounds and bias
are a's. Messages have no fixed length, so lengths are said first (a round of 8 bytes), and always carry a checksum: one
wrong bit would spoil all that follow. The body is

    elements 4 | index bytes 4 | scales, signs or values of a | levels | indices

and levels that a coding would make longer are sent as a packs them: coding levels never costs more than those 8 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, TypeVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.coding import AbstractCoding, AbstractSymbolCoding
from laconic.compress import indices
from laconic.compress.base import NOMINAL, AbstractCompressor, Draw, Size, Traits, clip, vaguest
from laconic.compress.chain import Chain
from laconic.compress.integer_sum import AbstractIntegerSum
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.recipe import Recipe, plain
from laconic.compress.symbols import AbstractSymbols
from laconic.core.bucket import BucketSpec, one_tensor
from laconic.core.errors import PayloadError, PlanError
from laconic.core.payload import HEADER_BYTES, Part
from laconic.kernels.reference_coding import Bytes, Ints

T = TypeVar("T")
_HEAD = 8  # bytes that say the number of elements and the length of the index stream


@dataclass(frozen=True)
class Coded(AbstractOneShot):
    """Write the indices or levels of a message by a lossless coding."""

    inner: AbstractCompressor
    coding: AbstractCoding

    name: ClassVar[str] = "coded"
    checked: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.base, AbstractIntegerSum) and isinstance(self.coding, AbstractSymbolCoding):
            raise PlanError(
                f"{self}: messages of {self.base} are summed on the way, and no sum can be taken of what is coded. Use "
                f"for example qsgd(bits=2) | {self.coding}, where every rank has a scale of its own."
            )
        before = self._before
        if before is None or before.then(self.coding) is before:
            raise PlanError(
                f"{self}: nothing is left that {self.coding} could write; it is made for "
                f"{self.coding.made_for}. Use for example {self.coding.example}, inside of ef(...) where you need both."
            )
        if self.base.traits(NOMINAL).remembers:
            raise PlanError(
                f"{self}: {self.base} keeps a memory of its own, for messages as they are. Use for example "
                f"ef({self.coding.example})."
            )

    def __str__(self) -> str:
        return f"{self.inner} | {self.coding}"

    @property
    def _before(self) -> Recipe | None:
        return self.inner.recipe if isinstance(self.inner, Coded) else plain(self.inner)

    @cached_property
    def recipe(self) -> Recipe:
        assert self._before is not None, "refused when it was built"
        return self._before.then(self.coding)

    @property
    def base(self) -> AbstractCompressor:
        """What is coded, without any coding."""
        return self.inner.base if isinstance(self.inner, Coded) else self.inner

    @property
    def sparse(self) -> bool:  # type: ignore[override]  # a constant of other classes
        return self.recipe.selector is not None

    @property
    def align(self) -> int:
        return self.base.align if isinstance(self.base, AbstractOneShot) else 1

    @property
    def varies(self) -> bool:
        return True

    @property
    def takes_sums(self) -> bool:
        return self.recipe.selector is not None and self.recipe.selector.takes_sums

    def traits(self, spec: BucketSpec) -> Traits:
        base = self.base.traits(spec)
        return replace(base, linear=False, rounds=2, size=vaguest((base.size, Size.MOST)))

    def payload_bits(self, spec: BucketSpec) -> int:
        selector = self.recipe.selector
        return 8 * self._body_bytes(spec.numel, selector.count(spec.numel) if selector else spec.numel)

    def most_bytes(self, numel: int) -> int:
        return HEADER_BYTES + self._body_bytes(numel, self._most(numel))

    def _most(self, numel: int) -> int:
        selector = self.recipe.selector
        by_chance = self.base.traits(one_tensor(numel)).size is Size.EXPECTED
        return numel if selector is None or by_chance else selector.count(numel)

    def _body_bytes(self, numel: int, count: int) -> int:
        values = sum(part.nbytes for part in self.recipe.codec.layout(count, 0))
        return _HEAD + values + self._index_bytes(count, numel)

    def _index_bytes(self, count: int, numel: int) -> int:
        selector, coding = self.recipe.selector, self.recipe.indices
        if selector is None or not selector.travels:
            return 0
        return indices.part(numel, count).nbytes if coding is None else -(-coding.most_bits(count, numel) // 8)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return (Part(torch.uint8, aux),)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        selector, codec, _, _ = self.recipe
        if selector is None:
            return self._written(codec.encode(x, draw)[1], None, x)
        at, values = selector.pick(x, draw)
        return self._written(self._value_parts(values, x.numel(), draw), at, x)

    def encode_keep(
        self, x: Tensor, residual: Tensor, left: Tensor, damping: float, draw: Draw
    ) -> tuple[int, tuple[Tensor, ...]]:
        selector, codec, _, _ = self.recipe
        if selector is None:
            return self._written(codec.encode_keep(x, residual, left, damping, draw)[1], None, x)
        at, values = selector.pick_keep(x, residual, left, draw)
        parts = self._value_parts(values, x.numel(), draw)
        said = codec.decode(parts, at.numel(), 0, draw)
        kernel.scatter_add(left, at, values - damping * self._damping(x.numel()) * said, 1.0)
        return self._written(parts, at, x)

    def _value_parts(self, values: Tensor, numel: int, draw: Draw) -> tuple[Tensor, ...]:
        selector, codec, _, _ = self.recipe
        scale = selector.scale(numel) if selector else 1.0
        return codec.encode(values if scale == 1.0 else clip(values * scale, values.dtype), draw)[1]

    def _written(self, parts: tuple[Tensor, ...], at: Tensor | None, x: Tensor) -> tuple[int, tuple[Tensor, ...]]:
        _, codec, _, coding = self.recipe
        count = x.numel() if at is None else at.numel()
        if coding is not None and isinstance(codec, AbstractSymbols):
            fixed, packed = _apart(parts, codec.coded_part)
            symbols = codec.to_symbols(packed, codec.code_count(count))
            stream = _tensor(coding.encode_symbols(_array(symbols), codec.symbol_count), x.device)
            parts = (*fixed, stream if stream.numel() < packed.nbytes else packed)
        where = self._write_indices(at, x)
        head = torch.tensor([count, where.numel()], dtype=torch.int32, device=x.device)
        body = torch.cat([part.contiguous().view(-1).view(torch.uint8) for part in (head, *parts, where)])
        return body.numel(), (body,)

    def _damping(self, numel: int) -> float:
        return self.base.damping(numel) if isinstance(self.base, Chain) else 1.0

    def _write_indices(self, at: Tensor | None, x: Tensor) -> Tensor:
        selector, _, coding, _ = self.recipe
        if at is None or selector is None or not selector.travels:
            return torch.empty(0, dtype=torch.uint8, device=x.device)
        if coding is None:
            return indices.write(at, x.numel())
        return _tensor(coding.write(at.to(torch.int64).cpu().numpy(), x.numel()), x.device)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = torch.zeros(numel, device=parts[0].device)
        self.add(out, parts, aux, draw, 1.0)
        return out

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        (body,) = parts
        weight *= self._damping(total.numel())
        count, index_bytes = self._read_head(body, total.numel())
        values = self._read_values(body[_HEAD : body.numel() - index_bytes], count, draw)
        at = self._read_indices(body[body.numel() - index_bytes :], count, total, draw)
        if at is None:
            total.add_(values, alpha=weight)
        else:
            total.index_add_(0, at, values, alpha=weight)

    def _read_head(self, body: Tensor, numel: int) -> tuple[int, int]:
        if body.numel() < _HEAD:
            raise PayloadError(f"A coded message of {body.numel()} bytes is shorter than its head.")
        count, index_bytes = (int(n) for n in body[:_HEAD].clone().view(torch.int32))
        selector, most = self.recipe.selector, self._most(numel)
        fixed = selector is None or not selector.varies
        if not 0 <= count <= most or (fixed and count != most):
            raise PayloadError(f"A coded message speaks of {count} elements where {most} were expected.")
        if not 0 <= index_bytes <= min(body.numel() - _HEAD, self._index_bytes(count, numel)):
            raise PayloadError(f"A coded message of {body.numel()} bytes has {index_bytes} of indices.")
        return count, index_bytes

    def _read_values(self, body: Tensor, count: int, draw: Draw) -> Tensor:
        codec, coding = self.recipe.codec, self.recipe.symbols
        which = codec.coded_part if coding is not None and isinstance(codec, AbstractSymbols) else -1
        fixed, last = _apart(codec.layout(count, 0), which)
        parts, at = [], 0
        for part in fixed:
            parts.append(_cut(body, at, part))
            at += part.nbytes
        left = body.numel() - at
        if coding is not None and isinstance(codec, AbstractSymbols) and 0 <= left < last.nbytes:
            symbols = coding.decode_symbols(_array(body[at:]), codec.code_count(count), codec.symbol_count)
            codes = codec.from_symbols(_tensor(symbols, body.device))
        elif left == last.nbytes:
            codes = _cut(body, at, last)
        else:
            raise PayloadError(f"A coded message has {left} bytes for {count} values, not {last.nbytes}.")
        parts.insert(which % (len(parts) + 1), codes)
        return codec.decode(tuple(parts), count, 0, draw)

    def _read_indices(self, stream: Tensor, count: int, total: Tensor, draw: Draw) -> Tensor | None:
        selector, _, coding, _ = self.recipe
        if selector is None:
            return None
        if not selector.travels:
            at = selector.select(total, draw)
        elif coding is not None:
            at = _tensor(coding.read(_array(stream), count, total.numel()), total.device)
        else:
            at = indices.read(stream, count, total.numel()).to(torch.int64)
        if at.numel() != count:
            raise PayloadError(f"A coded message brings {count} values for {at.numel()} indices.")
        return at


def _apart(parts: tuple[T, ...], which: int) -> tuple[tuple[T, ...], T]:
    """All but one, and that one: it stands last in a body, where its length need not be said."""
    at = which % len(parts)
    return parts[:at] + parts[at + 1 :], parts[at]


def _cut(body: Tensor, at: int, part: Part) -> Tensor:
    if at + part.nbytes > body.numel():
        raise PayloadError(f"A coded message of {body.numel()} bytes should have {at + part.nbytes} or more.")
    return body[at : at + part.nbytes].clone().view(part.dtype)


def _array(t: Tensor) -> Bytes:
    out: Bytes = t.cpu().numpy()
    return out


def _tensor(array: Bytes | Ints, device: torch.device) -> Tensor:
    return torch.from_numpy(array).to(device)
