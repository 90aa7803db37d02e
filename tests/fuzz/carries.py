"""Python numbers as carries, over all dtypes and loops: `python -m tests.fuzz.carries --programs 2000 --seed 7`.

Each program is a loop over elements of one dtype, whose initial carry is a Python number.  The expected result is
computed by a Python loop that spells out the rule for dtypes (`Value`); jax confirms the rule if it is installed.  It
prints the seed, each incorrect program, and the counts; the exit code is 1 if a program is incorrect.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, strong_dtype

from branded import fori_loop, jit, scan, vmap, while_loop
from branded.errors import CarryError

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
DTYPES = ("bool", *INTS, *FLOATS)
WEAK = {"int": "int32", "float": "float32"}
"""The types of Python numbers, and the dtype of an array of them."""


# ---- expected results ----


def promoted(a: str, b: str) -> str:
    """Return the dtype of an operation: a Python number takes the dtype of the other operand if that loses nothing."""
    if a == b:
        return a
    if a in WEAK and b in WEAK:
        return "float"
    number, dtype = (a, b) if a in WEAK else (b, a)
    if dtype == "bool":
        return number
    return dtype if number == "int" or dtype in FLOATS else "float32"


def wrapped(x: Any, dtype: str) -> Any:
    """Return `x` converted to this dtype; ints wrap around."""
    if dtype in FLOATS or dtype == "float":
        return float(x)
    if dtype == "bool":
        return bool(x)
    full = WEAK.get(dtype, dtype)
    bits = int(full.strip("uint"))
    x = int(x) % (1 << bits)
    return x if full[0] == "u" or x < 1 << (bits - 1) else x - (1 << bits)


class Value:
    """A number with its dtype: the dtype of an array, or `int` or `float` for a Python number."""

    def __init__(self, x: Any, dtype: str) -> None:
        self.x, self.dtype = wrapped(x, dtype), dtype

    def _with(self, other: Any, f: Callable[[Any, Any], Any]) -> Value:
        b = other if isinstance(other, Value) else Value(other, type(other).__name__)
        dtype = promoted(self.dtype, b.dtype)
        if self.dtype == b.dtype == "bool" and f is not _largest:
            return Value(bool(self.x) | bool(b.x) if f is _sum else bool(self.x) & bool(b.x), "bool")
        return Value(f(wrapped(self.x, dtype), wrapped(b.x, dtype)), dtype)

    def __add__(self, other: Any) -> Value:
        return self._with(other, _sum)

    def __mul__(self, other: Any) -> Value:
        return self._with(other, _product)

    def maximum(self, other: Any) -> Value:
        return self._with(other, _largest)

    __radd__, __rmul__ = __add__, __mul__


def _sum(a: Any, b: Any) -> Any:
    return a + b


def _product(a: Any, b: Any) -> Any:
    return a * b


def _largest(a: Any, b: Any) -> Any:
    return max(a, b)


class Refused(Exception):
    """The dtype of the carry changes in each step."""


def right(step: Step, init: Any, xs: Sequence[Any], dtype: str, known: bool = True) -> tuple[Value, list[Value]]:
    """Run the loop in Python, with the initial carry converted to the dtype of a step; `known`: its number is known."""
    first = Value(init, type(init).__name__)
    while True:
        given = step(first, Value(xs[0], dtype))[0].dtype
        if given == first.dtype or (given in WEAK and promoted(first.dtype, given) == first.dtype):
            break
        if first.dtype not in WEAK:
            raise Refused
        joint = WEAK.get(given, given)
        loses = (first.dtype == "float" and joint not in FLOATS) or joint == "bool"
        if loses and not (known and wrapped(init, joint) == init):
            joint = WEAK[first.dtype]
        first = Value(init, joint)
    ys, c = [], first
    for x in xs:
        c, y = step(c, Value(x, dtype))
        c = Value(c.x, first.dtype)
        ys.append(y)
    return c, ys


# ---- programs ----


Step = Callable[[Any, Any], tuple[Any, Any]]
STEPS: dict[str, Step] = {
    "c * 3 + x": lambda c, x: (c * 3 + x, c),
    "x + c": lambda c, x: (x + c, c * x),
    "maximum": lambda c, x: (x.maximum(c), x),
    "c + 1": lambda c, x: (c + 1, c * x),
    "c + 0.5": lambda c, x: (c + 0.5, x),
    "c": lambda c, x: (c, x * c),
    "x": lambda c, x: (x, x),
    "x * 2 + 1": lambda c, x: (x * 2 + 1, c + x),
}
INITS = (0, 1, 2, 0.0, 0.5)
STEPS_OF = {
    "scan": {},
    "reverse": {"reverse": True},
    "unroll 2": {"unroll": 2},
    "unroll": {"unroll": True},
    "checkpoint": {"checkpoint": 2},
}
LOOPS = (*STEPS_OF, "fori_loop", "fori_loop, unroll", "fori_loop, tensor", "while_loop")
TRANSFORMS = ("plain", "jit", "vmap", "jit of the number", "in a scan")


class Program(NamedTuple):
    init: int | float
    dtype: str
    xs: tuple[int, ...]
    step: str
    loop: str
    transform: str

    def __str__(self) -> str:
        return f"{self.transform}: {self.loop} of {self.step}, from {self.init!r} on, over {self.dtype} {self.xs}"


def run(p: Program) -> tuple[Tensor, Tensor | None]:
    """Run the program with branded: return the last carry, and the stacked outputs of a scan."""
    xs = Tensor(list(p.xs), dtype=_dtype(p.dtype))
    step = STEPS[p.step]

    def loop(xs: Any, init: Any = p.init) -> Any:
        if p.loop in STEPS_OF:
            return scan(step, init, xs, **STEPS_OF[p.loop])  # type: ignore[call-overload]
        if p.loop == "while_loop":
            n = len(p.xs)
            return while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, step(c[1], xs[c[0]])[0]), (0, init))[1], None
        end: Any = Tensor([len(p.xs)])[0] if p.loop == "fori_loop, tensor" else len(p.xs)
        unroll = 2 if p.loop == "fori_loop, unroll" else None
        return fori_loop(0, end, lambda i, c: step(c, xs[i])[0], init, unroll=unroll), None

    if p.transform == "plain":
        return loop(xs)  # type: ignore[no-any-return]
    if p.transform == "jit":
        return jit(loop)(xs)  # type: ignore[no-any-return]
    if p.transform == "jit of the number":
        return jit(loop)(xs, p.init)  # type: ignore[no-any-return]
    if p.transform == "vmap":
        c, ys = vmap(loop)(Tensor.stack(xs, xs))
    else:
        _, (c, ys) = scan(lambda _, xs: (None, loop(xs)), None, Tensor.stack(xs, xs))
    return c[1], ys if ys is None else ys[1]


def _read(x: Tensor) -> Any:
    return x.cast(dtypes.float64).tolist() if dtypes.is_float(x.dtype) else x.tolist()


def _dtype(name: str) -> DType:
    found: DType = getattr(dtypes, name)
    return found


def wrong(p: Program) -> str | None:
    """Return the result and the expected result if they differ."""
    xs = p.xs[::-1] if p.loop == "reverse" else p.xs
    try:
        c, ys = right(STEPS[p.step], p.init, xs, p.dtype, p.transform != "jit of the number")
    except Refused:
        try:
            run(p)
        except CarryError:
            return None
        return "accepted, though each step gives another dtype"
    if p.loop == "reverse":
        ys = ys[::-1]
    try:
        got, got_ys = run(p)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    wanted = [(c.x, c.dtype)]
    found = [(_read(got), strong_dtype(got.dtype))]
    if got_ys is not None:
        wanted += [(y.x, y.dtype) for y in ys]
        found += [(y, got_ys.dtype) for y in _read(got_ys)]
    if [(x, _dtype(WEAK.get(d, d))) for x, d in wanted] == found:
        return None
    return f"{found}, and right is {wanted}"


def programs(r: random.Random) -> Iterator[Program]:
    every = list(itertools.product(INITS, DTYPES, STEPS, LOOPS, TRANSFORMS))
    r.shuffle(every)
    for init, dtype, step, loop, transform in itertools.cycle(every):
        n = 3 if dtype in ("float16", "bfloat16") else r.choice((3, 4, 5))
        most = 1 if dtype == "bool" else 3 if dtype in FLOATS else 120
        xs = tuple(r.randint(0, most) for _ in range(n))
        yield Program(init, dtype, xs, step, loop, transform)


def confirmed(p: Program) -> str | None:
    """Return a message if jax disagrees with the rule; None if it agrees, or for dtypes of 64 bits."""
    import jax.numpy as jnp
    from jax import lax

    if p.dtype.endswith("64"):
        return None

    def step(c: Any, x: Any) -> Any:
        names = {"maximum": lambda c, x: (jnp.maximum(x, c), x)}
        return names.get(p.step, STEPS[p.step])(c, x)

    try:
        c, ys = map(jnp.asarray, lax.scan(step, p.init, jnp.array(p.xs, dtype=p.dtype)))
    except TypeError:
        return None  # jax stops here, but the rule continues to look for a dtype
    own, own_ys = right(STEPS[p.step], p.init, p.xs, p.dtype)
    theirs = [(c.item(), c.dtype.name), *((y, ys.dtype.name) for y in ys.tolist())]
    ours = [(v.x, WEAK.get(v.dtype, v.dtype)) for v in (own, *own_ys)]
    return None if theirs == ours else f"jax: {theirs}, the rule: {ours}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.carries", description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--jax", action="store_true", help="ask jax about the rule, and run nothing here")
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    found = 0
    for p in itertools.islice(programs(random.Random(args.seed)), args.programs):
        if said := (confirmed if args.jax else wrong)(p):
            found += 1
            print(f"{p}\n  {said}", flush=True)
    print(f"{args.programs} programs, {found} wrong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
