"""Elementwise functions: values and derivatives at special points, and logsumexp of infinities."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, Variable
from tinygrad.uop.ops import Ops

from branded import checkpoint, grad, hessian, jacfwd, jacrev, jvp, logaddexp, make_expr, scan, vmap
from tests.fuzz import unary
from tests.support.by_numpy import read
from tests.support.profiles import pairs

pytestmark = pytest.mark.enabled("cpu")

inf, nan = math.inf, math.nan
OURS = (
    "erf asin acos atan asinh acosh atanh sinh cosh sigmoid tanh gelu exact_gelu relu6 hardsigmoid elu celu softplus "
    "mish lgamma erfinv"
)
"""The functions that `branded` implements differently from tinygrad."""


@pytest.mark.parametrize(("way", "dtype"), [("reverse", "float32"), ("forward", "float64"), ("gradient", "float32")])
def test_values_and_derivatives_match_jax(way: str, dtype: str) -> None:
    points, known = np.array(unary.POINTS, "float32"), unary.stored()
    programs = [p for p in unary.stored_programs(way) if p.name in OURS.split() and p.dtype == dtype]
    for p in programs:
        found = unary.wrong(p, (points,), read(p.run(points)), [np.array(known[p.name][len(p.by)])])
        assert not found, f"{p}: {found}"


def test_kernels_match_stored_values() -> None:
    points, known = np.array(unary.POINTS, "float32"), unary.stored()
    names = [("erf", "float64"), ("asin", "float64"), ("elu", "float32"), ("sin", "float64"), ("cos", "float32")]
    programs = [unary.Program(name, dtype, (0,), ("gradient",), True) for name, dtype in names]
    with Context(DEV="CPU"):
        for p in programs:
            assert not unary.wrong(p, (points,), p.run(points).numpy(), [np.array(known[p.name][1])])


def test_float64_has_full_precision() -> None:
    x = np.linspace(-3, 3, 31)
    np.testing.assert_allclose(read(Tensor(x).erf()), [math.erf(v) for v in x], rtol=1e-14)
    for name in ("asin", "acos", "atan", "asinh", "sinh", "cosh"):
        at = x / 3 if name in {"asin", "acos"} else x
        np.testing.assert_allclose(read(getattr(Tensor(at), name)()), [getattr(math, name)(v) for v in at], rtol=1e-14)


def test_no_intermediate_overflow() -> None:
    with Context(DEV="CPU"):
        for f in (Tensor.sinh, Tensor.cosh):
            assert f(Tensor([89.2])).item() == pytest.approx(math.sinh(89.2), rel=3e-5)
        assert Tensor([3e38]).asinh().item() == pytest.approx(math.asinh(3e38))


def test_erf_under_all_transforms() -> None:
    v = np.array([0.0, 0.25, -0.5, 0.125], "float32")
    x, slope = Tensor(v), 2 / math.sqrt(math.pi) * np.exp(-v * v)
    f: Any = Tensor.erf
    carry = lambda x: scan(lambda c, s: (c + f(s), None), Tensor(0.0), x)[0]  # noqa: E731
    halves = vmap(grad(lambda x: f(x.half()).float()))(x)
    for got in (
        vmap(grad(f), chunk_size=2)(x),
        vmap(grad(checkpoint(f)))(x),
        grad(carry)(x),
        jvp(vmap(f, chunk_size=2), (x,), (x.ones_like(),))[1],
        vmap(lambda a, b: vmap(grad(lambda b: f(a * b)))(b), (None, 0))(Tensor(1.0), x.reshape(2, 2)).flatten(),
    ):
        np.testing.assert_allclose(read(got), slope, rtol=1e-6)
    np.testing.assert_allclose(read(halves), slope, rtol=2e-3)
    np.testing.assert_allclose(read(hessian(lambda x: f(x).sum())(x)), np.diag(-2 * v * slope), atol=1e-6)
    assert f(Tensor([0, 1])).dtype == f(Tensor([True])).dtype == x.dtype and f(x[:0]).shape == (0,)


def test_symbolic_size_and_sharded_argument() -> None:
    x = Tensor([0.0, 0.5, -0.5, 1.0])
    wanted = [math.erf(v) for v in (0.0, 0.5, -0.5, 1.0)]
    n = Variable("n", 1, 4).bind(2)
    with Context(DEV="CPU"):
        assert abs(x.clone()[:n].erf().sum().item() - wanted[1]) < 1e-6
        laid = x.clone().shard(("CPU:0", "CPU:1"), 0)
        np.testing.assert_allclose(laid.erf().numpy(), wanted, rtol=1e-6)
        np.testing.assert_allclose(vmap(grad(Tensor.atan))(laid).numpy(), [1, 0.8, 0.8, 0.5], rtol=1e-6)


# ---- logsumexp ----


@pytest.mark.parametrize(
    ("x", "wanted", "running"),
    [
        ([-inf, -inf], -inf, [-inf, -inf]),
        ([-inf, 1.0], 1.0, [-inf, 1.0]),
        ([inf, 0.0], inf, [inf, inf]),
        ([inf, inf], inf, [inf, inf]),
        ([inf, -inf], inf, [inf, inf]),
        ([0.0, 0.0], math.log(2), [0.0, math.log(2)]),
    ],
)
def test_logsumexp_of_infinities(x: list[float], wanted: float, running: list[float]) -> None:
    t = Tensor(x)
    for got in (t.logsumexp(), t.logsumexp(0, keepdim=True), t[0].logaddexp(t[1]), logaddexp(t[1], t[0])):
        assert read(got).item() == pytest.approx(wanted)
    assert read(vmap(Tensor.logsumexp)(t.reshape(1, 2))).tolist() == pytest.approx([wanted])
    assert read(t.logcumsumexp()).tolist() == pytest.approx(running)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "uint32"])
def test_logsumexp_of_ints_is_that_of_floats(dtype: str) -> None:
    """A difference of unsigned ints would wrap around."""
    x = Tensor([[1, 0, 1], [5, 2, 0]], dtype=dtype)
    for f in (Tensor.logsumexp, Tensor.logcumsumexp):
        assert vmap(f)(x).tolist() == vmap(f)(x.float()).tolist()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "uint32"])
@pytest.mark.parametrize("f", [Tensor.softmax, Tensor.log_softmax, Tensor.logsigmoid, Tensor.hardswish])
def test_activations_of_ints_are_those_of_floats(f: Callable[[Tensor], Tensor], dtype: str) -> None:
    x = Tensor([[1, 0, 1], [5, 2, 125]], dtype=dtype).realize()
    assert vmap(f)(x).tolist() == vmap(f)(x.float()).tolist()
    least = Tensor([[-128, 127]], dtype="int8").realize()
    assert vmap(f)(least).tolist() == vmap(f)(least.float()).tolist()


def test_gradient_of_logsumexp() -> None:
    assert read(grad(Tensor.logsumexp)(Tensor([-inf, 1.0]))).tolist() == [0.0, 1.0]
    assert read(vmap(grad(Tensor.softplus))(Tensor([-inf, 0.0, inf]))).tolist() == [0.0, 0.5, 1.0]
    assert read(grad(lambda x: x.logaddexp(2.0))(Tensor(2.0))).item() == 0.5
    assert read(Tensor([-20.0]).softplus()).item() == pytest.approx(2.0611537e-9)


@pytest.mark.parametrize("jacobian", [jacfwd, jacrev])
def test_logcumsumexp_starts_with_minus_infinity(jacobian: Any) -> None:
    got = read(jacobian(Tensor.logcumsumexp)(Tensor([-inf, 1.0, 2.0], dtype="float64")))
    second = 1 / (1 + math.e)
    np.testing.assert_allclose(got, [[1, 0, 0], [0, 1, 0], [0, second, 1 - second]], rtol=1e-12)
    curved = read(jacobian(jacobian(lambda x: x.logcumsumexp().sum()))(Tensor([-inf, 1.0, 2.0], dtype="float64")))
    slope = second * (1 - second)
    np.testing.assert_allclose(curved, [[0, 0, 0], [0, slope, -slope], [0, -slope, slope]], atol=1e-12)


# ---- sigmoids ----


@pytest.mark.parametrize(
    ("modes", "dtype"), pairs([*itertools.product([jacfwd, jacrev], repeat=2)], ["float32", "float64"])
)
def test_second_derivative_is_zero_on_flat_parts(modes: Any, dtype: str) -> None:
    outer, inner = modes
    with Context(DEV="CPU"):
        for f in (Tensor.gelu, lambda x: x.gelu("none"), Tensor.tanh, Tensor.mish):
            far = 1e10 if f is Tensor.gelu else 1e20  # the cube of 1e10 is finite
            x = Tensor([-far, -1e4, -88.0, -20.0, 88.0, 1e4, far], dtype=dtype)
            np.testing.assert_allclose(vmap(outer(inner(f)))(x).numpy(), np.zeros(7), atol=1e-7)


def test_sigmoid_gradient_reuses_exponential() -> None:
    for f in (Tensor.sigmoid, Tensor.tanh):
        program = str(make_expr(vmap(grad(f)))(Tensor([1.0, 2.0])))
        assert "exp2" not in program.lower() and f.__name__ in program


def test_equal_maxima_of_erf_share_derivative() -> None:
    slope = grad(lambda x: x.erf().max())(Tensor([0.5, 0.5, 0.25]))
    assert any(u.op is Ops.CONTIGUOUS for u in slope.uop.toposort())  # two kernels may round the values differently
    np.testing.assert_allclose(
        read(slope), np.array([0.5, 0.5, 0]) * 2 / math.sqrt(math.pi) * math.exp(-0.25), rtol=1e-6
    )


def test_gradients_at_bounds_match_tinygrad() -> None:
    assert read(vmap(grad(lambda x: x.clip(-1, 1)))(Tensor([-1.0, 0.0, 1.0, 2.0]))).tolist() == [1, 1, 1, 0]
    assert read(vmap(grad(Tensor.abs))(Tensor([-1.0, 0.0, 1.0]))).tolist() == [-1, 0, 1]


# ---- remainders ----


def test_remainders_of_extreme_quotients() -> None:
    pairs = list(itertools.product((1.0, -1.0, 0.0, 5.5, -5.5), (inf, -inf, 2.0, 1e30, 0.0)))
    a, b = (np.array(v, "float32") for v in zip(*pairs, strict=True))
    for f, expected in (
        (lambda x, y: x % y, np.remainder),
        (lambda x, y: x // y, np.floor_divide),
        (Tensor.fmod, np.fmod),
    ):
        with np.errstate(all="ignore"):
            wanted = expected(a, b)
        np.testing.assert_array_equal(read(f(Tensor(a), Tensor(b))), wanted)
        np.testing.assert_array_equal(read(vmap(f)(Tensor(a), Tensor(b))), wanted)
        for number in (inf, -inf, 2.0, 0.0):
            one = b == np.float32(number)
            np.testing.assert_array_equal(read(f(Tensor(a[one]), number)), wanted[one])
    assert read((Tensor([inf, nan]) % inf).isnan()).all() and read((Tensor([inf, nan]) // inf).isnan()).all()
    by_x, by_y = vmap(grad(lambda x, y: x % y, (0, 1)))(Tensor([1.0, -1.0]), Tensor([inf, inf]))
    assert read(by_x).tolist() == [1, 1] and read(by_y).tolist() == [0, 1]


# ---- powers ----


def test_powers_with_infinite_or_nan_exponent() -> None:
    x = np.array([inf, -inf, -8.0, 0.0, 1.0, -1.0, nan, 0.5, -0.5], "float32")
    for n in (inf, -inf, nan):
        with np.errstate(all="ignore"):
            expected = np.power(x, np.float32(n))
        np.testing.assert_array_equal(read(Tensor(x) ** n), expected)


@pytest.mark.parametrize("outer", [jacfwd, jacrev])
@pytest.mark.parametrize("inner", [jacfwd, jacrev])
def test_second_derivatives_of_powers(outer: Any, inner: Any) -> None:
    at = [*itertools.product((0.5, 1.0, 4.0), (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0)), (0.0, 2.0), (0.0, 3.0)]
    x, y = (Tensor(list(v), dtype="float64") for v in zip(*at, strict=True))
    (xx, xy), (yx, yy) = vmap(outer(inner(lambda x, y: x**y, (0, 1)), (0, 1)))(x, y)
    log = lambda a: math.log(a) if a else 0.0  # noqa: E731
    mixed = [a ** (b - 1) * (1 + b * log(a)) for a, b in at]
    np.testing.assert_allclose(read(xx), [b and b * (b - 1) and b * (b - 1) * a ** (b - 2) for a, b in at], atol=1e-12)
    for got in (xy, yx):
        np.testing.assert_allclose(read(got), mixed, atol=1e-12)
    np.testing.assert_allclose(read(yy), [a**b * log(a) ** 2 for a, b in at], atol=1e-12)


def test_power_zero_has_zero_gradient() -> None:
    x = Tensor([0.0, -2.0, 3.0])
    assert read(vmap(grad(lambda x, n: x**n), (0, None))(x, Tensor(0.0))).tolist() == [0.0, 0.0, 0.0]
    assert read(vmap(lambda x: (x**0).gradient(x)[0])(x)).tolist() == [0.0, 0.0, 0.0]


def test_gradient_of_cosine_at_small_angles() -> None:
    x = Tensor([0.0, 1e-8, -1e-3])
    np.testing.assert_allclose(read(vmap(grad(Tensor.cos))(x)), [0.0, -1e-8, 1e-3], rtol=1e-6)
    np.testing.assert_allclose(read(vmap(lambda x: x.cos().gradient(x)[0])(x)), [0.0, -1e-8, 1e-3], rtol=1e-6)
