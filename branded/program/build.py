"""From what was recorded, and from the graph, to typed programs, whose lines know the lines that they become."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from tinygrad import dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import Ops, UOp

from branded.dispatch import Pass
from branded.errors import ProgramTypeError
from branded.graph import replaced
from branded.loops.primitive import Loop, like
from branded.loops.scan import Scan
from branded.patches.tg import has_shape
from branded.primitive import Batched, primitive_of
from branded.primitive import params as own_params
from branded.program.primitives import PRIMITIVES
from branded.program.terms import RESERVED, Atom, BrandName, Dtype, Eqn, Literal, Program, Rule, Type, Var
from branded.recording import Body, Call, Frame
from branded.rows import (
    dtype_text,
    is_leaf,
    is_marked,
    is_touched,
    left_brands,
    row_of,
    type_text,
    visible,
)
from branded.scope import Scope, brand_of

_NO_VALUES = {Ops.FUNCTION, Ops.TUPLE, Ops.STORE}

LEVELS = ("operations", "primitives", "batched")


class Levels(NamedTuple):
    """The three programs of a function, which lines of the next one each line becomes, and the brands around it."""

    written: dict[str, Written]
    links: dict[str, list[list[int]]]
    outer: dict[BrandName, Scope]


class Since(NamedTuple):
    """The first brand, and the first leaf of a derivative, that a program made itself."""

    brand: int
    leaf: int


def levels(frame: Frame, places: Sequence[UOp], results: Sequence[UOp], since: Since) -> Levels:
    """The programs of what was recorded, with `places` for its arguments.  Of `vmap(lambda x: x.sum())`:

    operations      b = enter a;  c = sum b;  d = leave c             what was called, by the record
    primitives      b = enter a;  c = REDUCE b;  d = leave c          what the graph of the results has
    batched         d = REDUCE a                                      what it has when the brands are closed
    """
    results = _renewed(frame, results, since.leaf)
    frames = _frames(frame)
    # a call may give what it was given, as `x.float()` does with floats: then it did not make it; nor what is in memory
    made = (u for f in frames for c in f.calls for u in c.results if u not in c.operands and u.op is not Ops.BUFFER)
    consts = Consts(places, made, since.brand)
    outs, became = _batched(results, since.brand)
    upper = _recorded(Draft(consts, places, None), frame, results)
    middle = Draft(consts, places, None).finish(results)
    lower = Draft(consts, places, None).finish(outs)
    return Levels(
        dict(zip(LEVELS, (upper, middle, lower), strict=True)),
        {LEVELS[0]: _links(upper, middle, lambda u: u), LEVELS[1]: _links(middle, lower, became)},
        consts.outer(),
    )


def type_of(u: UOp) -> Type:
    """The type of a value by itself."""
    return Consts((), ()).type(u)


class Line(NamedTuple):
    """An equation with the values in the graph that it defines."""

    eqn: Eqn
    results: tuple[UOp, ...]


class Written(NamedTuple):
    """A program at one level."""

    program: Program
    lines: list[Line]
    """Its equations."""
    consts: list[UOp]
    """The values of its constvars."""


class Consts:
    """What all levels of a program share: the names of its brands, and the values from outside."""

    def __init__(self, places: Sequence[UOp], made: Iterable[UOp], since: int = 0) -> None:
        self.since = since
        """The number of the first brand that the program opened itself; earlier ones are around it."""
        self.brands: dict[Scope, BrandName] = {}
        self.values: dict[UOp, None] = {}
        self._own = {*places, *made}
        self._fixed: dict[UOp, bool] = {}

    def brand(self, b: Scope) -> BrandName:
        if b not in self.brands:
            stem = re.sub(r"\W", "_", b.name)
            if not stem.isidentifier() or stem in RESERVED:
                stem = f"b{stem}"
            taken = {name.name for name in self.brands.values()}
            numbered = (stem if i == 1 else f"{stem}{i}" for i in range(1, len(taken) + 2))
            self.brands[b] = BrandName(next(n for n in numbered if n not in taken), b.size)
        return self.brands[b]

    def type(self, u: UOp) -> Type:
        row = tuple(self.brand(b) for b in visible(row_of(u)))
        shape = tuple(u.shape) if has_shape(u) else ()
        if not all(isinstance(n, int) for n in shape):
            raise ProgramTypeError(
                "make_expr: a value has a symbolic size", ("value", type_text(u)), fix="sizes that are known"
            )
        return Type(dtype_text(u.dtype), shape, row)

    def is_fixed(self, u: UOp) -> bool:
        """Is this a value from outside: one that depends on no argument, and that the program did not make?"""
        for v in u.toposort(lambda v: v not in self._fixed, enter_calls=False):
            if v not in self._fixed:
                from_own = v in self._own or self._is_scope(v) or v.op is Ops.PARAM or v in self.values
                self._fixed[v] = not from_own and all(self._fixed.get(s, True) for s in v.src)
        return self._fixed[u]

    def _is_scope(self, u: UOp) -> bool:
        """Is this a brand that the program opened?"""
        b = brand_of(u) if u.op is Ops.RANGE else None
        return u.op is Ops.RANGE and (b is None or b.number >= self.since)

    def outer(self) -> dict[BrandName, Scope]:
        """The brands around the program."""
        return {name: b for b, name in self.brands.items() if b.number < self.since}

    def hoist(self, u: UOp, given: bool = False) -> bool:
        """Is this a constant of the program: a value from outside that is in memory, or was `given` as a tensor?"""
        if u in self.values:
            return True
        if u.op in _NO_VALUES or not self.is_fixed(u):
            return False
        if (given and u.shape) or any(v.op is Ops.BUFFER for v in u.toposort()):
            self.values[u] = None
            self._fixed.clear()
            return True
        return False


class Draft:
    """A program in the making: its equations so far, and the variable of each value that they define."""

    def __init__(self, consts: Consts, params: Sequence[UOp], outer: Draft | None, own: Iterable[UOp] = ()) -> None:
        self.consts, self.outer = consts, outer
        self.params = [Var(consts.type(u)) for u in params]
        self.env: dict[UOp, Atom] = dict(zip(params, self.params, strict=True))
        self.lines: list[Line] = []
        self.captured: dict[UOp, Var] = {}
        self._own = {*params, *own}
        self._depends: dict[UOp, bool] = {}

    # ---- values ----

    def depends(self, u: UOp) -> bool:
        """Does this value belong to the scope itself, and not to what is around it?"""
        if self.outer is None:
            return True
        for v in u.toposort(lambda v: v not in self._depends, enter_calls=False):
            if v not in self._depends:
                self._depends[v] = v in self._own or any(self._depends.get(s, False) for s in v.src)
        return self._depends[u]

    def atom(self, x: Any, given: bool = False) -> Atom:
        """The variable or number that a value is here; what is not there yet is computed first.

        A value may have been given to an operation by the user, who then knows it as a tensor.
        """
        if isinstance(x, bool | int | float):
            return Literal(x, type(x).__name__)
        if x in self.env:
            return self.env[x]
        if (number := _number(x)) is not None:
            return number
        if self.outer is not None and not self.depends(x):
            return self._capture(x)
        if self.consts.hoist(x, given):
            return self._capture(x)
        self._emit_down_to(x)
        return self.env[x]

    def _capture(self, x: UOp) -> Var:
        v = self.captured[x] = Var(self.consts.type(x))
        self.env[x] = v
        return v

    def _emit_down_to(self, x: UOp) -> None:
        """The primitives from what is known to `x`."""
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
        if u in self.env or _number(u) is not None:
            return False
        return self.depends(u) and not self.consts.hoist(u)

    # ---- equations ----

    def define(
        self,
        op: str,
        operands: Sequence[Any],
        params: dict[str, Any],
        results: Sequence[UOp],
        where: Any = None,
    ) -> None:
        atoms = tuple(self.atom(x, given=where is not None) for x in operands)
        new = tuple(Var(self.consts.type(u)) for u in results)
        for u, v in zip(results, new, strict=True):
            self.env.setdefault(u, v)
        self.lines.append(Line(Eqn(op, atoms, params, new, where), tuple(results)))

    def finish(self, results: Sequence[UOp]) -> Written:
        """The program of these results, without what none of them needs."""
        outs = [self.atom(u) for u in results]
        needed = {a for a in outs if isinstance(a, Var)}
        kept: list[Line] = []
        for line in reversed(self.lines):
            if needed.isdisjoint(line.eqn.results):
                continue
            kept.append(line)
            needed |= {a for a in line.eqn.operands if isinstance(a, Var)}
        kept.reverse()
        self.captured = {u: v for u, v in self.captured.items() if v in needed}
        program = Program(list(self.captured.values()), self.params, [line.eqn for line in kept], outs)
        return Written(program, kept, list(self.captured))


# ---- the operations of the user ----


def _recorded(scope: Draft, frame: Frame, results: Sequence[UOp]) -> Written:
    # what no result is made of, derivatives have replaced
    used = set(UOp.sink(*results, *(u for b in _bodies(frame) for u in b.results)).toposort(enter_calls=False))
    calls = []
    for call in reversed(frame.calls):
        if not used.isdisjoint(call.results):
            calls.append(call)
            operands = [u for u in call.operands if isinstance(u, UOp)]
            used |= UOp.sink(*operands).toposort(lambda u: u not in used, enter_calls=False).keys()
    for call in reversed(calls):
        if any(u not in scope.env for u in call.results):
            _call(scope, call)
    return scope.finish(results)


def _call(scope: Draft, call: Call) -> None:
    params = {k: _param(scope.consts, v) for k, v in call.params.items()}
    if not call.bodies:
        scope.define(call.op, call.operands, params, call.results, call.where)
        return
    written: dict[str, list[tuple[Draft, Written]]] = {}
    for k, bodies in call.bodies.items():
        for b in _each(bodies):
            ranges = [c.results[0].src[-1] for c in b.frame.calls if c.op == "enter" and c.results[0].op is Ops.INDEX]
            inner = Draft(scope.consts, b.params, scope, ranges)
            written.setdefault(k, []).append((inner, _recorded(inner, b.frame, b.results)))
    # what any of the bodies has from outside is an operand, and a constant of each
    outside = list(dict.fromkeys(u for parts in written.values() for inner, _ in parts for u in inner.captured))
    if outside:
        params = {"consts": len(outside), **params}
    for k, parts in written.items():
        for inner, w in parts:
            w.program.constvars[:] = [inner.captured.get(u) or Var(scope.consts.type(u)) for u in outside]
        programs = tuple(w.program for _, w in parts)
        params[k] = programs if isinstance(call.bodies[k], list) else programs[0]
    scope.define(call.op, (*outside, *call.operands), params, call.results, call.where)


def _param(consts: Consts, v: Any) -> Any:
    """A parameter as it is printed."""
    if isinstance(v, Scope):
        return consts.brand(v)
    if isinstance(v, DType):
        return Dtype(dtype_text(v))
    if type(v) in (tuple, list):
        return type(v)(_param(consts, x) for x in v)
    return v


def _number(u: UOp) -> Literal | None:
    """The number that a value is; tinygrad's floats have a class of theirs."""
    const = u.src[0] if u.op is Ops.CAST else u
    if const.op is not Ops.CONST or const.is_invalid:
        return None
    of = bool if u.dtype == dtypes.bool else float if dtypes.is_float(u.dtype) else int
    return Literal(of(const.val), dtype_text(u.dtype)) if math.isfinite(const.val) or of is float else None


