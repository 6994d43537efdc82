"""Small pieces of LLVM that numba cannot say by itself: 32-bit lanes, bit patterns, masks, unaligned words.

numba widens 32-bit integers to 64 bits, which halves the lanes of a vector and triples the price of a product; the
instructions below stay in 32 bits and are turned into vectors by LLVM's own loop vectorizer. Floating point is never
contracted or reordered: each operation is one rounding, on every processor.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

I1, I8, I16, I32, I64 = (ir.IntType(n) for n in (1, 8, 16, 32, 64))
F16, F32, F64 = ir.HalfType(), ir.FloatType(), ir.DoubleType()
u8, u16, u32, u64, i64 = types.uint8, types.uint16, types.uint32, types.uint64, types.int64
f32 = types.float32
LANES = 16  # of ordered sums, see plain/sums.py
_AHEAD = 1024  # elements: how far sums prefetch


def lanes(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """An intrinsic on scalars from a function that writes its LLVM instructions."""

    def decorate(emit: Callable[..., Any]) -> Any:
        def typed(_context: Any, *_types: Any) -> Any:
            def write(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
                result = emit(builder, *values)
                return context.get_dummy_value() if signature.return_type is types.void else result

            return signature, write

        typed.__name__ = emit.__name__
        typed.__signature__ = inspect.signature(emit)  # type: ignore[attr-defined]  # numba counts parameters by it
        return intrinsic(typed)

    return decorate


def _wide(_context: Any) -> Any:
    """Use the widest vectors there are in this function: on AVX-512 LLVM would stay at half of them."""

    def emit(context: Any, b: Any, _signature: Any, _args: Any) -> Any:
        set.add(b.function.attributes, '"prefer-vector-width"="512"')  # llvmlite knows no such attribute
        return context.get_dummy_value()

    return types.void(), emit


wide: Any = intrinsic(_wide)


# ------------------------------------------------------------- random numbers


def _constant(like: Any, v: Any) -> Any:
    """A constant of a value's type, which may be a vector."""
    kind = like.type
    return ir.Constant(kind, [v] * kind.count if isinstance(kind, ir.VectorType) else v)


def _as(kind: Any, like: Any) -> Any:
    """The type, or a vector of it as long as a value's."""
    return ir.VectorType(kind, like.type.count) if isinstance(like.type, ir.VectorType) else kind


def _mix(b: Any, start: Any, j: Any) -> Any:
    x = b.mul(b.xor(start, j), _constant(j, 0x7FEB352D))
    x = b.mul(b.xor(x, b.lshr(x, _constant(x, 15))), _constant(x, 0x846CA68B))
    return b.xor(x, b.lshr(x, _constant(x, 16)))


@lanes(u32(u32, u32))
def mix(b: Any, start: Any, j: Any) -> Any:
    """lowbias32(key ^ j) for j < 2^16, as in core/rng.py; start = key ^ (key >> 16) is its first step."""
    return _mix(b, start, j)


def _low(b: Any, word: Any, shift: Any, base: Any) -> Any:
    """base | (the low 16 bits of a word << shift): shift and mask, then both in one where there is an instruction."""
    return b.or_(b.and_(b.shl(word, shift), b.shl(_constant(word, 0xFFFF), shift)), base)


def _high(b: Any, word: Any, shift: Any, base: Any) -> Any:
    """The same of the high 16 bits."""
    mask = b.shl(_constant(word, 0xFFFF), shift)
    return b.or_(b.and_(b.lshr(word, b.sub(_constant(word, 16), shift)), mask), base)


# ------------------------------------------------------------- levels


def _level(b: Any, x: Any, inverse: Any, noise: Any, top: Any) -> Any:
    """min(x inverse + noise, top), NaN becomes top; noise = s + (half + 1/2) / 2^16 was put together bit by bit."""
    v = b.fadd(b.fmul(x, inverse), b.bitcast(noise, x.type))
    return b.select(b.fcmp_ordered("<", v, top), v, top)


def _code(b: Any, v: Any) -> Any:
    return b.trunc(b.fptosi(v, _as(I32, v)), _as(I8, v))


