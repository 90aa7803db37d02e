"""A loop in an untaken branch runs no steps, whatever its bounds are."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest
from tinygrad import Tensor

from branded import cond, fori_loop, grad, jit, jvp, map, scan, switch, vmap, while_loop
from branded.control_flow.loop_primitive import Loop
from branded.errors import AxesError, OutOfMemoryError
from branded.graph.primitive import primitive_of
from tests.fuzz import branches

END = 2_000_000_000
"""A loop of this many steps would not end during a test."""


def small_sum(n: Any) -> Any:
    return cond(n < 10, lambda: fori_loop(0, n, lambda i, s: s + i, n * 0), lambda: n)


def stepped(n: Any) -> Any:
    return cond(
        n < 10, lambda n: while_loop(lambda c: c[0] < c[1], lambda c: (c[0] + 1, c[1]), (n * 0, n))[0], _same, n
    )


def fixed(n: Any) -> Any:
    return cond(n < 10, lambda: n * 3, lambda: fori_loop(0, END, lambda i, s: s + i, n))


def switched(n: Any) -> Any:
    loops = [
        _same,
        lambda n: fori_loop(0, n, lambda i, s: s + 1, n * 0),
        lambda n: fori_loop(0, END, lambda i, s: s, n),
    ]
    return switch((n < 10) * 1, loops, n)


def _same(n: Any) -> Any:
    return n


@pytest.mark.parametrize(
    ("f", "given", "right"),
    [
        (small_sum, [3, END], [3, END]),
        (stepped, [3, END], [3, END]),
        (fixed, [3, 4], [9, 12]),
        (switched, [3, END], [3, END]),
    ],
)
def test_loop_in_untaken_branch_runs_no_steps(f: Callable[[Any], Any], given: list[int], right: list[int]) -> None:
    xs = Tensor(given)
    assert map(f, xs).tolist() == right
    assert vmap(f)(xs).tolist() == right
    assert scan(lambda c, n: (c + 1, f(n)), Tensor(0), xs)[1].tolist() == right
    assert jit(f)(xs[1]).item() == right[1]
    assert while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, f(c[1])), (Tensor(0), xs[1]))[1].item() == right[1]
    assert jit(vmap(f))(xs).tolist() == right


def test_grad_of_untaken_loop_needs_no_memory() -> None:
    """The carries of all steps would take 80 TB, and so would the cotangents of the outputs."""

    def last(x: Any) -> Any:
        return cond(x.sum() > 1e9, lambda: fori_loop(0, END, lambda i, c: c * x, x).sum(), lambda: 2 * x.sum())

    def each(x: Any) -> Any:
        ys = lambda: scan(lambda c, _: (c * x, c), x, None, length=END)[1]  # noqa: E731
        return cond(x.sum() > 1e9, lambda: ys().sum(), lambda: 3 * x.sum())

    x = Tensor.ones(1, 10_000).realize()
    assert [vmap(grad(f))(x)[0, 5].item() for f in (last, each)] == [2, 3]
    with pytest.raises(OutOfMemoryError, match="jit: no memory is left for scratch buffers"):
        jit(grad(last))(x[0])


def test_sum_over_steps_shares_one_cotangent() -> None:
    def total(x: Any) -> Any:
        ys, zs = scan(lambda c, v: (c * v, (c * x, v * v)), x, Tensor([1.0, 2.0, 3.0]))[1]
        return ys.sum() * 2 + (zs * x).mean()

    xs = Tensor([2.0, -1.0]).realize()
    right = [4 * x * (1 + 1 + 2) + 14 / 3 for x in (2.0, -1.0)]
    assert vmap(grad(total))(xs).tolist() == pytest.approx(right)
    assert vmap(grad(grad(total)))(xs).tolist() == [16, 16]


def test_finished_example_runs_no_inner_loop() -> None:
    def f(n: Any) -> Any:
        return while_loop(lambda n: n < 1000, lambda n: fori_loop(0, n, lambda i, s: s + n * n * n, n), n)

    assert vmap(f)(Tensor([3, END])).tolist() == [f(Tensor(3)).item(), END]


def test_values_and_grads_of_loop_in_branch() -> None:
    def f(x: Any) -> Any:
        up = lambda x: scan(lambda c, i: (c * x, c * i), x, Tensor([1.0, 2.0, 3.0]))  # noqa: E731
        return cond(x < 10, lambda x: up(x)[0] + up(x)[1].sum(), lambda x: x, x)

    xs = Tensor([2.0, 11.0])  # f(x) = x**4 + x + 2 x**2 + 3 x**3 below 10, and x above
    assert vmap(f)(xs).tolist() == [16 + 2 + 8 + 24, 11]
    assert map(f, xs).tolist() == [16 + 2 + 8 + 24, 11]
    slopes = [32 + 1 + 8 + 36, 1]
    assert vmap(grad(f))(xs).tolist() == slopes
    assert map(grad(f), xs).tolist() == slopes
    assert grad(lambda xs: map(f, xs).sum())(xs).tolist() == slopes
    assert jvp(vmap(f), (xs,), (Tensor.ones(2),))[1].tolist() == slopes
    assert vmap(grad(grad(f)))(xs).tolist() == [12 * 4 + 4 + 18 * 2, 0]


def test_unbatched_loop_in_branch_runs_once() -> None:
    """A batched predicate runs the branch's unbatched loop once if any example takes it."""
    squared = lambda w: fori_loop(0, 3, lambda i, w: w @ w, w)  # noqa: E731
    out = vmap(lambda x, w: cond(x > 0, lambda: squared(w).sum() + x, lambda: x), (0, None))
    got = out(Tensor([1, -1, 2]), Tensor([[1, 1], [0, 1]]))
    loops = [p for u in got.uop.toposort() if isinstance(p := primitive_of(u), Loop)]
    assert [[y.shape for y in loop.step.src] for loop in loops] == [[(2, 2)]]
    assert got.tolist() == [11, -1, 12]


