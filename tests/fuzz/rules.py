"""Random programs with custom rules that are the true derivatives, compared with the same programs without rules.

`python -m tests.fuzz.rules --programs 1000 --seed 0` runs programs of two kinds on tinygrad's PYTHON device. In the
first kind, examples exchange values by collectives. In the second kind, the functions are called inside of loops,
branches, checkpoints, chunks and functions, and their rules close over values from outside. It prints each program
that differs in a value, in a shape, or in the brands of a value. An expression is a tuple: an operation and operands.
"""

from __future__ import annotations

import argparse
import functools
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Context, Tensor, function

import branded
from branded import (
    all_gather,
    all_to_all,
    axis_index,
    brand,
    checkpoint,
    cond,
    custom_jvp,
    custom_vjp,
    custom_vmap,
    fori_loop,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    ppermute,
    psum,
    psum_scatter,
    scan,
    sequential_vmap,
    stop_gradient,
    vjp,
    vmap,
    while_loop,
)
from branded.graph.rows import row_of, visible

Values = list[np.ndarray[Any, Any]]
CONSTANTS = [np.random.RandomState(k).uniform(-1, 1, (3, 2)).round(2).astype("float32") for k in range(4)]
FORWARD = ("jvp_outside", "jvp_inside", "jacfwd_inside", "hessian_inside")
MODES = ("value", "grad_outside", "grad_inside", "grad_of_grad", "grad_inside_and_outside", "jacrev_outside", *FORWARD)


class Case(NamedTuple):
    """A program: the sizes of its brands, its inputs with their brands, its results, and how to differentiate it."""

    sizes: dict[str, int]
    inputs: dict[str, str]
    outs: list[Any]
    mode: str
    kind: str
    scoped: bool
    chunk: int | None = None
    jitted: bool = False


class Generator:
    """Generate programs on vectors of two elements."""

    closing = 0.3

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
        """Return a call of a function with a rule: parameters, arguments, captured values, all and used results."""
        args = [self.expression(known, depth - 2, closed) for _ in range(self.pick(1, 2, 2, 3))]
        params = [f"{name}{k}" for k in range(len(args))]
        held = [self.pick(*closed)] if closed and self.random.random() < self.closing else []
        outs = []
        for _ in range(self.pick(1, 2, 2, 3)):
            used = self.random.sample(params, self.random.randint(1, len(params)))
            outs.append(self.expression([*used, *(f"held_{v}" for v in held)], depth - 1, []))
        taken = self.random.sample(range(len(outs)), self.random.randint(1, len(outs)))
        return "call", params, args, held, outs, taken


LOOPS = ("scan", "fori", "map", "while")
BODIES = ("vmap", "grad", "cond", "checkpoint", "dots", "sequential", "in_turn", "chunked", "function", *LOOPS)


class InBodies(Generator):
    """Generate programs without collectives, whose functions with rules close over values of a surrounding body."""

    closing = 0.7

    def case(self, sizes: Sequence[int] = (1, 2, 3)) -> Case:
        self.mode = self.pick(*MODES, "hessian_outside")
        self.kind = "jvp" if self.mode in FORWARD or self.mode.startswith("hessian") else self.pick("jvp", "vjp")
        if self.random.random() < 0.15:
            self.kind = "vmap"
        inputs = {"w": "", "x": "i"}
        outs = [self.expression([*inputs], 4, [*inputs])]
        chunk = self.pick(9, 9, 2)  # 9 is the whole batch
        return Case({"i": self.pick(*sizes)}, inputs, outs, self.mode, self.kind, False, chunk, self.pick(True, False))

    def expression(self, known: list[str], depth: int, closed: list[str]) -> Any:
        if depth <= 0 or self.random.random() < 0.1:
            return self.pick(*[("variable", v) for v in known], ("constant", self.pick(0, 1, 2, 3)))
        op = self.pick("sin", "total", "flip", "add", "mul", "mul", *("bound",) * 4, *("call",) * 6, "linear")
        if op in ("sin", "total", "flip", "linear"):
            return op, self.expression(known, depth - 1, closed)
        if op in ("add", "mul"):
            return op, *(self.expression(known, depth - 1, closed) for _ in range(2))
        self.bound += 1
        if op == "call":
            how = self.pick("closure", "closure", "nondiff", "partial")
            return *self.call(known, depth, closed, f"p{self.bound}_"), how
        # reverse mode would have to store each step of a while loop
        bodies = BODIES if self.mode in ("value", "jvp_outside", "jvp_inside", "jacfwd_inside") else BODIES[:-1]
        how, v = self.pick(*bodies), f"v{self.bound}"
        inside = self.expression([*known, v, v], depth - 1, [*closed, v, v])
        return how, v, self.pick(0, 1, 2, 3), inside, self.expression(known, depth - 2, closed)


