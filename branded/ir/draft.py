"""Drafts of typed programs: equations are added to a draft, one for each recorded call or primitive."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.control_flow.loop_primitive import Loop
from branded.control_flow.scan import Scan
from branded.core.boundary import device_params
from branded.core.tracing.operand_names import UNSAID, Said
from branded.core.tracing.step import like
from branded.errors import ProgramTypeError
from branded.graph.primitive import params as own_params
from branded.graph.primitive import primitive_of
from branded.graph.rows import dtype_text, row_of, type_text, visible
from branded.graph.scope import Scope, brand_of
from branded.graph.tags import is_leaf
from branded.ir.primitives import PRIMITIVES
from branded.ir.terms import RESERVED, Atom, BrandName, Eqn, Literal, Program, Rule, Type, Var
from branded.tinygrad_compat.private_api import has_shape

_NO_VALUES = {Ops.FUNCTION, Ops.TUPLE, Ops.STORE}


class DraftLine(NamedTuple):
    """An equation with the graph values that it defines."""

    eqn: Eqn
    results: tuple[UOp, ...]


class Written(NamedTuple):
    """A program at one level."""

    program: Program
    lines: list[DraftLine]
    """The equations, with their values."""
    consts: list[UOp]
    """The values of its constvars."""


class Consts:
    """The state shared by all levels of a program: the names of its brands, and the captured values."""

    def __init__(self, places: Sequence[UOp], values: Iterable[UOp], since: int = 0) -> None:
        self.since = since
        """The number of the first brand that the program opened itself; earlier brands are around it."""
        self.brands: dict[Scope, BrandName] = {}
        self.values: dict[UOp, None] = {}
        self._own = {*places, *values}
        self._fixed: dict[UOp, bool] = {}

    def brand(self, b: Scope) -> BrandName:
        if b not in self.brands:
            stem = re.sub(r"\W", "_", b.name)
            if not stem.isidentifier() or stem in RESERVED:
                stem = f"b{stem}"
            used = {name.name for name in self.brands.values()}
            numbered = (stem if i == 1 else f"{stem}{i}" for i in range(1, len(used) + 2))
            self.brands[b] = BrandName(next(n for n in numbered if n not in used), b.size)
        return self.brands[b]

    def type(self, u: UOp) -> Type:
        row = tuple(self.brand(b) for b in visible(row_of(u)))
        shape = tuple(u.shape) if has_shape(u) else ()
        if not all(isinstance(n, int) for n in shape):
            raise ProgramTypeError(
                "make_expr: a value has a symbolic size", ("value", type_text(u)), fix="use concrete sizes"
            )
        return Type(dtype_text(u.dtype), shape, row)

    def is_fixed(self, u: UOp) -> bool:
        """Return whether this value is from outside: it depends on no argument, and the program did not compute it."""
        for v in u.toposort(lambda v: v not in self._fixed, enter_calls=False):
            if v not in self._fixed:
                from_own = v in self._own or self._is_scope(v) or v.op is Ops.PARAM or v in self.values
                self._fixed[v] = not from_own and all(self._fixed.get(s, True) for s in v.src)
        return self._fixed[u]

    def _is_scope(self, u: UOp) -> bool:
        """Return whether this is a brand that the program opened."""
        b = brand_of(u) if u.op is Ops.RANGE else None
        return u.op is Ops.RANGE and (b is None or b.number >= self.since)

    def outer(self) -> dict[BrandName, Scope]:
        """Return the brands around the program."""
        return {name: b for b, name in self.brands.items() if b.number < self.since}

    def hoist(self, u: UOp, is_operand: bool = False) -> bool:
        """Return whether this is a constant of the program: captured, and in memory or an operand of the user.

        A leaf of a derivative around the program is a constant too.
        """
        if u in self.values:
            return True
        if u.op in _NO_VALUES or not self.is_fixed(u):
            return False
        if (is_operand and u.shape) or any(v.op is Ops.BUFFER or is_leaf(v) for v in u.toposort()):
            self.values[u] = None
            self._fixed.clear()
            return True
        return False


class Draft:
    """A program in progress: its equations so far, and the variable of each value that they define."""

    def __init__(self, consts: Consts, params: Sequence[UOp], outer: Draft | None, ranges: Iterable[UOp] = ()) -> None:
        self.consts, self.outer = consts, outer
        self.params = [Var(consts.type(u)) for u in params]
        self.env: dict[UOp, Atom] = dict(zip(params, self.params, strict=True))
        self.lines: list[DraftLine] = []
        self.captured: dict[UOp, Var] = {}
        self._own = {*params, *ranges}
        self._depends: dict[UOp, bool] = {}

    def depends(self, u: UOp) -> bool:
        """Return whether this value depends on parameters of this draft, and not only on those of an outer draft."""
        if self.outer is None:
            return True
        for v in u.toposort(lambda v: v not in self._depends, enter_calls=False):
            if v not in self._depends:
                self._depends[v] = v in self._own or any(self._depends.get(s, False) for s in v.src)
        return self._depends[u]

    def atom(self, x: Any, is_operand: bool = False) -> Atom:
        """Return the variable or number of a value; emit the equations that compute it, if necessary.

        `is_operand` means that the user passed the value to an operation, and so has it as a tensor.
        """
        if isinstance(x, bool | int | float):
            return Literal(x, type(x).__name__)
        if x in self.env:
            return self.env[x]
        if (number := _literal(x)) is not None:
            return number
        if self.outer is not None and not self.depends(x):
            return self._capture(x)
        if self.consts.hoist(x, is_operand):
            return self._capture(x)
        if x.op is Ops.RANGE:
            raise _no_primitive("a UOp.range of your own", "use an operation over an axis: x.sum(0)")
        self._emit_down_to(x)
        return self.env[x]

    def _capture(self, x: UOp) -> Var:
        v = self.captured[x] = Var(self.consts.type(x))
        self.env[x] = v
        return v

    def _emit_down_to(self, x: UOp) -> None:
        """Emit the primitives from known values to `x`."""
        todo = [(x, False)]
        while todo:
            u, is_ready = todo.pop()
            if not self._is_to_be_emitted(u) or u.op in _INSIDE:
                continue
            if is_ready:
                primitive(self, u)
            else:
                todo += [(u, True), *((s, False) for s in reversed(_values(u)))]

    def _is_to_be_emitted(self, u: UOp) -> bool:
        if u in self.env or _literal(u) is not None:
            return False
        return self.depends(u) and not self.consts.hoist(u)

    def define(
        self,
        op: str,
        operands: Sequence[Any],
        params: dict[str, Any],
        results: Sequence[UOp],
        where: Any = None,
        names: Said = UNSAID,
    ) -> None:
        atoms = tuple(self.atom(x, is_operand=where is not None) for x in operands)
        new = tuple(Var(self.consts.type(u)) for u in results)
        for u, v in zip(results, new, strict=True):
            self.env.setdefault(u, v)
        self.lines.append(DraftLine(Eqn(op, atoms, params, new, where, names), tuple(results)))

    def finish(self, results: Sequence[UOp]) -> Written:
        """Return the program of these results, without unused equations."""
        outs = [self.atom(u) for u in results]
        needed = {a for a in outs if isinstance(a, Var)}
        lines: list[DraftLine] = []
        for line in reversed(self.lines):
            if needed.isdisjoint(line.eqn.results):
                continue
            lines.append(line)
            needed |= {a for a in line.eqn.operands if isinstance(a, Var)}
        lines.reverse()
        self.captured = {u: v for u, v in self.captured.items() if v in needed}
        program = Program(list(self.captured.values()), self.params, [line.eqn for line in lines], outs)
        return Written(program, lines, list(self.captured))


def type_of(u: UOp) -> Type:
    """Return the type of a value outside of any program."""
    return Consts((), ()).type(u)


def _literal(u: UOp) -> Literal | None:
    """Return the number of a constant, or None; tinygrad's floats have a class of their own."""
    const = u.src[0] if u.op is Ops.CAST else u
    if const.op is not Ops.CONST or const.is_invalid:
        return None
    kind = bool if u.dtype == dtypes.bool else float if dtypes.is_float(u.dtype) else int
    return Literal(kind(const.val), dtype_text(u.dtype)) if math.isfinite(const.val) or kind is float else None


