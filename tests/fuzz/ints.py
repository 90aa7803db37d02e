"""Ints of all widths under all operators, against numpy: `python -m tests.fuzz.ints --programs 2000 --seed 7`.

A program applies one operator to ints of one or two dtypes, whose elements include the bounds of the dtypes.  The
operands are in memory or computed in the same kernel, and the program runs plain and under vmap.  A cast, an addition
or a product may follow in the kernel.  If an int32 or int64 wraps around, no comparison or division follows in the
same kernel: docs/tinygrad.md describes this case.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, _to_np_dtype, least_upper_dtype

from branded import vmap

EXAMPLES = 3
INTS = (*dtypes.uints, *dtypes.sints)
Array = np.ndarray[Any, Any]
Case = tuple[str, Callable[..., Any], Callable[..., Any]]
"""The text of an operator, its function on tensors, and its function on arrays."""
BINARY: tuple[Case, ...] = (
    ("a + b", lambda a, b: a + b, lambda a, b: a + b),
    ("a - b", lambda a, b: a - b, lambda a, b: a - b),
    ("a * b", lambda a, b: a * b, lambda a, b: a * b),
    ("a // b", lambda a, b: a // b, lambda a, b: a // b),
    ("a % b", lambda a, b: a % b, lambda a, b: a % b),
    ("a.fmod(b)", lambda a, b: a.fmod(b), lambda a, b: np.fmod(a, b)),
    ("a & b", lambda a, b: a & b, lambda a, b: a & b),
    ("a | b", lambda a, b: a | b, lambda a, b: a | b),
    ("a ^ b", lambda a, b: a ^ b, lambda a, b: a ^ b),
    ("a.maximum(b)", lambda a, b: a.maximum(b), np.maximum),
    ("a.minimum(b)", lambda a, b: a.minimum(b), np.minimum),
    ("a < b", lambda a, b: a < b, lambda a, b: a < b),
    ("a >= b", lambda a, b: a >= b, lambda a, b: a >= b),
    ("a == b", lambda a, b: a == b, lambda a, b: a == b),
    ("(a < b).where(a, b)", lambda a, b: (a < b).where(a, b), lambda a, b: np.where(a < b, a, b)),
)
SHIFTS: tuple[Case, ...] = (
    ("a << b", lambda a, b: a << b, lambda a, b: a << b),
    ("a >> b", lambda a, b: a >> b, lambda a, b: a >> b),
)
POWER: Case = ("a ** b", lambda a, b: a**b, lambda a, b: a**b)
UNARY: tuple[Case, ...] = (
    ("-a", lambda a: -a, lambda a: -a),
    ("~a", lambda a: ~a, lambda a: ~a),
    ("a.abs()", lambda a: a.abs(), np.abs),
    ("a.sign()", lambda a: a.sign(), np.sign),
    ("a.square()", lambda a: a.square(), np.square),
    ("a.relu()", lambda a: a.relu(), lambda a: np.maximum(a, 0)),
    ("a.clamp(3, 100)", lambda a: a.clamp(3, 100), lambda a: np.clip(a, 3, 100)),
    ("a ** 3", lambda a: a**3, lambda a: a**3),
    ("a ** 0", lambda a: a**0, lambda a: a**0),
    ("a != 0", lambda a: a != 0, lambda a: a != 0),
    *((f"a // {n}", lambda a, n=n: a // n, lambda a, n=n: a // a.dtype.type(n)) for n in (3, 16, 100)),
    *((f"a % {n}", lambda a, n=n: a % n, lambda a, n=n: a % a.dtype.type(n)) for n in (3, 16, 100)),
    *((f"a << {n}", lambda a, n=n: a << n, lambda a, n=n: a << a.dtype.type(n)) for n in (1, 7, 70)),
    *((f"a >> {n}", lambda a, n=n: a >> n, lambda a, n=n: a >> a.dtype.type(n)) for n in (1, 7, 70)),
    ("2 ** (a & 7)", lambda a: 2 ** (a & 7), lambda a: a.dtype.type(2) ** (a & 7)),
    ("100 - a", lambda a: 100 - a, lambda a: a.dtype.type(100) - a),
)
REDUCTIONS: tuple[Case, ...] = (
    ("a.sum(0)", lambda a: a.sum(0), lambda a: a.sum(0)),
    ("a.prod(0)", lambda a: a.prod(0), lambda a: a.prod(0)),
    ("a.max(0)", lambda a: a.max(0), lambda a: a.max(0)),
    ("a.min(0)", lambda a: a.min(0), lambda a: a.min(0)),
    ("a.argmax(0)", lambda a: a.argmax(0), lambda a: a.argmax(0)),
    ("a.argmin(0)", lambda a: a.argmin(0), lambda a: a.argmin(0)),
    ("a.any(0)", lambda a: a.any(0), lambda a: a.any(0)),
    ("a.all(0)", lambda a: a.all(0), lambda a: a.all(0)),
    ("(a // 100).mean(0)", lambda a: (a // 100).mean(0), lambda a: (a // a.dtype.type(100)).astype(float).mean(0)),
    ("(a & 127).std(0)", lambda a: (a & 127).std(0, correction=0), lambda a: (a & 127).astype(float).std(0)),
    ("a.cumsum(0)", lambda a: a.cumsum(0), lambda a: a.cumsum(0)),
    ("a.cumprod(0)", lambda a: a.cumprod(0), lambda a: a.cumprod(0)),
    ("a.cummax(0)[0]", lambda a: a.cummax(0)[0], np.maximum.accumulate),
    ("a.sort(0)[0]", lambda a: a.sort(0)[0], lambda a: np.sort(a, 0)),
    ("a.sum(0, dtype='int64')", lambda a: a.sum(0, dtype="int64"), lambda a: a.sum(0, dtype="int64")),
    ("a.prod(0, dtype='int64')", lambda a: a.prod(0, dtype="int64"), lambda a: a.prod(0, dtype="int64")),
    ("a.sum(0, dtype='int8')", lambda a: a.sum(0, dtype="int8"), lambda a: a.sum(0).astype("int8")),
)
AFTER: tuple[Case, ...] = (
    ("y", lambda y: y, lambda y: y),
    ("y + y", lambda y: y + y, lambda y: y + y),
    ("y * 3", lambda y: y * 3, lambda y: y * (np.int32 if y.dtype == bool else y.dtype.type)(3)),
    *((f"y.cast({d!r})", lambda y, d=d: y.cast(d), lambda y, d=d: y.astype(d)) for d in ("int8", "uint16", "int64")),
)


class Program(NamedTuple):
    """A program: `f` on tensors must equal `of` on arrays, also after `then`."""

    text: str
    f: Callable[..., Any]
    of: Callable[..., Any]
    xs: tuple[Array, ...]
    """The arguments, with the examples along the first axis."""
    then: Case = AFTER[0]

    def __str__(self) -> str:
        text = self.then[0].replace("y", f"({self.text})") if self.then is not AFTER[0] else self.text
        lines = [
            f"{name} = Tensor({x.tolist()}, dtype={x.dtype.name!r})" for name, x in zip("ab", self.xs, strict=False)
        ]
        return "\n  ".join((*lines, f"vmap(lambda {', '.join('ab'[: len(self.xs)])}: {text})"))


def numbers(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...], most: int | None = None) -> Array:
    """Return random ints of a dtype, many of them small or at its bounds; with `most`, from 0 to `most`."""
    np_dtype, low, high = np.dtype(_to_np_dtype(dtype)), int(dtype.min), int(dtype.max)
    if most is not None:
        return rng.integers(0, min(most, high), shape, dtype=np_dtype, endpoint=True)
    found = rng.integers(low, high, shape, dtype=np_dtype, endpoint=True)
    special = np.array([low, low + 1, 0, 1, 2, 3, 7, high - 1, high] + ([-1, -2, -3] if low < 0 else []), np_dtype)
    return np.where(rng.random(shape) < 0.5, found, rng.choice(special, shape))


def _elementwise(rng: random.Random, seed: np.random.Generator) -> Program:
    shape = (EXAMPLES, *rng.choice(((5,), (2, 3), (17,))))
    da, db = (rng.choice(INTS) for _ in range(2))
    common = least_upper_dtype(da, db)
    if rng.random() < 0.4 or not dtypes.is_int(common):
        return Program(*rng.choice(UNARY), (numbers(seed, da, shape),))
    most = None
    if (kind := rng.random()) < 0.15:
        (text, f, of), most = rng.choice(SHIFTS), common.bitsize + 8
    elif kind < 0.35:
        (text, f, of), most = POWER, rng.choice((5, 70, 2**62))
    else:
        text, f, of = rng.choice(BINARY)
    xs = numbers(seed, da, shape), numbers(seed, db, shape, most)
    return Program(text, f, lambda a, b: of(*(x.astype(_to_np_dtype(common)) for x in (a, b))), xs)


def _reduction(rng: random.Random, seed: np.random.Generator) -> Program:
    shape = (EXAMPLES, *rng.choice(((5,), (3, 4), (17,), (1, 3), (40,))))
    return Program(*rng.choice(REDUCTIONS), (numbers(seed, rng.choice(INTS), shape),))


def _product(rng: random.Random, seed: np.random.Generator) -> Program:
    da = rng.choice(INTS)
    db = rng.choice([d for d in INTS if dtypes.is_int(least_upper_dtype(da, d))])
    m, k, n = (rng.choice((1, 2, 5, 17)) for _ in range(3))
    dtype = rng.choice((None, *dtypes.sints, dtypes.uint32, dtypes.float32))
    name = None if dtype is None else dtype.name
    if rng.random() < 0.3:
        xs = numbers(seed, da, (EXAMPLES, 1, 2, k + 2)), numbers(seed, db, (EXAMPLES, 3, 2, 2))
        return Program(f"a.conv2d(b, dtype={name!r})", lambda a, b: a.conv2d(b, dtype=dtype), _convolved, xs)
    xs = numbers(seed, da, (EXAMPLES, m, k)), numbers(seed, db, (EXAMPLES, k, n))
    if rng.random() < 0.5:
        return Program(f"a.matmul(b, dtype={name!r})", lambda a, b: a.matmul(b, dtype=dtype), _exact_product, xs)
    text = f"Tensor.einsum('ij,jk->ik', a, b, dtype={name!r})"
    return Program(text, lambda a, b: Tensor.einsum("ij,jk->ik", a, b, dtype=dtype), _exact_product, xs)


def _exact_product(a: Array, b: Array) -> Array:
    return a.astype(object) @ b.astype(object)


def _convolved(a: Array, b: Array) -> Array:
    windows = np.stack([a[0, :, i : i + 2].ravel() for i in range(a.shape[2] - 1)])
    return _exact_product(windows, b.reshape(3, 4).T).T[None]


def program(seed: int) -> Program:
    """Return the program for a seed."""
    rng, of_numbers = random.Random(seed), np.random.default_rng(seed)
    p = rng.choice((_elementwise, _elementwise, _elementwise, _reduction, _product))(rng, of_numbers)
    return p._replace(then=rng.choice(AFTER))


def _as(x: Any, dtype: DType) -> Array:
    """Convert exact ints to a dtype with wraparound."""
    x, t = np.asarray(x), np.dtype(_to_np_dtype(dtype))
    if x.dtype == object and t.kind in "iu":
        x = np.vectorize(lambda n: (int(n) - int(dtype.min)) % 2**dtype.bitsize + int(dtype.min), otypes=[t])(x)
    return x.astype(t)


def check(p: Program, is_cast: bool) -> list[str]:
    """Return the ways in which the program is incorrect; with `is_cast`, the kernel casts its arguments from int64."""
    given = [Tensor(x.astype(np.int64)).realize().cast(x.dtype.name) if is_cast else Tensor(x).realize() for x in p.xs]
    first = p.f(*(x[0] for x in given))
    if dtypes.is_float(first.dtype):
        p = p._replace(then=AFTER[0])

    def f(*args: Tensor) -> Any:
        return p.then[1](p.f(*args))

    with np.errstate(all="ignore"):
        wanted = [p.then[2](_as(p.of(*x), first.dtype)) for x in zip(*p.xs, strict=True)]
    wrong = []
    for way, found in ((" plain", f(*(x[0] for x in given)).numpy()[None]), ("vmap", vmap(f)(*given).numpy())):
        right = np.stack(wanted[: len(found)])
        same = (
            np.allclose(found, right, rtol=1e-5, atol=1e-5 * np.abs(right).max())
            if found.dtype.kind == "f"
            else (found == right).all()
        )
        if not (same and found.shape == right.shape and found.dtype == right.dtype):
            way += ", of casts" if is_cast else ""
            wrong.append(f"{way}: {found.dtype} {found.tolist()}, right is {right.dtype} {right.tolist()}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.ints", description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=500, help="how many programs (default 500)")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="the seed of the first program")
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    wrong = 0
    for seed in range(args.seed, args.seed + args.programs):
        p = program(seed)
        try:
            found = check(p, seed % 2 == 1)
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
        if found:
            wrong += 1
            print("\n  ".join((f"seed {seed}: {p}", *found)), flush=True)
    print(f"{args.programs} programs, {wrong} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
