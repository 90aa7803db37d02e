"""Searching, counting, sorting and FFTs on the CPU match tinygrad's operations, in steps linear in the entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes

import branded
from branded import grad, interp, jit, jvp, vmap
from branded.backends import cpu
from branded.backends.cpu.linalg import host_kernels
from branded.backends.cpu.runtime import host_calls, native
from branded.callbacks.host import Host
from branded.functions import _host
from tests.support.by_numpy import reads
from tests.support.examples import in_memory
from tests.support.profiles import pairs

R = np.random.default_rng(0)
NAN, INF = float("nan"), float("inf")

can_compile = pytest.mark.skipif(not native.can_run("CPU"), reason="there is no C compiler")


def compare(f: Callable[..., Any], *xs: Any, rtol: float = 1e-6) -> None:
    """Compare a function, plain and compiled, with tinygrad's operations evaluated from the graph."""
    given = [in_memory(x) for x in xs]
    got, compiled = f(*given), jit(f)(*given)
    with cpu.plain():
        plain = f(*given)
        wanted = reads(plain if isinstance(plain, tuple) else (plain,))
    got, compiled, plain = (y if isinstance(y, tuple) else (y,) for y in (got, compiled, plain))
    Tensor.realize(*got)  # together, to get the kernels of the compiled function
    for a, b, c, want in zip(got, compiled, plain, wanted, strict=True):
        assert a.dtype == c.dtype and a.shape == c.shape
        np.testing.assert_allclose(found := a.numpy(), want, rtol=rtol, atol=rtol)
        # other kernels may add in another order
        np.testing.assert_allclose(found, b.numpy(), rtol=rtol, atol=rtol)


def compare_derivative(f: Callable[..., Any], *xs: Any, rtol: float = 1e-6) -> None:
    """Compare an uncompiled derivative with tinygrad's, both evaluated from the graph."""
    given = [in_memory(x) for x in xs]
    got = f(*given)
    with cpu.plain():
        wanted = f(*given)
    got, wanted = (y if isinstance(y, tuple) else (y,) for y in (got, wanted))
    for a, c, found, want in zip(got, wanted, reads(got), reads(wanted), strict=True):
        assert a.dtype == c.dtype and a.shape == c.shape
        np.testing.assert_allclose(found, want, rtol=rtol, atol=rtol)


SORTED = np.float32([-INF, -2, -0.0, 0, 0, 1, 5, INF, NAN])
WANTED = np.float32([[0, -0.0, 1], [NAN, INF, -INF], [3, 5, -7]])


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(side: str) -> None:
    def f(a: Tensor, v: Tensor) -> Tensor:
        return branded.searchsorted(a, v, side)

    compare(f, SORTED, WANTED)
    compare(f, SORTED.astype(np.float64), WANTED.astype(np.float64))
    compare(f, np.arange(7, dtype=np.int32), np.int32([-1, 0, 3, 9]))
    compare(f, np.int64([3, 1 << 40]), np.int64([1 << 40, 5]))
    rows = np.sort(R.standard_normal((4, 6)).astype(np.float32))
    wanted = R.standard_normal((4, 5)).astype(np.float32)
    compare(vmap(f), rows, wanted)
    compare(vmap(f, in_axes=(None, 0)), rows[0], wanted)
    compare(vmap(f, in_axes=(0, None)), rows, wanted[0])
    compare(lambda a, v: vmap(lambda a: vmap(lambda v: f(a, v))(v))(a), rows, wanted)
    many = R.standard_normal((4, 37)).astype(np.float32)
    compare(vmap(f), rows, many)
    compare(vmap(f), rows, many[:, 0])
    compare(vmap(vmap(f, in_axes=(None, 0))), rows, many)
    compare(vmap(vmap(f, in_axes=(None, 0)), in_axes=(None, 0)), rows[0], many)
    compare(vmap(vmap(f, in_axes=(0, None)), in_axes=(None, 0)), rows, many)
    compare(vmap(vmap(f, in_axes=(None, 0)), in_axes=(None, 1)), rows[0], many)


IDS = np.int32([2, 0, -1, 2, 9, 1, 2])


