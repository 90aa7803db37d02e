"""Gamma samples, and the beta, Dirichlet and t samples computed from them.

Each gamma value is sampled by rejection with its own key, in a loop that ends when the last value is accepted.  The
derivative with respect to the parameter is implicit: it keeps the probability of a smaller sample constant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, DTypeLike

from branded.autodiff.custom_rules.custom_derivatives import custom_jvp
from branded.control_flow.loops import while_loop
from branded.core.brand import S, S1, S2
from branded.core.values import vec_type
from branded.core.vmap import vmap
from branded.errors import DrawError, DrawTypeError
from branded.functions.special import digamma
from branded.graph.uops import widen
from branded.random.distributions import exponential, normal
from branded.random.keys import split
from branded.random.sampling import FLOATS, as_dtype, as_float, as_shape, fits, sampler, shape_of_all, unit
from branded.vec import Vec


def _one_sample(key: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor]:
    """Sample a gamma value as a product: a gamma value for `alpha`, or `alpha + 1` if `alpha` < 1, and a log factor."""
    dtype = alpha.dtype
    meaningless = alpha.isnan() | (alpha < 0)  # no proposal would be accepted
    alpha = meaningless.where(1, alpha)
    large = alpha >= 1
    d = large.where(alpha, alpha + 1) - 1 / 3
    c = (1 / 3) / d.sqrt()
    keys = split(key)

    def more(state: tuple[Tensor, ...]) -> Tensor:
        return state[-1].logical_not()

    def step(state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Propose a cube root of V; a proposal below 0 is sampled again with the same U."""
        key, x_key, u_key, is_new, _, _ = state
        three = split(key, 3)
        key, x_key, u_key = (is_new.where(a, b) for a, b in zip((three[0], three[1], three[2]), state[:3], strict=True))
        two = split(x_key)
        x = normal(two[1], (), dtype)
        v = 1 + x * c
        inside = v > 0
        square, cube = x * x, inside.where(v * v * v, 1)
        u = unit(u_key, (), dtype)
        fast = u < 1 - 0.0331 * (square * square)
        accepted = inside & (fast | (u.log() < square * 0.5 + d * (1 - cube + cube.log())))
        return key, two[0], u_key, inside, cube, accepted

    zero = Tensor([0, 0], dtype=dtypes.uint32)
    start = (keys[0], zero, zero, large | True, alpha * 0 + 1, large & False)
    cube = while_loop(more, step, start)[4]
    boost = exponential(keys[1], (), dtype)
    return meaningless.where(float("nan"), d * cube), large.where(0, -boost / alpha)


