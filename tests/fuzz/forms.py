"""Unusual forms of plain tinygrad against numpy: `python -m tests.fuzz.forms --examples 2000 --seed 7`.

A program concatenates values with themselves, pads, shrinks, flips, stacks, repeats, reduces and writes, over floats,
ints and bools, with sizes 0 and 1.  It runs plain or under `vmap`, and must return the result of numpy.
`docs/tinygrad.md` lists the faults that it found; a failure is shrunk before it is printed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Context, Tensor, dtypes

from branded import vmap

SMALL, LARGE = (0, 1, 1, 2, 2, 3, 4, 5), (1, 2, 4, 8, 16, 24, 32, 33)
"""Sizes of axes: `SMALL` for edge cases, `LARGE` for unrolled, vectorized and threaded kernels."""
TYPES = {"f": np.float32, "i": np.int32, "b": np.bool_, "h": np.int8}


class Form(NamedTuple):
    """A kind of step on tensors and on arrays; `choose` returns its parameters, or None where it is not applicable."""

    choose: Callable[[random.Random, Any], tuple[Any, ...] | None]
    tensor: Callable[..., Tensor]
    array: Callable[..., Any]
    two: bool = False


def axis(r: random.Random, x: Any) -> tuple[Any, ...] | None:
    return (r.randrange(x.ndim),) if x.ndim else None


def same(*fs: str) -> Callable[[random.Random, Any], tuple[Any, ...] | None]:
    return lambda r, x: axis(r, x) if x.dtype.char in fs else None


def bounds(r: random.Random, x: Any) -> tuple[Any, ...] | None:
    if not x.ndim:
        return None
    ends = [sorted((r.randint(0, n), r.randint(0, n))) for n in x.shape]
    return (tuple((a, b) for a, b in ends),)


def margins(r: random.Random, x: Any) -> tuple[Any, ...] | None:
    if not x.ndim or r.random() < 0.1:
        return None
    return (tuple((r.randint(0, 2), r.randint(0, 2)) for _ in x.shape),)


def step(r: random.Random, x: Any) -> tuple[Any, ...] | None:
    return (r.randrange(x.ndim), r.choice([2, -1, -2, 3])) if x.ndim else None


def shapes(r: random.Random, x: Any) -> tuple[Any, ...] | None:
    n, out = x.size, []
    if n == 0:
        return ((0, r.randint(1, 3)),)
    while n > 1 and len(out) < 4:
        d = r.choice([d for d in range(1, n + 1) if n % d == 0])
        out.append(d)
        n //= d
    return ((*out, n),)


def strided(a: int, s: int, x: Any) -> Any:
    return x[(*[slice(None)] * a, slice(None, None, s))]


def boxes(b: Any) -> tuple[slice, ...]:
    return tuple(slice(lo, hi) for lo, hi in b)


def wide(x: Any, f: str, *args: Any) -> Any:
    """Return numpy's reduction with the result dtype of tinygrad."""
    if f in ("sum", "prod"):
        to = np.int32 if f == "sum" and x.dtype in (np.bool_, np.int8) else x.dtype
        return getattr(x, f)(*args, dtype=to)
    return getattr(x, f)(*args)


def reducer(f: str) -> Form:
    def fits(r: random.Random, x: Any) -> tuple[Any, ...] | None:
        if f in ("max", "min", "argmax") and (x.size == 0 or x.dtype == np.bool_):
            return None
        if f == "prod" and x.size > 20:
            return None
        if x.ndim and r.random() < 0.6:
            return (r.randrange(x.ndim),)
        return ()

    def numpys(x: Any, *a: Any) -> Any:
        return np.asarray(np.argmax(x, *a).astype(np.int32) if f == "argmax" else wide(x, f, *a))

    return Form(fits, lambda x, *a: getattr(x, f)(*a), numpys)


def setting(x: Tensor, y: Tensor, b: Any) -> Tensor:
    out = x.clone()
    out[boxes(b)] = y[(0,) * y.ndim].cast(out.dtype)
    return out