_ONE_VALUE = {Ops.RESHAPE, Ops.EXPAND, Ops.PAD, Ops.SHRINK, Ops.UNSHARD}


def _values(u: UOp) -> tuple[UOp, ...]:
    """Return the operands that are values, not sizes, offsets or brands."""
    is_scope = u.op in (Ops.INDEX, Ops.STAGE) and brand_of(u.src[-1]) is not None
    return u.src[:1] if u.op in _ONE_VALUE or is_scope else u.src[1:] if u.op is Ops.FUNCTION else u.src


_INSIDE = {Ops.RANGE, Ops.SINK}
"""Operations that are printed as part of the equation that uses them."""
_CROSSINGS = {Ops.INDEX: "enter", Ops.STAGE: "leave"}


def _no_primitive(name: str, fix: str) -> ProgramTypeError:
    return ProgramTypeError(f"make_expr: {name} has no primitive", fix=fix)


def primitive(scope: Draft, u: UOp) -> None:
    """Emit the equation of one primitive, if it has its own equation."""
    if u.op is Ops.FUNCTION:
        _function(scope, u)
    elif u.op is Ops.CALL:
        raise _no_primitive("a hand-written kernel", "use operations of Tensor instead")
    elif u.op is Ops.GETTUPLE:
        if u.src[0].op is Ops.TUPLE:  # else defined by its FUNCTION
            scope.env[u] = scope.atom(u.src[0].src[u.arg])
    elif u.op not in (Ops.BUFFER, Ops.STORE):
        scope.define(*_equation_parts(scope, u), (u,))


