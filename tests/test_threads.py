"""Threads, tasks of asyncio and processes: what runs beside one another gives what it gives alone."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor
from tinygrad.uop.ops import Ops, UOp, UOpMetaClass

from branded import fori_loop, grad, jit, scan, vmap, while_loop

N = 8


@pytest.fixture(autouse=True)
def often() -> Iterator[None]:
    """Threads take turns a hundred times as often as they do."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    yield
    sys.setswitchinterval(before)


def together(f: Callable[[int], Any], n: int = N) -> list[Any]:
    """`[f(0), …, f(n - 1)]`, each in a thread of its own, and all at once."""
    out: list[Any] = [None] * n
    failed: list[BaseException] = []
    start = threading.Barrier(n)

    def run(i: int) -> None:
        start.wait()
        try:
            out[i] = f(i)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failed:
        raise failed[0]
    return out


def floats(*values: float) -> Tensor:
    return Tensor(np.array(values, dtype=np.float32))


# ---- what a transform knows of itself ----


def test_a_derivative_in_one_thread_is_not_one_in_another() -> None:
    inside, done = threading.Event(), threading.Event()

    def waits(x: Tensor) -> Tensor:
        inside.set()
        assert done.wait(60)
        return (x * x).sum()

    def within() -> Any:
        return grad(waits)(floats(3)).tolist()

    other: list[Any] = []
    thread = threading.Thread(target=lambda: other.append(within()))
    thread.start()
    assert inside.wait(60)
    try:
        slope = grad(lambda x: (x * x * x).sum())(floats(2))
        leaves = [u for u in slope.uop.toposort() if u.op is Ops.CONTIGUOUS_BACKWARD]
        calls = []
        compiled = jit(lambda x: (calls.append(0), x * 2)[1])
        doubled = [compiled(floats(2)).tolist() for _ in range(3)]
    finally:
        done.set()
        thread.join()
    assert slope.tolist() == [12] and not leaves
    assert doubled == [[4]] * 3 and len(calls) == 1  # it compiled
    assert other == [[6]]


# ---- what tinygrad does for one thread at a time ----


def test_loops_of_one_kind_in_many_threads() -> None:
    def run(i: int) -> list[Any]:
        x = Tensor([float(i + 1)] * 16).contiguous()
        step = lambda c: (c[0] + 1, c[1] + x)  # noqa: E731
        return [while_loop(lambda c: c[0] < 20_000, step, (Tensor(0), x * 0))[1].tolist() for _ in range(3)]

    assert together(run) == [[[20_000.0 * (i + 1)] * 16] * 3 for i in range(N)]


def test_reverse_mode_of_scans_in_many_threads() -> None:
    xs = np.arange(50, dtype=np.float32) * 0.01

    def loss(w: Tensor, xs: Tensor) -> Tensor:
        return scan(lambda c, x: (c * w + x, None), w * 0, xs)[0]

    def run(i: int) -> list[float]:
        return [grad(loss)(Tensor(0.5), Tensor(xs + i)).item() for _ in range(3)]

    alone = [grad(loss)(Tensor(0.5), Tensor(xs + i)).item() for i in range(N)]
    for got, want in zip(together(run), alone, strict=True):
        assert got == pytest.approx([want] * 3)


def test_one_jit_for_all_threads() -> None:
    f = jit(lambda x: (x * 2 + 1).sum())

    def run(i: int) -> list[float]:
        return [f(Tensor(np.full(100, i * 10 + k, dtype=np.float32))).item() for k in range(6)]

    assert together(run) == [[100.0 * (2 * (i * 10 + k) + 1) for k in range(6)] for i in range(N)]


def test_each_thread_compiles() -> None:
    """tinygrad's connection to its cache on disk is of the thread that opened it."""

    def run(i: int) -> Any:
        x = floats(*range(i + 2))
        mapped = vmap(lambda a: (a * (i + 3) + i).exp2() - 1)(x)
        return mapped.tolist(), grad(lambda x: (x**3).sum())(x).tolist()

    for i, (mapped, slope) in enumerate(together(run)):
        xs = np.arange(i + 2)
        assert mapped == pytest.approx((2.0 ** (xs * (i + 3) + i) - 1).tolist())
        assert slope == pytest.approx((3.0 * xs**2).tolist())


def test_loops_within_loops_under_vmap_in_many_threads() -> None:
    def table(x: Tensor) -> Tensor:
        return fori_loop(0, 3, lambda i, c: scan(lambda c, y: (c + y * x, None), c, xs)[0], x * 0)

    xs = floats(1, 2)

    def run(i: int) -> Any:
        return vmap(table)(floats(i, i + 1)).tolist()

    assert together(run) == [[9.0 * i, 9.0 * (i + 1)] for i in range(N)]


class _Meets:
    """A part of a UOp that is hashed when its table is looked at; the second look of one thread waits for another."""

    def __init__(self) -> None:
        self.looks, self.second, self.go = 0, threading.Event(), threading.Event()

    def __hash__(self) -> int:
        self.looks += 1
        if self.looks == 2:
            self.second.set()
            assert self.go.wait(60)
        return 1


def test_a_uop_that_two_threads_make_at_the_same_time_is_one() -> None:
    meets, made = _Meets(), list[UOp]()
    thread = threading.Thread(target=lambda: made.append(UOp(Ops.NOOP, arg=meets)))
    thread.start()
    assert meets.second.wait(60)  # it found none in the table, and is about to put its own there
    made.append(UOp(Ops.NOOP, arg=meets))
    meets.go.set()
    thread.join()
    assert made[0] is made[1] is UOp(Ops.NOOP, arg=meets)


def test_a_uop_that_a_thread_takes_while_another_lets_it_go_is_in_the_table() -> None:
    taken = list[UOp]()

    class Goes:
        def __init__(self) -> None:
            self.goes = False

        def __hash__(self) -> int:
            if self.goes:  # it is just about to be deleted from the table
                self.goes = False
                thread = threading.Thread(target=lambda: taken.append(UOp(Ops.NOOP, arg=self)))
                thread.start()
                thread.join()
            return 1

    part = Goes()
    u = UOp(Ops.NOOP, arg=part)
    part.goes = True
    del u
    assert taken[0] is UOp(Ops.NOOP, arg=part)
    taken.clear()
    assert not any(key[3] is part for key in UOpMetaClass.ucache)
