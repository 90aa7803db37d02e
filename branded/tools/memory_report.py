"""`memory`: the memory of a function, computed before it runs, and its largest values with their brands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded import tree
from branded.chunking.footprint import Footprint, footprint
from branded.compile.jit import Jitted
from branded.core.entry import entry
from branded.core.tracing.dry_run import dry_run
from branded.core.validation.arguments import call_checked, check_function
from branded.errors import BrandedError
from branded.errors.calls import check_calls
from branded.explain import code
from branded.explain.code import Source
from branded.explain.steps import bytes_of, columns, readable
from branded.graph.rows import check_live, dtype_text
from branded.graph.uops import nbytes, replace_ops
from branded.ir import Expr, make_expr
from branded.ir.expr import Which
from branded.ir.terms import Eqn, Var

SHOWN = 5
"""The number of largest values that are shown."""
LARGE = 0.05
"""The fraction of the function's memory from which on a value is listed."""


class Large(NamedTuple):
    """A value in memory at the peak of the function, with all its examples.

    Attributes:
        bytes: Its size in bytes.
        type: Its type as `vec_type` writes it, or the shape of the buffer if no line of the function creates it.
        brands: The names of the brands that it varies over.
        where: The line that creates it, as `app.py:12`; empty if it is unknown.
        code: The source code there.
        broadcast: The brands along which a broadcast repeated its operands.
        line: The line of that broadcast.
    """

    bytes: int
    type: str
    brands: tuple[str, ...] = ()
    where: str = ""
    code: str = ""
    broadcast: tuple[str, ...] = ()
    line: str = ""

    def __str__(self) -> str:
        place = f"  {self.where}: {self.code}" if self.where else ""
        over = " and ".join(f"`{b}`" for b in self.broadcast)
        grew = f"\n{'':13}a broadcast over {over}{f', at {self.line}' if self.line else ''}" if over else ""
        return f"{readable(self.bytes):>11}  {self.type}{place}{grew}"


class Memory(NamedTuple):
    """The memory of one call of a function, in bytes.

    Attributes:
        peak: The most bytes in use at a time, including the arguments.
        arguments: The memory that the function reads but does not create: arguments and captured values.
        results: The memory of the results.
        between: The intermediate values at the peak; buffers that are never needed at the same time share memory.
        work: The work space of loops and host callbacks.
        largest: The largest values at the peak, without the arguments.
    """

    peak: int
    arguments: int
    results: int
    between: int
    work: int
    largest: tuple[Large, ...]

    def __str__(self) -> str:
        parts = [f"{name} {readable(getattr(self, name))}" for name in ("arguments", "results", "between", "work")]
        return "\n".join([f"{readable(self.peak)} at most: {', '.join(parts)}", *map(str, self.largest)])


@check_calls
def memory(f: Callable[..., Any]) -> Callable[..., Memory]:
    """Return a function that computes the peak memory of `f(*args)` before anything runs.

    It asks tinygrad's scheduler which values are stored, and its planner which of these buffers share memory.  No
    kernel is compiled.  `Tensor.empty(1_000_000, 3)` or a `ShapeDtypeStruct` can represent an argument that does not
    exist yet.

    Args:
        f: A function of pytrees of tensors.  For a compiled `f`, the report is about one call of its program.

    Returns:
        A function of the arguments of `f` that returns a `Memory`: its `peak` in bytes, the parts of the peak, and the
        largest values with the lines, brands and broadcasts that created them.  `print` shows it.

    Raises:
        CallError: `f` is not a function, or does not accept the arguments.
        ReadError: `f` reads the value of a tensor, which does not exist before the run.

    Example:
        >>> from branded import memory, vmap
        >>> from tinygrad import Tensor
        >>> x = Tensor.empty(1000, 64)
        >>> kept = memory(lambda x: vmap(lambda a: vmap(lambda b: a - b)(x))(x))(x)
        >>> reduced = memory(lambda x: vmap(lambda a: vmap(lambda b: (a - b).abs().sum())(x))(x))(x)
        >>> kept.peak, reduced.peak, kept.largest[0].broadcast
        (256256000, 4256000, ('a', 'b'))

    Source: `jax.stages.Compiled.memory_analysis`; the memory planner of tinygrad.
    """
    check_function(f, "memory", "memory(f)(x)")
    return entry(lambda *args, **kwargs: _memory(f, args, kwargs))


