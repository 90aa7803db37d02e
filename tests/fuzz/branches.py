"""Branches that contain loops, under all transforms: `python -m tests.fuzz.branches --programs 500 --seed 7`.

Each program is a function of a float and an int that nests branches (cond, switch) and loops (scan, fori_loop,
while_loop, map).  A branch that is not taken may contain an endless loop.  The expected result is computed by plain
Python on numbers with derivatives (`Dual`), for one example at a time.  It prints the seed, each incorrect program,
and the counts; the exit code is 1 if a program is incorrect.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tinygrad import Tensor

from branded import cond, fori_loop, grad, jit, jvp, scan, switch, vmap, while_loop
from branded import map as map_

END = 2_000_000_000
"""A number of steps that makes a loop endless in practice."""

# ---- expected results ----


class Dual(NamedTuple):
    """A float and its derivative."""

    x: float
    d: float = 0.0

    def __add__(self, other: Any) -> Dual:  # type: ignore[override]
        b = _dual(other)
        return Dual(self.x + b.x, self.d + b.d)

    def __mul__(self, other: Any) -> Dual:  # type: ignore[override]
        b = _dual(other)
        return Dual(self.x * b.x, self.d * b.x + self.x * b.d)

    __radd__, __rmul__ = __add__, __mul__

    def sin(self) -> Dual:
        return Dual(math.sin(self.x), self.d * math.cos(self.x))


def _dual(x: Any) -> Dual:
    return x if isinstance(x, Dual) else Dual(float(x))


# ---- programs: functions of a float and an int, on tensors and on Python numbers ----


class Node(NamedTuple):
    """A function `f(x, n)` in three forms: on tensors, on numbers, and as text."""

    run: Callable[[Any, Any], Any]
    right: Callable[[Dual, int], Dual]
    text: str


XS = (0.5, -1.0, 0.25)


def leaf(r: random.Random) -> Node:
    return r.choice(
        [
            Node(lambda x, n: x.sin(), lambda x, n: x.sin(), "sin(x)"),
            Node(lambda x, n: x * x + n, lambda x, n: x * x + n, "x * x + n"),
            Node(lambda x, n: x * 0.5, lambda x, n: x * 0.5, "x * 0.5"),
            Node(lambda x, n: x, lambda x, n: x, "x"),
            Node(lambda x, n: x * 0 + 1.5, lambda x, n: Dual(1.5), "1.5"),
        ]
    )


def tree_of(r: random.Random, depth: int) -> Node:
    """Return a random program of at most this depth."""
    if depth == 0 or r.random() < 0.15:
        return leaf(r)
    kinds = [_cond, _switch, _scan, _fori, _fori_to, _while, _map, _pair]
    return r.choice(kinds)(r, depth - 1)


ENDLESS: dict[str, Callable[[Any, Any], Any]] = {
    "fori_loop; no grad": lambda x, n: fori_loop(0, END, lambda i, c: c.sin(), x),
    "fori_loop to a tensor; no grad": lambda x, n: fori_loop(n * 0, n * 0 + END, lambda i, c: c.sin(), x),
    "while_loop; no grad": lambda x, n: while_loop(lambda c: c[1] < END, lambda c: (c[0].sin(), c[1] + 1), (x, n * 0))[
        0
    ],
}
"""Endless loops for a branch that no example takes.

