"""Sorting in C is stable, has NaN as the largest, and equals numpy for all dtypes and sizes, also in loops."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, dtypes
from tinygrad.uop.ops import Ops

import branded
from branded import grad, jit, scan, vmap
from branded.backends.cpu.linalg import sorting
from branded.backends.cpu.runtime import host_calls, native
from branded.backends.cpu.runtime.host_calls import ArrayType
from tests.support.kernels import note_kernels

pytestmark = pytest.mark.skipif(not native.can_run("CPU"), reason="there is no C compiler")

R = np.random.default_rng(0)
FLOATS = ("float16", "float32", "float64")
INTS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
TYPES = {name: getattr(dtypes, name) for name in (*FLOATS, *INTS, "bool")}


def sample(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return entries of all magnitudes; floats have NaN of both signs, zeros of both signs, and infinities."""
    if dtype == "bool":
        return R.random(shape) < 0.5
    if dtype in INTS:
        info = np.iinfo(dtype)
        return R.integers(info.min, info.max, shape, dtype, endpoint=True)
    x = R.standard_normal(shape) * 10.0 ** R.integers(-4, 4, shape)
    special = R.choice([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf], shape)
    return np.where(R.random(shape) < 0.3, special, x).astype(dtype)


def in_c(x: np.ndarray, k: int, descending: bool, indices: bool) -> np.ndarray:
    """Run the C function on memory, without tinygrad."""
    out = np.empty((*x.shape[:-1], k), "int32" if indices else x.dtype)
    types = [[ArrayType(a.shape, TYPES[str(a.dtype)])] for a in (out, x)]
    function = sorting.sort(descending, not indices, indices)(*types)
    assert function is not None
    function.run("sort", [out.ctypes.data, x.ctypes.data])
    return out


def order(x: np.ndarray, descending: bool) -> np.ndarray:
    """Return a stable order; numpy has only the ascending one."""
    if not descending:
        return np.argsort(x, axis=-1, kind="stable")
    backward: Any = np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    places: np.ndarray = x.shape[-1] - 1 - backward
    return places


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_entries_of_all_magnitudes(dtype: str, descending: bool) -> None:
    for shape in ((1,), (2,), (31,), (32,), (33,), (3, 5, 101), (257,), (2, 1009), (5000,)):
        x = sample(dtype, shape)
        for few_values in (x, np.sort(x, axis=-1), R.permuted(np.repeat(x[..., :1], x.shape[-1], -1), axis=-1)):
            want = order(few_values, descending)
            values = np.take_along_axis(few_values, want, -1)
            for k in sorted({min(k, x.shape[-1]) for k in (1, 5, 8, 9, 33, 64, 65, 10_000)}):
                np.testing.assert_array_equal(in_c(few_values, k, descending, indices=True), want[..., :k])
                np.testing.assert_array_equal(in_c(few_values, k, descending, indices=False), values[..., :k])


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_values_of_many_rows(dtype: str, descending: bool) -> None:
    for shape in ((8, 3), (9, 64), (17, 65), (40, 127), (3, 11, 100), (8, 512), (16, 515), (8, 1025)):
        x = sample(dtype, shape)
        want = np.take_along_axis(x, order(x, descending), -1)
        found = in_c(x, shape[-1], descending, indices=False)
        np.testing.assert_array_equal(found, want)
        if dtype in FLOATS and shape[-1] <= 512 // 8 * x.itemsize:
            zeros = np.signbit(found[found == 0]).sum()
            assert zeros == np.signbit(x[x == 0]).sum()


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.int64, np.uint32, np.bool_])
def test_top_k_of_tensors(dtype: Any) -> None:
    x = R.integers(0, 3, (4, 3, 50)).astype(dtype)
    want = order(x, descending=True)[..., :6]
    for f in (lambda x: branded.top_k(x, 6), vmap(lambda x: branded.top_k(x, 6)), lambda x: x.topk(6)):
        values, places = jit(f)(Tensor(x))
        np.testing.assert_array_equal(places.numpy(), want)
        np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, want, -1))