def _factors(key: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
    """Return the two factors of `_one_sample` for each element of `a`, with a key for each element."""
    if not a.numel():
        return a, a
    mapped: Any = vmap(cast(Any, _one_sample))
    base, rest = mapped(split(key, a.numel()), a.flatten())
    return base.reshape(a.shape), rest.reshape(a.shape)


@custom_jvp
def _gamma(key: Tensor, a: Tensor) -> Tensor:
    base, rest = _factors(key, a)
    return base * rest.exp()


@_gamma.defjvp
def _gamma_rule(primals: tuple[Tensor, Tensor], tangents: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    y, log_y = _gamma(*primals), _loggamma(*primals)
    return y, tangents[1] * y * slope(primals[1], log_y)


@custom_jvp
def _loggamma(key: Tensor, a: Tensor) -> Tensor:
    base, rest = _factors(key, a)
    return base.log() + rest


@_loggamma.defjvp
def _loggamma_rule(primals: tuple[Tensor, Tensor], tangents: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    y = _loggamma(*primals)
    return y, tangents[1] * slope(primals[1], y)


_STEP = 0.125
_NODES = [k * _STEP for k in range(-37, 38)]
_AT = [math.exp(u - math.exp(-u)) for u in _NODES]
_WEIGHTS = [x * (1 + math.exp(-u)) * _STEP for u, x in zip(_NODES, _AT, strict=True)]
"""Quadrature of exponentially decaying f from 0 to ∞, Σ weight f(at), by the double exponential formula
(Takahasi and Mori)."""


def slope(a: Tensor, log_x: Tensor) -> Tensor:
    """Return ∂(log x)/∂a of a gamma sample x: -(∂P/∂a) / (x p), with P the probability below x.

    ∂P/∂a is an integral from 0 to x, or from x to ∞ with the opposite sign.  The integral whose integrand does not
    change sign is used, so that no digits cancel.  For very small x, the first one loses hardly any digits.
    """
    dtype = a.dtype
    a, log_x = (widen(t) for t in (a, log_x))
    large = a > (1e3 if a.dtype == dtypes.float32 else 1e4)
    by_series = _slope_of_large(large.where(a, 1e6), large.where(log_x, math.log(1e6)))
    a, log_x = large.where(1, a), large.where(0, log_x)
    nodes, weights = Tensor(_AT, dtype=a.dtype), Tensor(_WEIGHTS, dtype=a.dtype)
    x, apart = log_x.exp(), log_x - digamma(a)
    below = (apart < 0) | (x < 1e-4)
    a, x, apart = (t.unsqueeze(-1) for t in (a, below.where(x.minimum(a), x.maximum(1e-4)), apart))
    # t = x exp(-r); the integral does not depend on the step size
    size = (1 / ((a - x).maximum(0) + x.sqrt() + 0.1 * a)).detach()
    r = size * nodes
    down = (r - apart) * (x * (1 - (-r).exp()) - a * r).exp() * size
    # t = x + w
    size = (1 / ((1 - (a - 1) / x).clamp(0, 1) + (a - 1).maximum(0).sqrt() / x + 0.05)).detach()
    far = (size * nodes / x + 1).log()
    up = (apart + far) * ((a - 1) * far - size * nodes).exp() * (size / x)
    by_integral = (below.unsqueeze(-1).where(down, up) * weights).sum(-1)
    return large.where(by_series, by_integral).cast(dtype)


def _slope_of_large(a: Tensor, log_x: Tensor) -> Tensor:
    """Return the same slope for large `a`, where the integrands are too narrow (1/√a) for the quadrature.

    x = a + z √a + c₁ + c₂ / √a + ...; z is a normal sample, and each cₖ is a polynomial in z.  So dx/da is known for
    a fixed z.  (E. Cornish and R. Fisher, 1938)
    """
    x, s = log_x.exp(), a.sqrt()
    w = (x - a) / s
    z = w
    for _ in range(5):
        z = w - sum(c / s**k for k, c in enumerate(_coefficients(z), 1))
    moved = sum((1 - k) / 2 * c / s ** (k + 1) for k, c in enumerate(_coefficients(z), 1))
    return (1 + z / 2 / s + moved) / x


def _coefficients(z: Tensor) -> tuple[Tensor, ...]:
    square = z * z
    return (
        (square - 1) / 3,
        z * (square - 7) / 36,
        -((3 * square + 7) * square - 16) / 810,
        z * ((9 * square + 256) * square - 433) / 38880,
    )


def positive_parameter(
    api_name: str, name: str, x: Vec[S] | float, shape: Sequence[int] | None, dtype: DTypeLike
) -> tuple[Tensor, DType]:
    """Return a parameter above 0, expanded to the shape of the sample, and its dtype."""
    out_dtype = as_dtype(dtype, api_name, FLOATS)
    parameter = as_float(x, api_name, name, out_dtype)
    if isinstance(parameter, float):
        if not 0 < parameter < math.inf:
            raise DrawError(f"{api_name}: {name} = {parameter:g} is not above 0", fix="pass a number above 0")
        parameter = Tensor(parameter, dtype=out_dtype)
    sizes = parameter.shape if shape is None else as_shape(shape, api_name)
    fits(sizes, api_name, **{name: parameter})
    return cast(Tensor, parameter.expand(sizes)), out_dtype


@sampler
def gamma(
    key: Vec[S], a: Vec[S1] | float, shape: Sequence[int] | None = None, dtype: DTypeLike = dtypes.float32
) -> Vec[S | S1]:
    """Sample gamma values: the density is proportional to xᵃ⁻¹ exp(-x) for x ≥ 0.

    Args:
        key: `Vec[S, u32[2]]`.
        a: The parameter, above 0: a number, or a tensor that broadcasts to `shape`.
        shape: The shape of one example; None uses the shape of `a`.
        dtype: `float32`, `float16`, `bfloat16` or `float64`.

    Returns:
        `Vec[S | S1, f32[*shape]]`, in the given `dtype`; NaN for elements of a tensor `a` that are below 0
        or NaN.  It is differentiable in `a`.

    Raises:
        DrawTypeError: `key` is not a key, `a` is not a number, `shape` is not a shape, or `dtype` is not supported.
        DrawError: `a` is a number that is not above 0, or does not broadcast to `shape`.

    Example:
        >>> from branded import random
        >>> x = random.gamma(random.key(0), 3.0, (1000,))
        >>> round(x.mean().item(), 1)
        3.0

    Source: `jax.random.gamma`; G. Marsaglia and W. Tsang, "A simple method for generating gamma variables" (2000).
    """
    checked_key = cast(Tensor, key)
    alpha, _ = positive_parameter("gamma", "a", a, shape, dtype)
    return _gamma(checked_key, alpha)


@sampler
def loggamma(
    key: Vec[S], a: Vec[S1] | float, shape: Sequence[int] | None = None, dtype: DTypeLike = dtypes.float32
) -> Vec[S | S1]:
    """Sample the logarithms of gamma values, which stay precise where gamma values underflow.

    Args:
        key: `Vec[S, u32[2]]`.
        a: The parameter, above 0: a number, or a tensor that broadcasts to `shape`.
        shape: The shape of one example; None uses the shape of `a`.
        dtype: `float32`, `float16`, `bfloat16` or `float64`.

    Returns:
        `Vec[S | S1, f32[*shape]]`, in the given `dtype`: `gamma(key, a).log()`.

    Raises:
        DrawTypeError: `key` is not a key, `a` is not a number, `shape` is not a shape, or `dtype` is not supported.
        DrawError: `a` is a number that is not above 0, or does not broadcast to `shape`.

    Example:
        >>> from branded import random
        >>> random.loggamma(random.key(0), 0.001).item() < -80
        True

    Source: `jax.random.loggamma`.
    """
    checked_key = cast(Tensor, key)
    alpha, _ = positive_parameter("loggamma", "a", a, shape, dtype)
    return _loggamma(checked_key, alpha)


@sampler
def beta(
    key: Vec[S],
    a: Vec[S1] | float,
    b: Vec[S2] | float,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike = dtypes.float32,
) -> Vec[S | S1 | S2]:
    """Sample beta values: the density is proportional to xᵃ⁻¹ (1 - x)ᵇ⁻¹ from 0 to 1.

    Args:
        key: `Vec[S, u32[2]]`.
        a: The first parameter, above 0: a number, or a tensor that broadcasts to `shape`.
        b: The second parameter, in the same forms.
        shape: The shape of one example; None broadcasts the shapes of `a` and `b`.
        dtype: `float32`, `float16`, `bfloat16` or `float64`.

    Returns:
        `Vec[S | S1 | S2, f32[*shape]]`, in the given `dtype`.  It is differentiable in `a` and `b`.

    Raises:
        DrawTypeError: `key` is not a key, a parameter is not a number, `shape` is not a shape,
            or `dtype` is not supported.
        DrawError: A parameter is a number that is not above 0, or the parameters do not broadcast.

    Example:
        >>> from branded import random
        >>> round(random.beta(random.key(0), 1.0, 3.0, (1000,)).mean().item(), 2)
        0.25

    Source: `jax.random.beta`.
    """
    checked_key = cast(Tensor, key)
    if shape is None:
        shape = shape_of_all("beta", "parameters", *(x.shape for x in (a, b) if isinstance(x, Vec)))
    x, _ = positive_parameter("beta", "a", a, shape, dtype)
    y, _ = positive_parameter("beta", "b", b, shape, dtype)
    keys = split(checked_key)
    p, q = _loggamma(keys[0], x), _loggamma(keys[1], y)
    odds = p - q
    # of the two equal formulas, use the one whose derivative does not overflow
    small = odds < 0
    tail = small.where(odds, -odds).exp()
    return small.where(tail, 1) / (1 + tail)


@sampler
def dirichlet(
    key: Vec[S], alpha: Vec[S1], shape: Sequence[int] | None = None, dtype: DTypeLike = dtypes.float32
) -> Vec[S | S1]:
    """Sample probability vectors: the density is proportional to the product of pᵢ to the power of αᵢ - 1.

    Args:
        key: `Vec[S, u32[2]]`.
        alpha: `Vec[S1, f32[..., n]]`, above 0.
        shape: The shape of one example without the last axis; None uses the shape of `alpha`.
        dtype: `float32`, `float16`, `bfloat16` or `float64`.

    Returns:
        `Vec[S | S1, f32[*shape, n]]`, whose last axis sums to 1.  It is differentiable in `alpha`.

    Raises:
        DrawTypeError: `key` is not a key, `alpha` is not a tensor with an axis, `shape` is not a shape, or `dtype` is
            not supported.
        DrawError: `alpha` does not broadcast to `shape`.

    Example:
        >>> from branded import random
        >>> from tinygrad import Tensor
        >>> p = random.dirichlet(random.key(0), Tensor([1.0, 2.0, 3.0]), (500,))
        >>> p.shape, (p.sum(-1) - 1).abs().max().item() < 1e-6
        ((500, 3), True)

    Source: `jax.random.dirichlet`.
    """
    checked_key = cast(Tensor, key)
    if not isinstance(alpha, Tensor) or not alpha.ndim:
        text = vec_type(alpha) if isinstance(alpha, Tensor) else type(alpha).__name__
        raise DrawTypeError(f"dirichlet: alpha is {text}", fix="pass a tensor with an axis of parameters")
    sizes = None if shape is None else (*as_shape(shape, "dirichlet"), alpha.shape[-1])
    x, _ = positive_parameter("dirichlet", "alpha", alpha, sizes, dtype)
    return _loggamma(checked_key, x).softmax(-1)


@sampler
def t(
    key: Vec[S], df: Vec[S1] | float, shape: Sequence[int] | None = None, dtype: DTypeLike = dtypes.float32
) -> Vec[S | S1]:
    """Sample Student's t values: normal samples divided by the root of scaled gamma samples.

    Args:
        key: `Vec[S, u32[2]]`.
        df: The degrees of freedom, above 0: a number, or a tensor that broadcasts to `shape`.
        shape: The shape of one example; None uses the shape of `df`.
        dtype: `float32`, `float16`, `bfloat16` or `float64`.

    Returns:
        `Vec[S | S1, f32[*shape]]`, in the given `dtype`.  It is differentiable in `df`.

    Raises:
        DrawTypeError: `key` is not a key, `df` is not a number, `shape` is not a shape, or `dtype` is not supported.
        DrawError: `df` is a number that is not above 0, or does not broadcast to `shape`.

    Example:
        >>> from branded import random
        >>> x = random.t(random.key(0), 5.0, (1000,))
        >>> abs(x.mean().item()) < 0.1
        True

    Source: `jax.random.t`.
    """
    checked_key = cast(Tensor, key)
    freedom, out_dtype = positive_parameter("t", "df", df, shape, dtype)
    keys = split(checked_key)
    half = freedom / 2
    return normal(keys[0], freedom.shape, out_dtype) * (half / _gamma(keys[1], half)).sqrt()


@sampler
def chisquare(
    key: Vec[S], df: Vec[S1] | float, shape: Sequence[int] | None = None, dtype: DTypeLike = dtypes.float32
) -> Vec[S | S1]:
    """Sample chi-squared values: the distribution of the sum of `df` squared standard normal values.

    Args:
        key: `Vec[S, u32[2]]`.
        df: The degrees of freedom, above 0: a number, or a tensor that broadcasts to `shape`.
        shape: The shape of one example; None uses the shape of `df`.
        dtype: `float32`, `float16`, `bfloat16` or `float64`.

    Returns:
        `Vec[S | S1, f32[*shape]]`, in the given `dtype`.  It is differentiable in `df`.

    Raises:
        DrawTypeError: `key` is not a key, `df` is not a number, `shape` is not a shape, or `dtype` is not supported.
        DrawError: `df` is a number that is not above 0, or does not broadcast to `shape`.

    Example:
        >>> from branded import random
        >>> round(random.chisquare(random.key(0), 3.0, (1000,)).mean().item(), 1)
        3.0

    Source: `jax.random.chisquare`.
    """
    checked_key = cast(Tensor, key)
    freedom, _ = positive_parameter("chisquare", "df", df, shape, dtype)
    return 2 * _gamma(checked_key, freedom / 2)
