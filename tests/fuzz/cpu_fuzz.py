"""Random products, reductions and elementwise programs on the CPU, against numpy: `python -m tests.fuzz.cpu_fuzz`.

Shapes are odd, small, empty or long.  Arguments are parts of larger arrays: with an offset, with strides, flipped,
transposed or repeated.  All elements are multiples of 1/8 that each dtype represents exactly, and numpy computes in
float64 or int64, so the only error of a float is rounding.  `BRANDED_CPU=0` tests tinygrad's own kernels.
"""

from __future__ import annotations

import argparse
import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, _to_np_dtype

import branded  # noqa: F401
from tests.support.examples import in_memory

ROUNDING = {dtypes.float64: 2.0**-52, dtypes.float32: 2.0**-23, dtypes.float16: 2.0**-10, dtypes.bfloat16: 2.0**-7}
INTS = (dtypes.int8, dtypes.uint8, dtypes.int32, dtypes.int64)
SIZES = (0, 1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 32, 33, 63, 64, 100, 127, 129)


class Value(NamedTuple):
    """The same elements as a Tensor and as a numpy array."""

    ours: Tensor
    numpy: np.ndarray

    def both(self, f: Callable[[Any], Any]) -> Value:
        return Value(f(self.ours), f(self.numpy))


class Program(NamedTuple):
    """A program: `ours` must equal `wanted` up to `error`."""

    text: str
    ours: Tensor
    wanted: np.ndarray
    error: np.ndarray


def base(rng: random.Random, dtype: DType, shape: Sequence[int]) -> Value:
    """Return an array in memory."""
    numbers = np.random.default_rng(rng.getrandbits(32))
    if dtype in ROUNDING:
        x = numbers.integers(-16, 17, shape) / 8
    else:
        x = numbers.integers(0 if dtype == dtypes.uint8 else -3, 4, shape).astype(np.int64)
    if dtype == dtypes.bfloat16:  # bfloat16 is the upper half of a float32
        return Value(in_memory((x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16), dtype), x)
    return Value(in_memory(x.astype(_to_np_dtype(dtype))), x)


def part(rng: random.Random, dtype: DType, shape: Sequence[int]) -> Value:
    """Return an argument of this shape: a whole array, or part of a larger one."""
    way = rng.choice(("whole", "whole", "offset", "strides", "flipped", "transposed", "repeated"))
    if way == "whole" or not shape:
        return base(rng, dtype, shape)
    if way == "offset":
        before = [rng.randrange(3) for _ in shape]
        x = base(rng, dtype, [n + b + rng.randrange(2) for n, b in zip(shape, before, strict=True)])
        at = tuple(slice(b, b + n) for n, b in zip(shape, before, strict=True))
    elif way == "strides":
        by = [rng.choice((1, 2, 3)) for _ in shape]
        x = base(rng, dtype, [n * s for n, s in zip(shape, by, strict=True)])
        at = tuple(slice(None, None, s) for s in by)
    elif way == "flipped":
        x = base(rng, dtype, shape)
        at = tuple(slice(None, None, rng.choice((1, -1))) for _ in shape)
    elif way == "transposed":
        x = base(rng, dtype, shape[::-1])
        return Value(x.ours.permute(*range(len(shape))[::-1]), x.numpy.T)
    else:
        i = rng.randrange(len(shape))
        x = base(rng, dtype, [1 if j == i else n for j, n in enumerate(shape)])
        return Value(x.ours.expand(*shape), np.broadcast_to(x.numpy, shape))
    return x.both(lambda a: a[at])


def shape_of(rng: random.Random, least: int, most: int, many: int = 20_000) -> list[int]:
    """Return a random shape with at most `many` elements."""
    while True:
        shape = [rng.choice(SIZES) for _ in range(rng.randint(least, most))]
        if np.prod(shape) <= many:
            return shape


def product(rng: random.Random, dtype: DType) -> Program:
    """Return a matrix multiplication, batched or with a vector."""
    m, k, n = (rng.choice(SIZES) for _ in range(3))
    batch = rng.choice(([], [], [rng.choice((0, 1, 2, 5))], [2, 3]))
    left, right = rng.choice((([*batch, m, k], [*batch, k, n]), ([*batch, m, k], [k, n]), ([m, k], [k]), ([k], [k, n])))
    a, b = part(rng, dtype, left), part(rng, dtype, right)
    error = (np.abs(a.numpy) @ np.abs(b.numpy)) * ROUNDING.get(dtype, 0) * 2
    if dtype in (dtypes.float32, dtypes.float64):
        error = error * max(k, 1)
    return Program(f"{left} @ {right}", a.ours @ b.ours, a.numpy @ b.numpy, error)


