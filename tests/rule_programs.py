"""Random programs with rules of one's own that are the true derivatives, against the same programs without rules.

`python -m tests.rule_programs 0 1000` runs the programs 0 to 999 on tinygrad's PYTHON device and prints those that
differ: in a value, in a shape, or in what a value varies over.  An expression is a tuple: an operation, what it takes.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Context, Tensor

from branded import (
    all_gather,
    all_to_all,
    axis_index,
    brand,
    custom_jvp,
    custom_vjp,
    grad,
    jacfwd,
    jacrev,
    jvp,
    ppermute,
    psum,
    psum_scatter,
    scan,
    stop_gradient,
    vjp,
    vmap,
)
from branded.rows import row_of, visible

Values = list[np.ndarray[Any, Any]]
CONSTANTS = [np.random.RandomState(k).uniform(-1, 1, (3, 2)).round(2).astype("float32") for k in range(4)]
FORWARD = ("jvp_outside", "jvp_inside", "jacfwd_inside", "hessian_inside")
MODES = ("value", "grad_outside", "grad_inside", "grad_of_grad", "grad_inside_and_outside", "jacrev_outside", *FORWARD)


class Case(NamedTuple):
    """A program: its brands, its inputs with those that they vary over, its results, and what is computed of it."""

    sizes: dict[str, int]
    inputs: dict[str, str]
    outs: list[Any]
    mode: str
    kind: str
    scoped: bool


class Generator:
    """Programs on vectors of two numbers."""

    def __init__(self, number: int) -> None:
        self.random, self.names = random.Random(number), ["i"]
        self.bound = 0

    def pick(self, *xs: Any) -> Any:
        return self.random.choice(xs)

    def case(self, sizes: Sequence[int] = (1, 2, 2, 3)) -> Case:
        inputs = {"w": "", "x": "i"}
        if self.random.random() < 0.5:
            self.names, inputs = ["i", "j"], {**inputs, "z": "j", "xz": "ij"}
        outs = [self.expression([*inputs], 3, [*inputs]) for _ in range(self.pick(1, 2))]
        mode = self.pick(*MODES)
        kind = "jvp" if mode in FORWARD else self.pick("jvp", "vjp")
        return Case({n: self.pick(*sizes) for n in self.names}, inputs, outs, mode, kind, self.pick(True, False))

    def expression(self, known: list[str], depth: int, closed: list[str]) -> Any:
        if depth <= 0 or self.random.random() < 0.12:
            return (
                ("variable", self.pick(*known)) if self.random.random() < 0.85 else ("constant", self.pick(0, 1, 2, 3))
            )
        op = self.pick(*("sin", "total", "flip") * 2, *("add", "mul") * 3, *("exchange",) * 6, "bound", *("call",) * 8)
        part = lambda: self.expression(known, depth - 1, closed)  # noqa: E731
        if op in ("sin", "total", "flip"):
            return op, part()
        if op in ("add", "mul"):
            return op, part(), part()
        if op == "exchange":
            how = self.pick("psum", "psum", "gather", "gather", "ppermute", "all_to_all", "scatter", "index")
            return how, self.pick(*self.names), part()
        self.bound += 1
        if op == "bound":
            how, v = self.pick("vmap", "vmap", "grad", "scan"), f"v{self.bound}"
            inside = self.expression([*known, v, v], depth - 1, [] if how == "scan" else closed)
            return how, v, self.pick(0, 1, 2, 3), inside, self.expression(known, depth - 2, closed)
        return self.call(known, depth, closed, f"p{self.bound}_")

    def call(self, known: list[str], depth: int, closed: list[str], name: str) -> Any:
        """A call of a function with a rule: its parameters and arguments, what it closes over, its results."""
        args = [self.expression(known, depth - 2, closed) for _ in range(self.pick(1, 2, 2, 3))]
        params = [f"{name}{k}" for k in range(len(args))]
        held = [self.pick(*closed)] if closed and self.random.random() < 0.3 else []
        outs = []
        for _ in range(self.pick(1, 2, 2, 3)):
            used = self.random.sample(params, self.random.randint(1, len(params)))
            outs.append(self.expression([*used, *(f"held_{v}" for v in held)], depth - 1, []))
        taken = self.random.sample(range(len(outs)), self.random.randint(1, len(outs)))
        return "call", params, args, held, outs, taken


def varies(x: Tensor) -> list[str]:
    return [b.name for b in visible(row_of(x.uop))]


class Run:
    """A case with rules of a kind, or without."""

    def __init__(self, case: Case, kind: str, rows: dict[str, Any]) -> None:
        self.case, self.kind, self.rows = case, kind, rows
        self.seen: list[Any] = []

    def with_rule(self, f: Callable[..., Any]) -> Callable[..., Any]:
        if self.kind == "jvp":
            by_jvp = custom_jvp(f)
            by_jvp.defjvp(lambda primals, tangents: jvp(f, primals, tangents))
            return by_jvp
        if self.kind == "vjp":
            by_vjp = custom_vjp(f)
            by_vjp.defvjp(lambda *args: (f(*args), args), lambda args, ct: vjp(f, *args)[1](ct))
            return by_vjp
        return f

    # ---- expressions ----

    def value(self, e: Any, env: dict[str, Tensor]) -> Tensor:
        op, *rest = e
        if op == "variable":
            return env[rest[0]]
        if op == "constant":
            return Tensor(CONSTANTS[rest[0]][0])
        if op == "call":
            return self.called(env, *rest)
        if op in ("vmap", "grad", "scan"):
            return self.with_bound(op, env, *rest)
        if op in ("sin", "total", "flip", "add", "mul"):
            xs = [self.value(x, env) for x in rest]
            if op in ("add", "mul"):
                return xs[0] + xs[1] if op == "add" else xs[0] * xs[1]
            x = xs[0]
            return x.sin() if op == "sin" else x.flip(0) if op == "flip" else x.sum(keepdim=True).expand(2)
        return self.exchanged(op, rest[0], self.value(rest[1], env))

    def exchanged(self, op: str, name: str, x: Tensor) -> Tensor:
        n = self.case.sizes[name]
        if op == "psum":
            return psum(x, name) * 0.5
        if op == "index":
            return x * (axis_index(name) + 1) * 0.5
        if op == "gather" and n:
            return (all_gather(x, name) * Tensor.arange(1, n + 1).reshape(n, 1)).sum(0) * 0.3
        if op == "ppermute" and n:
            return ppermute(x, name, [(s, (s + 1) % n) for s in range(n)][1:])
        if op == "all_to_all" and n == 2:
            return all_to_all(x, name, 0, 0)
        return psum_scatter(x, name).reshape(1).expand(2) if op == "scatter" and n == 2 else x

    def with_bound(self, op: str, env: dict[str, Tensor], v: str, constant: int, inside: Any, x: Any) -> Tensor:
        given, rows = self.value(x, env), Tensor(CONSTANTS[constant])
        body = lambda y: self.value(inside, {**env, v: y})  # noqa: E731
        if op == "vmap":
            return vmap(lambda y: body(y + given))(rows).sum(0) * 0.4
        if op == "grad":
            return grad(lambda y: body(y).sum())(given)
        last, ys = scan(lambda c, y: (body(c + y) * 0.5, c * y), given, rows)
        return last + ys.sum(0)

    def called(
        self,
        env: dict[str, Tensor],
        params: list[str],
        args: list[Any],
        held: list[str],
        outs: list[Any],
        taken: list[int],
    ) -> Tensor:
        given = [self.value(a, env) for a in args]
        own = {f"held_{v}": stop_gradient(env[v]) for v in held}

        def f(*xs: Tensor) -> tuple[Tensor, ...]:
            return tuple(self.value(o, {**own, **dict(zip(params, xs, strict=True))}) for o in outs)

        got = self.with_rule(f)(*given)
        return sum((got[k] for k in taken[1:]), got[taken[0]])

    # ---- the program around ----

    def example(self, *values: Tensor) -> tuple[Tensor, ...]:
        """What is computed of one example."""

        def body(*vs: Tensor) -> tuple[Tensor, ...]:
            return tuple(self.value(o, dict(zip(self.case.inputs, vs, strict=True))) for o in self.case.outs)

        def loss(*vs: Tensor) -> Any:
            return sum((y * (k + 1)).sum() for k, y in enumerate(body(*vs)))

        positions, mode = tuple(range(len(values))), self.case.mode
        if mode in ("grad_inside", "grad_inside_and_outside"):
            return tuple(grad(loss, argnums=positions)(*values))
        if mode == "jvp_inside":
            return tuple(jvp(body, values, tuple(v * 0.5 + 1 for v in values))[1])
        if mode == "jacfwd_inside":
            return tuple(y.sum(0) for y in jacfwd(lambda v: body(v, *values[1:]))(values[0]))
        if mode == "hessian_inside":
            return (jacfwd(grad(lambda v: loss(v, *values[1:])))(values[0]),)
        return body(*values)

    def through(self, names: Sequence[str], *values: Tensor) -> tuple[Tensor, ...]:
        """The results of all examples of these brands."""
        if not names:
            return self.example(*values)
        name, size = names[0], self.case.sizes[names[0]]
        over = [name in of for of in self.case.inputs.values()]

        def body(*vs: Tensor) -> tuple[Tensor, ...]:
            out = self.through(names[1:], *vs)
            self.seen.append([varies(y) for y in out])
            return out

        if self.case.scoped:
            with brand(name, size) as b:
                out = body(*(b.vec(v) if mapped else v for v, mapped in zip(values, over, strict=True)))
                return tuple(b.unvec(y) if name in varies(y) else y for y in out)
        axes = tuple(0 if mapped else None for mapped in over)
        if name not in self.rows:  # what does not vary leaves as it is

            def found(*vs: Tensor) -> tuple[()]:
                self.rows[name] = tuple(0 if name in varies(y) else None for y in body(*vs))
                return ()

            vmap(found, in_axes=axes, axis_name=name, axis_size=size)(*values)
            self.seen.clear()
        return tuple(vmap(body, in_axes=axes, out_axes=self.rows[name], axis_name=name, axis_size=size)(*values))

    def values(self) -> Values:
        numbers = np.random.RandomState(0)
        shape = lambda of: (*(self.case.sizes[n] for n in of), 2)  # noqa: E731
        values = tuple(
            Tensor(numbers.uniform(-1, 1, shape(of)).round(2).astype("float32")) for of in self.case.inputs.values()
        )
        whole = lambda *vs: self.through([*self.case.sizes], *vs)  # noqa: E731
        loss = lambda *vs: sum(((y + 0.3).sin() * (k + 1)).sum() for k, y in enumerate(whole(*vs)))  # noqa: E731
        mode, positions = self.case.mode, tuple(range(len(values)))
        out: Any
        if mode in ("grad_outside", "grad_inside_and_outside"):
            out = grad(loss, argnums=positions)(*values)
        elif mode == "grad_of_grad":
            slopes = grad(loss, argnums=positions)
            out = grad(lambda *vs: sum(g.sin().sum() for g in slopes(*vs)), argnums=positions)(*values)
        elif mode == "jvp_outside":
            out = jvp(whole, values, tuple(v * 0.5 + 1 for v in values))
        elif mode == "jacrev_outside":
            out = jacrev(whole)(*values)
        else:
            out = whole(*values)
        return [y.numpy() for y in _leaves(out)]


def _leaves(x: Any) -> list[Tensor]:
    return [x] if isinstance(x, Tensor) else [y for part in x for y in _leaves(part)]


def difference(case: Case) -> str | None:
    """What differs between the program with rules and without them."""
    plain, own = (Run(case, kind, rows) for rows in ({},) for kind in ("none", case.kind))
    wanted, got = plain.values(), own.values()
    if plain.seen != own.seen:
        return f"rows: {plain.seen} and {own.seen}"
    for x, y in zip(wanted, got, strict=True):
        if x.shape != y.shape:
            return f"shapes: {x.shape} and {y.shape}"
        if not np.allclose(x, y, rtol=2e-3, atol=2e-4, equal_nan=True):
            return f"values: {x.ravel()[:4]} and {y.ravel()[:4]}"
    return None


def main(start: int, n: int) -> None:
    found = 0
    for number in range(start, start + n):
        try:
            what = difference(Generator(number).case())
        except Exception as e:
            what = f"{type(e).__name__}: {e}"
        if what is not None:
            found += 1
            print(number, what, flush=True)
    print(f"{n} programs, {found} that differ")


if __name__ == "__main__":
    with Context(DEV="PYTHON"):
        main(*map(int, sys.argv[1:]))
