"""Writes into per-example values, through views, in any order and depth; and `realize` as a materialization hint."""

from __future__ import annotations

import copy
import random
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import GlobalCounters, Tensor, TinyJit, dtypes, function

from branded import (
    brand,
    checkpoint,
    cond,
    custom_jvp,
    errors,
    functional_call,
    grad,
    jit,
    jvp,
    make_expr,
    psum,
    scan,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)
from branded.core.analysis import aliasing
from tests.errors.test_errors import message_of
from tests.support.by_numpy import values
from tests.support.profiles import pairs

ROWS = np.arange(1.0, 13.0, dtype=np.float32).reshape(3, 4)
PAIRS = np.arange(10.0, 16.0, dtype=np.float32).reshape(3, 2)
Program = Callable[[Any, Any, Any], Any]

# ---- programs for tensors and arrays; numpy views are the oracle ----


class Arrays:
    """The numpy counterparts of tinygrad's methods."""

    @staticmethod
    def assign(x: Any, v: Any) -> None:
        x[...] = v

    @staticmethod
    def detach(x: Any) -> Any:
        return x[...]

    @staticmethod
    def new(x: Any) -> Any:
        return np.array(x)

    @staticmethod
    def bits(x: Any) -> Any:
        return x.view(np.int32)

    @staticmethod
    def full(n: int) -> Any:
        return np.zeros(n, np.float32)