# ---- the primitives of tinygrad ----

_ONE_VALUE = {Ops.RESHAPE, Ops.EXPAND, Ops.PAD, Ops.SHRINK, Ops.UNSHARD}


def _values(u: UOp) -> tuple[UOp, ...]:
    """The operands that are values, not sizes, offsets or brands."""
    is_scope = u.op in (Ops.INDEX, Ops.STAGE) and brand_of(u.src[-1]) is not None
    return u.src[:1] if u.op in _ONE_VALUE or is_scope else u.src[1:] if u.op is Ops.FUNCTION else u.src


_INSIDE = {Ops.RANGE, Ops.SINK}
"""What is written into the equation that uses it."""


def primitive(scope: Draft, u: UOp) -> None:
    """The equation of one primitive."""
    op, src = u.op, u.src
    params: dict[str, Any] = {}
    name, operands = op.name, src
    if op is Ops.INDEX and (b := brand_of(src[1])) is not None:
        name, operands, params = "enter", src[:1], {"brand": scope.consts.brand(b), "axis": 0}
    elif op is Ops.STAGE and (b := brand_of(src[1])) is not None:
        name, operands, params = "leave", src[:1], {"brand": scope.consts.brand(b), "axis": 0}
    elif op is Ops.FUNCTION:
        _function(scope, u)
        return
    elif op is Ops.GETTUPLE and src[0].op is Ops.TUPLE:
        scope.env[u] = scope.atom(src[0].src[u.arg])
        return
    elif op is Ops.GETTUPLE:
        return  # defined by its FUNCTION
    elif op is Ops.AFTER and (write := _write(u)) is not None:
        view, value = write
        name, operands = "STORE", (value,) if view is src[0] else (src[0], value)
        if view is not src[0]:
            into = Draft(scope.consts, (src[0],), scope)
            params = {"into": into.finish([view]).program}
    elif op in (Ops.BUFFER, Ops.STORE):
        return
    elif (row := PRIMITIVES.get(op.name)) is not None and (said := row.params(u)) is not None:
        operands, params = _values(u), said
    elif u.arg is not None or op in _ONE_VALUE:  # nothing that text could say
        operands, params = src[:1], {"arg": Rule(re.sub(r"[<>]", "", str(u.arg)), u)}
    scope.define(name, operands, params, (u,))


