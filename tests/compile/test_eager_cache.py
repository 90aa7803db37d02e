"""Values realized without `jit`: the second equal graph is compiled, and later ones run that program."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, TinyJit, dtypes
from tinygrad.dtype import DType
from tinygrad.helpers import GlobalCounters

from branded import grad, jit, scan, vmap
from branded.compile import eager_cache, memory_views
from branded.compile.executable import _Compiled
from branded.compile.output_pool import Result
from branded.tinygrad_compat import activation

pytestmark = pytest.mark.compiled


@pytest.fixture(autouse=True)
def _empty_cache() -> Iterator[None]:
    eager_cache._graphs.clear()
    yield
    eager_cache._graphs.clear()


def array(*shape: int, seed: int = 0) -> Tensor:
    return Tensor(np.random.default_rng(seed).normal(size=shape).astype(np.float32)).realize()


def programs() -> list[_Compiled]:
    return [program for program in eager_cache._graphs.values() if program is not None]


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: vmap(lambda r: r + 1)(x),
        lambda x, w: vmap(lambda r: (r @ w).relu().sum())(x),
        lambda x, w: vmap(grad(lambda r: (r @ w).tanh().sum()))(x),
        lambda x, w: vmap(lambda a: vmap(lambda b: (a - b).square().sum().sqrt())(x))(x),
        lambda x, w: vmap(lambda r: scan(lambda c, y: (c * 0.5 + y, c), Tensor.zeros(()).contiguous(), r)[1])(x),
        lambda x, w: vmap(lambda r: r.sum().expand(7))(x),
    ],
)
def test_each_call_computes_from_its_arguments(f: Callable[[Tensor, Tensor], Tensor]) -> None:
    w = array(4, 4, seed=9)
    first = [f(array(3, 4, seed=i), w).realize() for i in range(4)]
    values = [y.numpy() for y in first]
    eager_cache._graphs.clear()
    for i, expected in enumerate(values):
        np.testing.assert_allclose(f(array(3, 4, seed=i), w).numpy(), expected, rtol=1e-6)


def test_second_realize_compiles_third_runs_it() -> None:
    x = array(8)
    for i in range(3):
        y = vmap(lambda r: r * 3)(x).realize()
        assert y.uop.is_realized
        assert len(programs()) == (i > 0)
    (program,) = programs()
    vmap(lambda r: r * 3)(array(8, seed=1)).realize()
    assert programs() == [program]


def test_known_graph_is_realized_without_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    x = array(8)
    for _ in range(2):
        vmap(lambda r: r * 3)(x).realize()
    monkeypatch.setattr(activation, "_in_engine", None)
    y = vmap(lambda r: r * 3)(x).realize()
    assert y.uop.is_realized
    np.testing.assert_allclose(y.numpy(), x.numpy() * 3, rtol=1e-6)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[1],
        lambda x: x.T,
        lambda x: x.reshape(2, 6),
        lambda x: x[::2],
        lambda x: x.flip(0),
        lambda x: x.pad(((0, 1), (0, 0))),
        lambda x: x.reshape(1, 3, 4).expand(2, 3, 4),
        lambda x: x.detach(),
    ],
)
@pytest.mark.parametrize("is_ours", [False, True])
def test_realize_of_view_runs_nothing(
    view: Callable[[Tensor], Tensor], is_ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = array(3, 4)
    x = vmap(lambda r: r * 3)(x).realize() if is_ours else x
    expected = view(x).numpy()
    y = view(x)
    u = y.uop
    with monkeypatch.context() as context:
        context.setattr(Tensor, "linear_with_vars", None)
        assert y.realize() is y
    assert y.uop is u
    np.testing.assert_array_equal(y.numpy(), expected)


def test_view_next_to_new_value_is_realized() -> None:
    x = array(3, 4)
    for _ in range(3):
        y = vmap(lambda r: r * 3)(x).realize()
        z = vmap(lambda r: r + 1)(y)
        Tensor.realize(y[0], z, y.T)
        assert z.uop.is_realized
        np.testing.assert_allclose(z.numpy(), x.numpy() * 3 + 1, rtol=1e-6)
    assert len(programs()) == 2


def test_order_of_operands_is_part_of_graph() -> None:
    x, y = array(4), array(4, seed=1)
    a, b = x.numpy(), y.numpy()
    f: list[tuple[Callable[[Any, Any], Any], Any]] = [
        (lambda a, b: a - b, a - b),
        (lambda a, b: b - a, b - a),
        (lambda a, b: (a - b) * a, (a - b) * a),
        (lambda a, b: (a - b) * b, (a - b) * b),
        (lambda a, b: a * 0.0 + b, b),
        (lambda a, b: a * float("nan"), a * np.nan),
    ]
    for _ in range(3):
        for g, expected in f:
            np.testing.assert_allclose(vmap(g)(x, y).numpy(), expected, rtol=1e-6)


def test_other_tensors_see_computed_value() -> None:
    for i in range(4):
        x = array(8, seed=i)
        y = vmap(lambda r: r * 3)(x)
        z = y + 1
        y.realize()
        assert y.uop.base in z.uop.toposort()
        np.testing.assert_allclose(z.numpy(), x.numpy() * 3 + 1, rtol=1e-6)


def test_aliased_buffers_make_a_different_graph() -> None:
    a, b = array(4), array(4, seed=1)
    for _ in range(3):
        for p, q in ((a, a), (a, b), (b, a)):
            got = vmap(lambda u, v: u - 2 * v)(p, q).numpy()
            np.testing.assert_allclose(got, p.numpy() - 2 * q.numpy(), rtol=1e-6)


def test_constants_and_dtypes_are_part_of_graph() -> None:
    x = array(4)
    for _ in range(3):
        for factor in (1, 2.5, -3.0):
            np.testing.assert_allclose(vmap(lambda r: r * factor)(x).numpy(), x.numpy() * factor, rtol=1e-6)
        for dtype in (dtypes.float32, dtypes.int32, dtypes.bool):
            assert vmap(lambda r: r.cast(dtype))(x).realize().dtype == dtype


def test_kept_results_are_not_overwritten() -> None:
    kept = [vmap(lambda r: r * 3)(array(8, seed=i)).realize() for i in range(6)]
    for i, y in enumerate(kept):
        np.testing.assert_allclose(y.numpy(), array(8, seed=i).numpy() * 3, rtol=1e-6)


def test_write_into_result_changes_no_other() -> None:
    x = Tensor([1.0, 2.0]).realize()
    for _ in range(4):
        y, z = vmap(lambda r: r + 1)(x).realize(), vmap(lambda r: r + 1)(x).realize()
        y.assign(Tensor([9.0, 9.0])).realize()
        assert (y.tolist(), z.tolist(), x.tolist()) == ([9.0, 9.0], [2.0, 3.0], [1.0, 2.0])


def test_tinyjit_records_kernels() -> None:
    @TinyJit
    def total(x: Tensor) -> Tensor:
        return vmap(lambda r: (r * 2).sum())(x).realize()

    for i in range(5):
        assert total(Tensor(np.full((3, 4), float(i), dtype=np.float32)).realize()).tolist() == [8.0 * i] * 3


def test_assign_runs_each_time() -> None:
    total = Tensor([0.0, 0.0]).realize()
    for i in range(1, 5):
        total.assign(total + vmap(lambda r: r * 2)(Tensor([1.0, 2.0]).realize()))
        assert total.tolist() == [2.0 * i, 4.0 * i]


def test_random_samples_differ() -> None:
    seen = {vmap(lambda r: r + Tensor.rand(()), randomness="different")(array(3)).numpy().tobytes() for _ in range(4)}
    assert len(seen) == 4


def test_cache_keeps_no_argument_memory_alive() -> None:
    x = array(1000)
    memory = weakref.ref(x.uop.buffer)
    for _ in range(3):
        vmap(lambda r: r * 3)(x).realize()
    assert len(programs()) == 1
    del x
    gc.collect()
    assert memory() is None


def test_least_recently_used_graphs_are_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eager_cache, "PROGRAMS", 2)
    for n in (2, 3, 4, 5):
        for _ in range(2):
            vmap(lambda r: r * 3)(array(n)).realize()
    assert len(eager_cache._graphs) <= 2


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        *((d, [1.5, 0.0, 4.5]) for d in (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16)),
        *((d, [1, 0, 4]) for d in (dtypes.int8, dtypes.uint64)),
        (dtypes.bool, [True, False, True]),
    ],
)
def test_reads_of_computed_values(dtype: DType, expected: list[object]) -> None:
    y = vmap(lambda r: (r * 3).cast(dtype))(Tensor([0.5, 0.0, 1.5]).realize()).realize()
    assert y.tolist() == y.numpy().tolist() == expected
    assert [type(v) for v in y.tolist()] == [type(v) for v in expected]
    y.numpy()[:] = 0
    assert y.tolist() == expected  # the array is a copy


def test_item_needs_a_single_element() -> None:
    y = vmap(lambda r: r * 3)(Tensor([1.0]).realize()).realize()
    assert y.item() == 3.0
    with pytest.raises(AssertionError):
        vmap(lambda r: r * 3)(Tensor([1.0, 2.0]).realize()).realize().item()


def test_interrupted_value_is_computed_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    x = array(4)
    for _ in range(2):
        vmap(lambda r: r * 3)(x).realize()
    y = vmap(lambda r: r * 3)(x)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(_Compiled, "run", interrupted)
        y.realize()
    np.testing.assert_allclose(y.numpy(), x.numpy() * 3, rtol=1e-6)


MOVED: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed": lambda x: x.T,
    "a column": lambda x: x[:, 1],
    "every other row": lambda x: x[::2],
    "every other row, one of them padded": lambda x: x[1::2],
    "from the end": lambda x: x.flip(0),
    "a column, repeated": lambda x: x[:, 1:2].expand(6, 5),
    "padded": lambda x: x.pad(((1, 2), (0, 1))),
    "reshaped after a transpose": lambda x: x.T.reshape(3, 8),
    "contiguous": lambda x: x.T.contiguous(),
    "a row": lambda x: x[3],
    "a row as a column": lambda x: x[3:4].T,
    "rows between axes of one": lambda x: x[1:3].reshape(2, 4, 1).permute(0, 2, 1),
    "one element": lambda x: x.T[1:2, 2:3],
}
"""Values that consist of elements of `x`, which has shape (6, 4)."""


def check_moved(name: str, n_programs: int) -> None:
    f = jit(lambda x: x * 2)
    for i in range(4):
        x = array(6, 4, seed=i)
        before, expected = x.numpy(), (MOVED[name](x) + 0).numpy()
        n = len(programs())
        np.testing.assert_allclose(f(MOVED[name](x)).numpy(), expected * 2, rtol=1e-6)
        np.testing.assert_array_equal(x.numpy(), before)
        assert len(programs()) - n == (n_programs if i == 1 else 0)


@pytest.mark.parametrize("name", MOVED)
def test_moved_argument_of_jit_needs_no_program(name: str) -> None:
    check_moved(name, 0)


@pytest.mark.parametrize("name", ["transposed", "a column", "padded"])
def test_large_moved_argument_of_jit_is_computed_by_a_program(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_views, "LARGEST_COPY", 8)
    check_moved(name, 1)


def test_computed_argument_of_jit() -> None:
    """Each call computes such an argument before its own program, from the second call on by a program."""
    f = jit(lambda x: x * 2)
    for i in range(4):
        x = array(6, 4, seed=i)
        np.testing.assert_allclose(f(x * 3 - 1).numpy(), (x.numpy() * 3 - 1) * 2, rtol=1e-6)
        assert len(programs()) == (i > 0)


def test_computed_argument_of_jit_is_computed_once() -> None:
    f = jit(lambda x: x * 2)
    for i in range(4):
        x = array(6, 4, seed=i)
        before, y = x.numpy(), x * 3 - 1
        z, views = y + 1, (y.T, y[2])
        np.testing.assert_allclose(f(y).numpy(), (before * 3 - 1) * 2, rtol=1e-6)
        if i > 1:
            assert y.uop.base.is_realized
            kernels = GlobalCounters.kernel_count
            f(y)
            assert GlobalCounters.kernel_count == kernels + 1
        x.assign(Tensor.zeros(6, 4)).realize()
        if i > 1:  # other values that contain it refer to the computed value
            for got, expected in ((z, before * 3), (views[0], (before * 3 - 1).T), (views[1], before[2] * 3 - 1)):
                np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)


def test_computed_argument_after_a_write() -> None:
    f = jit(lambda x, y: x - 2 * y)
    for i in range(5):
        x = array(4, seed=i)
        before, y = x.numpy(), x * 3
        np.testing.assert_allclose(f(x, y).numpy(), before - 6 * before, rtol=1e-6)
        x.assign(x + 1)
        np.testing.assert_allclose(f(x, x * 3).numpy(), -5 * (before + 1), rtol=1e-6)
        np.testing.assert_allclose(f(x * 3, x * 3).numpy(), -3 * (before + 1), rtol=1e-6)


def test_views_and_donated_computed_arguments() -> None:
    f = jit(lambda x, y: x + y, donate_argnums=0)
    for i in range(4):
        x = array(4, 4, seed=i)
        before, y = x.numpy(), x * 3
        np.testing.assert_allclose(f((x * 2).T, y.T).numpy(), 5 * before.T, rtol=1e-6)
        np.testing.assert_allclose(f(x.T * 2, y).numpy(), 2 * before.T + 3 * before, rtol=1e-6)
        np.testing.assert_array_equal(x.numpy(), before)


def test_computed_arguments_in_threads() -> None:
    f = jit(lambda x: x * 2)
    xs = [array(64, seed=i) for i in range(16)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(4):
            for x, y in zip(xs, pool.map(lambda x: f(x * 3 - 1).numpy(), xs), strict=True):
                np.testing.assert_allclose(y, (x.numpy() * 3 - 1) * 2, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.int8, dtypes.bool, dtypes.float64, dtypes.bfloat16])
@pytest.mark.parametrize("name", MOVED)
def test_moved_value_is_read_without_a_kernel(name: str, dtype: DType) -> None:
    x = vmap(lambda r: (r > 0).cast(dtype) if dtype == dtypes.bool else r.cast(dtype))(array(6, 4) * 9).realize()
    expected = x.numpy()
    for read in (Tensor.numpy, Tensor.tolist):
        kernels = GlobalCounters.kernel_count
        got = read(MOVED[name](x))
        assert dtype == dtypes.bfloat16 or GlobalCounters.kernel_count == kernels
        want = MOVED[name](Tensor(expected)).numpy()
        assert got == want.tolist() if isinstance(got, list) else (got == want).all() and got.dtype == expected.dtype
    got = MOVED["transposed"](x).numpy()
    got[:] = 1  # the caller owns the array
    np.testing.assert_array_equal(x.numpy(), expected)


def test_argument_of_jit_after_a_write() -> None:
    f = jit(lambda x: x * 2)
    for _ in range(4):
        x = Tensor(np.zeros((4, 4), np.float32)).realize()
        x.assign(x + 3)
        np.testing.assert_array_equal(f(x.T).numpy(), np.full((4, 4), 6))
        x[1:2] = 5
        np.testing.assert_array_equal(f(x[1:2].T).numpy(), np.full((4, 1), 10))
        np.testing.assert_array_equal(x.numpy()[:2], [[3] * 4, [5] * 4])


@pytest.mark.parametrize("make", [lambda: Tensor.full((3, 4), 1.0), lambda: Tensor([[1.0, 2.0]])])
def test_contiguous_initial_value_is_realized(make: Callable[[], Tensor]) -> None:
    """TinyJit compares the graphs of its arguments, so they must not depend on how a value came into memory."""

    def f(x: Tensor) -> Tensor:
        assert make().contiguous().realize().uop.base.is_realized
        return x

    vmap(f)(Tensor.ones(3))


READ = {
    "sum": (lambda y: y.sum(), lambda y: y.sum()),
    "moved": (lambda y: (y + 1).T, lambda y: (y + 1).T),
    "with zeros": (lambda y: Tensor.zeros(3, 4) + y, lambda y: y),
    "with an array": (lambda y: Tensor(np.ones((3, 4), np.float32)) + y, lambda y: y + 1),
}


@pytest.mark.parametrize("name", READ)
def test_read_of_a_value_that_is_not_computed(name: str) -> None:
    """It reads the buffers of this call, and the value stays lazy."""
    f, g, (of, expected) = jit(lambda x: x * 2), jit(lambda y: y), READ[name]
    for i in range(5):
        x = array(3, 4, seed=i)
        y = f(x)
        z, before = of(y), y.numpy()
        for _ in range(2):
            np.testing.assert_allclose(z.numpy(), expected(before), rtol=1e-5)
            np.testing.assert_allclose(z.tolist(), expected(before).tolist(), rtol=1e-5)
            assert not z.uop.base.is_realized
        y.assign(y * 3).realize()  # does not change `x`, or the results of other calls
        again = f(x)
        np.testing.assert_allclose(of(y).numpy(), expected(before * 3), rtol=1e-5)
        np.testing.assert_allclose(of(again).numpy(), expected(before), rtol=1e-5)
        np.testing.assert_allclose(g(of(y)).numpy(), expected(before * 3), rtol=1e-5)
    assert programs()


def test_read_of_a_value_of_tinygrad_runs_its_kernels() -> None:
    vmap(lambda r: r + 1)(array(8)).realize()
    x = array(8)
    for _ in range(4):
        assert (x * 2).sum().item() == pytest.approx(2 * x.numpy().sum(), rel=1e-5)
    assert len(eager_cache._graphs) == 1


def test_buffers_of_filled_tensors_are_not_confused() -> None:
    """Two of them with one number are one graph; another number, dtype or shape is another graph."""
    f = jit(lambda x: x * 2)
    for _ in range(4):
        y = f(Tensor(np.arange(6, dtype=np.float32).reshape(2, 3)))
        for number in (0.0, -0.0, 1.5, -1.0):
            z, w = Tensor.full((2, 3), number), Tensor.full((2, 3), number)
            np.testing.assert_array_equal((z * y + w).numpy(), number * y.numpy() + number)
            assert np.signbit((z * y.abs()).numpy()).all() == np.signbit(number)
            z.assign(y)
            np.testing.assert_array_equal((z + w).numpy(), y.numpy() + number)
            np.testing.assert_array_equal(w.numpy(), np.full((2, 3), number))
        for dtype in (dtypes.int32, dtypes.bool):
            got = (Tensor.full((2, 3), 1, dtype=dtype) + y).numpy()
            np.testing.assert_array_equal(got, y.numpy() + 1)


def test_results_used_without_jit_reuse_their_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts that are cached about a buffer do not count as its use."""
    f, x, made = jit(lambda x: x * 2), array(8), []
    for _ in range(3):
        (f(x) + 1).numpy()
    monkeypatch.setattr(Result, "make", lambda self, make=Result.make: made.append(self) or make(self))
    for _ in range(30):
        (f(x) + 1).numpy()
    assert not made
    kept = [(f(x), f(x) + 1) for _ in range(4)]
    for y, z in kept:
        np.testing.assert_allclose([y.numpy() + 1, z.numpy()], [x.numpy() * 2 + 1] * 2, rtol=1e-6)
    assert made


