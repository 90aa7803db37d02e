"""Uniform samples: bits, floats, ints, and Bernoulli trials."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, DTypeLike, can_lossless_cast

from branded import tree
from branded.core.brand import S, S1, S2
from branded.core.validation.arguments import as_int
from branded.core.values import vec_type
from branded.errors import DrawError, DrawTypeError
from branded.graph.rows import check_live
from branded.random.keys import split
from branded.random.sampling import (
    FLOATS,
    UNSIGNED,
    as_dtype,
    as_float,
    as_shape,
    dtype_name,
    fits,
    raw_bits,
    sampler,
    unit,
)
from branded.tinygrad_compat.private_api import truncate
from branded.vec import Vec


@sampler
def bits(key: Vec[S], shape: Sequence[int] = (), dtype: DTypeLike = dtypes.uint32) -> Vec[S]:
    """Sample unsigned ints; all values of the dtype are equally likely.

    Args:
        key: `Vec[S, u32[2]]`.
        shape: The shape of one example.
        dtype: `uint8`, `uint16`, `uint32` or `uint64`.

    Returns:
        `Vec[S, u32[*shape]]`, in the given `dtype`.

    Raises:
        DrawTypeError: `key` is not a key, `shape` is not a shape, or `dtype` is not supported.

    Example:
        >>> from branded import random
        >>> random.bits(random.key(7), (2,)).tolist()
        [2895194379, 4185947648]

    Source: `jax.random.bits`; J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011), Threefry-2x32.
    """
    out_dtype = as_dtype(dtype, "bits", list(UNSIGNED.values()))
    return raw_bits(key, as_shape(shape, "bits"), out_dtype.bitsize)


@sampler
def uniform(
    key: Vec[S],
    shape: Sequence[int] = (),
    dtype: DTypeLike = dtypes.float32,
    minval: Vec[S1] | float = 0.0,
    maxval: Vec[S2] | float = 1.0,
) -> Vec[S | S1 | S2]:
    """Sample floats uniformly from [minval, maxval).

    Args:
        key: `Vec[S, u32[2]]`.
        shape: The shape of one example.
        dtype: `float32`, `float16`, `bfloat16` or `float64`.
        minval: The lower bound: a number, or a tensor that broadcasts to `shape`.
        maxval: The upper bound, in the same forms.  Rounding may return it if the range is narrow for the dtype.

    Returns:
        `Vec[S | S1 | S2, f32[*shape]]`, in the given `dtype`.  It is differentiable in the bounds.

    Raises:
        DrawTypeError: `key` is not a key, a bound is not a number, `shape` is not a shape, or `dtype` is not supported.
        DrawError: The bounds do not broadcast to `shape`, `minval` is above `maxval`, or a bound is not finite.

    Example:
        >>> from branded import random
        >>> random.uniform(random.key(0), (2,)).tolist()
        [0.9476670026779175, 0.9785798788070679]
        >>> random.uniform(random.key(0), minval=-1, maxval=1).item()
        0.89533...

    Source: `jax.random.uniform`.
    """
    sizes, out_dtype = as_shape(shape, "uniform"), as_dtype(dtype, "uniform", FLOATS)
    low = as_float(minval, "uniform", "minval", out_dtype)
    high = as_float(maxval, "uniform", "maxval", out_dtype)
    if isinstance(low, float) and isinstance(high, float) and not low <= high:
        raise DrawError(f"uniform: minval {low} is not below maxval {high}", fix="pass the lower bound first")
    if not all(math.isfinite(x) for x in (low, high) if isinstance(x, float)):
        raise DrawError(f"uniform: there is no uniform distribution between {low} and {high}", fix="use finite bounds")
    fits(sizes, "uniform", minval=low, maxval=high)
    return between(unit(key, sizes, out_dtype), low, high, out_dtype)


def between(u: Vec[S], low: Vec[S1] | float, high: Vec[S2] | float, dtype: DType) -> Vec[S | S1 | S2]:
    """Scale `u` from [0, 1) to [low, high), in the arithmetic of `dtype`."""
    if isinstance(low, float) and isinstance(high, float):
        if (low, high) == (0, 1):
            return u
        rounded: Callable[[float], float] = truncate[dtype]
        bottom, top = rounded(low), rounded(high)
        return (u * rounded(top - bottom) + bottom).maximum(bottom)
    return (u * (high - low) + low).maximum(low)


@sampler
def bernoulli(key: Vec[S], p: Vec[S1] | float = 0.5, shape: Sequence[int] | None = None) -> Vec[S | S1]:
    """Sample bools that are True with probability `p`.

    Args:
        key: `Vec[S, u32[2]]`.
        p: A number from 0 to 1, or a tensor of floats `Vec[S1, f32[...]]`.
        shape: The shape of one example; None uses the shape of `p`.

    Returns:
        `Vec[S | S1, bool[*shape]]`.

    Raises:
        DrawTypeError: `key` is not a key, `p` is not a number, or `shape` is not a shape.
        DrawError: `p` is a number below 0 or above 1, or does not broadcast to `shape`.

    Example:
        >>> from branded import random
        >>> random.bernoulli(random.key(0), 0.3, (6,)).tolist()
        [False, False, False, False, False, True]

    Source: `jax.random.bernoulli`.
    """
    parameter_dtype = p.dtype if isinstance(p, Vec) else None
    float_dtype = parameter_dtype if parameter_dtype in FLOATS else dtypes.float32
    chance = as_float(p, "bernoulli", "p", float_dtype)
    if isinstance(chance, float) and not 0 <= chance <= 1:
        raise DrawError(f"bernoulli: p = {chance} is not a probability", fix="use a number from 0 to 1")
    parameter_shape = chance.shape if isinstance(chance, Vec) else ()
    sizes = parameter_shape if shape is None else as_shape(shape, "bernoulli")
    fits(sizes, "bernoulli", p=chance)
    return unit(key, sizes, float_dtype) < chance


@sampler
def randint(
    key: Vec[S],
    shape: Sequence[int],
    minval: Vec[S1] | int,
    maxval: Vec[S2] | int,
    dtype: DTypeLike = dtypes.int32,
) -> Vec[S | S1 | S2]:
    """Sample ints from [minval, maxval), equally likely up to a factor of 1 + (maxval - minval) / 2³².

    Args:
        key: `Vec[S, u32[2]]`.
        shape: The shape of one example.
        minval: The lower bound: an int, or an int tensor that broadcasts to `shape`.
        maxval: The upper bound, which is excluded.  A tensor that is not above `minval` gives `minval`.  Bounds in
            tensors are clipped to the range of `dtype`.
        dtype: An int dtype that can hold the samples.

    Returns:
        `Vec[S | S1 | S2, i32[*shape]]`, in the given `dtype`.

    Raises:
        DrawTypeError: `key` is not a key, a bound is not an int, `shape` is not a shape,
            or `dtype` is not an int dtype.
        DrawError: The range between two ints is empty, or `dtype` cannot hold it; or the bounds do not broadcast to
            `shape`.

    Example:
        >>> from branded import random
        >>> random.randint(random.key(0), (4,), 0, 10).tolist()
        [9, 0, 2, 3]

    Source: `jax.random.randint`.
    """
    sizes, out_dtype = as_shape(shape, "randint"), as_dtype(dtype, "randint", _INTS)
    work = out_dtype if out_dtype.bitsize >= 32 else dtypes.int32
    low, high = _int_bound(minval, "minval", out_dtype), _int_bound(maxval, "maxval", out_dtype)
    if isinstance(low, int) and isinstance(high, int) and low >= high:
        raise DrawError(
            f"randint: the range from {low} to {high}, exclusive, is empty", fix="use a maxval above minval"
        )
    fits(sizes, "randint", minval=low, maxval=high)
    bottom, (top, past) = _clip_bound(low, out_dtype, work)[0], _clip_bound(high, out_dtype, work, excluded=1)
    return (_offset(key, sizes, bottom, top, past, work).bitcast(work) + bottom).cast(out_dtype)


_INTS = (
    *(dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64),
    *(dtypes.int16, dtypes.uint16, dtypes.int8, dtypes.uint8),
)


def _int_bound(x: Vec[S] | int, name: str, dtype: DType) -> Vec[S] | int:
    """Return a bound as an int in the range of `dtype` (`maxval` may be one more), or as an int tensor."""
    if isinstance(x, Vec):
        if not dtypes.is_int(x.dtype):
            raise DrawTypeError(f"randint: {name} is {vec_type(x)}", fix="pass an int, or an int tensor")
        check_live(x.uop, "randint")
        return x
    n = as_int(x)
    if n is None:
        raise DrawTypeError(f"randint: {name} is {tree.describe(x)}", fix="pass an int, or an int tensor")
    if not dtype.min <= n <= dtype.max + (name == "maxval"):
        raise DrawError(
            f"randint: {name} = {n} is out of range for {dtype_name(dtype)}", fix="use another dtype, or another range"
        )
    return n


def _clip_bound(x: Vec[S] | int, dtype: DType, work: DType, excluded: int = 0) -> tuple[Vec[S] | int, Vec[S] | bool]:
    """Return a bound, clipped to the range of `dtype`, in `work`; and whether it is above the range of `work`.

    The range has `excluded` ints more at its end.
    """
    if isinstance(x, int):
        return min(x, int(work.max)), x > work.max
    if x.dtype not in dtypes.weaks and can_lossless_cast(x.dtype, dtype):
        return x.cast(work), False
    most = min(dtype.max + excluded, work.max)
    clipped = x.maximum(max(dtype.min, x.dtype.min)).minimum(min(most, x.dtype.max)).cast(work)
    return clipped, x > most if most < min(dtype.max + excluded, x.dtype.max) else False


def _offset(
    key: Vec[S], shape: tuple[int, ...], low: Vec[S1] | int, high: Vec[S2] | int, past: Vec[S2] | bool, work: DType
) -> Vec[S | S1 | S2]:
    """Sample an unsigned int below high - low, or from 0 to high - low if `past`.

    It is the remainder of an int with twice as many bits.
    """
    width = work.bitsize
    keys = split(key)
    upper, lower = raw_bits(keys[0], shape, width), raw_bits(keys[1], shape, width)
    if isinstance(low, int) and isinstance(high, int) and isinstance(past, bool):
        n = high - low + past
        if n == 1 << width:
            return lower
        half = (1 << (width // 2)) % n
        return (upper % n * (half * half % (1 << width) % n) + lower % n) % n
    span, every = _span(of_dtype(low, work), of_dtype(high, work), past)
    by = span.const_like(1 << (width // 2)) % span
    return every.where(lower, (upper % span * (by * by % span) + lower % span) % span)


def _span(low: Vec[S1], high: Vec[S2], past: Vec[S2] | bool) -> tuple[Vec[S1 | S2], Vec[S1 | S2]]:
    """Return high - low + past as an unsigned tensor (1 instead of 0), and whether the range includes every int."""
    unsigned = UNSIGNED[low.dtype.bitsize]
    span = (high <= low).where(1, high.bitcast(unsigned) - low.bitcast(unsigned) + past)
    every = span.eq(0)
    return every.where(1, span), every


def of_dtype(x: Vec[S] | float, dtype: DType) -> Vec[S]:
    """Return a number as a tensor of `dtype`, and a tensor unchanged."""
    return x if isinstance(x, Vec) else Tensor(x, dtype=dtype)
