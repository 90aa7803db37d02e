"""The data of an explanation, ready for JSON: all facts that a page or a terminal shows about one call."""

from __future__ import annotations

import functools
import inspect
import math
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded import tree
from branded.chunking.footprint import Footprint, footprint
from branded.core.axis_names import axes_text
from branded.core.boundary import batch_values
from branded.core.tracing import recording
from branded.core.validation.axes_suggestions import argument
from branded.errors import ReadError
from branded.explain import static
from branded.explain.callees import Functions
from branded.explain.code import Source, at, function_name
from branded.explain.graph import graph_of, names_below
from branded.explain.kernels import Kernel, kernels
from branded.explain.loops import loop_of_function, loop_of_step
from branded.explain.names import captured_paths, is_sharding, names_of
from branded.explain.operation_text import Text
from branded.explain.source_cells import source_cells, sources
from branded.explain.steps import Column, Growth, bytes_of, cells_of, columns, grew, kind, warning
from branded.graph.uops import lead, realize_tensors, tensor
from branded.ir import Expr, make_expr_for
from branded.ir.evaluate import evaluation
from branded.ir.expr import Which
from branded.ir.terms import Atom, BrandName, Eqn, Literal, Printer, Program, Var

MAX_SHOWN_CELLS = 256
"""The largest number of cells of a value whose cells are shown and traced to their sources."""
MAX_PAIRS = 1 << 14
"""The largest number of pairs of a cell and a source cell in one step."""
MAX_COMPUTED_CELLS = 1 << 20
"""The largest number of cells of a value that is computed to be shown, and of each value that it depends on."""
VALUES_PER_RUN = 64
"""The number of values to compute in one `realize`, because tinygrad's scheduling time is quadratic in this number."""
MANY_STEPS = 500
"""The number of operations above which a command prints that it takes long."""
_MAX_TIMED_BYTES = 1 << 28
"""The peak memory in bytes above which kernels are not timed."""


def explain_call(
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    limit: Growth,
    on_start: Callable[[Sequence[recording.Frame]], object],
) -> Explained:
    """Trace `f(*args, **kwargs)` and return its explanation; `docs/explain.md` describes the data.

    `on_start` is called before tracing, with the list that will contain the recorded frames.  If an error stops the
    function, the list shows how far it ran.
    """
    axes = [axes_text(x) for x in tree.leaves((tuple(args), kwargs)) if is_array(x)]
    args, kwargs = tree.rebuild((tuple(args), kwargs), map(_in_memory, tree.leaves((tuple(args), kwargs))))
    realize_tensors(tree.leaves((args, kwargs)))
    static_argnums = [i for i, a in enumerate(args) if not any(isinstance(x, Tensor) for x in tree.leaves(a))]
    try:
        with recording.record_operand_names() as recorder:
            on_start(recorder.records)
            expr = make_expr_for("explain", f, static_argnums, with_writes=True)(*args, **kwargs)
        note_many_steps("explain", expr.program)
    except ReadError:
        f(*args, **kwargs)  # if the function itself is incorrect, its own error is clearer
        raise
    names = [argument(f, i) or f"argument {i + 1}" for i in range(len(args))]
    paths = [p for i, a in enumerate(args) if i not in static_argnums for p in tree.paths(a, names[i])]
    paths += [p for k, a in kwargs.items() for p in tree.paths(a, k)]
    return Explained(f, expr, expr._argument_leaves(tuple(args), kwargs), paths, axes, limit)


def note_many_steps(api_name: str, program: Program) -> None:
    """Print a note to stderr if the function has many operations, for example an unrolled training loop."""
    if (n := _count(program)) > MANY_STEPS:
        note = f"{api_name}: the function has {n:,} operations, which takes long: one step of a loop is enough"
        print(note, file=sys.stderr, flush=True)


def _count(program: Program) -> int:
    return sum(1 + sum(map(_count, e.programs())) for e in program.eqns)


def is_array(x: Any) -> bool:
    return isinstance(x, Tensor) or hasattr(x, "__array__")


def _in_memory(x: Any) -> Any:
    t = tree.as_tensor(x) if is_array(x) else None
    return x if t is None else t.clone() if t.uop.is_virtual else t  # in real calls, values are in memory