def test_constant_argument_of_jit_is_computed_once() -> None:
    f, g = jit(lambda x: x * 2), jit(lambda x: x * 3, donate_argnums=0)
    for n in (3, 5, 3, 5, 3):
        for h, factor in ((f, 2), (g, 3), (f, 2)):
            y = h(Tensor.arange(n))
            assert y.tolist() == [factor * i for i in range(n)]
            y.assign(y * 0).realize()
        assert f(Tensor.ones(n, buffer=False)).tolist() == [2] * n
    x = Tensor.arange(3)
    kernels = GlobalCounters.kernel_count
    y = f(x)
    assert GlobalCounters.kernel_count == kernels + 1
    x += 1
    assert (x.tolist(), f(x).tolist(), f(Tensor.arange(3)).tolist(), y.tolist()) == (
        [1, 2, 3],
        [2, 4, 6],
        [0, 2, 4],
        [0, 2, 4],
    )


def test_graph_whose_constants_are_new_nodes_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sizes and numbers of a graph are other nodes in each call, after those of the call before are deleted."""
    compiled: list[Any] = []
    compile_graph = eager_cache.compile_graph
    assert compile_graph is not None
    monkeypatch.setattr(eager_cache, "compile_graph", lambda *graph: compiled.append(graph) or compile_graph(*graph))
    x = Tensor(np.arange(39, dtype=np.float32).reshape(13, 3)).realize()
    pairs = vmap(lambda a: vmap(lambda b: ((a - b) * 0.731).square().sum())(x))
    for _ in range(4):
        pairs(x).realize()
        gc.collect()
    assert len(compiled) == 1


def test_watchers_see_the_values_of_their_thread() -> None:
    x, y = array(8), array(8, seed=1)
    seen: list[object] = []
    for _ in range(3):
        vmap(lambda r: r * 3)(x).realize()
    with eager_cache.watchers.during(seen.append), ThreadPoolExecutor(1) as pool:
        other = pool.submit(lambda: vmap(lambda r: r * 3)(y).realize()).result()
        assert not seen and eager_cache._is_off() and not pool.submit(eager_cache._is_off).result()
        vmap(lambda r: r * 3)(x).realize()
        assert seen
    assert not eager_cache._is_off()
    np.testing.assert_allclose(other.numpy(), 3 * y.numpy(), rtol=1e-6)


def test_arguments_of_programs_are_computed_in_each_call() -> None:
    double = jit(lambda x: x * 2)
    for i in range(3):
        x = Tensor([1.0, 2.0]).realize()
        y = (x + i).detach()
        assert double(y).tolist() == [2 * (1.0 + i), 2 * (2.0 + i)]
        x.assign(x * 0).realize()
        assert y.tolist() == [1.0 + i, 2.0 + i]
