"""Test `sort`, `topk` and `argsort` by numpy: they return the results of tinygrad's network, without kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, TinyJit, dtypes
from tinygrad.uop.ops import Ops

from branded import grad, hessian, jit, jvp, scan, vmap
from branded.backends import cpu
from branded.backends.cpu.runtime import native
from tests.support.by_numpy import read

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(not native.can_run(Tensor([0]).device), reason="there is no C compiler for this device"),
]  # type: ignore[arg-type]

R = np.random.default_rng(0)
DTYPES = (
    *(dtypes.float32, dtypes.float16, dtypes.bfloat16, dtypes.float64),
    *(dtypes.int8, dtypes.uint8, dtypes.int32, dtypes.uint32, dtypes.int64, dtypes.bool),
)


def with_ties(*shape: int) -> Tensor:
    """Return elements with many ties."""
    return Tensor(R.integers(-2, 3, shape).astype(np.float32)).realize()


def kernels(*xs: Tensor) -> list[Ops]:
    return [call.src[0].op for call in xs[0].schedule_linear(*xs[1:]).src]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sort_matches_network(dtype: Any) -> None:
    x = with_ties(5, 9)
    x = (x.abs() if dtypes.is_unsigned(dtype) else x).cast(dtype).realize()
    for dim, descending in ((-1, False), (-1, True), (0, True)):
        got = x.sort(dim, descending)
        with cpu.plain():
            want = x.sort(dim, descending)
            numbers = [read(y.cast(dtypes.float64 if dtype == dtypes.float64 else dtypes.int32)).tolist() for y in want]
        assert [y.dtype for y in got] == [y.dtype for y in want]
        assert [y.cast(dtypes.float64 if dtype == dtypes.float64 else dtypes.int32).tolist() for y in got] == numbers


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64], ids=str)
def test_sort_of_all_magnitudes(dtype: Any, descending: bool) -> None:
    x = R.standard_normal((3, 200)) * 10.0 ** R.integers(-30, 9, (3, 200))
    x = np.concatenate([x, -x, np.zeros((3, 4)), [[np.inf, -np.inf, 1e-42, -1e-42]] * 3], 1)
    x = (x if np.issubdtype(dtype, np.floating) else np.clip(x, -2e9, 2e9)).astype(dtype)
    v, i = Tensor(x).sort(descending=descending)
    key = -x if descending else x
    np.testing.assert_array_equal(i.numpy(), np.argsort(key, axis=-1, kind="stable"))
    np.testing.assert_array_equal(v.numpy(), np.take_along_axis(x, i.numpy().astype(np.int64), -1))


@pytest.mark.parametrize("shape, dim", [((5,), 0), ((4, 3), 0), ((3, 4), 1)])
def test_network_sorts_nan_last(shape: tuple[int, ...], dim: int) -> None:
    """NaN is also the largest in a batch, and with a derivative; tinygrad's network made `[2, nan, 1]` `[1, 2, 2]`."""
    nan = float("nan")
    x = R.choice(np.array([nan, np.inf, -np.inf, 0, 1, 2], dtype=np.float32), (6, *shape))
    for descending in (False, True):
        values, places = (y.numpy() for y in Tensor(x).sort(dim + 1, descending))
        with cpu.plain():
            got = vmap(lambda x, d=descending: x.sort(dim, d))(Tensor(x))
            np.testing.assert_array_equal(read(got[0]), values)
            np.testing.assert_array_equal(read(got[1]), places)
    with cpu.plain():
        slope = grad(lambda x: (x.sort()[0] * Tensor([1.0, 2.0, 3.0]))[:2].sum())(Tensor([3.0, nan, 2.0]))
    assert read(slope).tolist() == [2.0, 0.0, 1.0]


def test_signed_zeros_and_nan() -> None:
    x = Tensor([0.0, -0.0, 1.0, 0.0, float("nan"), -0.0, float("inf")])
    assert x.argsort().tolist() == [0, 1, 3, 5, 2, 6, 4]
    assert x.argsort(descending=True).tolist() == [4, 6, 2, 0, 1, 3, 5]
    assert np.isnan(x.sort()[0].numpy()).tolist() == [False] * 6 + [True]


def test_sort_is_one_call() -> None:
    x = with_ties(6, 40)
    assert kernels(vmap(lambda x: x.sort()[0])(x)) == [Ops.CUSTOM_FUNCTION]
    assert kernels(vmap(lambda x: x.argsort())(x)) == [Ops.CUSTOM_FUNCTION]
    assert kernels(*vmap(lambda x: x.topk(3))(x)) == [Ops.CUSTOM_FUNCTION] * 2
    assert kernels(*x.sort()) == [Ops.CUSTOM_FUNCTION] * 2
    with cpu.plain():
        assert len(kernels(x.sort()[0])) > 10


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_topk_matches_sort(dtype: Any) -> None:
    """`topk` returns the first elements of `sort`, also with equal elements and NaN, along any axis."""
    x = R.choice(np.array([-1, 0, 1, 2, 3], dtype=dtype), (4, 9, 3))
    if dtype != np.int32:
        x[0, 2, 1], x[1, :, 0] = np.nan, -0.0
    for k, dim, largest in ((3, 1, True), (9, 1, True), (2, -1, False), (1, 0, True), (8, 1, False)):
        got = Tensor(x).topk(k, dim, largest)
        want = Tensor(x).sort(dim, descending=largest)
        for y, z in zip(got, want, strict=True):
            part = np.take(z.numpy(), np.arange(k), dim)
            assert y.dtype == z.dtype
            np.testing.assert_array_equal(y.numpy(), part)