def _write(u: UOp) -> tuple[UOp, UOp] | None:
    """The part of a value that is written, and what is written there; None for effects of other kinds."""
    x, effect = u.src[0], u.src[1]
    store = effect.src[1] if effect.op is Ops.AFTER and len(effect.src) == 2 else effect
    if len(u.src) != 2 or store.op is not Ops.STORE or x not in store.src[0].toposort(enter_calls=False):
        return None
    return store.src[0], store.src[1]


def _function(scope: Draft, u: UOp) -> None:
    p = primitive_of(u)
    results = [u.gettuple(i) for i in range(len(u.src[0].src))]
    params: dict[str, Any] = {}
    if p is not None and (said := p.said()) is not None:
        scope.define(said[0], u.src[1:], said[1], results)
        return
    if p is not None and p.is_opaque:
        scope.define("HOST", u.src[1:], {"function": Rule(re.sub(r"[<>]", "", str(u.arg.name)), u)}, results)
        return
    if isinstance(p, Loop):
        name, body = p.what.upper(), list(p.step.src)
        params = {"carries": p.carries}
        if isinstance(p, Scan):
            params = {"length": p.length, "reverse": p.reverse, "carries": p.carries, "inputs": p.inputs}
    else:
        name, body = "FUNCTION", list(u.src[0].src)
        if u.arg is not None:
            params["rule"] = Rule(re.sub(r"[<>]", "", str(u.arg.name or name)), u.arg)
    found = {q.arg.slot: q for q in own_params(UOp.maketuple(*body))}
    steps = range(p.carries, p.carries + p.inputs) if isinstance(p, Scan) else ()
    places = [found[i] if i in found else like(x, i in steps) for i, x in enumerate(u.src[1:])]
    inner = Draft(scope.consts, places, scope)
    params["body"] = inner.finish(body).program
    outside = list(inner.captured)
    if outside:
        params = {"consts": len(outside), **params}
    scope.define(name, (*outside, *u.src[1:]), params, results)


