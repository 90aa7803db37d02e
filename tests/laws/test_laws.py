"""Test laws of vmap on generated programs: numpy evaluates most graphs, and tinygrad's PYTHON device a few."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from tinygrad import Context, Tensor

from branded import brand, brands, vmap
from tests.support import profiles
from tests.support.by_numpy import read
from tests.support.laws import law
from tests.support.programs import Nest, agree, nests, programs

PARTS = 8
EXAMPLES = 200  # for each part: 1,600 programs in total
KERNELS = 100


@pytest.fixture(autouse=True, scope="module")
def interpreted() -> Iterator[None]:
    with Context(DEV="PYTHON", NOOPT=1):
        yield


@pytest.mark.parametrize("part", [*range(PARTS), pytest.param(PARTS, marks=pytest.mark.compiled, id="kernels")])
def test_vmap_equals_loop(part: int) -> None:
    """Test vmap(f)(xs) = stack([f(x) for x in xs]), under any nest of vmaps, along any axes."""
    profiles.check(lambda nest: agree(nest), nests(), examples=EXAMPLES if part < PARTS else KERNELS, part=part)


@law(60, nests(max_depth=2, max_steps=4), st.integers(1, 3))
def test_chunks(nest: Nest, chunk: int) -> None:
    """Chunks of any size return the result of the whole batch."""
    agree(nest, chunk_size=chunk)


@law(60, nests(max_depth=2, max_steps=4), st.randoms(use_true_random=False))
def test_permuted_batch(nest: Nest, random: Any) -> None:
    """Test vmap(f)(xs[p]) = vmap(f)(xs)[p]."""
    level = nest.levels[0]
    p = list(range(level.size))
    random.shuffle(p)
    args = nest.arguments(nest.data())
    shuffled = [
        x if a is None else np.ascontiguousarray(np.take(x, p, a)) for x, a in zip(args, level.in_axes, strict=True)
    ]
    f = nest.mapped()
    for y, z, axis in zip(f(*map(Tensor, args)), f(*map(Tensor, shuffled)), level.out_axes, strict=True):
        np.testing.assert_array_equal(np.take(read(y), p, axis), read(z))


@st.composite
def with_batch(draw: Any, n: int) -> tuple[Any, list[Any]]:
    """Draw a program, and n batches of each of its inputs."""
    program = draw(programs(4))
    sizes = [draw(st.integers(1, 3)) for _ in range(n)]
    rng = np.random.default_rng(draw(st.integers(0, 999)))

    def batch(v: Any, size: int) -> Tensor:
        x = rng.integers(0, 4, (size, *v.shape))
        return Tensor({"f": (x / 4).astype(np.float32), "i": x.astype(np.int32), "b": x > 1}[v.kind])

    return program, [[batch(v, size) for v in program.inputs] for size in sizes]


@law(40, with_batch(1))
def test_zip_of_a_value_with_itself(case: Any) -> None:
    """Test vmap((x, y) -> f(x, y))(xs, xs) = vmap(x -> f(x, x))(xs)."""
    program, [xs] = case
    both = vmap(lambda *xys: program(*xys[: len(xs)])[0] == program(*xys[len(xs) :])[0])(*xs, *xs)
    assert read(both).all()


@law(40, with_batch(2))
def test_exchanged_vmaps_are_transposed(case: Any) -> None:
    """Test vmap(x -> vmap(y -> f(x, y))(ys))(xs) = transpose of vmap(y -> vmap(x -> f(x, y))(xs))(ys)."""
    program, [xs, ys] = case

    def f(*xys: Tensor) -> Tensor:
        return program(*xys[: len(xs)])[0].cast("float") * 2 - program(*xys[len(xs) :])[0].cast("float")

    by_rows = vmap(lambda *x: vmap(lambda *y: f(*x, *y))(*ys))(*xs)
    by_columns = vmap(lambda *y: vmap(lambda *x: f(*x, *y))(*xs))(*ys)
    np.testing.assert_array_equal(read(by_rows), read(by_columns.transpose(0, 1)))


@law(40, with_batch(2), st.booleans(), st.booleans())
def test_order_of_brands(case: Any, a_first: bool, leave_a_first: bool) -> None:
    """Brands may be opened and closed in any order: the result equals nested vmaps."""
    program, [xs, ys] = case
    f = lambda xs, ys: program(*xs)[0].cast("float") + program(*ys)[0].cast("float") * 3  # noqa: E731
    wanted = read(vmap(lambda *x: vmap(lambda *y: f(x, y))(*ys))(*xs))
    order = [("a", xs), ("b", ys)] if a_first else [("b", ys), ("a", xs)]
    with brand(order[0][0], order[0][1][0].shape[0]) as p, brand(order[1][0], order[1][1][0].shape[0]) as q:
        a, b = (p, q) if a_first else (q, p)
        z = f([a.vec(x) for x in xs], [b.vec(y) for y in ys])
        assert brands(z) == (p, q)
        got = b.unvec(a.unvec(z, axis=0), axis=1) if leave_a_first else a.unvec(b.unvec(z, axis=0), axis=0)
    np.testing.assert_array_equal(read(got), wanted)


@law(30, nests(max_depth=2, max_steps=4))
def test_gradients_equal_loop(nest: Nest) -> None:
    """Test vmap(grad(f))(xs) = stack([grad(f)(x) for x in xs]), for the float inputs of f."""
    program = nest.program
    wrt = [i for i, v in enumerate(program.inputs) if v.kind == "f"]
    if not wrt:
        return

    def gradients(*xs: Tensor) -> tuple[Tensor, ...]:
        y = program(*xs)[0].cast("float").square().sum()
        return tuple(y.gradient(*(xs[i] for i in wrt)))

    data = nest.data()
    outs = nest.over(gradients)(*map(Tensor, nest.arguments(data)))
    examples = nest.one_by_one(gradients, data)
    for j, got in enumerate(outs):
        wanted = np.stack([read(e[j]) for e in examples])
        np.testing.assert_allclose(read(got), wanted.reshape(got.shape), rtol=1e-3, atol=1e-3)