def set_in_array(x: Any, y: Any, b: Any) -> Any:
    out = x.copy()
    out[boxes(b)] = y[(0,) * y.ndim].astype(out.dtype)
    return out


def adding(x: Tensor, y: Tensor, b: Any) -> Tensor:
    out = x.clone()
    v = out[boxes(b)]
    v += y[(0,) * y.ndim].cast(out.dtype)
    return out * 1


def add_in_array(x: Any, y: Any, b: Any) -> Any:
    out = x.copy()
    out[boxes(b)] += y[(0,) * y.ndim].astype(out.dtype)
    return out


def writable(r: random.Random, x: Any) -> tuple[Any, ...] | None:
    b = bounds(r, x)
    return None if b is None or any(lo == hi for lo, hi in b[0]) or x.dtype == np.bool_ else b


def repeats(r: random.Random, x: Any) -> tuple[Any, ...] | None:
    return (tuple(r.randint(1, 3) for _ in x.shape),) if x.ndim else None


none: Callable[[random.Random, Any], tuple[Any, ...] | None] = lambda r, x: ()  # noqa: E731
numbers: Callable[[random.Random, Any], tuple[Any, ...] | None] = lambda r, x: None if x.dtype == np.bool_ else ()  # noqa: E731
FORMS: dict[str, Form] = {
    "cat_self": Form(axis, lambda x, a: x.cat(x, dim=a), lambda x, a: np.concatenate([x, x], a)),
    "cat_three": Form(axis, lambda x, a: x.cat(x, x, dim=a), lambda x, a: np.concatenate([x, x, x], a)),
    "cat_flip": Form(axis, lambda x, a: x.cat(x.flip(a), dim=a), lambda x, a: np.concatenate([x, np.flip(x, a)], a)),
    "stack_self": Form(none, lambda x: x.stack(x), lambda x: np.stack([x, x])),
    "stack_last": Form(none, lambda x: x.stack(x, dim=-1), lambda x: np.stack([x, x], -1)),
    "shrink": Form(bounds, lambda x, b: x.shrink(b), lambda x, b: x[boxes(b)]),
    "pad": Form(margins, lambda x, m: x.pad(m), lambda x, m: np.pad(x, m)),
    "flip": Form(axis, lambda x, a: x.flip(a), np.flip),
    "step": Form(step, lambda x, a, s: strided(a, s, x), lambda x, a, s: strided(a, s, x)),
    "roll": Form(axis, lambda x, a: x.roll(1, a), lambda x, a: np.roll(x, 1, a)),
    "repeat": Form(repeats, lambda x, n: x.repeat(n), lambda x, n: np.tile(x, n)),
    "reshape": Form(shapes, lambda x, s: x.reshape(s), lambda x, s: x.reshape(s)),
    "flat": Form(none, lambda x: x.reshape(-1), lambda x: x.reshape(-1)),
    "transpose": Form(lambda r, x: () if x.ndim > 1 else None, lambda x: x.transpose(0, 1), lambda x: x.swapaxes(0, 1)),
    "widen": Form(none, lambda x: x.unsqueeze(0).expand(3, *x.shape), lambda x: np.broadcast_to(x, (3, *x.shape))),
    "first": Form(lambda r, x: () if x.ndim and len(x) else None, lambda x: x[0], lambda x: x[0]),
    "last": Form(lambda r, x: () if x.ndim and len(x) else None, lambda x: x[-1], lambda x: x[-1]),
    "contiguous": Form(none, lambda x: x.contiguous(), lambda x: x),
    "sum": reducer("sum"),
    "max": reducer("max"),
    "min": reducer("min"),
    "prod": reducer("prod"),
    "all": reducer("all"),
    "any": reducer("any"),
    "argmax": reducer("argmax"),
    "cumsum": Form(
        lambda r, x: axis(r, x) if x.dtype in (np.float32, np.int32) else None,
        lambda x, a: x.cumsum(a),
        lambda x, a: np.cumsum(x, a, dtype=x.dtype),
    ),
    "twice": Form(numbers, lambda x: x + x, lambda x: x + x),
    "minus": Form(numbers, lambda x: x - 1, lambda x: x - np.ones((), x.dtype)),
    "positive": Form(none, lambda x: x > 0, lambda x: x > 0),
    "not": Form(none, lambda x: x == 0, lambda x: x == 0),
    "float": Form(none, lambda x: x.cast(dtypes.float32), lambda x: x.astype(np.float32)),
    "int": Form(none, lambda x: x.cast(dtypes.int32), lambda x: x.astype(np.int32)),
    "byte": Form(none, lambda x: x.cast(dtypes.int32).cast(dtypes.int8), lambda x: x.astype(np.int32).astype(np.int8)),
    "sort": Form(
        lambda r, x: axis(r, x) if x.dtype == np.float32 and 0 < x.size < 30 else None,
        lambda x, a: x.sort(a)[0],
        lambda x, a: np.sort(x, a),
    ),
    "triu": Form(lambda r, x: () if x.ndim > 1 else None, lambda x: x.triu(), lambda x: np.triu(x)),
    "gather": Form(
        lambda r, x: (tuple(r.randrange(len(x)) for _ in range(r.randint(1, 4))),) if x.ndim and len(x) else None,
        lambda x, i: x[Tensor(list(i))],
        lambda x, i: x[list(i)],
    ),
    "add": Form(none, lambda x, y: x + y, lambda x, y: x + y, True),
    "times": Form(none, lambda x, y: x * y, lambda x, y: x * y, True),
    "where": Form(none, lambda x, y: (x > 0).where(x, y), lambda x, y: np.where(x > 0, x, y), True),
    "less": Form(none, lambda x, y: x < y, lambda x, y: x < y, True),
    "cat": Form(
        none, lambda x, y: x.reshape(-1).cat(y.reshape(-1)), lambda x, y: np.concatenate([x.ravel(), y.ravel()]), True
    ),
    "set": Form(writable, setting, set_in_array, True),
    "add_to": Form(writable, adding, add_in_array, True),
}
ALIKE = {"add", "times", "where", "less", "cat"}