X, Y = [1.0, 5.0, 2.0], [7.0, 8.0]


def _both(f: Callable[[Any], Any], g: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: cond(x < 3, lambda x, y: (x * 2, f(y)), lambda x, y: (x * 3, g(y)), x, y)


SHARED: dict[str, tuple[Callable[[Any, Any], Any], list[float], Any]] = {
    "cond": (_both(_same, _same), [2, 15, 4], Y),
    "cond, equal results": (_both(lambda y: y[0] * 2, lambda y: y[0] * 2), [2, 15, 4], 14.0),
    "cond, a closure": (
        lambda x, y: cond(x < 3, lambda x: (x * 2, y), lambda x: (x * 3, y), x),
        [2, 15, 4],
        Y,
    ),
    "switch": (
        lambda x, y: switch((x < 3) * 1, [lambda x, y: (x, y), lambda x, y: (-x, y)], x, y),
        [-1, 5, -2],
        Y,
    ),
    "while_loop": (
        lambda x, y: while_loop(lambda c: c[0] < 10, lambda c: (c[0] * 2, c[1]), (x, y)),
        [16, 10, 16],
        Y,
    ),
    "scan": (
        lambda x, y: scan(lambda c, a: ((c[0] * a, c[1]), None), (x, y), y)[0],
        [56, 280, 112],
        Y,
    ),
    "fori_loop": (lambda x, y: fori_loop(0, 3, lambda i, c: (c[0] * 2, c[1]), (x, y)), [8, 40, 16], Y),
    "fori_loop to a bound of each example": (
        lambda x, y: fori_loop(0, x.cast("int32"), lambda i, c: (c[0] * 2, c[1]), (x, y)),
        [2, 160, 8],
        Y,
    ),
    "cond in while_loop": (
        lambda x, y: while_loop(lambda c: c[0] < 10, lambda c: _both(_same, _same)(*c), (x, y)),
        [12, 15, 12],
        Y,
    ),
    "while_loop in cond": (
        lambda x, y: cond(
            x < 3,
            lambda x, y: while_loop(lambda c: c[0] < 10, lambda c: (c[0] * 2, c[1]), (x, y)),
            lambda x, y: (x, y),
            x,
            y,
        ),
        [16, 5, 16],
        Y,
    ),
}


@pytest.mark.parametrize("name", SHARED)
def test_value_passed_through_stays_unbatched(name: str) -> None:
    f, moved, same = SHARED[name]
    out = vmap(f, (0, None), (0, None))(Tensor(X), Tensor(Y))
    assert [x.tolist() for x in out] == [moved, same]


def test_value_changed_by_branches_is_batched() -> None:
    with pytest.raises(AxesError, match=r"the result\[1\] varies over"):
        vmap(_both(lambda y: y * 2, lambda y: y * 3), (0, None), (0, None))(Tensor(X), Tensor(Y))


def test_branch_writes_into_its_own_copy() -> None:
    def write(y: Any) -> Any:
        y[0] = 5.0
        return y

    y = Tensor(Y)
    out = vmap(lambda x, y: cond(x < 3, write, write, y), (0, None))(Tensor(X), y)
    assert out.tolist() == [[5, 8]] * 3
    assert y.tolist() == Y


def test_derivative_of_value_common_to_branches() -> None:
    f = _both(lambda y: y * y, lambda y: y * y)
    got = grad(lambda y: vmap(lambda x, y: f(x, y)[1].sum(), (0, None))(Tensor(X), y).sum())(Tensor(Y))
    assert got.tolist() == [42, 48]
    inner = lambda x, y: grad(lambda y: f(x, y)[1].sum())(y)  # noqa: E731
    assert vmap(inner, (0, None), None)(Tensor(X), Tensor(Y)).tolist() == [14, 16]


def test_loop_indices_take_no_memory() -> None:
    out = fori_loop(0, 1 << 30, lambda i, s: s + i, Tensor(0))
    assert max(u.max_numel() for u in out.schedule_linear().toposort() if u.op.name == "BUFFER") < 100


def test_random_branches_and_loops() -> None:
    sample = itertools.islice(branches.programs(random.Random(5), 2), 12)
    assert [(str(p), w) for p in sample if (w := branches.wrong(p))] == []
