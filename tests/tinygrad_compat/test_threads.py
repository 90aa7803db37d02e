"""Threads, asyncio tasks and processes that run at the same time give the same results as alone."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, TinyJit, dtypes
from tinygrad.helpers import TRACEMETA
from tinygrad.uop.ops import Ops, UOp, UOpMetaClass

from branded import brand, fori_loop, grad, jit, make_expr, psum, pure_callback, scan, vec_type, vmap, while_loop
from branded.errors import BrandedError, NameTakenError
from branded.graph.scope import open_brands
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.fixes.runtime import uop_interning
from branded.tinygrad_compat.tinygrad_lock import LOCK, STARTS, TABLE
from tests.project.packages import compiler
from tests.support.by_numpy import reads

pytestmark = pytest.mark.enabled("cpu")

N = 8


@pytest.fixture(autouse=True)
def often() -> Iterator[None]:
    """Switch threads a hundred times as often as by default."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    yield
    sys.setswitchinterval(before)


def together(f: Callable[[int], Any], n: int = N) -> list[Any]:
    """`[f(0), …, f(n - 1)]`, each in its own thread, all at the same time."""
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


# ---- the state of a transform ----


def test_derivatives_are_local_to_a_thread() -> None:
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


# ---- state of tinygrad that is not thread-safe ----


def test_equal_loops_in_many_threads() -> None:
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


def test_jit_shared_by_threads() -> None:
    f = jit(lambda x: (x * 2 + 1).sum())

    def run(i: int) -> list[float]:
        return [f(Tensor(np.full(100, i * 10 + k, dtype=np.float32))).item() for k in range(6)]

    assert together(run) == [[100.0 * (2 * (i * 10 + k) + 1) for k in range(6)] for i in range(N)]


def test_each_thread_compiles() -> None:
    """tinygrad's connection to its disk cache belongs to the thread that opened it."""

    def run(i: int) -> Any:
        x = floats(*range(i + 2))
        mapped = vmap(lambda a: (a * (i + 3) + i).exp2() - 1)(x)
        return mapped.tolist(), grad(lambda x: (x**3).sum())(x).tolist()

    for i, (mapped, slope) in enumerate(together(run)):
        xs = np.arange(i + 2)
        assert mapped == pytest.approx((2.0 ** (xs * (i + 3) + i) - 1).tolist())
        assert slope == pytest.approx((3.0 * xs**2).tolist())


def test_nested_loops_under_vmap_in_many_threads() -> None:
    def table(x: Tensor) -> Tensor:
        return fori_loop(0, 3, lambda i, c: scan(lambda c, y: (c + y * x, None), c, xs)[0], x * 0)

    xs = floats(1, 2)

    def run(i: int) -> Any:
        return vmap(table)(floats(i, i + 1)).tolist()

    assert together(run) == [[9.0 * i, 9.0 * (i + 1)] for i in range(N)]


class _PausingHash:
    """A part of a UOp that is hashed at each table lookup; the second lookup of a thread waits for another thread."""

    def __init__(self) -> None:
        self.looks, self.second, self.go = 0, threading.Event(), threading.Event()

    def __hash__(self) -> int:
        self.looks += 1
        if self.looks == 2:
            self.second.set()
            assert self.go.wait(60)
        return 1


def test_uop_created_by_two_threads_is_one() -> None:
    meets, made = _PausingHash(), list[UOp]()
    thread = threading.Thread(target=lambda: made.append(UOp(Ops.NOOP, arg=meets)))
    thread.start()
    assert meets.second.wait(60)  # it has not found the UOp in the table, and is about to insert its own
    made.append(UOp(Ops.NOOP, arg=meets))
    meets.go.set()
    thread.join()
    assert made[0] is made[1] is UOp(Ops.NOOP, arg=meets)


def test_uop_created_while_its_twin_is_deleted() -> None:
    taken = list[UOp]()

    class DeletedInHash:
        def __init__(self) -> None:
            self.goes = False

        def __hash__(self) -> int:
            if self.goes:  # the UOp is about to be deleted from the table
                self.goes = False
                thread = threading.Thread(target=lambda: taken.append(UOp(Ops.NOOP, arg=self)))
                thread.start()
                thread.join()
            return 1

    part = DeletedInHash()
    u = UOp(Ops.NOOP, arg=part)
    part.goes = True
    del u
    assert taken[0] is UOp(Ops.NOOP, arg=part)
    taken.clear()
    assert not any(key[3] is part for key in UOpMetaClass.ucache)