Reverse mode is excluded: it would allocate memory for all steps.
"""


def _cond(r: random.Random, depth: int) -> Node:
    f, g = tree_of(r, depth), tree_of(r, depth)
    k = r.randint(0, 4)
    if r.random() < 0.4:
        name = r.choice(list(ENDLESS))
        return Node(
            lambda x, n: cond(n > 100, ENDLESS[name], f.run, x, n),
            f.right,
            f"cond(n > 100, an endless {name}, {f.text})",
        )
    if r.random() < 0.5:  # closures
        return Node(
            lambda x, n: cond(n < k, lambda: f.run(x, n), lambda: g.run(x, n)),
            lambda x, n: f.right(x, n) if n < k else g.right(x, n),
            f"cond(n < {k}, lambda: {f.text}, lambda: {g.text})",
        )
    return Node(
        lambda x, n: cond(n < k, f.run, g.run, x, n),
        lambda x, n: f.right(x, n) if n < k else g.right(x, n),
        f"cond(n < {k}, {f.text}, {g.text})",
    )


def _switch(r: random.Random, depth: int) -> Node:
    fs = [tree_of(r, depth) for _ in range(3)]
    return Node(
        lambda x, n: switch(n, [f.run for f in fs], x, n),
        lambda x, n: fs[min(max(n, 0), 2)].right(x, n),
        f"switch(n, [{', '.join(f.text for f in fs)}])",
    )


def _scan(r: random.Random, depth: int) -> Node:
    f, k = tree_of(r, depth), r.choice((1, 1, 2, True))

    def run(x: Any, n: Any) -> Any:
        c, ys = scan(lambda c, a: (f.run(c, n) * 0.5 + a, c), x, Tensor(list(XS)), unroll=k)
        return c + ys.sum()

    def right(x: Dual, n: int) -> Dual:
        total, c = Dual(0.0), x
        for a in XS:
            total, c = total + c, f.right(c, n) * 0.5 + a
        return c + total

    return Node(run, right, f"scan({f.text}, unroll={k})")


def _looped(f: Node, x: Dual, n: int, times: int) -> Dual:
    for _ in range(times):
        x = f.right(x, n) * 0.5
    return x


def _fori(r: random.Random, depth: int) -> Node:
    f, k = tree_of(r, depth), r.randint(0, 3)
    return Node(
        lambda x, n: fori_loop(0, k, lambda i, c: f.run(c, n) * 0.5, x),
        lambda x, n: _looped(f, x, n, k),
        f"fori_loop(0, {k}, {f.text})",
    )


def _fori_to(r: random.Random, depth: int) -> Node:
    f = tree_of(r, depth)
    return Node(
        lambda x, n: fori_loop(0, n, lambda i, c: f.run(c, n) * 0.5, x),
        lambda x, n: _looped(f, x, n, n),
        f"fori_loop(0, n, {f.text}); no grad",
    )


def _while(r: random.Random, depth: int) -> Node:
    f = tree_of(r, depth)

    def run(x: Any, n: Any) -> Any:
        return while_loop(lambda c: c[1] < n, lambda c: (f.run(c[0], c[1]) * 0.5, c[1] + 1, c[2]), (x, n * 0, x))[0]

    def right(x: Dual, n: int) -> Dual:
        for i in range(n):
            x = f.right(x, i) * 0.5
        return x

    return Node(run, right, f"while_loop({f.text}); no grad")


def _map(r: random.Random, depth: int) -> Node:
    f = tree_of(r, depth)
    return Node(
        lambda x, n: map_(lambda a: f.run(x * a, n), Tensor(list(XS))).sum(),
        lambda x, n: sum((f.right(x * a, n) for a in XS), Dual(0.0)),
        f"map({f.text})",
    )


def _pair(r: random.Random, depth: int) -> Node:
    f, g = tree_of(r, depth), tree_of(r, depth)
    return Node(
        lambda x, n: f.run(x, n).sin() + g.run(x, n),
        lambda x, n: f.right(x, n).sin() + g.right(x, n),
        f"(sin({f.text}) + {g.text})",
    )


# ---- transforms ----

EXAMPLES = ((0.3, 0), (-0.8, 1), (1.1, 2), (0.6, 4))


def _x() -> Tensor:
    return Tensor([x for x, _ in EXAMPLES])


def _n() -> Tensor:
    return Tensor([n for _, n in EXAMPLES])


def _diagonal(all_pairs: Tensor) -> list[float]:
    return [row[i] for i, row in enumerate(all_pairs.tolist())]


def _one(f: Any) -> Any:
    return [f(x, n) for x, n in ((Tensor([x])[0], Tensor([n])[0]) for x, n in EXAMPLES)]


def _values(xs: list[Tensor]) -> list[float]:
    return [float(x.item()) for x in xs]


def _slope(f: Any) -> Any:
    return lambda x, n: jvp(lambda x: f(x, n), (x,), (x * 0 + 1,))[1]


VALUES: dict[str, Callable[[Any], list[float]]] = {
    "plain": lambda f: _values(_one(f)),
    "jit": lambda f: _values(_one(jit(f))),
    "vmap": lambda f: vmap(f)(_x(), _n()).tolist(),
    "vmap, one n": lambda f: [
        vmap(f, (0, None))(_x(), Tensor([n])[0]).tolist()[i] for i, (_, n) in enumerate(EXAMPLES)
    ],
    "jit of vmap": lambda f: jit(vmap(f))(_x(), _n()).tolist(),
    "map": lambda f: map_(lambda a: f(*a), (_x(), _n())).tolist(),
    "vmap of vmap": lambda f: _diagonal(vmap(lambda n: vmap(lambda x: f(x, n))(_x()))(_n())),
}
SLOPES: dict[str, Callable[[Any], list[float]]] = {
    "jvp of vmap": lambda f: jvp(lambda x: vmap(f)(x, _n()), (_x(),), (Tensor.ones(len(EXAMPLES)),))[1].tolist(),
    "vmap of jvp": lambda f: vmap(_slope(f))(_x(), _n()).tolist(),
    "jit of vmap of jvp": lambda f: jit(vmap(_slope(f)))(_x(), _n()).tolist(),
    "map of jvp": lambda f: map_(lambda a: _slope(f)(*a), (_x(), _n())).tolist(),
}
GRADS: dict[str, Callable[[Any], list[float]]] = {
    "vmap of grad": lambda f: vmap(grad(f))(_x(), _n()).tolist(),
    "grad of vmap": lambda f: grad(lambda x: vmap(f)(x, _n()).sum())(_x()).tolist(),
    "jit of vmap of grad": lambda f: jit(vmap(grad(f)))(_x(), _n()).tolist(),
    "map of grad": lambda f: map_(lambda a: grad(f)(*a), (_x(), _n())).tolist(),
    "grad of map": lambda f: grad(lambda x: map_(lambda a: f(*a), (x, _n())).sum())(_x()).tolist(),
}


LARGEST = 1e4
"""The limit for results to compare: larger float32 values differ from Python's."""


