"""Kernels split over threads: each part runs once, and the results match a single thread."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tinygrad import Device, Tensor, TinyJit
from tinygrad.helpers import Context
from tinygrad.uop.ops import Ops, UOp

from branded import jit, scan
from branded.backends import cpu
from branded.backends.cpu.runtime import cores, native, parallel_dispatch, python_executor
from branded.tinygrad_compat import private_api

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(
        Device.DEFAULT != "CPU" or type(Device["CPU"].renderer) is not private_api.cstyle.ClangRenderer,
        reason="kernels of clang",
    ),
]
several = pytest.mark.skipif(not cores.address(), reason="one core, or no threads")


@pytest.fixture(autouse=True)
def _two() -> Iterator[None]:
    with Context(NUM_CPU_THREADS=2):
        yield


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every divisible kernel as large."""
    monkeypatch.setattr(cores, "LARGE", 1)


def data(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32)).realize()


def programs(x: Tensor) -> list[UOp]:
    linear = private_api.realize.compile_linear(x.schedule_linear())
    return [call.src[0] for call in linear.src if call.src[0].op is Ops.PROGRAM]


CASES: dict[str, Callable[[Tensor], Tensor]] = {
    "one loop": lambda x: (x.sin() * 2 + x.exp()).tanh(),
    "rows": lambda x: x.exp().sum(1),
    "softmax": lambda x: x.softmax(),
    "a tile": lambda x: x.exp().sum(0),
    "a transposed matrix": lambda x: x.exp().T.contiguous(),
    "many arguments": lambda x: sum(((x * (k + 2)).exp().contiguous() for k in range(14)), x).sin(),
}


def _helpers() -> int:
    """Return the number of started threads."""
    pool = cores._pool()
    return int(pool.helpers) if pool is not None else 0


