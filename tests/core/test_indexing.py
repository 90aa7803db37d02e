"""Gathers and scatters run as loops over their entries in kernels, and match plain numpy loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor
from tinygrad.uop.ops import Ops

from branded import bincount, grad, hessian, jit, jvp, scan, segment_max, segment_min, segment_sum, tree, vmap
from branded.backends import cpu
from branded.backends.cpu.renderer import scatter
from branded.backends.cpu.runtime import native
from branded.tinygrad_compat import private_api
from tests.support.by_numpy import read, reads
from tests.support.examples import in_memory
from tests.support.profiles import pairs

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(not native.can_run("CPU"), reason="there is no C compiler"),
]
R = np.random.default_rng(0)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use scatter kernels for scatters of any size."""
    monkeypatch.setattr(scatter, "PLACES", 1)
    monkeypatch.setattr(scatter, "STEPS", 1)
    yield


def normals(*shape: int, dtype: Any = np.float32) -> Any:
    return R.standard_normal(shape).astype(dtype)


def indices(n: int, *shape: int, dtype: Any = np.int32) -> Any:
    """Return indices of an axis of n entries, including negative and out-of-range indices."""
    return R.integers(-n - 3, n + 3, shape).astype(dtype)


def loops(*ts: Tensor) -> list[int]:
    """Return, for each kernel, the product of its loop lengths."""
    linear = private_api.compile_linear(ts[0].linear_with_vars(*ts[1:])[0])
    kernels = [call.src[0].src[1] for call in linear.src if call.src[0].op is Ops.PROGRAM]
    return [math.prod(int(u.vmax) + 1 for u in kernel.src if u.op is Ops.RANGE) for kernel in kernels]


def written(t: Tensor, index: Any, v: Any) -> Tensor:
    t = t.clone()
    t[index] = v
    return t