# ---- from level to level ----


def _without_leaves(us: Sequence[UOp], since: int) -> list[UOp]:
    """The values without the leaves of derivatives from this one on; earlier ones are of a derivative around it."""

    def own(u: UOp) -> UOp | None:
        if not is_leaf(u):
            return u.src[0] if is_marked(u) else None
        level = u.arg[0] if isinstance(u.arg, tuple) else u.arg  # a place of a custom function has a number too
        return u.src[0] if level.number >= since else None

    return replaced(us, own)


def _batched(results: Sequence[UOp], since: int) -> tuple[list[UOp], Callable[[UOp], UOp]]:
    """The results with the brands that were left closed, and what became of each value of their graphs."""
    env: dict[UOp, Any] = {}
    own = tuple(b for b in left_brands(results) if b.number >= since)
    outs = Pass(own).run(results, env, is_touched)

    def became(u: UOp) -> UOp:
        x = env.get(u)
        return x.uop if isinstance(x, Batched) else u

    return [x.uop for x in outs], became


def _links(upper: Written, lower: Written, became: Callable[[UOp], UOp]) -> list[list[int]]:
    """For each equation of a program, the numbers of the equations that it becomes one level below."""
    at = {u: i for i, line in enumerate(lower.lines) for u in line.results}
    seen: set[UOp] = set()
    out: list[list[int]] = []
    for line in upper.lines:
        own: set[int] = set()
        for r in line.results:
            for u in became(r).toposort(lambda u: u not in seen, enter_calls=False):
                if u not in seen:
                    seen.add(u)
                    if u in at:
                        own.add(at[u])
        out.append(sorted(own))
    return out


