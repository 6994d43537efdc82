"""Buckets of live parameters: gradients in, one flat tensor out, and back again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch._utils import _unflatten_dense_tensors

from laconic import kernels as kernel
from laconic.compress import AbstractCompressor, Identity
from laconic.compress.base import Grain
from laconic.core import memory
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError, UsageError
from laconic.core.exchange import Exchanged
from laconic.core.units import bytes_text
from laconic.schedule import AbstractSchedule, Item

SMALL = 1024  # elements of a matrix
SMALL_VECTOR = 65536  # biases and norm scales are shorter; longer vectors are worth compressing
ALIGN = 4096  # elements: chunks begin at multiples, so that no codec's block is cut in two
FEW = 4096  # elements of a gradient that need not be copied while they are in the cache


class Unit(NamedTuple):
    """What travels as one message: a bucket, or a chunk of it."""

    bucket: int
    chunk: int  # -1: the whole bucket
    start: int  # of its flat tensor
    stop: int
    spec: BucketSpec


class Bucket:
    def __init__(
        self,
        spec: BucketSpec,
        params: Sequence[nn.Parameter],
        compress: AbstractCompressor,
        world: int,
        group: int = 0,
    ) -> None:
        self.spec = spec
        self.group = group  # of the optimizer; meant where the compressor follows the learning rate
        self.compress = compress
        self.plain = compress == Identity()
        self.weight = 1.0 / world if self.plain else 1.0  # a plain mean is a sum of shares
        self.params = list(params)
        self.waiting = set(range(len(params)))  # gradients this backward pass has not produced yet
        self.room = 0  # elements for riders (riders.py), behind the gradients
        self.whole = torch.empty(0)  # gradients and riders
        self._flat = torch.empty(0)
        self._views: list[Tensor] = []
        self._taken: list[Tensor] = []  # the last views
        self._more: list[Tensor] = []  # of a memory that is added to them
        self._later: list[tuple[Tensor, Tensor]] = []  # small gradients and their places, copied all at once
        self._sums: list[Tensor] = []  # of the gradients taken; not finite where one of them is not
        self._finite = True  # as far as a kernel looked
        self.added = False  # does what was taken hold a memory already?

    @property
    def device(self) -> torch.device:
        return self.params[0].device

    @property
    def _by_kernel(self) -> bool:
        """One pass that copies and looks; plans that compress nothing do without compiled kernels."""
        return not self.plain and self.spec.dtype == torch.float32 and self.device.type == "cpu"

    def rearm(self) -> None:
        self._finite, self.added = True, False
        self.waiting = set(range(len(self.params)))
        self._sums, self._later = [], []
        self._taken, self._views, self._more = self._views, [], []

    def take(self, i: int, more: Tensor | None = None) -> None:
        """Gradient i is final: copy and sum it while it is still in the cache; a missing one counts as zeros.

        Small ones that no kernel takes are copied together when the bucket leaves: who changes a gradient in place
        before that moment changes what is exchanged, or not. Hooks that do so belong before `distribute`.

        `more`: a flat vector to which gradients are added on the way, the same in all calls of a pass.
        """
        self.waiting.discard(i)
        if not self._views:
            self._open(more)
        grad = self.params[i].grad
        if grad is None:
            if self._more:
                self._views[i].copy_(self._more[i])
            else:
                self._views[i].zero_()
            return
        if grad.requires_grad:
            grad = grad.detach()  # of backward(create_graph=True); what is exchanged has no history
        if grad.is_sparse:
            name = self.spec.names[i]
            raise UsageError(f"{name!r} has a sparse gradient, which cannot be bucketed. Use sparse=False.")
        if self._more and self._by_kernel:
            self._finite &= kernel.add_finite(grad, self._more[i], self._views[i])
        elif self._more:
            torch.add(grad, self._more[i], out=self._views[i])
            self._sums.append(_sum(self._views[i]))
        elif self._by_kernel:
            self._finite &= kernel.copy_finite(grad, self._views[i])
        elif grad.numel() < FEW:
            self._later.append((grad, self._views[i]))
        else:
            torch.mul(grad, self.weight, out=self._views[i])
            self._sums.append(_sum(grad))

    def _take_small(self) -> None:
        if self._later:
            shares = torch.cat([grad.reshape(-1) for grad, _ in self._later])
            self._sums.append(_sum(shares))
            shares.mul_(self.weight)
            places = [place for _, place in self._later]
            torch._foreach_copy_(places, _unflatten_dense_tensors(shares, places))
            self._later = []

    def gradients(self, more: Tensor | None = None) -> tuple[Tensor, list[bool]]:
        """All gradients times `weight` (and `more`), flat, good until the next pass; and which hold NaN or infinity."""
        for i in sorted(self.waiting):
            self.take(i, more)
        self._take_small()
        if self._finite and (not self._sums or bool(torch.isfinite(torch.stack(self._sums)).all())):
            return self._flat, [False] * len(self.params)
        return self._flat, [not bool(torch.isfinite(view).all()) for view in self._views]

    def _open(self, more: Tensor | None) -> None:
        """Room for what is about to be taken."""
        self.whole = memory.empty(self.spec.numel + self.room, self.spec.dtype, self.device)
        self._flat = self.whole[: self.spec.numel]
        self._taken = []
        if 0 in self.spec.sizes:
            self._views = self.spec.views(self._flat)
        else:  # the same in a quarter of the time, but for the shapes of empty tensors
            self._views = list(_unflatten_dense_tensors(self._flat, self.params))
        self._more = [] if more is None else self.spec.views(more)
        self.added = more is not None

    def way(self, start: Tensor, more: Tensor | None = None) -> tuple[Tensor, list[bool]]:
        """The way back from the parameters to `start`, times `weight` (and `more`), as `gradients` has them."""
        self._open(more)
        here, starts = [p.detach() for p in self.params], self.spec.views(start)
        if self._more and self._by_kernel:
            for one in zip(starts, here, self._more, self._views, strict=True):
                self._finite &= kernel.way_finite(*one)
            return self._flat, [False] * len(here) if self._finite else self.bad(self._flat)
        for a, x, out in zip(starts, here, self._views, strict=True):
            torch.sub(a, x, out=out)
        if more is not None:
            self._flat.add_(more)
        if self.weight != 1.0:
            self._flat.mul_(self.weight)
        return self._flat, self.bad(self._flat)

    def used(self) -> list[bool]:
        return [p.grad is not None for p in self.params]

    def bad(self, flat: Tensor) -> list[bool]:
        """Which parameters hold NaN or infinity. One fast pass where all is well."""
        if torch.isfinite(_sum(flat)):
            return [False] * len(self.params)
        return [not bool(torch.isfinite(piece).all()) for piece in self.spec.views(flat)]

    def bad_gradients(self) -> list[bool]:
        """The same of gradients that are not flattened."""
        grads = [p.grad for p in self.params]
        sums = [_sum(g) for g in grads if g is not None]
        if not sums or bool(torch.isfinite(torch.stack(sums)).all()):
            return [False] * len(grads)
        return [g is not None and not bool(torch.isfinite(g).all()) for g in grads]

    def write_gradients(self, mean: Tensor, used: Sequence[bool], keep: bool) -> None:
        """`.grad` becomes a view of the mean, without a copy; it is copied where the mean is to be kept as it is.

        A parameter nobody used keeps no gradient, so that optimizers leave it alone.
        """
        targets, means = [], []
        known = self._taken and mean.data_ptr() == self._taken[0].data_ptr() and mean.numel() == self.spec.numel
        pieces = self._taken if known else self.spec.views(mean)
        for p, piece, yes in zip(self.params, pieces, used, strict=True):
            if yes and not keep and p.is_contiguous():
                p.grad = piece
            elif yes:
                if p.grad is None:
                    p.grad = torch.empty_like(p)
                targets.append(p.grad)
                means.append(piece)
        if targets:
            torch._foreach_copy_(targets, means)
        self.whole = self._flat = torch.empty(0)
        self._taken = []

    def poison(self, bad: Sequence[bool]) -> None:
        """Everybody sees what one rank saw, so that GradScaler skips the step on all ranks."""
        for p, yes in zip(self.params, bad, strict=True):
            if yes:
                p.grad = torch.full_like(p, torch.nan)

    def values(self) -> Tensor:
        return torch.cat([p.detach().reshape(-1) for p in self.params])

    def write_values(self, flat: Tensor) -> None:
        with torch.no_grad():
            torch._foreach_copy_(list(self.params), self.spec.views(flat))
        self.whole = self._flat = torch.empty(0)
        self._taken = []


def _sum(t: Tensor) -> Tensor:
    """Not finite where any element is not (or where the sum overflows: then each is looked at)."""
    return t.sum(dtype=torch.float32 if t.element_size() < 4 else t.dtype)


def cut(
    trained: Mapping[str, nn.Parameter],
    schedule: AbstractSchedule,
    compress: AbstractCompressor,
    world: int,
    groups: Mapping[int, int],
    runs: Sequence[Sequence[int]] | None = None,
) -> list[Bucket]:
    """Fixed before the first step, the same on every rank, in launch order.

    Where the compressor asks for it, small tensors get buckets of their own and travel dense, and so do the optimizer's
    parameter groups. `groups`: which group a parameter (by its id) belongs to. `runs`: the cut, if it was made already.
    """
    names, params = list(trained), list(trained.values())
    dense = [compress.spares_small and is_small(p) for p in params]
    group_of = [groups.get(id(p), 0) if compress.follows_lr else 0 for p in params]
    cuts = schedule.cut(items(trained, compress, groups)) if runs is None else runs
    sizes = [sum(params[i].numel() for i in group) for group in cuts]
    return [
        Bucket(
            BucketSpec(
                number,
                tuple(names[i] for i in group),
                tuple(tuple(params[i].shape) for i in group),
                params[group[0]].dtype,
                followed_by=sum(sizes[number + 1 : number + 2]),
            ),
            [params[i] for i in group],
            (compress.lossless or Identity()) if dense[group[0]] else compress,
            world,
            group_of[group[0]],
        )
        for number, group in enumerate(cuts)
    ]


def items(trained: Mapping[str, nn.Parameter], compress: AbstractCompressor, groups: Mapping[int, int]) -> list[Item]:
    """Parameters as a schedule sees them."""
    out = []
    for p in trained.values():
        group = groups.get(id(p), 0) if compress.follows_lr else 0
        out.append(Item(p.nbytes, (p.dtype, p.device, compress.spares_small and is_small(p), group)))
    return out


def units(buckets: Sequence[Bucket], chunk_bytes: int | None) -> list[Unit]:
    """Buckets, or their chunks, in launch order; their numbers are the `id` of their specs."""
    out: list[Unit] = []
    for bucket in buckets:
        edges = _edges(bucket, chunk_bytes)
        if len(edges) <= 2 and len(out) == bucket.spec.id:
            out.append(Unit(bucket.spec.id, -1, 0, bucket.spec.numel, bucket.spec))
            continue
        for number, (start, stop) in enumerate(pairwise(edges)):
            spec = _piece(bucket.spec, start, stop, len(out))
            out.append(Unit(bucket.spec.id, number if len(edges) > 2 else -1, start, stop, spec))
    return out


def by_bucket(of: Sequence[Unit]) -> dict[int, list[Unit]]:
    """Each bucket's units, in the order of its elements."""
    out: dict[int, list[Unit]] = {}
    for unit in sorted(of, key=lambda u: u.chunk):
        out.setdefault(unit.bucket, []).append(unit)
    return out