class Tensors:
    @staticmethod
    def assign(x: Tensor, v: Any) -> None:
        x.assign(v)

    @staticmethod
    def detach(x: Tensor) -> Tensor:
        return x.detach()

    @staticmethod
    def new(x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def bits(x: Tensor) -> Tensor:
        return x.bitcast(dtypes.int32)

    @staticmethod
    def full(n: int) -> Tensor:
        return Tensor.zeros(n)


def part(m: Any, x: Any, v: Any) -> Any:
    m.assign(x[0:2], v)
    return x, x[1:3]


def added(m: Any, x: Any, v: Any) -> Any:
    w = x[1:3]
    w += v
    return x, w


def overlapping(m: Any, x: Any, v: Any) -> Any:
    a, b = x[0:2], x[1:3]
    before = x * 2
    m.assign(a, v)
    b += 100
    return x, a, b, before


def item_added(m: Any, x: Any, v: Any) -> Any:
    x[0:2] += v
    x[-1] += 1
    return x, x[::-1]


def detached(m: Any, x: Any, v: Any) -> Any:
    m.detach(x)[0] = 7
    return x, v


def of_bits(m: Any, x: Any, v: Any) -> Any:
    m.assign(m.bits(x)[1:3], m.bits(v))
    return x, v


def strided(m: Any, x: Any, v: Any) -> Any:
    m.assign(x[::2], v)
    m.assign(x[::-3], v * 2)
    return x, v


def viewed_before(m: Any, x: Any, v: Any) -> Any:
    w, t = x[0:2], x.reshape(2, 2).T
    x[0:1] = 9
    m.assign(x, x + 1)
    t[0] *= 10
    return x, w, t


def shifted(m: Any, x: Any, v: Any) -> Any:
    m.assign(x[1:4], x[0:3])
    x[0:3] = x[1:4]
    return x, v


def in_body(m: Any, x: Any, v: Any) -> Any:
    y, z = m.full(4), m.full(4)
    m.assign(y[1:3], v)
    z += x
    y[0] = z[3]
    return y, z


def by_index(m: Any, x: Any, v: Any) -> Any:
    w, y = x[0:2], m.new(x * 2)
    x[[0, 3]] = v
    y[1:3] = 5
    y[[0]] = 6
    return x, w, y


PROGRAMS = (part, added, overlapping, item_added, detached, of_bits, strided)
PROGRAMS += (viewed_before, shifted, in_body, by_index)


def loop(f: Program, *batches: Any) -> list[Any]:
    """Run a program once per example on copies of the arguments, and stack the results."""
    each = [f(Arrays, *(b[i].copy() for b in batches)) for i in range(len(batches[0]))]
    return [np.stack(ys) for ys in zip(*each, strict=True)]


def close(got: Any, want: Any) -> None:
    for g, w in zip(values(list(got)), want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-6)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_write_is_seen_by_all_views(f: Program) -> None:
    rows, pairs = Tensor(ROWS).realize(), Tensor(PAIRS).realize()
    want = loop(f, ROWS, PAIRS)
    close(vmap(lambda x, v: f(Tensors, x, v))(rows, pairs), want)
    with brand("b", 3) as b:
        ys = [b.unvec(y) for y in f(Tensors, b.vec(rows), b.vec(pairs))]
    close(ys, want)
    close([rows, pairs], [ROWS, PAIRS])  # arguments are copies


def test_writes_in_kernels_and_chunks() -> None:
    rows, pairs = Tensor(ROWS).realize(), Tensor(PAIRS).realize()
    for options in ({}, {"chunk_size": 2}):
        out = vmap(lambda x, v: (*part(Tensors, x, v), *in_body(Tensors, x, v)), **options)(rows, pairs)
        want = loop(lambda m, x, v: (*part(m, x, v), *in_body(m, x, v)), ROWS, PAIRS)
        for g, w in zip(out, want, strict=True):
            np.testing.assert_allclose(g.numpy(), w)
    np.testing.assert_array_equal(rows.numpy(), ROWS)


# ---- random programs ----

Step = tuple[Any, ...]
INDEXES = (slice(0, 2), slice(1, 3), slice(None, None, 2), slice(None, None, -1), slice(2, 3), 0, -1)


def generated(rng: random.Random) -> list[Step]:
    steps: list[Step] = []
    for _ in range(rng.randint(4, 9)):
        a, b = rng.random(), rng.random()
        kind = rng.choice(("view", "view", "view", "assign", "assign", "add", "set", "read", "detach", "turn"))
        steps.append((kind, a, b, rng.choice(INDEXES), rng.randint(-4, 4)))
    return steps


def run(steps: list[Step], m: Any, x: Any, v: Any) -> Any:
    """Run the steps on a pool of tensors, many of them views of others; written values come from the pool."""
    pool = [x, v]
    for kind, a, b, index, number in steps:
        t, other = pool[int(a * len(pool))], pool[int(b * len(pool))]
        value = other * 2 + number
        if value.shape != t.shape:
            value = value.sum() - t
        if kind == "view" and t.shape and t.shape[0]:
            pool.append(t[index if index not in (0, -1) or len(t.shape) > 1 else slice(0, 1)])
        elif kind == "detach":
            pool.append(m.detach(t))
        elif kind == "turn" and len(t.shape) > 1:
            pool.append(t.T)
        elif kind == "assign":
            m.assign(t, value)
        elif kind == "add":
            t += value
        elif kind == "set" and t.shape and t.shape[0] > 1:
            t[0:2] = value[0:2]
        elif kind == "read":
            pool.append(m.new(value))
    return tuple(pool)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_match_loop(seed: int) -> None:
    rng = random.Random(seed)
    steps = generated(rng)
    shape = rng.choice([(4,), (3, 4), (2, 3)])
    xs = np.asarray([rng.randint(-9, 9) for _ in range(2 * 3 * int(np.prod(shape)))], np.float32)
    xs, vs = xs.reshape(2, 3, *shape), np.arange(9.0, dtype=np.float32).reshape(3, 3)
    want = [loop(lambda m, x, v: run(steps, m, x, v), xs[i], vs) for i in range(2)]
    rows, pairs = Tensor(xs), Tensor(vs)
    f = lambda x, v: run(steps, Tensors, x, v)  # noqa: E731
    close(vmap(f)(rows[0], pairs), want[0])
    close(vmap(lambda x: vmap(f)(x, pairs))(rows), [np.stack(ys) for ys in zip(*want, strict=True)])


# ---- a KV cache ----


class Attention:
    """An attention step with a KV cache, as in a transformer that writes one token at a time."""

    def __init__(self) -> None:
        self.cache = Tensor.zeros(2, 4, 2).contiguous().realize()

    def __call__(self, x: Any, at: int) -> Any:
        self.cache[:, at : at + 1].assign(Tensor.stack(x, x * 2)).realize()
        keys, vals = self.cache[0, : at + 1], self.cache[1, : at + 1]
        return x.scaled_dot_product_attention(keys, vals)


def by_hand(xs: Any) -> list[Any]:
    out: list[Any] = []
    for t in range(len(xs)):
        scores = np.exp(xs[: t + 1] @ xs[t] / np.sqrt(2.0))
        out.append((scores / scores.sum()) @ (2 * xs[: t + 1]))
    return out


def test_kv_cache_of_transformer() -> None:
    attention = Attention()
    tokens = np.random.default_rng(0).normal(size=(3, 4, 2)).astype(np.float32)
    rows, state = Tensor(tokens), {"cache": Tensor.zeros(3, 2, 4, 2)}
    steps = []
    for t in range(4):
        step = vmap(lambda s, x, t=t: functional_call(attention, s, x, t, mutable=True))
        y, state = step(state, rows[:, t : t + 1])
        steps.append(y)
    want = np.stack([np.stack(by_hand(xs)) for xs in tokens])
    near(np.concatenate(values(steps), 1), want)
    np.testing.assert_allclose(state["cache"].numpy(), np.stack([tokens, 2 * tokens], 1), rtol=1e-6)
    assert attention.cache.numpy().max() == 0

    def whole(x: Any) -> Any:
        own = Attention()
        return Tensor.cat(*(own(x[t : t + 1], t) for t in range(4)))

    results = values([vmap(whole)(rows), vmap(grad(lambda x: whole(x).sum()))(rows)])
    near(results[0], want)
    near(results[1], gradient_by_hand(tokens))


def near(got: Any, want: Any) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)


def gradient_by_hand(tokens: Any) -> Any:
    out = np.zeros(tokens.shape)
    for i in np.ndindex(*tokens.shape):
        step = np.zeros(tokens.shape)
        step[i] = 1e-5
        up, down = (np.sum(by_hand((tokens.astype(np.float64) + s)[i[0]])) for s in (step, -step))
        out[i] = (up - down) / 2e-5
    return out


class Lazy:
    """A module that makes its cache in the first call, as tinygrad's llama does."""

    def __init__(self) -> None:
        self.scale = Tensor([2.0])

    def __call__(self, x: Any) -> Any:
        if not hasattr(self, "cache"):
            self.cache = Tensor.zeros(4).contiguous().realize()
        self.cache[1:3].assign(x * self.scale).realize()
        return self.cache.sum()


