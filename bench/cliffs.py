"""`python -m bench cliffs`: small random workloads against `jax.jit`, to find the ones that are much slower.

Each workload is an operation with a random shape and dtype: prime sizes, transposed and strided operands, leading axes.
Both libraries run in this process on one core, in turns. The values are compared first.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, NamedTuple

import numpy as np

from bench.against.steady import times_of_calls
from bench.measure import machine

CLIFF = 2.0
"""The ratio of times from which a workload is a cliff."""
SIZES = (7, 8, 13, 16, 31, 32, 61, 64, 100, 127, 128, 251, 256, 509, 512, 1000, 1009)
LARGEST = 1 << 19
"""The most elements of an operand."""


class Workload(NamedTuple):
    """A function in both libraries, with its arguments."""

    name: str
    arrays: tuple[np.ndarray, ...]
    ours: Callable[..., Any]
    theirs: Callable[..., Any]


class Sampler:
    """Random shapes and arrays."""

    def __init__(self, seed: int) -> None:
        self.random, self.numpy = random.Random(seed), np.random.default_rng(seed)

    def shape(self, ndim: int, largest: int = LARGEST) -> tuple[int, ...]:
        while True:
            sizes = tuple(self.random.choice(SIZES) for _ in range(ndim))
            if 256 <= np.prod(sizes) <= largest:
                return sizes

    def array(self, shape: Sequence[int], dtype: str = "float32") -> np.ndarray:
        if dtype == "bool":
            return self.numpy.random(shape) < 0.5
        if "int" in dtype:
            return self.numpy.integers(0, 100, shape).astype(dtype)
        return self.numpy.uniform(0.1, 2.0, shape).astype(dtype)

    def dtype(self) -> str:
        return self.random.choice(["float32"] * 4 + ["float64", "float16", "int8", "int32", "int64", "uint8"])


Family = Callable[[Sampler, Any, Any, Any], Workload]
FAMILIES: list[Family] = []


def family(f: Family) -> Family:
    FAMILIES.append(f)
    return f


@family
def elementwise(s: Sampler, B: Any, jax: Any, jnp: Any) -> Workload:  # noqa: N803
    shape, dtype = s.shape(s.random.choice([1, 2, 3])), s.dtype()
    name, f, g = s.random.choice(
        [
            ("x * x + 3", lambda x: x * x + 3, lambda x: x * x + 3),
            ("where(x > 1, x, 2 x)", lambda x: (x > 1).where(x, x * 2), lambda x: jnp.where(x > 1, x, x * 2)),
            ("minimum(x, 2) - x", lambda x: x.minimum(2) - x, lambda x: jnp.minimum(x, 2) - x),
            ("x.T + 1", lambda x: x.transpose(0, -1) + 1, lambda x: jnp.swapaxes(x, 0, -1) + 1),
            ("x + x.flip(-1)", lambda x: x + x.flip(-1), lambda x: x + jnp.flip(x, -1)),
            ("x[..., ::2] * 2", lambda x: x[..., ::2] * 2, lambda x: x[..., ::2] * 2),
            ("roll", lambda x: x.roll(3, -1) + x, lambda x: jnp.roll(x, 3, -1) + x),
            ("cast and back", lambda x: x.cast("int32") * 2, lambda x: x.astype("int32") * 2),
        ]
    )
    return Workload(f"{name}, {dtype}{list(shape)}", (s.array(shape, dtype),), f, g)


@family
def transcendental(s: Sampler, B: Any, jax: Any, jnp: Any) -> Workload:  # noqa: N803
    shape, dtype = s.shape(s.random.choice([1, 2, 3])), s.random.choice(["float32", "float32", "float64"])
    api_name = s.random.choice(["exp", "log", "sin", "tanh", "sqrt", "sigmoid", "erf", "softplus", "gelu"])
    theirs = getattr(jnp, api_name, None) or getattr(jax.nn, api_name, None) or getattr(jax.scipy.special, api_name)
    if api_name == "gelu":
        return Workload(f"gelu {dtype}{list(shape)}", (s.array(shape, dtype),), lambda x: x.gelu(), theirs)
    return Workload(
        f"{api_name} {dtype}{list(shape)}", (s.array(shape, dtype),), lambda x: getattr(x, api_name)(), theirs
    )


@family
def reductions(s: Sampler, B: Any, jax: Any, jnp: Any) -> Workload:  # noqa: N803
    ndim = s.random.choice([1, 2, 3])
    shape, axis, dtype = s.shape(ndim), s.random.randrange(ndim), s.random.choice(["float32", "float64", "int32"])
    api_name = s.random.choice(["sum", "max", "mean", "var", "argmax", "prod", "logsumexp", "norm"])
    if dtype == "int32" and api_name in ("mean", "var", "logsumexp", "norm", "prod"):
        dtype = "float32"
    ours = {
        "var": lambda x: x.var(axis, correction=0),
        "norm": lambda x: x.square().sum(axis).sqrt(),
    }.get(api_name, lambda x: getattr(x, api_name)(axis))
    theirs = {
        "logsumexp": lambda x: jax.nn.logsumexp(x, axis),
        "norm": lambda x: jnp.sqrt(jnp.square(x).sum(axis)),
    }.get(api_name, lambda x: getattr(x, api_name)(axis))
    return Workload(
        f"{api_name}({axis}) {dtype}{list(shape)}",
        (s.array(shape, dtype) * 0 + 1 if api_name == "prod" else s.array(shape, dtype),),
        ours,
        theirs,
    )


@family
def softmax(s: Sampler, B: Any, jax: Any, jnp: Any) -> Workload:  # noqa: N803
    ndim = s.random.choice([2, 3])
    shape = s.shape(ndim)
    axis = s.random.choice([-1, 0])
    kind = s.random.choice(["softmax", "masked softmax", "log_softmax", "layer norm"])
    mask = np.tril(np.ones(shape[-2:], np.float32)) > 0
    fs = {
        "softmax": (lambda x, m: x.softmax(axis), lambda x, m: jax.nn.softmax(x, axis)),
        "masked softmax": (
            lambda x, m: m.where(x, -1e9).softmax(-1),
            lambda x, m: jax.nn.softmax(jnp.where(m, x, -1e9), -1),
        ),
        "log_softmax": (lambda x, m: x.log_softmax(axis), lambda x, m: jax.nn.log_softmax(x, axis)),
        "layer norm": (
            lambda x, m: x.layernorm(),
            lambda x, m: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5),
        ),
    }[kind]
    return Workload(f"{kind}({axis}) {list(shape)}", (s.array(shape), mask), *fs)


@family
def cumulative(s: Sampler, B: Any, jax: Any, jnp: Any) -> Workload:  # noqa: N803
    ndim = s.random.choice([1, 2])
    shape, axis = s.shape(ndim, 1 << 16), s.random.randrange(ndim)
    api_name = s.random.choice(["cumsum", "cumprod", "cummax", "diff"])
    ours, theirs = {
        "cumsum": (lambda x: x.cumsum(axis), lambda x: jnp.cumsum(x, axis)),
        "cumprod": (lambda x: x.cumprod(axis), lambda x: jnp.cumprod(x, axis)),
        "cummax": (lambda x: x.cummax(axis)[0], lambda x: jax.lax.cummax(x, axis)),
        "diff": (
            lambda x: x.transpose(axis, -1)[..., 1:] - x.transpose(axis, -1)[..., :-1],
            lambda x: jnp.diff(jnp.swapaxes(x, axis, -1)),
        ),
    }[api_name]
    x = s.array(shape)
    return Workload(f"{api_name}({axis}) {list(shape)}", (x * 0 + 1 if api_name == "cumprod" else x,), ours, theirs)


@family
def products(s: Sampler, B: Any, jax: Any, jnp: Any) -> Workload:  # noqa: N803
    n, k, m = (s.random.choice(SIZES[:13]) for _ in range(3))
    dtype = s.random.choice(["float32", "float32", "float64", "int8"])
    if dtype == "int8":
        a, b = s.array((n, k), "int8"), s.array((k, m), "int8")
        return Workload(
            f"int8 [{n},{k}] @ [{k},{m}]",
            (a, b),
            lambda a, b: a.cast("int32") @ b.cast("int32"),
            lambda a, b: a.astype("int32") @ b.astype("int32"),
        )
    kind = s.random.choice(["a @ b", "a @ b.T", "a.T @ b", "batched a @ b", "a @ v", "einsum", "a + b.T"])
    batch = s.random.choice([3, 8, 17])
    a, b = s.array((n, k), dtype), s.array((k, m), dtype)
    f = {
        "a @ b": (lambda a, b: a @ b,) * 2,
        "a @ b.T": (lambda a, b: a @ b.T,) * 2,
        "a.T @ b": (lambda a, b: a.T @ b,) * 2,
        "batched a @ b": (lambda a, b: a @ b,) * 2,
        "a @ v": (lambda a, b: a @ b[:, 0],) * 2,
        "einsum": (
            lambda a, b: B.einsum("nk,km->mn", a, b) if hasattr(B, "einsum") else (a @ b).T,
            lambda a, b: jnp.einsum("nk,km->mn", a, b),
        ),
        "a + b.T": (lambda a, b: a + b.T,) * 2,
    }[kind]
    if kind == "a @ b.T":
        b = s.array((m, k), dtype)
    if kind == "a.T @ b":
        a = s.array((k, n), dtype)
    if kind == "a + b.T":
        b = s.array((k, n), dtype)
    if kind == "batched a @ b":
        a = s.array((batch, n, k), dtype)
    return Workload(f"{kind} {dtype}{list(a.shape)}{list(b.shape)}", (a, b), *f)


@family
def indexing(s: Sampler, B: Any, jax: Any, jnp: Any) -> Workload:  # noqa: N803
    rows, width, count = s.random.choice(SIZES[6:]), s.random.choice([1, 8, 31, 64]), s.random.choice([13, 100, 1009])
    t, i = s.array((rows, width)), s.numpy.integers(0, rows, count).astype("int32")
    kinds = ["t[i]", "t[i].sum", "(ints / 2)[i]", "windows", "grad t[i]", "own rows", "scatter add", "take_along_axis"]
    kind = s.random.choice(kinds)
    if kind == "own rows":
        j = s.numpy.integers(0, width, rows).astype("int32")
        return Workload(
            f"own element [{rows},{width}]",
            (t, j),
            B.vmap(lambda r, j: r[j]),
            jax.vmap(lambda r, j: r[j]),
        )
    if kind == "take_along_axis":
        j = s.numpy.integers(0, rows, (count, width)).astype("int32")
        return Workload(
            f"take_along_axis [{rows},{width}] [{count},{width}]",
            (t, j),
            lambda t, j: t.gather(0, j),
            lambda t, j: jnp.take_along_axis(t, j, 0),
        )
    if kind == "scatter add":
        v = s.array((count, width))
        return Workload(
            f"scatter add {count} rows of [{rows},{width}]",
            (t, i, v),
            lambda t, i, v: B.index_add(t, i, v),
            lambda t, i, v: t.at[i].add(v),
        )
    f = {
        "t[i]": (lambda t, i: t[i],) * 2,
        "t[i].sum": (lambda t, i: (t[i] * 2).sum(0),) * 2,
        "(ints / 2)[i]": (
            lambda t, i: (t.cast("int32") * 0.5)[i],
            lambda t, i: (t.astype("int32") * 0.5)[i],
        ),
        "windows": (
            lambda t, i: (t[type(t).arange(4)[:, None] + type(t).arange(rows - 3)] * t[3:]).sum((1, 2)),
            lambda t, i: (t[jnp.arange(4)[:, None] + jnp.arange(rows - 3)] * t[3:]).sum((1, 2)),
        ),
        "grad t[i]": (
            lambda t, i: B.grad(lambda t: (t[i] ** 2).sum())(t),
            lambda t, i: jax.grad(lambda t: (t[i] ** 2).sum())(t),
        ),
    }[kind]
    return Workload(f"{kind} [{rows},{width}] {count}", (t, i), *f)


@family
def convolutions(s: Sampler, B: Any, jax: Any, jnp: Any) -> Workload:  # noqa: N803
    batch, c, o = s.random.choice([1, 4, 13]), s.random.choice([1, 3, 8, 16]), s.random.choice([4, 8, 16])
    k, stride, n = s.random.choice([1, 3, 5]), s.random.choice([1, 1, 2]), s.random.choice([13, 16, 28, 31])
    if s.random.random() < 0.3:
        x, w = s.array((batch, c, n * n)), s.array((o, c, k))
        return Workload(
            f"conv1d {list(x.shape)} {list(w.shape)} stride {stride}",
            (x, w),
            lambda x, w: x.conv2d(w, stride=stride),
            lambda x, w: jax.lax.conv_general_dilated(x, w, (stride,), "VALID"),
        )
    x, w = s.array((batch, c, n, n)), s.array((o, c, k, k))
    kind = s.random.choice(["conv2d", "conv2d", "grad of conv2d", "max pool"])
    conv = (
        lambda x, w: x.conv2d(w, stride=stride),
        lambda x, w: jax.lax.conv_general_dilated(x, w, (stride, stride), "VALID"),
    )
    if kind == "max pool":
        return Workload(
            f"max pool {list(x.shape)}",
            (x, w),
            lambda x, w: x.max_pool2d((2, 2)),
            lambda x, w: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"),
        )
    if kind == "conv2d":
        return Workload(f"conv2d {list(x.shape)} {list(w.shape)} stride {stride}", (x, w), *conv)
    return Workload(
        f"grad of conv2d {list(x.shape)} {list(w.shape)} stride {stride}",
        (x, w),
        lambda x, w: B.grad(lambda w: (conv[0](x, w) ** 2).sum())(w),
        lambda x, w: jax.grad(lambda w: (conv[1](x, w) ** 2).sum())(w),
    )


@family
def mapped(s: Sampler, B: Any, jax: Any, jnp: Any) -> Workload:  # noqa: N803
    shape = s.shape(2, 1 << 17)
    x = s.array(shape)
    w = s.array((shape[1], s.random.choice([7, 16, 64])))
    kind = s.random.choice(["linear", "gradient", "pairs", "normalized", "in_axes=1", "sort", "quadratic form"])
    if kind in ("pairs",):
        x = s.array((s.random.choice([31, 64, 127]), s.random.choice([3, 8, 31])))
    f = {
        "linear": lambda L, V, G: V(lambda r, w: L.tanh(r @ w), in_axes=(0, None)),  # noqa: N803
        "gradient": lambda L, V, G: V(G(lambda r, w: (L.tanh(r @ w)).sum()), in_axes=(0, None)),  # noqa: N803
        "pairs": lambda L, V, G: lambda x, w: V(lambda a: V(lambda b: ((a - b) ** 2).sum())(x))(x),  # noqa: N803
        "normalized": lambda L, V, G: V(lambda r, w: r / (r * r).sum(), in_axes=(0, None)),  # noqa: N803
        "in_axes=1": lambda L, V, G: lambda x, w: V(lambda c: c - c.mean(), in_axes=1, out_axes=1)(x),  # noqa: N803
        "sort": lambda L, V, G: lambda x, w: V(L.sort)(x),  # noqa: N803
        "quadratic form": lambda L, V, G: V(lambda r, w: ((r @ w) ** 2).sum(), in_axes=(0, None)),  # noqa: N803
    }[kind]

    class Ours:
        tanh = staticmethod(lambda x: x.tanh())
        sort = staticmethod(lambda x: x.sort()[0])

    return Workload(f"vmap {kind} {list(x.shape)}", (x, w), f(Ours, B.vmap, B.grad), f(jnp, jax.vmap, jax.grad))


@family
def other(s: Sampler, B: Any, jax: Any, jnp: Any) -> Workload:  # noqa: N803
    shape = s.shape(2, 1 << 16)
    x = s.array(shape)
    kinds = ["pad", "concatenate", "top_k", "scan", "interp", "bincount", "one_hot", "triu", "outer", "outer twice"]
    kind = s.random.choice(kinds)
    n = shape[1]
    i = s.numpy.integers(0, n, 1009).astype("int32")
    ours, theirs = {
        "pad": (lambda x, i: x.pad(((1, 2), (3, 1))) * 2, lambda x, i: jnp.pad(x, ((1, 2), (3, 1))) * 2),
        "concatenate": (lambda x, i: x.cat(x * 2, dim=1), lambda x, i: jnp.concatenate([x, x * 2], 1)),
        "top_k": (lambda x, i: x.topk(5)[0], lambda x, i: jax.lax.top_k(x, 5)[0]),
        "scan": (
            lambda x, i: B.scan(lambda c, r: (c * 0.9 + r, c.sum()), x[0] * 0, x)[1],
            lambda x, i: jax.lax.scan(lambda c, r: (c * 0.9 + r, c.sum()), x[0] * 0, x)[1],
        ),
        "interp": (
            lambda x, i: B.interp(x[0], x[1].cumsum(0), x[2]),
            lambda x, i: jnp.interp(x[0], jnp.cumsum(x[1]), x[2]),
        ),
        "bincount": (lambda x, i: B.bincount(i, length=n), lambda x, i: jnp.bincount(i, length=n)),
        "one_hot": (lambda x, i: i[:100].one_hot(n).float() * 2, lambda x, i: jax.nn.one_hot(i[:100], n) * 2),
        "triu": (lambda x, i: x.triu() + 1, lambda x, i: jnp.triu(x) + 1),
        "outer": (
            lambda x, i: (x[0].reshape(-1, 1) * x[1]).exp().sum(1),
            lambda x, i: jnp.exp(x[0].reshape(-1, 1) * x[1]).sum(1),
        ),
        "outer twice": (
            lambda x, i: (k := (x[0].reshape(-1, 1) * x[1]).exp())[1:].sum(1) - k[:-1].sum(1),
            lambda x, i: (k := jnp.exp(x[0].reshape(-1, 1) * x[1]))[1:].sum(1) - k[:-1].sum(1),
        ),
    }[kind]
    return Workload(f"{kind} {list(shape)}", (x, i), ours, theirs)


class Row(NamedTuple):
    name: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


def best(run: Callable[[], Any], other_run: Callable[[], Any]) -> tuple[float, float]:
    """Return the least times of a call of both functions, in turns."""
    times = times_of_calls({"ours": run, "theirs": other_run}, 0.0, time.perf_counter)
    return min(times["ours"]), min(times["theirs"])


def measure(w: Workload, B: Any, jax: Any) -> Row:  # noqa: N803
    """Compare the values of a workload, and return its times."""
    from tinygrad import Tensor

    ours, theirs = B.jit(w.ours), jax.jit(w.theirs)
    xs = [Tensor(a).realize() for a in w.arrays]
    ys = [jax.numpy.asarray(a) for a in w.arrays]
    expected = np.asarray(theirs(*ys))
    np.testing.assert_allclose(
        ours(*xs).numpy().astype(expected.dtype).reshape(expected.shape), expected, rtol=2e-2, atol=1e-3, err_msg=w.name
    )
    return Row(w.name, *best(lambda: ours(*xs), lambda: jax.block_until_ready(theirs(*ys))))


def workloads(count: int, seed: int, only: str) -> list[Workload]:
    import jax
    import jax.numpy as jnp

    import branded

    out: list[Workload] = []
    i = 0
    while len(out) < count and i < 50 * count:
        w = FAMILIES[i % len(FAMILIES)](Sampler(seed + i), branded, jax, jnp)
        i += 1
        if only in w.name:
            out.append(w)
    return out


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench cliffs", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="the number of workloads (default 200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="TEXT", default="", help="the workloads with this in their name")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="also write the tables to a file")
    options = parser.parse_args(argv)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before jax starts its threads
    import jax

    jax.config.update("jax_enable_x64", True)
    import branded

    rows: list[Row] = []
    failed: list[str] = []
    for w in workloads(options.count, options.seed, options.only):
        try:
            rows.append(row := measure(w, branded, jax))
            print(f"{row.ratio:8.2f}  {row.ours * 1e6:10.1f} µs  {row.name}", flush=True)
        except Exception as error:
            failed.append(f"{w.name}: {type(error).__name__}: {str(error).splitlines()[0]}")
            print(f"  failed  {failed[-1]}", flush=True)
    lines = table(rows, failed, jax.__version__)
    print("\n".join(lines))
    if options.markdown is not None:
        options.markdown.write_text("\n".join(lines) + "\n")


def table(rows: Sequence[Row], failed: Sequence[str], version: str) -> list[str]:
    """Return the page: the summary and the workloads above `CLIFF`."""
    ratios = [r.ratio for r in rows] or [float("nan")]
    cliffs = sorted((r for r in rows if r.ratio > CLIFF), key=lambda r: -r.ratio)
    return [
        "# Random workloads against XLA",
        "",
        "`python -m bench cliffs`: the time of a call on one core, ours over `jax.jit`. Both run in one process, in"
        " turns.",
        "",
        *machine(),
        f"- jax: {version}",
        "",
        f"{len(rows)} workloads: median {median(ratios):.2f}, geometric mean {geometric_mean(ratios):.2f}, "
        f"{sum(r <= 1 for r in ratios)} at most 1, {len(cliffs)} above {CLIFF:g}.",
        "",
        "| workload above 2 | ours, µs | jax, µs | ratio |",
        "|---|--:|--:|--:|",
        *(f"| {r.name} | {r.ours * 1e6:.1f} | {r.theirs * 1e6:.1f} | {r.ratio:.2f} |" for r in cliffs),
        *(["", "Failed:", "", *(f"- {text}" for text in failed)] if failed else []),
    ]
