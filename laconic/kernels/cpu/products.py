"""Pieces of LLVM for products with thin factors: loops over vectors of 8 floats, sums fused with products.

Addresses come first, then counts. A factor's vectors lie `stride` floats apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from laconic.kernels.cpu.lanes import F32, F64, I32, I64, _folded, _prefetch, _run, _splat, _vector, i64, lanes

WIDTH = 8


def _fma(b: Any, x: Any, y: Any, z: Any) -> Any:
    """x y + z with one rounding."""
    kind = x.type
    name = f"llvm.fma.v{kind.count}f{32 if kind.element == F32 else 64}"
    return b.call(cgutils.get_or_insert_function(b.module, ir.FunctionType(kind, [kind] * 3), name), [x, y, z])


def _negated(b: Any, x: Any) -> Any:
    return b.fsub(ir.Constant(x.type, [-0.0] * x.type.count), x)


class _Loop:
    """Reads and writes 8 floats from j on, or with a mask the rest of them."""

    def __init__(self, b: Any, j: Any, rest: Any = None) -> None:
        self.b, self.j, self.mask = b, j, None
        if rest is not None:
            lane = ir.Constant(_vector(I32, WIDTH), list(range(WIDTH)))
            self.mask = b.icmp_unsigned("<", lane, _splat(b, b.trunc(rest, I32), WIDTH))

    def get(self, address: Any) -> Any:
        p, kind = _run(self.b, address, self.j, F32, WIDTH), _vector(F32, WIDTH)
        if self.mask is None:
            return self.b.load(p, align=4)
        signature = ir.FunctionType(kind, [p.type, I32, self.mask.type, kind])
        load = cgutils.get_or_insert_function(self.b.module, signature, f"llvm.masked.load.v{WIDTH}f32.p0")
        return self.b.call(load, [p, I32(4), self.mask, ir.Constant(kind, [0.0] * WIDTH)])

    def put(self, address: Any, v: Any) -> None:
        p = _run(self.b, address, self.j, F32, WIDTH)
        if self.mask is None:
            self.b.store(v, p, align=4)
            return
        signature = ir.FunctionType(ir.VoidType(), [v.type, p.type, I32, self.mask.type])
        store = cgutils.get_or_insert_function(self.b.module, signature, f"llvm.masked.store.v{WIDTH}f32.p0")
        self.b.call(store, [v, p, I32(4), self.mask])


def _over(b: Any, count: Any, body: Callable[[_Loop], None]) -> None:
    """body for every 8 of `count` floats, and once for what is left."""
    with cgutils.for_range(b, b.udiv(count, I64(WIDTH)), intp=I64) as loop:
        body(_Loop(b, b.mul(loop.index, I64(WIDTH))))
    rest = b.urem(count, I64(WIDTH))
    with b.if_then(b.icmp_unsigned(">", rest, I64(0))):
        body(_Loop(b, b.sub(count, rest), rest))


def _at(b: Any, address: Any, floats: Any) -> Any:
    return b.add(address, b.mul(floats, I64(4)))


def _scalar(b: Any, address: Any, i: Any) -> Any:
    return b.gep(b.inttoptr(address, F32.as_pointer()), [i])


def _dots(b: Any, rows: Any, q: Any, n: Any, p: Any, at: Any, stride: Any, row: Callable[[_Loop, int], Any]) -> Any:
    """p[k, at_r] <- sum over j of row_r[j] q[k, j], for both rows and four k."""
    zero = ir.Constant(_vector(F32, WIDTH), [0.0] * WIDTH)
    sums = [[cgutils.alloca_once_value(b, zero) for _ in range(4)] for _ in rows]
    vectors = [_at(b, q, b.mul(n, I64(k))) for k in range(4)]

    def body(loop: _Loop) -> None:
        here = [row(loop, r) for r in range(2)]
        for k in range(4):
            v = loop.get(vectors[k])
            for r in range(2):
                b.store(_fma(b, here[r], v, b.load(sums[r][k])), sums[r][k])

    _over(b, n, body)
    for r in range(2):
        for k in range(4):
            to = _scalar(b, p, b.add(b.mul(stride, I64(k)), at[r]))
            last = b.store(_folded(b, b.load(sums[r][k])), to, align=4)
    return last


@lanes(types.void(*[i64] * 8))
def dots_2x4(b: Any, m0: Any, m1: Any, q: Any, n: Any, p: Any, i0: Any, i1: Any, stride: Any) -> Any:
    """p[k, i] <- sum of m_i[j] q[k, j]; p's vectors lie `stride` floats apart, q's n."""
    ahead = b.mul(n, I64(2))

    def row(loop: _Loop, r: int) -> Any:
        _prefetch(b, (m0, m1)[r], b.add(loop.j, ahead))
        return loop.get((m0, m1)[r])

    return _dots(b, (m0, m1), q, n, p, (i0, i1), stride, row)


@lanes(types.void(*[i64] * 12))
def add_dots_2x4(
    b: Any,
    m0: Any,
    m1: Any,
    q: Any,
    n: Any,
    p: Any,
    i0: Any,
    i1: Any,
    stride: Any,
    e0: Any,
    e1: Any,
    to0: Any,
    to1: Any,
) -> Any:
    """The same of e + m, which is written to `to`."""
    ahead = b.mul(n, I64(2))

    def row(loop: _Loop, r: int) -> Any:
        for address in ((e0, e1)[r], (m0, m1)[r]):
            _prefetch(b, address, b.add(loop.j, ahead))
        v = b.fadd(loop.get((e0, e1)[r]), loop.get((m0, m1)[r]))
        loop.put((to0, to1)[r], v)
        return v

    return _dots(b, (m0, m1), q, n, p, (i0, i1), stride, row)


@lanes(types.void(*[i64] * 8))
def sum_rows_2x4(b: Any, m: Any, both: Any, stride: Any, n: Any, p: Any, i: Any, rows: Any, q: Any) -> Any:
    """q[k, j] <- q[k, j] + p[k, i] m[i, j] + p[k, i+1] m[i+1, j], the last only where `both` is 1."""
    next_ = _at(b, m, b.mul(stride, both))
    vectors = [_at(b, q, b.mul(stride, I64(k))) for k in range(4)]
    weights = []
    for k in range(4):
        at = b.add(b.mul(rows, I64(k)), i)
        w0, w1 = b.load(_scalar(b, p, at), align=4), b.load(_scalar(b, p, b.add(at, both)), align=4)
        w1 = b.select(b.icmp_unsigned(">", both, I64(0)), w1, F32(0.0))
        weights.append((_splat(b, w0, WIDTH), _splat(b, w1, WIDTH)))
    ahead = b.mul(stride, I64(2))

    def body(loop: _Loop) -> None:
        for address in (m, next_):
            _prefetch(b, address, b.add(loop.j, ahead))
        x, y = loop.get(m), loop.get(next_)
        for k in range(4):
            loop.put(vectors[k], _fma(b, y, weights[k][1], _fma(b, x, weights[k][0], loop.get(vectors[k]))))

    return _over(b, n, body)


def _weights(b: Any, p: Any, i: Any, rows: Any) -> list[Any]:
    return [_splat(b, b.load(_scalar(b, p, b.add(b.mul(rows, I64(k)), i)), align=4), WIDTH) for k in range(4)]


@lanes(types.void(*[i64] * 7))
def put_products(b: Any, out: Any, p: Any, i: Any, rows: Any, q: Any, n: Any, more: Any) -> Any:
    """out[j] <- sum of p[k, i] q[k, j], four k; added to what is there where `more` is not 0."""
    weights, vectors = _weights(b, p, i, rows), [_at(b, q, b.mul(n, I64(k))) for k in range(4)]

    def added(first: bool) -> None:
        def body(loop: _Loop) -> None:
            v = b.fmul(loop.get(vectors[0]), weights[0]) if first else loop.get(out)
            for k in range(1 if first else 0, 4):
                v = _fma(b, loop.get(vectors[k]), weights[k], v)
            loop.put(out, v)

        _over(b, n, body)

    with b.if_else(b.icmp_unsigned("==", more, I64(0))) as (then, otherwise):
        with then:
            added(True)
        with otherwise:
            added(False)


@lanes(types.void(*[i64] * 6))
def subtract_products(b: Any, left: Any, p: Any, i: Any, rows: Any, q: Any, n: Any) -> Any:
    """left[j] <- left[j] - sum of p[k, i] q[k, j], four k."""
    weights = [_negated(b, w) for w in _weights(b, p, i, rows)]
    vectors = [_at(b, q, b.mul(n, I64(k))) for k in range(4)]

    def body(loop: _Loop) -> None:
        v = loop.get(left)
        for k in range(4):
            v = _fma(b, loop.get(vectors[k]), weights[k], v)
        loop.put(left, v)

    return _over(b, n, body)


@lanes(types.float64(i64, i64, i64))
def dot64(b: Any, x: Any, y: Any, n: Any) -> Any:
    """sum of x[j] y[j] in float64: 8 lanes in order, then folded."""
    full = _vector(F64, WIDTH)
    total = cgutils.alloca_once_value(b, ir.Constant(full, [0.0] * WIDTH))

    def body(loop: _Loop) -> None:
        u, v = b.fpext(loop.get(x), full), b.fpext(loop.get(y), full)
        b.store(_fma(b, u, v, b.load(total)), total)

    _over(b, n, body)
    return _folded(b, b.load(total))