def test_cache_made_in_first_call() -> None:
    model, pairs = Lazy(), Tensor(PAIRS)
    y, state = vmap(lambda v: functional_call(model, {}, v, mutable="cache"))(pairs)
    close([y, state["cache"]], [4 * PAIRS.sum(1) / 2, np.pad(2 * PAIRS, ((0, 0), (1, 1)))])
    y, state = vmap(lambda s, v: functional_call(model, s, v + 1, mutable="cache"))(state, pairs)
    close([state["cache"]], [np.pad(2 * PAIRS + 2, ((0, 0), (1, 1)))])
    assert not hasattr(model, "cache")
    y, state = functional_call(model, {}, pairs[0], mutable=True)
    assert sorted(state) == ["cache", "scale"] and state["scale"] is model.scale


def test_store_into_cache_by_uop() -> None:
    """tinygrad.llm stores into a slice of the cache by its UOp."""
    rows, pairs = Tensor(ROWS).realize(), Tensor(PAIRS)
    body = lambda c, v: Tensor(c.uop.after(c[1:3].uop.store(v.uop)))  # noqa: E731
    want = ROWS.copy()
    want[:, 1:3] = PAIRS
    close([vmap(body)(rows, pairs)], [want])
    table = np.stack([[*r[:1], *p, *r[3:]] for r in ROWS for p in PAIRS]).reshape(3, 3, 4)
    close([vmap(lambda c: vmap(lambda v: body(c, v))(pairs))(rows)], [table])


def test_store_of_uop_copies() -> None:
    values = Tensor(ROWS).realize()
    y = vmap(lambda c, v: Tensor(c.uop.after(c.uop.store(v.uop))))(Tensor(ROWS * 2).realize(), values)
    y[0:1].assign(Tensor.zeros(1, 4)).realize()
    close([y, values], [np.where(np.arange(len(ROWS))[:, None] == 0, 0, ROWS), ROWS])


# ---- inside other transforms ----


def test_writes_in_derivatives() -> None:
    def f(w: Any) -> Any:
        w[0:2].assign(w[2:4] * 3)
        w.detach()[2] = 5
        return (w * w).sum()

    def g(w: Any) -> Any:
        y = Tensor.zeros(4)
        y[1:3].assign(w[0:2] * w[0:2])
        y[0] = w[3]
        return y.square().sum()

    rows = Tensor(ROWS)
    close([vmap(grad(f))(rows)], [np.stack([0 * ROWS[:, 0], 0 * ROWS[:, 0], 18 * ROWS[:, 2], 20 * ROWS[:, 3]], 1)])
    close([grad(f)(rows[0])], [np.array([0, 0, 54, 80.0])])
    slope = np.stack([4 * ROWS[:, 0] ** 3, 4 * ROWS[:, 1] ** 3, 0 * ROWS[:, 2], 2 * ROWS[:, 3]], 1)
    close([vmap(grad(g))(rows), grad(g)(rows[0])], [slope, slope[0]])
    tangents = [vmap(lambda x: jvp(g, (x,), (x,))[1])(rows), jvp(g, (rows[1],), (rows[1],))[1]]
    close(tangents, [(slope * ROWS).sum(1), (slope * ROWS).sum(1)[1]])
    close([rows], [ROWS])


def test_value_before_write_has_own_derivative() -> None:
    def f(w: Any) -> Any:
        before = w.square()
        v = w[0:2]
        v += before[0:2]
        return before.sum() + w.sum()

    close([vmap(grad(f))(Tensor(ROWS))], [2 * ROWS + 1 + np.pad(2 * ROWS[:, :2], ((0, 0), (0, 2)))])


def test_writes_in_loops() -> None:
    def step(c: Any, x: Any) -> Any:
        v = c[1:3]
        v += x
        c[0:1].assign(v.sum().reshape(1))
        return c, c[0]

    def run_it(x: Any) -> Any:
        return scan(step, x, Tensor([1.0, 10.0]))

    want = ROWS.copy()
    want[:, 1:3] += 11
    want[:, 0] = want[:, 1:3].sum(1)
    rows = Tensor(ROWS).realize()
    last, firsts = vmap(run_it)(rows)
    np.testing.assert_allclose(last.numpy(), want)
    np.testing.assert_allclose(firsts.numpy()[:, 1], want[:, 0])
    np.testing.assert_allclose(run_it(rows[0])[0].numpy(), want[0])
    np.testing.assert_array_equal(rows.numpy(), ROWS)


def test_writes_in_function_and_make_expr() -> None:
    @function
    def f(x: Tensor) -> Tensor:
        y = x * 1
        y[0:2] = y[2:4]
        return y

    rows = Tensor(ROWS).realize()
    close([vmap(f)(rows)], [ROWS[:, [2, 3, 2, 3]]])
    program = make_expr(vmap(lambda x, v: part(Tensors, x, v)))(rows, Tensor(PAIRS))
    close(program(rows, Tensor(PAIRS)), loop(part, ROWS, PAIRS))


def test_branch_writes_into_its_argument() -> None:
    def double(x: Any) -> Any:
        x[0:2].assign(x[2:4])
        return x

    y, x = vmap(lambda x: (cond(x.sum() > 20, double, lambda x: x, x), x))(Tensor(ROWS))
    close([y, x], [np.where(ROWS.sum(1, keepdims=True) > 20, ROWS[:, [2, 3, 2, 3]], ROWS), ROWS])


