"""Costs of a compiled call: kernels, C calls, schedules, copies and traces."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes
from tinygrad.helpers import GlobalCounters
from tinygrad.uop.ops import UOp

from branded import cond, fori_loop, grad, jit, pure_callback, scan, tree, vmap, while_loop
from branded.backends.cpu.runtime import native, python_executor
from branded.compile import compiled_loop, output_pool
from branded.compile import jit as jits
from branded.compile import linear_program as linear_module
from branded.compile.linear_program import address_of
from branded.tinygrad_compat import private_api

tg_tensor = private_api.tensor


def floats(*values: float) -> Tensor:
    return Tensor(np.array(values, dtype=np.float32)).realize()


def kernels_of(run: Callable[[], Any]) -> int:
    """Return the number of launched kernels."""
    before = GlobalCounters.kernel_count
    run()
    return GlobalCounters.kernel_count - before


@pytest.fixture
def unscheduled(monkeypatch: pytest.MonkeyPatch) -> Callable[[], AbstractContextManager[None]]:
    """Return a block in which scheduling and updates of other tensors raise."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("scheduled")

    @contextmanager
    def block() -> Iterator[None]:
        with monkeypatch.context() as patched:
            patched.setattr(tg_tensor, "transform_to_call", refuse)
            patched.setattr(tg_tensor, "_apply_map_to_tensors", refuse)
            yield

    return block


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list with the number of addresses of each call of C."""
    made: list[int] = []
    original = native.Plan.run

    def run(self: native.Plan, addresses: Any, length: int | None = None) -> int:
        made.append(len(addresses))
        return original(self, addresses, length)

    monkeypatch.setattr(native.Plan, "run", run)
    monkeypatch.setattr(native, "is_compiled", lambda: True)
    return made


def test_replay_is_one_c_call(unscheduled: Any, calls: list[int]) -> None:
    w = floats(3, 4)
    f = jit(lambda x, d, n: {"y": [x * w + n, d["a"].sum()], "x": x})
    x, d = floats(1, 2), {"a": floats(5, 6)}
    f(x, d, 1)
    calls.clear()
    with unscheduled():
        outs = [f(x, d, n) for n in range(4)]
        assert kernels_of(lambda: f(x, d, 4)) == 3
    assert calls == [1 + 3 + 3] * 5  # the scratch buffer, the results, the arguments
    assert [out["y"][0].tolist() for out in outs] == [[3.0 + n, 8.0 + n] for n in range(4)]
    assert outs[0]["y"][1].item() == 11 and outs[3]["x"].tolist() == [1, 2]


def test_replay_checks_no_closed_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tracing or mapping a function does not slow down its later calls."""
    f = jit(lambda x: vmap(lambda y: y + 1)(x))
    x = floats(1, 2)
    for _ in range(2):
        f(x)
    asked: list[object] = []
    for name in ("open_brands", "in_call_body", "is_differentiating"):
        monkeypatch.setattr(jits, name, lambda name=name: asked.append(name))
    assert f(x).tolist() == [2, 3] and not asked


LOOPS: dict[str, Callable[[Tensor], Any]] = {
    "a scan": lambda x: scan(lambda c, v: (c * 0.5 + v, c), x[0] * 0, x),
    "reverse scan": lambda x: scan(lambda c, v: (c * 0.5 + v, c), x[0] * 0, x, reverse=True),
    "while": lambda x: while_loop(lambda c: c.sum() < 50, lambda c: c * 1.5 + 0.1, x.abs()[0]),
    "while without steps": lambda x: while_loop(lambda c: c.sum() < -50, lambda c: c * 1.5, x.abs()[0]),
    "a scan in a scan": lambda x: scan(lambda c, v: (scan(lambda d, w: (d * 0.5 + w * v, d), c, x)[0], c), x[0] * 0, x),
    "a while in a scan": lambda x: scan(
        lambda c, v: (while_loop(lambda d: d.sum() < v.sum() + 9, lambda d: d + 1.25, c), c.sum()), x[0] * 0, x
    ),
    "a scan in a while": lambda x: while_loop(
        lambda c: c[0] < 5, lambda c: (c[0] + 1, scan(lambda d, w: (d * 0.5 + w + c[0], None), c[1], x)[0]), (0, x[0])
    ),
    "three deep": lambda x: fori_loop(
        0,
        3,
        lambda i, c: scan(lambda d, w: (fori_loop(0, 2, lambda j, e: e * 0.5 + w + i + j, d), None), c, x)[0],
        x[0],
    ),
    "two scans": lambda x: (
        scan(lambda c, v: (c + v, c * v), x[0], x),
        scan(lambda c, v: (c - v.sum(), None), x.sum(), x),
    ),
}
TABLE = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)


