"""`associative_scan`, `cumlogsumexp`, and unrolled or checkpointed scans."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops

from branded import associative_scan, cumlogsumexp, errors, fori_loop, grad, jit, jvp, make_expr, scan, tree, vmap
from tests.support.by_numpy import read

pytestmark = pytest.mark.by_numpy

RANDOM = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return RANDOM.standard_normal(shape).astype(np.float32)


def add(a: Tensor, b: Tensor) -> Tensor:
    return a + b


def compose(f: Any, g: Any) -> Any:
    """Compose two lines x -> a x + b: return x -> g(f(x))."""
    return {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]}


# ---- associative_scan ----


@pytest.mark.parametrize("n", range(10))
@pytest.mark.parametrize("reverse", [False, True])
def test_any_number_of_elements(n: int, reverse: bool) -> None:
    x = floats(n, 2)
    wanted = np.cumsum(x[::-1], 0)[::-1] if reverse else np.cumsum(x, 0)
    np.testing.assert_allclose(read(associative_scan(add, Tensor(x), reverse)), wanted, atol=1e-5)


def test_order_of_noncommuting_elements() -> None:
    """Matrix products do not commute: the first factor is on the left, or the last one with `reverse`."""
    m = floats(7, 3, 3)
    left, right = [m[0]], [m[-1]]
    for i in range(1, 7):
        left.append(left[-1] @ m[i])
        right.append(right[-1] @ m[6 - i])
    for f in (lambda a, b: a @ b, vmap(lambda a, b: a @ b)):
        np.testing.assert_allclose(read(associative_scan(f, Tensor(m))), left, atol=1e-4)
        np.testing.assert_allclose(read(associative_scan(f, Tensor(m), reverse=True)), right[::-1], atol=1e-4)


def test_recurrence_over_pytree() -> None:
    """x' = a x + b in log n steps equals the scan, under vmap and in its derivatives."""
    a, b = Tensor(floats(3, 6)), Tensor(floats(3, 6))

    def fast(a: Any, b: Any) -> Any:
        return associative_scan(compose, {"b": b, "a": a})["b"]

    def slow(a: Any, b: Any) -> Any:
        return scan(lambda x, ab: (ab[0] * x + ab[1],) * 2, Tensor(0.0), (a, b))[1]

    np.testing.assert_allclose(read(vmap(fast)(a, b)), read(vmap(slow)(a, b)), atol=1e-5)
    for argnum in (0, 1):
        got, wanted = (vmap(grad(lambda a, b, f=f: f(a, b).square().sum(), argnum))(a, b) for f in (fast, slow))
        np.testing.assert_allclose(read(got), read(wanted), rtol=1e-3, atol=1e-4)
    got, wanted = (jvp(lambda a, f=f: f(a, b[0]), (a[0],), (b[1],))[1] for f in (fast, slow))
    np.testing.assert_allclose(read(got), read(wanted), rtol=1e-3, atol=1e-4)
    shared = vmap(fast, in_axes=(None, 0))(a[0], b)
    np.testing.assert_allclose(read(shared)[1], read(fast(a[0], b[1])), atol=1e-5)


def test_axes() -> None:
    x = floats(2, 5, 3)
    for axis in (0, 1, 2, -1, -2):
        np.testing.assert_allclose(read(associative_scan(add, Tensor(x), axis=axis)), np.cumsum(x, axis), atol=1e-5)
    both = associative_scan(
        lambda a, b: (a[0] + b[0], a[1] * b[1]), (Tensor(x), Tensor(x[..., 0])), axis=1, reverse=True
    )
    np.testing.assert_allclose(read(both[1]), np.cumprod(x[:, ::-1, 0], 1)[:, ::-1], atol=1e-5)


def test_number_of_calls_is_logarithmic() -> None:
    calls = []

    def counted(a: Tensor, b: Tensor) -> Tensor:
        calls.append(1)
        return a + b

    associative_scan(counted, Tensor.zeros(1024))
    assert len(calls) == 19
    assert jit(lambda x: associative_scan(add, x))(Tensor.arange(100)).tolist()[-1] == 4950


# ---- cumlogsumexp ----


