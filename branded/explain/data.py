"""The data of an explanation: everything that a page or a terminal shows of one call of a function, as JSON has it."""

from __future__ import annotations

import inspect
import linecache
import math
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded import tree
from branded.crossing import closed
from branded.errors import ReadError
from branded.explain import static
from branded.explain.called import Functions
from branded.explain.kernels import Kernel, kernels
from branded.explain.loops import loop_of_function, loop_of_step
from branded.explain.provenance import moved, sources
from branded.explain.steps import Column, Growth, bytes_of, cells_of, columns, grew, kind, warning
from branded.graph import lead, tensor
from branded.planning.footprint import Footprint, footprint
from branded.program import Expr, make_expr
from branded.program.evaluate import evaluation
from branded.program.terms import Atom, BrandName, Eqn, Literal, Var
from branded.source import Where

SHOWN = 256
"""The cells of the largest value whose numbers are shown, and traced to where they come from."""
PAIRS = 1 << 14
"""The most pairs of a cell and a cell that it comes from, for one step."""
COMPUTED = 1 << 20
"""A value is computed for its own sake if it has at most this many cells, and so has all that it is made of."""
_CODE = 60


class Source(NamedTuple):
    """The text of a function, and where it stands."""

    text: str
    file: str
    first_line: int

    @classmethod
    def of(cls, f: Callable[..., Any]) -> Source:
        own = inspect.unwrap(f)
        try:
            lines, first = inspect.getsourcelines(own)
            return cls("".join(lines), inspect.getsourcefile(own) or "", max(first, 1))
        except (OSError, TypeError):  # typed at a prompt, or written in C
            return cls("", "", 1)

    def line(self, where: Where | None) -> int | None:
        """The line of the text, from 1, that an operation stands in."""
        if where is None or where.file != self.file:
            return None
        line = where.line - self.first_line + 1
        return line if 1 <= line <= self.text.count("\n") + 1 else None

    def code(self, where: Where) -> str:
        """What stands there, on one line."""
        lines = linecache.getlines(where.file)
        part = [line.encode() for line in lines[where.line - 1 : where.end_line]]
        if not part or where.end_column <= 0:
            return ""
        part[-1] = part[-1][: where.end_column]
        part[0] = part[0][where.column :]
        text = " ".join(b"".join(part).decode(errors="replace").split())
        return text if len(text) <= _CODE else text[: _CODE - 1] + "…"


def explained(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], limit: Growth) -> dict[str, Any]:
    """The data of `f(*args, **kwargs)`; see `docs/explain.md` for what stands in it."""
    args, kwargs = tree.rebuild((tuple(args), kwargs), map(_as_tensor, tree.leaves((tuple(args), kwargs))))
    _realize([x for x in tree.leaves((args, kwargs)) if isinstance(x, Tensor)])
    fixed = [i for i, a in enumerate(args) if not any(isinstance(x, Tensor) for x in tree.leaves(a))]
    try:
        expr = make_expr(f, static_argnums=fixed)(*args, **kwargs)
    except ReadError:
        f(*args, **kwargs)  # what is wrong with the function itself is said in its own words
        raise
    paths = [p for i, a in enumerate(args) if i not in fixed for p in tree.paths(a, _parameter(f, i))]
    paths += [p for k, a in kwargs.items() for p in tree.paths(a, k)]
    return _Explained(f, expr, expr._given(tuple(args), kwargs), paths, limit).data()


