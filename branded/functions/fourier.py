"""Fourier transforms.  tinygrad has no complex dtypes, so a complex array is a pair: real and imaginary part.

A transform of n entries is a product with a small matrix for each factor of n, with twiddle factors in between
(Cooley-Tukey).  If n has a large prime factor, it is a convolution whose size is a power of two (Bluestein).
"""

from __future__ import annotations

import functools
import itertools
import math
from array import array
from typing import Any

from tinygrad import Tensor

from branded import tree
from branded.core.brand import S
from branded.core.tracing.recorded_calls import operation
from branded.core.validation.arguments import normalize_axis
from branded.core.values import vec_type
from branded.errors import ArgumentError, OperandError
from branded.functions import _host
from branded.functions._validation import floats, number, one_of
from branded.graph.uops import widen
from branded.vec import Vec

Pair = tuple[Tensor, Tensor]
_NORMS = ("backward", "ortho", "forward")


@operation
def fft(
    a: Vec[S] | tuple[Vec[S], Vec[S]], n: int | None = None, axis: int = -1, norm: str | None = None
) -> tuple[Vec[S], Vec[S]]:
    """Compute the Fourier transform along an axis: `out[k] = Σⱼ a[j] exp(-2πi j k / n)`.

    Args:
        a: `Vec[S, f32[..., m]]`, or a pair of such tensors: the real and the imaginary part.
        n: The length of the transform: `a` is truncated or padded with 0; None for m.
        axis: The axis to transform.
        norm: `"backward"` or None divides the inverse by n, `"forward"` divides `fft` by n, `"ortho"` both by √n.

    Returns:
        The real and the imaginary part, `Vec[S, f32[..., n]]` each.

    Raises:
        OperandError: `a` is neither a tensor nor a pair of tensors.
        ArgumentError: The parts have different shapes, the length is 0, or `norm` is unknown.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import fft
        >>> from tinygrad import Tensor
        >>> re, im = fft(Tensor([1.0, 0.0, -1.0, 0.0]))
        >>> re.round().int().tolist()
        [0, 2, 0, 2]

    Source: `jax.numpy.fft.fft`; J. Cooley and J. Tukey (1965), L. Bluestein (1970).
    """
    return _transform(a, n, axis, norm, "fft", -1)


@operation
def ifft(
    a: Vec[S] | tuple[Vec[S], Vec[S]], n: int | None = None, axis: int = -1, norm: str | None = None
) -> tuple[Vec[S], Vec[S]]:
    """Compute the inverse of `fft`: `out[j] = Σₖ a[k] exp(2πi j k / n) / n`.

    Args:
        a: `Vec[S, f32[..., m]]`, or a pair of such tensors: the real and the imaginary part.
        n: The length of the transform: `a` is truncated or padded with 0; None for m.
        axis: The axis to transform.
        norm: `"backward"` or None divides the inverse by n, `"forward"` divides `fft` by n, `"ortho"` both by √n.

    Returns:
        The real and the imaginary part, `Vec[S, f32[..., n]]` each.

    Raises:
        OperandError: `a` is neither a tensor nor a pair of tensors.
        ArgumentError: The parts have different shapes, the length is 0, or `norm` is unknown.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import fft, ifft
        >>> from tinygrad import Tensor
        >>> re, im = ifft(fft(Tensor([1.0, 2.0, 3.0])))
        >>> re.round().tolist()
        [1.0, 2.0, 3.0]

    Source: `jax.numpy.fft.ifft`.
    """
    return _transform(a, n, axis, norm, "ifft", 1)


@operation
def rfft(a: Vec[S], n: int | None = None, axis: int = -1, norm: str | None = None) -> tuple[Vec[S], Vec[S]]:
    """Compute the first half of the `fft` of real numbers; the second half is its complex conjugate.

    Args:
        a: `Vec[S, f32[..., m]]`.
        n: The length of the transform: `a` is truncated or padded with 0; None for m.
        axis: The axis to transform.
        norm: As in `fft`.

    Returns:
        The real and the imaginary part, `Vec[S, f32[..., n // 2 + 1]]` each.

    Raises:
        OperandError: `a` is not a tensor.
        ArgumentError: The length is 0, or `norm` is unknown.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import rfft
        >>> from tinygrad import Tensor
        >>> re, im = rfft(Tensor([0.0, 1.0, 0.0, -1.0]))
        >>> re.shape, im.round().int().tolist()
        ((3,), [0, -2, 0])

    Source: `jax.numpy.fft.rfft`.
    """
    argument: Any = a
    if isinstance(argument, tuple | list):
        raise OperandError(
            f"rfft: a is {tree.describe(a)}", fix="pass a tensor of real numbers, or use fft for the pair"
        )
    return _transform(a, n, axis, norm, "rfft", -1)