class Explained:
    """The explanation of one call, and its data: a dict that is ready for JSON.

    Each tensor in the arguments has its path in the pytrees, and the axes in its annotation, or "".
    """

    def __init__(
        self,
        f: Callable[..., Any],
        expr: Expr,
        tensors: Sequence[Tensor],
        paths: Sequence[str],
        axes: Sequence[str],
        limit: Growth,
    ) -> None:
        self.f, self.expr, self.limit = f, expr, limit
        self.program, self.tree = expr.program, expr._levels.result
        self.source = Source.of(f)
        last = self.source.first_line + self.source.text.rstrip().count("\n")
        self.called = Functions(self.source.file, self.source.first_line, last)
        captured = [""] * len(expr.program.constvars)
        self.paths, self.axes = [*paths, *captured], [*axes, *captured]
        self.named = names_of(self.program, [*paths, *captured_paths(f, expr.consts)])
        self.names = self.named.values
        self.sentence_names = self.named.operand_names(self.source.code)
        self.batched = self._batched(tensors)
        self.cells = self._cells()
        self.roots = [self.batched[v] for v in self.program.outs if isinstance(v, Var)]
        self.kernels: list[Kernel] = kernels(self.roots)
        self.memory = footprint(self.roots)

    def _batched(self, tensors: Sequence[Tensor]) -> dict[Var, UOp]:
        """Return the value of each variable for all examples, with one leading axis for each of its brands."""
        p = self.program
        run = evaluation(p)
        with run.reopen_brands():
            env = dict(zip((*p.constvars, *p.invars), (*self.expr.consts, *tensors), strict=True))
            for _ in run.steps(p, env):
                pass
            values = dict(zip(env, batch_values([t.uop for t in env.values()]), strict=True))
            rows = {v: tuple(run.brands[b] for b in v.type.row) for v in values}
        # omit a value that lost a brand, as in a loop over no examples
        return {v: lead(x.uop, tuple(map(x.row.index, rows[v]))) for v, x in values.items() if set(x.row) == {*rows[v]}}

    def _cells(self) -> dict[Var, list[Any]]:
        """Compute the cells of each small value that does not depend on a large value."""
        p = self.program
        small = {v for v in (*p.constvars, *p.invars) if cells_of(v.type) <= MAX_COMPUTED_CELLS}
        for e in p.eqns:
            if all(a in small for a in e.operands if isinstance(a, Var)):
                small |= {v for v in e.results if cells_of(v.type) <= MAX_COMPUTED_CELLS}
        shown = [v for v in self.batched if v in small and 0 < cells_of(v.type) <= MAX_SHOWN_CELLS]
        tensors = {v: tensor(self.batched[v].flatten()) for v in shown}
        uncomputed = list(tensors.values())
        for i in range(0, len(uncomputed), VALUES_PER_RUN):
            realize_tensors(uncomputed[i : i + VALUES_PER_RUN])
        return {v: list(t.tolist()) for v, t in tensors.items()}

    def value(self, a: Atom) -> dict[str, Any]:
        if isinstance(a, Literal):
            fields = {"name": str(a), "type": a.dtype, "row": [], "shape": [], "sizes": []}
            return {**fields, "dtype": a.dtype, "bytes": 0, "cells": [plain(a.value)]}
        t = a.type
        return {
            "name": self.names[a],
            "type": str(t),
            "row": [b.name for b in t.row],
            "shape": list(t.shape),
            "sizes": [*(b.size for b in t.row), *t.shape],
            "dtype": t.dtype,
            "bytes": bytes_of(t),
            "cells": [plain(x) for x in self.cells[a]] if a in self.cells else None if cells_of(t) else [],
        }

    def step(self, number: int, e: Eqn) -> dict[str, Any]:
        primitives = self.below[number]
        return {
            "number": number + 1,
            **self._describe(e),
            "warning": warning(
                e, columns(e, self.names), self.limit, self.names, {k.largest: k.name for k in reversed(self.kernels)}
            ),
            "primitives": primitives,
            "batched": sorted({j for i in primitives for j in self.lowest[i]}),
        }

    def _describe(self, e: Eqn) -> dict[str, Any]:
        """Describe a step of the function or of a body."""
        step_columns = columns(e, self.names)
        return {
            "line": self.source.line(e.where),
            "until": self.source.line(e.where and e.where._replace(line=e.where.end_line)),
            "within": None if self.source.line(e.where) else self.called.place(e.where),
            "where": at(e.where),
            "code": self.source.code(e.where) if e.where is not None else "",
            "caller": self.caller(e),
            "op": e.op,
            **self.crossing(e),
            "kind": kind(step_columns),
            "moves_devices": is_sharding(e),
            "derived": None if e.derived is None else {"what": e.derived.description, "where": at(e.derived.where)},
            "operands": [self.value(a) for a in e.operands],
            "results": [self.value(v) for v in e.results],
            "columns": [c.data() for c in step_columns],
            "why": _sentences(step_columns, e.has_programs),
            "reason": _reason(columns(e, self.sentence_names)),
            "loop": loop_of_step(e, self.named),
            "bytes": sum(bytes_of(v.type) for v in e.results),
            "grew": round(grew(e), 4),
            "bodies": self.bodies(e),
        }

    def caller(self, e: Eqn) -> dict[str, Any] | None:
        """Return the call site of the function that contains the step, and the caller's names for its values."""
        if (where := e.names.caller) is None:
            return None
        names = {
            aliases[-1]: self.names[a]
            for a, aliases in zip(e.operands, e.names.operands, strict=False)
            if isinstance(a, Var) and len(aliases) > 1 and aliases[-1] != self.names[a]
        }
        return {"where": at(where), "code": self.source.code(where), "names": names}

    def crossing(self, e: Eqn) -> dict[str, Any]:
        """Return the brand that the step enters or leaves, the axis, and the devices of the examples."""
        if e.op not in ("enter", "leave"):
            return {"brand": None, "axis": None, "devices": []}
        devices = e.params.get("devices") or ()
        return {"brand": e.params["brand"].name, "axis": e.params["axis"], "devices": list(devices)}

    def bodies(self, e: Eqn) -> list[dict[str, Any]]:
        """Return the programs of a loop, a branch or a function, each with its name and its steps."""
        bodies = []
        for name, value in e.params.items():
            programs = value if isinstance(value, tuple) else (value,)
            inner = [p for p in programs if isinstance(p, Program)]
            for i, p in enumerate(inner):
                label = name if len(inner) == 1 else f"{name}[{i}]"
                takes = [self.value(v) for v in p.invars]
                bodies.append({"name": label, "takes": takes, "steps": [self._describe(x) for x in p.eqns]})
        return bodies

    def _source_cells(self, e: Eqn) -> list[list[list[int]]] | None:
        """Return, for each cell of the first result, the operand cells that it depends on, or None."""
        variables = {i: a for i, a in enumerate(e.operands) if isinstance(a, Var)}
        shown = [e.results[0], *variables.values()]
        if any(v not in self.batched or cells_of(v.type) > MAX_SHOWN_CELLS for v in shown):
            return None
        if e.op in ("enter", "leave") and variables:
            return [[[0, cell]] for cell in source_cells(e)]
        result, *operands = [self.batched[v] for v in shown]
        links, positions = sources(result, operands, [self.cells.get(v) for v in shown[1:]]), [*variables]
        if links is None or sum(map(len, links)) > MAX_PAIRS:
            return None
        return [[[positions[i], cell] for i, cell in cells] for cells in links]

    @functools.cached_property
    def data(self) -> dict[str, Any]:
        """The complete data, including static types and source cells, which take seconds to compute."""
        file = Path(self.source.file)
        types = static.types_in(file) if self.source.file and file.is_file() else static.no_types(_NO_FILE)
        steps = [
            {**step, "static": self._static(types, e), "from": self._source_cells(e)}
            for step, e in zip(self.outline["steps"], self.program.eqns, strict=True)
        ]
        notes = [*([types.note] if types.note else []), *self.outline["notes"]]
        return {**self.outline, "steps": steps, "notes": notes}

    def _static(self, types: static.Types, e: Eqn) -> str | None:
        """Return the static type of the step's expression; None for a step that enters a brand."""
        has_type = e.op != "enter" and e.where is not None and e.where.file == self.source.file
        return types.at(e.where) if has_type else None

    @functools.cached_property
    def outline(self) -> dict[str, Any]:
        """The data without static types and source cells: enough for the story."""
        e, p = self.expr, self.program
        self.below, self.lowest = e.links(), e.at("primitives").links()
        names = names_below(e, self.names)
        steps = [self.step(i, eqn) for i, eqn in enumerate(p.eqns)]
        name = function_name(self.f)
        doc = inspect.getdoc(self.f) if inspect.isroutine(self.f) else None
        return {
            "name": name,
            "doc": doc,
            "source": textwrap.dedent(self.source.text).rstrip(),
            "file": Path(self.source.file).name,
            "first_line": self.source.first_line,
            "arguments": [
                {**self.value(v), "path": path, "axes": axes}
                for v, path, axes in zip((*p.invars, *p.constvars), self.paths, self.axes, strict=True)
            ],
            "brands": [{"name": b.name, "size": b.size, "where": self._opening_line(b)} for b in p.brands()],
            "programs": {
                "operations": _lines(p, self.names),
                **{level: _lines(e.at(level).program, names[level]) for level in _BELOW},
            },
            "called": self.called.data(),
            "steps": steps,
            "graph": graph_of(e.at("batched").program, names["batched"], steps),
            "kernels": [k.data() for k in self.kernels],
            "memory": _memory(self.memory),
            "loop": (loop := self._loop(name)),
            "folded_loop": self._loop(name, folded=True),
            "result": self._result(),
            "results": self._results(),
            "notes": [_NO_LOOP] * (loop is None) + [_WRITES] * e._levels.has_writes,
        }

    @functools.cached_property
    def seconds(self) -> float | None:
        """The total run time of the kernels; None if they need too much memory, or call the host."""
        from branded.compile.kernel_times import kernels as timed  # imported on first use

        calls_host = any(eqn.op == "HOST" for eqn in self.expr.at("primitives").program.eqns)
        if self.memory.peak > _MAX_TIMED_BYTES or calls_host or not self.kernels:
            return None
        try:
            return sum(k.seconds for k in timed(self.roots) if not k.depth)
        except Exception:  # without the device or a compiler, only the time is missing
            return None

    def _opening_line(self, b: BrandName) -> str:
        return next((at(e.where) for e in self.program.eqns if e.params.get("brand") == b and e.where is not None), "")

    def _loop(self, name: str, *, folded: bool = False) -> str | None:
        identifier = name if name.isidentifier() else "f"
        return loop_of_function(identifier, self.program, self.named, self._result_text, folded=folded)

    def _result_text(self, outs: Sequence[str]) -> str:
        """Return the text of the result with its containers and keys; `outs` has the texts of its leaves."""
        is_standard = all(
            t in (tuple, list, dict) or hasattr(t, "_fields") or is_dataclass(t) for t in tree.containers(self.tree)
        )
        try:
            return str(tree.rebuild(self.tree, map(Text, outs))) if is_standard else ", ".join(outs)
        except Exception:  # the user's class may not accept text
            return ", ".join(outs)

    def _results(self) -> list[dict[str, Any]]:
        """Return each leaf of the result: its path, its type, and its cells as nested lists."""
        paths = tree.paths(self.tree, "")
        return [
            {"path": path, "type": str(a.type) if isinstance(a, Var) else a.dtype, "cells": self._nested(a)}
            for path, a in zip(paths, self.program.outs, strict=False)
        ]

    def _result(self) -> Any:
        """Return the result as nested lists, or a list of these for several leaves; None if a leaf is too large."""
        values = [self._nested(a) for a in self.program.outs]
        if any(x is None for x in values):
            return None
        return values[0] if len(values) == 1 else values

    def _nested(self, a: Atom) -> Any:
        if isinstance(a, Literal):
            return plain(a.value)
        if a not in self.cells:
            return None if cells_of(a.type) else []
        cells = [plain(x) for x in self.cells[a]]
        for n in reversed(a.type.shape):
            cells = [cells[i : i + n] for i in range(0, len(cells), n)]
        return cells[0]