def joined(outs: Sequence[Exchanged], flat: Tensor) -> Exchanged:
    """Chunks of a bucket, in order, as one; `flat` was exchanged, and is the mean where sums were made in place."""
    if len(outs) == 1:
        return outs[0]
    place = flat.untyped_storage().data_ptr()
    in_place = all(o.mean.untyped_storage().data_ptr() == place for o in outs)
    mean = flat if in_place else torch.cat([o.mean for o in outs])
    return Exchanged(mean, lambda: torch.cat([o.sent for o in outs]), tuple(o.state for o in outs))


def _piece(spec: BucketSpec, start: int, stop: int, number: int) -> BucketSpec:
    """Whole tensors keep their names and shapes, a cut one is a vector."""
    names, shapes, at = [], [], 0
    for name, shape, size in zip(spec.names, spec.shapes, spec.sizes, strict=True):
        a, b = max(start, at) - at, min(stop, at + size) - at
        if a < b or (size == 0 and start <= at < stop):
            names.append(name if b - a == size else f"{name}[{a}:{b}]")
            shapes.append(shape if b - a == size else (b - a,))
        at += size
    return BucketSpec(number, tuple(names), tuple(shapes), spec.dtype, followed_by=spec.followed_by)


def _edges(bucket: Bucket, chunk_bytes: int | None) -> list[int]:
    spec = bucket.spec
    if chunk_bytes is None or spec.nbytes <= chunk_bytes:
        return [0, spec.numel]
    if not bucket.plain and bucket.compress.traits(spec).grain is Grain.TENSOR:
        return _between_tensors(bucket, chunk_bytes)
    step = max(1, chunk_bytes // spec.dtype.itemsize)
    step = step // ALIGN * ALIGN or step
    return [*range(0, spec.numel, step), spec.numel]


def _between_tensors(bucket: Bucket, chunk_bytes: int) -> list[int]:
    """For compressors that need whole tensors."""
    spec, edges, at = bucket.spec, [0], 0
    for name, size in zip(spec.names, spec.sizes, strict=True):
        nbytes = size * spec.dtype.itemsize
        if nbytes > chunk_bytes:
            raise PlanError(
                f"{bucket.compress} needs whole tensors, but a chunk of {bytes_text(chunk_bytes)} cuts inside {name!r} "
                f"({bytes_text(nbytes)}). Use a larger chunk, or another compressor for large tensors."
            )
        if (at + size - edges[-1]) * spec.dtype.itemsize > chunk_bytes:
            edges.append(at)
        at += size
    return [*edges, spec.numel]


def is_small(p: nn.Parameter) -> bool:
    return p.numel() < (SMALL if p.dim() >= 2 else SMALL_VECTOR)