@pytest.mark.parametrize(
    ("name", "dtype"), pairs(["sum", "prod", "max", "min"], [np.float32, np.float64, np.int32, np.int64])
)
def test_segment_reductions(name: str, dtype: Any) -> None:
    reduce = getattr(branded, f"segment_{name}")

    def f(x: Tensor, ids: Tensor) -> Tensor:
        found: Tensor = reduce(x, ids, num_segments=4)
        return found

    x = (10 * R.standard_normal((3, 7, 2))).astype(dtype)
    many = np.stack([IDS, IDS[::-1], np.roll(IDS, 1)])
    compare(vmap(f), x, many)
    compare(f, x[0], IDS)
    compare(f, x[0, :, 0], IDS.astype(np.int64))
    compare(f, x[0], IDS.astype(np.uint8))
    compare(vmap(f, in_axes=(None, 0)), x[0], many)
    compare(vmap(f, in_axes=(0, None)), x, IDS)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_derivatives_of_segment_reductions(name: str) -> None:
    reduce = getattr(branded, f"segment_{name}")
    ids, w = Tensor(IDS), Tensor(R.standard_normal((4, 2)))

    def f(x: Tensor) -> Tensor:
        y: Tensor = reduce(x, ids, num_segments=4)
        return (y.isinf().where(0, y) ** 2 * w).sum()

    x, d = R.standard_normal((7, 2)), R.standard_normal((7, 2))
    compare(grad(f), x)
    compare_derivative(lambda x, d: jvp(f, (x,), (d,))[1], x, d)
    compare_derivative(lambda x, d: jvp(grad(f), (x,), (d,))[1], x, d)
    compare_derivative(grad(lambda x: vmap(f)(x).sum()), R.standard_normal((3, 7, 2)))
    compare_derivative(vmap(grad(f)), R.standard_normal((3, 7, 2)))


def test_segment_max_and_min_propagate_nan() -> None:
    x, ids = Tensor([1.0, NAN, 2.0]), Tensor([0, 0, 1])
    for reduce in (branded.segment_max, branded.segment_min):
        np.testing.assert_array_equal(jit(lambda reduce=reduce: reduce(x, ids, 2))().numpy(), [NAN, 2])


def test_segment_sum_of_ints_wraps_around() -> None:
    x = np.int32([2**31 - 1, 1])
    assert branded.segment_sum(Tensor(x), Tensor([0, 0]), 1).tolist() == [-(2**31)]


def test_histograms() -> None:
    x, w = R.standard_normal((3, 50)).astype(np.float32), R.random((3, 50)).astype(np.float32)
    x[0, :4] = [NAN, INF, -INF, 1.0]
    edges = np.float32([-2, -1, 0.5, 0.5, 1])
    compare(lambda a, e: branded.histogram(a, e), x[0], edges)
    compare(lambda a, w: branded.histogram(a, 7, (-1.0, 1.0), w), x[0], w[0])
    compare(lambda a, w: branded.histogram(a, 5, weights=w, density=True), x[1], w[1])
    compare(vmap(lambda a, w: branded.histogram(a, 5, weights=w)), x[1:], w[1:])
    compare(vmap(lambda a: branded.histogram(a, 5)[0]), x[1:])
    compare(lambda x: branded.bincount(x, length=5), IDS)
    compare_derivative(grad(lambda w: (branded.histogram(Tensor(x[1]), 4, weights=w)[0] ** 2).sum()), w[1])
    counts, _ = branded.histogram(Tensor(x[1]), 6)
    np.testing.assert_array_equal(counts.numpy(), np.histogram(x[1], 6)[0])