def test_psum_result_is_written() -> None:
    def body(x: Any) -> Any:
        x[0:2].assign(psum(x[2:4], "i"))
        return x

    want = ROWS.copy()
    want[:, 0:2] = ROWS[:, 2:4].sum(0)
    close([vmap(body, axis_name="i")(Tensor(ROWS))], [want])


def test_same_tensor_passed_twice_is_aliased() -> None:
    def body(x: Any, y: Any) -> Any:
        x[0:2].assign(y[2:4])
        return x, y

    close(vmap(body)(rows := Tensor(ROWS), rows), [ROWS[:, [2, 3, 2, 3]]] * 2)


# ---- values without a buffer ----


def test_write_to_view_of_unused_computed_value() -> None:
    """Only a later read of `y`, which cannot see the write, is an error, as in a loop."""

    def body(x: Any, v: Any) -> Any:
        y = x * 2
        q = y.reshape(2, 2)
        q += v
        return q

    close([vmap(body)(Tensor(ROWS), Tensor(PAIRS))], [(2 * ROWS).reshape(3, 2, 2) + PAIRS[:, None]])


def test_equal_computed_values_are_distinct() -> None:
    def body(x: Any) -> Any:
        a, b, c, d = x * 2, x * 2, Tensor.zeros(4), Tensor.zeros(4)
        a += 1
        c += x
        return a, b, c, d

    close(vmap(body)(Tensor(ROWS)), [2 * ROWS + 1, 2 * ROWS, ROWS, 0 * ROWS])


def _of_computed(x: Any, v: Any) -> Any:
    y = x * 2
    y[0:2].assign(v)
    return y


MISTAKES: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "a view of a computed value": (
        _of_computed,
        """
        vmap: the result: this value is lazy, and does not see the write into its view
          value:   Vec[x:3, f32[4]], not computed yet
          written: Vec[x:3, f32[2]]
          try:     x = x.clone() before taking the view, or x[1:3] = ... instead of v.assign(...)
        """,
    ),
    "a repeated value": (
        lambda x, v: x.expand(2, 4).assign(x),
        """
        assign: this tensor repeats another one, and a write into it is ambiguous
          tensor:  Vec[x:3, f32[2, 4]]
          another: Vec[x:3, f32[4]]
          try:     x = x.clone() to write into the repeated values, or write into the other tensor
        """,
    ),
    "a padded value": (
        lambda x, v: x.pad(((1, 1),)).__setitem__(0, 1.0),
        """
        __setitem__: this tensor pads another one, and a write into it is ambiguous
          tensor:  Vec[x:3, f32[6]]
          another: Vec[x:3, f32[4]]
          try:     x = x.clone() to write into the padded values, or write into the other tensor
        """,
    ),
    "a view of what an outer vmap gave": (
        lambda x, v: vmap(lambda y: x[0:1].assign(y.reshape(1)))(v),
        """
        assign: a value that varies over `y` cannot be written into a tensor that all examples share
          tensor: Vec[x:3, f32[1]], made outside of the scope of `y`
          value:  varies over `x` and `y`
          try:    return the new value from the mapped function, or map over the tensor too
        """,
    ),
    "a shape that does not fit": (
        lambda x, v: x.assign(v),
        """
        assign: a value of shape (2,) does not fit into a tensor of (4,)
          tensor: Vec[x:3, f32[4]]
          value:  Vec[x:3, f32[2]]
          try:    use a value of shape (4,), or one that broadcasts to it
        """,
    ),
    "a shape that does not fit what it is added to": (
        lambda x, v: x.__iadd__(v),
        """
        +=: a value of shape (2,) does not fit into a tensor of (4,)
          tensor: Vec[x:3, f32[4]]
          value:  Vec[x:3, f32[2]]
          try:    use a value of shape (4,), or one that broadcasts to it
        """,
    ),
    "a shape that does not fit the part that it divides": (
        lambda x, v: x[0:4:1].__itruediv__(v),
        """
        /=: a value of shape (2,) does not fit into a tensor of (4,)
          tensor: Vec[x:3, f32[4]]
          value:  Vec[x:3, f32[2]]
          try:    use a value of shape (4,), or one that broadcasts to it
        """,
    ),
    "a shape that does not fit a part": (
        lambda x, v: x.__setitem__(slice(0, 3), v),
        """
        __setitem__: a value of shape (2,) does not fit into a tensor of (3,)
          tensor: Vec[x:3, f32[3]]
          value:  Vec[x:3, f32[2]]
          try:    use a value of shape (3,), or one that broadcasts to it
        """,
    ),
    "numbers that do not fit a part that a tensor chooses": (
        lambda x, v: x.__setitem__(Tensor([0, 1]), [1.0, 2.0, 3.0]),
        """
        __setitem__: a value of shape (3,) does not fit into a tensor of (2,)
          tensor: Vec[x:3, f32[2]]
          value:  f32[3]
          try:    use a value of shape (2,), or one that broadcasts to it
        """,
    ),
    "a dtype that does not fit": (
        lambda x, v: x.assign(x.int()),
        """
        assign: a value of i32 does not fit into a tensor of f32
          tensor: Vec[x:3, f32[4]]
          value:  Vec[x:3, i32[4]]
          try:    value.cast(dtypes.float)
        """,
    ),
    "a dtype that does not fit a part": (
        lambda x, v: x.__setitem__(0, v[0].half()),
        """
        __setitem__: a value of f16 does not fit into a tensor of f32
          tensor: Vec[x:3, f32[]]
          value:  Vec[x:3, f16[]]
          try:    value.cast(dtypes.float)
        """,
    ),
    "a value on another device": (
        lambda x, v: x.assign(Tensor([1.0, 2.0, 3.0, 4.0], device="NULL")),
        """
        assign: a value on NULL does not fit into a tensor on {device}
          tensor: Vec[x:3, f32[4]]
          value:  f32[4]
          try:    value.to({device!r})
        """,
    ),
    "what no tensor has": (
        lambda x, v: x.__setitem__(0, "a"),
        """
        __setitem__: the str 'a' cannot be stored in a tensor
          tensor: Vec[x:3, f32[]]
          try:    assign a number or a tensor
        """,
    ),
    "a tensor from outside of a branch": (
        lambda x, v: cond(x.sum() > 0, lambda: x.assign(x * 2), lambda: x),
        """
        assign: a write in a branch into a tensor from outside would run whichever branch is taken
          tensor: Vec[x:3, f32[4]]
          try:    return the value from each branch, and write it outside
        """,
    ),
}


