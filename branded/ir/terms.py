"""The terms of a typed program (types, variables, literals, equations, programs), and their printer."""

from __future__ import annotations

import itertools
import keyword
import string
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from branded.core.tracing.operand_names import UNSAID, Said
from branded.core.tracing.recorded_calls import Hole
from branded.errors.source import Where


class DerivedTerm(NamedTuple):
    """A derivative in a program: `gradient of loss`, and the place where it was requested."""

    description: str
    where: Where | None


class BrandName(NamedTuple):
    """A brand of a program: its name, unique in the program, and its size."""

    name: str
    size: int

    def __repr__(self) -> str:
        return f"{self.name}:{self.size}"


class Type(NamedTuple):
    """The type of a value: `Vec[x:3, f32[8]]`, or `f32[8]` for an unbatched value."""

    dtype: str
    shape: tuple[Any, ...]
    row: tuple[BrandName, ...] = ()

    def __str__(self) -> str:
        per_example = f"{self.dtype}[{', '.join(map(str, self.shape))}]"
        return f"Vec[{' | '.join(map(repr, self.row))}, {per_example}]" if self.row else per_example


@dataclass(eq=False, frozen=True)
class Var:
    """A variable: one value, introduced by one binder.  Its name is chosen when the program is printed."""

    type: Type


@dataclass(frozen=True)
class Literal:
    """A number in the program.  A weak number takes the dtype of the values that it is combined with."""

    value: bool | int | float
    dtype: str

    def __str__(self) -> str:
        number = repr(self.value)
        return number if self.dtype in WEAK else f"{number}:{self.dtype}"


WEAK = ("int", "float", "bool")
RESERVED = frozenset({"let", "_", "inf", "nan", "Vec", *keyword.kwlist})
"""Reserved words of the language, and of Python, in which a program is written as loops: they cannot be names."""
Atom = Var | Literal


class Dtype(NamedTuple):
    """A dtype as a parameter."""

    name: str

    @property
    def long(self) -> str:
        """The name in tinygrad: `float32` for `f32`."""
        letters = self.name.rstrip("0123456789")
        return f"{_LONG.get(letters, letters)}{self.name[len(letters) :]}" if letters != self.name else self.name

    def __repr__(self) -> str:
        return self.name


_LONG = {"f": "float", "i": "int", "u": "uint", "bf": "bfloat"}


@dataclass(frozen=True)
class Rule:
    """The part of a primitive that cannot be expressed as text, such as custom derivative rules."""

    name: str
    info: Any = field(default=None, compare=False)

    def __repr__(self) -> str:
        return f"<{self.name}>"


@dataclass(eq=False)
class Eqn:
    """One equation: `results = op[params] operands`."""

    op: str
    operands: tuple[Atom, ...]
    params: dict[str, Any]
    results: tuple[Var, ...]
    where: Where | None = None
    names: Said = UNSAID
    """The user's names of the operands, if `recording.named` requested them."""
    derived: DerivedTerm | None = None
    """The derivative that this equation is a step of, if no call of the user recorded it."""

    @property
    def has_programs(self) -> bool:
        """Whether it contains the body of a loop, a branch, or a function."""
        return next(self.programs(), None) is not None

    def programs(self) -> Iterator[Program]:
        for value in self.params.values():
            for p in value if isinstance(value, tuple) else (value,):
                if isinstance(p, Program):
                    yield p


@dataclass(eq=False)
class Program:
    """A program: `{ lambda constvars ; invars . let eqns in outs }`."""

    constvars: list[Var]
    invars: list[Var]
    eqns: list[Eqn]
    outs: list[Atom]

    def brands(self) -> list[BrandName]:
        """Return the brands that it enters, in an order that agrees with every row, without inner programs."""
        rows = [v.type.row for v in (*self.constvars, *self.invars)]
        for e in self.eqns:
            rows += [(b,) for value in e.params.values() for b in _brands_of(value)]
            rows += [v.type.row for v in e.results]
        inside: dict[BrandName, set[BrandName]] = {}
        for row in rows:
            for i, b in enumerate(row):
                inside.setdefault(b, set()).update(row[:i])
        order: list[BrandName] = []
        while len(order) < len(inside):
            order.append(next(b for b in inside if b not in order and inside[b] <= {*order}))
        return order

    def __str__(self) -> str:
        return "\n".join(Printer().program(self))


