"""Many calls leave nothing that grows with their number.  `python -m tests.fuzz.leaks` makes many more."""

from __future__ import annotations

import functools
import gc
import math
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, TinyJit
from tinygrad.tensor import all_tensors
from tinygrad.uop.ops import UOp

from branded import cond, fori_loop, grad, linalg, make_expr, memory, scan, vmap, while_loop
from branded.backends.cpu.renderer import bufferize_policy
from branded.compile import compiled_loop, eager_cache, loop_scheduling
from branded.control_flow.loop_primitive import Loop
from branded.tinygrad_compat.speed import pattern_compiler
from tests.fuzz import leaks
from tests.fuzz.leaks import ROWS, Left, a_brand, a_jit, a_vmap, grown, now

X = Tensor([1.0, 2.0, 3.0]).realize()


@pytest.mark.parametrize(("call", "times"), [(a_vmap, 200), (a_brand, 100), (a_jit, 8)])
def test_calls_leave_nothing(call: Any, times: int) -> None:
    """A leak shows each time; values of an earlier test may be freed during the first measurement."""
    assert Left(0, 0, 0, 0, 0, 0, 0) in (grown(call, times)._replace(process=0) for _ in range(2))


def test_tensors_in_reference_cycles_are_freed() -> None:
    def ring() -> None:
        t = Tensor([1.0])
        t.grad = t

    for _ in range(3000):
        ring()
    gc.collect()
    iter(all_tensors)
    assert sum(ref() is None for ref in list(all_tensors)) < 1500


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tinygrad keep the schedules of only a few loops."""
    monkeypatch.setattr(loop_scheduling._Schedules, "KEPT", 4)
    for i in range(2):  # replaces the schedules that are kept now
        scan(lambda c, x: (c + x[: i + 1].sum(), None), X[0], ROWS)[0].realize()


@pytest.mark.parametrize(
    "call", [leaks.a_scan, leaks.a_scan_of_a_constant, leaks.a_gradient_of_a_scan], ids=lambda f: f.__name__
)
def test_loops_with_other_constants_share_a_step(call: Any, few: None) -> None:
    left = grown(call, 12, first=6)
    assert (left.tensors, left.brands) == (0, 0)
    assert left.loops <= 0 and left.steps <= 0 and left.buffers < 2**10


def test_large_carry_is_not_kept(few: None) -> None:
    left = grown(leaks.a_wide_scan, 10, first=1)
    assert left.steps <= 0 and left.buffers < 2**16
    assert left.process < 16 * 2**20


def test_unshared_loops_are_freed_after_use(few: None) -> None:
    before = now()
    for n in range(2, 14):
        scan(lambda c, x: (c + x[0], None), Tensor([0.0] * n), ROWS)[0].realize()
    assert now().steps - before.steps <= 4 and now().loops - before.loops <= 4


def test_captured_loop_outlives_the_schedules(few: None) -> None:
    f = TinyJit(lambda x: scan(lambda c, x: (c * 0.75 + x, None), x[0] * 0, x)[0].realize())
    wanted = (ROWS[0].numpy() * 0.75 + ROWS[1].numpy()) * 0.75 + ROWS[2].numpy()
    for k in range(6):
        np.testing.assert_allclose(f(ROWS).numpy(), wanted, rtol=1e-6)
        for n in range(6):
            scan(lambda c, x: (c + x[0], None), Tensor([0.0] * (6 * k + n + 2)), ROWS)[0].realize()


def _tables() -> dict[str, int]:
    """Return the sizes of the package's tables and of its unbounded caches."""
    modules = [(name, m) for name, m in list(sys.modules.items()) if name.split(".")[0] == "branded"]
    named = [(f"{name}.{k}", x) for name, m in modules for k, x in vars(m).items()]
    found = {name: len(x) for name, x in named if isinstance(x, dict | set | list)}
    caches = [
        (name, x)
        for name, x in named
        if isinstance(x, functools._lru_cache_wrapper) and x.__module__.startswith("branded")
    ]
    endless = [(name, x) for name, x in caches if x.cache_parameters()["maxsize"] is None]
    return found | {name: x.cache_info().currsize for name, x in endless}


def test_tables_do_not_grow_with_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eager_cache, "PROGRAMS", 4)  # a limit that a few programs reach
    # tinygrad's rules are compiled after some uses, each once, as long as the table has fewer than `KEPT`
    monkeypatch.setattr(pattern_compiler, "OFTEN", 0)

    def a_round(i: int) -> None:
        number = int.from_bytes(os.urandom(4)) / 2**32  # a number that is not in any cache
        for call in (a_vmap, a_jit, leaks.a_scan, leaks.a_gradient_of_a_scan):
            call(int(number * 2**20))
        vmap(lambda a: cond(a.sum() > number, lambda b: b * 2, lambda b: b * number, a), chunk_size=2)(ROWS).realize()
        vmap(lambda a: (a * number).sum(), chunk_size=2, progress=True)(ROWS)
        linalg.inv(ROWS[:, :3] + Tensor.eye(3) * (20 + number)).realize()
        memory(lambda x: (x * number).sum(0))(ROWS)
        str(make_expr(lambda x: x * number)(ROWS))
        (ROWS[:, :1] * number).expand(3, i + 2).sort()[0].realize()

    with Context(BRANDED_CPU=1):
        for i in range(2):
            a_round(i)
        before = _tables()
        for i in range(2, 6):
            a_round(i)
    assert {name: n for name, n in _tables().items() if n >= before.get(name, 0) + 4} == {}