def _clipped_code(b: Any, v: Any) -> Any:
    zero = _constant(v, 0.0)
    return _code(b, b.select(b.fcmp_ordered(">", v, zero), v, zero))


_LEVEL = u8(f32, f32, u32, u32, u32, f32)


@lanes(_LEVEL)
def level_low(b: Any, x: Any, inverse: Any, word: Any, shift: Any, base: Any, top: Any) -> Any:
    """The level of x by the low half of a random word; |x inverse| is at most s, but for its rounding."""
    return _code(b, _level(b, x, inverse, _low(b, word, shift, base), top))


@lanes(_LEVEL)
def level_high(b: Any, x: Any, inverse: Any, word: Any, shift: Any, base: Any, top: Any) -> Any:
    return _code(b, _level(b, x, inverse, _high(b, word, shift, base), top))


@lanes(_LEVEL)
def clipped_low(b: Any, x: Any, inverse: Any, word: Any, shift: Any, base: Any, top: Any) -> Any:
    """The same for any x."""
    return _clipped_code(b, _level(b, x, inverse, _low(b, word, shift, base), top))


@lanes(_LEVEL)
def clipped_high(b: Any, x: Any, inverse: Any, word: Any, shift: Any, base: Any, top: Any) -> Any:
    return _clipped_code(b, _level(b, x, inverse, _high(b, word, shift, base), top))


@lanes(f32(u8, f32, f32))
def value(b: Any, code: Any, s: Any, step: Any) -> Any:
    """(code - s) step."""
    return b.fmul(b.fsub(b.uitofp(code, F32), s), step)


@lanes(u32(u32, u32))
def larger_magnitude(b: Any, most: Any, bits: Any) -> Any:
    """max(most, |x|) on bit patterns: as integers NaN and infinity are the largest."""
    magnitude = b.and_(bits, I32(0x7FFFFFFF))
    return b.select(b.icmp_signed(">", most, magnitude), most, magnitude)


@lanes(u32(u32, u32))
def smaller_magnitude(b: Any, least: Any, bits: Any) -> Any:
    magnitude = b.and_(bits, I32(0x7FFFFFFF))
    return b.select(b.icmp_signed("<", least, magnitude), least, magnitude)


# ------------------------------------------------------------- powers of two, see plain/natural.py


def _power(b: Any, bits: Any, noise: Any) -> Any:
    size = b.and_(bits, I32(0x7FFFFFFF))
    e = b.lshr(b.add(size, noise), I32(23))
    e = b.select(b.icmp_unsigned("<", e, I32(254)), e, I32(254))
    return b.select(b.icmp_unsigned("<", size, I32(255 << 23)), e, I32(255))


@lanes(u8(u32, u32))
def power_low(b: Any, bits: Any, word: Any) -> Any:
    """The exponent of |x| after rounding to a power of two by the low half of a random word."""
    return b.trunc(_power(b, bits, _low(b, word, I32(7), I32(64))), I8)


@lanes(u8(u32, u32))
def power_high(b: Any, bits: Any, word: Any) -> Any:
    return b.trunc(_power(b, bits, _high(b, word, I32(7), I32(64))), I8)


@lanes(f32(u8, u8, u32))
def power_of(b: Any, exponent: Any, signs: Any, j: Any) -> Any:
    """+-2^(e - 127), minus where bit j mod 8 of `signs` is set."""
    sign = b.shl(b.lshr(b.zext(signs, I32), b.and_(j, I32(7))), I32(31))
    return b.bitcast(b.or_(b.shl(b.zext(exponent, I32), I32(23)), sign), F32)


# ------------------------------------------------------------- base 3, see plain/trits.py


@lanes(u8(u8, u16, u16))
def trit(b: Any, byte: Any, factor: Any, shift: Any) -> Any:
    """The digit of a byte that (byte * factor) >> shift brings down to the units."""
    q = b.lshr(b.mul(b.zext(byte, I16), factor), shift)
    third = b.lshr(b.mul(q, I16(171)), I16(9))
    return b.trunc(b.sub(q, b.mul(third, I16(3))), I8)


# ------------------------------------------------------------- bit patterns


