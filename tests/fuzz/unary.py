"""Elementwise functions and their derivatives at special and at random points, compared with JAX.

    .venv/jax/bin/python -m tests.fuzz.unary --programs 2000 --seed 7

A program is one function in one dtype at 40 points: its value, or a first or second derivative, computed in one of
several ways. The expected value is that of JAX in the same dtype or in float64. `--store` writes `unary.json`, the
expected values at `POINTS`, which the test suite uses; without JAX this command uses them too.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Tensor

import branded
from branded import functions, grad, jvp, vmap

Array = np.ndarray[Any, Any]
STORED = Path(__file__).with_suffix(".json")

# ---- the functions ----

_NAMES = (
    "exp exp2 log log2 log10 sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
    "erf square abs neg sign ceil floor round trunc relu sigmoid relu6 hardswish hardsigmoid hardtanh leaky_relu "
    "quick_gelu gelu exact_gelu silu elu celu softplus mish logsigmoid softsign lgamma digamma erfinv"
)
NAMES = tuple(_NAMES.split())
BINARY = ("pow", "logaddexp", "maximum", "div")
NAN_IS_LOST = {"relu", "relu6", "hardsigmoid", "sign", "abs"}
"""Functions for which tinygrad returns a number for NaN, or a derivative at NaN."""


def ours(name: str) -> Callable[..., Tensor]:
    if name == "exact_gelu":
        return lambda x: x.gelu("none")
    return getattr(functions if hasattr(functions, name) else Tensor, name)


def theirs(name: str) -> Callable[..., Any]:
    import jax.numpy as jnp
    import jax.scipy.special as special
    from jax import lax, nn

    known: dict[str, Any] = {
        "rsqrt": lax.rsqrt, "reciprocal": lambda x: 1 / x, "erf": special.erf, "neg": jnp.negative,
        "exact_gelu": lambda x: nn.gelu(x, approximate=False), "quick_gelu": lambda x: x * nn.sigmoid(1.702 * x),
        "hardswish": nn.hard_swish, "hardsigmoid": nn.hard_sigmoid, "hardtanh": nn.hard_tanh,
        "logsigmoid": nn.log_sigmoid, "softsign": nn.soft_sign, "lgamma": special.gammaln, "digamma": special.digamma,
        "erfinv": special.erfinv, "pow": jnp.power, "div": jnp.divide,
    }  # fmt: skip
    at = {
        "asin": "arcsin",
        "acos": "arccos",
        "atan": "arctan",
        "asinh": "arcsinh",
        "acosh": "arccosh",
        "atanh": "arctanh",
    }
    jax_name = at.get(name, name)
    return known.get(name) or getattr(nn if hasattr(nn, jax_name) and not hasattr(jnp, jax_name) else jnp, jax_name)


def is_compared(name: str, order: int, x: Array) -> Array:
    """Return the points at which JAX and tinygrad have the same definition, and JAX is accurate."""
    ok = np.ones(len(x), bool)
    if order:
        ok &= ~np.isnan(x)
    if name in NAN_IS_LOST:
        ok &= ~np.isnan(x)
    if name in {"abs", "softsign"} and order:
        ok &= x != 0  # the derivative at 0 is 1 in JAX and 0 in tinygrad
    if name in {"sin", "cos", "tan"}:
        ok &= np.abs(x) < 1e5  # float64 is not accurate for larger points
    if name in {"digamma", "lgamma"} and order + (name == "digamma") > 1:
        ok &= (x > 0) & (x < np.inf)  # JAX's polygamma is defined only here
    if name in {"acosh", "atanh"} and order:
        ok &= (x >= 1) if name == "acosh" else np.abs(x) <= 1  # no derivative outside of the domain
    if name == "hardswish" and order:
        ok &= np.isfinite(x)  # a product with a factor 0 would be NaN
    if name == "hardsigmoid" and order:
        ok &= np.abs(x) != 3  # rounding decides on which side the point is
    return ok


# ---- ways to differentiate ----


def _first(f: Callable[..., Tensor], i: int, way: str) -> Callable[..., Tensor]:
    """Return the elementwise derivative with respect to argument `i`."""
    if way == "reverse":
        return lambda *xs: grad(lambda *ys: f(*ys).sum(), i)(*xs)
    if way == "gradient":
        return lambda *xs: f(*xs).gradient(xs[i])[0] if not xs[i].ndim else f(*xs).sum().gradient(xs[i])[0]
    return lambda *xs: jvp(lambda y: f(*xs[:i], y, *xs[i + 1 :]), (xs[i],), (xs[i].ones_like(),))[1]


class Program(NamedTuple):
    name: str
    dtype: str
    by: tuple[int, ...]
    """The arguments to differentiate with respect to, one after another."""
    ways: tuple[str, ...]
    """The ways to differentiate, one for each of them."""
    is_mapped: bool

    def __str__(self) -> str:
        how = ", ".join(f"{way} by argument {i}" for i, way in zip(self.by, self.ways, strict=True))
        return f"{self.name} in {self.dtype}: {how or 'value'}{', under vmap' if self.is_mapped else ''}"

    def run(self, *points: Array) -> Tensor:
        f = ours(self.name)
        for i, way in zip(self.by, self.ways, strict=True):
            f = _first(f, i, way)
        return (vmap(f) if self.is_mapped else f)(*(Tensor(p.astype(self.dtype)) for p in points))

    def right(self, *points: Array) -> list[Array]:
        """Return the results of JAX in this dtype and in float64."""
        import jax

        f = theirs(self.name)
        for i in self.by:
            f = jax.grad(f, i)
        given = [p.astype(self.dtype) for p in points]
        return [np.asarray(jax.vmap(f)(*(p.astype(d) for p in given))) for d in dict.fromkeys((self.dtype, "float64"))]


def wrong(p: Program, points: tuple[Array, ...], got: Array, right: list[Array]) -> list[str]:
    """Return the points at which the result equals none of the expected values."""
    rtol, atol = (3e-5, 3e-6) if p.dtype == "float32" else (1e-9, 1e-12)
    got, ok = got.astype("float64"), ~is_compared(p.name, len(p.by), points[0].astype(p.dtype))
    tiny = np.finfo(p.dtype).tiny
    for x in points:
        ok |= (np.abs(x) < tiny) & (x != 0)  # XLA flushes subnormal inputs to zero
    with np.errstate(all="ignore"):
        for w in right:
            wanted = w.astype("float64")
            short = wanted.astype(p.dtype).astype("float64")  # overflow or underflow of the dtype
            ok |= (got == short) | (np.abs(got - wanted) <= rtol * np.abs(wanted) + atol)
            ok |= np.isnan(wanted) & (np.isnan(got) | bool(p.by))  # where JAX has NaN, branded may return a limit
    at = zip(*points, got, *right, strict=True)
    return [
        f"{row[: len(points)]}: {row[len(points)]}, not {row[-1]}" for row, good in zip(at, ok, strict=True) if not good
    ]


# ---- points ----

POINTS = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 6.0, -0.75, 1.5, -20.0, 30.0, 100.0, -200.0),
    *(1e-3, -1e-3, 1e-8, -1e-8, 1e4, -1e4, math.inf, -math.inf, math.nan),
)
FAR = (1e10, -1e10, 1e20, -1e20, 1e37, -1e37, 1e-20, -1e-20, 1e-37)


def drawn(r: random.Random, n: int) -> Array:
    """Return points of all magnitudes."""
    special = r.sample((*POINTS, *FAR), n // 2)
    return np.array(special + [r.choice((-1, 1)) * 10 ** r.uniform(-6, 3) for _ in range(n - len(special))])


def draw(r: random.Random) -> tuple[Program, tuple[Array, ...]]:
    name = r.choice((*NAMES, *BINARY))
    order, arity = r.randrange(3), 1 + (name in BINARY)
    p = Program(
        name,
        r.choice(("float32", "float64")),
        tuple(r.randrange(arity) for _ in range(order)),
        tuple(r.choice(("reverse", "forward", "gradient")) for _ in range(order)),
        r.random() < 0.5,
    )
    if arity == 1:
        return p, (drawn(r, 40),)
    near = np.array([r.choice((0.0, 1.0, 4.0, 0.5, 2.0, 10 ** r.uniform(-3, 2))) for _ in range(40)])
    by = np.array([r.choice((0.0, 1.0, 2.0, 3.0, 0.5, -1.0, 1.5, r.uniform(-4, 4))) for _ in range(40)])
    return p, (near, by)


def is_smooth(name: str, x: Array, y: Array) -> Array:
    """Return the points at which all libraries define the same derivative of a function of two arguments."""
    if name == "maximum":
        return x != y
    return (x != 0) & (y != 0) if name == "div" else (x != 0) if name == "pow" else np.ones(len(x), bool)


# ---- stored values ----


def stored_programs(way: str) -> Iterator[Program]:
    for name in NAMES:
        for dtype in ("float32", "float64"):
            for order in range(3):
                yield Program(name, dtype, (0,) * order, (way,) * order, False)


def store() -> None:
    points = np.array(POINTS, "float32")
    right = {
        name: [Program(name, "float32", (0,) * n, ("",) * n, False).right(points)[-1].tolist() for n in range(3)]
        for name in NAMES
    }
    STORED.write_text(json.dumps(right).replace("]], ", "]],\n") + "\n")


def stored() -> dict[str, list[list[float]]]:
    known: dict[str, list[list[float]]] = json.loads(STORED.read_text())
    return known


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--store", action="store_true", help="write the right values for the tests")
    args = parser.parse_args()
    try:
        import jax
    except ImportError:
        return without_jax()
    jax.config.update("jax_enable_x64", True)
    if args.store:
        store()
        return 0
    print(f"seed {args.seed}", flush=True)
    r, bad = random.Random(args.seed), 0
    for _ in range(args.programs):
        p, points = draw(r)
        points = tuple(x.astype("float32").astype("float64") for x in points)
        if len(points) == 2 and p.by:
            points = tuple(x[is_smooth(p.name, *points)] for x in points)
        try:
            found = wrong(p, points, p.run(*points).numpy(), p.right(*points))
        except (branded.errors.BrandedError, AssertionError, RuntimeError, TypeError) as error:
            found = [f"{type(error).__name__}: {error}"]
        if found:
            bad += 1
            print(p, *found[:5], sep="\n    ", flush=True)
    print(f"{args.programs} programs, {bad} wrong")
    return bool(bad)


def without_jax() -> int:
    """Compare with the stored values of JAX."""
    points, known, bad, count = np.array(POINTS, "float32"), stored(), 0, 0
    for way in ("reverse", "forward", "gradient"):
        for p in stored_programs(way):
            count += 1
            if found := wrong(p, (points,), p.run(points).numpy(), [np.array(known[p.name][len(p.by)])]):
                bad += 1
                print(p, *found, sep="\n    ", flush=True)
    print(f"{count} programs with the stored values, {bad} wrong")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
