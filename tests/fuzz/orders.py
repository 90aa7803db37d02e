"""Functions that sort or accumulate along an axis, and their derivatives, against JAX and numpy.

    python -m tests.fuzz.orders --programs 2000 --seed 7

A program is a function, its input, and a mode: the value, the tangents, the cotangents or the second derivative, for
one example, or for all by `vmap`, a chunked `vmap`, `jit` or `scan`.  Elements repeat, and include zeros, infinities
and NaN.  If JAX is installed, each program is compared with JAX too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Tensor, dtypes

from branded import cumlogsumexp, functions, grad, jit, jvp, scan, vjp, vmap

try:
    import jax

    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = None  # type: ignore[assignment]

Array = np.ndarray[Any, Any]
Row = Callable[[Array], tuple[Array, Array]]


# ---- numpy: the value for a row, and the matrix of its derivatives ----


def picked(at: Array, n: int) -> Array:
    return np.eye(n)[at]


def order(descending: bool, k: int | None = None) -> Row:
    def f(x: Array) -> tuple[Array, Array]:
        at = stable(x, descending)[:k]
        return x[at], picked(at, len(x))

    return f


def stable(x: Array, descending: bool) -> Array:
    """Return the stable sort order of the elements; NaN is the largest."""
    at = np.argsort(x[::-1] if descending else x, kind="stable")
    return len(x) - 1 - at[::-1] if descending else at


def sums(x: Array) -> tuple[Array, Array]:
    return np.cumsum(x), np.tril(np.ones((len(x), len(x))))


def products(x: Array) -> tuple[Array, Array]:
    n = len(x)
    slopes = [[np.prod(np.delete(x[: i + 1], j)) if j <= i else 0.0 for j in range(n)] for i in range(n)]
    return np.cumprod(x), np.array(slopes)


def product(x: Array) -> tuple[Array, Array]:
    y, slopes = products(x)
    return y[-1:], slopes[-1:]


def log_sums(x: Array) -> tuple[Array, Array]:
    y = np.logaddexp.accumulate(x)
    return y, np.tril(np.exp(x[None] - y[:, None]))


def extremes(sign: int) -> Row:
    """Follow the comparisons of `jax.lax.cummax`, which split the derivative between equal elements."""

    def joined(a: tuple[float, Array], b: tuple[float, Array]) -> tuple[float, Array]:
        z = np.maximum(a[0], b[0])
        first, second = a[0] == z, b[0] == z
        return z, first / (1.0 + second) * a[1] + second / (1.0 + first) * b[1]

    def along(xs: list[Any]) -> list[Any]:
        if len(xs) < 2:
            return xs
        odd = along([joined(*pair) for pair in zip(xs[::2], xs[1::2], strict=False)])
        even = [xs[0], *(joined(y, x) for y, x in zip(odd, xs[2::2], strict=False))]
        return [(odd if i % 2 else even)[i // 2] for i in range(len(xs))]

    def f(x: Array) -> tuple[Array, Array]:
        ys, slopes = zip(*along([(sign * v, sign * e) for v, e in zip(x, np.eye(len(x)), strict=True)]), strict=True)
        return sign * np.array(ys), sign * np.array(slopes)

    return f


def largest(sign: int) -> Row:
    def f(x: Array) -> tuple[Array, Array]:
        y = sign * (sign * x).max()
        hit = (x == y).astype(float)
        return np.array([y]), hit[None] / hit.sum()

    return f


def middle(x: Array) -> tuple[Array, Array]:
    at, n = stable(x, False), len(x)
    both = at[[(n - 1) // 2, n // 2]]
    return x[both].mean(keepdims=True), picked(both, n).mean(0, keepdims=True)


def segments(x: Array) -> tuple[Array, Array]:
    """Return the products of every third element."""
    ys, slopes = np.ones(3), np.zeros((3, len(x)))
    for i in range(min(3, len(x))):
        ys[i : i + 1], slopes[i : i + 1, i::3] = product(x[i::3])
    return ys, slopes


class Function(NamedTuple):
    """A function along the last axis."""

    here: Callable[[Tensor], Tensor]
    row: Row
    theirs: Callable[[Any], Any] | None = None
    specials: str = ""
    """The special elements that its input may contain: i for infinities, n for NaN, t for ties, 0 for zeros."""


def thirds(x: Tensor) -> Tensor:
    return Tensor.arange(int(x.shape[-1]), dtype=dtypes.int32) % 3


def rows_of(f: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Map a function of vectors over all axes before the last one."""
    return lambda x: f(x) if x.ndim == 1 else vmap(rows_of(f))(x)


