"""Random programs of all collectives under all transforms: `python -m tests.fuzz.collectives --programs 2000 --seed 7`.

A program is a function of `x`, which some of the surrounding vmaps map, and `w`, which all examples share.  The oracle
uses no vmap: it computes on whole batches with leading axes, and differentiates that.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Tensor

import branded
from tests.support.by_numpy import read

SIZES = (1, 1, 2, 3)
LARGEST = 36
TRANSFORMS = ("value", "grad", "grad outside", "grad between", "vjp", "jvp", "jvp outside", "hvp", "hvp outside")
RUNS = ("plain", "plain", "jit", "scan", "make_expr", "devices", "chunked")
REDUCTIONS = ("psum", "pmean", "pmax", "pmin")
DEVICES = ("CPU", "CPU:1")


class Step(NamedTuple):
    """One line of a body: an operation, its operands, axis names, and other arguments."""

    op: str
    of: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    bare: bool = False
    """True if a single axis name is passed without a tuple."""
    given: tuple[Any, ...] = ()


class Program(NamedTuple):
    names: tuple[str, ...]
    """The brands, outermost first."""
    sizes: tuple[int, ...]
    mapped: tuple[bool, ...]
    """For each brand, whether it maps `x`."""
    steps: tuple[Step, ...]
    transform: str
    by: int
    """The index of the argument to differentiate with respect to: `x` or `w`."""
    run: str
    at: int
    """The index of the brand that is sharded over devices, or chunked."""
    seed: int


# ---- generation ----


def draw(seed: int, number: int) -> Program:
    rng = random.Random(f"{seed} {number}")
    depth = rng.choice((1, 1, 2))
    names = ("i", "j")[:depth]
    sizes = tuple(rng.choice(SIZES) for _ in names)
    mapped = tuple(rng.random() < 0.75 for _ in names)
    steps, shapes = [], [(2,), (2,)]
    for _ in range(rng.randint(1, 4)):
        made = step(rng, names, sizes, shapes)
        for s, shape in made:
            steps.append(s)
            shapes.append(shape)
    transform = rng.choice(TRANSFORMS)
    if transform == "grad between" and depth == 1:
        transform = "grad outside"
    run, at, by = rng.choice(RUNS), rng.randrange(depth), rng.randrange(2)
    return Program(names, sizes, mapped, tuple(steps), transform, by, run, at, rng.randrange(1 << 16))


def step(
    rng: random.Random, names: Sequence[str], sizes: Sequence[int], shapes: list[tuple[int, ...]]
) -> list[tuple[Step, tuple[int, ...]]]:
    """Return one or two new lines, each with the shape of its result."""
    a = rng.randrange(len(shapes)) if rng.random() < 0.5 else len(shapes) - 1
    shape = shapes[a]
    kind = rng.choice((*REDUCTIONS, "all_gather", "ppermute", "all_to_all", "psum_scatter", "axis_index", "sin", "mul"))
    if kind == "sin":
        return [(Step("sin", (a,)), shape)]
    if kind == "mul":
        b = rng.choice([k for k, s in enumerate(shapes) if s == shape])
        return [(Step("mul", (a, b)), shape)]
    chosen = tuple(rng.sample(list(names), rng.randint(1, len(names))))
    bare = len(chosen) == 1 and rng.random() < 0.7
    size = math.prod(sizes[names.index(n)] for n in chosen)
    if kind == "axis_index":
        return [(Step("axis_index", (), chosen, bare), ())]
    if kind in REDUCTIONS:
        return [(Step(kind, (a,), chosen, bare), shape)]
    if kind == "ppermute":
        ends = rng.sample(range(size), rng.choice((size, rng.randint(0, size))))
        starts = rng.sample(range(size), len(ends))
        return [(Step(kind, (a,), chosen, bare, tuple(zip(starts, ends, strict=True))), shape)]
    tiled = rng.random() < 0.5
    if kind == "all_gather":
        if math.prod(shape) * size > LARGEST or (tiled and not shape):
            return [(Step("sin", (a,)), shape)]
        at = rng.randrange(len(shape) + (not tiled))
        out = list(shape)
        if tiled:
            out[at] *= size
        else:
            out.insert(at, size)
        return [(Step(kind, (a,), chosen, bare, (at, tiled)), tuple(out))]
    # the pieces must have equal sizes, so a value of a fitting shape comes first
    fitting = [size * rng.choice((1, 2) if tiled else (1,))]
    fitting.insert(rng.randrange(2), rng.choice((1, 2)))
    split = fitting.index(max(fitting)) if fitting[0] != fitting[1] else rng.randrange(2)
    if fitting[split] % size or (not tiled and fitting[split] != size):
        split = 1 - split
    fit, b = (Step("fit", (a,), given=tuple(fitting)), tuple(fitting)), len(shapes)
    out = list(fitting)
    if kind == "psum_scatter":
        if tiled:
            out[split] //= size
        else:
            del out[split]
        return [fit, (Step(kind, (b,), chosen, bare, (split, tiled)), tuple(out))]
    to = rng.randrange(2)
    if tiled:
        out[split] //= size
        out[to] *= size
    else:
        del out[split]
        out.insert(to, size)
    return [fit, (Step(kind, (b,), chosen, bare, (split, to, tiled)), tuple(out))]


# ---- as source code for branded ----


def line(s: Step) -> str:
    v = [f"v{k}" for k in s.of]
    name = repr(s.names[0]) if s.bare else repr(s.names)
    match s.op:
        case "sin":
            return f"{v[0]}.sin()"
        case "mul":
            return f"{v[0]} * {v[1]}"
        case "fit":
            return f"fit({v[0]}, {s.given})"
        case "axis_index":
            return f"axis_index({name}) * 0.5"
        case "ppermute":
            return f"ppermute({v[0]}, {name}, {list(s.given)})"
        case "all_gather":
            return f"all_gather({v[0]}, {name}, axis={s.given[0]}, tiled={s.given[1]})"
        case "all_to_all":
            return f"all_to_all({v[0]}, {name}, {s.given[0]}, {s.given[1]}, tiled={s.given[2]})"
        case "psum_scatter":
            return f"psum_scatter({v[0]}, {name}, scatter_dimension={s.given[0]}, tiled={s.given[1]})"
    return f"{s.op}({v[0]}, {name})"


def options(p: Program, k: int) -> str:
    more = ""
    if p.run == "devices" and p.at == k:
        more = f", devices={DEVICES}"
    if p.run == "chunked" and p.at == k:
        more = ", chunk_size=1"
    return f'axis_name="{p.names[k]}", axis_size={p.sizes[k]}{more}'


def mapped(p: Program, f: str, axes: str, outer: int = 0, inner: int | None = None) -> str:
    """Return `f` under the vmaps from index `outer` on."""
    for k in reversed(range(outer, len(p.names) if inner is None else inner)):
        f = f"vmap({f}, ({0 if p.mapped[k] else None}, {axes}), {options(p, k)})"
    return f


def source(p: Program) -> str:
    n = len(p.steps) + 2
    data = zip(("X", "W", "CX", "CW"), arguments(p), strict=True)
    lines = [
        "from branded import *",
        "from tinygrad import Tensor",
        "",
        *(f"{name} = Tensor({a.astype(float).round(2).tolist()})" for name, a in data),
        "",
        "def fit(v, shape):",
        "    n = shape[0] * shape[1]",
        "    return (v.sum() * (Tensor.arange(n) + 1) / n).reshape(shape)",
        "",
        "def f(v0, v1):",
        *(f"    v{k} = {line(s)}" for k, s in enumerate(p.steps, 2)),
        f"    return {' + '.join(f'(v{k} * v{k}).sum() * {k + 1}' for k in range(n))} + (v0.sum() * v{n - 1}.sum())",
        "",
    ]
    t = ["CX", "CW"][p.by]
    g = f"grad(f, {p.by})"
    both = lambda f: mapped(p, f, "None")  # noqa: E731
    match p.transform:
        case "value":
            body = f"{both('f')}(x, w)"
        case "grad":
            body = f"{both(g)}(x, w)"
        case "grad outside":
            body = f"grad(lambda x, w: {both('f')}(x, w).sum(), {p.by})(x, w)"
        case "grad between":
            inside = f"grad(lambda x, w: {mapped(p, 'f', 'None', 1)}(x, w).sum(), {p.by})"
            body = f"{mapped(p, inside, 'None', 0, 1)}(x, w)"
        case "vjp":
            body = f"{both(f'lambda x, w: vjp(f, x, w)[1](Tensor(2.0))[{p.by}]')}(x, w)"
        case "jvp":
            body = f"{both('lambda x, w: jvp(f, (x, w), (x.sin(), w.cos()))[1]')}(x, w)"
        case "jvp outside":
            body = f"jvp({both('f')}, (x, w), (x.sin(), w.cos()))[1]"
        case "hvp":
            h = f"jvp({g}, (x, w), (x.sin(), w.cos()))[1]"
            body = f"{both(f'lambda x, w: {h}')}(x, w)"
        case _:
            outside = f"grad(lambda x, w: {both('f')}(x, w).sum(), {p.by})"
            body = f"grad(lambda x, w: ({outside}(x, w) * {t}).sum(), {p.by})(x, w)"
    lines += [f"run = lambda x, w: {body}"]
    match p.run:
        case "jit":
            lines += ["g = jit(run)", "g(X + 1, W)", "y = g(X, W)"]
        case "scan":
            lines += ["y = scan(lambda c, x: (c + 1, run(x, W * c)), Tensor(0.0), Tensor.stack(X + 1, X))[1][1]"]
        case "make_expr":
            lines += ["y = make_expr(run)(X + 1, W)(X, W)"]
        case _:
            lines += ["y = run(X, W)"]
    return "\n".join(lines)


def arguments(p: Program) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(p.seed)
    lead = tuple(n for n, m in zip(p.sizes, p.mapped, strict=True) if m)
    draws = [rng.uniform(-1, 1, s) for s in ((*lead, 2), (2,), (*lead, 2), (2,))]
    return [d.round(2).astype(np.float32) for d in draws]


# ---- oracle on whole batches ----


def whole(p: Program, x: Tensor, w: Tensor) -> Tensor:
    """Return the losses of all examples, for values with one leading axis per brand."""
    d = len(p.names)
    vs = [x, w]
    for s in p.steps:
        axes = [p.names.index(n) for n in s.names]
        v = vs[s.of[0]] if s.of else x
        match s.op:
            case "sin":
                vs.append(v.sin())
            case "mul":
                vs.append(v * vs[s.of[1]])
            case "fit":
                n = math.prod(s.given)
                total = v.reshape(*p.sizes, -1).sum(-1)
                vs.append((total.unsqueeze(-1) * (Tensor.arange(n) + 1) / n).reshape(*p.sizes, *s.given))
            case "axis_index":
                at = np.zeros(p.sizes, np.float32)
                for a in axes:
                    at = at * p.sizes[a] + np.arange(p.sizes[a]).reshape([-1 if k == a else 1 for k in range(d)])
                vs.append(Tensor((at * 0.5).astype(np.float32)))
            case "psum" | "pmean":
                y = getattr(v, "sum" if s.op == "psum" else "mean")(tuple(axes), keepdim=True)
                vs.append(y.expand(v.shape))
            case "pmax" | "pmin":
                y = v
                for a in axes:
                    y = y.max(a, keepdim=True) if s.op == "pmax" else -(-y).max(a, keepdim=True)
                vs.append(y.expand(v.shape))
            case _:
                vs.append(exchanged(p, s, v, axes))
    losses = [(v * v).reshape(*p.sizes, -1).sum(-1) * (k + 1) for k, v in enumerate(vs)]
    last = x.sum(-1) * vs[-1].reshape(*p.sizes, -1).sum(-1)
    return sum(losses[1:], losses[0]) + last


def exchanged(p: Program, s: Step, v: Tensor, axes: list[int]) -> Tensor:
    """Compute a collective that exchanges values: flatten the exchanged brands to one axis, and restore the axes."""
    d = len(p.names)
    rest = [k for k in range(d) if k not in axes]
    shape = v.shape[d:]
    n = math.prod(p.sizes[a] for a in axes)
    every = v.permute(*rest, *axes, *range(d, v.ndim)).reshape(*(p.sizes[k] for k in rest), n, *shape)
    r = len(rest)
    each = [taken(every, r, i) for i in range(n)]
    match s.op:
        case "ppermute":
            got = {to: start for start, to in s.given}
            outs = [each[got[i]] if i in got else each[0].zeros_like() for i in range(n)]
        case "all_gather":
            at, tiled = s.given
            out = each[0].cat(*each[1:], dim=r + at) if tiled else each[0].stack(*each[1:], dim=r + at)
            outs = [out] * n
        case "all_to_all":
            split, to, tiled = s.given
            k = shape[split] // n
            outs = []
            for i in range(n):
                got_ = [part(e, r + split, i * k, (i + 1) * k) for e in each]
                if tiled:
                    outs.append(got_[0].cat(*got_[1:], dim=r + to))
                else:
                    flat = [e.squeeze(r + split) for e in got_]
                    outs.append(flat[0].stack(*flat[1:], dim=r + to))
        case _:
            split, tiled = s.given
            k = shape[split] // n
            total = sum(each[1:], each[0])
            outs = [part(total, r + split, i * k, (i + 1) * k) for i in range(n)]
            outs = outs if tiled else [e.squeeze(r + split) for e in outs]
    y = outs[0].stack(*outs[1:], dim=r)
    y = y.reshape(*(p.sizes[k] for k in rest), *(p.sizes[a] for a in axes), *y.shape[r + 1 :])
    order = [*rest, *axes]
    return y.permute(*(order.index(k) for k in range(d)), *range(d, y.ndim))


def part(v: Tensor, axis: int, start: int, stop: int) -> Tensor:
    return v.shrink(tuple((start, stop) if k == axis else None for k in range(v.ndim)))


def taken(v: Tensor, axis: int, i: int) -> Tensor:
    return part(v, axis, i, i + 1).squeeze(axis)


def wanted(p: Program) -> np.ndarray[Any, Any]:
    x, w, cx, cw = map(Tensor, arguments(p))
    d = len(p.names)
    ones = tuple(n if m else 1 for n, m in zip(p.sizes, p.mapped, strict=True))

    def copies(x: Tensor, w: Tensor, levels: int) -> tuple[Tensor, Tensor]:
        """Copy `x` and `w` for each example of the outer `levels` brands, also where they are shared."""
        lead = (*p.sizes[:levels], *ones[levels:])
        return x.reshape(*ones, 2).expand(*lead, 2), w.reshape(*(1,) * d, 2).expand(
            *p.sizes[:levels], *(1,) * (d - levels), 2
        )

    def loss(x: Tensor, w: Tensor) -> Tensor:
        return whole(p, x.expand(*p.sizes, 2), w.expand(*p.sizes, 2))

    by = p.by
    t = [cx.reshape(*ones, 2), cw][by]
    total = lambda x, w: loss(x, w).sum()  # noqa: E731
    outside = (x.reshape(*ones, 2), w.reshape(*(1,) * d, 2))
    each = copies(x, w, d)
    tangents = lambda a: (a[0].sin(), a[1].cos())  # noqa: E731
    match p.transform:
        case "value":
            y = loss(*outside)
        case "grad":
            y = branded.grad(total, by)(*each)
        case "vjp":
            y = branded.grad(total, by)(*each) * 2
        case "grad outside":
            y = branded.grad(total, by)(*outside)
        case "grad between":
            y = branded.grad(total, by)(*copies(x, w, 1))
            shape = [p.sizes[0], *(n for n, m in zip(p.sizes[1:], p.mapped[1:], strict=True) if m and by == 0), 2]
            y = y.reshape(*shape)
        case "jvp" | "jvp outside":
            y = branded.jvp(loss, outside, tangents(outside))[1]
        case "hvp":
            y = branded.jvp(branded.grad(total, by), each, tangents(each))[1]
        case _:
            g = branded.grad(total, by)
            y = branded.grad(lambda x, w: (g(x, w) * t.reshape(*outside[by].shape)).sum(), by)(*outside)
    if p.transform.endswith("outside") and p.transform != "jvp outside":
        y = y.reshape([x, w][by].shape)
    return read(y)


# ---- comparison ----


def is_legal(p: Program, error: Exception) -> bool:
    """Return whether the error is expected: examples in different chunks cannot exchange values."""
    return p.run in {"chunked", "devices"} and isinstance(error, branded.errors.BrandedError) and "chunk" in str(error)


def judge(p: Program) -> str | None:
    """Return a description of the difference, or None."""
    space: dict[str, Any] = {}
    want = wanted(p)
    try:
        exec(source(p), space)
        got = space["y"].numpy()
    except Exception as error:
        if is_legal(p, error):
            return None
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:300]} ({last.filename}:{last.lineno})"
    if got.shape != want.shape:
        return f"shape {got.shape}, and {want.shape} is right"
    if not np.allclose(got, want, rtol=2e-3, atol=2e-3 * max(1.0, float(np.abs(want).max(initial=0)) * 0.01)):
        return f"{got.tolist()}, and {want.tolist()} is right"
    return None


def smaller(p: Program, wrong: Callable[[Program], str | None]) -> Program:
    """Return the shortest program that still fails, with as few lines as possible."""
    k = len(p.steps) - 1
    while k >= 0:
        cut = without(p, k)
        if cut is not None and wrong(cut) is not None:
            p = cut
        k -= 1
    if p.run != "plain" and wrong(p._replace(run="plain")) is not None:
        p = p._replace(run="plain")
    return p


def without(p: Program, k: int) -> Program | None:
    """Return the program without line `k`, or None if another line uses it."""
    at, steps = k + 2, list(p.steps)
    if any(at in s.of for s in steps):
        return None
    del steps[k]
    return p._replace(steps=tuple(s._replace(of=tuple(i - (i > at) for i in s.of)) for s in steps))


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.collectives", description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--start", type=int, default=0, help="the number of the first program")
    given = parser.parse_args(args)
    print(f"seed {given.seed}", flush=True)
    wrong = 0
    for number in range(given.start, given.start + given.programs):
        p = draw(given.seed, number)
        if judge(p) is None:
            continue
        wrong += 1
        p = smaller(p, judge)
        print(f"\n# program {number} of seed {given.seed}: {judge(p)}\n# {p.transform}, {p.run}")
        print(source(p), flush=True)
    print(f"{given.programs} programs, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