@lanes(f32(u32))
def as_float(b: Any, bits: Any) -> Any:
    return b.bitcast(bits, F32)


@lanes(u32(f32))
def as_bits(b: Any, x: Any) -> Any:
    return b.bitcast(x, I32)


@lanes(u32(u32))
def magnitude(b: Any, bits: Any) -> Any:
    return b.and_(bits, I32(0x7FFFFFFF))


@lanes(f32(f32, f32))
def signed_as(b: Any, x: Any, scale: Any) -> Any:
    """+scale where x >= 0, else -scale."""
    return b.select(b.fcmp_ordered(">=", x, F32(0.0)), scale, b.fneg(scale))


@lanes(u32(u32))
def trailing_zeros(b: Any, x: Any) -> Any:
    return b.cttz(x, I1(0))


@lanes(u64(u64))
def trailing_ones(b: Any, x: Any) -> Any:
    return b.cttz(b.not_(x), I1(0))


@lanes(u32(u32))
def without_lowest_bit(b: Any, x: Any) -> Any:
    return b.and_(x, b.sub(x, I32(1)))


@lanes(types.int32(types.int32, types.int32, types.int32))
def outside_of(b: Any, seen: Any, i: Any, n: Any) -> Any:
    """seen, or 1 where i is not in 0 .. n-1."""
    return b.or_(seen, b.zext(b.icmp_unsigned(">=", i, n), I32))


# ------------------------------------------------------------- memory: (address of an array, index)


def _element(b: Any, address: Any, i: Any, kind: Any) -> Any:
    """The index must hold all that varies in a loop: LLVM does not look into the arithmetic of addresses."""
    return b.gep(b.inttoptr(address, kind.as_pointer()), [i])


def _reader(result: Any, kind: Any, align: int) -> Any:
    @lanes(result(i64, i64))
    def read(b: Any, address: Any, i: Any) -> Any:
        return b.load(_element(b, address, i, kind), align=align)

    return read


def _writer(value: Any, kind: Any, align: int) -> Any:
    @lanes(types.void(i64, i64, value))
    def write(b: Any, address: Any, i: Any, v: Any) -> Any:
        return b.store(v, _element(b, address, i, kind), align=align)

    return write


get_f32, put_f32 = _reader(f32, F32, 4), _writer(f32, F32, 4)
get_f64, put_f64 = _reader(types.float64, F64, 8), _writer(types.float64, F64, 8)
get_i32, put_i32 = _reader(types.int32, I32, 4), _writer(types.int32, I32, 4)
get_i64, put_i64 = _reader(i64, I64, 8), _writer(i64, I64, 8)
get_u8, put_u8 = _reader(u8, I8, 1), _writer(u8, I8, 1)
get_u16, put_u16 = _reader(u16, I16, 1), _writer(u16, I16, 1)  # words may stand at any byte of a message
get_u32, put_u32 = _reader(u32, I32, 1), _writer(u32, I32, 1)
get_u64, put_u64 = _reader(u64, I64, 1), _writer(u64, I64, 1)


def _scratch(_context: Any, nbytes: Any) -> Any:
    """The address of so many bytes (a literal) that live as long as the call."""

    def emit(_context: Any, b: Any, _signature: Any, _args: Any) -> Any:
        with b.goto_entry_block():
            memory = b.alloca(ir.ArrayType(I8, nbytes.literal_value))
            memory.align = 64
        return b.ptrtoint(memory, I64)

    return i64(nbytes), emit


scratch: Any = intrinsic(prefer_literal=True)(_scratch)


def _prefetch(b: Any, address: Any, i: Any) -> Any:
    p = b.bitcast(_element(b, address, i, F32), I8.as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [p.type, I32, I32, I32])
    return b.call(cgutils.get_or_insert_function(b.module, kind, "llvm.prefetch.p0"), [p, I32(0), I32(3), I32(1)])


@lanes(types.void(i64, i64))
def prefetch(b: Any, address: Any, i: Any) -> Any:
    """Ask for the cache line of float i; harmless beyond the end."""
    return _prefetch(b, address, i)


