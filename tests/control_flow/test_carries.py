"""Python numbers as carries take the dtype that the body gives them, as in a Python loop."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest
from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops, UOp

from branded import cond, fori_loop, jit, map, scan, switch, tree, value_and_grad, vmap, while_loop
from branded.errors import CarryError
from tests.fuzz import carries
from tests.support.profiles import amount

XS = [200, 100, 7]
LAST = 235
"""The result of folding `c * 31 + x` over XS from 0, modulo 256."""


def step(c: Any, x: Any) -> Any:
    return c * 31 + x


LOOPS: dict[str, Callable[[Any], Any]] = {
    "scan": lambda xs: scan(lambda c, x: (step(c, x), None), 0, xs)[0],
    "scan, two at a time": lambda xs: scan(lambda c, x: (step(c, x), None), 0, xs, unroll=2)[0],
    "scan, unrolled": lambda xs: scan(lambda c, x: (step(c, x), None), 0, xs, unroll=True)[0],
    "fori_loop": lambda xs: fori_loop(0, 3, lambda i, c: step(c, xs[i]), 0),
    "fori_loop to a tensor": lambda xs: fori_loop(0, Tensor([3])[0], lambda i, c: step(c, xs[i]), 0),
    "while_loop": lambda xs: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, step(c[1], xs[c[0]])), (0, 0))[1],
}


@pytest.mark.parametrize("loop", LOOPS)
def test_number_carry_takes_dtype_of_addend(loop: str) -> None:
    xs, f = Tensor(XS, dtype="uint8"), LOOPS[loop]
    for out in (f(xs), jit(f)(xs), vmap(f)(Tensor.stack(xs, xs))[1]):
        assert (out.dtype, out.item()) == (dtypes.uint8, LAST)


def test_number_carry_of_each_dtype() -> None:
    """bfloat16 and float16 keep their dtype, and uint64 does not become a float."""
    for dtype in carries.DTYPES[1:]:
        out = scan(lambda c, x: (c + x, None), 0, Tensor([3, 4], dtype=getattr(dtypes, dtype)))[0]
        assert (out.dtype, out.cast(dtypes.float32).item()) == (getattr(dtypes, dtype), 7)


def test_number_carry_has_no_dtype_until_needed() -> None:
    carry, ys = scan(lambda c, x: (c + 1, c * x), 0, Tensor(XS, dtype="uint8"))
    assert (carry.dtype, carry.item()) == (dtypes.int32, 3)
    assert (ys.dtype, ys.tolist()) == (dtypes.uint8, [0, 100, 14])
    out = vmap(lambda x: x + fori_loop(0, 3, lambda i, c: c + 1, 0))(Tensor(XS, dtype="uint8"))
    assert (out.dtype, out.tolist()) == (dtypes.uint8, [203, 103, 10])


@pytest.mark.parametrize("is_derivative", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_compiled_loop_with_constant_carries_runs_once_for_all_results(nested: bool, is_derivative: bool) -> None:
    def fold(x: Tensor) -> tuple[Tensor, Tensor]:
        return scan(lambda c, _: ((c[0] * x + c[1], c[1] + x), None), (Tensor(2.0), Tensor(1.0)), None, length=3)[0]

    def product(x: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        a, b = fold(x)
        return a * b, (a, b)

    def f(x: Tensor) -> Any:
        return tree.leaves(value_and_grad(product, has_aux=True)(x)) if is_derivative else fold(x)

    one = vmap(vmap(f)) if nested else vmap(f)
    xs = Tensor([[1.0, 2.0], [3.0, 4.0]]) if nested else Tensor([1.0, 2.0, 3.0])
    compiled = jit(one)
    _, values = compiled.graph((xs,), {})
    graph = UOp.sink(*values).toposort(enter_calls=False)
    loops = [u for u in graph if u.op is Ops.FUNCTION]
    assert len(loops) == len(dict.fromkeys((u.src[0], len(u.src)) for u in loops))
    for got, want in zip(compiled(xs), one(xs), strict=True):
        assert got.tolist() == want.tolist()


def test_dtype_spreads_between_carries() -> None:
    a, b = scan(lambda c, x: ((c[1], c[0] + x), None), (0, 0), Tensor(XS, dtype="uint8"))[0]
    assert (a.dtype, a.item(), b.dtype, b.item()) == (dtypes.uint8, 100, dtypes.uint8, 207)


def test_fraction_in_int_carry_is_an_error() -> None:
    with pytest.raises(CarryError, match="changes its type from step to step\n  before: f32"):
        scan(lambda c, x: (x, c), 0.5, Tensor(XS, dtype="uint8"))
    assert scan(lambda c, x: (x, c), 0.0, Tensor(XS, dtype="uint8"))[1].tolist() == [0, 200, 100]


@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize("init", [0, 1.0])
def test_number_becomes_bool_in_checkpointed_scan(init: float, n: int) -> None:
    xs = Tensor([False, False, True, False, True][:n]).realize()

    def loop(xs: Tensor, **options: Any) -> Any:
        return scan(lambda c, x: (x, c), init, xs, **options)

    for transform in (lambda f: f(xs), lambda f: vmap(f)(Tensor.stack(xs, xs))):
        out, checkpointed = transform(loop), transform(lambda xs: loop(xs, checkpoint=2))
        assert [(x.dtype, x.tolist()) for x in out] == [(x.dtype, x.tolist()) for x in checkpointed]


def test_loop_index_is_a_python_number() -> None:
    for end in (3, Tensor([3])[0]):
        out = fori_loop(0, end, lambda i, x: x + i, Tensor(250, dtype="uint8"))
        assert (out.dtype, out.item()) == (dtypes.uint8, 253)


def test_loop_index_takes_dtype_of_tensor_bound() -> None:
    n = Tensor([3], dtype="uint8")[0]
    assert fori_loop(n, n + 3, lambda i, c: c + i, 0).dtype == dtypes.uint8
    assert fori_loop(n, 6, lambda i, c: i, 0).item() == 5


def test_unchanged_number_carry_is_unbatched() -> None:
    out = vmap(lambda x: while_loop(lambda c: c[0] < 10, lambda c: (c[0] * 2, c[1]), (x, 3)), out_axes=(0, None))
    assert [x.tolist() for x in out(Tensor([1.0, 5.0]))] == [[16, 10], 3]


def test_branch_in_loop_returns_number() -> None:
    out = scan(lambda c, x: (c + cond(x > 50, lambda: 1, lambda: 0) * x, None), 0, Tensor(XS, dtype="uint8"))[0]
    assert (out.dtype, out.item()) == (dtypes.uint8, (200 + 100) % 256)


@pytest.mark.parametrize("unroll", [1, 2, 3, True])
def test_inputs_without_elements(unroll: Any) -> None:
    carry, ys = scan(lambda c, x: (c * 2 + x.sum(), (x, c)), Tensor(1.0), Tensor.zeros(4, 0), unroll=unroll)
    assert carry.item() == 16
    assert ys[0].shape == (4, 0)
    assert ys[1].tolist() == [1, 2, 4, 8]


def test_bool_indices_and_zero_batch_size() -> None:
    fs = [lambda x: x, lambda x: -x]
    x = Tensor([1.0, 2.0])
    assert switch(True, fs, x).tolist() == switch(Tensor(True), fs, x).tolist() == [-1, -2]
    assert vmap(lambda p, x: switch(p, fs, x))(Tensor([False, True]), x).tolist() == [1, -2]
    assert jit(lambda p: switch(p, fs, x))(Tensor([True])[0]).tolist() == [-1, -2]
    assert map(lambda x: x * 2, x, batch_size=0).tolist() == [2, 4]
    assert fori_loop(Tensor(False), Tensor(True), lambda i, c: c + i + 1, 0).item() == 1


def test_random_loops_and_dtypes() -> None:
    found = [
        (str(p), w)
        for p in itertools.islice(carries.programs(random.Random(5)), amount(10, 25))
        if (w := carries.wrong(p))
    ]
    assert found == []


def test_scalar_tensor_carry_keeps_its_dtype() -> None:
    out = scan(lambda c, x: (c + x, None), Tensor(0), Tensor(XS, dtype="uint8"))[0]
    assert (out.dtype, out.item()) == (dtypes.int32, 307)
    with pytest.raises(CarryError, match="before: i32"):
        scan(lambda c, x: (c + x, None), Tensor(0), Tensor([1.5]))
