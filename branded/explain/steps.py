"""Describe in words how one operation treats each brand of its operands: zip, broadcast, enter or leave, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from tinygrad.dtype import strong_dtype

from branded import dispatch
from branded.collectives.named_axes import COLLECTIVES
from branded.errors import examples
from branded.ir.evaluate import dtype_of
from branded.ir.terms import Atom, BrandName, Eqn, Type, Var

Kind = Literal["enter", "leave", "zip", "broadcast", "per example", "none"]


class Column(NamedTuple):
    """One brand in one step: whether each operand varies over it, the kind of step, and a sentence that explains it."""

    brand: BrandName
    operands: tuple[bool, ...]
    how: Kind
    why: str

    def data(self) -> dict[str, Any]:
        brand = {"brand": self.brand.name, "size": self.brand.size}
        return {**brand, "operands": list(self.operands), "how": self.how}


def columns(e: Eqn, names: Mapping[Var, str]) -> list[Column]:
    """Return a column for each brand of a step's operands and results.

    A Python number does not count as an operand: `x * 2` has one operand.
    """
    rows = [a.type.row if isinstance(a, Var) else () for a in e.operands]
    after = {b for v in e.results for b in v.type.row}
    crossing = e.params.get("brand") if e.op in ("enter", "leave") else None
    row_brands = [*(b for row in rows for b in row), *(b for v in e.results for b in v.type.row)]
    brands = dict.fromkeys([*_longest_row(e), *row_brands, *([crossing] if isinstance(crossing, BrandName) else [])])
    out = []
    for b in brands:
        carried = tuple(b in row for row in rows)
        column_kind = _column_kind(e, b, carried, after)
        out.append(Column(b, carried, column_kind, f"{b.name}: {_sentence(e, b, carried, column_kind, names)}."))
    return out


def kind(step_columns: Sequence[Column]) -> Kind:
    """Return the kind of a step: the rarest kind among its columns."""
    hows = {c.how for c in step_columns}
    return next((k for k in _RARE if k in hows), "none")


_RARE: tuple[Kind, ...] = ("enter", "leave", "broadcast", "zip", "per example")


def _longest_row(e: Eqn) -> tuple[BrandName, ...]:
    """Return the brands of the operand or result that has the most; all values of a program order them the same way."""
    rows = [a.type.row for a in (*e.results, *e.operands) if isinstance(a, Var)]
    return max(rows, key=len, default=())


def _column_kind(e: Eqn, b: BrandName, carried: Sequence[bool], after: set[BrandName]) -> Kind:
    if b not in after:
        return "leave"
    if (e.op == "enter" and e.params["brand"] == b) or not any(carried):
        return "enter"
    return dispatch.kind(b, [a.type.row for a in e.operands if isinstance(a, Var)])


def _sentence(e: Eqn, b: BrandName, carried: Sequence[bool], column_kind: Kind, names: Mapping[Var, str]) -> str:
    pairs = list(zip(e.operands, carried, strict=True))
    carriers = list(dict.fromkeys(_name(a, names) for a, c in pairs if c))
    others = list(dict.fromkeys(_name(a, names) for a, c in pairs if not c and isinstance(a, Var)))
    axis = f"axis {e.params['axis']} of " if "axis" in e.params else ""
    first = _name(e.operands[0], names) if e.operands else ""
    results = join_words([names[v] for v in e.results])
    match column_kind:
        case "enter" if e.op == "enter":
            return f"{axis}{first} becomes the brand, {examples(b.size)}"
        case "enter":
            return f"{results} differs from example to example"
        case "leave" if e.op == "leave" and not carriers:
            return f"{first} is the same for all {examples(b.size)}, and is repeated along {axis}{results}"
        case "leave" if e.op == "leave":
            return f"its {examples(b.size)} become {axis}{results}"
        case "leave" if e.op not in COLLECTIVES and not e.has_programs:
            return f"of {join_words(carriers)} nothing but the shape is used, so {results} is the same for all"
        case "leave":
            return (
                f"{join_words(carriers)} of all {examples(b.size)} make one {results}, which no longer varies over it"
            )
        case "per example":
            return f"{carriers[0]} varies over it; the operation is done for each of its {examples(b.size)}"
        case "zip" if len(carriers) == 1:
            return f"{carriers[0]} varies over it, so its {examples(b.size)} are paired with themselves"
        case "zip":
            return f"{join_words(carriers)} vary over it, so their {examples(b.size)} are paired"
    verb = "varies" if len(carriers) == 1 else "vary"
    be = "is" if len(others) == 1 else "are"
    unchanged = f"{join_words(others)} {be} the same for each of its {examples(b.size)}"
    return f"only {join_words(carriers)} {verb} over it, so {unchanged}"


def _name(a: Atom, names: Mapping[Var, str]) -> str:
    return names[a] if isinstance(a, Var) else str(a)


def join_words(words: Sequence[str]) -> str:
    """Join words: `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


class Growth(NamedTuple):
    """The factor and the size in bytes from which the result of a broadcast causes a warning."""

    factor: float = 8.0
    size: int = 1 << 20


def cells_of(t: Type) -> int:
    """Return the number of cells of all examples."""
    return math.prod((*(b.size for b in t.row), *t.shape))


def bytes_of(t: Type) -> int:
    """Return the memory of all examples in bytes."""
    return cells_of(t) * strong_dtype(dtype_of(t.dtype)).itemsize


def grew(e: Eqn) -> float:
    """Return the size of the largest result divided by the size of the largest operand."""
    before = max((bytes_of(a.type) for a in e.operands if isinstance(a, Var)), default=0)
    after = max((bytes_of(v.type) for v in e.results), default=0)
    return after / before if before else 1.0


def warning(
    e: Eqn, step_columns: Sequence[Column], limit: Growth, names: Mapping[Var, str], kernel_names: Mapping[int, str]
) -> str | None:
    """Return a warning if a broadcast, or a leave that repeats a value, makes a value much larger; else None.

    `kernel_names` maps the sizes that kernels write, in bytes, to the names of the kernels.
    """
    repeats = [c for c in step_columns if c.how == "broadcast" or (c.how == "leave" and not any(c.operands))]
    size = max((bytes_of(v.type) for v in e.results), default=0)
    if not repeats or grew(e) < limit.factor or size < limit.size:
        return None
    over = join_words([c.brand.name for c in repeats])
    value = names[max(e.results, key=lambda v: bytes_of(v.type))]
    if size in kernel_names:
        note = f"the kernel {kernel_names[size]} writes that much to memory"
    elif any(size < n for n in kernel_names):
        note = "no kernel writes a value of this size, though one writes a larger one"
    else:
        note = "it is never in memory: no kernel writes that much"
    return f"the broadcast over {over} makes {value} {readable(size)}, {grew(e):.4g} times its largest operand; {note}"


def readable(size: int) -> str:
    """Format a size: `24 B`, `1.5 KiB`."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.4g} {unit}"
    return f"{size} B"
