"""Test laws of derivatives, control flow and collectives, on generated programs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from tinygrad import Context, Tensor, dtypes

from branded import (
    all_gather,
    cond,
    fori_loop,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    pmax,
    pmean,
    pmin,
    ppermute,
    psum,
    scan,
    switch,
    vjp,
    vmap,
    while_loop,
)
from branded import map as map_
from tests.support import laws
from tests.support.by_numpy import read, reads
from tests.support.programs import Nest, Program, nests, programs


@pytest.fixture(autouse=True, scope="module")
def interpreted() -> Iterator[None]:
    with Context(DEV="PYTHON", NOOPT=1):
        yield


law = functools.partial(laws.law, shrink=False)  # to make a failure smaller takes minutes


def values(program: Program, random: np.random.Generator, lead: tuple[int, ...] = (), f: Any = np.float32) -> list[Any]:
    """Return random inputs away from discontinuities: of floor, of comparisons and of ties."""
    out = []
    for v in program.inputs:
        x = random.normal(size=(*lead, *v.shape))
        kinds = {"f": lambda x: x.astype(f), "i": lambda x: (np.abs(x) * 2).astype(np.int32) % 4, "b": lambda x: x > 0}
        out.append(Tensor(np.asarray(kinds[v.kind](np.asarray(x)))))
    return out


def floats(program: Program) -> tuple[int, ...]:
    return tuple(i for i, v in enumerate(program.inputs) if v.kind == "f")


def smooth(program: Program) -> Callable[..., Tensor]:
    """Return the program as a smooth function to a scalar."""
    return lambda *xs: (program(*xs)[0].float() * 0.25).sin().sum()


def of_arguments(f: Callable[..., Any], xs: Sequence[Tensor], at: Sequence[int]) -> Callable[..., Any]:
    """Return `f` as a function of the arguments at these positions."""

    def g(*ys: Tensor) -> Any:
        full = list(xs)
        for i, y in zip(at, ys, strict=True):
            full[i] = y
        return f(*full)

    return g


def close(a: Any, b: Any, tolerance: float = 2e-4) -> None:
    got, wanted = ([x] if not isinstance(x, tuple | list) else x for x in (a, b))
    for x, y in zip(got, wanted, strict=True):
        x, y = (read(v) if isinstance(v, Tensor) else np.asarray(v) for v in (x, y))
        assert x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


random_seeds = st.integers(0, 2**16)


# ---- derivatives ----


@law(20, nests(max_depth=2, max_steps=4))
def test_vmap_of_grad_equals_loop(nest: Nest) -> None:
    """Test vmap(grad(f))(xs) = stack([grad(f)(x) for x in xs]), also for shared arguments."""
    if not (at := floats(nest.program)):
        return
    g = grad(smooth(nest.program), argnums=at)
    data = nest.data()
    outs = nest.over(g)(*map(Tensor, nest.arguments(data)))
    examples = nest.one_by_one(g, data)
    for j, got in enumerate(outs):
        wanted = np.stack([read(e[j]) for e in examples])
        close(got, wanted.reshape(got.shape), 1e-3)


@law(25, programs(5), random_seeds)
def test_jvp_and_vjp_are_transposes(program: Program, n: int) -> None:
    """Test <ct, J v> = <Jᵀ ct, v>."""
    if not (at := floats(program)):
        return
    random = np.random.default_rng(n)
    xs = values(program, random)
    f = of_arguments(lambda *ys: program(*ys)[0].float(), xs, at)
    primals = tuple(xs[i] for i in at)
    vs = tuple(Tensor(random.normal(size=x.shape).astype(np.float32)) for x in primals)
    y, dy = jvp(f, primals, vs)
    _, pullback = vjp(f, *primals)
    ct = Tensor(random.normal(size=y.shape).astype(np.float32))
    forward = (ct * dy).sum().item()
    backward = sum(read((g * v).sum()).item() for g, v in zip(pullback(ct), vs, strict=True))
    assert np.isclose(forward, backward, rtol=1e-3, atol=1e-3)


@law(15, programs(5), random_seeds)
def test_jacobians_agree(program: Program, n: int) -> None:
    """Test jacfwd(f) = jacrev(f), and that the Hessian is equal in any order of the modes."""
    if not (at := floats(program)):
        return
    xs = values(program, np.random.default_rng(n))
    f = of_arguments(lambda *ys: program(*ys)[0].float(), xs, at[:1])
    close(jacfwd(f)(xs[at[0]]), jacrev(f)(xs[at[0]]), 1e-3)
    if xs[at[0]].numel() <= 4:
        g = of_arguments(smooth(program), xs, at[:1])
        close(hessian(g)(xs[at[0]]), jacrev(jacfwd(g))(xs[at[0]]), 2e-3)


@law(25, programs(5), random_seeds)
def test_derivatives_match_differences(program: Program, n: int) -> None:
    """Test the derivative along v against (f(x + h v) - f(x - h v)) / 2h, in float64."""
    if not (at := floats(program)):
        return
    random = np.random.default_rng(n)
    xs = [x.cast(dtypes.float64) if i in at else x for i, x in enumerate(values(program, random, f=np.float64))]
    f = of_arguments(lambda *ys: program(*ys)[0].cast(dtypes.float64).sin().sum(), xs, at)
    primals = tuple(xs[i] for i in at)
    vs = tuple(Tensor(random.normal(size=x.shape)) for x in primals)
    h = 1e-4
    up, down = (read(f(*(x + s * h * v for x, v in zip(primals, vs, strict=True)))).item() for s in (1, -1))
    slope, twice = read(jvp(f, primals, vs)[1]).item(), abs(up) + abs(down)
    assert np.isclose((up - down) / (2 * h), slope, rtol=2e-3, atol=2e-3 * max(1, twice)), (up, down, slope)


# ---- loops ----


def step_of(program: Program) -> Callable[..., Any]:
    """Return the step of a loop that calls the program; the carry is its first float input."""
    at = floats(program)[0]

    def step(c: Tensor, xs: list[Tensor]) -> tuple[Tensor, Tensor]:
        full = [*xs[:at], c, *xs[at:]]
        y = program(*full)[0].float()
        return (c * 0.5 + (y * 0.25).sin().mean()).tanh(), y

    return step


def python_loop(step: Callable[..., Any], c: Tensor, xs: list[Tensor], order: Sequence[int]) -> tuple[Tensor, Tensor]:
    ys: dict[int, Tensor] = {}
    for i in order:
        c, ys[i] = step(c, [x[i] for x in xs])
    return c, Tensor.stack(*(ys[i] for i in sorted(ys)))


@st.composite
def loops(draw: Any) -> Any:
    program = draw(programs(5).filter(lambda p: bool(floats(p))))
    return program, draw(st.integers(1, 3)), draw(st.booleans()), draw(random_seeds)


@law(8, loops(), kernels=8)
def test_scan_equals_loop(case: Any) -> None:
    """Test that scan(f, c, xs) equals the Python loop: its value, and both modes of derivatives."""
    program, length, down, n = case
    random = np.random.default_rng(n)
    step, at = step_of(program), floats(program)[0]
    whole = values(program, random, (length,))
    c, xs = whole[at][0], [x for i, x in enumerate(whole) if i != at]
    order = range(length)[::-1] if down else range(length)
    looped = lambda c: scan(step, c, xs, length=length, reverse=down)  # noqa: E731
    unrolled = lambda c: python_loop(step, c, xs, order)  # noqa: E731
    close(looped(c), unrolled(c))
    total = lambda f: lambda c: (lambda r: r[0].sum() + (r[1] * 0.25).sin().sum())(f(c))  # noqa: E731
    close(grad(total(looped))(c), grad(total(unrolled))(c), 1e-3)
    v = Tensor(random.normal(size=c.shape).astype(np.float32))
    close(jvp(total(looped), (c,), (v,))[1], jvp(total(unrolled), (c,), (v,))[1], 1e-3)


@law(6, loops(), st.lists(st.booleans(), min_size=3, max_size=3))
def test_vmap_of_scan_equals_loop(case: Any, mapped: list[bool]) -> None:
    """Test vmap(scan(f))(xs) = stack([scan(f)(x) for x in xs]) and its grad, for any mapped arguments."""
    program, length, down, n = case
    random = np.random.default_rng(n)
    step, at = step_of(program), floats(program)[0]
    size = 2
    flags = [mapped[i % 3] or i == at for i in range(len(program.inputs))]
    whole = [values(program, random, (size, length) if m else (length,))[i] for i, m in enumerate(flags)]

    def f(*xs: Tensor) -> Tensor:
        c, ys = scan(step, xs[at][0], [x for i, x in enumerate(xs) if i != at], length=length, reverse=down)
        return c.sum() + (ys * 0.25).sin().sum()

    axes = tuple(0 if m else None for m in flags)
    examples = [[x[k] if m else x for x, m in zip(whole, flags, strict=True)] for k in range(size)]
    close(vmap(f, axes)(*whole), Tensor.stack(*(f(*e) for e in examples)), 1e-3)
    close(vmap(grad(f, at), axes)(*whole), Tensor.stack(*(grad(f, at)(*e) for e in examples)), 1e-3)
    shared = grad(lambda x: vmap(f, axes)(*whole[:at], x, *whole[at + 1 :]).sum())(whole[at])
    close(shared, vmap(grad(f, at), axes)(*whole), 1e-3)


@law(8, loops())
def test_scan_of_vmap_equals_vmap_of_scan(case: Any) -> None:
    """Test that scan(vmap(f)) equals vmap(scan(f)) with the two axes exchanged."""
    program, length, down, n = case
    random = np.random.default_rng(n)
    step, at = step_of(program), floats(program)[0]
    whole = values(program, random, (length, 2))
    c, xs = whole[at][0], [x for i, x in enumerate(whole) if i != at]
    inside = scan(vmap(step), c, xs, length=length, reverse=down)
    outside = vmap(lambda c, xs: scan(step, c, xs, length=length, reverse=down), in_axes=(0, 1), out_axes=(0, 1))(c, xs)
    close(inside, outside)


@law(30, st.lists(st.integers(0, 5), min_size=1, max_size=4), st.integers(-2, 2), st.booleans(), kernels=30)
def test_while_loop_ends_per_example(limits: list[int], start: int, nested: bool) -> None:
    """An example that has finished keeps its state, also after zero steps and in nested loops."""

    def f(limit: Any, x: Any, loop: Any) -> Any:
        inner = lambda i, x: loop(lambda s: s[0] < i, lambda s: (s[0] + 1, s[1] * 1.5 - 1), (i * 0, x))[1]  # noqa: E731
        body = (lambda s: (s[0] + 1, inner(s[0], s[1]))) if nested else (lambda s: (s[0] + 1, s[1] * 2 + s[0]))
        return loop(lambda s: s[0] < limit, body, (limit * 0 + start, x))

    def python(go: Any, body: Any, s: Any) -> Any:
        while go(s):
            s = body(s)
        return s

    xs = np.arange(len(limits), dtype=np.float32)
    i, x = vmap(lambda n, x: f(n, x, while_loop))(Tensor(np.array(limits, np.int32)), Tensor(xs))
    wanted = [f(n, v, python) for n, v in zip(limits, xs.tolist(), strict=True)]
    assert read(i).tolist() == [w[0] for w in wanted]
    np.testing.assert_allclose(x.numpy(), [w[1] for w in wanted], rtol=1e-5)
    # a fori_loop with a batched bound is the same loop
    if start >= 0:
        turns = vmap(lambda n, x: fori_loop(start, n, lambda i, x: x * 2 + i, x))
        out = turns(Tensor(np.array(limits, np.int32)), Tensor(xs))
        nest = [f(n, v, python)[1] for n, v in zip(limits, xs.tolist(), strict=True)] if not nested else None
        assert nest is None or np.allclose(read(out), nest, rtol=1e-5)


@law(15, programs(5), random_seeds, st.sampled_from([None, 1, 2]))
def test_map_is_vmap(program: Program, n: int, batch: int | None) -> None:
    """Test map(f, xs) = vmap(f)(xs)."""
    xs = values(program, np.random.default_rng(n), (3,))
    close(map_(lambda xs: program(*xs), xs, batch_size=batch), vmap(program)(*xs))


# ---- branches ----


@law(12, programs(4), programs(4), random_seeds, st.booleans())
def test_branches_equal_loop(a: Program, b: Program, n: int, closed: bool) -> None:
    """Test that vmap(cond(p, f, g)) selects the value and derivatives of the branch of each example."""
    random = np.random.default_rng(n)
    if not (at := floats(a)):
        return
    both, other = values(a, random, (3,)), values(b, random, (3,))
    flags = Tensor(random.normal(size=3) > 0)

    def f(p: Any, x: Tensor, xs: list[Tensor], ys: list[Tensor], choose: Any) -> Tensor:
        left = lambda x, xs, ys: smooth(a)(*xs[: at[0]], x, *xs[at[0] + 1 :])  # noqa: E731
        right = lambda x, xs, ys: x.sum() + smooth(b)(*ys)  # noqa: E731
        if closed:
            return choose(p, lambda: left(x, xs, ys), lambda: right(x, xs, ys))
        return choose(p, left, right, x, xs, ys)

    x = both[at[0]]
    one = lambda p, x, xs, ys: f(p, x, xs, ys, cond)  # noqa: E731
    for transform in (lambda g: g, lambda g: grad(g, 1)):
        got = vmap(transform(one))(flags, x, both, other)
        examples = [
            transform(lambda p, x, xs, ys: f(p, x, xs, ys, _python_if))(
                flags[k], x[k], [v[k] for v in both], [v[k] for v in other]
            )
            for k in range(3)
        ]
        close(got, Tensor.stack(*examples), 1e-3)


def _python_if(p: Tensor, left: Any, right: Any, *operands: Any) -> Any:
    return left(*operands) if p.item() else right(*operands)


TROUBLE: list[Callable[[Tensor], Tensor]] = [
    lambda x: x.sqrt(),
    lambda x: x.log(),
    lambda x: 1 / x,
    lambda x: x.pow(-1.5),
    lambda x: (x - 1).log() * x,
]


@law(30, st.sampled_from(TROUBLE), st.integers(1, 2), st.booleans(), st.booleans(), kernels=30)
def test_other_branch_adds_no_nan(f: Any, order: int, closed: bool, by_switch: bool) -> None:
    """The other branch adds no NaN or infinity, in either mode and any order of derivatives."""

    def g(x: Any) -> Any:
        if by_switch:
            return switch((x > 2).cast(dtypes.int32), [lambda x: x * x * x, f], x)
        if closed:
            return cond(x > 2, lambda: f(x), lambda: x * x * x)
        return cond(x > 2, f, lambda x: x * x * x, x)

    xs = [3.0, -1.0, 0.0, 1.0]
    both, wanted = list[Tensor](), list[list[Any]]()
    for mode in (grad, lambda h: lambda x: jvp(h, (x,), (1.0,))[1]):
        h, exact, cubic = g, f, lambda x: x * x * x
        for _ in range(order):
            h, exact, cubic = mode(h), mode(exact), mode(cubic)
        both.append(vmap(h)(Tensor(xs)))
        wanted.append(reads([exact(Tensor(xs[0])), *(cubic(Tensor(x)) for x in xs[1:])]))
    Tensor.realize(*both)
    np.testing.assert_allclose([y.numpy() for y in both], wanted, rtol=1e-3, atol=1e-4)


# ---- collectives ----


@law(20, programs(4), random_seeds, st.booleans())
def test_collectives_equal_reductions(program: Program, n: int, nested: bool) -> None:
    """Test that each collective equals a reduction over the whole batch."""
    xs = values(program, np.random.default_rng(n), (3,))
    whole = vmap(lambda *xs: program(*xs)[0].float())(*xs)

    def f(*xs: Tensor) -> tuple[Tensor, ...]:
        y = program(*xs)[0].float()
        return psum(y, "i"), pmean(y, "i"), pmax(y, "i"), pmin(y, "i"), all_gather(y, "i")

    mapped = vmap(f, axis_name="i", out_axes=None)
    outs = mapped(*xs)
    if nested:
        outs = tuple(y[0] for y in vmap(lambda *xs: mapped(*xs))(*(x.unsqueeze(0) for x in xs)))
    close(outs, (whole.sum(0), whole.mean(0), whole.max(0), whole.min(0), whole))
    around = vmap(lambda *xs: ppermute(program(*xs)[0].float(), "i", [(0, 1), (1, 2), (2, 0)]), axis_name="i")(*xs)
    close(around, Tensor.stack(whole[2], whole[0], whole[1]))


@law(20, programs(4), random_seeds, st.booleans())
def test_grad_of_collectives_sums_losses(program: Program, n: int, shared: bool) -> None:
    """With collectives, grad of an example includes the losses of all examples: it is the transpose of jvp."""
    if not (at := floats(program)):
        return
    random = np.random.default_rng(n)
    xs = values(program, random, (3,))

    def f(x: Tensor, *rest: Tensor) -> Tensor:
        y = smooth(program)(*rest[: at[0]], x, *rest[at[0] :])
        return y * psum(y * x.sum(), "i") + ppermute(y, "i", [(0, 2)])

    rest = [v for i, v in enumerate(xs) if i != at[0]]
    shared = shared and bool(rest)
    x = xs[at[0]][0] if shared else xs[at[0]]
    copies = x.unsqueeze(0).expand(3, *x.shape) if shared else x
    axes = (None if shared else 0, *(0 for _ in rest))
    inside = vmap(grad(f), axes, axis_name="i")(x, *rest)
    outside = grad(lambda x: vmap(f, axis_name="i")(x, *rest).sum())(copies)
    close(inside, outside, 1e-3)