# ---- generators ----


def test_uop_deleted_at_exit_leaves_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python sets the globals of a module to None before it deletes the last UOps."""
    table = {"key": "entry"}
    forget = uop_interning._forgetting(table)
    monkeypatch.setattr(uop_interning, "TABLE", None)
    forget("key", "entry")
    assert not table


def test_suspended_generator_leaves_no_brand_open() -> None:
    x = floats(1, 2, 3)

    def rows() -> Iterator[Any]:
        with brand("rows", 3) as b:
            v = b.vec(x)
            yield v
            assert b in open_brands()
            assert psum(v, "rows").tolist() == 6
            yield b.unvec(v * 2)

    waiting = rows()
    v = next(waiting)
    assert not open_brands() and vec_type(v) == "Vec[rows:3, f32[]]"
    with pytest.raises(BrandedError, match="psum"):
        psum(floats(1), "rows")
    written = Tensor.zeros(3).contiguous().realize()
    written.assign(x)  # does not belong to the brand
    assert written.tolist() == [1, 2, 3] and Tensor.rand(2).shape == (2,)
    with pytest.raises(NameTakenError, match="rows"), brand("rows", 3):
        pass
    inside = vmap(lambda a: next(waiting) + a)(x)  # the generator continues within another brand
    assert inside.tolist() == [[3, 5, 7], [4, 6, 8], [5, 7, 9]]
    waiting.close()
    with brand("rows", 3) as b:
        assert open_brands() == (b,)


def test_context_manager_opens_a_brand() -> None:
    @contextmanager
    def users(n: int) -> Iterator[Any]:
        with brand("users", n) as b:
            yield b

    with users(2) as b:
        assert open_brands() == (b,)
        assert psum(b.vec(floats(1, 2)), "users").tolist() == 3
    assert not open_brands()


# ---- asyncio ----


def test_interleaved_tasks_keep_their_brands() -> None:
    async def task(i: int) -> Any:
        x = floats(*range(i, i + 3))
        with brand("i", 3) as b:
            v = b.vec(x)
            await asyncio.sleep(0)
            assert open_brands() == (b,)
            total = psum(v, "i")
            await asyncio.sleep(0)
            with brand(f"inner{i}", 2) as c:
                w = c.vec(floats(1, 10)) * v
                await asyncio.sleep(0)
                assert open_brands() == (b, c)
                w = c.unvec(w)
            await asyncio.sleep(0)
            out = b.unvec(w + total)
        assert not open_brands()
        return out.tolist()

    async def all_of_them() -> Any:
        return await asyncio.gather(*map(task, range(4)))

    for i, got in enumerate(asyncio.run(all_of_them())):
        xs = np.arange(i, i + 3)
        assert got == [[x + xs.sum(), 10 * x + xs.sum()] for x in xs]


def test_child_threads_of_a_task_inherit_brands() -> None:
    async def main() -> Any:
        with brand("i", 2) as b:
            v = b.vec(floats(1, 2))
            in_thread = await asyncio.to_thread(lambda: (open_brands(), psum(v, "i").tolist()))
            late = asyncio.create_task(asyncio.sleep(0, result=None))
        await late
        return b, in_thread

    b, (seen, total) = asyncio.run(main())
    assert seen == (b,) and total == 3


# ---- tensors that threads share ----


def test_shared_pending_write_is_done_once() -> None:
    for _ in range(5):
        shared = Tensor.zeros(4).contiguous().realize()
        shared += 1

        def use(i: int, x: Tensor = shared) -> Any:
            return ((x + i) * 2).tolist()

        assert together(use) == [[2.0 * (1 + i)] * 4 for i in range(N)]
        assert shared.tolist() == [1, 1, 1, 1]


def test_concurrent_write_is_not_repeated() -> None:
    """A tensor built while another thread realizes does not see that realization."""
    shared = Tensor.zeros(2).contiguous().realize()
    shared += 1
    before = shared.uop
    other = threading.Event()
    other_thread = threading.Thread(target=other.wait)
    other_thread.start()
    shared.realize()
    late = Tensor(before + 1)
    other.set()
    other_thread.join()
    assert late.tolist() == [2, 2] and shared.tolist() == [1, 1]


@pytest.fixture
def other_thread() -> Iterator[None]:
    """Run another thread, so that finished writes are recorded."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    yield
    done.set()
    thread.join()