def _each(bodies: Body | list[Body]) -> list[Body]:
    return bodies if isinstance(bodies, list) else [bodies]


def _bodies(frame: Frame) -> Iterable[Body]:
    for call in frame.calls:
        for v in call.bodies.values():
            for b in _each(v):
                yield b
                yield from _bodies(b.frame)


def _frames(frame: Frame) -> list[Frame]:
    """A record and those of the bodies in it."""
    return list(dict.fromkeys([frame, *(b.frame for b in _bodies(frame))]))


def _renewed(frame: Frame, results: Sequence[UOp], since: int) -> list[UOp]:
    """Take the leaves of its own derivatives out of everything that was recorded; gives the results."""
    frames = _frames(frame)
    recorded = [u for f in frames for c in f.calls for u in c.results]
    if not any(map(is_marked, UOp(Ops.SINK, src=(*recorded, *results)).toposort())):
        return list(results)
    every = {u for f in frames for c in f.calls for u in (*c.operands, *c.results) if isinstance(u, UOp)}
    every |= {u for b in _bodies(frame) for u in (*b.params, *b.results)}
    order = [*every, *results]
    new = dict(zip(order, _without_leaves(order, since), strict=True))

    def body(b: Body) -> Body:
        return Body(b.frame, tuple(new[u] for u in b.params), tuple(new[u] for u in b.results))

    for f in frames:
        f.calls[:] = [
            c._replace(
                operands=tuple(new[u] if isinstance(u, UOp) else u for u in c.operands),
                results=tuple(new[u] for u in c.results),
                bodies={k: list(map(body, v)) if isinstance(v, list) else body(v) for k, v in c.bodies.items()},
            )
            for c in f.calls
        ]
    return [new[u] for u in results]