class Step(NamedTuple):
    form: str
    operands: tuple[int, ...]
    params: tuple[Any, ...]


class Program(NamedTuple):
    inputs: tuple[Any, ...]
    """Examples of each input, along its first axis."""
    steps: tuple[Step, ...]
    out: int

    def run(self, xs: Sequence[Any], tensors: bool) -> Any:
        env = list(xs)
        for s in self.steps:
            f = FORMS[s.form]
            y = (f.tensor if tensors else f.array)(*(env[i] for i in s.operands), *s.params)
            env.append(y if tensors else np.asarray(y))
        return env[self.out]

    def __str__(self) -> str:
        lines = [f"v{i} = {x.dtype}{list(x.shape[1:])}" for i, x in enumerate(self.inputs)]
        for i, s in enumerate(self.steps, len(self.inputs)):
            lines.append(f"v{i} = {s.form}({', '.join([*(f'v{j}' for j in s.operands), *map(repr, s.params)])})")
        return "\n  ".join([*lines, f"return v{self.out}"])


def draw(r: random.Random, longest: int, sizes: tuple[int, ...] = SMALL) -> Program:
    inputs = []
    n = r.randint(1, 3)
    for _ in range(r.randint(1, 2)):
        shape = tuple(r.choice(sizes) for _ in range(r.randint(0, 3)))
        kind = r.choice("fffib")
        x = np.array([r.randint(-6, 6) for _ in range(n * int(np.prod(shape)))], np.float32).reshape(n, *shape)
        inputs.append((x / 2 if kind == "f" else x).astype(TYPES[kind]))
    steps: list[Step] = []
    env: list[Any] = [x[0] for x in inputs]
    for _ in range(r.randint(2, longest)):
        name = r.choice(list(FORMS))
        form = FORMS[name]
        i = r.choice([r.randrange(len(env)), len(env) - 1])
        if (params := form.choose(r, env[i])) is None:
            continue
        operands: tuple[int, ...] = (i,)
        if form.two:
            fits = [
                j for j, y in enumerate(env) if y.dtype == env[i].dtype and (name == "cat" or y.shape == env[i].shape)
            ]
            if name not in ALIKE:
                fits = [j for j, y in enumerate(env) if y.size and y.dtype != np.bool_]
            if not fits:
                continue
            operands = (i, r.choice(fits))
        with np.errstate(all="ignore"):
            y = np.asarray(form.array(*(env[j] for j in operands), *params))
        if y.size > 40 * max(sizes) ** 2 or y.ndim > 5 or (y.size and np.abs(y.astype(np.float64)).max() > 1e4):
            continue
        if y.dtype == np.int8 and y.size and np.abs(y.astype(int)).max() > 60:
            continue
        steps.append(Step(name, operands, params))
        env.append(y)
    return Program(tuple(inputs), tuple(steps), len(env) - 1)