# ---- compiled steps are independent of the number of steps ----

LENGTHS = [3, 4, 1, 2, 9, 64]


def _counted(n: int) -> float:
    return fori_loop(2, n + 2, lambda i, c: c * 0.5 + i, Tensor(1.0)).item()


def _counted_by_hand(n: int) -> float:
    c = 1.0
    for i in range(2, n + 2):
        c = c * 0.5 + i
    return c


def _given(n: int) -> Tensor:
    return Tensor(np.arange(n, dtype=np.float32) / 8).realize()


def _stacked(n: int) -> float:
    c, ys = scan(lambda c, x: (c * x + 1, c - x), Tensor(1.0), _given(n), reverse=n % 3 == 0)
    return (c + 2 * ys[0] + ys.sum()).item()


def _stacked_by_hand(n: int) -> float:
    c, ys = 1.0, [0.0] * n
    for k in reversed(range(n)) if n % 3 == 0 else range(n):
        c, ys[k] = c * k / 8 + 1, c - k / 8
    return c + 2 * ys[0] + sum(ys)


def _slope(n: int) -> float:
    return grad(lambda a: fori_loop(0, n, lambda i, c: c * a + i, Tensor(1.0)))(Tensor(0.5)).item()


def _slope_by_hand(n: int) -> float:
    c, d = 1.0, 0.0
    for i in range(n):
        c, d = c * 0.5 + i, d * 0.5 + c
    return d


def _mapped(n: int) -> float:
    loop = lambda x: scan(lambda c, i: (c + x * i, None), Tensor(0.0), Tensor.arange(n))[0]  # noqa: E731
    return vmap(loop)(X).sum().item()


def _elsewhere(n: int) -> float:
    given = _given(n).to("PYTHON").realize()
    return scan(lambda c, x: (c * x + 1, None), Tensor(1.0, device="PYTHON"), given)[0].item()


def _elsewhere_by_hand(n: int) -> float:
    c = 1.0
    for k in range(n):
        c = c * k / 8 + 1
    return c


