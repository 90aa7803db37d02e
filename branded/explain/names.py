"""Name the values of a program as its source does: after parameters, assignments and attributes.

An expression without a name gets a letter. Names are unique: if an example has the same name as its array `x`, it is
called `x_i`, and any other repeated name gets a number.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import keyword
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

from tinygrad import Tensor, nn
from tinygrad.uop.ops import UOp

from branded.core.tracing.recorded_calls import WRITES
from branded.core.validation.axes_suggestions import holds_tensors
from branded.errors.source import Where, lines, parse_lines
from branded.ir.terms import RESERVED, Atom, BrandName, Eqn, Program, Var, letters

CALLED = frozenset({"Tensor", "float", "functions", "linalg", "list", "random", "range", "reversed", "sum", "tuple"})
"""The names that the loops call."""
STEP = re.compile(r"step\d*")
"""The names of the loop variables of `scan` and similar functions."""
_BODIES = {"scan": "f", "fori_loop": "body_fun", "while_loop": "body_fun"}
_SHARDING = ("COPY", "SHRINK", "UNSHARD")
"""The operations that shard the examples of a brand over devices; a SHRINK that differs by device has no text."""
_SHORT = {"gradient": "grad", "Jacobian": "jacobian"}


class Names(NamedTuple):
    """The names of a program's values and loop variables.

    Attributes:
        values: The name of each value.
        loops: The name of the loop variable of each brand.
        user_named: The values that have a name in the source.
        places: The position of the expression that computes a value, if it computes only this value.
    """

    values: dict[Var, str]
    loops: dict[BrandName, str]
    user_named: frozenset[Var]
    places: dict[Var, Where]

    def operand_names(self, code: Callable[[Where], str]) -> dict[Var, str]:
        """Return the text to use for each value in a sentence: its name in the source, else its short expression."""
        texts = {v: code(where) for v, where in self.places.items() if v not in self.user_named}
        return {**self.values, **{v: f"`{text}`" for v, text in texts.items() if 0 < len(text) <= _IN_A_SENTENCE}}


def names_of(program: Program, paths: Sequence[str]) -> Names:
    """Name the values of a program; `paths` has the path of each argument in the call, and "" for captured values."""
    found = _FoundNames()
    for v, path in zip((*program.invars, *program.constvars), paths, strict=True):
        found.add(v, path)
    found.program(program)
    found.results = {a for a in program.outs if a in found.has_left_brand}
    loops = _loops(program, {*found.names.values()})
    return Names(_unique_names(found, loops), loops, frozenset(found.names), _positions(program))


class _FoundNames:
    """Collects the first name that the source gives to each value."""

    def __init__(self) -> None:
        self.names: dict[Var, str] = {}
        self.order: dict[Var, None] = {}
        """All values, in the order of their first appearance."""
        self.before_entering: dict[Var, tuple[Var, BrandName]] = {}
        """For each value that entered a brand, the value before it entered, and the brand."""
        self.captured: dict[Var, Var] = {}
        """For each value that a body captures, the same value outside of the body."""
        self.has_left_brand: set[Var] = set()
        self.body_parameters: dict[Var, None] = {}
        """The parameters of bodies, whose names other values may share."""
        self.results: set[Atom] = set()

    def add(self, v: object, text: str) -> None:
        if isinstance(v, Var) and v not in self.names and (name := identifier(text)):
            self.names[v] = name

    def program(self, p: Program) -> None:
        self.order |= dict.fromkeys((*p.invars, *p.constvars))
        last = {e.where: e for e in p.eqns}  # the last equation of an expression computes its value
        for e in p.eqns:
            for a, names in zip(e.operands, e.names.operands, strict=False):
                for name in names:
                    self.add(a, name)  # an argument keeps its name in the called function
            if e.op in ("enter", "leave") or last[e.where] is e or is_sharding(e) or e.op in WRITES:
                self._results(e, [f for f in p.eqns if f.op == "leave" == e.op and f.where == e.where])
            for inner in e.programs():
                outside = e.operands[: e.params.get("consts", 0)]
                self.captured |= {v: a for v, a in zip(inner.constvars, outside, strict=True) if isinstance(a, Var)}
                self.program(inner)
                self.body_parameters |= dict.fromkeys(inner.invars)
                for v in inner.constvars:
                    self.add(self.captured.get(v), self.names.get(v, ""))
            self._carried(e)
            self._derived(e, p)
            self.order |= dict.fromkeys(e.results)

    def _carried(self, e: Eqn) -> None:
        """Name the results of a loop after the carries of its body."""
        if (body := e.params.get(_BODIES.get(e.op, ""))) is not None:
            first = 1 if e.op == "fori_loop" else 0
            carries = body.invars[first : first + e.params.get("carries", len(e.results))]
            for v, x in zip(e.results, carries, strict=False):
                self.add(v, self.names.get(x, ""))

    def _derived(self, e: Eqn, p: Program) -> None:
        """Name the results of a derivative: `grad_loss` for the gradient of `loss`."""
        if e.derived is None:
            return
        kind, _, function = e.derived.description.partition(" of ")
        others = {a for x in p.eqns if x.derived is None for a in x.operands} | {*p.outs}
        for v in e.results:
            if v in others:
                self.add(v, f"{_SHORT.get(kind, kind)}_{function}")

    def _results(self, e: Eqn, leaves: Sequence[Eqn]) -> None:
        if is_sharding(e) and isinstance(e.operands[0], Var):
            self.captured[e.results[0]] = e.operands[0]
        if e.op == "enter":
            if isinstance(e.operands[0], Var):
                self.before_entering[e.results[0]] = e.operands[0], e.params["brand"]
            return
        if e.op == "leave":
            self.has_left_brand.add(e.results[0])
        if e.op in WRITES and isinstance(e.operands[0], Var):
            self.add(e.results[0], self.names.get(e.operands[0], ""))
        targets = assigned_names(e.where)
        results = [v for f in leaves for v in f.results] or [*e.results]
        if len(targets) == len(results):
            for v, name in zip(results, targets, strict=True):
                self.add(v, name)


def is_sharding(e: Eqn) -> bool:
    """Return whether this operation places a value on devices without changing it."""
    return e.where is None and e.op in _SHARDING and (e.op != "SHRINK" or "arg" in e.params)


def _loops(program: Program, values: set[str]) -> dict[BrandName, str]:
    """Return a loop variable for each brand: the brand's name if no value has this name, else i, j, k, …."""
    used = {*values, *CALLED, *RESERVED}
    free = (n for n in itertools.chain("ijklmn", (f"i{k}" for k in itertools.count(2))) if n not in used)
    loops: dict[BrandName, str] = {}
    for b in dict.fromkeys(_brands_in(program)):
        is_available = b.name not in used and not STEP.fullmatch(b.name)
        loops[b] = b.name if is_available else next(free)
        used.add(loops[b])
    return loops


