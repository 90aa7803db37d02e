"""`vmap` over several devices gives the same results as on one device."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest
from tinygrad import Context, Tensor
from tinygrad.uop.ops import Ops

import branded
from branded import (
    Brand,
    BrandedError,
    all_gather,
    all_to_all,
    axis_index,
    brand,
    checkpoint,
    cond,
    custom_vmap,
    debug,
    fori_loop,
    grad,
    hessian,
    io_callback,
    jacfwd,
    jit,
    jvp,
    linalg,
    make_expr,
    pmax,
    pmean,
    ppermute,
    psum,
    psum_scatter,
    pure_callback,
    random,
    scan,
    sequential_vmap,
    shard,
    switch,
    tree,
    vmap,
    while_loop,
)
from branded.core.batching.index import _diagonal
from branded.explain import explain
from branded.graph.uops import tensor
from tests.support import realized
from tests.support.examples import normals
from tests.support.profiles import amount, pairs

pytestmark = pytest.mark.enabled("cpu")

TWO, FOUR = ("CPU:0", "CPU:1"), ("CPU:0", "CPU:1", "CPU:2", "CPU:3")
LAYOUTS = {"two": TWO, "four": FOUR, "others": ("CPU:1", "CPU:2"), "one": ("CPU:1",)}


X, M, W = normals(8, 3), normals(8, 3, 3, seed=2), normals(3, 3, seed=1)
SQUARE = normals(8, 8, seed=3)
I = Tensor((np.arange(8) % 3).astype("int32")).realize()  # noqa: E741
RING = [(i, (i + 1) % 8) for i in range(8)]
HALF, FAR = [(i, i + 1) for i in range(7)], [(i, (i + 4) % 8) for i in range(8)]


def _step(c: Tensor, w: Tensor) -> Tensor:
    return (c @ w).sin()


def _steps(x: Tensor, w: Tensor, n: int = 3) -> Any:
    return scan(lambda c, _: (_step(c, w), c.sum()), x, None, length=n)


def _written(x: Tensor, i: Tensor) -> Tensor:
    x = x.clone()
    x[i] = 7.0
    return x


def _with_seed(run: Callable[[], Any]) -> Any:
    Tensor.manual_seed(3)
    return run()


def _thrice(f: Any, x: Tensor) -> Any:
    return [f(x) for _ in range(3)][-1]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "a product with a shared matrix": lambda v: v(lambda x: (x @ W).sin().sum())(X),
    "a constant": lambda v: v(lambda x: x * 2 + Tensor.arange(3))(X),
    "an entry of a shared value": lambda v: v(lambda x, i: W[i] + x)(X, I),
    "an entry of a mapped value": lambda v: v(lambda x, i: x[i])(X, I),
    "a write": lambda v: v(_written)(X, I),
    "softmax, cat, pad": lambda v: v(lambda m: (m @ m.T).softmax().cat(W).pad(((1, 0), None)))(M),
    "a convolution": lambda v: v(lambda m: m.reshape(1, 1, 3, 3).conv2d(W.reshape(1, 1, 3, 3), padding=1))(M),
    "sort, cumsum": lambda v: v(lambda x: x.sort()[0] + x.cumsum())(X),
    "axes and trees": lambda v: v(lambda d, w: {"a": d["x"] @ w, "b": d["m"]}, in_axes=({"x": 0, "m": 2}, None))(
        {"x": X[:3], "m": M.permute(1, 2, 0)[:, :, :3].contiguous()}, W
    ),
    "a result at another place": lambda v: v(lambda x: x * 2, out_axes=1)(X),
    "a shared result": lambda v: v(lambda x: (x, W * 2), out_axes=(0, None))(X),
    "a repeated result": lambda v: v(lambda x: W.sum())(X),
    "a gradient by the unmapped": lambda v: grad(lambda w: v(lambda x: (x @ w).sin().sum())(X).sum())(W),
    "a gradient by the mapped": lambda v: grad(lambda xs: v(lambda x: (x @ W).sin().sum())(xs).sum())(X),
    "gradients of examples": lambda v: v(grad(lambda x: (x @ W).sin().sum()))(X),
    "hessians of examples": lambda v: v(hessian(lambda x: (x @ W).sin().sum()))(X),
    "forward mode": lambda v: jvp(lambda w: v(lambda x: (x @ w).sin())(X), (W,), (W,))[1],
    "scan": lambda v: v(lambda x: _steps(x, W))(X),
    "scan over inputs": lambda v: v(lambda m: scan(lambda c, r: ((c + r).sin(), c), W[0], m))(M),
    "scan in a scan": lambda v: v(lambda x: scan(lambda c, _: (_steps(c, W, 2)[0], None), x, None, length=2)[0])(X),
    "gradients of scans": lambda v: v(grad(lambda x: _steps(x, W)[0].sum()))(X),
    "a gradient of scans by the unmapped": lambda v: grad(lambda w: v(lambda x: _steps(x, w)[0].sum())(X).sum())(W),
    "a gradient of scans by the mapped": lambda v: grad(lambda xs: v(lambda x: _steps(x, W)[0].sum())(xs).sum())(X),
    "while_loop": lambda v: v(lambda x: while_loop(lambda c: c.sum() < 10, lambda c: c * c + 1, x))(X),
    "fori_loop": lambda v: v(lambda x: fori_loop(0, 5, lambda i, c: c * 0.5 + i, x))(X),
    "map": lambda v: v(lambda m: branded.map(lambda r: r.sin() * m.sum(), m))(M),
    "cond": lambda v: v(lambda x: cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, x))(X),
    "switch": lambda v: v(lambda x, i: switch(i, [lambda x: x, lambda x: x * 2, lambda x: x.exp()], x))(X, I),
    "linear systems": lambda v: v(linalg.solve)(M, X),
    "one factorization": lambda v: v(lambda x: linalg.solve(W, x))(X),
    "gradients of inverses": lambda v: v(grad(lambda m: linalg.inv(m).sum()))(M),
    "a gradient of systems": lambda v: grad(lambda w: v(lambda x: linalg.solve(w, x).sum())(X).sum())(W),
    "a function of the host": lambda v: v(
        lambda x: pure_callback(lambda a: a * 2, branded.ShapeDtypeStruct((3,), X.dtype), x, vmap_method="sequential")
    )(X),
    "in a vmap": lambda v: vmap(lambda w: v(lambda x: (x * w).sin())(X))(W),
    "around a vmap": lambda v: v(lambda m: vmap(lambda r: r * m.sum())(m))(M),
    "both": lambda v: v(lambda x: v(lambda y: (x - y).square().sum())(X))(X),
    "a scan in a vmap": lambda v: vmap(lambda w: v(lambda x: _steps(x * w, W)[0])(X))(W),
    "jit": lambda v: _thrice(jit(lambda x: v(lambda x: (x @ W).sin())(x)), X),
    "jit of scans": lambda v: _thrice(jit(lambda x: v(lambda x: _steps(x, W))(x)), X),
    "psum, pmean, pmax": lambda v: v(lambda x: psum(x, "i") * pmean(x, "i") + pmax(x, "i") - x, axis_name="i")(X),
    "all_gather": lambda v: v(lambda x: all_gather(x, "i").cumsum(0)[2] + x, axis_name="i")(X),
    "ppermute": lambda v: v(lambda x: ppermute(x, "i", RING), axis_name="i")(X),
    "ppermute, not in a ring": lambda v: v(lambda x: ppermute(x, "i", [(0, 3), (5, 1), (6, 6)]), axis_name="i")(X),
    "ppermute of more brands": lambda v: vmap(
        lambda w: v(lambda x: vmap(lambda r: ppermute(x * r, "i", HALF))(W * w), axis_name="i")(X)
    )(W),
    "psum_scatter": lambda v: v(lambda x: psum_scatter(x, "i"), axis_name="i")(SQUARE),
    "all_to_all": lambda v: v(lambda x: all_to_all(x, "i", 0, 0), axis_name="i")(SQUARE),
    "exchanges over two brands": lambda v: v(
        lambda x: vmap(
            lambda y: psum_scatter(x.cat(x) + y, ("j", "i")) + ppermute(y, ("i", "j"), [(0, 5), (9, 1)]).sum(),
            axis_name="j",
        )(Tensor([1.0, 2.0])),
        axis_name="i",
    )(SQUARE),
    "repeated examples": lambda v: v(lambda x: x * 2)(W[:1].expand(8, 3)),
    "a gradient by a shared value, over pmean": lambda v: v(
        grad(lambda x: (pmean(W.sin(), "i") * x).sum() + pmean(x.sum(), "i")), axis_name="i"
    )(X),
    "a gradient by the unmapped, per example": lambda v: v(
        lambda x: grad(lambda w: (psum(w.sin(), "i") * x).sum())(W), axis_name="i"
    )(X),
    "axis_index": lambda v: v(lambda x: x + axis_index("i"), axis_name="i")(X),
    "psum in a scan": lambda v: v(
        lambda x: scan(lambda c, _: (c * 0.1 + psum(c, "i"), None), x, None, length=2)[0], axis_name="i"
    )(X),
    "a gradient through psum": lambda v: v(grad(lambda x: psum((x * x).sum(), "i")), axis_name="i")(X),
    "collectives in a scan": lambda v: v(
        lambda x: scan(
            lambda c, _: (all_gather(ppermute(c, "i", RING), "i").sum(0) * 0.1 + c, None), x, None, length=2
        )[0],
        axis_name="i",
    )(X),
    "a gradient through all_gather, by all": lambda v: grad(
        lambda xs: v(lambda x: all_gather(x.sin(), "i")[2] * x, axis_name="i")(xs).square().sum()
    )(X),
    "a gradient through all_gather, by each": lambda v: v(
        grad(lambda x: ((all_gather(x.sin(), "i") * W[0]).sum(0) * x).sum()), axis_name="i"
    )(X),
    "a gradient through ppermute, by each": lambda v: v(
        grad(lambda x: (ppermute(x.sin(), "i", HALF) * x).sum()), axis_name="i"
    )(X),
    "a gradient through ppermute, by all": lambda v: grad(
        lambda xs: v(lambda x: ppermute(x.sin(), "i", FAR) * ppermute(x, "i", HALF), axis_name="i")(xs).square().sum()
    )(X),
    "second derivatives through all_to_all, by all": lambda v: grad(
        lambda xs: (
            grad(lambda xs: v(lambda x: (all_to_all(x, "i", 0, 0) ** 3 + x).sum(), axis_name="i")(xs).sum())(xs)
            * SQUARE.sin()
        ).sum()
    )(SQUARE),
    "a jacobian of ppermute": lambda v: v(
        jacfwd(lambda x: ppermute(x.sin(), "i", [(0, 3), (5, 1)]) * x), axis_name="i"
    )(X),
    "a compiled step of an ensemble": lambda v: jit(
        vmap(lambda w: w - grad(lambda w: v(lambda x: (_step(x, w) - x).square().sum())(X).mean())(w))
    )(M),
    "a mean of losses": lambda v: grad(lambda w: v(lambda x: pmean((x @ w).sum(), "i"), axis_name="i")(X).sum())(W),
    "a step of an ensemble": lambda v: vmap(
        lambda w: w - grad(lambda w: v(lambda x: (_step(x, w) - x).square().sum())(X).mean())(w)
    )(M),
    "keys": lambda v: v(lambda k: random.normal(k, (3,)))(random.split(random.key(0), 8)),
    "draws for each example": lambda v: _with_seed(lambda: v(lambda x: x + Tensor.rand(3), randomness="different")(X)),
    "draws for all": lambda v: _with_seed(lambda: v(lambda x: x + Tensor.rand(3), randomness="same")(X)),
    "in chunks": lambda v: v(lambda x: (x @ W).sin(), chunk_size=4)(X),
    "examples left over": lambda v: v(lambda x: (x @ W).sin())(X[:7]),
    "scans left over": lambda v: v(lambda x: _steps(x, W)[0], out_axes=1)(X[:5]),
    "draws left over": lambda v: _with_seed(lambda: v(lambda x: x + Tensor.rand(3), randomness="different")(X[:7])),
    "one example": lambda v: v(lambda x: (x @ W).sin())(X[:1]),
    "constant values of a buffer": lambda v: v(lambda x: x + W[0] * 0 + W.pow(0)[1])(X),
    "a stack with an unmapped value": lambda v: v(lambda x: W[0, :1].cat(x[:1], Tensor.zeros(1)).stack(x.sin()))(X),
    "tangents of a scan": lambda v: v(lambda x: jvp(branded.cumlogsumexp, (x,), (W[0],))[1])(X),
    "no example": lambda v: v(lambda x: (x @ W).sin())(X[:0]),
}


NESTED: dict[str, Callable[[Any], Any]] = {
    "a loop over examples in a branch": lambda v: v(lambda x: cond(x.sum() > 0, _one_by_one, _step_of_one, x))(X[:4]),
    "the branch in a scan": lambda v: v(_scanned(_in_a_branch))(X[:4]),
    "gradient of the scan": lambda v: v(grad(lambda x: _scanned(_in_a_branch)(x).sum()))(X[:4]),
    "one example on each device": lambda v: v(lambda x: cond(x.sum() > 0, _one_by_one, _step_of_one, x))(X[:2]),
    "custom_vmap": lambda v: v(lambda x: cond(x.sum() > 0, TURNED, _step_of_one, x))(X[:4]),
    "a result and its view": lambda v: v(lambda x: (lambda y: y * y[:1])(_scanned(_step_of_one)(x)))(X[:4]),
    "two views of a result": lambda v: v(lambda m: linalg.cho_solve(linalg.cho_factor(m @ m.T + W.pow(0)), m))(M[:4]),
    "a loop after pmean": lambda v: v(
        _scanned(lambda c: cond(c.sum() > 0, lambda c: _one_by_one(c - pmean(c, "i")), _step_of_one, c)), axis_name="i"
    )(X[:4]),
}
"""Single-device calls nested in single-device calls, while the examples are on several devices or on another one."""

SPREAD = (M[:4] + 3 * Tensor.eye(3)).realize()
TURNED = custom_vmap(lambda x: x * 2)
TURNED.def_vmap(lambda n, batched, x: (x.flip(0) - x[0], True))
ONE_BY_ONE = sequential_vmap(lambda x: x * 2 + W[0])


def _one_by_one(x: Tensor) -> Tensor:
    return ONE_BY_ONE(x)


def _step_of_one(x: Tensor) -> Tensor:
    return x * 3


def _scanned(f: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: scan(lambda c, _: (f(c) * 0.5, None), x, None, length=3)[0]


def _in_a_branch(c: Tensor) -> Tensor:
    return cond(c.sum() > 0, _one_by_one, _step_of_one, c)


@pytest.mark.parametrize(("name", "layout"), pairs(NESTED, ["two", "one"]))
def test_single_device_calls_in_each_other(name: str, layout: str) -> None:
    _same(LAYOUTS[layout], NESTED[name])


INNER: dict[str, Callable[[Any], Any]] = {
    "a loop": lambda v: _scanned(lambda c: v(_scanned(lambda d: d + W[0]))(c))(X),
    "gradient of a loop": lambda v: grad(lambda w: _scanned(lambda c: v(_scanned(lambda d: d.sin() + w))(c))(X).sum())(
        W[0]
    ),
    "a system": lambda v: _scanned(lambda c: v(lambda d: linalg.solve(W, d))(c))(X),
    "a function of the host": lambda v: _scanned(
        lambda c: v(lambda d: pure_callback(lambda a: a * 2, d, d, vmap_method="sequential"))(c)
    )(X),
    "in a vmap": lambda v: vmap(lambda y: _scanned(lambda c: v(_scanned(lambda d: d * y + W[0]))(c))(X))(W),
    "in a vmap over two": lambda v: vmap(
        lambda y: _scanned(lambda c: v(_scanned(lambda d: d * y + W[0]))(c))(X), devices=TWO
    )(M[:2, 0]),
    "in another": lambda v: v(lambda y: v(lambda x: _scanned(lambda d: d * y + W[0])(x))(X))(W),
}
"""A vmap on another device inside a loop on one device."""


@pytest.mark.parametrize("name", INNER)
def test_vmap_on_other_device_in_loop(name: str) -> None:
    _same(("CPU:1",), INNER[name])


def _arrays(out: Any) -> list[np.ndarray]:
    """Return the leaves as arrays, gathered on one device and realized together."""
    found = [y if y.device == "CPU" else y.contiguous().to("CPU") for y in tree.leaves(out)]
    Tensor.realize(*found)
    return [y.numpy() for y in found]


@functools.cache
def _results_on_one_device(run: Callable[[Any], Any]) -> list[np.ndarray]:
    """Return the results of a program on one device, computed by numpy."""
    with realized.by_numpy():
        return _arrays(run(vmap))


def _same(devices: tuple[str, ...], run: Callable[[Any], Any]) -> None:
    with Context(NOOPT=1):  # the kernels are tiny
        found = _arrays(run(lambda f, **options: vmap(f, devices=devices, **options)))
        if not _close(found, _results_on_one_device(run)):
            wanted = _arrays(run(vmap))
            assert _close(found, wanted), f"found: {found}\nwanted: {wanted}"


def _close(found: list[np.ndarray], wanted: list[np.ndarray]) -> bool:
    pairs = zip(found, wanted, strict=True)
    return all(a.shape == b.shape and np.allclose(a, b, 1e-4, 1e-5, equal_nan=True) for a, b in pairs)


def test_axis_index_next_to_unrolled_sum() -> None:
    """Each device has one example, so tinygrad unrolls the sum."""
    x = Tensor([[1.0, 2.0], [3.0, 4.0]]).realize()
    assert vmap(lambda r: r.sum() + axis_index("i"), axis_name="i", devices=TWO)(x).tolist() == [3, 8]
    assert vmap(lambda x: x * 2, devices=TWO)(Tensor([2.0]).expand(2)).tolist() == [4, 4]


def test_second_derivative_through_ppermute() -> None:
    x, c = Tensor([[1.0, 2.0], [3.0, 5.0]]).realize(), Tensor([[10.0, 20.0], [30.0, 50.0]]).realize()
    losses = vmap(lambda x: (ppermute(x, "i", [(0, 1), (1, 0)]) ** 2).sum(), axis_name="i", devices=TWO)
    inner = grad(lambda xs: losses(xs).sum())
    assert inner(x).tolist() == [[2, 4], [6, 10]]
    assert grad(lambda xs: (inner(xs) * c).sum())(x).tolist() == [[20, 40], [60, 100]]


@pytest.mark.parametrize("name", ["psum_scatter", "all_to_all", "all_gather", "ppermute"])
def test_second_derivative_of_collectives(name: str) -> None:
    exchange: Callable[[Tensor], Tensor] = {
        "psum_scatter": lambda x: psum_scatter(x, "i"),
        "all_to_all": lambda x: all_to_all(x, "i", 0, 0),
        "all_gather": lambda x: all_gather(x, "i"),
        "ppermute": lambda x: ppermute(x, "i", [(0, 1), (1, 0)]),
    }[name]
    xs = Tensor([[1.0, 2.0], [3.0, 5.0]])

    def loss(x: Tensor) -> Tensor:
        return x.sum() * (exchange(x) * exchange(x).sin()).sum()

    def run(v: Any) -> Any:
        outside = lambda xs: v(loss, axis_name="i")(xs).sum()  # noqa: E731
        twice = grad(lambda x: (grad(loss)(x) * x).sum())
        return v(twice, axis_name="i")(xs), grad(lambda xs: (grad(outside)(xs) * xs).sum())(xs), hessian(outside)(xs)

    _same(TWO, run)


@pytest.mark.parametrize("is_inner", [True, False])
def test_all_to_all_over_two_brands(is_inner: bool) -> None:
    xs = Tensor((np.arange(16).reshape(2, 2, 4) % 7 * 0.3 - 0.8).astype("float32")).realize()

    def loss(x: Tensor) -> Tensor:
        y = all_to_all(x, ("j", "i"), 0, 0)
        return x.sum() * (y * y.sin()).sum() + all_to_all(x.cat(x), ("i", "j"), 0, 0, tiled=True)[:3].sum()

    def run(v: Any) -> Any:
        inner, outer = (v, vmap) if is_inner else (vmap, v)
        over_both = lambda f: outer(inner(f, axis_name="j"), axis_name="i")  # noqa: E731
        outside = lambda xs: over_both(loss)(xs).sum()  # noqa: E731
        return over_both(loss)(xs), over_both(grad(loss))(xs), grad(outside)(xs)

    _same(TWO, run)


OTHERS = pairs([name for i, name in enumerate(PROGRAMS) if i % 4 == 0 or "ppermute" in name], ("four", "others", "one"))
SHARDED = {name for name, layout in OTHERS if layout != "one"}


@pytest.mark.parametrize("name", amount([name for name in PROGRAMS if name not in SHARDED], [*PROGRAMS]))
def test_two_devices_match_one(name: str) -> None:
    _same(TWO, PROGRAMS[name])


@pytest.mark.parametrize(("name", "layout"), OTHERS)
def test_other_layouts_match_one(name: str, layout: str) -> None:
    _same(LAYOUTS[layout], PROGRAMS[name])


@pytest.mark.parametrize("seed", range(amount(4, 12)))
def test_random_programs(seed: int) -> None:
    """A seed chooses the operations and whether one or two brands are open; one brand is on the devices."""
    rng = np.random.default_rng(seed)
    steps: list[Callable[[Tensor], Tensor]] = [
        lambda x: x.sin() + W[int(seed) % 3],
        lambda x: x @ W,
        lambda x: x.softmax(),
        lambda x: x - psum(x, "i") / 8,
        lambda x: x * all_gather(x, "i").max(0),
        lambda x: _steps(x, W, 2)[0],
        lambda x: cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, x),
        lambda x: grad(lambda y: (y * y * x).sum())(x),
        lambda x: x.flip(0).cumsum(),
        lambda x: linalg.solve(W, x),
        lambda x: vmap(lambda a: a * x.sum())(x),
    ]
    chosen = [steps[i] for i in rng.integers(0, len(steps), 4)]

    def body(x: Tensor) -> Tensor:
        for f in chosen:
            x = f(x)
        return x

    def run(v: Any) -> Any:
        if seed % 3 == 0:
            return vmap(lambda w: v(lambda x: body(x * w), axis_name="i")(X))(W)
        return v(body, axis_name="i")(X)

    [wanted] = _results_on_one_device(run)
    with Context(NOOPT=1):
        [found] = _arrays(run(lambda f, **o: vmap(f, devices=FOUR if seed % 2 else TWO, **o)))
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4 * np.abs(wanted).max())


def test_results_are_sharded() -> None:
    y = vmap(lambda x: x * 2, out_axes=1, devices=TWO)(X)
    assert (y.device, y.uop.axis) == (("CPU", "CPU:1"), 1)
    again = vmap(lambda x: x + 1, in_axes=1, devices=TWO)(y)
    assert again.uop.axis == 0
    np.testing.assert_allclose(again.numpy(), X.numpy() * 2 + 1)


def test_example_reports_device_of_its_values() -> None:
    seen = []
    vmap(lambda x: (seen.append(x.device), x)[1], devices=("CPU:1", "CPU:2"))(X)
    assert seen == [X.device]


def test_loops_run_on_device_of_their_examples() -> None:
    """Each device runs one loop over its examples, and only shared values are copied."""
    linear, _ = vmap(lambda x: _steps(x, W)[0], devices=TWO)(X.shard(TWO, 0).realize()).linear_with_vars()
    moved = [call.src[1].max_numel() for call in linear.src if call.src[0].op is Ops.COPY]
    assert moved == [9], moved  # W, to CPU:1


def _bytes_moved(
    f: Any, n: int, size: int = 16, sharded: bool = True, to: str | None = None, out: int | None = 0, ring: int = 1
) -> int:
    """Return the number of bytes copied between devices."""
    devices, x = tuple(f"CPU:{i}" for i in range(n)), normals(size, size)
    y = vmap(f, axis_name="i", devices=devices, out_axes=out)(x.shard(devices, 0).realize() if sharded else x)
    with Context(RING=ring):  # type: ignore[no-untyped-call]
        linear, _ = (y if to is None else y.to(to)).linear_with_vars()
    return sum(c.src[1].max_numel() * c.src[1].dtype.itemsize for c in linear.src if c.src[0].op is Ops.COPY)


def test_effects_run_once_in_order_of_examples() -> None:
    seen = list[float]()

    def f(x: Tensor) -> Tensor:
        debug.callback(lambda v: seen.append(float(v)), x[0])
        return cond(x[0] > X[1, 0], lambda x: io_callback(lambda v: v * 2, x, x), lambda x: x - 1, x)

    on_one, of_one = vmap(f)(X).numpy(), seen.copy()
    seen.clear()
    np.testing.assert_allclose(vmap(f, devices=TWO)(X).numpy(), on_one, atol=1e-6)
    assert seen == of_one == X[:, 0].tolist()


@pytest.mark.parametrize("layout", ["two", "others", "one"])
def test_effect_in_inner_vmap_on_one_device(layout: str) -> None:
    seen = list[float]()
    inner = lambda x: vmap(lambda w: (debug.callback(lambda v: seen.append(float(v)), (x * w).sum()), w)[1])(W)  # noqa: E731
    vmap(inner, devices=LAYOUTS[layout], out_axes=None)(X[:2])
    np.testing.assert_allclose(seen, (X[:2] @ W.T).flatten().numpy(), atol=1e-5)


class Moves(NamedTuple):
    """A collective: a program over examples of 16 numbers, and the bytes that it copies.

    `least` is the lower bound from the bytes of all examples, the bytes of one example, and the number of devices.
    """

    f: Callable[[Any], Any]
    least: Callable[[int, int, int], int]
    moved: Callable[[int, int, int], int] | None = None
    """The bytes copied, if more than `least`."""
    options: Mapping[str, Any] = {}


SHARED = normals(16, 16, seed=5)
COLLECTIVES = {
    "none": Moves(lambda x: x * 2, lambda whole, row, n: 0),
    "broadcast": Moves(lambda x: x @ SHARED, lambda whole, row, n: (n - 1) * whole),
    "scatter": Moves(lambda x: x * 2, lambda whole, row, n: whole * (n - 1) // n, options={"sharded": False}),
    "gather": Moves(lambda x: x * 2, lambda whole, row, n: whole * (n - 1) // n, options={"to": "CPU"}),
    "reduce": Moves(lambda x: psum(x, "i"), lambda whole, row, n: (n - 1) * row, options={"to": "CPU", "out": None}),
    "allgather": Moves(lambda x: x - all_gather(x, "i").sum(0), lambda whole, row, n: (n - 1) * whole),
    "reduce_scatter": Moves(lambda x: psum_scatter(x, "i"), lambda whole, row, n: (n - 1) * row),
    # a small allreduce sends each row to every device
    "allreduce": Moves(
        lambda x: x - psum(x, "i"), lambda whole, row, n: 2 * (n - 1) * row, lambda w, row, n: n * (n - 1) * row
    ),
    "allreduce, largest": Moves(
        lambda x: x - pmax(x, "i"), lambda whole, row, n: 2 * (n - 1) * row, lambda w, row, n: n * (n - 1) * row
    ),
    # each device sends 2 (n - 1) / n of a row; another size, because tinygrad caches schedules by the form of the graph
    "allreduce, a ring": Moves(
        lambda x: x - psum(x, "i"), lambda whole, row, n: 2 * (n - 1) * row, options={"ring": 2, "size": 32}
    ),
    "alltoall": Moves(lambda x: all_to_all(x, "i", 0, 0), lambda whole, row, n: whole * (n - 1) // n),
    "permute, a ring": Moves(
        lambda x: ppermute(x, "i", [(i, (i + 1) % 16) for i in range(16)]), lambda whole, row, n: n * row
    ),
    "permute, far": Moves(
        lambda x: ppermute(x, "i", [(i, (i + 8) % 16) for i in range(16)]), lambda whole, row, n: whole
    ),
    "permute, a line": Moves(
        lambda x: ppermute(x, "i", [(i, i + 1) for i in range(15)]),
        lambda whole, row, n: (n - 1) * row,
        lambda w, row, n: n * row,
    ),
}


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("name", COLLECTIVES)
def test_collective_copies_expected_bytes(name: str, n: int) -> None:
    c = COLLECTIVES[name]
    size = c.options.get("size", 16)
    sizes = (size * size * 4, size * 4, n)
    least = c.least(*sizes)
    moved = least if c.moved is None else c.moved(*sizes)
    assert _bytes_moved(c.f, n, **c.options) == moved >= least


def test_ppermute_within_a_device_copies_nothing() -> None:
    assert _bytes_moved(lambda x: ppermute(x, "i", [(i, i ^ 2) for i in range(16)]), 2) == 0


@pytest.mark.parametrize("n", [2, 4])
def test_result_on_one_device_is_a_reduce(n: int) -> None:
    """Each other device sends its own sum, one row; if all devices need the total, each sends to every other."""
    devices, row = tuple(f"CPU:{i}" for i in range(n)), 16 * 4
    x, w = normals(16, 16).shard(devices, 0).realize(), normals(16, seed=1)

    def moved(y: Tensor) -> int:
        linear, _ = y.linear_with_vars()
        return sum(c.src[1].max_numel() * c.src[1].dtype.itemsize for c in linear.src if c.src[0].op is Ops.COPY)

    total = lambda: vmap(lambda x: psum(x, "i"), axis_name="i", out_axes=None, devices=devices)(x)  # noqa: E731
    by_weight = lambda: grad(lambda w: vmap(lambda x: (x * w).sum(), devices=devices)(x).mean())(w)  # noqa: E731
    assert moved(total()) == n * (n - 1) * row
    assert moved(total().to("CPU")) == moved(by_weight()) == (n - 1) * row
    assert moved((x.max(0) * 2 + 1).reshape(4, 4).to("CPU")) == (n - 1) * row
    np.testing.assert_allclose(total().to("CPU").numpy(), x.numpy().sum(0), atol=1e-5)
    np.testing.assert_allclose(by_weight().numpy(), x.numpy().mean(0), atol=1e-5)
    np.testing.assert_allclose(
        (x.max(0) * 2 + 1).reshape(4, 4).T.to("CPU").numpy().T.flatten(), x.numpy().max(0) * 2 + 1
    )


def test_shard() -> None:
    class Users(Brand): ...

    def loss(x: Tensor) -> Tensor:
        return x - psum(x, Users)

    with shard(Users, TWO), shard("other", FOUR):
        y = vmap(loss, axis_name=Users)(X)
        assert isinstance(vmap(loss, axis_name=Users)(X[:7].sum(0).expand(8, 3)).device, tuple)
        with brand(Users, 8) as users:
            z = users.unvec(users.vec(X) * 2)
        assert vmap(lambda x: x)(X).device == X.device
    assert y.device == z.device == ("CPU", "CPU:1")
    assert vmap(loss, axis_name=Users)(X).device == X.device
    np.testing.assert_allclose(y.numpy(), X.numpy() - X.numpy().sum(0), atol=1e-5)


def test_make_expr_and_explain() -> None:
    f = lambda x: vmap(lambda a: (a @ W).sum() - psum(a.sum(), "i"), devices=TWO, axis_name="i")(x)  # noqa: E731
    expr = make_expr(f)(X)
    assert "devices=('CPU', 'CPU:1')" in str(expr)
    np.testing.assert_allclose(expr(X).numpy(), f(X).numpy(), atol=1e-5)
    assert "psum" in str(explain(f, X))


def _while(v: Any) -> Tensor:
    step = lambda m: v(lambda x: x * 2 + W[0])(m)  # noqa: E731
    y: Tensor = while_loop(lambda m: m.abs().sum() < 999, step, X)
    return y


CLOSED: dict[str, Callable[[Any], Any]] = {
    "program": lambda v: make_expr(lambda x: v(lambda a: a * W[0])(x))(X)(X),
    "primitives": lambda v: make_expr(lambda x: v(lambda a: a * W[0])(x))(X).at("primitives")(X),
    "batched": lambda v: make_expr(lambda x: v(lambda a: a * W[0])(x))(X).at("batched")(X),
    "argument": lambda v: make_expr(lambda x, w: v(lambda a: a * w)(x))(X, W[0])(X, W[0]),
    "loop": lambda v: make_expr(lambda x: v(lambda a: _steps(a, W, 40))(x))(X)(X),
    "gradient of a loop": lambda v: v(grad(lambda a: branded.map(lambda w: (a * w).sin(), W[0]).sum()))(X),
    "checkpoint": lambda v: v(lambda a: checkpoint(lambda b: b * W[0])(a))(X),
    "checkpoint in another": lambda v: v(checkpoint(checkpoint(lambda b: (b @ W).sin())))(X),
    "gradient of a checkpoint": lambda v: grad(lambda w: v(lambda a: checkpoint(lambda b: (b * w).sin())(a))(X).sum())(
        W[0]
    ),
    "uneven, nested": lambda v: vmap(lambda a: v(lambda b: a * b + W[0])(X[0]))(X),
    "chunks, nested": lambda v: vmap(lambda a: v(lambda b: a * b, chunk_size=2)(X[0]))(X),
}
ON_ONE: dict[str, Callable[[Any], Any]] = {
    "in a loop": lambda v: scan(lambda m, _: (v(lambda a: a / 2 + W[0])(m), None), X, None, length=40)[0],
    "in while_loop": _while,
}


@pytest.mark.parametrize(
    ("name", "layout"), [*((n, x) for n in CLOSED for x in ("others", "one")), *((n, "one") for n in ON_ONE)]
)
def test_closed_over_value_moves_to_the_examples(name: str, layout: str) -> None:
    _same(LAYOUTS[layout], (CLOSED | ON_ONE)[name])


GOLDEN: dict[str, tuple[Callable[[], Any], str]] = {
    "twice": (
        lambda: vmap(lambda x: x, devices=("CPU", "CPU:0")),
        "vmap: the device CPU is named twice\n  try: name each device once",
    ),
    "none": (
        lambda: vmap(lambda x: x, devices=()),
        'vmap: devices=() names no devices\n  try: devices=("CUDA:0", "CUDA:1")',
    ),
    "no names": (lambda: shard("i", 3), 'shard: devices=3 names no devices\n  try: devices=("CUDA:0", "CUDA:1")'),  # type: ignore[arg-type]
    "no such": (
        lambda: vmap(lambda x: x, devices=("CPU", "NOSUCH:1")),
        "vmap: the device NOSUCH:1 cannot be opened\n"
        "  reason: ModuleNotFoundError: No module named 'tinygrad.runtime.ops_nosuch'\n"
        "  try:    use a device of this machine",
    ),
    "no name": (lambda: shard(3, TWO), "shard: 3 is not a name\n  try: pass a string, or a subclass of Brand"),  # type: ignore[arg-type]
    "uneven exchange": (
        lambda: vmap(lambda x: psum(x, "i"), axis_name="i", devices=TWO)(X[:3]),
        "psum: brand `i` runs in chunks, so no operation sees all examples at the same time\n"
        "  try: 2 or 4 examples, a multiple of 2 devices",
    ),
    "other devices": (
        lambda: vmap(lambda x, y: x + y)(X.shard(TWO, 0), X.shard(("CPU:0", "CPU:2"), 0)),
        "zip: the operands are on different devices\n"
        "  1:   CPU, CPU:1\n"
        "  2:   CPU, CPU:2\n"
        "  try: use the same devices for both, in the same order, or move one with .to()",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_error_messages(name: str) -> None:
    run, text = GOLDEN[name]
    with pytest.raises(BrandedError) as error:
        run()
    assert str(error.value) == text


def test_uneven_brand_is_an_error() -> None:
    with shard("i", TWO), pytest.raises(BrandedError) as error, brand("i", 3):
        raise AssertionError("unreachable")
    assert str(error.value) == (
        "brand `i`: 3 examples cannot be divided evenly among 2 devices\n  try: 2 or 4 examples, or use fewer devices"
    )
    assert not branded.graph.scope.open_brands()


@pytest.mark.parametrize("axis", [0, 2])
def test_diagonal_of_sharded_value(axis: int) -> None:
    x = np.arange(8 * 3 * 8, dtype="float32").reshape(8, 3, 8)
    own = tensor(_diagonal(Tensor(x).shard(FOUR, axis).uop, 0, 2))
    np.testing.assert_array_equal(own.numpy(), x.diagonal(axis1=0, axis2=2).T)