def slope(f: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return grad(lambda *xs: (f(*xs) ** 2).sum())


N, M = 300, 400
LARGE: dict[str, tuple[Callable[..., Tensor], list[Any]]] = {
    "gradient": (slope(lambda t, i: t[i]), [normals(N), indices(N, M)]),
    "gradient of rows": (slope(lambda t, i: t[i]), [normals(N, 4), indices(N, M)]),
    "gradient of two indices": (slope(lambda t, i, j: t[i, j]), [normals(20, 30), indices(20, M), indices(30, M)]),
    "gradient of indices apart": (
        slope(lambda t, i, j: t[i, :, j]),
        [normals(20, 2, 30), indices(20, M), indices(30, M)],
    ),
    "gradient of gather": (slope(lambda t, i: t.gather(0, i)), [normals(N), abs(indices(N, M))]),
    "update": (lambda t, i: t - 0.1 * slope(lambda t: t[i])(t), [normals(N, 4), indices(N, M)]),
    "scatter_reduce": (lambda t, i, v: t.scatter_reduce(0, i, v, "sum"), [normals(N), indices(N, M), normals(M)]),
    "scatter of a number": (lambda t, i: t.scatter(0, i, 1.0, reduce="add"), [normals(N), indices(N, M)]),
    "scatter": (lambda t, i, v: t.scatter(0, i, v), [normals(N), indices(N, M), normals(M)]),
    "write": (written, [normals(N, 4), indices(N, M), normals(M, 4)]),
    "segment_sum": (lambda x, i: segment_sum(x, i, N), [normals(M, 4), indices(N, M)]),
    "bincount": (lambda i: bincount(i, length=N), [indices(N, M)]),
    "embedded": (lambda i, v: i.one_hot(N).transpose() @ v.int(), [abs(indices(N, M)), 9 * normals(M)]),
    "rows": (lambda t, i: t[i], [normals(N, 4), indices(N, M)]),
    "indices apart": (lambda t, i, j: t[i, :, j], [normals(20, 2, 30), indices(20, M), indices(30, M)]),
    "many rows": (lambda t, i: t[i], [normals(40_000, 2), indices(40_000, 90)]),
    "pixels": (lambda t, i, j: t[i, j], [normals(200, 200), indices(200, M), indices(200, M)]),
    "own rows": (vmap(slope(lambda t, i: t[i])), [normals(3, N), indices(N, 3, M)]),
}

WIDE = {"many rows", "pixels"}
"""Functions whose plain form has millions of elements, which kernels compute faster than numpy."""


@pytest.mark.parametrize("name", LARGE)
def test_cost_is_linear_in_entries(name: str) -> None:
    f, arrays = LARGE[name]
    xs = [in_memory(a) for a in arrays]
    y = f(*xs)
    size = sum(a.size for a in arrays) + y.numel()
    assert max(loops(y)) <= 4 * size
    with cpu.plain():
        want = f(*xs).numpy() if name in WIDE else read(f(*xs))
    np.testing.assert_allclose(f(*xs).numpy(), want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(jit(f)(*xs).numpy(), want, rtol=1e-4, atol=1e-5)


def add_in_order(t: Any, i: Any, v: Any, step: Any = np.add) -> Any:
    """Apply the entries one after the other."""
    out = t.copy()
    for k, at in enumerate(i):
        if 0 <= at < len(t):
            out[at] = step(out[at], v[k])
    return out


STEPS = {
    "sum": np.add,
    "prod": np.multiply,
    "amax": np.maximum,
    "amin": np.minimum,
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "int8", "uint8", "uint32"])
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.usefixtures("always")
def test_reductions_of_each_dtype(name: str, dtype: str) -> None:
    t, v = (R.integers(0, 4, n).astype(dtype) for n in (7, 20))
    i = R.integers(-2, 9, 20).astype(np.int64 if dtype == "int64" else np.int32)
    y = Tensor(t).scatter_reduce(0, Tensor(i), Tensor(v), name)
    want = add_in_order(t, i, v, STEPS[name])
    np.testing.assert_array_equal(y.numpy(), want)


@pytest.mark.usefixtures("always")
def test_special_values_survive() -> None:
    nan, inf = math.nan, math.inf
    i, v = Tensor([0, 1, 9, -1, 0, 3]), Tensor([inf, nan, nan, inf, 1.0, -0.0])
    np.testing.assert_array_equal(Tensor.zeros(4).scatter_reduce(0, i, v, "sum").numpy(), [inf, nan, 0, 0])
    np.testing.assert_array_equal(segment_max(v, i, 4).numpy(), [inf, nan, -inf, 0])
    np.testing.assert_array_equal(segment_min(v, i, 5).numpy(), [1, nan, inf, 0, inf])
    first = grad(lambda t: (t[i] * v).sum())(Tensor([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_array_equal(first.numpy(), [inf, nan, 0, inf])
    assert Tensor([False, True, False]).scatter(0, Tensor([0, 1]), Tensor([True, False])).tolist() == [
        True,
        False,
        False,
    ]


@pytest.mark.usefixtures("always")
def test_last_duplicate_wins() -> None:
    t, i, v = normals(9), R.integers(-9, 9, 40).astype(np.int32), normals(40)
    want = t.copy()
    want[i] = v
    np.testing.assert_array_equal(written(Tensor(t), Tensor(i), Tensor(v)).numpy(), want)
    rows, new = normals(9, 3), normals(40, 3)
    want = rows.copy()
    want[i] = new
    np.testing.assert_array_equal(written(Tensor(rows), Tensor(i), Tensor(new)).numpy(), want)
    j = R.integers(-3, 3, 40).astype(np.int32)
    want = rows.copy()
    want[i, j] = v
    np.testing.assert_array_equal(written(Tensor(rows), (Tensor(i), Tensor(j)), Tensor(v)).numpy(), want)
    i2, j2 = i.reshape(8, 5), j.reshape(8, 5)
    want[i2, j2] = 7
    np.testing.assert_array_equal(written(Tensor(want), (Tensor(i2), Tensor(j2)), 7.0).numpy(), want)


LAWS: dict[str, tuple[Callable[..., Tensor], list[Any]]] = {
    "gather": (lambda t, i, v: t[i] * v, [normals(3, 9), indices(9, 3, 20), normals(3, 20)]),
    "add": (lambda t, i, v: t.scatter_reduce(0, i, v, "sum"), [normals(3, 9), indices(9, 3, 20), normals(3, 20)]),
    "most": (lambda t, i, v: t.scatter_reduce(0, i, v, "amax"), [normals(3, 9), indices(9, 3, 20), normals(3, 20)]),
    "set": (lambda t, i, v: t.scatter(0, i, v), [normals(3, 9), indices(9, 3, 20), normals(3, 20)]),
    "write": (lambda t, i, v: written(t, i, v), [normals(3, 9, 2), indices(9, 3, 20), normals(3, 20, 2)]),
    "segments": (lambda t, i, v: segment_sum(v, i, 9) * t, [normals(3, 9), indices(9, 3, 20), normals(3, 20)]),
}


@pytest.mark.parametrize(("name", "in_axes"), pairs(LAWS, [(0, 0, 0), (None, 0, 0), (0, None, 0), (0, 0, None)]))
@pytest.mark.usefixtures("always")
def test_vmap_matches_loop(name: str, in_axes: tuple[int | None, ...]) -> None:
    f, arrays = LAWS[name]
    given = [a if axis == 0 else a[0] for a, axis in zip(arrays, in_axes, strict=True)]

    def example(k: int) -> list[Tensor]:
        return [in_memory(a[k] if axis == 0 else a) for a, axis in zip(given, in_axes, strict=True)]

    def forward(t: Tensor, i: Tensor, v: Tensor) -> Tensor:
        return jvp(lambda t, v: f(t, i, v), (t, v), (t * 2, v + 1))[1]

    def backward(t: Tensor, i: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        return grad(lambda t, v: (f(t, i, v) ** 2).sum(), argnums=(0, 1))(t, v)

    for g in (f, forward, backward):
        got = tree.leaves(vmap(g, in_axes=in_axes)(*map(in_memory, given)))
        Tensor.realize(*got)
        with cpu.plain():
            want = zip(*(reads(tree.leaves(g(*example(k)))) for k in range(3)), strict=True)
        for y, each in zip(got, want, strict=True):
            np.testing.assert_allclose(y.numpy(), each, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("always")
def test_second_derivatives_and_loops() -> None:
    i, x = Tensor(indices(5, 12)), normals(5)

    def f(x: Tensor) -> Tensor:
        return (x[i] ** 3).sum()

    with cpu.plain():
        want = hessian(f)(Tensor(x)).numpy()
    np.testing.assert_allclose(hessian(f)(Tensor(x)).numpy(), want, rtol=1e-5)
    ids, xs = indices(5, 6, 12), normals(6, 12)
    total = np.zeros(5, np.float32)
    for i_of, x_of in zip(ids, xs, strict=True):
        total = add_in_order(total * np.float32(0.5), i_of, x_of)
    step = lambda c, ix: (0.5 * c + segment_sum(ix[1], ix[0], 5), c.sum())  # noqa: E731
    got = scan(step, Tensor(np.zeros(5, np.float32)), (Tensor(ids), Tensor(xs)))[0]
    np.testing.assert_allclose(got.numpy(), total, rtol=1e-5, atol=1e-6)


def test_switch_and_small_scatters_use_tinygrad() -> None:
    xs = [in_memory(a) for a in (normals(N), indices(N, M), normals(M))]
    with Context(BRANDED_CPU=0):
        assert max(loops(xs[0].scatter_reduce(0, xs[1], xs[2], "sum"))) >= N * M // 32
    assert max(loops(xs[0].scatter_reduce(0, xs[1], xs[2], "sum"))) <= M
    few = [in_memory(a) for a in (normals(5), indices(5, 9), normals(9))]
    assert len(loops(few[0].scatter_reduce(0, few[1], few[2], "sum"))) == 1


@pytest.mark.usefixtures("always")
def test_sums_over_more_axes_than_index_has() -> None:
    """A loop that does not change the index is reduced first, so the running sum is read once for all its steps."""
    i, v, t = indices(9, 3, 20), R.integers(-4, 5, (3, 20, 4, 5)).astype(np.int32), normals(9, 5)
    index, x = Tensor(i).reshape(3, 1, 20, 1, 1), Tensor(v).reshape(3, 1, 20, 4, 5)
    mask = index.eq(Tensor.arange(9).reshape(1, 9, 1, 1, 1))
    at = i[:, None, :, None, None] == np.arange(9).reshape(1, 9, 1, 1, 1)
    y = v[:, None]
    for axes in ((2, 4), (0, 2), (0, 2, 3, 4)):
        where = at & (y != 0)
        want = np.where(where, y, 0).sum(axes)
        np.testing.assert_array_equal((mask & (x != 0)).where(x, 0).sum(axes).numpy(), want)
        least = np.iinfo(np.int32).min
        want = np.where(where, y, least).max(axes)
        np.testing.assert_array_equal((mask & (x != 0)).where(x, least).max(axes).numpy(), want)
        np.testing.assert_array_equal((mask & (x > 0)).any(axes).numpy(), (at & (y > 0)).any(axes))
    # the entry depends on the index too, and one loop sets its index by two conditions
    of_place = (mask & (x > 0)).where(x * Tensor(t).reshape(1, 9, 1, 1, 5), 0).sum((2, 3))
    want = np.where(at & (y > 0), y * t.reshape(1, 9, 1, 1, 5), 0).sum((2, 3))
    np.testing.assert_allclose(of_place.numpy(), want, rtol=1e-5, atol=1e-5)
    steps = index.eq(2 * Tensor.arange(9).reshape(1, 9, 1, 1, 1) + 1)
    want = np.where(i[:, None, :, None, None] == 2 * np.arange(9).reshape(1, 9, 1, 1, 1) + 1, y, 0).sum(2)
    np.testing.assert_array_equal(steps.where(x, 0).sum(2).numpy(), want)


def test_scatters_are_not_tuned() -> None:
    t, i, v = (in_memory(a) for a in (normals(N), indices(N, M), normals(M)))
    f = jit(lambda t, i, v: t.scatter_reduce(0, i, v, "sum"), tune="fast")
    want = f(t, i, v).numpy()
    np.testing.assert_array_equal(t.scatter_reduce(0, i, v, "sum").numpy(), want)


def test_several_scatters_into_one_result() -> None:
    t, i, j, v = normals(N), indices(N, M), indices(N, M), normals(M)
    x, at, to, y = map(in_memory, (t, i, j, v))

    def f(x: Tensor, y: Tensor) -> Tensor:
        return ((x[at] * y + x[to]) ** 2).sum() + (x**2).sum()

    assert max(loops(grad(f)(x, y))) <= 2 * M
    with cpu.plain():
        want = grad(f)(in_memory(t), in_memory(v)).numpy()
    np.testing.assert_allclose(grad(f)(x, y).numpy(), want, rtol=1e-4, atol=1e-5)
    once = jit(lambda x, y: x + segment_sum(y, at, N), donate_argnums=0)
    np.testing.assert_allclose(
        once(in_memory(t), y).numpy(), t + add_in_order(np.zeros_like(t), i, v), rtol=1e-5, atol=1e-5
    )


def test_entries_are_added_in_order() -> None:
    i, v = indices(50, 5000), normals(5000)
    want = add_in_order(np.zeros(50, np.float32), i, v)
    np.testing.assert_array_equal(Tensor.zeros(50).scatter_reduce(0, Tensor(i), Tensor(v), "sum").numpy(), want)


def test_mask_of_constant_indices_stays_in_the_step() -> None:
    """The mask has 300 x 40 elements; a step that takes it as an argument reads all of them."""
    source, target = Tensor([i % 37 for i in range(300)]).realize(), Tensor([i * i % 40 for i in range(300)]).realize()

    def step(c: Tensor, _: None) -> tuple[Tensor, None]:
        return segment_sum(c[source], target, 40) / 10, None

    out = scan(step, Tensor.ones(40), None, length=3)[0]
    loops = [u for u in out.uop.toposort(enter_calls=False) if u.op is Ops.FUNCTION]
    assert max(arg.numel() for loop in loops for arg in loop.src[1:]) == 300
    want: Any = np.ones(40)
    for _ in range(3):
        want = np.bincount(target.numpy(), want[source.numpy()], 40) / 10
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-5)