@lanes(types.void(i64, i64, i64))
def copy_bytes(b: Any, to: Any, of: Any, count: Any) -> Any:
    return cgutils.raw_memcpy(b, *(b.inttoptr(a, I8.as_pointer()) for a in (to, of)), count, itemsize=1)


@lanes(types.void(i64, i64))
def zero_bytes(b: Any, to: Any, count: Any) -> Any:
    return cgutils.memset(b, b.inttoptr(to, I8.as_pointer()), count, 0)


# ------------------------------------------------------------- 32 elements at once


def _vector(kind: Any, n: int) -> Any:
    return ir.VectorType(kind, n)


def _splat(b: Any, scalar: Any, n: int) -> Any:
    kind = _vector(scalar.type, n)
    first = b.insert_element(ir.Constant(kind, ir.Undefined), scalar, I32(0))
    return b.shuffle_vector(first, ir.Constant(kind, ir.Undefined), ir.Constant(_vector(I32, n), [0] * n))


def _run(b: Any, address: Any, i: Any, kind: Any, n: int) -> Any:
    """A pointer to n elements from i on."""
    return b.bitcast(_element(b, address, i, kind), _vector(kind, n).as_pointer())


def _levels32(code: Callable[[Any, Any], Any]) -> Any:
    """Codes of 32 x by the low halves of random words j, j + 1, ..., and, 256 bytes on, of 32 y by the high halves."""

    @lanes(types.void(i64, i64, i64, u32, u32, f32, f32, u32, u32, f32))
    def emit(
        b: Any, x: Any, y: Any, codes: Any, start: Any, j: Any, by_x: Any, by_y: Any, shift: Any, base: Any, top: Any
    ) -> Any:
        start, j, by_x, by_y, shift, base, top = (_splat(b, v, 32) for v in (start, j, by_x, by_y, shift, base, top))
        word = _mix(b, start, b.add(j, ir.Constant(j.type, list(range(32)))))
        v, w = (b.load(_run(b, at, I64(0), F32, 32), align=4) for at in (x, y))
        low = code(b, _level(b, v, by_x, _low(b, word, shift, base), top))
        high = code(b, _level(b, w, by_y, _high(b, word, shift, base), top))
        b.store(low, _run(b, codes, I64(0), I8, 32), align=1)
        return b.store(high, _run(b, codes, I64(256), I8, 32), align=1)

    return emit


levels32, clipped32 = _levels32(_code), _levels32(_clipped_code)


@lanes(u32(i64, i64))
def positive32(b: Any, x: Any, i: Any) -> Any:
    """Bit k: x[i + k] >= 0."""
    v = b.load(_run(b, x, i, F32, 32), align=4)
    return b.bitcast(b.fcmp_ordered(">=", v, ir.Constant(v.type, [0.0] * 32)), I32)


@lanes(u32(i64, i64))
def negative32(b: Any, x: Any, i: Any) -> Any:
    """Bit k: the sign bit of x[i + k]."""
    v = b.load(_run(b, x, i, I32, 32), align=4)
    return b.bitcast(b.icmp_signed("<", v, ir.Constant(v.type, [0] * 32)), I32)


def _signs(b: Any, word: Any, m: Any) -> Any:
    return b.select(b.bitcast(word, _vector(I1, 32)), _splat(b, m, 32), _splat(b, b.fneg(m), 32))


@lanes(types.void(i64, i64, u32, f32))
def put_signs32(b: Any, out: Any, i: Any, word: Any, m: Any) -> Any:
    """out[i + k] <- +m where bit k is set, else -m."""
    return b.store(_signs(b, word, m), _run(b, out, i, F32, 32), align=4)


@lanes(types.void(i64, i64, u32, f32))
def add_signs32(b: Any, total: Any, i: Any, word: Any, m: Any) -> Any:
    p = _run(b, total, i, F32, 32)
    return b.store(b.fadd(b.load(p, align=4), _signs(b, word, m)), p, align=4)


def _powers(b: Any, codes: Any, i: Any, word: Any, weight: Any) -> Any:
    wide_ = b.zext(b.load(_run(b, codes, i, I8, 32), align=1), _vector(I32, 32))
    minus, none = (ir.Constant(wide_.type, [v] * 32) for v in (0x80000000, 0))
    sign = b.select(b.bitcast(word, _vector(I1, 32)), minus, none)
    bits = b.or_(b.shl(wide_, ir.Constant(wide_.type, [23] * 32)), sign)
    return b.fmul(b.bitcast(bits, _vector(F32, 32)), _splat(b, weight, 32))