_BELOW: tuple[Which, ...] = ("primitives", "batched")
_WRITES = "the function writes into tensors from outside. explain writes into copies, and returns the new values"
_NO_LOOP = "an operation has no equivalent Python loop"
_NO_FILE = "the function is not in a file, so there are no static types"


def _lines(p: Program, names: Mapping[Var, str]) -> list[str]:
    return ["\n".join(Printer(dict(names)).eqn(eqn)) for eqn in p.eqns]


def _memory(usage: Footprint) -> dict[str, int]:
    names = ("peak", "there", "results", "between", "work")
    return {"arguments" if name == "there" else name: getattr(usage, name) for name in names}


def _sentences(step_columns: Sequence[Column], has_body: bool) -> str:
    return "\n".join(c.why for c in step_columns) or (
        "No operand varies over a brand; its body is not shown step by step."
        if has_body
        else "No operand varies over a brand, so it is the same as without vmap."
    )


def _reason(step_columns: Sequence[Column]) -> list[str]:
    """Return why the step is not a plain zip, as a line for each brand."""
    return [f"over {c.why.removesuffix('.')}" for c in step_columns if c.how not in ("zip", "per example")]


def plain(x: Any) -> Any:
    """Return a number in a form that JSON supports: infinities and NaN become text."""
    return x if not isinstance(x, float) or math.isfinite(x) else str(float(x))