def _memory(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Memory:
    leaves = [x for a in (*args, *kwargs.values()) for x in tree.leaves(a)]
    for x, path in zip(leaves, tree.argument_paths(args, kwargs), strict=True):
        if isinstance(x, Tensor):
            check_live(x.uop, f"memory: {path}")
    args, kwargs = tree.rebuild((args, kwargs), map(_as_argument, tree.leaves((args, kwargs))))

    def run() -> tuple[Footprint, Expr | None]:
        if isinstance(f, Jitted):
            params, leaves = f.graph(args, kwargs)
            buffers = {p: UOp.new_buffer(p.device, int(p.max_numel()), p.dtype).reshape(p.shape) for p in params}
            return footprint(replace_ops(leaves, buffers.get), is_replayed=True), _try_make_expr(f._f, args, kwargs)
        out = call_checked(f, args, kwargs, "memory", "pass a function with one parameter per argument")
        usage = footprint([y.uop for y in tree.leaves(out) if isinstance(y, Tensor)])
        return usage, _try_make_expr(f, args, kwargs)

    usage, expr = dry_run(run)
    parts = (usage.peak, usage.there, usage.results, usage.between, usage.work)
    return Memory(*parts, tuple(_largest(usage, expr, f)))


def _as_argument(x: Any) -> Any:
    if isinstance(x, Tensor) or (t := tree.as_tensor(x)) is None:
        # a type without values becomes a buffer that is never written
        is_type = not isinstance(x, Tensor) and hasattr(x, "shape") and hasattr(x, "dtype")
        return Tensor.empty(*x.shape, dtype=x.dtype) if is_type else x
    return x if isinstance(x, bool | int | float) else t


def _try_make_expr(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Expr | None:
    """Return the function as an IR program, or None if the IR cannot express it."""
    fixed = [i for i, a in enumerate(args) if not any(isinstance(x, Tensor) for x in tree.leaves(a))]
    try:
        return make_expr(f, static_argnums=fixed)(*args, **kwargs)
    except BrandedError:
        return None


def _largest(usage: Footprint, expr: Expr | None, f: Callable[..., Any]) -> list[Large]:
    least = LARGE * max(usage.taken, 1)
    large = [b for b in usage.live if nbytes(b) >= least][:SHOWN]
    return [_large(b, expr, Source.of(f._f if isinstance(f, Jitted) else f)) for b in large]


def _large(b: UOp, expr: Expr | None, source: Source) -> Large:
    """Describe the value in a buffer: the last one of its size among the user's operations, else the primitives."""
    size = nbytes(b)
    levels: tuple[Which, ...] = ("operations", "primitives")
    for view in [expr.at(level) for level in levels] if expr is not None else ():
        eqns = view.program.eqns
        for i, e in reversed(list(enumerate(eqns))):
            for v in e.results:
                if e.op in ("enter", "leave") or bytes_of(v.type) != size:
                    continue
                by = e if view.level == "operations" else _operation(expr, i)
                over, line = _broadcast(e, v, eqns)
                brands = tuple(x.name for x in v.type.row)
                where = by.where if by else None
                text = source.code(where) if where else ""
                return Large(size, str(v.type), brands, code.at(where), text, over, line or code.at(where))
    shape = ", ".join(map(str, b.shape)) if len(b.shape) > 1 else int(b.max_numel())
    return Large(size, f"{dtype_text(b.dtype)}[{shape}]")


def _operation(expr: Expr | None, i: int) -> Eqn | None:
    """Return the user's operation that was lowered to primitive `i`."""
    if expr is None:
        return None
    return next((e for e, below in zip(expr.program.eqns, expr.links(), strict=True) if i in below), None)


def _broadcast(e: Eqn, v: Var, eqns: Sequence[Eqn]) -> tuple[tuple[str, ...], str]:
    """Find the last broadcast that combined all brands of a value; return its brands and its line."""
    makes = {r: other for other in eqns for r in other.results}
    todo, row = [e], set(v.type.row)
    while todo:
        eqn = todo.pop(0)
        names = {a: "" for a in (*eqn.operands, *eqn.results) if isinstance(a, Var)}
        over = [c.brand for c in columns(eqn, names) if c.how == "broadcast"]
        if over and row <= {b for r in eqn.results for b in r.type.row}:
            return tuple(b.name for b in over), code.at(eqn.where)
        todo += [makes[a] for a in eqn.operands if isinstance(a, Var) and a in makes and row <= {*a.type.row}]
    return (), ""