def _by_parts(x: Tensor) -> Tensor:
    y = x.clone()
    y[0:1].assign(y[1:2] * y[2:3])
    y[1:2].assign(y[2:3] * y[0:1])
    return (y * x).sum()


def _into_zeros(x: Tensor) -> Tensor:
    b = Tensor.zeros(3).contiguous()
    b[0:1].assign(x[0:1] * x[1:2])
    y = b * x
    b[1:2].assign(b[0:1] * x[2:3])
    b[0:1].assign(b[1:2] * 2)
    return (b * x).sum() + y.sum()


def _into_what_is_there(x: Tensor) -> Tensor:
    b = Tensor.zeros(3).contiguous().realize()
    b[0:1].assign(x[0:1] * x[1:2])
    b[1:2].assign(b[0:1] * x[2:3])
    b[0:1].assign(b[1:2] * b[0:1] * 2)
    return (b * x).sum()


OWN: dict[Callable[[Tensor], Tensor], tuple[float, list[float]]] = {
    _by_parts: (51, [6, 39, 32]),
    _into_zeros: (26, [40, 19, 8]),
    _into_what_is_there: (36, [84, 36, 12]),
}


@pytest.mark.parametrize("f", OWN)
def test_derivative_reads_values_before_write(f: Callable[[Tensor], Tensor]) -> None:
    """This holds without vmap, for any order of reading the results, and in both modes."""
    value, slope = OWN[f]
    x = Tensor([1.0, 2.0, 3.0]).realize()
    for first in (0, 1):
        found = value_and_grad(f)(x)
        for k in (first, 1 - first):
            assert found[k].tolist() == (value, slope)[k]
        pair = jvp(f, (x,), (Tensor([0.0, 1.0, 0.0]),))
        for k in (first, 1 - first):
            assert pair[k].item() == (value, slope[1])[k]
    assert jit(value_and_grad(f))(x)[1].tolist() == slope
    assert vmap(grad(f))(x.reshape(1, 3)).tolist() == [slope]
    assert x.tolist() == [1, 2, 3]


def test_derivative_writes_into_captured_tensor() -> None:
    cache = Tensor.zeros(3).contiguous().realize()

    def f(x: Tensor) -> Tensor:
        cache[0:2].assign(stop_gradient(x)[0:2] * 2)
        cache[1:3].assign(stop_gradient(x)[1:3] * 3)
        return (cache * x).sum()

    step = TinyJit(lambda x: grad(f)(x).realize())
    for k in range(4):
        assert step(Tensor([1.0 + k, 2.0, 3.0]).realize()).tolist() == [2 + 2 * k, 6, 9]
        assert cache.tolist() == [2 + 2 * k, 6, 9]


def test_branch_write_into_popped_tensor_is_error() -> None:
    """A value computed from the buffer before the branch would otherwise see the write for all examples."""

    def f(x: Tensor) -> Any:
        held = [Tensor.zeros(2, dtype="int32").contiguous().realize()]
        y = held[0] + 1

        def writes() -> Tensor:
            part = held.pop()[0:1]
            part.assign(Tensor([5]))
            return part.sum()

        return y, cond(x > 0, writes, lambda: 0)

    with pytest.raises(errors.WriteError, match="a write in a branch into a tensor from outside"):
        vmap(f)(Tensor([1.0, -1.0]))


@pytest.mark.parametrize("name", MISTAKES)
def test_invalid_writes_are_an_error(name: str) -> None:
    mistake, text = MISTAKES[name]
    rows = Tensor(ROWS).realize()
    with pytest.raises(errors.WriteError) as info:
        vmap(mistake)(rows, Tensor(PAIRS))
    places = {"{device!r}": repr(rows.device), "{device}": str(rows.device)}
    for name, device in places.items():
        text = text.replace(name, device)
    assert message_of(info.value) == textwrap.dedent(text).strip()
    close([rows], [ROWS])


# ---- cost of a write ----


