"""Derivatives of any order, and their cost, for running products and maxima, gathers, sorts and products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops

from branded import cond, functions, grad, hessian, jit, jvp, scan, vmap
from branded.backends.cpu.runtime import native
from branded.callbacks import running_maxima, running_products, sorting
from branded.callbacks.host import Host, ShapeDtype, call_on_graphs
from branded.graph.primitive import primitive_of
from branded.graph.uops import tensor
from branded.tinygrad_compat import private_api
from tests.fuzz import orders
from tests.support.by_numpy import read
from tests.support.profiles import amount

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(not native.can_run(Tensor([0]).device), reason="there is no C compiler for this device"),
]  # type: ignore[arg-type]

R = np.random.default_rng(0)


def normals(*shape: int) -> Any:
    return R.standard_normal(shape).astype(np.float32)


@pytest.mark.by_numpy
def test_random_programs() -> None:
    assert list(orders.wrong(amount(8, 25), 3)) == []


def test_derivatives_of_products_with_zeros() -> None:
    x, w = np.array([2, 0, 3, 1, 0, 4, 5, 2, 0.5], np.float64), R.standard_normal(9)
    for f in (lambda x: (x.cumprod(0) * Tensor(w)).sum(), lambda x: (x.cumprod(0) * Tensor(w)).flip(0)[0]):
        first, second = read(grad(f)(Tensor(x))), read(hessian(f)(Tensor(x)))
        ws = w if first[0] else np.eye(9)[8] * w
        for i in range(9):
            np.testing.assert_allclose(first[i], _slope(x, ws, {i}), atol=1e-12)
            for j in range(9):
                np.testing.assert_allclose(second[i, j], 0.0 if i == j else _slope(x, ws, {i, j}), atol=1e-12)


def _slope(x: Any, w: Any, by: set[int]) -> Any:
    """Return the derivative of the weighted sum of running products by the entries `by`."""
    return sum(w[k] * math.prod(x[m] for m in range(k + 1) if m not in by) for k in range(max(by), len(x)))


def test_ties_share_derivative_of_running_max() -> None:
    weights = [[1, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0], [0.25, 0.25, 0.5, 0, 0], [0.25] * 4 + [0], [0.125] * 4 + [0.5]]
    for f in (lambda x: x.cummax(0)[0], lambda x: x.cummin(0)[0]):
        got = vmap(lambda d, f=f: jvp(f, (Tensor.ones(5),), (d,))[1], 0, 1)(Tensor.eye(5))
        np.testing.assert_array_equal(read(got), weights)
        back = vmap(grad(lambda x, w, f=f: (f(x) * w).sum()), (None, 0))(Tensor.ones(5), Tensor.eye(5))
        np.testing.assert_array_equal(read(back), weights)


def test_running_maximum_propagates_nan() -> None:
    nan = math.nan
    for x, values, at in (
        ([1.0, nan, 2.0], [1.0, nan, nan], [0, 1, 1]),
        ([nan, nan, 2.0], [nan, nan, nan], [0, 0, 0]),
        ([-1.0, -math.inf, math.inf], [-1.0, -1.0, math.inf], [0, 0, 2]),
    ):
        for sign, y in ((1, Tensor(x).cummax(0)), (-1, (-Tensor(x)).cummin(0))):
            np.testing.assert_array_equal(sign * y[0].numpy(), values)
            assert y[1].tolist() == at


def test_short_int_running_maximum_needs_no_call() -> None:
    def is_call(x: Tensor) -> bool:
        return any(isinstance(primitive_of(u), Host) for u in vmap(lambda x: x.cummax(0)[0])(x).uop.toposort())

    x = Tensor([[3, 1, 3, 4], [-2, -2, -5, -1]])
    assert not is_call(x) and is_call(x.float()) and is_call(x.repeat(1, 8))
    values, at = vmap(lambda x: x.cummax(0))(x)
    assert values.tolist() == [[3, 3, 3, 4], [-2, -2, -2, -1]] and at.tolist() == [[0, 0, 0, 3], [0, 0, 0, 3]]


CALLS: dict[str, tuple[Host, Callable[..., Any], list[Any]]] = {
    "cumprod": (running_products._PRODUCTS, running_products.numpy_cumprod, [(4, 9)]),
    "recurrence": (running_products._RECURRENCE, running_products.numpy_recurrence, [(4, 9), (1, 9)]),
    "cummax": (running_maxima._MAXIMA, running_maxima.maxima, [(4, 9)]),
    "cumargmax": (running_maxima._PLACES, running_maxima.places, [(4, 9)]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64], ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_c_kernel_matches_numpy(name: str, dtype: Any) -> None:
    made, f, shapes = CALLS[name]
    given = [R.integers(-3, 4, shape).astype(dtype) for shape in shapes]
    if name == "cummax" and np.issubdtype(dtype, np.floating):
        given[0][1, 3] = np.nan
    want = f(*given)
    kind = dtypes.int32 if name == "cumargmax" else Tensor(given[0]).dtype
    assert made.by_c is not None
    (got,) = call_on_graphs(made, [ShapeDtype(want.shape, kind)], [Tensor(x).uop for x in given])
    np.testing.assert_array_equal(tensor(got).numpy(), want)


def test_gather_with_out_of_range_indices() -> None:
    x, at = normals(2, 1, 4), np.array([[[0, 3, 3], [-1, 9, 2]]], np.int32)
    want = np.where((at >= 0) & (at < 4), np.take_along_axis(x, at.clip(0, 3), 2), 0)
    np.testing.assert_array_equal(tensor(sorting.gather(Tensor(x).uop, Tensor(at).uop)).numpy(), want)


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "cumprod": lambda x: x.cumprod(0),
    "cummax": lambda x: x.cummax(0)[0],
    "cummin": lambda x: x.cummin(0)[0],
    "sort": lambda x: x.sort(0)[0],
    "topk": lambda x: x.topk(40)[0],
    "prod": lambda x: x.prod(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivative_cost_is_not_quadratic(name: str) -> None:
    f, x = FUNCTIONS[name], Tensor(normals(2, 300))
    first = vmap(grad(lambda x: f(x).square().sum()))(x)
    second = vmap(lambda x: jvp(grad(lambda x: f(x).square().sum()), (x,), (x + 1,))[1])(x)
    for y in (first, second):
        linear = private_api.compile_linear(y.linear_with_vars()[0])
        kernels = [call.src[0].src[1] for call in linear.src if call.src[0].op is Ops.PROGRAM]
        loops = [[u.vmax + 1 for u in kernel.src if u.op is Ops.RANGE] for kernel in kernels]
        assert max(map(math.prod, loops), default=0) <= (3 * 64 * 64 if name == "prod" else 3) * 2 * 320


@pytest.mark.parametrize("name", ["cumprod", "cummax", "topk"])
def test_derivatives_in_chunks_jit_and_scan(name: str) -> None:
    f, x = FUNCTIONS[name], Tensor(normals(3, 60)).realize()
    w = Tensor(normals(60)).realize()

    def slope(x: Tensor) -> Tensor:
        return grad(lambda x: (f(x) * w[:40]).sum() if name == "topk" else (f(x) * w).sum())(x)

    want = np.stack([slope(row).numpy() for row in x])
    for way in (vmap(slope), vmap(slope, chunk_size=2), jit(vmap(slope))):
        np.testing.assert_allclose(way(x).numpy(), want, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(scan(lambda c, x: (c, slope(x)), Tensor(0), x)[1].numpy(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", [31, 33, 100])
def test_derivatives_of_long_product(n: int) -> None:
    x = R.standard_normal(n)
    x[[3, 20]] = 0
    d, w = R.standard_normal(n), [math.prod(np.delete(x, [3, 20]))] * 2
    first, second = (read(y) for y in (grad(lambda x: x.prod())(Tensor(x)), hessian(lambda x: x.prod())(Tensor(x))))
    assert not first.any()
    np.testing.assert_allclose([second[3, 20], second[20, 3]], w, rtol=1e-9)
    x[20] = 2
    along = read(jvp(lambda x: x.prod(), (Tensor(x),), (Tensor(d),))[1])
    np.testing.assert_allclose(along, d[3] * math.prod(np.delete(x, 3)), rtol=1e-9)


IN_BRANCHES: dict[str, Callable[[Tensor], Tensor]] = {
    **{k: f for k, f in FUNCTIONS.items() if k != "prod"},
    "cumsum": lambda x: x.cumsum(0),
    "segment_sum": lambda x: functions.segment_sum(x, Tensor.arange(60, dtype=dtypes.int32) % 3, 3),
    "fft": lambda x: functions.fft(x.repeat(5))[0],
}


@pytest.mark.parametrize("name", IN_BRANCHES)
def test_derivatives_in_branch_of_some_examples(name: str) -> None:
    """The package's own host calls get no predicate argument, which derivative rules would mistake for x."""
    f = IN_BRANCHES[name]
    x, d = np.stack([normals(60), -normals(60)]), normals(2, 60)
    x[0] += 1
    x[1] -= 1

    def one(x: Tensor) -> Tensor:
        return cond(x.sum() > 0, lambda x: f(x).square().sum(), lambda x: f(-x).sum(), x)

    def taken(i: int, x: Tensor) -> Tensor:
        return f(-x).sum() if i else f(x).square().sum()

    slopes = np.stack([read(grad(lambda x, i=i: taken(i, x))(Tensor(x[i]))) for i in range(2)])
    np.testing.assert_allclose(read(vmap(grad(one))(Tensor(x))), slopes, rtol=1e-4, atol=1e-4)
    along = read(vmap(lambda x, d: jvp(one, (x,), (d,))[1])(Tensor(x), Tensor(d)))
    np.testing.assert_allclose(along, (slopes * d).sum(1), rtol=1e-3, atol=1e-3)