def test_no_python_runs_in_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: host_calls.HostName, memory: Any) -> None:
        raise AssertionError(f"{self} ran in Python")

    monkeypatch.setattr(host_calls.HostName, "run", fails)
    x = R.standard_normal((3, 70)).astype(np.float32)

    def f(x: Tensor) -> tuple[Tensor, Tensor]:
        def step(x: Tensor, _: None) -> tuple[Tensor, Tensor]:
            y = (x.sort(descending=True)[0] * 0.5 + x[x.argsort()]).sin()
            return y, x.topk(4)[0]

        out: tuple[Tensor, Tensor] = scan(step, x, None, length=5)
        return out

    last, tops = (y.numpy() for y in jit(vmap(f))(Tensor(x)))
    want = x
    for i in range(5):
        top = -np.sort(-want)
        np.testing.assert_allclose(tops[:, i], top[:, :4], rtol=1e-5, atol=1e-6)
        want = np.sin(top * 0.5 + np.sort(want))
    np.testing.assert_allclose(last, want, rtol=1e-5, atol=1e-5)


def test_values_and_indices_come_from_one_network() -> None:
    """Where C does not sort, both results of `sort` are those of one run of tinygrad's network."""
    x = Tensor(np.arange(64, dtype=np.float32).reshape(4, 16)[:, ::-1].copy()).realize()

    def kernels(values: Tensor, indices: Tensor) -> int:
        return len(values.schedule_linear(indices).src)

    with Context(BRANDED_CPU=0, NOOPT=1):  # clang would need longer for unrolled loops
        assert kernels(*vmap(lambda row: row.sort())(x)) <= kernels(*x.sort()) + 2
        values, indices = vmap(lambda row: row.topk(3))(x)
        assert values.tolist()[0] == [15, 14, 13]
        assert indices.tolist()[0] == [0, 1, 2]
        slope = vmap(grad(lambda row: (row.sort()[0] * Tensor.arange(16)).sum()))(x)
        assert slope.tolist()[0] == [15 - i for i in range(16)]


@pytest.mark.parametrize(
    ("shape", "k", "indices", "method"),
    [
        ((64, 256), 8, False, "first"),
        ((64, 256), 8, True, "first"),
        ((4, 20), 20, False, "first"),
        ((64, 256), 256, False, "network"),
        ((64, 256), 256, True, "radix"),
        ((4, 256), 256, False, "radix"),
    ],
)
def test_only_one_method_is_compiled(shape: tuple[int, int], k: int, indices: bool, method: str) -> None:
    assert sorting._method(dtypes.float32, *shape, k, indices) == method
    functions = {"first": "*first(", "radix": "*sorted(", "network": "by_network("}
    source = sorting.source(dtypes.float32, method)
    assert [name for name, text in functions.items() if text in source] == [method]


CALLS: dict[str, tuple[Any, int, int]] = {
    "first": (lambda x: x.topk(4)[0], 1, 0),
    "both": (lambda x: x.sort(), 1, 0),
    "both of a kernel": (lambda x: (x + 1).topk(4), 1, 1),
    "of two orders": (lambda x: (x.sort()[0], x.argsort(descending=True)), 2, 0),
    "of two lengths": (lambda x: (x.topk(3)[0], x.topk(4)[1]), 2, 0),
    "read by a kernel": (lambda x: (x.sort()[0], x.sort()[0].sum()), 1, 2),
    "reversed": (lambda x: x.sort()[0].flip(0), 1, 1),
    "returned twice": (lambda x: (x.sort()[0], x.sort()[0]), 1, 2),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_not_copied(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f, hosts, kernels = CALLS[name]
    compiled = note_kernels(monkeypatch)
    x = Tensor(sample("float32", (5, 19))).realize()
    right = vmap(f)(x)
    program = jit(vmap(f))
    program(Tensor.zeros(5, 19).contiguous().realize())
    counted = Counter(call.src[0].op for call in compiled)
    assert counted == Counter({Ops.CUSTOM_FUNCTION: hosts, Ops.SINK: kernels})
    for out, y in zip(branded.tree.leaves(program(x)), branded.tree.leaves(right), strict=True):
        np.testing.assert_array_equal(out.numpy(), y.numpy())
