"""The public functions of `branded.random`: keys, draws from them, and what JAX draws bit for bit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar, overload

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, DTypeLike, can_lossless_cast

from branded import tree
from branded.brand import Brand
from branded.errors import DrawError, DrawTypeError
from branded.patches.tg import truncate
from branded.random.draws import (
    FLOATS,
    UNSIGNED,
    as_dtype,
    as_float,
    as_shape,
    check_key,
    dtype_name,
    fits,
    positions,
    raw_bits,
    stored,
    unit,
    words,
)
from branded.random.special import below_one, erf, erfinv, next_above
from branded.recording.calls import operation
from branded.rows import check_live
from branded.values import vec_type
from branded.vec import Vec

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)

# ---- keys ----


@overload
def key(seed: int) -> Tensor: ...
@overload
def key(seed: Vec[S]) -> Vec[S]: ...
@operation
def key(seed: Vec[S] | int) -> Vec[S]:
    """The key of a seed: `key(n)` is `[0, n]`.

    Args:
        seed: An int of at most 64 bits, or an int tensor `Vec[S, i32[]]`.  One that does not fit in 32 bits fills both
            words, where JAX keeps the lower one, unless it has `jax_enable_x64`.

    Returns:
        `Vec[S, u32[2]]`, on the default device, or on that of `seed`.

    Raises:
        DrawTypeError: `seed` is not an int.
        DrawError: It has more than 64 bits.

    Example:
        >>> from branded import random
        >>> random.key(7).tolist()
        [0, 7]

    Source: `jax.random.PRNGKey`, which is `jax.random.key` as an array.
    """
    if isinstance(seed, Vec):
        if not dtypes.is_int(seed.dtype) or seed.shape:
            many = "vmap(key)(seeds)" if dtypes.is_int(seed.dtype) else "an int, or an int tensor"
            raise DrawTypeError(f"key: {vec_type(seed)} is not one seed", fix=many)
        check_live(seed.uop, "key")
        number = seed.cast(dtypes.int64) if seed.dtype in dtypes.weaks else seed
        return stored(_upper(number).cast(dtypes.uint32).stack(number.cast(dtypes.uint32)))
    n = tree.as_int(seed)
    if n is None:
        raise DrawTypeError(f"key: {tree.describe(seed)} is not a seed", fix="an int")
    if not -(2**63) <= n < 2**64:
        raise DrawError(f"key: {n} has more than 64 bits", fix="key(seed % 2**64), or fold_in what is left")
    top = 0 if -(2**31) <= n < 2**32 else (n >> 32) & 0xFFFFFFFF
    new = Tensor(top, dtype=dtypes.uint32).stack(Tensor(n & 0xFFFFFFFF, dtype=dtypes.uint32))
    return stored(new)


def _upper(seed: Vec[S]) -> Vec[S]:
    """The upper word of a seed; none of one that fits in 32 bits, with a sign or without."""
    if seed.dtype.itemsize < 8:
        return seed.const_like(0)
    upper = seed >> 32
    return upper if dtypes.is_unsigned(seed.dtype) else ((seed < 0) & (seed >= -(2**31))).where(0, upper)


@operation
def split(key: Vec[S], num: int | Sequence[int] = 2) -> Vec[S]:
    """New keys from one: `split(key, n)[i]` is `fold_in(key, i)`.

    The key itself is used up: draw from it, or split it, not both.

    Args:
        key: `Vec[S, u32[2]]`.
        num: How many, or the shape of an array of keys.

    Returns:
        `Vec[S, u32[num, 2]]`: ready to be mapped over.

    Raises:
        DrawTypeError: `key` is not a key, or `num` neither an int nor a shape.
        DrawError: A size below 0.

    Example:
        >>> from branded import random, vmap
        >>> keys = random.split(random.key(0), 3)
        >>> keys.shape
        (3, 2)
        >>> a = vmap(lambda k: random.uniform(k, (2,)))(keys)
        >>> a[1].tolist() == random.uniform(keys[1], (2,)).tolist()
        True

    Source: `jax.random.split`.
    """
    check_key(key, "split")
    n = tree.as_int(num)
    a, b = words(key, positions(as_shape(num if n is None else (n,), "split")))
    return stored(a.stack(b, dim=-1))


@operation
def fold_in(key: Vec[S], data: Vec[S1] | int) -> Vec[S | S1]:
    """The key of a key and a number, as of a step or a layer: `fold_in(key, i)` is `split(key, n)[i]`.

    Args:
        key: `Vec[S, u32[2]]`.
        data: An int from 0 to 2³²-1, or an int tensor `Vec[S1, i32[]]`.

    Returns:
        `Vec[S | S1, u32[2]]`.

    Raises:
        DrawTypeError: `key` is not a key, or `data` not an int.
        DrawError: `data` is out of range.

    Example:
        >>> from branded import random, vmap
        >>> from tinygrad import Tensor
        >>> k = random.key(0)
        >>> random.fold_in(k, 5).tolist() == random.split(k, 6)[5].tolist()
        True
        >>> vmap(lambda i: random.fold_in(k, i))(Tensor([0, 5])).shape
        (2, 2)

    Source: `jax.random.fold_in`.
    """
    check_key(key, "fold_in")
    if isinstance(data, Vec):
        if not dtypes.is_int(data.dtype) or data.shape:
            many = "vmap(lambda i: fold_in(key, i))(data)" if dtypes.is_int(data.dtype) else "an int, or an int tensor"
            raise DrawTypeError(f"fold_in: {vec_type(data)} is not one int", fix=many)
        check_live(data.uop, "fold_in")
        low: Vec[S1] = data.cast(dtypes.uint32)
    else:
        n = tree.as_int(data)
        if n is None:
            raise DrawTypeError(f"fold_in: {tree.describe(data)} is not an int", fix="an int, or an int tensor")
        if not 0 <= n < 2**32:
            raise DrawError(f"fold_in: {n} is out of range", fix="an int from 0 to 2**32 - 1")
        low = Tensor(n, dtype=dtypes.uint32)
    a, b = words(key, low.cast(dtypes.uint64) << 32)
    return stored(a.stack(b, dim=-1))


# ---- numbers that are equally likely ----


@operation
def bits(key: Vec[S], shape: Sequence[int] = (), dtype: DTypeLike = dtypes.uint32) -> Vec[S]:
    """Unsigned ints, all of their values equally likely.

    Args:
        key: `Vec[S, u32[2]]`.
        shape: The shape of one example.
        dtype: `uint8`, `uint16`, `uint32` or `uint64`.

    Returns:
        `Vec[S, u32[*shape]]`, or of another `dtype`.

    Raises:
        DrawTypeError: `key` is not a key, `shape` not one, or `dtype` not one of those.

    Example:
        >>> from branded import random
        >>> random.bits(random.key(7), (2,)).tolist()
        [2895194379, 4185947648]

    Source: `jax.random.bits`; J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011), Threefry-2x32.
    """
    check_key(key, "bits")
    found = as_dtype(dtype, "bits", list(UNSIGNED.values()))
    return raw_bits(key, as_shape(shape, "bits"), found.bitsize)


@operation
def uniform(
    key: Vec[S],
    shape: Sequence[int] = (),
    dtype: DTypeLike = dtypes.float32,
    minval: Vec[S1] | float = 0.0,
    maxval: Vec[S2] | float = 1.0,
) -> Vec[S | S1 | S2]:
    """Floats in [minval, maxval), equally likely.

    Args:
        key: `Vec[S, u32[2]]`.
        shape: The shape of one example.
        dtype: `float32`, `float16`, `bfloat16` or `float64`.
        minval: The lower bound: a number, or a tensor that broadcasts to `shape`.
        maxval: The upper bound, the same.  Rounding may give it itself where the range is narrow for its dtype.

    Returns:
        `Vec[S | S1 | S2, f32[*shape]]`, or of another `dtype`.  It is differentiable in the bounds.

    Raises:
        DrawTypeError: `key` is not a key, a bound not a number, `shape` not a shape, `dtype` not one of those.
        DrawError: The bounds do not broadcast to `shape`, `minval` is above `maxval`, or one of them is not finite.

    Example:
        >>> from branded import random
        >>> random.uniform(random.key(0), (2,)).tolist()
        [0.9476670026779175, 0.9785798788070679]
        >>> random.uniform(random.key(0), minval=-1, maxval=1).item()
        0.89533...

    Source: `jax.random.uniform`.
    """
    check_key(key, "uniform")
    sizes, found = as_shape(shape, "uniform"), as_dtype(dtype, "uniform", FLOATS)
    low = as_float(minval, "uniform", "minval", found)
    high = as_float(maxval, "uniform", "maxval", found)
    if isinstance(low, float) and isinstance(high, float) and not low <= high:
        raise DrawError(f"uniform: minval {low} is not below maxval {high}", fix="the lower bound first")
    if not all(math.isfinite(x) for x in (low, high) if isinstance(x, float)):
        raise DrawError(f"uniform: there is no uniform draw between {low} and {high}", fix="bounds that are finite")
    fits(sizes, "uniform", minval=low, maxval=high)
    return _between(unit(key, sizes, found), low, high, found)


def _between(u: Vec[S], low: Vec[S1] | float, high: Vec[S2] | float, dtype: DType) -> Vec[S | S1 | S2]:
    """`u` in [0, 1) stretched over [low, high), in the arithmetic of `dtype`."""
    if isinstance(low, float) and isinstance(high, float):
        if (low, high) == (0, 1):
            return u
        rounded: Callable[[float], float] = truncate[dtype]
        bottom, top = rounded(low), rounded(high)
        return (u * rounded(top - bottom) + bottom).maximum(bottom)
    return (u * (high - low) + low).maximum(low)


@operation
def bernoulli(key: Vec[S], p: Vec[S1] | float = 0.5, shape: Sequence[int] | None = None) -> Vec[S | S1]:
    """True with probability `p`.

    Args:
        key: `Vec[S, u32[2]]`.
        p: A number from 0 to 1, or a tensor of floats `Vec[S1, f32[...]]`.
        shape: The shape of one example; None for that of `p`.

    Returns:
        `Vec[S | S1, bool[*shape]]`.

    Raises:
        DrawTypeError: `key` is not a key, `p` not a number, `shape` not a shape.
        DrawError: `p` is a number below 0 or above 1, or does not broadcast to `shape`.

    Example:
        >>> from branded import random
        >>> random.bernoulli(random.key(0), 0.3, (6,)).tolist()
        [False, False, False, False, False, True]

    Source: `jax.random.bernoulli`.
    """
    check_key(key, "bernoulli")
    given = p.dtype if isinstance(p, Vec) else None
    found = given if given in FLOATS else dtypes.float32
    chance = as_float(p, "bernoulli", "p", found)
    if isinstance(chance, float) and not 0 <= chance <= 1:
        raise DrawError(f"bernoulli: p = {chance} is not a probability", fix="a number from 0 to 1")
    own = chance.shape if isinstance(chance, Vec) else ()
    sizes = own if shape is None else as_shape(shape, "bernoulli")
    fits(sizes, "bernoulli", p=chance)
    return unit(key, sizes, found) < chance


@operation
def randint(
    key: Vec[S],
    shape: Sequence[int],
    minval: Vec[S1] | int,
    maxval: Vec[S2] | int,
    dtype: DTypeLike = dtypes.int32,
) -> Vec[S | S1 | S2]:
    """Ints in [minval, maxval), equally likely up to a factor of 1 + (maxval - minval) / 2³².

    Args:
        key: `Vec[S, u32[2]]`.
        shape: The shape of one example.
        minval: The lower bound: an int, or an int tensor that broadcasts to `shape`.
        maxval: The upper bound, which is not drawn.  A tensor that is not above `minval` gives `minval`.
        dtype: An int dtype that holds what is drawn.

    Returns:
        `Vec[S | S1 | S2, i32[*shape]]`, or of another `dtype`.

    Raises:
        DrawTypeError: `key` is not a key, a bound not an int, `shape` not a shape, `dtype` not an int dtype.
        DrawError: The range is empty, `dtype` does not hold it, or the bounds do not broadcast to `shape`.

    Example:
        >>> from branded import random
        >>> random.randint(random.key(0), (4,), 0, 10).tolist()
        [9, 0, 2, 3]

    Source: `jax.random.randint`.
    """
    check_key(key, "randint")
    sizes, found = as_shape(shape, "randint"), as_dtype(dtype, "randint", _INTS)
    work = found if found.bitsize >= 32 else dtypes.int32
    low, high = _int_bound(minval, "minval", found, work), _int_bound(maxval, "maxval", found, work)
    if isinstance(low, int) and isinstance(high, int) and low >= high:
        raise DrawError(f"randint: there is no int from {low} to below {high}", fix="maxval above minval")
    fits(sizes, "randint", minval=low, maxval=high)
    return (_offset(key, sizes, low, high, work).bitcast(work) + low).cast(found)


_INTS = (
    *(dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64),
    *(dtypes.int16, dtypes.uint16, dtypes.int8, dtypes.uint8),
)


def _int_bound(x: Vec[S] | int, name: str, dtype: DType, work: DType) -> Vec[S] | int:
    """A bound as an int that `dtype` holds (the upper one may be one more), or as a tensor of the dtype `work`."""
    if isinstance(x, Vec):
        if not dtypes.is_int(x.dtype):
            raise DrawTypeError(f"randint: {name} is {vec_type(x)}", fix="an int, or an int tensor")
        check_live(x.uop, "randint")
        if x.dtype not in dtypes.weaks and not can_lossless_cast(x.dtype, work):
            raise DrawTypeError(
                f"randint: {name} is {vec_type(x)}, which {dtype_name(work)} does not hold",
                fix=f"{name}.cast(dtypes.{dtype_name(work)}), or another dtype",
            )
        return x.cast(work)
    n = tree.as_int(x)
    if n is None:
        raise DrawTypeError(f"randint: {name} is {tree.describe(x)}", fix="an int, or an int tensor")
    if not dtype.min <= n <= dtype.max + (name == "maxval"):
        raise DrawError(f"randint: {name} = {n} is out of range for {dtype_name(dtype)}", fix="another dtype, or range")
    return n


def _offset(
    key: Vec[S], shape: tuple[int, ...], low: Vec[S1] | int, high: Vec[S2] | int, work: DType
) -> Vec[S | S1 | S2]:
    """An unsigned int below high - low: the remainder of one of twice as many bits."""
    width = work.bitsize
    keys = split(key)
    upper, lower = raw_bits(keys[0], shape, width), raw_bits(keys[1], shape, width)
    if isinstance(low, int) and isinstance(high, int):
        n = high - low
        if n == 1 << width:
            return lower
        half = (1 << (width // 2)) % n
        return (upper % n * (half * half % (1 << width) % n) + lower % n) % n
    span, every = _span(low, high, work)
    by = span.const_like(1 << (width // 2)) % span
    return every.where(lower, (upper % span * (by * by % span) + lower % span) % span)


def _span(low: Vec[S1] | int, high: Vec[S2] | int, work: DType) -> tuple[Vec[S1 | S2], Vec[S1 | S2]]:
    """high - low as an unsigned tensor, at least 1; and where the range is of every int, for which it has no number."""
    past = isinstance(high, int) and high > work.max
    bottom, top = _tensor(low, work), _tensor(high - 1 if past else high, work)
    unsigned = UNSIGNED[work.bitsize]
    span = top.bitcast(unsigned) - bottom.bitcast(unsigned) + past
    span = (top < bottom if past else top <= bottom).where(1, span)
    every = span.eq(0)
    return every.where(1, span), every


# ---- numbers of a distribution ----


@operation
def normal(key: Vec[S], shape: Sequence[int] = (), dtype: DTypeLike = dtypes.float32) -> Vec[S]:
    """Normal numbers of mean 0 and variance 1: the density is exp(-x²/2) / √2π.

    Args:
        key: `Vec[S, u32[2]]`.
        shape: The shape of one example.
        dtype: `float32`, `float16`, `bfloat16` or `float64`.

    Returns:
        `Vec[S, f32[*shape]]`, or of another `dtype`.

    Raises:
        DrawTypeError: `key` is not a key, `shape` not a shape, `dtype` not one of those.

    Example:
        >>> from branded import random, vmap
        >>> noise = vmap(lambda k: random.normal(k, (3,)))(random.split(random.key(0), 5))
        >>> noise.shape
        (5, 3)

    Source: `jax.random.normal`: the inverse of the normal distribution, of a uniform number.
    """
    check_key(key, "normal")
    sizes, found = as_shape(shape, "normal"), as_dtype(dtype, "normal", FLOATS)
    u = _between(unit(key, sizes, found), -below_one(found), 1.0, found)
    return erfinv(u) * math.sqrt(2)


@operation
def truncated_normal(
    key: Vec[S],
    lower: Vec[S1] | float,
    upper: Vec[S2] | float,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike = dtypes.float32,
) -> Vec[S | S1 | S2]:
    """Normal numbers, given that they are between `lower` and `upper`: the density is as exp(-x²/2) there.

    Args:
        key: `Vec[S, u32[2]]`.
        lower: The lower bound: a number, or a tensor of floats `Vec[S1, f32[...]]`.
        upper: The upper bound, the same.  Ranges that lie wholly beyond 4 or so, in float32, have few numbers.
        shape: The shape of one example; None for that of the bounds.
        dtype: `float32`, `float16`, `bfloat16` or `float64`.

    Returns:
        `Vec[S | S1 | S2, f32[*shape]]`, between the bounds, neither of which is drawn.  It is differentiable in them.

    Raises:
        DrawTypeError: `key` is not a key, a bound not a number, `shape` not a shape, `dtype` not one of those.
        DrawError: The bounds do not broadcast to `shape`, or `lower` is not below `upper`.

    Example:
        >>> from branded import random
        >>> x = random.truncated_normal(random.key(0), -1.0, 2.0, (1000,))
        >>> ((x > -1.0) & (x < 2.0)).all().item()
        True

    Source: `jax.random.truncated_normal`.
    """
    check_key(key, "truncated_normal")
    found = as_dtype(dtype, "truncated_normal", FLOATS)
    low = as_float(lower, "truncated_normal", "lower", found)
    high = as_float(upper, "truncated_normal", "upper", found)
    if isinstance(low, float) and isinstance(high, float) and not low < high:
        raise DrawError(f"truncated_normal: lower {low} is not below upper {high}", fix="the lower bound first")
    bounds = [x.shape for x in (low, high) if isinstance(x, Vec)]
    sizes = _broadcast("truncated_normal", bounds) if shape is None else as_shape(shape, "truncated_normal")
    fits(sizes, "truncated_normal", lower=low, upper=high)
    bottom, top = _tensor(low, found), _tensor(high, found)
    a, b = erf(bottom / math.sqrt(2)), erf(top / math.sqrt(2))
    edge = below_one(found)  # at 1 itself the inverse is infinite
    x = erfinv(_between(unit(key, sizes, found), a, b, found).clamp(-edge, edge)) * math.sqrt(2)
    return x.maximum(next_above(bottom)).minimum(-next_above(-top))


@operation
def exponential(key: Vec[S], shape: Sequence[int] = (), dtype: DTypeLike = dtypes.float32) -> Vec[S]:
    """Exponential numbers of mean 1: the density is exp(-x) from 0 on.

    Args:
        key: `Vec[S, u32[2]]`.
        shape: The shape of one example.
        dtype: `float32`, `float16`, `bfloat16` or `float64`.

    Returns:
        `Vec[S, f32[*shape]]`, or of another `dtype`.

    Raises:
        DrawTypeError: `key` is not a key, `shape` not a shape, `dtype` not one of those.

    Example:
        >>> from branded import random
        >>> x = random.exponential(random.key(0), (1000,))
        >>> (x >= 0).all().item(), round(x.mean().item(), 2)
        (True, 0.98)

    Source: `jax.random.exponential`.
    """
    check_key(key, "exponential")
    sizes, found = as_shape(shape, "exponential"), as_dtype(dtype, "exponential", FLOATS)
    return -(1 - unit(key, sizes, found)).log()


@operation
def gumbel(key: Vec[S], shape: Sequence[int] = (), dtype: DTypeLike = dtypes.float32) -> Vec[S]:
    """Gumbel numbers, of which the largest of several is as likely as the softmax of what they are added to.

    Args:
        key: `Vec[S, u32[2]]`.
        shape: The shape of one example.
        dtype: `float32`, `float16`, `bfloat16` or `float64`.

    Returns:
        `Vec[S, f32[*shape]]`, or of another `dtype`, with the density exp(-x - exp(-x)).

    Raises:
        DrawTypeError: `key` is not a key, `shape` not a shape, `dtype` not one of those.

    Example:
        >>> from branded import random
        >>> round(random.gumbel(random.key(0), (1000,)).mean().item(), 2)  # Euler's constant
        0.56

    Source: `jax.random.gumbel` with mode "low".
    """
    check_key(key, "gumbel")
    sizes, found = as_shape(shape, "gumbel"), as_dtype(dtype, "gumbel", FLOATS)
    return -(-_between(unit(key, sizes, found), _tiny(found), 1.0, found).log()).log()


def _tiny(dtype: DType) -> float:
    """The smallest normal number."""
    exponent, _ = dtypes.finfo(dtype)
    return math.ldexp(1.0, 2 - (1 << (exponent - 1)))


def _tensor(x: Vec[S] | float, dtype: DType) -> Vec[S]:
    return x if isinstance(x, Vec) else Tensor(x, dtype=dtype)


def _broadcast(what: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise DrawError(f"{what}: the bounds do not broadcast", ("shapes", " and ".join(map(repr, shapes)))) from None