@lanes(types.void(i64, i64, i64, u32, f32))
def put_powers32(b: Any, out: Any, codes: Any, i: Any, word: Any, weight: Any) -> Any:
    """out[i + k] <- +-2^(code - 127) weight, minus where bit k is set."""
    return b.store(_powers(b, codes, i, word, weight), _run(b, out, i, F32, 32), align=4)


@lanes(types.void(i64, i64, i64, u32, f32))
def add_powers32(b: Any, total: Any, codes: Any, i: Any, word: Any, weight: Any) -> Any:
    p = _run(b, total, i, F32, 32)
    return b.store(b.fadd(b.load(p, align=4), _powers(b, codes, i, word, weight)), p, align=4)


def _beyond(b: Any, bits: Any, edge: Any) -> Any:
    magnitudes = b.and_(bits, ir.Constant(_vector(I32, 32), [0x7FFFFFFF] * 32))
    return b.bitcast(b.icmp_signed(">", magnitudes, _splat(b, edge, 32)), I32)


@lanes(u32(i64, i64, u32))
def above32(b: Any, x: Any, i: Any, edge: Any) -> Any:
    """Bit k: |x[i + k]| > edge, compared as bit patterns (NaN is large)."""
    return _beyond(b, b.load(_run(b, x, i, I32, 32), align=4), edge)


@lanes(u32(i64, i64, i64, i64, u32))
def add_above32(b: Any, x: Any, y: Any, out: Any, i: Any, edge: Any) -> Any:
    """out[i + k] <- y[i + k] + x[i + k] for 32 k; bit k: its magnitude is above the edge."""
    p = b.fadd(b.load(_run(b, y, i, F32, 32), align=4), b.load(_run(b, x, i, F32, 32), align=4))
    b.store(p, _run(b, out, i, F32, 32), align=4)
    return _beyond(b, b.bitcast(p, _vector(I32, 32)), edge)


# ------------------------------------------------------------- past the caches


def _stream(b: Any, v: Any, out: Any, i: Any) -> None:
    """A store that does not read the cache line first, nor keep it; out + 4 i is a multiple of 64 bytes."""
    store = b.store(v, _run(b, out, i, F32, 32), align=64)
    store.set_metadata("nontemporal", b.module.add_metadata([I32(1)]))


@lanes(u32(i64, i64, i64, i64, u32))
def stream_sum32(b: Any, x: Any, y: Any, out: Any, i: Any, edge: Any) -> Any:
    """As `add_above32`."""
    p = b.fadd(b.load(_run(b, y, i, F32, 32), align=4), b.load(_run(b, x, i, F32, 32), align=4))
    _stream(b, p, out, i)
    return _beyond(b, b.bitcast(p, _vector(I32, 32)), edge)


@lanes(u32(i64, i64, i64, u32))
def stream_copy32(b: Any, x: Any, out: Any, i: Any, edge: Any) -> Any:
    """The same of x alone."""
    p = b.load(_run(b, x, i, F32, 32), align=4)
    _stream(b, p, out, i)
    return _beyond(b, b.bitcast(p, _vector(I32, 32)), edge)


@lanes(u32(i64, i64, i64, i64, i64, u32))
def stream_way32(b: Any, x: Any, y: Any, more: Any, out: Any, i: Any, edge: Any) -> Any:
    """The same of more + (x - y)."""
    a, c, m = (b.load(_run(b, at, i, F32, 32), align=4) for at in (x, y, more))
    p = b.fadd(m, b.fsub(a, c))
    _stream(b, p, out, i)
    return _beyond(b, b.bitcast(p, _vector(I32, 32)), edge)


@lanes(types.void(i64, i64))
def stream_zeros32(b: Any, out: Any, i: Any) -> Any:
    _stream(b, ir.Constant(_vector(F32, 32), [0.0] * 32), out, i)