def written_in_two_steps(between: Callable[[], None] = lambda: None) -> tuple[Tensor, Any]:
    """Return a tensor that was written twice, and its graph as held by a thread that saw neither write finish."""
    shared = Tensor.zeros(2).contiguous().realize()
    shared += 1
    first = Tensor(shared.uop)
    shared += 2
    held = shared.uop
    first.realize()  # from here on the second write is another node, which reads the buffer
    between()
    shared.realize()
    return shared, held


@pytest.mark.usefixtures("other_thread")
def test_second_write_is_not_repeated() -> None:
    shared, held = written_in_two_steps()
    assert Tensor(held + 1).tolist() == [4, 4] and shared.tolist() == [3, 3]


def test_write_after_thread_exit_is_not_repeated() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()

    def ended() -> None:
        done.set()
        thread.join()

    shared, held = written_in_two_steps(ended)
    assert Tensor(held + 1).tolist() == [4, 4] and shared.tolist() == [3, 3]


@pytest.mark.usefixtures("other_thread")
def test_old_graph_sees_a_finished_write() -> None:
    shared, other = (Tensor([1.0, 2.0]).contiguous().realize() for _ in range(2))
    shared *= 2
    late = Tensor(shared.uop + other.uop)
    shared.realize()
    assert late.tolist() == [3, 6] and shared.tolist() == [2, 4]


@pytest.mark.usefixtures("other_thread")
@pytest.mark.parametrize("view", [lambda x: x.bitcast(dtypes.int32), lambda x: x.detach()])
def test_equal_writes_through_views_are_distinct(view: Callable[[Tensor], Tensor]) -> None:
    shared, held = Tensor.zeros(2).contiguous().realize(), list[UOp]()
    for n in (5, 7, 5):
        v = view(shared)
        v.assign(Tensor(n, dtype=v.dtype).expand(2))  # no buffer, so the third write is the node of the first
        held.append(shared.uop)
        assert view(shared).tolist() == [n, n]


@pytest.mark.usefixtures("other_thread")
def test_read_before_and_after_a_write() -> None:
    """tinygrad finds a cycle if a kernel reads a buffer both before and after a write."""
    shared, held = written_in_two_steps()
    assert Tensor(held + shared.uop).tolist() == [6, 6] and shared.tolist() == [3, 3]


@pytest.mark.usefixtures("other_thread")
def test_tensor_from_old_writes_joins_later_ones() -> None:
    shared, other = (Tensor.zeros(2).contiguous().realize() for _ in range(2))
    shared += 1
    other += 1
    first = Tensor(shared.uop)
    shared += other
    held = shared.uop
    first.realize()
    late = Tensor(held)  # it does not know that the first write is finished, and then sees the other one finish
    other.realize()
    held = late.uop
    shared.realize()
    assert Tensor(held + 0).tolist() == shared.tolist() == [2, 2]


@pytest.mark.usefixtures("other_thread")
def test_assigned_value_sees_finished_writes() -> None:
    shared, held = written_in_two_steps()
    shared.assign(Tensor(held * 10))
    assert shared.tolist() == [30, 30]


@pytest.mark.usefixtures("other_thread")
def test_partial_write_is_visible_everywhere() -> None:
    """A write through an old graph goes into the memory that the others use now."""
    shared, held = written_in_two_steps()
    late = Tensor(held)
    late[0:1].assign(Tensor([9.0]))
    assert shared.tolist() == late.tolist() == [9, 3]


def test_later_write_after_exit_is_not_repeated() -> None:
    shared, done = Tensor.zeros(2).contiguous().realize(), threading.Event()
    shared += 1
    held = shared.uop
    thread = threading.Thread(target=done.wait)
    thread.start()
    shared.realize()
    done.set()
    thread.join()
    shared += 5
    then = shared.uop
    shared.realize()  # is recorded, since the previous write was
    assert Tensor(then + 0).tolist() == Tensor(held + 0).tolist() == [6, 6]