@pytest.mark.parametrize("shape", [(16, 24), (300,), (3, 127)])
def test_fourier_transforms(shape: tuple[int, ...]) -> None:
    x, y = R.standard_normal((2, *shape))

    def f(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return branded.fft((x, y), norm="ortho")

    compare(f, x, y, rtol=1e-9)
    compare(lambda x: branded.rfft(x), x, rtol=1e-9)
    compare(lambda x, y: branded.irfft((x, y)), x, y, rtol=1e-9)
    compare(lambda x, y: branded.ifft((x, y)), x, y, rtol=1e-9)

    def size(x: Tensor, y: Tensor) -> Tensor:
        a, b = f(x * y, y)
        return (a**3 + a * b**2).sum()

    compare(grad(size), x, y, rtol=1e-8)
    compare_derivative(lambda x, y: jvp(size, (x, y), (y, x))[1], x, y, rtol=1e-8)
    compare_derivative(lambda x, y: jvp(grad(size), (x, y), (y, x))[1], x, y, rtol=1e-8)
    compare_derivative(grad(lambda x: (branded.rfft(x)[1] ** 3).sum()), x, rtol=1e-8)
    if len(shape) == 2:  # if only one operand is batched
        compare_derivative(grad(lambda y, x: vmap(size, in_axes=(0, None))(x, y).sum()), y[0], x, rtol=1e-8)
        compare(vmap(grad(size)), x, y, rtol=1e-8)


def test_top_k_and_quantiles() -> None:
    x = np.float32([[3, NAN, 1, 3, -0.0, 0], [1, 2, 2, 5, 2, INF]])
    compare(lambda x: branded.top_k(x, 4), x)
    compare(vmap(lambda x: branded.top_k(x, 2)), x)
    compare(lambda x: branded.top_k(x, 1, axis=0), x)
    compare(lambda x: branded.nanmedian(x, 1), x)
    compare(vmap(lambda x: branded.nanquantile(x, Tensor([0.2, 0.9]))), x)
    for method in ("linear", "lower", "higher", "midpoint", "nearest"):
        compare(lambda x, method=method: branded.quantile(x, Tensor([0.0, 0.3, 1.0]), 1, method=method), x[1:, :5])
    compare_derivative(grad(lambda x: (branded.top_k(x, 3)[0] ** 2).sum()), x[1, :5])
    compare_derivative(grad(lambda x: branded.median(x) ** 2), x[1, :5])


@can_compile
def test_no_python_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: host_calls.HostName, memory: Any) -> None:
        raise AssertionError(f"{self} ran in Python")

    monkeypatch.setattr(host_calls.HostName, "run", fails)
    x, ids = Tensor(R.standard_normal(9)), Tensor(R.integers(0, 3, 9))
    for _ in range(2):
        assert jit(lambda x: branded.searchsorted(Tensor([0.0, 1.0]).double(), x))(x).shape == (9,)
        assert jit(lambda x, i: branded.segment_sum(x, i, 3))(x, ids).shape == (3,)
        assert jit(lambda x: branded.histogram(x, 4)[0])(x).sum().item() == 9


def test_numpy_fallback_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Host, "in_c", lambda self, results, args: None)
    compare(vmap(lambda a, v: branded.searchsorted(a, v, "right"), in_axes=(None, 0)), SORTED[1:], WANTED)


def test_segments_of_other_dtypes_and_empty_input() -> None:
    assert branded.segment_sum(Tensor([1.0, 2.0, 3.0]).half(), Tensor([0, 1, 0]), 2).tolist() == [4, 2]
    assert branded.segment_max(Tensor([True, False, True]), Tensor([0, 1, 0]), 2).tolist() == [True, False]
    assert branded.segment_sum(Tensor.zeros(0), Tensor.zeros(0, dtype=dtypes.int32), 2).tolist() == [0, 0]


@can_compile
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("descending", [True, False])
def test_order_statistics_in_c(dtype: Any, descending: bool) -> None:
    """Take few, many, repeated and out-of-range positions; equal entries keep their order."""
    for n in (1, 5, 30, 100, 3000):
        x = (5 * R.standard_normal((2, n))).astype(dtype)
        if dtype is np.float32:
            x[0, :4] = [NAN, -0.0, 0, INF][:n]
        for places in ([0], [n // 2, (n - 1) // 2], [*range(min(n, 200))][::-1], [n - 1, 0, -1, n, n // 3, n // 3]):
            p = np.int32([places])
            out = np.full((2, len(places)), 7, np.int32)
            types = [
                host_calls.ArrayType(y.shape, dtypes.float32 if y.dtype == np.float32 else dtypes.int32)
                for y in (out, x, p)
            ]
            found = host_kernels.standing(descending)(types[:1], types[1:])
            assert found is not None
            found.run("it", [y.ctypes.data for y in (out, x, p)])
            np.testing.assert_array_equal(out, _host.standing_in_numpy(x, p, descending))


def test_interpolation_between_many_knots() -> None:
    """More than 256 knots are searched, not compared one by one; queries on a knot and beyond both ends count too."""
    r = np.random.default_rng(1)
    knots, values = np.sort(r.random(300)).astype(np.float32), r.random(300).astype(np.float32)
    query = np.concatenate([r.random(50) * 1.4 - 0.2, knots[[0, 7, -1]]]).astype(np.float32)
    found = jit(interp)(*(Tensor(x).realize() for x in (query, knots, values)))
    np.testing.assert_allclose(found.numpy(), np.interp(query, knots, values), rtol=1e-5, atol=1e-6)