def test_memory_of_topk() -> None:
    """Only `k` of 40 indices are returned, but numpy sorts all of them, so the estimated memory is larger."""
    found = [call.src[0].arg for call in with_ties(6, 40).topk(5)[1].schedule_linear().src]
    assert [name.host.space for name in found] == [4 * 40 / 5]


def test_edge_cases_and_errors() -> None:
    assert [y.tolist() for y in Tensor([[3.0], [1.0]]).sort()] == [[[3.0], [1.0]], [[0], [0]]]
    assert Tensor.empty(2, 0).sort()[0].shape == (2, 0)
    with pytest.raises(IndexError):
        with_ties(3, 4).sort(2)
    with pytest.raises(ValueError, match="out of range"):
        with_ties(3, 4).topk(5)
    with pytest.raises(NotImplementedError):
        with_ties(3, 4).topk(2, sorted_=False)
    assert [y.shape for y in with_ties(3, 4).topk(0)] == [(3, 0), (3, 0)]


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sort": lambda x: (x.sort()[0] * Tensor.arange(9)).sum(),
    "descending": lambda x: (x.sort(descending=True)[0].square() * Tensor.arange(9)).sum(),
    "topk": lambda x: (x.topk(3)[0] * Tensor([1.0, 2.0, 3.0])).sum(),
    "of an axis": lambda x: (x.reshape(3, 3).sort(0)[0] * Tensor.arange(9).reshape(3, 3)).square().sum(),
    "of a function": lambda x: (x.square().sort()[0] * x).sum(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_match_network(name: str) -> None:
    """The network runs on devices without numpy; some elements are equal."""
    f, x, d = FUNCTIONS[name], with_ties(4, 9), Tensor(R.standard_normal((4, 9)).astype(np.float32)).realize()
    ways: list[Callable[[], Tensor]] = [
        lambda: vmap(grad(f))(x),
        lambda: vmap(lambda x, d: jvp(f, (x,), (d,))[1])(x, d),
        lambda: f(y := x[1].contiguous()).gradient(y)[0],
    ]
    if name == "of a function":
        ways.append(lambda: hessian(f)(x[0]))
    for way in ways:
        got = read(way())
        with cpu.plain():
            want = read(way())
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("descending", [False, True])
def test_derivatives_follow_indices(descending: bool) -> None:
    """The index also separates equal elements and NaN, so each element gets the derivative of one position."""
    x, w = np.array([2, 1, 2, np.nan, 1, np.inf, 2], np.float32), np.arange(1, 8, dtype=np.float32)
    at = np.argsort(-x if descending else x, kind="stable")
    at = np.concatenate([[3], at[:-1]]) if descending else at
    want = np.empty(7, np.float32)
    want[at] = w
    for plain in (False, True):
        with cpu.plain() if plain else Context():
            got = read(grad(lambda x: (x.sort(descending=descending)[0] * Tensor(w)).sum())(Tensor(x)))
            np.testing.assert_array_equal(got, want)
            moved = read(jvp(lambda x: x.topk(3, largest=descending)[0], (Tensor(x),), (Tensor(w),))[1])
            np.testing.assert_array_equal(moved, w[at[:3]])


def test_derivatives_run_no_network() -> None:
    x, w = with_ties(3, 64), Tensor(R.standard_normal((3, 64)).astype(np.float32)).realize()
    first = vmap(grad(lambda x, w: (x.sort()[0] * w).sum()))(x, w)
    second = vmap(lambda x, w: jvp(grad(lambda x: (x.topk(8)[0] ** 3).sum()), (x,), (w,))[1])(x, w)
    assert kernels(first).count(Ops.CUSTOM_FUNCTION) == 1 and len(kernels(first)) < 6
    assert kernels(second).count(Ops.CUSTOM_FUNCTION) == 2 and len(kernels(second)) < 8
    with cpu.plain():  # only the forward pass runs the network
        assert len(kernels(vmap(grad(lambda x, w: (x.sort()[0] * w).sum()))(x, w))) < 60


def test_derivatives_by_kernels() -> None:
    f, x = FUNCTIONS["of an axis"], with_ties(4, 9)
    with cpu.plain():
        want = read(vmap(grad(f))(x))
    with Context(NOOPT=1):
        np.testing.assert_allclose(vmap(grad(f))(x).numpy(), want, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(jit(vmap(grad(f)))(x).numpy(), want, rtol=1e-5, atol=1e-5)


def test_sort_in_jit_and_scan() -> None:
    x = Tensor(R.standard_normal((4, 6)).astype(np.float32)).realize()
    want = np.sort(x.numpy(), 1)
    f = jit(vmap(lambda x: x.sort()[0] + 1))
    t = TinyJit(lambda x: (x.sort()[0] + 1).realize())
    for _ in range(3):
        np.testing.assert_allclose(f(x).numpy(), want + 1)
        np.testing.assert_allclose(t(x).numpy(), want + 1)

    def step(c: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        c = (c + x).sort()[0]
        return c, c

    got = scan(step, Tensor.zeros(6), x)[1].numpy()
    c = np.zeros(6, np.float32)
    for row, y in zip(x.numpy(), got, strict=True):
        c = np.sort(c + row)
        np.testing.assert_allclose(y, c, rtol=1e-5)


def test_sort_in_nested_vmap() -> None:
    a, b = with_ties(3, 5), with_ties(4, 5)
    got = vmap(lambda a: vmap(lambda b: (a + b).topk(2)[0])(b))(a)
    both = a.numpy()[:, None] + b.numpy()
    np.testing.assert_array_equal(got.numpy(), -np.sort(-both, -1)[..., :2])
    shared = vmap(lambda a: a + b[0].sort()[0])(a)
    np.testing.assert_array_equal(shared.numpy(), a.numpy() + np.sort(b.numpy()[0]))