def test_cumlogsumexp() -> None:
    x = floats(3, 5) * 50
    wanted = np.logaddexp.accumulate(x.astype(np.float64), 1)
    np.testing.assert_allclose(read(cumlogsumexp(Tensor(x), 1)), wanted, rtol=1e-5)
    np.testing.assert_allclose(read(vmap(cumlogsumexp)(Tensor(x))), wanted, rtol=1e-5)
    back = np.logaddexp.accumulate(x.astype(np.float64)[:, ::-1], 1)[:, ::-1]
    np.testing.assert_allclose(read(cumlogsumexp(Tensor(x), axis=-1, reverse=True)), back, rtol=1e-5)
    assert cumlogsumexp(Tensor([0, 0])).dtype == dtypes.float32


def test_cumlogsumexp_of_infinities() -> None:
    """The derivative is a softmax; it is 0 where the sum is empty, never NaN."""
    inf = float("inf")
    assert read(cumlogsumexp(Tensor([-inf, -inf, 1.0, inf]))).tolist() == [-inf, -inf, 1, inf]
    x = Tensor([-inf, -inf, 1.0, 1.0, 900.0])
    for i, wanted in ((1, [0, 0, 0, 0, 0]), (3, [0, 0, 0.5, 0.5, 0]), (4, [0, 0, 0, 0, 1])):
        np.testing.assert_allclose(read(grad(lambda x, i=i: cumlogsumexp(x)[i])(x)), wanted, atol=1e-6)


# ---- unroll ----


def step(c: Any, x: Any) -> Any:
    return {"s": c["s"] * 0.9 + x["u"] * x["v"].sum()}, (c["s"], {"y": x["v"] * c["s"]})


