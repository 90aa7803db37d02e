"""Elementwise functions with exact values and derivatives, for which tinygrad uses inexact formulas.

`erf`, `asin`, `acos` and `atan` are 7-digit fits in |x|, multiplied by the sign of x, for float64 too. Their derivative
at 0 is 0, and the second derivative near 0 is wrong in the fourth digit. `asinh`, `acosh` and `atanh` overflow or
cancel: `asinh(-1e4)` is -inf. `elu` and `relu6` are differences of two ramps: `relu6(1e10)` is 0, and the derivative of
`elu` at 0 is 0. `logaddexp` and `logsumexp` subtract an infinity from itself. The derivatives of `sigmoid` and `tanh`
of large negative numbers are 0 times an exponential that may be infinite. `softmax` of small or unsigned ints subtracts
their maximum in the same dtype, which wraps around.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from tinygrad import Tensor, dtypes

from branded import tinygrad_compat
from branded.autodiff.elementwise import Elementwise
from branded.autodiff.smooth_functions import LOGADDEXP, SOFTPLUS, UNARY
from branded.tinygrad_compat import gates, private_api
from branded.tinygrad_compat.tensor_methods import Method, inner_method


def _logaddexp(self: Any, other: Any) -> Tensor:
    if isinstance(other, int | float) and math.isfinite(other):
        return SOFTPLUS(self - other) + other  # a number is not materialized
    a, b = self._broadcasted(other)
    shape = (a + b).shape
    return LOGADDEXP(a.expand(shape), b.expand(shape))


def _softplus(self: Tensor, beta: float = 1.0) -> Tensor:
    return SOFTPLUS(self * beta) * (1 / beta)


def _relu6(self: Tensor) -> Tensor:
    return (self > 0).where((self < 6).where(self, 6), 0)


def _hardsigmoid(self: Tensor, alpha: float = 1 / 6, beta: float = 0.5) -> Tensor:
    y = alpha * self + beta
    return (y > 0).where((y < 1).where(y, 1), 0)


def _elu(self: Tensor, alpha: float = 1.0) -> Tensor:
    return (self > 0).where(self, alpha * ((self > 0).where(0, self).exp() - 1))


def _celu(self: Tensor, alpha: float = 1.0) -> Tensor:
    return self.maximum(0) + alpha * ((self.minimum(0) / alpha).exp() - 1)


def _selu(self: Tensor, alpha: float = 1.67326, gamma: float = 1.0507) -> Tensor:
    return gamma * _elu(self, alpha)


def _finite(m: Tensor) -> Tensor:
    """Replace infinities by 0, because an infinity minus itself is NaN."""
    return (m.eq(math.inf) | m.eq(-math.inf)).where(0, m)


def _floats(x: Tensor) -> Tensor:
    """Convert ints to floats, because a difference of small or unsigned ints wraps around."""
    return x if dtypes.is_float(x.dtype) else x.float()


def _logsumexp(self: Tensor, axis: Any = None, keepdim: bool = False) -> Tensor:
    x = _floats(self)
    m = _finite(x.max(axis=axis, keepdim=True).detach())
    return (x - m).exp().sum(axis=axis, keepdim=keepdim).log() + (m if keepdim else m.squeeze(axis))


def _logcumsumexp(self: Tensor, axis: int = 0) -> Tensor:
    if self.ndim == 0:
        return self
    x = _floats(self).transpose(axis, -1)
    m, n = _finite(x.cummax(-1)[0].detach()), x.shape[-1]
    is_before = Tensor.ones(n, n, buffer=False, dtype=dtypes.bool).tril()
    sums = is_before.where(x.unsqueeze(-2) - m.unsqueeze(-1), -math.inf).exp().sum(-1)
    # all entries so far are -inf: use the last entry, whose derivative is 1, not the derivative of log 0
    is_empty = sums.eq(0)
    return is_empty.where(x, is_empty.where(1, sums).log() + m).transpose(-1, axis)


def _method(f: Elementwise) -> Method:
    def method(self: Tensor) -> Tensor:
        return f(self)

    method.__code__ = method.__code__.replace(co_name=f.name)  # one code object per method, as in tinygrad
    return method


METHODS: dict[str, Method] = {
    **{name: _method(f) for name, f in UNARY.items()},
    **{f.__name__[1:]: f for f in (_logaddexp, _softplus, _relu6, _hardsigmoid, _elu, _celu, _selu)},
    **{f.__name__[1:]: f for f in (_logsumexp, _logcumsumexp)},
}
_OF_FLOATS = ("softmax", "log_softmax", "logsigmoid", "hardswish")
"""Methods whose formulas are right for floats, and wrap around for ints."""


def _of_floats(original: Method) -> Method:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        out: Tensor = original(_floats(self), *args, **kwargs)
        return out

    return method


def install() -> None:
    """Install the methods unless the patches of tinygrad are disabled."""
    for name in (*METHODS, *_OF_FLOATS) if tinygrad_compat.installed else ():
        named, plain = getattr(Tensor, name), inner_method(getattr(Tensor, name))
        new = functools.wraps(plain)(METHODS[name] if name in METHODS else _of_floats(plain))
        ours = new if named is plain else functools.wraps(named)(private_api._metadata_wrapper(new))
        setattr(Tensor, name, gates.gate(named, ours))
