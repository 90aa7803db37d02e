"""The core of vmap: the choice between zip and broadcast, and the pass that batches a graph.

    users:3   a    b    c            all operands vary over users: zip, the examples are paired
    users:3   d    e    f
              a+d  b+e  c+f          the row of the result is {users}

    users:3   a    b    c            only one operand varies over each brand: broadcast, all pairs
    items:2   d  e
              a+d  b+d  c+d          the row of the result is {users, items}
              a+e  b+e  c+e

The row of a value is the set of brands over which it varies.  `kind` chooses zip or broadcast for each brand.
`resolve` picks a rule, which emits the same operation on batched operands.  A batched operand has one leading axis for
each brand of its row.  `close` runs the rules over a graph once, for all brands.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tinygrad.uop.ops import Ops, UOp

from branded.errors import UnsupportedError
from branded.graph.primitive import Batched, Bundle, Env
from branded.graph.rows import has_brand
from branded.graph.scope import Row, Scope, brand_of, union
from branded.graph.uops import expand, lead, reshape
from branded.tinygrad_compat.private_api import keep_behind

Kind = Literal["zip", "broadcast", "per example", "none"]
Carries = tuple[bool, ...]
Rule = Callable[..., "UOp | Batched | Bundle"]


def kind(brand: object, rows: Iterable[Collection[object]]) -> Kind:
    """Return how operands with these rows, which are tensors, are combined over a brand: all vary, some, or none."""
    has = [brand in row for row in rows]
    return "none" if not any(has) else "broadcast" if not all(has) else "zip" if len(has) > 1 else "per example"


@dataclass(eq=False)
class Resolution:
    """The resolved brands of one operation: the row of its result, and the rule that computes it."""

    op: Ops
    operands: tuple[Row, ...]
    row: Row
    sizes: tuple[int, ...]  # sizes of the brands of `row`
    rule: Rule
    is_zip: bool  # all operands have the same brands, so they are aligned
    within: Pass | None = None

    def kind(self, brand: Scope) -> Kind:
        return kind(brand, self.operands)

    def __str__(self) -> str:
        each = [f"  {b!r}: {self.kind(b)}, {self._who(b)} over it" for b in self.row]
        return "\n".join([self.op.name.lower(), *each])

    def _who(self, brand: Scope) -> str:
        if self.kind(brand) != "broadcast":
            return "all operands vary"
        texts = [str(i) for i, row in enumerate(self.operands, 1) if brand in row]
        return f"only operand {texts[0]} varies" if len(texts) == 1 else f"only operands {' and '.join(texts)} vary"

    def align(self, x: Batched, per_example: int, rank: int) -> UOp:
        """Return `x` with size-1 axes for brands and axes that it lacks; `per_example` is the rank of its examples."""
        if not x.row or (x.row == self.row and per_example == rank):
            return x.uop  # tinygrad aligns to the right
        # f32[3, 8] of users:3 becomes f32[3, 1, 1, 8] in the row users:3 | items:2, where examples have rank 2
        sizes = tuple(b.size if kind(b, (x.row, self.row)) == "zip" else 1 for b in self.row)
        return reshape(x.uop, sizes + (1,) * (rank - per_example) + x.uop.shape[len(x.row) :])

    def fill(self, x: Batched) -> UOp:
        """Return `x` with a full axis for each brand of the result."""
        return full(x, self.row)


def full(x: Batched, row: Sequence[Scope]) -> UOp:
    """Return `x` with a leading axis for each brand of `row`, in its order, repeated along brands that it lacks."""
    missing = [b for b in row if kind(b, (x.row, row)) == "broadcast"]
    now = [*missing, *x.row]
    return lead(expand(x.uop, tuple(b.size for b in missing)), tuple(now.index(b) for b in row))


TABLE: dict[Ops, list[tuple[Callable[[Carries], bool], Rule]]] = {}
LEAVES: set[Ops] = set()  # operations without operands that could carry a brand


def rule(*ops: Ops, when: Callable[[Carries], bool] = lambda carries: True) -> Callable[[Rule], Rule]:
    """Register a batching rule for operations.  A later rule takes precedence over an earlier one.

    Args:
        ops: Operations of tinygrad.
        when: A predicate of a tuple of bools, which say for each operand whether it carries brands.

    Returns:
        A decorator.  The rule receives the per-example operation, its `Resolution`, and the operands as `Batched`.  It
        returns the operation on them, with one leading axis for each brand of the resolution's row.
    """

    def register(f: Rule) -> Rule:
        for op in ops:
            TABLE.setdefault(op, []).insert(0, (when, f))
        return f

    return register


def resolve(op: Ops, operands: Iterable[Row], within: Pass | None = None) -> Resolution:
    """Return the row of the result of an operation on operands with these rows, and its rule.

    Args:
        op: An operation of tinygrad.
        operands: The row of each operand.
        within: The pass that applies the rule, if any.

    Returns:
        A `Resolution` with the row of the result, the sizes of its brands, and the rule.

    Raises:
        UnsupportedError: The operation has no rule.

    Example:
        >>> from branded import brand
        >>> from branded.dispatch import resolve
        >>> from tinygrad.uop.ops import Ops
        >>> with brand("users", 3) as users, brand("items", 2) as items:
        ...     print(resolve(Ops.ADD, [(users,), (users, items)]))
        add
          users:3: zip, all operands vary over it
          items:2: broadcast, only operand 2 varies over it
    """
    rows = tuple(operands)
    carried = {*rows} - {()}
    row: Row = functools.reduce(union, carried) if carried else ()
    if op is Ops.STAGE:  # the only operation that closes a brand
        row = tuple(b for b in rows[0] if b not in rows[1])
    for when, f in TABLE.get(op, ()):
        if when(tuple(map(bool, rows))):
            return Resolution(op, rows, row, tuple([b.size for b in row]), f, len({*rows}) == 1, within)
    fix = "compute it outside of vmap, or register a rule with branded.dispatch.rule"
    raise UnsupportedError(f"{op.name}: no batching rule for this operation of tinygrad", ("rows", repr(rows)), fix=fix)


class Pass:
    """One run of the rules over a graph.  `closing` are the brands to close; None closes all."""

    def __init__(self, closing: Row | None = None) -> None:
        self.closing = closing
        self.bodies: dict[Any, Bundle] = {}  # of functions, so that a shared body stays shared

    def run(self, roots: Sequence[UOp], env: Env, gate: Callable[[UOp], bool] | None) -> list[Batched]:
        """Return the batched roots.  `env` maps operations to batched values; `gate` prunes parts without brands."""
        resolutions: dict[Any, Resolution] = {}  # local: a resolution refers to this pass and would keep it alive
        for u in UOp(Ops.SINK, src=tuple(roots)).toposort(gate, enter_calls=False):
            if (op := u.op) is Ops.RANGE:  # a brand: the index of the example
                if (b := brand_of(u)) is not None and (self.closing is None or b in self.closing):
                    env[u] = Batched(u, (b,))
                continue
            in_body = op is Ops.FUNCTION and has_brand(u.src[0])
            if u in env or op is Ops.SINK or (env.keys().isdisjoint(u.src) and not in_body):
                continue  # done, or unbatched: left unchanged
            operands = [x if (x := env.get(s)) is not None else Batched(s, ()) for s in u.src]
            rows = tuple([x.row for x in operands])
            resolution = resolutions.get((op, rows)) or resolutions.setdefault((op, rows), resolve(op, rows, self))
            out = resolution.rule(u, resolution, *operands)
            if isinstance(out, UOp):
                keep_behind(u, resolution.sizes, out)  # the known shape need not be computed again
                out = Batched(out, resolution.row)
            env[u] = out
        return [x if isinstance(x := env.get(r), Batched) else Batched(r, ()) for r in roots]


def close(roots: Sequence[UOp]) -> list[Batched]:
    """Batch a graph: each value gets a leading axis for each brand that is open in it, and no RANGE remains."""
    return Pass().run(roots, {}, has_brand)