@lanes(types.void())
def arrive(b: Any) -> Any:
    """Other threads see all that was streamed."""
    b.fence("seq_cst")


# ------------------------------------------------------------- sums in a fixed order


def _folded(b: Any, v: Any) -> Any:
    """The sum of a vector: the upper half onto the lower, until one is left."""
    n = v.type.count
    while n > 1:
        n //= 2
        none = ir.Constant(v.type, ir.Undefined)
        low = b.shuffle_vector(v, none, ir.Constant(_vector(I32, n), list(range(n))))
        high = b.shuffle_vector(v, none, ir.Constant(_vector(I32, n), list(range(n, 2 * n))))
        v = b.fadd(low, high)
    return b.extract_element(v, I32(0))


def _lane_sum(term: Callable[[Any, Any], Any]) -> Any:
    """The sum of term(x_i), i < count, in float64: 16 lanes in order, then folded."""

    @lanes(types.float64(i64, i64))
    def lane_sum(b: Any, x: Any, count: Any) -> Any:
        narrow, full = _vector(F32, LANES), _vector(F64, LANES)
        total = cgutils.alloca_once_value(b, ir.Constant(full, [0.0] * LANES))

        def take(v: Any) -> None:
            b.store(b.fadd(b.load(total), term(b, b.fpext(v, full))), total)

        with cgutils.for_range(b, b.udiv(count, I64(LANES)), intp=I64) as loop:
            at = b.mul(loop.index, I64(LANES))
            _prefetch(b, x, b.add(at, I64(_AHEAD)))
            take(b.load(_run(b, x, at, F32, LANES), align=4))
        rest = b.urem(count, I64(LANES))
        with b.if_then(b.icmp_unsigned(">", rest, I64(0))):
            lane = ir.Constant(_vector(I32, LANES), list(range(LANES)))
            mask = b.icmp_unsigned("<", lane, _splat(b, b.trunc(rest, I32), LANES))
            p = _run(b, x, b.sub(count, rest), F32, LANES)
            kind = ir.FunctionType(narrow, [p.type, I32, mask.type, narrow])
            load = cgutils.get_or_insert_function(b.module, kind, f"llvm.masked.load.v{LANES}f32.p0")
            take(b.call(load, [p, I32(4), mask, ir.Constant(narrow, [0.0] * LANES)]))
        return _folded(b, b.load(total))

    return lane_sum


def _absolute(b: Any, v: Any) -> Any:
    kind = ir.FunctionType(v.type, [v.type])
    return b.call(cgutils.get_or_insert_function(b.module, kind, f"llvm.fabs.v{LANES}f64"), [v])


lane_abs_sum = _lane_sum(_absolute)
lane_square_sum = _lane_sum(lambda b, v: b.fmul(v, v))


# ------------------------------------------------------------- 16-bit floats


@lanes(u16(f32))
def to_fp16(b: Any, x: Any) -> Any:
    return b.bitcast(b.fptrunc(x, F16), I16)


@lanes(f32(u16))
def from_fp16(b: Any, half: Any) -> Any:
    return b.fpext(b.bitcast(half, F16), F32)


@lanes(u16(f32))
def to_bf16(b: Any, x: Any) -> Any:
    """To the nearest, ties to even; NaN becomes the quiet NaN torch writes."""
    bits = b.bitcast(x, I32)
    odd = b.and_(b.lshr(bits, I32(16)), I32(1))
    rounded = b.lshr(b.add(bits, b.add(odd, I32(0x7FFF))), I32(16))
    nan = b.fcmp_unordered("uno", x, x)
    return b.trunc(b.select(nan, I32(0x7FC0), rounded), I16)


@lanes(f32(u16))
def from_bf16(b: Any, half: Any) -> Any:
    return b.bitcast(b.shl(b.zext(half, I32), I32(16)), F32)


@lanes(f32(f32, f32))
def clipped(b: Any, x: Any, top: Any) -> Any:
    """min(max(x, -top), top); NaN stays."""
    low = b.fsub(F32(-0.0), top)
    x = b.select(b.fcmp_ordered(">", x, top), top, x)
    return b.select(b.fcmp_ordered("<", x, low), low, x)