@pytest.mark.usefixtures("other_thread")
def test_equal_writes_are_distinct() -> None:
    """tinygrad has one node for both as long as the first is referenced."""
    shared, held = Tensor.zeros(2).contiguous().realize(), list[UOp]()
    for _ in range(3):
        shared += 1
        held.append(shared.uop)
        shared.realize()
    assert held[0] is held[1] is held[2] and shared.tolist() == [3, 3]
    for value in (5.0, 7.0, 5.0):
        shared[0] = value
        held.append(shared.uop)
        assert shared.tolist() == [value, 3]


@pytest.mark.usefixtures("other_thread")
def test_write_reading_a_written_part() -> None:
    part, total = Tensor.zeros(2).contiguous().realize(), Tensor.zeros(2).contiguous().realize()
    total += part + 1
    held = total.uop
    part[0:1].assign(Tensor([5.0]))  # later reads of `part` come after this write
    want = [6, 1]
    part.realize()
    assert total.realize().tolist() == want
    assert Tensor(held + 0).tolist() == want and total.tolist() == want
    total += part + 1
    assert total.tolist() == [12, 2]


def written_before_its_part() -> tuple[Tensor, Tensor, UOp]:
    """Return a part, a sum that reads it, and the write of the sum before the part is written."""
    part, total = Tensor.zeros(2).contiguous().realize(), Tensor.zeros(2).contiguous().realize()
    total += part + 1
    return part, total, total.uop


@pytest.mark.usefixtures("other_thread")
def test_write_changed_by_a_later_write() -> None:
    part, total, held = written_before_its_part()
    part[0:1].assign(Tensor([5.0]))
    assert total.tolist() == Tensor(held + 0).tolist() == total.tolist() == [6, 1]


@pytest.mark.usefixtures("other_thread")
def test_mutually_dependent_writes() -> None:
    """Each write contains the other one as it was before, which must not recurse endlessly."""
    part, total, held = written_before_its_part()
    part[0:1].assign(total[1:2] * 5)
    assert part.tolist() == [5, 0] and total.tolist() == Tensor(held + 0).tolist() == [1, 1]


@pytest.mark.usefixtures("other_thread")
def test_partial_write_after_a_full_write() -> None:
    shared = Tensor.zeros(2).contiguous().realize()
    shared += 1
    shared[0:1].assign(Tensor([5.0]))
    assert shared.tolist() == [5, 1]


@pytest.mark.usefixtures("other_thread")
def test_write_in_a_failed_capture_is_pending() -> None:
    """The kernels of a capture run when it ends."""
    shared, held = Tensor.zeros(2).contiguous().realize(), list[UOp]()

    @TinyJit
    def fails_the_second_time(x: Tensor) -> Tensor:
        if held:
            shared.realize()
            raise ArithmeticError
        shared.assign(x + 1)
        held.append(shared.uop)
        return (x + 1).realize()

    x = Tensor.zeros(2).contiguous().realize()
    fails_the_second_time(x)
    with pytest.raises(ArithmeticError):
        fails_the_second_time(x)
    assert Tensor(held[0] + 1).tolist() == [2, 2]


def test_samples_of_many_threads_differ() -> None:
    Tensor.manual_seed(7)

    def run(i: int) -> list[float]:
        return [x for _ in range(6) for x in Tensor.rand(4).tolist()]

    sys.setswitchinterval(1e-6)
    drawn = [x for xs in together(run) for x in xs]
    assert len(set(drawn)) == len(drawn) == N * 24
    Tensor.manual_seed(7)
    again = np.concatenate(reads([Tensor.rand(4) for _ in range(N * 6)])).tolist()
    assert sorted(again) == sorted(drawn)  # in any order of threads


def test_samples_in_another_order_are_the_same() -> None:
    Tensor.manual_seed(7)
    wanted = [Tensor.rand(3).tolist() for _ in range(3)]
    Tensor.manual_seed(7)
    a, b, c = (Tensor.rand(3) for _ in range(3))
    assert [c.tolist(), a.tolist(), b.tolist()] == [wanted[2], wanted[0], wanted[1]]