def varies(x: Tensor) -> list[str]:
    return [b.name for b in visible(row_of(x.uop))]


class Run:
    """Run a case with rules of one kind, or without rules."""

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
        if self.kind == "vmap":
            by_vmap = custom_vmap(f)

            @by_vmap.def_vmap
            def rule(axis_size: int, in_batched: list[bool], *args: Tensor) -> tuple[Any, bool]:
                axes = tuple(0 if batched else None for batched in in_batched)
                return vmap(f, in_axes=axes, axis_size=axis_size)(*args), True

            return by_vmap
        return f

    def given(self, f: Callable[..., Any], held: Any, how: str) -> Callable[..., Any]:
        """Return `f` with `held` bound by a closure, by `nondiff_argnums`, or by `functools.partial`."""
        if how == "closure" or self.kind == "none":
            return self.with_rule(lambda *xs: f(*xs, held=held))
        if how == "partial" or self.kind == "vmap":
            return self.with_rule(functools.partial(f, held=held))
        if self.kind == "jvp":
            by_jvp = custom_jvp(lambda held, *xs: f(*xs, held=held), nondiff_argnums=(0,))
            by_jvp.defjvp(lambda held, p, t: jvp(lambda *xs: f(*xs, held=held), p, t))
            return functools.partial(by_jvp, held)
        by_vjp = custom_vjp(lambda held, *xs: f(*xs, held=held), nondiff_argnums=(0,))
        by_vjp.defvjp(
            lambda held, *xs: (f(*xs, held=held), xs),
            lambda held, xs, ct: vjp(lambda *xs: f(*xs, held=held), *xs)[1](ct),
        )
        return functools.partial(by_vjp, held)

    def linear(self, x: Tensor) -> Tensor:
        """Call a linear function whose rule applies it to the tangent."""

        def f(x: Tensor) -> Tensor:
            return x.flip(0) * Tensor([0.5, -1.5])

        if self.kind != "jvp":
            return self.with_rule(f)(x) if self.kind != "vmap" else f(x)
        g = custom_jvp(f)
        g.defjvp(lambda p, t: (g(*p), g(*t)))
        return g(x)

    # ---- expressions ----

    def value(self, e: Any, env: dict[str, Tensor]) -> Tensor:
        op, *rest = e
        if op == "variable":
            return env[rest[0]]
        if op == "constant":
            return Tensor(CONSTANTS[rest[0]][0])
        if op == "call":
            return self.called(env, *rest)
        if op in BODIES:
            return self.with_bound(op, env, *rest)
        if op == "linear":
            return self.linear(self.value(rest[0], env))
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
        if op != "scan":
            return self.in_body(op, body, given, rows)
        last, ys = scan(lambda c, y: (body(c + y) * 0.5, c * y), given, rows)
        return last + ys.sum(0)

    def in_body(self, op: str, body: Callable[[Tensor], Tensor], given: Tensor, rows: Tensor) -> Tensor:
        """Return the result of `body` run by the transform `op`; loops add a value that changes with each step."""
        many = lambda y: body(y + given)  # noqa: E731
        if op == "cond":
            return cond(given.sum() > 0, body, lambda y: y * 0.5, given)
        if op in ("checkpoint", "dots"):
            return checkpoint(body, policy="dots" if op == "dots" else "nothing")(given)
        if op == "sequential":
            return sequential_vmap(body)(given)
        if op == "in_turn":
            return vmap(sequential_vmap(many))(rows).sum(0) * 0.4
        if op == "chunked":
            return vmap(many, chunk_size=2)(rows).sum(0) * 0.4
        if op == "function":
            return function(allow_implicit=True)(body)(given)
        if op == "map":
            return branded.map(many, rows).sum(0) * 0.4
        if op == "fori":
            return fori_loop(0, 2, lambda i, c: body(c + i) * 0.5, given)
        return while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, body(s[1] * s[0]) * 0.5), (1, given))[1]

    def called(
        self,
        env: dict[str, Tensor],
        params: list[str],
        args: list[Any],
        held: list[str],
        outs: list[Any],
        taken: list[int],
        how: str = "closure",
    ) -> Tensor:
        given = [self.value(a, env) for a in args]
        own = {f"held_{v}": stop_gradient(env[v]) for v in held}

        def f(*xs: Tensor, held: dict[str, Tensor] = own) -> tuple[Tensor, ...]:
            return tuple(self.value(o, {**held, **dict(zip(params, xs, strict=True))}) for o in outs)

        # a custom_vmap rule cannot map captured values
        got = (f if self.kind == "vmap" and held else self.given(f, own, how))(*given)
        return sum((got[k] for k in taken[1:]), got[taken[0]])

    # ---- whole programs ----

    def example(self, *values: Tensor) -> tuple[Tensor, ...]:
        """Return the results for one example."""

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
        """Return the results for all examples of these brands."""
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
        if self.case.chunk or self.case.kind == "vmap":
            return tuple(vmap(self.example, in_axes=axes, chunk_size=self.case.chunk)(*values))
        if name not in self.rows:  # return unbatched values without an axis

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
        run = jit if self.case.jitted else lambda f: f
        loss = lambda *vs: sum(((y + 0.3).sin() * (k + 1)).sum() for k, y in enumerate(whole(*vs)))  # noqa: E731
        mode, positions = self.case.mode, tuple(range(len(values)))
        out: Any
        if mode in ("grad_outside", "grad_inside_and_outside"):
            out = run(grad(loss, argnums=positions))(*values)
        elif mode == "grad_of_grad":
            slopes = grad(loss, argnums=positions)
            out = run(grad(lambda *vs: sum(g.sin().sum() for g in slopes(*vs)), argnums=positions))(*values)
        elif mode == "hessian_outside":
            out = run(lambda *vs: hessian(lambda w: loss(w, *vs[1:]))(vs[0]))(*values)
        elif mode == "jvp_outside":
            out = run(lambda *vs: jvp(whole, vs, tuple(v * 0.5 + 1 for v in vs)))(*values)
        elif mode == "jacrev_outside":
            out = run(jacrev(whole))(*values)
        else:
            out = run(whole)(*values)
        return [y.numpy() for y in _leaves(out)]