BEFORE: dict[str, Callable[[Any], Any]] = {
    "x": lambda x: x,
    "x * x": lambda x: x * x,
    "x * 2 + 1": lambda x: x * 2 + 1,
    "abs(x)": lambda x: x.abs() if isinstance(x, Tensor) else np.abs(x),
}


def reduction(rng: random.Random, dtype: DType) -> Program:
    """Return a sum, maximum, minimum or mean over some axes."""
    shape = shape_of(rng, 1, 4)
    axes = tuple(sorted(rng.sample(range(len(shape)), rng.randint(1, len(shape)))))
    terms = int(np.prod([shape[i] for i in axes]))
    names = ["sum"] + (["max", "min"] if terms else []) + (["mean"] if terms and dtype in ROUNDING else [])
    name, (said, f) = rng.choice(names), rng.choice(list(BEFORE.items()))
    x = part(rng, dtype, shape)
    y = x.both(f)
    wanted = getattr(y.numpy, name)(axis=axes)
    error = ROUNDING.get(dtype, 0) * 4 * (np.abs(y.numpy).sum(axes) if name in ("sum", "mean") else np.abs(wanted))
    if dtype in (dtypes.float32, dtypes.float64):
        error = error * max(terms, 1)
    return Program(f"({said}).{name}({axes}) of {shape}", getattr(y.ours, name)(axes), wanted, error)


def elementwise(rng: random.Random, dtype: DType) -> Program:
    """Return an operation on two arrays that broadcast; its only error is rounding."""
    shape = shape_of(rng, 1, 4)
    other = shape[rng.randrange(len(shape)) :]
    x, y = part(rng, dtype, shape), part(rng, dtype, [1 if rng.random() < 0.2 else n for n in other])
    size = np.abs(x.numpy) + np.abs(y.numpy)
    name = rng.choice(("x + y", "x * y - x", "maximum", "where", "x / y", "x < y"))
    a, b, p, q = x.ours, y.ours, x.numpy, y.numpy
    if name == "x / y" and dtype in ROUNDING:
        ours, wanted = a / (b * b + 1), p / (q * q + 1)
    elif name == "maximum":
        ours, wanted = a.maximum(b), np.maximum(p, q)
    elif name == "where":
        ours, wanted = (a < 1).where(a, b), np.where(p < 1, p, q)
    elif name == "x < y":
        ours, wanted, size = a < b, p < q, size * 0
    elif name == "x * y - x":
        ours, wanted, size = a * b - a, p * q - p, size * (1 + size)
    else:
        name, ours, wanted = "x + y", a + b, p + q
    return Program(f"{name} of {shape} and {other}", ours, wanted, size * ROUNDING.get(dtype, 0) * 4)


KINDS = {"product": product, "reduction": reduction, "elementwise": elementwise}


def program(seed: int, number: int) -> Program:
    rng = random.Random(f"{seed} {number}")
    dtype = rng.choice((dtypes.float32, dtypes.float32, *ROUNDING, *INTS))
    made = rng.choice(list(KINDS.values()))(rng, dtype)
    return made._replace(text=f"{number}: {dtype.name} {made.text}")


def wrong(p: Program) -> str | None:
    """Return a description of the difference, or None."""
    if p.ours.shape != p.wanted.shape:
        return f"the shape is {p.ours.shape} in place of {p.wanted.shape}"
    floats = p.ours.dtype in ROUNDING
    got = p.ours.cast(dtypes.float64 if floats else dtypes.int64).numpy()
    if floats:
        bad = ~(np.abs(got - p.wanted) <= p.error + 1e-300)
    else:
        wraps = np.dtype(f"i{p.ours.dtype.itemsize}") if p.ours.dtype != dtypes.bool else np.dtype(bool)
        bad = got.astype(wraps) != p.wanted.astype(wraps)
    if not bad.any():
        return None
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"{int(bad.sum())} of {bad.size} are wrong, as {got[at]} at {at} in place of {p.wanted[at]}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.cpu_fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--from", dest="first", type=int, default=0)
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    count: Counter[str] = Counter()
    for number in range(options.first, options.first + options.programs):
        p = program(options.seed, number)
        try:
            said = wrong(p)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        count["wrong" if said else "right"] += 1
        if said:
            print(f"{p.text}\n  {said}", flush=True)
        if (number + 1) % 100 == 0:
            print(f"{dict(count)} of seed {options.seed}", file=sys.stderr, flush=True)
    print(f"{count['right']} of {options.programs} programs are right")
    return bool(count["wrong"])


if __name__ == "__main__":
    sys.exit(main())
