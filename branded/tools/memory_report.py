"""`memory`: what a function takes, worked out before it runs, and which values and brands make it so much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded import tree
from branded.chunking.footprint import Footprint, footprint
from branded.compile.jit import Jitted
from branded.core.tracing.dry_run import looked_at
from branded.core.validation.arguments import called, check_function
from branded.errors import BrandedError
from branded.explain.code import Source
from branded.explain.steps import bytes_of, columns, readable
from branded.graph.rows import check_live, dtype_text
from branded.graph.uops import nbytes, replaced
from branded.ir import Expr, make_expr
from branded.ir.expr import Which
from branded.ir.terms import Eqn, Var

SHOWN = 5
"""So many of the largest values are shown."""
LARGE = 0.05
"""A value is among the largest if it is this part of what the function takes."""


class Large(NamedTuple):
    """A value that is in memory where the function takes most: all examples of it, in bytes.

    Attributes:
        bytes: Its bytes.
        type: What it is, as `vec_type` says it; the shape of the buffer where no line of the function makes one.
        brands: The names of the brands that it varies over.
        where: The line that makes it, `app.py:12`; empty where that is not known.
        code: What stands there.
        broadcast: The brands along which a broadcast repeated what it is made of.
        line: Where that broadcast stands.
    """

    bytes: int
    type: str
    brands: tuple[str, ...] = ()
    where: str = ""
    code: str = ""
    broadcast: tuple[str, ...] = ()
    line: str = ""

    def __str__(self) -> str:
        made = f"  {self.where}: {self.code}" if self.where else ""
        over = " and ".join(f"`{b}`" for b in self.broadcast)
        grew = f"\n{'':13}a broadcast over {over}{f', at {self.line}' if self.line else ''}" if over else ""
        return f"{readable(self.bytes):>11}  {self.type}{made}{grew}"


class Memory(NamedTuple):
    """The memory of one call of a function, in bytes.

    Attributes:
        peak: The most that it has at a time, its arguments included.
        arguments: What it reads and does not make: arguments, and what it closes over.
        results: What it gives.
        between: What it makes on the way, where most of it is there; buffers that are never needed at the same time
            lie in the same place.
        work: What loops have for their steps, and functions of the host for themselves.
        largest: The largest values that are there at that time, beside the arguments.
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