LOOPS: dict[str, tuple[Callable[[int], float], Callable[[int], float], int]] = {
    "numbers": (_counted, _counted_by_hand, 1),
    "inputs and outputs": (_stacked, _stacked_by_hand, 1),
    "a gradient": (_slope, _slope_by_hand, 2),
    "a batch": (_mapped, lambda n: 6.0 * sum(range(n)), 1),
    "another device": (_elsewhere, _elsewhere_by_hand, 1),
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("cpu", [0, 1])
def test_step_is_compiled_once_for_all_lengths(name: str, cpu: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run, by_hand, most = LOOPS[name]
    made: list[object] = []
    original = compiled_loop.LoopStep.__init__
    monkeypatch.setattr(
        compiled_loop.LoopStep, "__init__", lambda self, *args: made.append(self) or original(self, *args)
    )
    with Context(BRANDED_CPU=cpu):
        for n in LENGTHS:
            assert run(n) == pytest.approx(by_hand(n), rel=1e-5), n
    assert len(made) <= most


def test_nested_loops_of_any_length() -> None:
    def run(n: int, m: int) -> float:
        inner = lambda c: fori_loop(0, m, lambda i, d: d * 0.5 + i, c)  # noqa: E731
        return fori_loop(0, n, lambda i, c: inner(c) + i, Tensor(1.0)).item()

    def by_hand(n: int, m: int) -> float:
        c = 1.0
        for i in range(n):
            for j in range(m):
                c = c * 0.5 + j
            c += i
        return c

    for n, m in ((2, 3), (3, 2), (3, 3), (4, 2), (2, 2)):
        assert run(n, m) == pytest.approx(by_hand(n, m), rel=1e-6)


def test_step_memory_limit_is_per_entry() -> None:
    """A limit for all entries would let each step use as much memory as all inputs."""
    xs = Tensor.ones(1 << 20, 64).contiguous()
    at = UOp.variable("at", 0, (1 << 20) - 1)
    index = xs.uop.index(at * 64)
    assert bufferize_policy.parts(index) == 1 << 20 and bufferize_policy.parts(xs.uop.index(UOp.const(3))) == 1


# ---- compiled steps are independent of constants in the body ----


def test_each_loop_has_its_own_constants() -> None:
    """Loops that share a compiled step, one after the other and in one graph."""

    def run(a: float, b: int) -> Tensor:
        step = lambda c, x: ((c > a).where(c - a, c * b).maximum(0.25) + x / a, c)  # noqa: E731
        c, ys = scan(step, Tensor(0.5), X)
        return ys.sum() + c

    def by_hand(a: float, b: int) -> float:
        c, total = 0.5, 0.0
        for x in (1.0, 2.0, 3.0):
            total += c
            c = max(c - a if c > a else c * b, 0.25) + x / a
        return total + c

    pairs = [(1.5, 3), (2.5, 3), (1.5, 4), (0.7, 5), (1.0, 0)]
    for a, b in pairs:
        assert run(a, b).item() == pytest.approx(by_hand(a, b), rel=1e-5)
    both = Tensor.stack(*(run(a, b) for a, b in pairs))
    assert both.tolist() == pytest.approx([by_hand(a, b) for a, b in pairs], rel=1e-5)


def test_nested_loops_have_their_own_constants() -> None:
    def run(a: float, b: float) -> float:
        inner = lambda c: scan(lambda d, x: (d * a + x, None), c, X)[0]  # noqa: E731
        return scan(lambda c, x: (inner(c) * b + inner(c * a), None), Tensor(1.0), X)[0].item()

    def by_hand(a: float, b: float) -> float:
        def inner(c: float) -> float:
            for x in (1.0, 2.0, 3.0):
                c = c * a + x
            return c

        c = 1.0
        for _ in range(3):
            c = inner(c) * b + inner(c * a)
        return c

    for a, b in ((0.5, 0.25), (0.75, 0.25), (0.5, 0.3)):
        assert run(a, b) == pytest.approx(by_hand(a, b), rel=1e-5)


def test_constants_keep_their_dtype() -> None:
    for dtype in ("float16", "float64", "int8", "uint8", "int64", "bfloat16"):
        xs = Tensor([1, 2, 3], dtype=dtype)
        got = scan(lambda c, x: (c * 3 + x, c.maximum(5)), xs[0], xs)
        plain = scan(lambda c, x: (c * xs[0] * 3 + x, c), xs[0], xs)
        assert got[0].dtype == plain[0].dtype == xs.dtype
        assert got[0].tolist() == 45 and got[1].tolist() == [5, 5, 14]
    big = scan(lambda c, x: (c + 2**40 + x, None), Tensor(0, dtype="int64"), Tensor([1, 2], dtype="int64"))
    assert big[0].item() == 2**41 + 3


POWERS: dict[str, tuple[Callable[[Any, float], Any], list[float]]] = {
    "constant exponent": (lambda c, a: c**a, [0.3, 2.7, 10.1]),
    "constant negative exponent": (lambda c, a: c**-a, [0.3, 2.7, 10.1]),
    "constant base": (lambda c, a: a**c, [0.3, 2.7, 10.1]),
}
BASES = [0.0, -0.0, 0.7, 3.0, -1.5, math.inf, -math.inf, math.nan]


@pytest.mark.enabled("cpu")
@pytest.mark.parametrize("name", POWERS)
def test_powers_share_a_step_and_keep_their_bits(name: str) -> None:
    power, numbers = POWERS[name]
    loops = [scan(lambda c, _, a=a: (power(c, a), None), Tensor(BASES), None, length=1)[0] for a in numbers]
    first = loops[0].numpy()
    before = len(compiled_loop._steps)
    got = [first, *(x.numpy() for x in loops[1:])]
    assert len(compiled_loop._steps) <= before
    for a, x in zip(numbers, got, strict=True):
        assert np.array_equal(x.view(np.int32), power(Tensor(BASES).realize(), a).numpy().view(np.int32))


def test_structural_constants_stay_in_the_step() -> None:
    """Powers, integer divisions, shifts and sizes are compiled into the step."""
    step = lambda c, n: ((c**2) % 7 // 2 + (c << 3) + n, None)  # noqa: E731
    c = 1
    for n in (1, 2, 3):
        c = (c**2) % 7 // 2 + (c << 3) + n
    assert scan(step, Tensor(1), Tensor([1, 2, 3]))[0].item() == c
    count = vmap(lambda x: while_loop(lambda c: c < 50.5, lambda c: c * x + 0.5, x))(X + 1)
    wanted = []
    for x in (2.0, 3.0, 4.0):
        c = x
        while c < 50.5:
            c = c * x + 0.5
        wanted.append(c)
    assert count.tolist() == wanted
    slope = grad(lambda w: scan(lambda c, x: (c * w * 0.9 + x * 1.1, None), w, X)[0])(Tensor(0.5)).item()
    h = 1e-3

    def value(w: float) -> float:
        c = w
        for x in (1.0, 2.0, 3.0):
            c = c * w * 0.9 + x * 1.1
        return c

    assert slope == pytest.approx((value(0.5 + h) - value(0.5 - h)) / (2 * h), rel=1e-4)


def test_equal_loops_are_shared_while_alive() -> None:
    before = len(Loop.made)
    a, b = (scan(lambda c, x: (c * 0.123 + x, None), X[0], X)[0] for _ in range(2))
    assert len(Loop.made) == before + 1
    del a, b
    assert len(Loop.made) == before