def _equation_parts(scope: Draft, u: UOp) -> tuple[str, Sequence[UOp], dict[str, Any]]:
    """Return the name, operands and parameters of the equation of a primitive."""
    op, src = u.op, u.src
    if op in _CROSSINGS and (b := brand_of(src[1])) is not None:
        devices = device_params(b) if op is Ops.INDEX else {}
        return _CROSSINGS[op], src[:1], {"brand": scope.consts.brand(b), "axis": 0, **devices}
    if op is Ops.AFTER and (write := _write(u)) is not None:
        view, value = write
        if view is src[0]:
            return "STORE", (value,), {}
        into = Draft(scope.consts, (src[0],), scope)
        return "STORE", (src[0], value), {"into": into.finish([view]).program}
    if (row := PRIMITIVES.get(op.name)) is not None and (params := row.params(u)) is not None:
        return op.name, _values(u), params
    if u.arg is not None or op in _ONE_VALUE:  # not expressible as text
        return op.name, src[:1], {"arg": _rule(u.arg, u)}
    return op.name, src, {}


def _rule(name: object, info: Any) -> Rule:
    return Rule(re.sub(r"[<>]", "", str(name)), info)


def _write(u: UOp) -> tuple[UOp, UOp] | None:
    """Return the written part of a value, and the value written to it; None for other effects."""
    x, effect = u.src[0], u.src[1]
    store = effect.src[1] if effect.op is Ops.AFTER and len(effect.src) == 2 else effect
    if len(u.src) != 2 or store.op is not Ops.STORE or x not in store.src[0].toposort(enter_calls=False):
        return None
    return store.src[0], store.src[1]


def _function(scope: Draft, u: UOp) -> None:
    p = primitive_of(u)
    results = [u.gettuple(i) for i in range(len(u.src[0].src))]
    params: dict[str, Any] = {}
    if p is not None and (equation := p.as_equation()) is not None:
        scope.define(equation[0], u.src[1:], equation[1], results)
        return
    if p is not None and p.is_opaque:
        scope.define("HOST", u.src[1:], {"function": _rule(u.arg.name, u)}, results)
        return
    if isinstance(p, Loop):
        name, body = p.api_name.upper(), list(p.step.src)
        params = {"carries": p.carries}
        if isinstance(p, Scan):
            params = {"length": p.length, "reverse": p.reverse, "carries": p.carries, "inputs": p.inputs}
        if p.gated:
            params["gated"] = True
    else:
        name, body = "FUNCTION", list(u.src[0].src)
        if u.arg is not None:
            params["rule"] = _rule(u.arg.name or name, u.arg)
    slots = {q.arg.slot: q for q in own_params(UOp.maketuple(*body))}
    steps = range(p.carries, p.carries + p.inputs) if isinstance(p, Scan) else ()
    places = [slots[i] if i in slots else like(x, i in steps) for i, x in enumerate(u.src[1:])]
    inner = Draft(scope.consts, places, scope)
    params["body"] = inner.finish(body).program
    outside = list(inner.captured)
    if outside:
        params = {"consts": len(outside), **params}
    scope.define(name, (*outside, *u.src[1:]), params, results)
