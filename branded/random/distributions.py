"""Distributions computed from uniform samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, DTypeLike

from branded.autodiff.smooth_functions import UNARY
from branded.core.brand import S, S1, S2
from branded.errors import DrawError
from branded.functions._erf import below_one, erfinv, next_above
from branded.random.sampling import FLOATS, as_dtype, as_float, as_shape, fits, sampler, shape_of_all, unit
from branded.random.uniforms import between, of_dtype
from branded.vec import Vec


@sampler
def normal(key: Vec[S], shape: Sequence[int] = (), dtype: DTypeLike = dtypes.float32) -> Vec[S]:
    """Sample normal values with mean 0 and variance 1: the density is exp(-x²/2) / √2π.

    Args:
        key: `Vec[S, u32[2]]`.
        shape: The shape of one example.
        dtype: `float32`, `float16`, `bfloat16` or `float64`.

    Returns:
        `Vec[S, f32[*shape]]`, in the given `dtype`.

    Raises:
        DrawTypeError: `key` is not a key, `shape` is not a shape, or `dtype` is not supported.

    Example:
        >>> from branded import random, vmap
        >>> noise = vmap(lambda k: random.normal(k, (3,)))(random.split(random.key(0), 5))
        >>> noise.shape
        (5, 3)

    Source: `jax.random.normal`: the inverse normal distribution function of a uniform sample.
    """
    sizes, out_dtype = as_shape(shape, "normal"), as_dtype(dtype, "normal", FLOATS)
    u = between(unit(key, sizes, out_dtype), -below_one(out_dtype), 1.0, out_dtype)
    return erfinv(u) * math.sqrt(2)


@sampler
def truncated_normal(
    key: Vec[S],
    lower: Vec[S1] | float,
    upper: Vec[S2] | float,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike = dtypes.float32,
) -> Vec[S | S1 | S2]:
    """Sample normal values between `lower` and `upper`, where the density is proportional to exp(-x²/2).

    Args:
        key: `Vec[S, u32[2]]`.
        lower: The lower bound: a number, or a tensor of floats `Vec[S1, f32[...]]`.
        upper: The upper bound, in the same forms.  Ranges completely beyond about ±4 have few float32 values.
        shape: The shape of one example; None uses the shape of the bounds.
        dtype: `float32`, `float16`, `bfloat16` or `float64`.

    Returns:
        `Vec[S | S1 | S2, f32[*shape]]`, strictly between the bounds.  It is differentiable in the bounds.

    Raises:
        DrawTypeError: `key` is not a key, a bound is not a number, `shape` is not a shape, or `dtype` is not supported.
        DrawError: The bounds do not broadcast to `shape`, or `lower` is not below `upper`.

    Example:
        >>> from branded import random
        >>> x = random.truncated_normal(random.key(0), -1.0, 2.0, (1000,))
        >>> ((x > -1.0) & (x < 2.0)).all().item()
        True

    Source: `jax.random.truncated_normal`.
    """
    out_dtype = as_dtype(dtype, "truncated_normal", FLOATS)
    low = as_float(lower, "truncated_normal", "lower", out_dtype)
    high = as_float(upper, "truncated_normal", "upper", out_dtype)
    if isinstance(low, float) and isinstance(high, float) and not low < high:
        raise DrawError(f"truncated_normal: lower {low} is not below upper {high}", fix="pass the lower bound first")
    bounds = [x.shape for x in (low, high) if isinstance(x, Vec)]
    sizes = (
        shape_of_all("truncated_normal", "bounds", *bounds) if shape is None else as_shape(shape, "truncated_normal")
    )
    fits(sizes, "truncated_normal", lower=low, upper=high)
    bottom, top = of_dtype(low, out_dtype), of_dtype(high, out_dtype)
    a, b = (UNARY["erf"](cast(Tensor, x) / math.sqrt(2)) for x in (bottom, top))
    edge = below_one(out_dtype)  # at 1 itself the inverse is infinite
    x = erfinv(between(unit(key, sizes, out_dtype), a, b, out_dtype).clamp(-edge, edge)) * math.sqrt(2)
    return x.maximum(next_above(bottom)).minimum(-next_above(-top))


@sampler
def exponential(key: Vec[S], shape: Sequence[int] = (), dtype: DTypeLike = dtypes.float32) -> Vec[S]:
    """Sample exponential values with mean 1: the density is exp(-x) for x ≥ 0.

    Args:
        key: `Vec[S, u32[2]]`.
        shape: The shape of one example.
        dtype: `float32`, `float16`, `bfloat16` or `float64`.

    Returns:
        `Vec[S, f32[*shape]]`, in the given `dtype`.

    Raises:
        DrawTypeError: `key` is not a key, `shape` is not a shape, or `dtype` is not supported.

    Example:
        >>> from branded import random
        >>> x = random.exponential(random.key(0), (1000,))
        >>> (x >= 0).all().item(), round(x.mean().item(), 2)
        (True, 0.98)

    Source: `jax.random.exponential`.
    """
    sizes, out_dtype = as_shape(shape, "exponential"), as_dtype(dtype, "exponential", FLOATS)
    return -(1 - unit(key, sizes, out_dtype)).log()


@sampler
def gumbel(key: Vec[S], shape: Sequence[int] = (), dtype: DTypeLike = dtypes.float32) -> Vec[S]:
    """Sample Gumbel values: `(logits + gumbel).argmax()` has the distribution `softmax(logits)`.

    Args:
        key: `Vec[S, u32[2]]`.
        shape: The shape of one example.
        dtype: `float32`, `float16`, `bfloat16` or `float64`.

    Returns:
        `Vec[S, f32[*shape]]`, in the given `dtype`, with the density exp(-x - exp(-x)).

    Raises:
        DrawTypeError: `key` is not a key, `shape` is not a shape, or `dtype` is not supported.

    Example:
        >>> from branded import random
        >>> round(random.gumbel(random.key(0), (1000,)).mean().item(), 2)  # Euler's constant
        0.56

    Source: `jax.random.gumbel` with mode "low".
    """
    sizes, out_dtype = as_shape(shape, "gumbel"), as_dtype(dtype, "gumbel", FLOATS)
    return -(-between(unit(key, sizes, out_dtype), smallest_normal(out_dtype), 1.0, out_dtype).log()).log()


def smallest_normal(dtype: DType) -> float:
    """Return the smallest positive normal number of a dtype."""
    exponent, _ = dtypes.finfo(dtype)
    return math.ldexp(1.0, 2 - (1 << (exponent - 1)))