FUNCTIONS = {
    "sort": Function(lambda x: x.sort(-1)[0], order(False), lambda x: jax.numpy.sort(x), "int0"),
    "sort down": Function(
        lambda x: x.sort(-1, descending=True)[0], order(True), lambda x: jax.lax.top_k(x, x.shape[-1])[0], "int0"
    ),
    "topk": Function(
        lambda x: x.topk(min(3, x.shape[-1]), -1)[0],
        order(True, 3),
        lambda x: jax.lax.top_k(x, min(3, x.shape[-1]))[0],
        "int0",
    ),
    "least": Function(lambda x: x.topk(min(3, x.shape[-1]), -1, largest=False)[0], order(False, 3), None, "int0"),
    "top_k": Function(lambda x: functions.top_k(x, min(2, x.shape[-1]))[0], order(True, 2), None, "int0"),
    "argsort": Function(lambda x: functions.take_along_axis(x, x.argsort(-1), -1), order(False), None, "t0"),
    "cumsum": Function(lambda x: x.cumsum(-1), sums, lambda x: jax.numpy.cumsum(x, -1), "t0"),
    "cumprod": Function(lambda x: x.cumprod(-1), products, lambda x: jax.numpy.cumprod(x, -1), "t0"),
    "cummax": Function(lambda x: x.cummax(-1)[0], extremes(1), lambda x: jax.lax.cummax(x, x.ndim - 1), "int0"),
    "cummin": Function(lambda x: x.cummin(-1)[0], extremes(-1), lambda x: jax.lax.cummin(x, x.ndim - 1), "int0"),
    "logcumsumexp": Function(
        lambda x: x.logcumsumexp(-1), log_sums, lambda x: jax.lax.cumlogsumexp(x, x.ndim - 1), "t0"
    ),
    "cumlogsumexp": Function(lambda x: cumlogsumexp(x, -1), log_sums, None, "t0"),
    "prod": Function(lambda x: x.prod(-1, keepdim=True), product, lambda x: jax.numpy.prod(x, -1, keepdims=True), "t0"),
    "max": Function(lambda x: x.max(-1, keepdim=True), largest(1), lambda x: x.max(-1, keepdims=True), "it0"),
    "min": Function(lambda x: x.min(-1, keepdim=True), largest(-1), lambda x: x.min(-1, keepdims=True), "it0"),
    "median": Function(
        lambda x: functions.median(x, -1, keepdims=True), middle, lambda x: jax.numpy.median(x, -1, keepdims=True), "t0"
    ),
    "segment_prod": Function(rows_of(lambda x: functions.segment_prod(x, thirds(x), 3)), segments, None, "t0"),
}


# ---- programs ----


class Program(NamedTuple):
    name: str
    mode: str
    way: str
    x: Array
    d: Array
    """The tangents."""
    w: Array
    """The weights of the results; only as many as needed are used."""

    def __str__(self) -> str:
        x = np.array2string(self.x, separator=", ", threshold=200)
        return f"{self.mode} of {self.name} by {self.way}, {self.x.dtype}{list(self.x.shape)} = {x}"


MODES = ("value", "jvp", "vjp", "second")
WAYS = ("call", "vmap", "chunks", "jit", "scan")


def some_program(rng: np.random.Generator, names: list[str]) -> Program:
    name = names[rng.integers(len(names))]
    shape = (*rng.integers(1, 4, rng.integers(0, 2)), rng.choice([1, 2, 3, 5, 8, 13, 33]))
    batch = (int(rng.integers(1, 4)), *map(int, shape))
    f = FUNCTIONS[name]
    x = rng.standard_normal(batch)
    for kind, part in (("t", np.array([-1.0, 0.5, 2.0])), ("0", np.zeros(1)), ("i", np.array([np.inf, -np.inf]))):
        if kind in f.specials and rng.random() < 0.4:
            hit = rng.random(batch) < (0.6 if kind == "t" else 0.15)
            x = np.where(hit, rng.choice(part, batch), x)
    if "n" in f.specials and rng.random() < 0.2:
        x = np.where(rng.random(batch) < 0.1, np.nan, x)
    dtype = rng.choice([np.float32, np.float64])
    data = (x, rng.standard_normal(batch), rng.standard_normal(40))
    mode, way = MODES[rng.integers(len(MODES))], WAYS[rng.integers(len(WAYS))]
    return Program(name, mode, way, *(y.astype(dtype) for y in data))