def _parameter(f: Callable[..., Any], i: int) -> str:
    """What the argument `i` is called."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return f"argument {i + 1}"
    for k, p in enumerate(parameters):
        if p.kind is p.VAR_POSITIONAL:
            return f"{p.name}[{i - k}]"
        if k == i:
            return p.name
    return f"argument {i + 1}"


def is_array(x: Any) -> bool:
    return isinstance(x, Tensor) or hasattr(x, "__array__")


def _as_tensor(x: Any) -> Any:
    t = tree.as_tensor(x) if is_array(x) else None
    return x if t is None else t


def _realize(values: Sequence[Tensor]) -> None:
    """Compute values at once; what is a number to tinygrad needs no memory."""
    if held := [t for t in values if not t.uop.is_virtual]:
        Tensor.realize(*held)


class _Explained:
    """What is known of one call while its data are put together."""

    def __init__(
        self, f: Callable[..., Any], expr: Expr, given: Sequence[Tensor], paths: Sequence[str], limit: Growth
    ) -> None:
        self.f, self.expr, self.limit = f, expr, limit
        self.program, self.names = expr.program, expr.names()
        self.source = Source.of(f)
        last = self.source.first_line + self.source.text.rstrip().count("\n")
        self.called = Functions(self.source.file, self.source.first_line, last)
        file = Path(self.source.file)
        self.types = static.types_in(file) if self.source.file and file.is_file() else static.nothing(_NO_FILE)
        self.paths = [*paths, *("" for _ in expr.program.constvars)]
        self.batched = self._batched(given)
        self.cells = self._cells()
        roots = [self.batched[v] for v in self.program.outs if isinstance(v, Var)]
        self.kernels: list[Kernel] = kernels(roots)
        self.memory = footprint(roots)

    # ---- values ----

    def _batched(self, given: Sequence[Tensor]) -> dict[Var, UOp]:
        """The value of each variable of all examples: a leading axis for each brand of its row, in that order."""
        p = self.program
        run = evaluation(p)
        with run.opened():
            env = dict(zip((*p.constvars, *p.invars), (*self.expr.consts, *given), strict=True))
            for _ in run.steps(p, env):
                pass
            found = dict(zip(env, closed([t.uop for t in env.values()]), strict=True))
            rows = {v: tuple(run.brands[b] for b in v.type.row) for v in found}
        # an example that is the same for all that a row says (an empty loop) has no axis of its own
        return {v: lead(x.uop, tuple(map(x.row.index, rows[v]))) for v, x in found.items() if set(x.row) == {*rows[v]}}

    def _cells(self) -> dict[Var, list[Any]]:
        """The numbers of the values that are small, and are made of none that is large."""
        p = self.program
        cheap = {v for v in (*p.constvars, *p.invars) if cells_of(v.type) <= COMPUTED}
        for e in p.eqns:
            if all(a in cheap for a in e.operands if isinstance(a, Var)):
                cheap |= {v for v in e.results if cells_of(v.type) <= COMPUTED}
        shown = [v for v in self.batched if v in cheap and 0 < cells_of(v.type) <= SHOWN]
        tensors = {v: tensor(self.batched[v].flatten()) for v in shown}
        _realize(list(tensors.values()))
        return {v: list(t.tolist()) for v, t in tensors.items()}

    def value(self, a: Atom) -> dict[str, Any]:
        if isinstance(a, Literal):
            own = {"name": str(a), "type": a.dtype, "row": [], "shape": [], "sizes": []}
            return {**own, "dtype": a.dtype, "bytes": 0, "cells": [_plain(a.value)]}
        t = a.type
        return {
            "name": self.names[a],
            "type": str(t),
            "row": [b.name for b in t.row],
            "shape": list(t.shape),
            "sizes": [*(b.size for b in t.row), *t.shape],
            "dtype": t.dtype,
            "bytes": bytes_of(t),
            "cells": [_plain(x) for x in self.cells[a]] if a in self.cells else None if cells_of(t) else [],
        }

    # ---- steps ----

    def step(self, number: int, e: Eqn) -> dict[str, Any]:
        found = columns(e, self.names)
        below = self.below[number]
        return {
            "number": number + 1,
            "line": self.source.line(e.where),
            "until": self.source.line(e.where and e.where._replace(line=e.where.end_line)),
            "within": None if self.source.line(e.where) else self.called.place(e.where),
            "code": self.source.code(e.where) if e.where is not None else "",
            "op": e.op,
            "kind": kind(found),
            "operands": [self.value(a) for a in e.operands],
            "results": [self.value(v) for v in e.results],
            "static": self._static(e),
            "columns": [c.data() for c in found],
            "why": _sentences(found, e.has_programs),
            "loop": loop_of_step(e, self.names),
            "bytes": sum(bytes_of(v.type) for v in e.results),
            "grew": round(grew(e), 4),
            "warning": warning(e, found, self.limit, self.names, {k.largest: k.name for k in reversed(self.kernels)}),
            "primitives": below,
            "batched": sorted({j for i in below for j in self.lowest[i]}),
            "from": self._from(e),
        }

    def _static(self, e: Eqn) -> str | None:
        """What mypy says of the expression; of one that enters, there is none."""
        known = e.op != "enter" and e.where is not None and e.where.file == self.source.file
        return self.types.at(e.where) if known else None

    def _from(self, e: Eqn) -> list[list[list[int]]] | None:
        """For each cell of the first result, the cells of the operands that it comes from."""
        held = [a for a in e.operands if isinstance(a, Var)]
        if any(v not in self.batched or cells_of(v.type) > SHOWN for v in (e.results[0], *held)):
            return None
        at = [i for i, a in enumerate(e.operands) if isinstance(a, Var)]
        if e.op in ("enter", "leave") and held:
            return [[[0, cell]] for cell in moved(e)]
        found = sources(self.batched[e.results[0]], [self.batched[v] for v in held], [self.cells.get(v) for v in held])
        if found is None or sum(map(len, found)) > PAIRS:
            return None
        return [[[at[i], cell] for i, cell in cells] for cells in found]

    # ---- the whole ----

    def data(self) -> dict[str, Any]:
        e, p = self.expr, self.program
        self.below, self.lowest = e.links(), e.at("primitives").links()
        steps = [self.step(i, eqn) for i, eqn in enumerate(p.eqns)]
        name = getattr(self.f, "__name__", type(self.f).__name__)
        doc = inspect.getdoc(self.f) if inspect.isroutine(self.f) else None
        return {
            "name": name,
            "doc": doc,
            "source": textwrap.dedent(self.source.text).rstrip(),
            "file": Path(self.source.file).name,
            "first_line": self.source.first_line,
            "arguments": [
                {**self.value(v), "path": path} for v, path in zip((*p.invars, *p.constvars), self.paths, strict=True)
            ],
            "brands": [{"name": b.name, "size": b.size, "where": self._opened(b)} for b in p.brands()],
            "programs": {level: e.at(level).lines() for level in ("operations", "primitives", "batched")},
            "called": self.called.data(),
            "steps": steps,
            "graph": _graph(e.at("batched"), steps),
            "kernels": [k.data() for k in self.kernels],
            "memory": _memory(self.memory),
            "loop": (loop := self._loop(name)),
            "result": self._result(),
            "notes": [*([self.types.note] if self.types.note else []), *([_NO_LOOP] if loop is None else [])],
        }

    def _opened(self, b: BrandName) -> str:
        for e in self.program.eqns:
            if e.params.get("brand") == b and e.where is not None:
                return f"{Path(e.where.file).name}:{e.where.line}"
        return ""

    def _loop(self, name: str) -> str | None:
        p = self.program
        own = [self.names[v] for v in (*p.invars, *p.constvars)]
        return loop_of_function(name if name.isidentifier() else "f", p, self.names, own)

    def _result(self) -> Any:
        """The result as nested lists; a tree of several as a list of them."""
        found = [self._nested(a) for a in self.program.outs]
        if any(x is None for x in found):
            return None
        return found[0] if len(found) == 1 else found

    def _nested(self, a: Atom) -> Any:
        if isinstance(a, Literal):
            return _plain(a.value)
        if a not in self.cells:
            return None if cells_of(a.type) else []
        cells = [_plain(x) for x in self.cells[a]]
        for n in reversed(a.type.shape):
            cells = [cells[i : i + n] for i in range(0, len(cells), n)]
        return cells[0]


_NO_LOOP = "what one of the operations does has no Python loop here"
_NO_FILE = "the function stands in no file, so there are no static types"


def _memory(found: Footprint) -> dict[str, int]:
    names = ("peak", "there", "results", "between", "work")
    return {"arguments" if name == "there" else name: getattr(found, name) for name in names}


def _sentences(found: Sequence[Column], has_body: bool) -> str:
    return "\n".join(c.why for c in found) or (
        "No operand varies over a brand; its body is not shown step by step."
        if has_body
        else "No operand varies over a brand, so this is what it is without vmap."
    )


def _plain(x: Any) -> Any:
    """A number as JSON has it, which has no infinities."""
    return x if not isinstance(x, float) or math.isfinite(x) else str(float(x))


def _graph(batched: Expr, steps: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The batched program as nodes and edges, each node with the step that it belongs to."""
    p, names = batched.program, batched.names()
    of = {j: s["number"] for s in reversed(steps) for j in s["batched"]}
    nodes: list[dict[str, Any]] = []
    edges: list[list[int]] = []
    at: dict[Var, int] = {}

    def add(op: str, results: Sequence[Var], step: int | None, operands: Sequence[Atom] = ()) -> None:
        here = len(nodes)
        kind = ", ".join(str(v.type) for v in results)
        edges.extend([i, here] for i in dict.fromkeys(at[a] for a in operands if isinstance(a, Var)))
        at.update(dict.fromkeys(results, here))
        nodes.append({"id": here, "op": op, "type": kind, "step": step})

    for v in (*p.invars, *p.constvars):
        add(names[v], [v], None)
    for i, e in enumerate(p.eqns):
        add(e.op, e.results, of.get(i), e.operands)
    return {"nodes": nodes, "edges": edges}
