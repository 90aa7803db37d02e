"""The terms of the typed program: types, variables, literals, equations, programs."""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from branded.recording import Where


class BrandName(NamedTuple):
    """A brand of a program: its name there, which no other brand of the program has, and its size."""

    name: str
    size: int

    def __repr__(self) -> str:
        return f"{self.name}:{self.size}"


class Type(NamedTuple):
    """The type of a value: `Vec[x:3, f32[8]]`, or `f32[8]` where it varies over nothing."""

    dtype: str
    shape: tuple[Any, ...]
    row: tuple[BrandName, ...] = ()

    def __str__(self) -> str:
        per_example = f"{self.dtype}[{', '.join(map(str, self.shape))}]"
        return f"Vec[{' | '.join(map(repr, self.row))}, {per_example}]" if self.row else per_example


@dataclass(eq=False, frozen=True)
class Var:
    """A variable: one value, which one binder introduces.  Its name is given when the program is printed."""

    type: Type


@dataclass(frozen=True)
class Literal:
    """A number that stands in the program itself.  The dtype of a weak one is that of what it meets."""

    value: bool | int | float
    dtype: str

    def __str__(self) -> str:
        number = repr(self.value)
        return number if self.dtype in WEAK else f"{number}:{self.dtype}"


WEAK = ("int", "float", "bool")
RESERVED = frozenset({"let", "_", "inf", "nan", "Vec", *keyword.kwlist})
"""Words of the language, and of Python, in which a program is written as loops: they are no names."""
Atom = Var | Literal


class Hole:
    """Where an operand stands inside of a parameter: the holes are filled in the order of the operands."""

    def __repr__(self) -> str:
        return "_"


HOLE = Hole()


class Dtype(NamedTuple):
    """A dtype as a parameter."""

    name: str

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Rule:
    """What a primitive brings along that no text says: the rules of a function with custom derivatives."""

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

    @property
    def has_programs(self) -> bool:
        """Does it hold the body of a loop, a branch, or a function?"""
        return next(self.programs(), None) is not None

    def programs(self) -> Iterator[Program]:
        for value in self.params.values():
            for p in value if isinstance(value, tuple) else (value,):
                if isinstance(p, Program):
                    yield p


@dataclass(eq=False)
class Program:
    """`{ lambda constvars ; invars . let eqns in outs }`."""

    constvars: list[Var]
    invars: list[Var]
    eqns: list[Eqn]
    outs: list[Atom]

    def brands(self) -> list[BrandName]:
        """The brands that it enters, in the order of every row, and else as they come; not those of programs in it."""
        rows = [v.type.row for v in (*self.constvars, *self.invars)]
        for e in self.eqns:
            rows += [(b,) for value in e.params.values() for b in _brands(value)]
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
        from branded.program.text import text

        return text(self)


def _brands(value: Any) -> tuple[BrandName, ...]:
    if isinstance(value, BrandName):
        return (value,)
    return tuple(b for b in value if isinstance(b, BrandName)) if type(value) is tuple else ()