@pytest.mark.compiled
@pytest.mark.parametrize("axis", [0, -1])
def test_number_of_kernels_for_writes(axis: int) -> None:
    """Writes without a read in between are one kernel; a value read between two writes is stored once."""
    x = np.arange(12.0 * 12, dtype="float32").reshape(12, 12)

    def unread(y: Any) -> Any:
        y[1:3] = y[4:6] * 2
        y[7] = 5
        return y

    def read_between(y: Any) -> Any:
        y[1:3] = 7
        y[4] = y.sum()
        return y

    for body, kernels in ((unread, 1), (read_between, 3)):
        mapped = vmap(lambda x: body(x * 2), in_axes=axis, out_axes=axis)(Tensor(x).realize())
        GlobalCounters.reset()
        mapped.realize()
        assert GlobalCounters.kernel_count == kernels
        expected = np.stack([body(row * 2) for row in (x if axis == 0 else x.T)])
        np.testing.assert_array_equal(mapped.numpy() if axis == 0 else mapped.numpy().T, expected)


@pytest.mark.compiled
@pytest.mark.parametrize("axis", [0, -1])
def test_sum_written_into_slice_is_computed_once(axis: int) -> None:
    """The sum used to be recomputed for each entry of the padded tensor."""
    x = Tensor(np.arange(64.0 * 64, dtype="float32").reshape(64, 64)).realize()

    def body(x: Tensor) -> Tensor:
        y = x * 2
        y[3] = (x * x).sum()
        y[5:7].assign((x + 1).sum().expand(2))
        return y

    mapped = vmap(body, in_axes=axis, out_axes=axis)(x)
    GlobalCounters.reset()
    mapped.realize()
    assert GlobalCounters.global_ops < 16 * 64 * 64
    rows = x.numpy() if axis == 0 else x.numpy().T
    expected = rows * 2
    expected[:, 3], expected[:, 5:7] = (rows * rows).sum(1), (rows + 1).sum(1)[:, None]
    np.testing.assert_allclose(mapped.numpy() if axis == 0 else mapped.numpy().T, expected, rtol=1e-5)


# ---- writes into captured tensors under derivatives ----

WRITTEN: dict[str, Callable[[Tensor], Tensor]] = {
    "itself": lambda v: v,
    "a loop": lambda v: scan(lambda c, _: (c * v, c.sum()), v, None, length=3)[0],
    "a derivative": lambda v: grad(lambda w: (w * w * v).sum())(v),
    "a branch": lambda v: cond(v.sum() > 0, lambda v: v * v, lambda v: v, v),
}
KEPT: list[Tensor] = []


def _kept_value(f: Any, v: Tensor) -> Tensor:
    """Return the value of a derivative, which the program also keeps."""
    KEPT[:] = [value_and_grad(f)(v)[0]]
    return KEPT[0]


DIFFERENTIATED: dict[str, Callable[[Any, Tensor], tuple[Tensor, Tensor]]] = {
    "value_and_grad": lambda f, v: value_and_grad(f)(v),
    "twice": lambda f, v: value_and_grad(lambda v: value_and_grad(f)(v)[0])(v),
    "twice and kept": lambda f, v: value_and_grad(lambda v: _kept_value(f, v))(v),
    "checkpoint": lambda f, v: value_and_grad(checkpoint(f))(v),
    "checkpoint and kept": lambda f, v: value_and_grad(checkpoint(lambda v: _kept_value(f, v)))(v),
    "jvp": lambda f, v: jvp(f, (v,), (v,)),
    "vjp": lambda f, v: (lambda y, pull: (y, pull(Tensor(1.0))[0]))(*vjp(f, v)),
    "aux": lambda f, v: (value_and_grad(lambda v: (f(v), 0), has_aux=True)(v)[0][0], v),
}


@pytest.mark.parametrize("how", DIFFERENTIATED)
@pytest.mark.parametrize("what", WRITTEN)
def test_captured_tensor_is_written_once(what: str, how: str) -> None:
    """A captured counter that the result depends on used to be incremented twice."""
    state, v = Tensor([1.0, 2.0]).realize(), Tensor([2.0, 3.0]).realize()

    def f(v: Tensor) -> Tensor:
        state.assign(state + WRITTEN[what](v))
        return (state * state * v).sum()

    after = (Tensor([1.0, 2.0]) + WRITTEN[what](v)).numpy()
    value, other = DIFFERENTIATED[how](f, v)
    np.testing.assert_allclose(value.numpy(), (after * after * [2, 3]).sum())
    np.testing.assert_allclose(state.numpy(), after)
    other.realize()
    np.testing.assert_allclose(state.numpy(), after)


def test_pullback_does_not_write() -> None:
    state, v = Tensor([1.0, 2.0]).realize(), Tensor([2.0, 3.0]).realize()

    def f(v: Tensor) -> Tensor:
        state.assign(state + v)
        return (state * state * v).sum()

    value, pullback = vjp(f, v)
    assert state.tolist() == [3, 5]
    for _ in range(2):
        assert pullback(Tensor(1.0))[0].tolist() == [2 * 3 * 2 + 9, 2 * 5 * 3 + 25]
    assert value.item() == 93
    assert state.tolist() == [3, 5]