class Program(NamedTuple):
    node: Node
    transform: str

    def __str__(self) -> str:
        return f"{self.transform}: {self.node.text}"


def wrong(p: Program) -> str | None:
    """Return the result and the expected result if they differ."""
    every = [p.node.right(Dual(x, 1.0), n) for x, n in EXAMPLES]
    wanted = [y.x if p.transform in VALUES else y.d for y in every]
    try:
        got = (VALUES | SLOPES | GRADS)[p.transform](p.node.run)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if all(math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-4) for a, b in zip(got, wanted, strict=True)):
        return None
    return f"{got}, and right is {wanted}"


def programs(r: random.Random, depth: int = 3) -> Iterator[Program]:
    while True:
        node = tree_of(r, r.randint(1, depth))
        if any(abs(v) > LARGEST for x, n in EXAMPLES for v in node.right(Dual(x, 1.0), n)):
            continue
        kinds = VALUES | SLOPES if "no grad" in node.text else VALUES | SLOPES | GRADS
        yield Program(node, r.choice(list(kinds)))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.branches", description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--depth", type=int, default=3, help="how deep a program is at most")
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    found = 0
    for p in itertools.islice(programs(random.Random(args.seed), args.depth), args.programs):
        if said := wrong(p):
            found += 1
            print(f"{p}\n  {said}", flush=True)
    print(f"{args.programs} programs, {found} wrong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