def _brands_in(p: Program) -> Iterator[BrandName]:
    yield from p.brands()
    for e in p.eqns:
        for inner in e.programs():
            yield from _brands_in(inner)


def _unique_names(found: _FoundNames, loops: Mapping[BrandName, str]) -> dict[Var, str]:
    """Return a name for each value that no other value and no loop variable has."""
    names: dict[Var, str] = {}
    used = {*loops.values(), *CALLED}
    fresh = (n for n in letters() if n not in used and n not in {*found.names.values()})
    for v in sorted(found.order, key=lambda v: v not in found.results):  # results are named first
        if v in found.captured or v in found.body_parameters:
            continue
        name = found.names.get(v, "out" if v in found.has_left_brand else "")
        if v in found.before_entering and name in used:
            x, b = found.before_entering[v]
            name = f"{name}_{loops[b]}" if names.get(x, "").split("_")[0] == name.split("_")[0] else name
        names[v] = name = _with_number(name, used) if name else next(fresh)
        used.add(name)
    for v in found.body_parameters:
        names[v] = found.names.get(v) or next(fresh)
    for v, x in found.captured.items():
        while x in found.captured:
            x = found.captured[x]
        names[v] = names[x]
    return names


def _with_number(name: str, used: set[str]) -> str:
    """Return `name`, with a number appended if it is already used."""
    return next(n for n in itertools.chain([name], (f"{name}{i}" for i in itertools.count(2))) if n not in used)


def identifier(text: str) -> str:
    """Return a short Python name for source text, or "": `bias` for `self.bias`, `params_w` for `params['w']`."""
    name = re.sub(r"\W+", "_", text.removeprefix("self.")).strip("_")
    is_allowed = name.isidentifier() and not keyword.iskeyword(name) and name not in (RESERVED | CALLED)
    return name if is_allowed and not STEP.fullmatch(name) and len(name) <= _LONGEST else ""


_LONGEST = 24
_IN_A_SENTENCE = 40


def _positions(program: Program) -> dict[Var, Where]:
    """Return the position of each value whose expression computes no other value, as a tinygrad layer would."""
    counts = Counter(e.where for e in program.eqns)
    positions = {v: e.where for e in program.eqns for v in e.results if e.where is not None and counts[e.where] == 1}
    for e in program.eqns:
        for inner in e.programs():
            positions |= _positions(inner)
    return positions


Span = tuple[int, int, int, int]


def assigned_names(where: Where | None) -> tuple[str, ...]:
    """Return the names to which an expression is assigned: `x = …`, `a, b = …`, `self.h = …`, `(y := …)`."""
    if where is None:
        return ()
    assignments = _assignments(tuple(lines(where.file)))
    return assignments.get((where.line, where.column, where.end_line, where.end_column), ())


@functools.lru_cache(maxsize=8)
def _assignments(lines: tuple[str, ...]) -> dict[Span, tuple[str, ...]]:
    assignments: dict[Span, tuple[str, ...]] = {}
    for node in ast.walk(parse_lines(lines) or ast.Module([], [])):
        match node:
            case ast.Assign([target], value) | ast.AnnAssign(target, _, ast.expr() as value):
                assignments[_span(value)] = _targets(target)
            case ast.NamedExpr(target, value):
                assignments[_span(value)] = _targets(target)
            case ast.AugAssign(target):
                assignments[_span(node)] = _targets(target)
    return assignments


def _span(x: ast.expr | ast.stmt) -> Span:
    return x.lineno, x.col_offset, x.end_lineno or 0, x.end_col_offset or 0


def _targets(target: ast.expr) -> tuple[str, ...]:
    if isinstance(target, ast.Tuple | ast.List):
        return tuple(ast.unparse(t) for t in target.elts)
    return (ast.unparse(target),) if isinstance(target, ast.Name | ast.Attribute) else ()


def captured_paths(f: Callable[..., Any], consts: Sequence[Tensor]) -> list[str]:
    """Return the path of each captured tensor in the modules that the function uses, such as `net.l1.weight`, or ""."""
    function = inspect.unwrap(f)
    if not isinstance(function, FunctionType):
        return [""] * len(consts)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    used = {name: cell.cell_contents for name, cell in cells if cell != CellType()}
    codes = [function.__code__]
    for code in codes:
        used |= {name: function.__globals__.get(name) for name in code.co_names}
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]
    paths: dict[UOp, str] = {}
    for name, x in used.items():
        if holds_tensors(x):
            for key, t in nn.state.get_state_dict(x).items():
                paths.setdefault(t.uop, f"{name}.{key}")
    return [paths.get(c.uop, "") for c in consts]