def test_tinyjit_replays_advance_the_samples() -> None:
    """Each replay, the samples between replays, and a sample that is computed later continue one sequence."""
    Tensor.manual_seed(7)
    expected = [Tensor.rand(2).tolist() for _ in range(12)]
    Tensor.manual_seed(7)
    f = TinyJit(lambda: Tensor.rand(2).realize())
    assert [x.tolist() for _ in range(6) for x in (f(), Tensor.rand(2))] == expected
    Tensor.manual_seed(7)
    f, late = TinyJit(lambda: Tensor.rand(2).realize()), list[Tensor]()
    seen = list[Any]()
    for _ in range(6):
        late.append(Tensor.rand(2))
        seen.append(f().tolist())
    assert len({*map(tuple, seen), *(tuple(x.tolist()) for x in late)}) == 12


@pytest.mark.parametrize("between", [1, 2])
def test_tinyjit_counts_its_own_samples(between: int) -> None:
    """Another thread samples while the function waits: after its first sample, or after its second."""
    go, done, seen, calls = threading.Event(), threading.Event(), list[tuple[float, ...]](), list[int]()

    def other() -> None:
        go.wait()
        seen.append(tuple(Tensor.rand(2).tolist()))
        done.set()

    def two() -> tuple[Tensor, Tensor]:
        calls.append(0)
        found = list[Tensor]()
        for n in (1, 2):
            found.append(Tensor.rand(2))
            if len(calls) == 2 and n == between:  # the captured call
                go.set()
                assert done.wait(60)
        return found[0].realize(), found[1].realize()

    t, f = threading.Thread(target=other), TinyJit(two)
    t.start()
    try:
        for _ in range(5):
            seen += [tuple(x.tolist()) for x in (*f(), Tensor.rand(2))]
    finally:
        go.set()
        t.join()
    assert len(set(seen)) == len(seen) == 16


def test_captures_are_local_to_a_thread() -> None:
    capturing, done = threading.Event(), threading.Event()
    calls, out = list[int](), list[Any]()

    def slow(x: Tensor) -> Tensor:
        calls.append(0)
        if len(calls) == 2:  # the captured call
            capturing.set()
            assert done.wait(60)
        return (x * 3).realize()

    def mine() -> None:
        f = TinyJit(slow)
        out.extend(f(floats(k).realize()).tolist() for k in (1, 2, 5))

    thread = threading.Thread(target=mine)
    thread.start()
    assert capturing.wait(60)
    here = (floats(4) * 7 - 1).tolist()  # runs immediately, and is not part of that capture
    done.set()
    thread.join()
    assert here == [27] and out == [[3], [6], [15]] and len(calls) == 2


def test_callback_writes_while_a_thread_waits() -> None:
    mine, other = (Tensor.zeros(3).contiguous().realize() for _ in range(2))
    waiting = list[threading.Thread]()

    def write(x: Tensor) -> None:
        x[:2] = 2.0

    def written(x: np.ndarray) -> np.ndarray:
        waiting.append(threading.Thread(target=write, args=(other,), daemon=True))
        waiting[-1].start()
        waiting[-1].join(0.2)  # it waits for the program that this is called from
        write(mine)
        return x + mine.numpy().sum()

    got = list[Any]()
    f = vmap(lambda x: pure_callback(written, x, x, vmap_method="expand_dims"))
    caller = threading.Thread(target=lambda: got.append(f(floats(1, 2)).tolist()), daemon=True)
    caller.start()
    caller.join(60)
    assert got == [[5, 6]]
    waiting[0].join()
    assert other.tolist() == [2, 2, 0]


def test_make_expr_while_others_compute() -> None:
    def run(i: int) -> Any:
        if i % 2:
            return str(make_expr(lambda x: (x * 2 + 1).sin())(floats(1, 2)))
        return [vmap(lambda x: x * 2 + i)(floats(1, 2)).tolist() for _ in range(5)]

    got = together(run)
    assert len(set(got[1::2])) == 1 and "sin" in got[1]
    assert got[::2] == [[[2 + i, 4 + i]] * 5 for i in range(0, N, 2)]


