"""The names of a program's values, taken from the source: from parameters, assignments and attributes.

An expression without a name gets a letter. Names are unique. An example with the same name as its array `x` becomes
`x_i`; any other value whose name is taken gets a number.
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
    """The names of a program's values and of its loop variables, and which values the user named."""

    values: dict[Var, str]
    loops: dict[BrandName, str]
    own: frozenset[Var]
    places: dict[Var, Where]
    """The positions of the expressions that compute the values, if an expression computes one value."""

    def operand_names(self, code: Callable[[Where], str]) -> dict[Var, str]:
        """Return the text for each value in a sentence: a value without a name is quoted as its expression."""
        texts = {v: code(where) for v, where in self.places.items() if v not in self.own}
        return {**self.values, **{v: f"`{text}`" for v, text in texts.items() if 0 < len(text) <= _IN_A_SENTENCE}}


def names_of(program: Program, paths: Sequence[str]) -> Names:
    """Return the names in a program, given the path of each variable in the arguments; captured ones have no path."""
    wanted = _Wanted()
    for v, path in zip((*program.invars, *program.constvars), paths, strict=True):
        wanted.add(v, path)
    wanted.program(program)
    wanted.last = {a for a in program.outs if a in wanted.left}
    loops = _loops(program, {*wanted.names.values()})
    return Names(_told_apart(wanted, loops), loops, frozenset(wanted.names), _codes(program))


class _Wanted:
    """The first name found for each value; `order` is the order in which values appear."""

    def __init__(self) -> None:
        self.names: dict[Var, str] = {}
        self.order: dict[Var, None] = {}
        self.entered: dict[Var, tuple[Var, BrandName]] = {}
        """For each value that entered a brand, the value before and the brand."""
        self.same: dict[Var, Var] = {}
        """For each value that a body captures, the value outside."""
        self.left: set[Var] = set()
        self.taken: dict[Var, None] = {}
        """The parameters of bodies, whose names other values may share."""
        self.last: set[Atom] = set()

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
                self.same |= {v: a for v, a in zip(inner.constvars, outside, strict=True) if isinstance(a, Var)}
                self.program(inner)
                self.taken |= dict.fromkeys(inner.invars)
                for v in inner.constvars:
                    self.add(self.same.get(v), self.names.get(v, ""))
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
            self.same[e.results[0]] = e.operands[0]
        if e.op == "enter":
            if isinstance(e.operands[0], Var):
                self.entered[e.results[0]] = e.operands[0], e.params["brand"]
            return
        if e.op == "leave":
            self.left.add(e.results[0])
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
    """Return the loop variables: the name of the brand if no value has it, else i, j, k, …."""
    used = {*values, *CALLED, *RESERVED}
    free = (n for n in itertools.chain("ijklmn", (f"i{k}" for k in itertools.count(2))) if n not in used)
    loops: dict[BrandName, str] = {}
    for b in dict.fromkeys(_brands(program)):
        usual = b.name not in used and not STEP.fullmatch(b.name)
        loops[b] = b.name if usual else next(free)
        used.add(loops[b])
    return loops


def _brands(p: Program) -> Iterator[BrandName]:
    yield from p.brands()
    for e in p.eqns:
        for inner in e.programs():
            yield from _brands(inner)


def _told_apart(wanted: _Wanted, loops: Mapping[BrandName, str]) -> dict[Var, str]:
    names: dict[Var, str] = {}
    used = {*loops.values(), *CALLED}
    fresh = (n for n in letters() if n not in used and n not in {*wanted.names.values()})
    for v in sorted(wanted.order, key=lambda v: v not in wanted.last):  # results are named first
        if v in wanted.same or v in wanted.taken:
            continue
        name = wanted.names.get(v, "out" if v in wanted.left else "")
        if v in wanted.entered and name in used:
            x, b = wanted.entered[v]
            name = f"{name}_{loops[b]}" if names.get(x, "").split("_")[0] == name.split("_")[0] else name
        names[v] = name = _free(name, used) if name else next(fresh)
        used.add(name)
    for v in wanted.taken:
        names[v] = wanted.names.get(v) or next(fresh)
    for v, x in wanted.same.items():
        while x in wanted.same:
            x = wanted.same[x]
        names[v] = names[x]
    return names


def _free(name: str, used: set[str]) -> str:
    return next(n for n in itertools.chain([name], (f"{name}{i}" for i in itertools.count(2))) if n not in used)


def identifier(text: str) -> str:
    """Return a Python name for source text: `bias` for `self.bias`, `params_w` for `params['w']`."""
    name = re.sub(r"\W+", "_", text.removeprefix("self.")).strip("_")
    fits = name.isidentifier() and not keyword.iskeyword(name) and name not in (RESERVED | CALLED)
    return name if fits and not STEP.fullmatch(name) and len(name) <= _LONGEST else ""


_LONGEST = 24
_IN_A_SENTENCE = 40


def _codes(program: Program) -> dict[Var, Where]:
    """Return the positions that compute a single value; a layer of tinygrad computes several at one position."""
    alone = Counter(e.where for e in program.eqns)
    positions = {v: e.where for e in program.eqns for v in e.results if e.where is not None and alone[e.where] == 1}
    for e in program.eqns:
        for inner in e.programs():
            positions |= _codes(inner)
    return positions


Span = tuple[int, int, int, int]


def assigned_names(where: Where | None) -> tuple[str, ...]:
    """Return the names to which the expression is assigned: `x = …`, `a, b = …`, `self.h = …`, `(y := …)`."""
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
    """Return the path of each captured value in the modules that the function uses, such as `net.l1.weight`."""
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