@pytest.mark.parametrize("name", LOOPS)
def test_loops_are_part_of_the_c_call(name: str, calls: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    f, x = LOOPS[name], Tensor(TABLE).realize()
    leaves = lambda out: [t.numpy() for t in leaves_of(out)]  # noqa: E731
    with monkeypatch.context() as patched:
        patched.setattr(compiled_loop.LoopStep, "plan", lambda *_: None)  # interpreted
        patched.setattr(linear_module.Linear, "ops", lambda *_: None)
        wanted = leaves(f(x))
    compiled = jit(f)
    for _ in range(3):
        calls.clear()
        out = compiled(x)
        assert len(calls) == 1
        for y, z in zip(leaves(out), wanted, strict=True):
            np.testing.assert_allclose(y, z, rtol=1e-6)
    calls.clear()
    Tensor.realize(*leaves_of(f(x)))
    assert len(calls) <= 2  # outside jit, nested loops are one call
    by_grad = jit(grad(lambda x: sum((t.sum() for t in leaves_of(f(x))), Tensor(0.0))))
    if "while" not in name and "by itself" not in name and "a step" not in name:
        plain = grad(lambda x: sum((t.sum() for t in leaves_of(f(x))), Tensor(0.0)))(x).numpy()
        for _ in range(2):
            np.testing.assert_allclose(by_grad(x).numpy(), plain, rtol=1e-5)


def leaves_of(out: Any) -> list[Tensor]:
    return [t for t in tree.leaves(out) if isinstance(t, Tensor)]


# ---- ownership of memory ----

HOLD: dict[str, Callable[[Tensor], Any]] = {
    "a tensor": lambda t: t,
    "lazy": lambda t: t + 1,
    "a view": lambda t: t[1:],
    "another shape": lambda t: t.reshape(2, 2).reshape(4, 1),
    "a node of the graph": lambda t: t.uop,
    "the node of the buffer": lambda t: t.uop.base,
    "the buffer": lambda t: t.uop.buffer,
    "a part of the buffer": lambda t: t.uop.buffer.view(2, dtypes.float32, 0),
}


@pytest.mark.parametrize("shape", [(4,), (2, 2)])
@pytest.mark.parametrize("what", HOLD)
def test_memory_in_use_is_not_overwritten(what: str, shape: tuple[int, ...]) -> None:
    f = jit(lambda x: x + 1)
    args = [Tensor(np.full(shape, i, dtype=np.float32)).realize() for i in range(8)]
    held = [(HOLD[what](y), address_of(y.uop)) for x in args for y in [f(x)]]
    assert len({at for _, at in held}) == len(held)


def test_unused_memory_is_reused() -> None:
    f, state = jit(lambda x: x + 1), floats(0, 1)
    places = set()
    for _ in range(20):
        state = f(state)
        places.add(address_of(state.uop))
    assert state.tolist() == [20, 21] and len(places) <= output_pool.REMEMBERED
    large = jit(lambda x: x.expand(output_pool.LARGEST).contiguous())
    seen = [large(floats(1)).uop for _ in range(3)]
    assert len({id(u) for u in seen}) == 3


def test_reuse_of_large_results_is_bounded() -> None:
    gc.collect()
    before, n = output_pool.Result.large, output_pool.SMALL  # 4 MiB
    programs = [
        jit(lambda x, i=i: x.expand(n) + i) for i in range(2 * output_pool.ROOM // (4 * n) // output_pool.REMEMBERED)
    ]
    x = floats(1)
    assert programs[0](x)[0].item() == 1 and output_pool.Result.large == before + 4 * n
    seen = [address_of(programs[0](x).uop) for _ in range(3)]
    assert len({*seen}) == 1
    held = [[f(x) for _ in range(output_pool.REMEMBERED)] for f in programs]
    assert len({address_of(y.uop) for ys in held for y in ys}) == len(programs) * output_pool.REMEMBERED
    assert output_pool.ROOM - 4 * n <= output_pool.Result.large <= output_pool.ROOM
    del programs, held, seen
    gc.collect()
    assert output_pool.Result.large == before


PARTS: dict[str, Callable[[Tensor], Tensor]] = {
    "an entry": lambda x: x[1],
    "neighbours": lambda x: x[1:3],
    "an entry of an entry": lambda x: x[2][1],
    "a part of an entry": lambda x: x[1, 0:1],
    "another shape": lambda x: x.reshape(4, 32)[1],
    "whole": lambda x: x[0:4],
}


@pytest.mark.parametrize("name", list(PARTS))
def test_contiguous_slice_is_read_in_place(name: str) -> None:
    part, x = PARTS[name], Tensor(np.arange(128, dtype=np.float32).reshape(4, 2, 16)).realize()
    f = jit(lambda x: x * 2)
    wanted = (part(x).numpy() * 2).tolist()
    f(part(x))
    GlobalCounters.reset()
    assert f(part(x)).tolist() == wanted and GlobalCounters.kernel_count == 1


@pytest.mark.parametrize(
    "part",
    [
        lambda x: x[:, 1],
        lambda x: x[1:3, 1],
        lambda x: x[1:3, 1:2],
        lambda x: x[0, 0, 1:5],
        lambda x: x[1].flip(0),
        lambda x: x[::2],
    ],
)
def test_other_slices_are_copied(part: Callable[[Tensor], Tensor]) -> None:
    x = Tensor(np.arange(128, dtype=np.float32).reshape(4, 2, 16)).realize()
    f = jit(lambda x: x * 2)
    for _ in range(3):
        assert f(part(x)).tolist() == (part(x).numpy() * 2).tolist()


def test_slice_of_donated_argument_is_copied() -> None:
    f = jit(lambda x, y: (x * 0 + 7, y + x.sum()), donate_argnums=0)
    for _ in range(3):
        x = Tensor(np.arange(64, dtype=np.float32).reshape(2, 32)).realize()
        assert f(x, x[1])[1].tolist() == [2016 + i for i in range(32, 64)]


def test_slice_keeps_its_result_alive() -> None:
    f, g = jit(lambda x: x + 1), jit(lambda x: x * 2)
    x = Tensor(np.zeros((2, 32), dtype=np.float32)).realize()
    parts = [f(x + i)[1] for i in range(6)]
    assert [g(p).tolist() for p in parts] == [[2.0 + 2 * i] * 32 for i in range(6)]


def test_writes_to_result_do_not_leak() -> None:
    f = jit(lambda x: (x, x, x[1:], x * 2))
    x = floats(1, 2)
    outs = [f(x) for _ in range(3)]
    for y in outs[0]:
        y.assign(y * 0 - 1).realize()
    assert x.tolist() == [1, 2]
    for out in outs[1:]:
        assert [y.tolist() for y in out] == [[1, 2], [1, 2], [2], [2, 4]]
    x.assign(x + 10).realize()
    assert outs[1][0].tolist() == [1, 2] and f(x)[3].tolist() == [22, 24]


def test_result_may_be_written_in_branch() -> None:
    f = jit(lambda x: x + 1)
    x = floats(1, 2)
    f(x)

    def written(x: Tensor) -> Tensor:
        y = f(x)
        y.assign(y * 2)
        return y

    assert cond(Tensor(True), written, lambda x: x, x).tolist() == [4, 6]


def test_weight_freed_and_reallocated() -> None:
    w = floats(1, 2)
    f = jit(lambda x: x * w)
    x = floats(3, 4)
    assert f(x).tolist() == [3, 8]
    w.uop.buffer.deallocate()
    others = [floats(7, 7) for _ in range(3)]
    w.uop.buffer.allocate()
    w.assign(floats(5, 6)).realize()
    assert f(x).tolist() == [15, 24] and len(others) == 3


# ---- arguments ----

ARRAYS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "contiguous": lambda a: a,
    "unaligned": lambda a: np.frombuffer(b"\0" * 4 + a.tobytes(), dtype=a.dtype, offset=4).reshape(a.shape),
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "strided": lambda a: np.repeat(a, 2, axis=0)[::2],
    "byte-swapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "read only": lambda a: np.broadcast_to(a[:1], a.shape),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_numpy_arrays_as_arguments(kind: str, unscheduled: Any) -> None:
    f = jit(lambda a: a * 2 + a.sum(axis=0))
    arrays = [ARRAYS[kind](np.arange(8, dtype=np.float32).reshape(4, 2) + i) for i in range(4)]
    f(arrays[3])
    with unscheduled():
        outs = [(f(a), a) for a in arrays[:3]]
    for out, x in outs:
        np.testing.assert_allclose(out.numpy(), x * 2 + x.sum(axis=0))


def test_python_numbers_as_arguments(unscheduled: Any) -> None:
    f = jit(lambda n, x: (x * n, n + 1))
    x = floats(1, 2)
    for values in ((3, -1, 2**30), (0.5, float("inf"), 1e300), (True, False)):
        f(values[0], x)
        with unscheduled():
            outs = [f(n, x) for n in values]
        for n, out in zip(values, outs, strict=True):
            wanted = (x * n).numpy(), (Tensor(n) + 1)
            np.testing.assert_array_equal(out[0].numpy(), wanted[0])
            np.testing.assert_array_equal(out[1].numpy(), wanted[1].numpy())
    assert f.traces == 3  # type: ignore[attr-defined]
    twice = jit(lambda n: n * 2)
    for a in (np.float32(1.5), np.array(2.5), np.int8(3)):
        assert twice(a).item() == 2 * a.item()


BODIES: dict[str, Callable[[float], Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]]] = {
    "a product": lambda a: lambda c, x: (c + a * x, c),
    "a quotient": lambda a: lambda c, x: (c / a + x, c),
    "bounds": lambda a: lambda c, x: (c.clip(-a, a) + x, c),
    "used twice": lambda a: lambda c, x: ((x + a).sin() * (2 * a), c),
}


@pytest.mark.parametrize("name", list(BODIES))
def test_new_constant_in_step_compiles_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[UOp] = []
    compiled = private_api.realize.compile_linear
    monkeypatch.setattr(compiled_loop, "_steps", weakref.WeakValueDictionary())  # hides steps of other tests
    monkeypatch.setattr(
        private_api, "compile_linear", lambda *a, **k: (made.append(a[0]), compiled(*a, **k))[1], raising=False
    )
    h, xs, outs = floats(0.5, 1), Tensor(np.ones((3, 2), np.float32)).realize(), []
    for a in (0.125, 0.25, 0.75):
        out = scan(BODIES[name](a), h, xs)[0].realize()
        outs.append((a, out.numpy()))
    assert len(made) == 1, "one step for all numbers"
    for a, out in outs:
        c = h
        for i in range(3):
            c = BODIES[name](a)(c, xs[i])[0]
        np.testing.assert_allclose(out, c.numpy(), rtol=1e-5)


def test_deleted_function_frees_its_memory() -> None:
    gc.collect()
    before = GlobalCounters.mem_used
    f = jit(lambda x: (x.reshape(2, 2) @ x.reshape(2, 2)).sum())
    f(floats(1, 2, 3, 4))
    assert GlobalCounters.mem_used > before
    del f
    assert GlobalCounters.mem_used == before


def test_device_without_c_calls(calls: list[int]) -> None:
    f = jit(lambda x, n: (x * 2 + n, x.sum()))
    x = Tensor([1.0, 2.0], device="PYTHON").realize()
    f(x, 1)
    kept = [f(x, n) for n in range(3)]
    assert [y.tolist() for y, _ in kept] == [[2.0 + n, 4.0 + n] for n in range(3)]
    assert not calls
    assert jit(vmap(lambda v: v * 2))(x).tolist() == [2, 4]


def test_recently_used_programs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("branded.compile.jit.PROGRAMS", 3)
    f: Any = jit(lambda x: x + 1)
    sizes = (1, 2, 3, 1, 4, 1, 2)
    for n in sizes:
        assert f(Tensor.zeros(n)).tolist() == [1] * n
    assert f.traces == 5  # 1, 2, 3, 4, and 2 again


def test_chunks_share_kernels_and_memory() -> None:
    w, x = Tensor.ones(8, 256).contiguous().realize(), Tensor(np.ones((32, 8), dtype=np.float32)).realize()

    def compiled(size: int | None) -> Any:
        f: Any = jit(vmap(lambda v: ((v @ w).exp().contiguous() + 1).softmax().max(), chunk_size=size))
        np.testing.assert_allclose(f(x).numpy(), f(x + 0).numpy())
        (program,) = f._programs.values()
        return program.run.run

    whole, fours, eights = compiled(None), compiled(4), compiled(8)
    distinct = lambda c: len({call.src[0] for call in c.linear.linear.src})  # noqa: E731
    assert fours.kernels > 6 * whole.kernels and distinct(fours) <= distinct(eights) + 1 <= whole.kernels + 4
    memory = [c.scratch.nbytes for c in (fours, eights, whole)]
    assert memory == sorted(memory) and memory[0] * 3 < memory[2]


def test_log_explains_retracing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("BRANDED_LOG", "traces")

    @partial(jit, static_argnums=1)
    def step(x: Any, n: int, *rest: Any) -> Any:
        return x["a"] * n

    calls: list[tuple[Any, ...]] = [
        ({"a": Tensor.zeros(3)}, 2),
        ({"a": Tensor.zeros(4)}, 2),
        ({"a": Tensor.zeros(4)}, 3),
        ({"a": Tensor.zeros(4, dtype=dtypes.int32)}, 3),
        ({"a": Tensor.zeros(4, dtype=dtypes.int32)}, 3, 1.5),
        ({"a": 1}, 3, 1.5),
        ({"a": 2}, 3, 2.5),
        ({"a": np.zeros(2, np.float32)}, 3, 2.5),
    ]
    for args in calls:
        step(*args)
    said = [line.removeprefix("branded: jit traces step again: ") for line in capsys.readouterr().err.splitlines()]
    assert said == [
        "shape of x['a']: f32[3] -> f32[4]",
        "value of n: 2 -> 3",
        "dtype of x['a']: f32[4] -> i32[4]",
        "with rest",
        "x['a']: i32[4] -> int",
        "x['a']: int -> numpy float32[2]",
    ]
    monkeypatch.delenv("BRANDED_LOG")
    step({"a": Tensor.zeros(5)}, 2)
    assert not capsys.readouterr().err and step.traces == 8


def test_c_and_python_swap_buffers_in_same_order() -> None:
    """C and Python agree on the buffers each step reads and writes, also in a while loop of unknown length."""
    said = re.search(r"which = k == 0 \? 0 : t\[5\] \? (.+?) : (.+?);", native._SOURCE)
    assert said is not None
    for length in range(1, 8):
        for k in range(1, length):
            assert eval(said[2], {"length": length, "k": k}) == compiled_loop.turn_of(k, length)
            assert eval(said[1], {"k": k}) == compiled_loop.turn_of(k, 2 * length + 1), "as one of odd length"


def test_few_kernels_do_not_wait_for_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python makes up to twelve calls, in order, until the C replay code is compiled."""
    monkeypatch.setattr(native, "is_compiled", lambda: False)
    monkeypatch.setattr(native, "_replay", lambda: pytest.fail("C is compiled"))
    f = jit(lambda x, y: [x.sort(1)[0] @ y.T, pure_callback(np.sin, x, x)])
    rng = np.random.default_rng(0)
    x, y = (rng.random((48, 32), np.float32) for _ in range(2))
    for _ in range(2):
        product, sine = f(Tensor(x), Tensor(y))
        np.testing.assert_allclose(product.numpy(), np.sort(x, 1) @ y.T, rtol=1e-5)
        np.testing.assert_allclose(sine.numpy(), np.sin(x), rtol=1e-6)
        x = x[:, ::-1] - 1
    args = Tensor(x).realize(), Tensor(y).realize()
    assert 2 < kernels_of(lambda: f(*args)) <= 4


def test_frequent_kernels_move_to_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "is_compiled", lambda: False)
    monkeypatch.setattr(python_executor.PythonExecutor, "OFTEN", 3)
    from_c = list[int]()
    original = native.Plan.run

    def noted(self: native.Plan, addresses: Any, length: int | None = None) -> int:
        from_c.append(len(addresses))
        return original(self, addresses, length)

    monkeypatch.setattr(native.Plan, "run", noted)
    f = jit(lambda x: [x * 2, x + 1, x @ x])
    x = floats(1, 2, 3)
    for i in range(5):
        assert [y.tolist() for y in f(x + i)] == [
            *([(n + i) * 2.0 for n in (1, 2, 3)], [n + i + 1.0 for n in (1, 2, 3)]),
            sum((n + i) ** 2.0 for n in (1, 2, 3)),
        ]
    assert from_c == [5] * 3


def test_loops_and_many_kernels_use_c(monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[int]()
    monkeypatch.setattr(native, "is_compiled", lambda: False)
    original = native.Plan.__init__

    def noted(self: native.Plan, table: native.Table) -> None:
        made.append(len(table.ops))
        original(self, table)

    monkeypatch.setattr(native.Plan, "__init__", noted)
    x = floats(1, 2, 3)
    assert jit(lambda x: scan(lambda c, _: (c * 2, None), x, None, length=3)[0])(x).tolist() == [8, 16, 24]
    ys = jit(lambda x: [x + i for i in range(13)])(x)
    assert [y.tolist() for y in ys] == [[1.0 + i, 2.0 + i, 3.0 + i] for i in range(13)]
    assert made[1:] == [13]