# ---- processes ----


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_forked_process_computes_independently() -> None:
    x = floats(1, 2, 3).contiguous().realize()
    f = jit(lambda x: scan(lambda c, y: (c * 0.5 + y, None), x[0] * 0, x)[0])
    wanted = f(x).tolist()
    back, out = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            assert f(x + 1).tolist() == wanted + 1.75  # in the memory of the parent's buffers
            y = x * 100
            y.realize()
            x.assign(y).realize()
            assert vmap(grad(lambda a: a**3 * 5))(x).tolist() == [150_000, 600_000, 1_350_000]
            os.write(out, b"done")
            code = 0
        finally:
            os._exit(code)
    assert os.read(back, 4) == b"done"
    assert os.waitpid(child, 0)[1] == 0
    os.close(back)
    os.close(out)
    assert x.tolist() == [1, 2, 3] and f(x).tolist() == wanted


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_fork_while_another_thread_computes() -> None:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            (floats(1, 2) * 3 + 1).tolist()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(3):
            child = os.fork()
            if not child:
                code = 1
                try:
                    code = 0 if vmap(lambda a: a * 7 - 2)(floats(1, 2)).tolist() == [5, 12] else 2
                finally:
                    os._exit(code)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize(("outer", "inner"), [(LOCK, STARTS), (STARTS, TABLE)])
def test_fork_acquires_locks_in_order(outer: Any, inner: Any) -> None:
    held, taken = threading.Event(), list[bool]()

    def work() -> None:
        with outer:
            held.set()
            time.sleep(0.2)  # now the other thread forks
            if inner.acquire(timeout=20):
                inner.release()
                taken.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    held.wait()
    if not (child := os.fork()):
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    thread.join()
    assert taken == [True]


# ---- whether a patch is still needed ----

_PLAIN = """
import inspect, threading
from tinygrad import Tensor
from tinygrad.engine.realize import capturing
from tinygrad.helpers import diskcache_get, diskcache_put
from tinygrad.runtime.ops_cpu import CPUAllocator
from tinygrad.uop.ops import UOpMetaClass

assert type(capturing) is list, "threads: captures are of a thread"
assert "setdefault" not in UOpMetaClass.__call__.__code__.co_names, "interning: the table is filled in one step"
assert "MAP_SHARED" in CPUAllocator._alloc.__code__.co_names, "fork: memory is of a process"
a, b = Tensor.rand(3), Tensor.rand(3)
last = b.tolist()
assert a.tolist() == last, "draws: computed in another order they differ"
diskcache_put("branded_test", "a", 1)
raised = []

def read():
    try:
        diskcache_get("branded_test", "a")
    except Exception as error:
        raised.append(type(error).__name__)

thread = threading.Thread(target=read)
thread.start()
thread.join()
assert raised == ["ProgrammingError"], "fork: each thread has a connection"
"""


def test_tinygrad_still_needs_the_patches(tmp_path: Path) -> None:
    env = os.environ | {"CACHEDB": str(tmp_path / "cache.db"), **compiler(tmp_path)}
    done = subprocess.run([sys.executable, "-c", _PLAIN], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, f"a patch has become needless: {done.stderr.strip().splitlines()[-1]}"


def test_option_tracemeta() -> None:
    def name() -> Any:
        metadata = (Tensor.empty(3) + 1).exp().uop.metadata
        return metadata and metadata[0].name

    private_api._METADATA.set(None)  # tinygrad does not reset it after a method raised, as in earlier tests
    assert name() == "exp"
    with Context(TRACEMETA=0):
        assert TRACEMETA < 1 and name() is None
    assert TRACEMETA >= 1 and name() == "exp"


def test_tinyjit_captures_only_its_thread() -> None:
    """Another thread samples and computes at the same time."""
    done, seen = threading.Event(), list[Any]()

    def draws() -> None:
        while not done.is_set():
            seen.append((Tensor.rand(16).realize().numpy(), (Tensor([1.0, 2.0]) * len(seen)).tolist()))

    other = threading.Thread(target=draws)
    other.start()
    try:
        for i in range(8):
            f = TinyJit(lambda x: ((x * 2).realize(), (x - 1).contiguous().realize()))
            for j in range(4):
                a, b = f(Tensor(np.full(4, i + j, np.float32)).realize())
                assert a.tolist() == [2 * (i + j)] * 4 and b.tolist() == [i + j - 1] * 4
    finally:
        done.set()
        other.join()
    assert seen and all(y == [k, 2 * k] for k, (_, y) in enumerate(seen))
    assert len({x.tobytes() for x, _ in seen}) == len(seen)