def memory(f: Callable[..., Any]) -> Callable[..., Memory]:
    """`memory(f)(*args)` is the memory that `f(*args)` takes at most, worked out before anything runs.

    It asks tinygrad's scheduler what is kept in memory, and its planner which of these buffers share a place; no kernel
    is compiled.  `Tensor.empty(1_000_000, 3)`, or a `ShapeDtypeStruct`, stands for an argument that is not there yet.

    Args:
        f: A function of trees of tensors; of a compiled one it is a call of the program.

    Returns:
        A function of the arguments of `f`, which gives a `Memory`: its `peak` in bytes, of what it consists, and the
        largest values with the lines, the brands and the broadcasts that made them.  `print` shows it.

    Raises:
        CallError: `f` is not a function, or does not take the arguments.
        ReadError: `f` reads a value, of which there is none.

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
    return lambda *args, **kwargs: _memory(f, args, kwargs)


def _memory(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Memory:
    leaves = [x for a in (*args, *kwargs.values()) for x in tree.leaves(a)]
    for x, at in zip(leaves, tree.argument_paths(args, kwargs), strict=True):
        if isinstance(x, Tensor):
            check_live(x.uop, f"memory: {at}")
    args, kwargs = tree.rebuild((args, kwargs), map(_as_argument, tree.leaves((args, kwargs))))

    def run() -> tuple[Footprint, Expr | None]:
        if isinstance(f, Jitted):
            params, leaves = f.graph(args, kwargs)
            given = {p: UOp.new_buffer(p.device, int(p.max_numel()), p.dtype).reshape(p.shape) for p in params}
            return footprint(replaced(leaves, given.get), is_replayed=True), _written(f._f, args, kwargs)
        out = called(f, args, kwargs, "memory", "a function with a parameter for each argument")
        found = footprint([y.uop for y in tree.leaves(out) if isinstance(y, Tensor)])
        return found, _written(f, args, kwargs)

    found, expr = looked_at(run)
    parts = (found.peak, found.there, found.results, found.between, found.work)
    return Memory(*parts, tuple(_largest(found, expr, f)))


def _as_argument(x: Any) -> Any:
    if isinstance(x, Tensor) or (t := tree.as_tensor(x)) is None:
        # what has no values is memory that nobody has written to
        is_type = not isinstance(x, Tensor) and hasattr(x, "shape") and hasattr(x, "dtype")
        return Tensor.empty(*x.shape, dtype=x.dtype) if is_type else x
    return x if isinstance(x, bool | int | float) else t


def _written(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Expr | None:
    """The function as a program, where it can be written down."""
    fixed = [i for i, a in enumerate(args) if not any(isinstance(x, Tensor) for x in tree.leaves(a))]
    try:
        return make_expr(f, static_argnums=fixed)(*args, **kwargs)
    except BrandedError:
        return None


# ---- which values ----


def _largest(found: Footprint, expr: Expr | None, f: Callable[..., Any]) -> list[Large]:
    least = LARGE * max(found.taken, 1)
    large = [b for b in found.live if nbytes(b) >= least][:SHOWN]
    return [_large(b, expr, Source.of(f._f if isinstance(f, Jitted) else f)) for b in large]


def _large(b: UOp, expr: Expr | None, source: Source) -> Large:
    """The value that a buffer has: the last of its size, of the user's operations or of what they are made of."""
    size = nbytes(b)
    levels: tuple[Which, ...] = ("operations", "primitives")
    for found in [expr.at(level) for level in levels] if expr is not None else ():
        eqns = found.program.eqns
        for i, e in reversed(list(enumerate(eqns))):
            for v in e.results:
                if e.op in ("enter", "leave") or bytes_of(v.type) != size:
                    continue
                by = e if found.level == "operations" else _operation(expr, i)
                over, at = _broadcast(e, v, eqns)
                brands = tuple(x.name for x in v.type.row)
                code = source.code(by.where) if by and by.where else ""
                return Large(size, str(v.type), brands, _at(by), code, over, at or _at(by))
    shape = ", ".join(map(str, b.shape)) if len(b.shape) > 1 else int(b.max_numel())
    return Large(size, f"{dtype_text(b.dtype)}[{shape}]")


def _operation(expr: Expr | None, i: int) -> Eqn | None:
    """The operation of the user that became a primitive."""
    if expr is None:
        return None
    return next((e for e, below in zip(expr.program.eqns, expr.links(), strict=True) if i in below), None)


def _broadcast(e: Eqn, v: Var, eqns: Sequence[Eqn]) -> tuple[tuple[str, ...], str]:
    """Where the brands of a value came together: the last broadcast among the operations that it is made of."""
    makes = {r: other for other in eqns for r in other.results}
    todo, row = [e], set(v.type.row)
    while todo:
        at = todo.pop(0)
        over = [c.brand for c in columns(at, dict.fromkeys(_variables(at), "")) if c.how == "broadcast"]
        if over and row <= {b for r in at.results for b in r.type.row}:
            return tuple(b.name for b in over), _at(at)
        todo += [makes[a] for a in at.operands if isinstance(a, Var) and a in makes and row <= {*a.type.row}]
    return (), ""


def _variables(e: Eqn) -> list[Var]:
    return [a for a in (*e.operands, *e.results) if isinstance(a, Var)]


def _at(e: Eqn | None) -> str:
    return f"{Path(e.where.file).name}:{e.where.line}" if e is not None and e.where is not None else ""