@several
@pytest.mark.parametrize("name", CASES)
def test_results_match_single_thread(name: str, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    x, made = data(256, 1024), list[native.Op]()
    original = python_executor.make_executor
    monkeypatch.setattr(
        "branded.compile.executable.make_executor", lambda ops, at: made.extend(ops) or original(ops, at)
    )
    found = jit(CASES[name])(x).numpy()
    assert any(isinstance(op, native.KernelCall) and op.is_large for op in made)
    monkeypatch.setattr(cores, "address", lambda: 0)
    assert np.array_equal(found, jit(lambda x: CASES[name](x))(x).numpy())


def _parts(f: Callable[[int], Any], count: int, args: int = 3) -> None:
    """Call a Python function like a kernel, with the index of the part."""
    take = ctypes.CFUNCTYPE(None, *[ctypes.c_uint64] * args)(lambda *given: f(given[1]))
    native.run_parts(ctypes.cast(take, ctypes.c_void_p).value or 0, range(10, 10 + args), 1, count)


@several
@pytest.mark.parametrize("args", [2, 7, 20, 40])
def test_each_part_runs_once(args: int) -> None:
    for count in (1, 2, 7):
        done: list[int] = []
        _parts(done.append, count, args)
        assert sorted(done) == list(range(count))


@several
def test_two_parts_run_at_the_same_time() -> None:
    both, seen = threading.Barrier(2), set[int]()

    def part(i: int) -> None:
        both.wait(timeout=20)
        seen.add(threading.get_ident())

    _parts(part, 2)
    assert len(seen) == 2 and _helpers()


@several
def test_nested_parts_run_on_the_calling_thread() -> None:
    done: list[tuple[int, int]] = []
    _parts(lambda i: _parts(lambda k: done.append((i, k)), 2), 2)
    assert sorted(done) == [(0, 0), (0, 1), (1, 0), (1, 1)]


@several
def test_parts_from_many_python_threads() -> None:
    done: list[int] = []
    threads = [threading.Thread(target=lambda: [_parts(done.append, 3) for _ in range(20)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(done) == [0] * 80 + [1] * 80 + [2] * 80


@several
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forked_process_starts_its_own_threads() -> None:
    _parts(lambda i: None, 2)
    before = _helpers()
    if not (child := os.fork()):
        status = 1
        try:
            done: list[int] = []
            none = _helpers()
            _parts(done.append, 2)
            status = int((none, _helpers(), sorted(done)) != (0, 1, [0, 1]))
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0 and before == _helpers()


@several
def test_one_thread_runs_all_if_pthreads_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """If `pthread_create` fails once, it is not called again."""
    pool, asked = cores._pool(), list[int]()
    assert pool is not None
    create = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(lambda *_: asked.append(1) or 11)
    kept = {name: getattr(pool, name) for name in ("create", "helpers", "most")}
    try:
        pool.create, pool.helpers, pool.most = ctypes.cast(create, ctypes.c_void_p).value, 0, 3
        done: list[int] = []
        _parts(done.append, 3)
        _parts(done.append, 3)
        assert sorted(done) == [0, 0, 1, 1, 2, 2] and asked == [1]
    finally:
        for name, value in kept.items():
            setattr(pool, name, value)


# ---- choice of kernels to split ----


def sizes(x: Tensor) -> list[int]:
    return [program.arg.global_size[0] for program in programs(x)]


def test_choice_of_split_kernels() -> None:
    assert sizes(data(64, 512).sin().exp()) == [2]  # expensive operations count more
    assert sizes(data(64, 512) + 1) == [1]
    assert sizes(data(1024, 512) + 1) == [2]
    assert sizes(data(1023, 512) + 1) == [2]  # one loop over both axes
    assert sizes((data(1023, 1, 511).exp() + data(1023, 511, 1)[:, :1]).sum(2)) == [1]  # no loop can be halved
    with Context(NUM_CPU_THREADS=1):
        assert sizes(data(1024, 512) + 1) == [1]


def test_estimated_cost_of_kernels() -> None:
    (loops,) = programs(data(1024, 1024).exp())
    (tile,) = programs(data(1024, 512) + data(512, 1024).T)
    (whole,) = programs(data(64, 64).exp())
    (again,) = programs(data(128, 3, 16, 16).conv2d(data(4, 3, 3, 3)))
    assert 150_000 < cores.work(loops, True) < 800_000
    assert cores.LARGE < cores.work(tile, False) < 500_000 and cores.work(whole, True) == 0
    assert 100_000 < cores.work(again, True) < 350_000  # nine elements of the result read each input element


@several
def test_c_is_compiled_if_large_kernels_pay(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    x = data(128, 1024)
    monkeypatch.setattr(native, "is_compiled", lambda: False)
    made: list[python_executor.PythonExecutor] = []
    original = python_executor.PythonExecutor.__init__
    monkeypatch.setattr(
        python_executor.PythonExecutor, "__init__", lambda self, *a: made.append(self) or original(self, *a)
    )
    monkeypatch.setattr(cores, "PAYS", 1)
    f = jit(lambda x: x.exp())
    first = f(x).numpy()
    (plan,) = made
    assert isinstance(plan.run.__self__, native.Plan) and np.array_equal(first, f(x).numpy())
    monkeypatch.setattr(native, "is_compiled", lambda: True)
    jit(lambda x: x.exp())(x)
    assert len(made) == 1  # nothing to wait for


# ---- kernels run by tinygrad ----


@several
def test_kernels_of_tinygrad_are_split(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    x, ran = data(96, 1024), list[int]()
    original = native.run_parts
    monkeypatch.setattr(native, "is_loaded", lambda: True)
    monkeypatch.setattr(native, "run_parts", lambda *a: ran.append(a[-1]) or original(*a))
    f = TinyJit(lambda x: (x.sin() + 3).exp().realize())
    with cpu.plain():
        expected = (x.sin() + 3).exp().numpy()
    found = [f(x).numpy() for _ in range(parallel_dispatch.RUNS + 2)]
    assert ran == [2, 2] and all(np.array_equal(found[0], y) for y in found)
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)


def test_few_tinygrad_kernels_compile_no_c(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("is_loaded", "is_compiled"):
        monkeypatch.setattr(native, name, lambda: False)
    monkeypatch.setattr(cores, "address", lambda: 1)
    monkeypatch.setattr(parallel_dispatch, "_pays", 3 * cores.LARGE)
    little, large = parallel_dispatch._Timing(), parallel_dispatch._Timing()
    little.note(cores.LARGE - 1)
    large.note(2 * cores.LARGE)
    assert not any(parallel_dispatch._is_ready(little) for _ in range(9))
    assert [parallel_dispatch._is_ready(large) for _ in range(2)] == [False, True]


@several
def test_kernels_of_loop_steps_are_split(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def f(xs: Tensor) -> Tensor:
        return scan(lambda c, x: ((c + x).sin().exp(), None), xs[0] * 0, xs)[0]

    xs = data(3, 128, 512)
    found = f(xs).numpy()
    monkeypatch.setattr(cores, "address", lambda: 0)
    assert np.array_equal(found, f(xs + 0).numpy())
