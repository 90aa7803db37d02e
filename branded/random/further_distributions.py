"""Laplace, logistic, Pareto, Poisson and multivariate normal samples, and orthogonal matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, DTypeLike

from branded import tree
from branded.control_flow.loops import while_loop
from branded.core.brand import S, S1, S2
from branded.core.values import vec_type
from branded.errors import DrawError, DrawTypeError
from branded.functions._erf import below_one
from branded.functions.special import lgamma
from branded.graph.rows import check_live
from branded.linalg import cholesky, eigh, qr, svd
from branded.random.distributions import exponential, normal, smallest_normal
from branded.random.gammas import positive_parameter
from branded.random.keys import split
from branded.random.sampling import FLOATS, as_dtype, as_float, as_shape, fits, sampler, shape_of_all, unit
from branded.random.uniforms import uniform
from branded.vec import Vec


@sampler
def laplace(key: Vec[S], shape: Sequence[int] = (), dtype: DTypeLike = dtypes.float32) -> Vec[S]:
    """Sample Laplace values: the density is exp(-|x|) / 2.

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
        >>> round(random.laplace(random.key(0), (1000,)).abs().mean().item(), 1)
        1.0

    Source: `jax.random.laplace`.
    """
    sizes, out_dtype = as_shape(shape, "laplace"), as_dtype(dtype, "laplace", FLOATS)
    u = uniform(key, sizes, out_dtype, -below_one(out_dtype), 1.0)
    return u.sign() * (1 - u.abs()).log()


@sampler
def logistic(key: Vec[S], shape: Sequence[int] = (), dtype: DTypeLike = dtypes.float32) -> Vec[S]:
    """Sample logistic values: the density is exp(-x) / (1 + exp(-x))², so a value is below x with `sigmoid(x)`.

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
        >>> round((random.logistic(random.key(0), (1000,)) < 1.0).mean().item(), 2)  # sigmoid(1) is 0.73
        0.73

    Source: `jax.random.logistic`.
    """
    sizes, out_dtype = as_shape(shape, "logistic"), as_dtype(dtype, "logistic", FLOATS)
    u = uniform(key, sizes, out_dtype, smallest_normal(out_dtype), 1.0)
    return u.log() - (1 - u).log()


@sampler
def pareto(
    key: Vec[S], b: Vec[S1] | float, shape: Sequence[int] | None = None, dtype: DTypeLike = dtypes.float32
) -> Vec[S | S1]:
    """Sample Pareto values: the density is b x⁻ᵇ⁻¹ for x ≥ 1.

    Args:
        key: `Vec[S, u32[2]]`.
        b: The exponent, above 0: a number, or a tensor that broadcasts to `shape`.
        shape: The shape of one example; None uses the shape of `b`.
        dtype: `float32`, `float16`, `bfloat16` or `float64`.

    Returns:
        `Vec[S | S1, f32[*shape]]`, in the given `dtype`.  It is differentiable in `b`.

    Raises:
        DrawTypeError: `key` is not a key, `b` is not a number, `shape` is not a shape, or `dtype` is not supported.
        DrawError: `b` is a number that is not above 0, or does not broadcast to `shape`.

    Example:
        >>> from branded import random
        >>> round(random.pareto(random.key(0), 3.0, (1000,)).mean().item(), 1)  # b / (b - 1)
        1.5

    Source: `jax.random.pareto`.
    """
    exponent, out_dtype = positive_parameter("pareto", "b", b, shape, dtype)
    return (exponential(key, exponent.shape, out_dtype) / exponent).exp()


@sampler
def orthogonal(
    key: Vec[S],
    n: int,
    shape: Sequence[int] = (),
    dtype: DTypeLike = dtypes.float32,
    m: int | None = None,
) -> Vec[S]:
    """Sample orthogonal matrices, uniformly: rotating the samples does not change their distribution.

    Args:
        key: `Vec[S, u32[2]]`.
        n: The number of rows.
        shape: The shape of one example without the axes of the matrix.
        dtype: `float32` or `float64`.
        m: The number of columns; None for `n`.  The rows are orthonormal if n ≤ m, and the columns if m ≤ n.

    Returns:
        `Vec[S, f32[*shape, n, m]]`, in the given `dtype`.

    Raises:
        DrawTypeError: `key` is not a key, `n` or `m` is not an int, `shape` is not a shape,
            or `dtype` is not supported.
        DrawError: `n` or `m` is below 0.

    Example:
        >>> from branded import random
        >>> from tinygrad import Tensor
        >>> q = random.orthogonal(random.key(0), 4)
        >>> (q @ q.T - Tensor.eye(4)).abs().max().item() < 1e-6
        True

    Source: `jax.random.orthogonal`; F. Mezzadri, "How to generate random matrices from the classical compact groups"
        (2007).
    """
    out_dtype = as_dtype(dtype, "orthogonal", (dtypes.float32, dtypes.float64))
    rows, columns = as_shape((n, n if m is None else m), "orthogonal")
    tall = (max(rows, columns), min(rows, columns))
    z = normal(key, (*as_shape(shape, "orthogonal"), *tall), out_dtype)
    if not tall[1]:
        return z.reshape(*z.shape[:-2], rows, columns)
    q, r = qr(z)
    turned = q * r.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)
    return turned.transpose(-1, -2) if rows < columns else turned


_INTS = (dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64, dtypes.int16, dtypes.uint16)


@sampler
def poisson(
    key: Vec[S], lam: Vec[S1] | float, shape: Sequence[int] | None = None, dtype: DTypeLike = dtypes.int32
) -> Vec[S | S1]:
    """Sample Poisson values: the probability of k is λᵏ exp(-λ) / k!.

    Args:
        key: `Vec[S, u32[2]]`.
        lam: The mean, at least 0: a number, or a tensor that broadcasts to `shape`.
        shape: The shape of one example; None uses the shape of `lam`.
        dtype: An int dtype that can hold the samples.

    Returns:
        `Vec[S | S1, i32[*shape]]`, in the given `dtype`.  Larger values are clipped to the maximum of the dtype.
        Elements of a tensor `lam` that are not a valid mean give -1.

    Raises:
        DrawTypeError: `key` is not a key, `lam` is not a number, `shape` is not a shape,
            or `dtype` is not an int dtype.
        DrawError: `lam` is a number below 0 or not finite, or does not broadcast to `shape`.

    Example:
        >>> from branded import random
        >>> random.poisson(random.key(42), 3.0, (6,)).tolist()
        [6, 2, 2, 1, 5, 2]

    Source: `jax.random.poisson`: D. Knuth's products of uniform samples for means below 10, and W. Hörmann's
        transformed rejection (1993) for larger means.
    """
    checked_key = cast(Tensor, key)
    out_dtype = as_dtype(dtype, "poisson", _INTS)
    rate = as_float(lam, "poisson", "lam", dtypes.float32)
    constant = rate if isinstance(rate, float) else None
    if constant is not None and not 0 <= constant < math.inf:
        raise DrawError(f"poisson: lam = {constant:g} is not a mean", fix="pass a finite number of 0 or more")
    mean = Tensor(rate, dtype=dtypes.float32) if isinstance(rate, float) else rate
    sizes = mean.shape if shape is None else as_shape(shape, "poisson")
    fits(sizes, "poisson", lam=mean)
    mean = cast(Tensor, mean.expand(sizes)).detach()
    if not math.prod(sizes):
        return mean.cast(out_dtype)
    small = mean < 10
    ways = []
    if constant is None or constant < 10:
        ways.append(_knuth(checked_key, small.where(mean, 0)).cast(out_dtype))
    if constant is None or constant >= 10:
        ways.append(
            _clip_to_dtype(
                _sample_by_rejection(checked_key, (small | mean.isfinite().logical_not()).where(1e5, mean)), out_dtype
            )
        )
    drawn = ways[0] if len(ways) == 1 else small.where(ways[0], ways[1])
    meaningless = mean.isfinite().logical_not() | (mean < 0)
    return mean.eq(0).where(0, meaningless.where(Tensor(-1).cast(out_dtype), drawn))


def _knuth(key: Tensor, mean: Tensor) -> Tensor:
    """Count the uniform samples whose product is above exp(-mean)."""

    def more(state: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        return (state[2] > -mean).any()

    def step(state: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        k, key, product = state
        keys = split(key)
        return (
            (product > -mean).where(k + 1, k),
            keys[0],
            product + unit(keys[1], mean.shape, dtypes.float32).log(),
        )

    count = mean.cast(dtypes.int32) * 0
    return while_loop(more, step, (count, key, mean * 0))[0] - 1


def _sample_by_rejection(key: Tensor, mean: Tensor) -> Tensor:
    b = 0.931 + 2.53 * mean.sqrt()
    a = -0.059 + 0.02483 * b
    inverse = 1.1239 + 1.1328 / (b - 3.4)
    ratio = 0.9277 - 3.6224 / (b - 2)

    def more(state: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        return state[1].logical_not().any()

    def step(state: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        drawn, accepted, key = state
        keys = split(key, 3)
        u = unit(keys[1], mean.shape, dtypes.float32) - 0.5
        v = unit(keys[2], mean.shape, dtypes.float32)
        edge = 0.5 - u.abs()
        k = ((2 * a / edge + b) * u + mean + 0.43).floor()
        s = (v * inverse / (a / (edge * edge) + b)).log()
        likely = -mean + k * mean.log() - lgamma(k + 1)
        quick = (edge >= 0.07) & (v <= ratio)
        out = (k < 0) | ((edge < 0.013) & (v > edge))
        accepts = quick | (out.logical_not() & (s <= likely))
        return accepts.where(k, drawn), accepted | accepts, keys[0]

    start = (mean * 0 - 1, mean < 0, key)
    return while_loop(more, step, start)[0]


def _clip_to_dtype(k: Tensor, dtype: DType) -> Tensor:
    """Convert whole numbers of at least 0 to `dtype`, clipped to its maximum."""
    past = 2.0 ** (dtype.bitsize - (not dtypes.is_unsigned(dtype)))
    return (k >= past).where(Tensor(dtype.max, dtype=dtype), k.minimum(past * (1 - 2.0**-24)).cast(dtype))


@sampler
def multivariate_normal(
    key: Vec[S],
    mean: Vec[S1],
    cov: Vec[S2],
    shape: Sequence[int] | None = None,
    dtype: DTypeLike = dtypes.float32,
    method: str = "cholesky",
) -> Vec[S | S1 | S2]:
    """Sample normal vectors with the given mean and covariance: `mean + factor @ z` with standard normal `z`.

    Args:
        key: `Vec[S, u32[2]]`.
        mean: `Vec[S1, f32[..., n]]`.
        cov: `Vec[S2, f32[..., n, n]]`, symmetric and positive definite; other matrices give NaN.
        shape: The shape of one example without the last axis; None broadcasts `mean` and `cov`.
        dtype: `float32` or `float64`.
        method: The factorization of `cov`: `"cholesky"`, or `"eigh"` or `"svd"`, which also accept a singular matrix.

    Returns:
        `Vec[S | S1 | S2, f32[*shape, n]]`, in the given `dtype`.  It is differentiable in `mean` and `cov`.

    Raises:
        DrawTypeError: `key` is not a key, `mean` or `cov` is not a tensor, `shape` is not a shape,
            or `dtype` is not supported.
        DrawError: `mean` and `cov` do not fit each other or `shape`, or `method` does not exist.

    Example:
        >>> from branded import random
        >>> from tinygrad import Tensor
        >>> mean, cov = Tensor([1.0, 2.0]), Tensor([[2.0, 1.0], [1.0, 2.0]])
        >>> x = random.multivariate_normal(random.key(0), mean, cov, (2000,))
        >>> ((x - mean).T @ (x - mean) / 2000 - cov).abs().max().item() < 0.15
        True

    Source: `jax.random.multivariate_normal`.
    """
    api_name = "multivariate_normal"
    out_dtype = as_dtype(dtype, api_name, (dtypes.float32, dtypes.float64))
    for name, x in (("mean", mean), ("cov", cov)):
        if not isinstance(x, Tensor) or x.dtype == dtypes.bool:
            raise DrawTypeError(f"{api_name}: {name} is {tree.describe(x)}", fix="pass a tensor of floats")
        check_live(x.uop, api_name)
    if method not in ("cholesky", "eigh", "svd"):
        raise DrawError(f"{api_name}: method is {tree.describe(method)}", fix="pass 'cholesky', 'eigh' or 'svd'")
    if not mean.shape or cov.shape[-2:] != (mean.shape[-1],) * 2:
        facts = (("mean", vec_type(mean)), ("cov", vec_type(cov)))
        raise DrawError(
            f"{api_name}: mean and cov do not fit each other", *facts, fix="pass mean: f32[n] and cov: f32[n, n]"
        )
    center, spread = mean.cast(out_dtype), cov.cast(out_dtype)
    batches = center.shape[:-1], spread.shape[:-2]
    batch = shape_of_all(api_name, "shapes", *batches) if shape is None else as_shape(shape, api_name)
    n = center.shape[-1]
    fits((*batch, n), api_name, mean=center)
    fits((*batch, n, n), api_name, cov=spread)
    z = normal(key, (*batch, n), out_dtype)
    moved: Vec[S | S2] = (_factor(spread, method) * z.unsqueeze(-2)).sum(-1)
    return center + moved


def _factor(cov: Vec[S], method: str) -> Vec[S]:
    """Return a matrix whose product with its transpose is `cov`."""
    if method == "eigh":
        w, v = eigh(cov)
        return v * w.sqrt().unsqueeze(-2)
    if method == "svd":
        u, s, _ = svd(cov)
        return u * s.sqrt().unsqueeze(-2)
    return cholesky(cov)