def _leaves(x: Any) -> list[Tensor]:
    return [x] if isinstance(x, Tensor) else [y for part in x for y in _leaves(part)]


def difference(case: Case) -> str | None:
    """Return the difference between the program with rules and without them, or None."""
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


def problem(case: Case) -> str | None:
    """Return a description of the failure; None also if the program fails without rules."""
    try:
        Run(case, "none", {}).values()
    except Exception:
        return None
    try:
        return difference(case)
    except Exception as e:
        return f"{type(e).__name__}: {e}"


def smaller(e: Any) -> Iterator[Any]:
    """Yield an expression with one part replaced by a part of that part."""
    if isinstance(e, tuple) and e and isinstance(e[0], str):
        yield from (part for x in e[1:] for part in (x if isinstance(x, list) else [x]) if isinstance(part, tuple))
    if isinstance(e, tuple | list):
        for i, x in enumerate(e):
            yield from (type(e)((*e[:i], new, *e[i + 1 :])) for new in smaller(x))


def shrunk(case: Case, what: str) -> Case:
    """Return the smallest program that fails in the same way."""
    kind = what.split(":")[0]
    while True:
        simple = [case._replace(jitted=False), case._replace(chunk=None)]
        for new in [*(c for c in simple if c != case), *(case._replace(outs=outs) for outs in smaller(case.outs))]:
            if (now := problem(new)) is not None and now.split(":")[0] == kind:
                case = new
                break
        else:
            return case


KINDS: dict[str, type[Generator]] = {"exchanges": Generator, "bodies": InBodies}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.rules", description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=500, help="programs of each kind (default 500)")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31), help="the number of the first program")
    parser.add_argument("--kind", choices=[*KINDS], action="append", help="only programs of this kind")
    args = parser.parse_args()
    kinds = args.kind or [*KINDS]
    found = 0
    for kind in kinds:
        for number in range(args.seed, args.seed + args.programs):
            case = KINDS[kind](number).case()
            if (what := problem(case)) is not None:
                found += 1
                print(f"{kind} {number}: {what}\n  {shrunk(case, what)}", flush=True)
    print(f"seed {args.seed}: {args.programs} programs of {len(kinds)} kinds, {found} that differ")
    return 1 if found else 0


if __name__ == "__main__":
    with Context(DEV="PYTHON", NOOPT=1):  # that device cannot run all vectorized kernels
        sys.exit(main())