def _brands_of(value: Any) -> tuple[BrandName, ...]:
    if isinstance(value, BrandName):
        return (value,)
    return tuple(b for b in value if isinstance(b, BrandName)) if type(value) is tuple else ()


def letters() -> Iterator[str]:
    """Yield a, b, …, z, aa, ab, …, without the words of the language."""
    for n in itertools.count(1):
        for each in itertools.product(string.ascii_lowercase, repeat=n):
            if (name := "".join(each)) not in RESERVED:
                yield name


class Printer:
    """Prints programs, and names variables in the order in which they are printed, including inner programs."""

    def __init__(self, names: dict[Var, str] | None = None) -> None:
        self.names: dict[Var, str] = {} if names is None else names
        self._free = letters()

    def name(self, v: Var) -> str:
        if v not in self.names:
            self.names[v] = next(self._free)
        return self.names[v]

    def binder(self, v: Var) -> str:
        return f"{self.name(v)}:{v.type}"

    def atom(self, a: Atom) -> str:
        return self.name(a) if isinstance(a, Var) else str(a)

    def program(self, p: Program, indent: str = "") -> list[str]:
        consts, ins = (" ".join(map(self.binder, vs)) for vs in (p.constvars, p.invars))
        head = "{ lambda " + " ; ".join([consts, ins]).strip(" ") + " . let"
        if not p.constvars:
            head = "{ lambda ;" + (f" {ins}" if ins else "") + " . let"
        lines = [head]
        for e in p.eqns:
            lines += [f"{indent}    {line}" for line in self.eqn(e)]
        outs = ", ".join(map(self.atom, p.outs)) + ("," if len(p.outs) == 1 else "")
        return [*lines, f"{indent}  in ({outs}) }}"]

    def eqn(self, e: Eqn) -> list[str]:
        """Return the lines of an equation: one, unless it contains programs."""
        head = f"{' '.join(map(self.binder, e.results))} = {e.op}"
        operands = "".join(f" {self.atom(a)}" for a in e.operands)
        if not e.has_programs:
            inside = ", ".join(f"{k}={self.value(v)}" for k, v in e.params.items())
            return [head + (f"[{inside}]" if inside else "") + operands]
        lines = [head + "["]
        for k, v in e.params.items():
            if isinstance(v, Program):
                first, *rest = self.program(v)
                lines += [f"  {k}={first}", *(f"  {line}" for line in rest)]
            elif isinstance(v, tuple) and v and isinstance(v[0], Program):
                lines.append(f"  {k}=(")
                for p in v:
                    *body, last = self.program(p)
                    lines += [*(f"    {line}" for line in body), f"    {last},"]
                lines.append("  )")
            else:
                lines.append(f"  {k}={self.value(v)}")
        return [*lines, "]" + operands]

    def value(self, v: Any) -> str:
        if isinstance(v, BrandName | Dtype | Rule | Hole):
            return repr(v)
        if v is Ellipsis:
            return "..."
        if isinstance(v, slice):
            parts = ["" if x is None else self.value(x) for x in (v.start, v.stop, v.step)]
            return ":".join(parts if v.step is not None else parts[:2])
        if isinstance(v, tuple):
            return "(" + ", ".join(map(self.value, v)) + ("," if len(v) == 1 else "") + ")"
        if isinstance(v, list):
            return "[" + ", ".join(map(self.value, v)) + "]"
        return repr(v)