def here(p: Program) -> Array:
    """Return the results of all examples."""
    f, w = FUNCTIONS[p.name].here, Tensor(p.w)

    def weighed(y: Tensor) -> Tensor:
        return y * w[: y.shape[-1]]

    def one(x: Tensor, d: Tensor) -> Tensor:
        if p.mode == "value":
            return f(x)
        if p.mode == "jvp":
            return jvp(f, (x,), (d,))[1]
        if p.mode == "vjp":
            y, back = vjp(f, x)
            return back(weighed(Tensor.ones(y.shape, dtype=x.dtype)))[0]
        return jvp(grad(lambda x: weighed(f(x).square()).sum() / 2), (x,), (d,))[1]

    x, d = Tensor(p.x), Tensor(p.d)
    if p.way == "call":
        return np.stack([one(a, b).numpy() for a, b in zip(x, d, strict=True)])
    if p.way == "scan":
        return scan(lambda c, xs: (c, one(*xs)), Tensor(0), (x, d))[1].numpy()
    mapped = vmap(one, chunk_size=2 if p.way == "chunks" else None)
    return (jit(mapped) if p.way == "jit" else mapped)(x, d).numpy()


def by_numpy(p: Program) -> Array:
    """Return the expected results, from the matrix of derivatives of each row."""
    n = p.x.shape[-1]
    flat, ds = p.x.reshape(-1, n).astype(np.float64), p.d.reshape(-1, n).astype(np.float64)
    row = FUNCTIONS[p.name].row
    found = [_row(p, row, x, d) for x, d in zip(flat, ds, strict=True)]
    return np.stack(found).reshape(*p.x.shape[:-1], *found[0].shape)


def _row(p: Program, row: Row, x: Array, d: Array) -> Array:
    with np.errstate(all="ignore"):
        y, slopes = row(x)
        w = p.w[: len(y)].astype(np.float64)
        if p.mode == "value":
            return y
        if p.mode == "jvp":
            return slopes @ d
        if p.mode == "vjp":
            return w @ slopes
        # a finite difference of the matrix; for functions that are not in `_CURVED`, the matrix is constant
        h = 1e-5
        later, earlier = (row(x + s * h * d)[1] if p.name in _CURVED else slopes for s in (1, -1))
        first, second = w * y, w * (slopes @ d)
        bend = (later - earlier) / (2 * h)
        return first @ bend + second @ slopes


_CURVED = {"cumprod", "prod", "segment_prod", "logcumsumexp", "cumlogsumexp"}


def by_jax(p: Program) -> Array | None:
    f = FUNCTIONS[p.name].theirs
    if jax is None or f is None:
        return None

    def weighed(y: Any) -> Any:
        return y * p.w[: y.shape[-1]]

    def one(x: Any, d: Any) -> Any:
        if p.mode == "value":
            return f(x)
        if p.mode == "jvp":
            return jax.jvp(f, (x,), (d,))[1]
        if p.mode == "vjp":
            y, back = jax.vjp(f, x)
            return back(weighed(jax.numpy.ones(y.shape, x.dtype)))[0]
        return jax.jvp(jax.grad(lambda x: weighed(f(x) ** 2).sum() / 2), (x,), (d,))[1]

    return np.stack([np.asarray(one(a, b)) for a, b in zip(p.x, p.d, strict=True)])


def differs(p: Program) -> str | None:
    """Return a description of the difference, or None."""
    try:
        got = here(p)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    exact = {"numpy": by_numpy(p), "jax": by_jax(p)}
    near = 1e-3 if p.x.dtype == np.float32 else 1e-6
    for name, want in exact.items():
        if want is None or (name == "numpy" and p.mode == "second" and not np.isfinite(p.x).all()):
            continue
        if got.shape != want.shape:
            return f"shape {got.shape}, {want.shape} by {name}"
        scale = np.abs(want[np.isfinite(want)]).max(initial=1.0)
        if not np.allclose(got, want, near, near * scale, equal_nan=True):
            return f"{got.tolist()}\n  by {name} {want.tolist()}"
    return None


def wrong(programs: int, seed: int, names: list[str] | None = None) -> Iterator[str]:
    """Yield descriptions of the incorrect programs."""
    rng = np.random.default_rng(seed)
    for _ in range(programs):
        p = some_program(rng, names or list(FUNCTIONS))
        if (how := differs(p)) is not None:
            yield f"{p}\n  d = {p.d.tolist()}, w = {p.w[: p.x.shape[-1]].tolist()}\n  {how}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=FUNCTIONS)
    given = parser.parse_args()
    count = 0
    for said in wrong(given.programs, given.seed, given.only):
        count += 1
        print(said, flush=True)
    beside = "numpy" if jax is None else "numpy and JAX"
    print(f"seed {given.seed}: {given.programs} programs beside {beside}, {count} wrong")
    sys.exit(bool(count))


if __name__ == "__main__":
    main()