def wrong(p: Program, realize: bool, batched: bool) -> str | None:
    """Return a description of the difference from numpy, or None."""
    with np.errstate(all="ignore"):
        wants = [p.run([x[k] for x in p.inputs], False) for k in range(len(p.inputs[0]))]
    want = np.stack(wants) if batched else wants[0]
    xs = [Tensor(np.array(x if batched else x[0])) for x in p.inputs]
    if realize:
        xs = [x.realize() for x in xs]
    try:
        out = vmap(lambda *a: p.run(a, True))(*xs) if batched else p.run(xs, True)
        got = out.numpy()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape} in place of {want.dtype}{want.shape}"
    if not np.allclose(got.astype(np.float64), want.astype(np.float64), 1e-4, 1e-4, equal_nan=True):
        return f"{got.tolist()} in place of {want.tolist()}"
    return None


def shorter(p: Program, fails: Callable[[Program], bool]) -> Program:
    """Return the program without the steps that the failure does not need."""
    changed = True
    while changed:
        changed = False
        for cut in reversed(range(len(p.steps))):
            at = cut + len(p.inputs)
            new = _without(p, at)
            if new is not None and fails(new):
                p, changed = new, True
                break
    return p


def _without(p: Program, at: int) -> Program | None:
    s = p.steps[at - len(p.inputs)]

    def to(i: int) -> int:
        i = s.operands[0] if i == at else i
        return i - (i > at)

    steps = [t._replace(operands=tuple(map(to, t.operands))) for j, t in enumerate(p.steps, len(p.inputs)) if j != at]
    return p._replace(steps=tuple(steps), out=to(p.out))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.forms", description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--steps", type=int, default=7, help="the longest program")
    parser.add_argument("--device", default="PYTHON")
    parser.add_argument("--large", action="store_true", help="axes of up to 33 entries")
    args = parser.parse_args()
    r, start, failures = random.Random(args.seed), time.monotonic(), 0
    with Context(DEV=args.device):
        for k in range(args.examples):
            p, realize, batched = (
                draw(r, args.steps, LARGE if args.large else SMALL),
                r.random() < 0.5,
                r.random() < 0.5,
            )
            if (what := wrong(p, realize, batched)) is None:
                continue
            failures += 1

            def fails(q: Program) -> bool:
                try:
                    return (w := wrong(q, realize, batched)) is not None and (": " in w) == (": " in what)
                except Exception:
                    return False

            p = shorter(p, fails)
            print(
                f"program {k} of seed {args.seed}, realized {realize}, batched {batched}: {wrong(p, realize, batched)}"
            )
            print(f"  {p}", flush=True)
    print(f"{args.examples} programs of seed {args.seed}: {failures} are wrong, {time.monotonic() - start:.0f} s")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