@operation
def irfft(a: tuple[Vec[S], Vec[S]], n: int | None = None, axis: int = -1, norm: str | None = None) -> Vec[S]:
    """Compute the inverse of `rfft`: the real numbers whose transform begins with `a`.

    Args:
        a: A pair of `Vec[S, f32[..., m]]`: the real and the imaginary part.
        n: The length of the result; 2 (m - 1) by default.
        axis: The axis to transform.
        norm: As in `fft`.

    Returns:
        `Vec[S, f32[..., n]]`.

    Raises:
        OperandError: `a` is not a pair of tensors.
        ArgumentError: The parts have different shapes, the length is 0, or `norm` is unknown.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import irfft, rfft
        >>> from tinygrad import Tensor
        >>> irfft(rfft(Tensor([1.0, 2.0, 3.0])), n=3).round().tolist()
        [1.0, 2.0, 3.0]

    Source: `jax.numpy.fft.irfft`.
    """
    re, im = _pair(a, "irfft")
    dim = normalize_axis(axis, re, "irfft")
    size = number(2 * (re.shape[dim] - 1) if n is None else n, "irfft", "n", 1)
    re, im = (_resize_last(t.transpose(dim, -1), size // 2 + 1) for t in (re, im))
    if _host.can_transform(re, size):
        (out,) = _host.transform("irfft", size, re, im)
    else:
        behind = (size + 1) // 2
        re = re.cat(re[..., 1:behind].flip(-1), dim=-1) if behind > 1 else re
        im = im.cat(-im[..., 1:behind].flip(-1), dim=-1) if behind > 1 else im
        out, _ = _dft(re, im, 1)
    return (out * _scale(size, norm, "irfft", 1)).transpose(dim, -1)


def _pair(a: Any, api_name: str) -> Pair:
    """Return the real and the imaginary part of a pair of tensors, or of one real tensor."""
    if not isinstance(a, tuple | list):
        (re,) = floats(api_name, a=a)
        re = widen(re)
        return re, re.const_like(0)
    if len(a) != 2:
        raise OperandError(f"{api_name}: a is {tree.describe(a)} of {len(a)}", fix="pass a pair: (real, imag)")
    re, im = floats(api_name, **{"the real part": a[0], "the imaginary part": a[1]})
    if re.shape != im.shape:
        facts = (("real", vec_type(re)), ("imaginary", vec_type(im)))
        raise ArgumentError(
            f"{api_name}: the parts have different shapes", *facts, fix="use two tensors of the same shape"
        )
    return widen(re), widen(im)


def _transform(a: Any, n: int | None, axis: int, norm: str | None, api_name: str, sign: int) -> Pair:
    re, im = _pair(a, api_name)
    dim = normalize_axis(axis, re, api_name)
    size = number(re.shape[dim] if n is None else n, api_name, "n", 1)
    scale = _scale(size, norm, api_name, sign)
    real = not isinstance(a, tuple | list)
    re = _resize_last(re.transpose(dim, -1), size)
    if api_name == "rfft" and _host.can_transform(re, size):
        parts = _host.transform("rfft", size, re)
    else:
        parts = list(_dft(re, None if real else _resize_last(im.transpose(dim, -1), size), sign))
    bins = size // 2 + 1 if api_name == "rfft" else size
    re, im = (t[..., :bins] * scale if scale != 1 else t[..., :bins] for t in parts)
    return re.transpose(dim, -1), im.transpose(dim, -1)


def _scale(n: int, norm: str | None, api_name: str, sign: int) -> float:
    kind = one_of("backward" if norm is None else norm, api_name, "norm", _NORMS)
    if kind == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (kind == "backward") == (sign > 0) else 1.0


def _resize_last(x: Tensor, n: int) -> Tensor:
    """Truncate the last axis to n entries, or pad it with 0."""
    m = x.shape[-1]
    return x[..., :n] if m >= n else x.pad((*[None] * (x.ndim - 1), (0, n - m)))


_SMALL = 64
"""The largest length that is transformed by one product with a matrix."""


def _dft(re: Tensor, im: Tensor | None, sign: int) -> Pair:
    """Compute Σⱼ x[j] exp(sign 2πi j k / n); `im` is None if it is 0."""
    n = re.shape[-1]
    if n == 1:
        return re, re.const_like(0) if im is None else im
    if _host.can_transform(re, n):
        a, b = _host.transform("fft" if sign < 0 else "ifft", n, *([re] if im is None else [re, im]))
        return a, b
    if n <= _SMALL:
        return _multiply(re, im, _turns([[j * k for k in range(n)] for j in range(n)], n, re, sign))
    m = _factor(n)
    if m == 1:
        return _bluestein(re, im, sign)
    rows = n // m  # j = j1 m + j2, k = k1 + k2 rows
    split = [None if t is None else t.reshape((*t.shape[:-1], rows, m)).transpose(-1, -2) for t in (re, im)]
    assert split[0] is not None
    parts = _dft(split[0], split[1], sign)  # [..., j2, k1]
    cos, sin = _turns([[j * k for k in range(rows)] for j in range(m)], n, re, sign)
    parts = _times(parts, (cos, sin))
    columns = _dft(parts[0].transpose(-1, -2), parts[1].transpose(-1, -2), sign)  # [..., k1, k2]
    return _flat(columns[0]), _flat(columns[1])


def _flat(x: Tensor) -> Tensor:
    n, m = x.shape[-2:]
    return x.transpose(-1, -2).reshape((*x.shape[:-2], n * m))


def _factor(n: int) -> int:
    """Return the largest divisor of n up to `_SMALL`."""
    return next(m for m in range(min(_SMALL, n), 0, -1) if n % m == 0)


def _multiply(re: Tensor, im: Tensor | None, matrix: Pair) -> Pair:
    cos, sin = matrix
    if im is None:
        return re @ cos, re @ sin
    return re @ cos - im @ sin, re @ sin + im @ cos


def _times(x: Pair, y: Pair) -> Pair:
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]


def _turns(steps: Any, n: int, like: Tensor, sign: int) -> Pair:
    """Return the cosines and sines of the angles 2π `steps` / n; the sines are multiplied by `sign`."""
    cos, sin = _circle(n)
    shape = (len(steps), len(steps[0])) if isinstance(steps[0], list) else (len(steps),)
    places = [s % n for s in (itertools.chain(*steps) if len(shape) == 2 else steps)]
    device = like.device if isinstance(like.device, str) else None

    def table(values: tuple[float, ...], by: int) -> Tensor:
        # bytes, because tinygrad inspects each element of a list
        numbers = array(str(like.dtype.fmt), [by * values[i] for i in places])
        return Tensor(numbers.tobytes(), dtype=like.dtype, device=device).reshape(shape)

    return table(cos, 1), table(sin, sign)


@functools.lru_cache(maxsize=16)
def _circle(n: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    angles = [2 * math.pi * k / n for k in range(n)]
    return tuple(map(math.cos, angles)), tuple(map(math.sin, angles))


def _bluestein(re: Tensor, im: Tensor | None, sign: int) -> Pair:
    """Transform by convolution with a chirp, whose size is a power of two: j k = (j² + k² - (k - j)²) / 2."""
    n = re.shape[-1]
    size = 1 << (2 * n - 2).bit_length()
    chirp = _turns([j * j % (2 * n) for j in range(n)], 2 * n, re, sign)
    x = _times((re, re.const_like(0) if im is None else im), chirp)
    spectrum = _dft(_resize_last(x[0], size), _resize_last(x[1], size), -1)
    around = [min(j, size - j) for j in range(size)]
    back = _turns([j * j % (2 * n) for j in around], 2 * n, re, -sign)
    inside = Tensor([1.0 if j < n else 0.0 for j in around], dtype=re.dtype)
    kernel = _dft(back[0] * inside, back[1] * inside, -1)
    y = _dft(*_times(spectrum, kernel), 1)
    return _times((y[0][..., :n] / size, y[1][..., :n] / size), chirp)
