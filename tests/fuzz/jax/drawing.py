"""Generate a program: choose each statement by its preconditions, and track facts about its results.

Discontinuous functions (comparisons, floor, argmax) get exact values only, whose fractional bits are known, so that
both libraries are on the same side of a jump.  Sizes are bounded, so that nothing overflows.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tests.fuzz.jax.form import FLOATS, Function, Let, Program, Type, Var, pruned

LARGE = {"f32": 500.0, "f64": 500.0, "f16": 20.0, "i32": 5000.0, "u8": 255.0, "bool": 1.0, "u32": 2.0**32}
EXACT = {"f32": 20, "f64": 20, "f16": 8}
"""The most bits of an exact value."""
RANKS = {"bool": 0, "u8": 1, "i32": 2, "f16": 3, "f32": 4, "f64": 5}
SCALAR = Type((), "f32")


Make = Callable[["Draw", "Scope"], "Var | bool | None"]
OPERATIONS: dict[str, tuple[float, Make]] = {}
"""The kinds of statements without inner functions: the weight, and the function that adds one."""
CALLS: dict[str, tuple[float, Make]] = {}
"""The kinds of statements with inner functions."""


def register(table: dict[str, tuple[float, Make]], weight: float) -> Callable[[Make], Make]:
    def put(f: Make) -> Make:
        table[f.__name__] = (weight, f)
        return f

    return put


class Axis(NamedTuple):
    """An open map with an axis name."""

    name: str
    size: int
    number: int


@dataclass(eq=False)
class Scope:
    """A function body under construction: its statements, the values that they may use, and its surroundings."""

    vars: list[Var]
    axes: list[Axis]
    depth: int = 0
    body: list[Let] = field(default_factory=list)
    in_custom: bool = False
    in_reverse: bool = False
    """True if this is differentiated in reverse mode, which excludes while_loop."""


class Draw:
    def __init__(self, seed: str, wide: bool, budget: int, more: dict[str, tuple[float, Make]] | None = None) -> None:
        self.rng = random.Random(seed)
        self.seed, self.budget = seed, budget
        self.dtypes = ["f32"] * 9 + ["i32"] * 3 + ["bool", "u8", "f16"] + (["f64"] * 3 if wide else [])
        self.counter, self.functions, self.maps = itertools.count(1), itertools.count(1), itertools.count(1)
        self.kinds: list[str] = []
        self.calls = {**CALLS, **(more or {})}

    # ---- choices ----

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def pick(self, scope: Scope, ok: Callable[[Var], bool]) -> Var | None:
        """Return a value for which `ok` holds, usually a recent one."""
        found = [v for v in scope.vars if ok(v)]
        if not found:
            return None
        return found[-1 - min(int(self.rng.expovariate(0.35)), len(found) - 1)]

    def late(self, scope: Scope, ok: Callable[[Var], bool]) -> Var | None:
        """Return a value for which `ok` holds, preferably one that is not used yet."""
        used = {v for let in scope.body for f in [None, *let.functions] for v in (f.used() if f else let.operands)}
        found = [v for let in scope.body for v in let.targets if v not in used and ok(v)]
        return self.rng.choice(found[-4:]) if found else self.pick(scope, ok)

    def size(self) -> int:
        return self.rng.choice([1, 1, 2, 2, 2, 3, 3, 4] + [0] * self.chance(0.15))

    def shape(self, most: int = 2) -> tuple[int, ...]:
        return tuple(self.size() for _ in range(self.rng.randint(0, most)))

    def axis(self, rank: int) -> int:
        return self.rng.randint(-rank, rank - 1)

    # ---- statements ----

    def var(self, t: Type, bits: int | None = None, size: float = 3.0, row: frozenset[int] = frozenset()) -> Var:
        if not t.is_float:
            bits = 0
        elif bits is not None and bits + math.log2(size + 1) > EXACT[t.dtype]:
            bits = None
        return Var(f"v{next(self.counter)}", t, bits, min(size, LARGE[t.dtype]), row)

    def put(
        self,
        scope: Scope,
        text: str,
        operands: Sequence[Var],
        t: Type,
        bits: int | None = None,
        size: float = 3.0,
        drop: int | None = None,
        add: int | None = None,
    ) -> Var:
        """Add a statement with one result."""
        row = frozenset[int]().union(*(v.row for v in operands)) - {drop} | ({add} if add else frozenset())
        out = self.var(t, bits, size, row)
        scope.body.append(Let([out], "$0", text, list(operands)))
        scope.vars.append(out)
        return out

    def constant(self, scope: Scope, t: Type) -> Var:
        value = {"bool": True}.get(
            t.dtype, self.rng.choice([0.5, 1.5, -0.25]) if t.is_float else self.rng.randint(1, 2)
        )
        return self.put(scope, f"m.full({t.shape}, {t.dtype!r}, {value})", [], t, 2, 2)

    def fitted(self, scope: Scope, v: Var, t: Type) -> Var:
        """Return a value of this type that depends on `v`."""
        if v.type.dtype != t.dtype:
            v = self.cast(scope, v, t.dtype)
        if v.type.shape == t.shape:
            return v
        if v.type.shape and t.dtype == "bool":
            v = self.put(scope, "m.any($0)", [v], Type((), t.dtype))
        elif v.type.shape:
            v = self.put(scope, "m.sum($0)", [v], Type((), t.dtype), v.bits, v.size * max(1, v.type.numel))
        return self.put(scope, f"m.broadcast_to($0, {t.shape})", [v], t, v.bits, v.size) if t.shape else v

    def cast(self, scope: Scope, v: Var, dtype: str) -> Var:
        old = v.type.dtype
        if dtype == "bool":
            if v.bits is None:
                return self.put(scope, f"m.full({v.type.shape}, 'bool', True)", [], Type(v.type.shape, dtype))
            return self.put(scope, "$0 > 0", [v], Type(v.type.shape, dtype))
        if old in FLOATS and dtype not in FLOATS and v.bits is None:
            v = self.put(scope, "m.stop_gradient($0 * 0)", [v], v.type, 0, 1)  # a rounded value may jump
        if old == "u32":
            v = self.put(scope, "m.cast($0 % 7, 'i32')", [v], Type(v.type.shape, "i32"), 0, 6)
        if dtype == "u8" and old != "bool":
            v = self.put(scope, "m.abs($0)", [v], v.type, v.bits, v.size) if old != "u8" else v
        return self.put(scope, f"m.cast($0, {dtype!r})", [v], Type(v.type.shape, dtype), v.bits, v.size)

    def bounded(self, scope: Scope, v: Var, size: float = 3.0) -> Var:
        """Return `v`, or a similar value if it is large: carries of loops must not grow."""
        if v.size <= size or v.type.dtype in ("bool", "u8", "u32"):
            return v
        if v.type.is_float:
            return self.put(scope, "m.sin($0)", [v], v.type, None, 1)
        return self.put(scope, "$0 % 3", [v], v.type, 0, 2)

    def statement(self, scope: Scope) -> None:
        """Add a statement of a random kind whose preconditions hold."""
        self.budget -= 1
        deep = scope.depth >= 4 or self.budget <= 0
        for _ in range(8):
            if not deep and self.chance(0.42):
                kind: str = self.rng.choices(list(self.calls), [w for w, _ in self.calls.values()])[0]
                made = self.calls[kind][1](self, scope)
            else:
                kind = self.rng.choices(list(OPERATIONS), [w for w, _ in OPERATIONS.values()])[0]
                made = OPERATIONS[kind][1](self, scope)
            if made:
                self.kinds.append(kind)
                return

    # ---- functions ----

    def function(
        self,
        scope: Scope,
        params: list[Var],
        signature: str | None = None,
        *,
        wanted: Sequence[Type] | Callable[[Scope], Sequence[Var]] | None = None,
        result: str | None = None,
        axes: Sequence[Axis] = (),
        closed: bool = False,
        most: int = 4,
        in_custom: bool = False,
        in_reverse: bool = False,
        bound: float | None = None,
    ) -> Function:
        """Return an inner function; `wanted` is the types of its results, or a function that returns them."""
        inner = Scope(
            [*([] if closed else scope.vars), *params],
            [*scope.axes, *axes],
            scope.depth + 1,
            in_custom=scope.in_custom or in_custom,
            in_reverse=scope.in_reverse or in_reverse,
        )
        for _ in range(self.rng.randint(1, most)):
            self.statement(inner)
        if callable(wanted):
            outs = list(wanted(inner))
        elif wanted is not None:
            outs = []
            for t in wanted:
                v = self.late(inner, lambda v: v.type == t)
                if v is None or self.chance(0.3):
                    v = self.late(inner, lambda v: v.type.dtype != "u32")
                    v = self.fitted(inner, v, t) if v else self.constant(inner, t)
                outs.append(v)
        else:
            outs = [self.late(inner, lambda v: True) or params[0] for _ in range(self.rng.choice([1, 1, 2, 2, 3]))]
        if bound is not None:
            outs = [self.bounded(inner, v, bound) for v in outs]
        text = result or ", ".join(f"${i}" for i in range(len(outs))) + ("," if len(outs) == 1 else "")
        name = f"f{next(self.functions)}"
        return Function(name, params, signature or ", ".join(p.name for p in params), inner.body, outs, text)

    def param(self, v: Var, t: Type | None = None, row: frozenset[int] | None = None) -> Var:
        """Return a parameter for this value."""
        out = self.var(t or v.type, v.bits, v.size, v.row if row is None else row)
        out.bits = v.bits
        return out

    def free(self, functions: Sequence[Function]) -> frozenset[int]:
        """Return the maps on which the values used in these functions depend."""
        return frozenset[int]().union(
            *(v.row for f in functions for v in f.used()), *(o.row for f in functions for o in f.outs)
        )

    def call(
        self,
        scope: Scope,
        text: str,
        operands: Sequence[Var],
        functions: Sequence[Function],
        targets: Sequence[Var],
        pattern: str | None = None,
    ) -> bool:
        text_left = pattern or ", ".join(f"${i}" for i in range(len(targets))) + ("," if len(targets) == 1 else "")
        scope.body.append(Let(list(targets), text_left, text, list(operands), list(functions)))
        scope.vars += targets
        return True

    # ---- whole programs ----

    def program(self, end: Callable[[Draw, Scope], str] | None = None) -> Program:
        """Return a program; `end` may add a final invalid statement, and returns its name."""
        inputs = []
        for _ in range(self.rng.randint(2, 4)):
            t = Type(self.shape(3 if self.chance(0.2) else 2), self.rng.choice(self.dtypes))
            exact = not t.is_float or self.chance(0.3)
            inputs.append(self.var(t, 2 if exact else None, {"bool": 1.0, "u8": 200.0}.get(t.dtype, 3.0)))
        arrays = [self.data(v) for v in inputs]
        scope = Scope(list(inputs), [])
        if self.chance(0.25):
            seed = self.rng.randint(0, 99)
            self.put(scope, f"m.key({seed})", [], Type((2,), "u32"))
        while self.budget > 0:
            self.statement(scope)
        wrong = end(self, scope) if end is not None else ""
        used = {v for let in scope.body for f in [None, *let.functions] for v in (f.used() if f else let.operands)}
        outs = [v for v in scope.vars if v not in used][-8:] or inputs
        names = ", ".join(v.name for v in inputs)
        result = ", ".join(f"${i}" for i in range(len(outs))) + ","
        main = Function("program", inputs, f"m, {names}", scope.body, outs, result)
        pruned(main)
        return Program(self.seed, main, arrays, wrong)

    def data(self, v: Var) -> np.ndarray:
        rng, (shape, dtype) = np.random.default_rng(self.rng.getrandbits(32)), v.type
        if dtype == "bool":
            return np.asarray(rng.integers(0, 2, shape), bool)
        if dtype == "u8":
            return np.asarray(rng.integers(0, 200, shape), np.uint8)
        if dtype == "i32":
            return np.asarray(rng.integers(-3, 4, shape), np.int32)
        exact = rng.integers(-12, 13, shape) / 4
        numbers = exact if v.bits is not None else np.clip(rng.standard_normal(shape), -3, 3).round(3)
        return np.asarray(numbers, {"f32": np.float32, "f16": np.float16, "f64": np.float64}[dtype])