def test_write_in_custom_jvp_is_an_error() -> None:
    """The rule would repeat the write. The counter of `Tensor.rand` may change."""
    state = Tensor([1.0, 2.0]).realize()

    @custom_jvp
    def f(x: Tensor) -> Tensor:
        state.assign(state + x)
        return x

    with pytest.raises(errors.WriteError) as info:
        f(Tensor([1.0, 1.0]))
    assert message_of(info.value) == textwrap.dedent("""\
        assign: a function with a custom rule writes into a tensor from outside
          tensor: f32[2]
          try:    return the value, and write it outside""")
    assert state.tolist() == [1, 2]
    g = custom_jvp(lambda x: x * Tensor.rand(2))
    g.defjvp(lambda x, dx: (g(*x), dx[0]))
    assert grad(lambda x: g(x).sum())(Tensor([1.0, 1.0])).tolist() == [1, 1]


def test_invalid_index_raises_index_error() -> None:
    with pytest.raises(IndexError, match="5 is out of bounds for an axis of 4 entries"):
        vmap(lambda x: x.__setitem__(5, 1.0))(Tensor(ROWS))


@pytest.mark.parametrize("fix", ["clone", "realize", "contiguous().realize"])
def test_fixes_for_view_of_computed_value(fix: str) -> None:
    def body(x: Any, v: Any) -> Any:
        y = {"clone": Tensor.clone, "realize": Tensor.realize}.get(fix, lambda t: t.contiguous().realize())(x * 2)
        w = y[1:3]
        y[0:2].assign(v)
        return y, w

    want = 2 * ROWS
    want[:, 0:2] = PAIRS
    close(vmap(body)(Tensor(ROWS), Tensor(PAIRS)), [want, want[:, 1:3]])


def test_stale_view_after_realize_is_an_error() -> None:
    def body(x: Any) -> Any:
        y = x * 2
        v = y[0:2]
        y.realize()
        y[0:1].assign(Tensor([7.0]))
        return v

    with pytest.raises(errors.WriteError, match="does not see the write into its view"):
        vmap(body)(Tensor(ROWS))


# ---- mutable ----

