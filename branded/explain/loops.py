"""The equivalent Python loop of one step or of a whole function: a program that computes the same values.

Each brand becomes a `for` loop, whose body computes one example. The loop of one step indexes each value by its brands,
as in `e[x, y] = c[x] + d[y]`. The loop of a function is nested like its vmaps, so a name is the value of one example,
as in the function itself. If examples exchange values (`psum`), one nest of loops is not enough, and each step gets its
own loop.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from branded.collectives.named_axes import COLLECTIVES
from branded.core.tracing.recorded_calls import WRITES
from branded.errors import count_noun
from branded.explain.loop_bodies import INDENT, Bodies
from branded.explain.names import Names, is_sharding
from branded.explain.operation_text import NoTextError, call_text, empty, number, write
from branded.ir.terms import Atom, BrandName, Eqn, Literal, Program, Type, Var

_SHORT = 60
"""The maximum length of an expression that is written where its unnamed value is used."""
_REDUCTIONS = {"pmean": "mean", "psum": "sum", "pmax": "max", "pmin": "min"}


def loop_of_step(e: Eqn, names: Names) -> str | None:
    """Return the loop of one equation, in which each value is indexed by its brands.

    Args:
        e: The equation.
        names: The names of the variables of its program.

    Returns:
        Python code for a scope that has the operands and the memory for the results; None if the equation has no
        Python form.
    """
    try:
        return "\n".join(_Writer(names).step(e))
    except NoTextError:
        return None


def loop_of_function(
    name: str, program: Program, names: Names, result: Callable[[Sequence[str]], str], *, folded: bool = False
) -> str | None:
    """Return a whole program as a Python function with loops.

    Args:
        name: The name of the function.
        program: The operations of the function.
        names: The names of its variables.
        result: A function from the texts of the program's results to the text of the returned value.
        folded: Whether to summarize the steps of a derivative in one line, which does not run.

    Returns:
        Python code that uses `Tensor`, and `random`, `linalg` and `functions` of `branded`. The constants of the
        program are additional parameters. The result is None if an operation has no Python form.
    """

    def write_function(body: Callable[[_Writer], list[str]]) -> str:
        writer = _Writer(names, _inlinable_values(program, names), folded=folded)
        lines = body(writer)
        outs = [writer.atom(a) for a in program.outs]
        parameters = [names.values[v] for v in (*program.invars, *program.constvars)]
        head = f"def {name}({', '.join(parameters)}):"
        return "\n".join([head, *(INDENT + line for line in [*lines, _drop_parentheses(f"return {result(outs)}")])])

    try:
        try:
            return write_function(lambda writer: writer.nested(program.eqns))
        except _ExchangeError:
            return write_function(lambda writer: writer.one_by_one(program.eqns))
    except NoTextError:
        return None


def _inlinable_values(program: Program, names: Names) -> dict[Var, Eqn | None]:
    """Return the unnamed values that are used once, each with the operation that uses it (None: the result)."""
    uses: dict[Var, list[Eqn | None]] = {}
    for user, atoms in [*((e, e.operands) for e in program.eqns), (None, program.outs)]:
        for a in atoms:
            if isinstance(a, Var):
                uses.setdefault(a, []).append(user)
    within = [_inlinable_values(inner, names) for e in program.eqns for inner in e.programs()]
    unnamed = [v for e in program.eqns if (v := _only_result(e)) is not None and v not in names.user_named]
    used_once = {v: uses[v][0] for v in unnamed if len(uses.get(v, [])) == 1}
    inlinable = {v: use for v, use in used_once.items() if use is None or _is_operation(use) or use.op == "leave"}
    return dict(itertools.chain(inlinable.items(), *(more.items() for more in within)))


def _only_result(e: Eqn) -> Var | None:
    """Return the result of an operation that has exactly one, else None."""
    return e.results[0] if len(e.results) == 1 and _is_operation(e) else None


def _is_operation(e: Eqn) -> bool:
    return not e.has_programs and e.op not in (*WRITES, "enter", "leave")


def _needs_no_parentheses(text: str) -> bool:
    """Return whether an expression is a name, a call, an attribute or a subscript, which need no parentheses."""
    return isinstance(ast.parse(text, mode="eval").body, ast.Name | ast.Call | ast.Attribute | ast.Subscript)


_PARENTHESIS = re.compile(r"(?<![\w\])])\(|'")
"""A parenthesis that does not belong to a call, or a quote from `repr`."""


def _drop_parentheses(line: str) -> str:
    """Remove the unnecessary parentheses from a line of Python."""
    if _PARENTHESIS.search(line) is None:
        return line
    text = line.lstrip()
    whole = f"{text} pass" if text.endswith(":") else text
    try:
        plain = ast.unparse(ast.parse(whole)).replace("'", '"').removesuffix("\n    pass")
    except SyntaxError:  # `else:`
        return line
    return line[: len(line) - len(text)] + plain


class _ExchangeError(Exception):
    """Raised if an example needs the value of another example before the loop over the examples ends."""


class _Writer(Bodies):
    """Writes equations as lines of Python."""

    def __init__(self, names: Names, inlined: Mapping[Var, Eqn | None] | None = None, *, folded: bool = False) -> None:
        self._names, self._indices = names.values, dict(names.loops)
        self._replacements: dict[Var, str] = {}
        """The expressions that are written instead of variables."""
        self._open_brands: frozenset[BrandName] = frozenset()
        self._inlined, self._folded = dict(inlined or {}), folded
        used = {*self._names.values()}
        numbered = itertools.chain(["step"], (f"step{i}" for i in itertools.count(2)))
        super().__init__(n for n in numbered if n not in used)

    def index(self, b: BrandName) -> str:
        """Return the loop variable of a brand."""
        return self._indices[b]

    @contextmanager
    def _use_first_example(self, brands: Sequence[BrandName]) -> Iterator[None]:
        """Use the first example of each of these brands inside the context."""
        before, self._indices = self._indices, self._indices | dict.fromkeys(brands, "0")
        try:
            yield
        finally:
            self._indices = before

    def atom(self, a: Atom) -> str:
        """Return the text of a number or of a variable."""
        return number(a) if isinstance(a, Literal) else self._replacements.get(a, self._names[a])

    def step(self, e: Eqn) -> list[str]:
        """Write one equation with a loop over each of its brands."""
        brands = list(dict.fromkeys(b for t in _types(e) for b in t.row))
        if isinstance(brand := e.params.get("brand"), BrandName) and brand not in brands:
            brands.append(brand)
        result = e.results[0].type
        dropped = [b for b in brands if e.op not in ("enter", "leave") and b not in result.row]
        if e.op in (*_REDUCTIONS, "all_gather"):
            return self._exchange(e, dropped)
        if e.op == "ppermute" and len(_parameter_brands(e)) == 1:
            return self._permutation(e, _parameter_brands(e)[0])
        if e.op == "axis_index":
            return self._wrap_in_loops(brands, [f"{self._entry(e.results[0])} = {self.index(result.row[0])}"])
        if e.op not in ("enter", "leave") and any(b in brands for b in _parameter_brands(e)):
            raise NoTextError(e.op)
        if dropped and e.has_programs:
            raise NoTextError(e.op)
        if dropped:  # only the shape of an operand is used
            with self._use_first_example(dropped):
                return self._wrap_in_loops([b for b in brands if b not in dropped], self._body_lines(e))
        with self._inside_loops_over(*brands):
            lines = self._body_lines(e)
        return self._wrap_in_loops(brands, lines)

    @contextmanager
    def _inside_loops_over(self, *brands: BrandName) -> Iterator[None]:
        """Mark the loops over these brands as open inside the context."""
        before, self._open_brands = self._open_brands, self._open_brands | {*brands}
        try:
            yield
        finally:
            self._open_brands = before

    def _wrap_in_loops(self, brands: Sequence[BrandName], lines: list[str]) -> list[str]:
        for b in reversed(brands):
            lines = [f"for {self.index(b)} in range({b.size}):", *(INDENT + line for line in lines)]
        return lines

    def _body_lines(self, e: Eqn) -> list[str]:
        args = [self._entry(a) for a in e.operands]
        targets = [self._entry(v) for v in e.results]
        if e.op == "enter":
            b, axis = e.params["brand"], e.params["axis"]
            return [f"{targets[0]} = {self._entry(e.operands[0], *[':'] * axis, self.index(b))}"]
        if e.op == "leave":
            b, axis = e.params["brand"], e.params["axis"]
            return [f"{self._entry(e.results[0], *[':'] * axis, self.index(b))} = {args[0]}"]
        if e.has_programs or e.op in ("setitem", "assign"):
            # a loop or branch first assigns its results to separate names
            names = [t if "[" not in t else f"{self._names[v]}_" for t, v in zip(targets, e.results, strict=True)]
            last = [f"{t} = {o}" for t, o in zip(targets, names, strict=True) if t != o]
            return [*self.equation(e, args, names), *last]
        return [f"{', '.join(targets)} = {call_text(e, args)}"]

    def _entry(self, a: Atom, *more: str) -> str:
        """Return the text of one example of a value, indexed by its brands and by `more` indices: `x[i, :]`."""
        row = a.type.row if isinstance(a, Var) else ()
        indices = [*map(self.index, row), *more]
        return f"{self.atom(a)}[{', '.join(indices)}]" if indices else self.atom(a)

    def _exchange(self, e: Eqn, dropped: Sequence[BrandName]) -> list[str]:
        """Write a reduction over the examples of brands, or a gather of all examples."""
        x = e.operands[0]
        row = x.type.row if isinstance(x, Var) else ()
        over = [b for b in _parameter_brands(e) if isinstance(b, BrandName)] or dropped
        if not over or any(b not in row for b in over) or not isinstance(x, Var):
            raise NoTextError(e.op)
        indices = [":" if b in over else self.index(b) for b in row]
        value = f"{self.atom(x)}[{', '.join(indices)}]"
        if e.op == "all_gather" and (e.params.get("axis") or e.params.get("tiled") or len(over) > 1):
            raise NoTextError(e.op)
        if e.op != "all_gather":
            value = f"{value}.{_REDUCTIONS[e.op]}({tuple(range(len(over)))!r})"
        return self._wrap_in_loops([b for b in row if b not in over], [f"{self._entry(e.results[0])} = {value}"])

    def _permutation(self, e: Eqn, b: BrandName) -> list[str]:
        """Write a permutation of the examples; an example without a source gets zeros."""
        x, y, brands = e.operands[0], e.results[0], e.results[0].type.row
        source, target = f"{self.index(b)}_from", f"{self.index(b)}_to"

        def entry(a: Atom, which: str) -> str:
            row = a.type.row if isinstance(a, Var) else ()
            indices = [which if c == b else self.index(c) for c in row]
            return f"{self.atom(a)}[{', '.join(indices)}]" if indices else self.atom(a)

        pairs = [tuple(p) for p in e.params["perm"]]
        moved = [f"for {source}, {target} in {pairs}:", f"{INDENT}{entry(y, target)} = {entry(x, source)}"]
        return [
            f"{self.atom(y)} = {self.atom(y)}.zeros_like()",
            *self._wrap_in_loops([c for c in brands if c != b], moved),
        ]

    def one_by_one(self, eqns: Sequence[Eqn]) -> list[str]:
        """Write each equation with its own loops, and allocate its results before them."""
        lines: list[str] = []
        for e in eqns:
            batched = [v for v in e.results if v.type.row or e.op == "leave"]
            lines += [f"{self.atom(v)} = {empty(v.type, [b.size for b in v.type.row])}" for v in batched]
            lines += self.step(e)
        return lines

    def _fold_derivative(self, part: Sequence[Eqn], rest: Sequence[Eqn]) -> list[str]:
        """Write the generated steps of a derivative as one line, which assigns the results that later steps use."""
        used = {a for e in rest for a in e.operands}
        outs = [v for e in part for v in e.results if v in used or not any(v in f.operands for f in part)]
        self._inlined = {v: use for v, use in self._inlined.items() if v not in outs}
        derivative = part[-1].derived
        assert derivative is not None
        return [f"{', '.join(map(self.atom, outs))} = ...  # {derivative.description}, {count_noun(len(part), 'step')}"]

    def _derivative_steps(self, eqns: Sequence[Eqn]) -> int:
        """Return the number of leading equations that are steps of one derivative and need no new loop."""
        first = eqns[0].derived
        same = itertools.takewhile(
            lambda e: (
                e.derived == first and {*_mentioned_brands(e)} <= self._open_brands and e.op not in ("enter", "leave")
            ),
            eqns,
        )
        return len(list(same)) if self._folded and first is not None else 0

    def nested(self, eqns: Sequence[Eqn]) -> list[str]:
        """Write the equations in nested loops; the loop over a brand contains every equation that mentions it."""
        lines: list[str] = []
        i = 0
        while i < len(eqns):
            if is_sharding(eqns[i]):  # the same values, on other devices
                self._replacements[eqns[i].results[0]] = self.atom(eqns[i].operands[0])
                i += 1
                continue
            if (n := self._derivative_steps(eqns[i:])) > 1:
                lines += self._fold_derivative(eqns[i : i + n], eqns[i + n :])
                i += n
                continue
            new = [b for b in _mentioned_brands(eqns[i]) if b not in self._open_brands]
            if not new:
                lines += self._write_one(eqns[i])
                i += 1
                continue
            end, b = max((max(k for k, e in enumerate(eqns) if b in _mentioned_brands(e)), b) for b in new)
            part = eqns[i : end + 1]
            self._check_one_loop(b, part, eqns[end + 1 :])
            for e in part:
                if e.op == "leave" and e.params["brand"] == b:
                    lines.append(f"{self.atom(e.results[0])} = {empty(e.results[0].type)}")
            with self._inside_loops_over(b):
                lines += self._wrap_in_loops([b], self.nested(part))
            i = end + 1
        return lines

    def _check_one_loop(self, b: BrandName, part: Sequence[Eqn], rest: Sequence[Eqn]) -> None:
        """Raise `_ExchangeError` if one loop cannot run these equations, because an example needs another's result."""
        completed: set[Atom] = set()
        for e in part:
            leaves = e.op == "leave" and e.params["brand"] == b
            within = e.has_programs and any(isinstance(a, Var) and b in a.type.row for a in e.operands)
            in_body = within and not all(b in v.type.row for v in e.results)
            if not completed.isdisjoint(e.operands) or (e.op in COLLECTIVES and e.op != "axis_index") or in_body:
                raise _ExchangeError
            if leaves:
                completed |= {*e.results}
        others = {c for e in part for c in _mentioned_brands(e)} - {b, *self._open_brands}
        if any(c in others for e in rest for c in _mentioned_brands(e)):
            raise _ExchangeError

    def _write_one(self, e: Eqn) -> list[str]:
        """Write an equation on one example, or remember it as an expression to be written where it is used."""
        args, targets = [self.atom(a) for a in e.operands], [self.atom(v) for v in e.results]
        if e.op in ("enter", "leave"):
            index = ", ".join([*[":"] * e.params["axis"], self.index(e.params["brand"])])
            if e.op == "enter":
                return [f"{targets[0]} = {args[0]}[{index}]"]
            return [_drop_parentheses(f"{targets[0]}[{index}] = {args[0]}")]
        if e.op == "axis_index":
            return [f"{targets[0]} = Tensor({self.index(e.results[0].type.row[0])})"]
        lines = self.equation(e, args, targets)
        if (v := _only_result(e)) is not None and v in self._inlined and len(lines) == 1:
            use, text = self._inlined[v], lines[0].partition(" = ")[2]
            if len(text) <= _SHORT and (use is None or {*_mentioned_brands(use)} <= self._open_brands):
                self._replacements[v] = text if _needs_no_parentheses(text) else f"({text})"
                return []
        return list(map(_drop_parentheses, lines))

    def equation(self, e: Eqn, args: Sequence[str], targets: Sequence[str]) -> list[str]:
        """Write an equation on the values of one example."""
        if e.op in ("setitem", "assign"):
            return write(e, args, targets[0])
        if not e.has_programs:
            return [f"{', '.join(targets)} = {call_text(e, args)}"]
        return self.with_programs(e, args, targets)

    def block(self, program: Program, consts: Sequence[str], args: Sequence[str]) -> tuple[list[str], list[str]]:
        """Write a program for given arguments; return its lines and the texts of its results."""
        places = (*program.constvars, *program.invars)
        self._replacements |= dict(zip(places, (*consts, *args), strict=True))
        return self.nested(program.eqns), [self.atom(a) for a in program.outs]


def _types(e: Eqn) -> Iterator[Type]:
    for a in (*e.results, *e.operands):
        if isinstance(a, Var):
            yield a.type


def _parameter_brands(e: Eqn) -> list[BrandName]:
    """Return the brands in the parameters of an equation, such as the axis of a `psum`."""
    brands: list[BrandName] = []
    for v in e.params.values():
        for x in v if type(v) in (tuple, list) else (v,):
            if isinstance(x, BrandName):
                brands.append(x)
    return brands


def _mentioned_brands(e: Eqn) -> list[BrandName]:
    """Return the brands of the operands, the results and the parameters of an equation."""
    return list(dict.fromkeys([*(b for t in _types(e) for b in t.row), *_parameter_brands(e)]))