@pytest.mark.parametrize("unroll", [2, 3, 7, 100, True, False])
@pytest.mark.parametrize("reverse", [False, True])
def test_unrolled_scan_matches_scan(unroll: Any, reverse: bool) -> None:
    xs = {"v": Tensor(floats(7, 2)), "u": Tensor(floats(7))}
    first = {"s": Tensor(1.5)}
    got, wanted = (scan(step, first, xs, reverse=reverse, unroll=k) for k in (unroll, 1))
    assert tree.structure(got) == tree.structure(wanted)
    for a, b in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(read(a), read(b), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("every", [True, 2, 3, 100])
@pytest.mark.parametrize("reverse", [False, True])
def test_checkpointed_scan_matches_scan(every: Any, reverse: bool) -> None:
    """Values and both derivatives match, also unrolled and under vmap, with and without a remainder."""
    step = lambda c, x: ((c * 0.9 + x).sin(), c * x)  # noqa: E731
    for n in (1, 2, 7, 9):
        xs = Tensor(np.sin(np.arange(n * 3)).reshape(n, 3).astype(np.float32))

        def out(c: Tensor, x: Tensor, **how: Any) -> Tensor:
            last, ys = scan(step, c, x, reverse=reverse, **how)
            return last.sum() + (ys * Tensor.arange(ys.shape[0]).unsqueeze(1)).sum()

        wanted = [out(xs[0], xs), *grad(out, argnums=(0, 1))(xs[0], xs)]
        for more in ({}, {"unroll": 2}):
            f = functools.partial(out, checkpoint=every, **more)
            got = [f(xs[0], xs), *grad(f, argnums=(0, 1))(xs[0], xs)]
            for a, b in zip(got, wanted, strict=True):
                np.testing.assert_allclose(read(a), read(b), rtol=1e-5, atol=1e-6)
    each = vmap(lambda c: grad(lambda c: out(c, xs, checkpoint=every))(c))(xs[:2])
    np.testing.assert_allclose(each[0].numpy(), read(grad(lambda c: out(c, xs))(xs[0])), rtol=1e-5, atol=1e-6)


def test_checkpointed_scan_keeps_few_carries() -> None:
    """Reverse mode over 400 steps keeps 20 carries, and 20 more for the block that it recomputes."""

    def most(**how: Any) -> int:
        f = grad(lambda x: scan(lambda c, _: ((c * 1.01).sin(), None), x, None, length=400, **how)[0].sum())
        graph = f(Tensor.ones(3)).uop.toposort()
        return max(math.prod(y.shape) for u in graph if u.op is Ops.FUNCTION for y in u.src[0].src)

    assert (most(), most(checkpoint=True), most(checkpoint=80)) == (400 * 3, 20 * 3, 80 * 3)


@pytest.mark.compiled
def test_unrolled_scan_under_transforms() -> None:
    """Its gradients match the loop's, also per example."""
    xs = Tensor(floats(3, 5))

    def last(x: Any, unroll: int) -> Any:
        return scan(lambda c, v: (c * v + v.sin(), None), Tensor(1.0), x, unroll=unroll)[0]

    for f in (vmap(lambda x: last(x, 2)), vmap(grad(lambda x: last(x, 2)))):
        g = vmap(lambda x: last(x, 1)) if f(xs).shape == (3,) else vmap(grad(lambda x: last(x, 1)))
        np.testing.assert_allclose(read(f(xs)), read(g(xs)), rtol=1e-4, atol=1e-5)
    _, ys = scan(lambda c, _: (c * 2, c), Tensor(1), length=5, unroll=2)
    assert ys.tolist() == [1, 2, 4, 8, 16]
    assert fori_loop(1, 8, lambda i, x: x * i, Tensor(1), unroll=3).item() == 5040
    whole = lambda x: fori_loop(1, 8, lambda i, x: x * i, x, unroll=True)  # noqa: E731
    assert whole(Tensor(1)).item() == 5040
    linear, _ = whole(Tensor(1).clone().realize()).linear_with_vars()
    assert len(linear.src) == 1, "no loop of the host is left"


def test_unroll_is_not_part_of_the_expr() -> None:
    f = lambda x, k: scan(lambda c, v: (c + v, c), x[0], x, unroll=k)  # noqa: E731
    texts = [str(make_expr(lambda x, k=k: f(x, k))(Tensor([1.0, 2.0]))) for k in (1, 2)]
    assert texts[0] == texts[1]


# ---- error messages ----

X = Tensor([1.0, 2.0, 3.0])
MISTAKES: dict[str, tuple[type[Exception], Callable[[], Any], str]] = {
    "no function": (errors.CarryError, lambda: associative_scan(3, X), "associative_scan: the int 3 is not a function"),
    "no elements": (errors.SizeError, lambda: associative_scan(add, {}), "associative_scan: there are no elements"),
    "text": (errors.CarryError, lambda: associative_scan(add, "x"), "elems is the str 'x', not a tensor"),
    "no axis": (errors.AxisRangeError, lambda: associative_scan(add, X, axis=1), "axis 1 is out of range for f32[3]"),
    "other sizes": (
        errors.SizeError,
        lambda: associative_scan(lambda a, b: a, (X, X[:2])),
        "associative_scan: elems[1] has 2 elements, and there are 3",
    ),
    "another tree": (
        errors.CarryError,
        lambda: associative_scan(lambda a, b: (a, b), X),
        "the function returns another structure than it takes\n  gets:  f32[3]\n  gives: (f32[1], f32[1])",
    ),
    "a function of one element": (
        errors.CarryError,
        lambda: associative_scan(lambda a, b: (a * b).sum(), X),
        "the result changes its type\n  gets:  f32[1]\n  gives: f32[]\n  try:   pass vmap(fn), which works",
    ),
    "another dtype": (errors.CarryError, lambda: associative_scan(lambda a, b: a > b, X), "changes its type"),
    "no sums of text": (errors.CarryError, lambda: cumlogsumexp("x"), "cumlogsumexp: x is the str 'x', not a tensor"),
    "unroll 0": (errors.SizeError, lambda: scan(add, X[0], X, unroll=0), "scan: unroll=0 is not a number of steps"),
    "checkpoint 0": (
        errors.SizeError,
        lambda: scan(add, X[0], X, checkpoint=0),
        "scan: checkpoint=0 is not a number of",
    ),
    "unroll text": (errors.SizeError, lambda: scan(add, X[0], X, unroll="x"), "unroll='x' is not a number of steps"),
    "unroll tensors": (
        errors.SizeError,
        lambda: fori_loop(Tensor(0), 3, lambda i, x: x, X, unroll=2),
        "fori_loop: unroll needs bounds that are Python ints",
    ),
    "no pair": (
        errors.CarryError,
        lambda: scan(add, X[0], X, unroll=2),
        "scan: the body returned f32[], not a pair",
    ),
    "another carry": (
        errors.CarryError,
        lambda: scan(lambda c, x: ((c, c), x), X[0], X, unroll=2),
        "the carry has another structure after a step than before",
    ),
    "a carry of another shape": (
        errors.CarryError,
        lambda: scan(lambda c, x: (c.reshape(1), x), X[0], X, unroll=2),
        "changes its type from step to step",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_error_messages(name: str) -> None:
    kind, run, text = MISTAKES[name]
    with pytest.raises(kind) as e:
        run()
    assert text in str(e.value)