NAMES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "not named": (
        lambda: functional_call(Attention(), {"cache": Tensor.zeros(2, 4, 2)}, Tensor.ones(1, 2), 0, mutable="w"),
        errors.WriteError,
        """
        functional_call: the call writes into `cache`, which `mutable` does not name
          state:   f32[2, 4, 2]
          written: f32[2, 4, 2]
          try:     mutable=['w', 'cache']; or leave it out of the state to discard the write
        """,
    ),
    "no names": (
        lambda: functional_call(Attention(), {}, Tensor.ones(1, 2), 0, mutable=3),
        errors.StateTypeError,
        """
        functional_call: mutable=3 is not a pattern of names
          try: mutable=True, "*.cache", or a list of names
        """,
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_errors_for_mutable(name: str) -> None:
    mistake, cls, text = NAMES[name]
    with pytest.raises(cls) as info:
        mistake()
    assert message_of(info.value) == textwrap.dedent(text).strip()


# ---- realize ----


def test_realize_is_the_identity() -> None:
    rows, pairs = Tensor(ROWS), Tensor(PAIRS)
    kept: list[bool] = []

    def body(x: Any, v: Any) -> Any:
        y = x * 2
        kept.append(y.realize(v, rows) is y and rows.uop.is_realized)
        return y.realize() + v.sum().realize()

    close([vmap(body)(rows, pairs)], [2 * ROWS + PAIRS.sum(1, keepdims=True)])
    assert kept == [True]
    slope = grad(lambda x: (x * x).realize().sum())
    close([vmap(slope)(rows), slope(rows[0])], [2 * ROWS, 2 * ROWS[0]])
    assert scan(lambda c, x: ((c + x).realize(), x.realize()), Tensor(0.0), rows[0])[0].item() == ROWS[0].sum()


def test_realize_materializes() -> None:
    plain = vmap(lambda x: (x * 2) + 1)(Tensor(ROWS).realize())
    hinted = vmap(lambda x: (x * 2).realize() + 1)(Tensor(ROWS).realize())
    assert len(plain.schedule_linear().src) == 1 and len(hinted.schedule_linear().src) == 2


def test_tinyjit_in_vmap_calls_its_function() -> None:
    f = TinyJit(lambda x: (x * 2).realize())
    rows = Tensor(ROWS)
    for _ in range(3):
        close([vmap(f)(rows)], [2 * ROWS])
    for _ in range(3):
        np.testing.assert_array_equal(f(Tensor(ROWS[0]).realize()).numpy(), 2 * ROWS[0])


STEPS = (slice(None, None, 2), slice(1, None, 2), slice(None, None, 3), slice(None, None, -2), slice(None, None, -1))


@pytest.mark.enabled("cpu")
@pytest.mark.parametrize(("step", "adds"), pairs(STEPS, [False, True]), ids=str)
def test_write_with_step(step: slice, adds: bool) -> None:
    x, w = np.arange(6, dtype=np.float32), np.arange(6, 12, dtype=np.float32)
    v = np.arange(len(x[step]), dtype=np.float32) * 10 + 1

    def written(x: Any, v: Any) -> Any:
        if adds:
            x[step] += v
        else:
            x[step] = v
        return x

    right, kept = written(x.copy(), v), np.full(6, float(adds), dtype=np.float32)
    kept[[i for i in range(6) if i not in range(6)[step]]] = 1
    new, rows = lambda a=x: Tensor(a).realize(), Tensor(np.stack([x, x])).realize()
    value = Tensor(v).realize()
    np.testing.assert_array_equal(written(new(), value).numpy(), right)
    np.testing.assert_array_equal(vmap(lambda x: written(x, value))(rows).numpy(), [right] * 2)
    np.testing.assert_array_equal(vmap(lambda x: written(new(), value) + 0 * x)(rows).numpy(), [right] * 2)
    np.testing.assert_array_equal(grad(lambda x: (written(x * 1, value) * Tensor(w)).sum())(new()).numpy(), w * kept)
    np.testing.assert_array_equal(grad(lambda v: (written(new(), v) * Tensor(w)).sum())(value).numpy(), w[step])
    carry, _ = scan(lambda c, v: (written(c, v), c.sum()), new(), value.reshape(1, -1))
    np.testing.assert_array_equal(carry.numpy(), right)
    jitted, captured = jit(lambda x: written(x + 0, value)), TinyJit(lambda x: written(x, value).realize())
    for _ in range(3):
        np.testing.assert_array_equal(jitted(new()).numpy(), right)
        captured(target := new())
        np.testing.assert_array_equal(target.numpy(), right)


def test_cost_of_write_is_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    storage, asked = aliasing.storage, list[int]()
    monkeypatch.setattr(aliasing, "storage", lambda u: asked.append(1) or storage(u))
    x, one = Tensor([0.0]).realize(), Tensor([1.0]).realize()
    counts = []
    for n in (1, 50, 50):
        asked.clear()
        for _ in range(n):
            x += one
        counts.append(len(asked))
    assert counts[1] == counts[2]
    assert x.item() == 101


class Reads:
    """A module that reads the cache that it wrote."""

    def __init__(self) -> None:
        self.cache, self.seen = Tensor.zeros(4), list[Any]()

    def __call__(self, x: Any, seen: list[Any]) -> Any:
        self.cache[1:3].assign(x)
        seen += [self.cache[0:3].tolist(), self.cache.realize().reshape(2, 2).T[1].tolist(), self.cache.sum().item()]
        self.cache += 1
        return self.cache


def test_module_reads_its_own_writes() -> None:
    seen: list[Any] = []
    out, state = functional_call(Reads(), {"cache": Tensor(ROWS[0])}, Tensor(PAIRS[0]), seen, mutable=True)
    assert seen == [[1.0, 10.0, 11.0], [10.0, 4.0], 26.0]
    assert out.tolist() == state["cache"].tolist() == [2.0, 11.0, 12.0, 5.0]


if __name__ == "__main__":  # python -m tests.core.test_writes 2000
    for number in range(int(sys.argv[1])):
        test_random_programs_match_loop(number)
    print(f"{sys.argv[1]} programs equal the loop")


DEEP_COPIES: dict[str, Callable[[Tensor], Tensor]] = {
    "grad": grad(lambda x: (copy.deepcopy({"x": [x * 2]})["x"][0] * x).sum()),
    "jvp": lambda x: jvp(lambda x: copy.deepcopy(x) ** 2, (x,), (x * 0 + 2,))[1],
    "vmap of grad": vmap(grad(lambda x: copy.deepcopy(x) * x * 2)),
    "grad of vmap": grad(lambda x: vmap(lambda x: copy.deepcopy(x) * x * 2)(x).sum()),
    "jit of grad": jit(grad(lambda x: (copy.deepcopy(x * 2) * x).sum())),
    "grad of scan": grad(lambda x: 2 * scan(lambda c, _: (copy.deepcopy(c) * x, None), x, None, length=1)[0].sum()),
    "remat": grad(checkpoint(lambda x: (copy.deepcopy(x) * x * 2).sum())),
}


@pytest.mark.parametrize("name", DEEP_COPIES)
def test_deep_copy_has_a_derivative(name: str) -> None:
    assert DEEP_COPIES[name](Tensor([1.0, 3.0]).realize()).tolist() == [4.0, 12.0]


@pytest.mark.compiled
def test_deep_copy_has_its_own_storage() -> None:
    def written(x: Any) -> Any:
        y = copy.deepcopy(x)
        y += 1
        return x, y

    x = Tensor([1.0, 2.0]).realize()
    for f in (written, vmap(written), jit(written)):
        assert [y.tolist() for y in f(x)] == [[1.0, 2.0], [2.0, 3.0]]
    y, column = copy.deepcopy(x), copy.deepcopy(x[1:])
    x += 5
    assert (x.tolist(), y.tolist(), column.tolist()) == ([6.0, 7.0], [1.0, 2.0], [2.0])
    first, second = copy.deepcopy([x, x])
    assert first is second and first is not x
    f = jit(lambda v: v * copy.deepcopy(x))
    for wanted in ([6.0, 7.0], [12.0, 14.0]):
        assert f(Tensor([1.0, 1.0])).tolist() == wanted
        x.assign(2 * x).realize()
    for constant in (Tensor(3), Tensor.zeros(0, 2), Tensor([1, 2], dtype=dtypes.int8)):
        same = copy.deepcopy(constant)
        assert (same.dtype, same.device, same.tolist()) == (constant.dtype, constant.device, constant.tolist())
