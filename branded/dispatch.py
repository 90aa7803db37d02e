"""The heart: what an operation does when its operands vary over brands.

For each brand of the result there are two cases, and a third for every other brand:

    all operands carry it    zip         the examples meet one to one
    some operands carry it   broadcast   the others are the same for each example
    none carries it          none        the operation is left alone

`resolve` decides it, from the operation and from which operands carry brands, and picks a rule from the table.
A rule emits the same operation on batched operands: those that have one leading axis for each brand of their row.
`close` runs the rules over a graph, once, for all brands at once.  It is everything that happens when a vmap returns.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tinygrad import dtypes
from tinygrad.device import canonicalize_device
from tinygrad.dtype import strong_dtype
from tinygrad.function import _function
from tinygrad.uop.ops import GroupOp, Ops, UOp, shape_to_shape_arg

from branded.errors import UnsupportedError
from branded.recording import is_recording
from branded.rows import SHAPE, Row, has_left, is_beside, is_touched, left_brands, row_of, stage, type_text, union

if TYPE_CHECKING:
    from branded.brand import Brand

Kind = Literal["zip", "broadcast", "none"]
Carries = tuple[bool, ...]


class Batched(NamedTuple):
    """A value of all examples: `uop` has one leading axis for each brand of `row`, in that order."""

    uop: UOp
    row: Row


Rule = Callable[..., "UOp | Batched | Bundle"]


class Bundle(NamedTuple):
    """The values of a TUPLE or FUNCTION, which GETTUPLE takes apart."""

    uop: UOp
    rows: tuple[Row, ...]

    @property
    def row(self) -> Row:
        return functools.reduce(union, self.rows, ())


@dataclass(eq=False)
class Resolution:
    """How one operation meets the brands of its operands: what is zipped, what is broadcast, and by which rule."""

    op: Ops
    operands: tuple[Row, ...]
    row: Row
    rule: Rule
    within: Pass | None = None

    def kind(self, brand: Brand) -> Kind:
        carried = [brand in row for row in self.operands]
        return "zip" if all(carried) else "broadcast" if any(carried) else "none"

    def __str__(self) -> str:
        def line(brand: Brand) -> str:
            who = [str(i + 1) for i, row in enumerate(self.operands) if brand in row]
            if self.kind(brand) == "zip":
                return f"{brand!r}: zip, all operands carry it"
            return f"{brand!r}: broadcast, only operand {' and '.join(who)} carries it"

        return "\n".join([self.op.name.lower(), *(f"  {line(b)}" for b in self.row)])

    # what rules need

    @functools.cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(b.size for b in self.row)

    @functools.cached_property
    def size_uops(self) -> tuple[UOp, ...]:
        return tuple(UOp.const(b.size) for b in self.row)

    def align(self, x: Batched, per_example: int, rank: int) -> UOp:
        """`x`, of rank `per_example`, ready to broadcast: axes of size 1 for the brands and for the axes it lacks."""
        if not x.row or (x.row == self.row and per_example == rank):
            return x.uop  # tinygrad aligns to the right by itself
        own = tuple(b.size if b in x.row else 1 for b in self.row)
        return reshape(x.uop, own + (1,) * (rank - per_example) + x.uop.shape[len(x.row) :])

    def fill(self, x: Batched) -> UOp:
        """`x` with a full axis for each brand of the result."""
        return full(x, self.row)


# ---- the table ----

_table: dict[Ops, list[tuple[Callable[[Carries], bool], Rule]]] = {}
LEAVES: set[Ops] = set()
"""Operations without operands that could carry a brand."""


def rule(*ops: Ops, when: Callable[[Carries], bool] = lambda carries: True) -> Callable[[Rule], Rule]:
    """Register a rule for operations, in the cases of carrying operands that `when` accepts.

    The rule gets the per-example operation, its `Resolution`, and the operands as `Batched`, and returns the
    operation on them, with one leading axis for each brand of the resolution's row.  A later rule goes first.
    """

    def register(f: Rule) -> Rule:
        for op in ops:
            _table.setdefault(op, []).insert(0, (when, f))
        return f

    return register


def covered() -> set[Ops]:
    """The operations that have a rule, a refusal, or nothing to do."""
    return {*_table, *LEAVES}


def resolve(op: Ops, operands: Iterable[Row], within: Pass | None = None) -> Resolution:
    """Decide zip or broadcast for an operation on operands with these rows.

    Args:
        op: The primitive of tinygrad.
        operands: The row of each operand.
        within: The pass that asks; the rule of FUNCTION runs it on the body.

    Returns:
        The `Resolution`: the row of the result, the kind of each brand, the rule.

    Raises:
        UnsupportedError: There is no rule for the operation on such operands.

    Example:
        >>> from branded import brand
        >>> from branded.dispatch import resolve
        >>> from tinygrad.uop.ops import Ops
        >>> with brand("users", 3) as users, brand("items", 2) as items:
        ...     print(resolve(Ops.ADD, [(users,), (users, items)]))
        add
          users:3: zip, all operands carry it
          items:2: broadcast, only operand 2 carries it
    """
    rows = tuple(operands)
    row: Row = functools.reduce(union, rows, ())
    if op is Ops.STAGE:  # the one operation that closes a brand
        row = tuple(b for b in rows[0] if b not in rows[1])
    carries = tuple(map(bool, rows))
    for when, f in _table.get(op, ()):
        if when(carries):
            return Resolution(op, rows, row, f, within)
    raise UnsupportedError(
        f"{op.name}: no batching rule for this operation of tinygrad",
        ("rows", ", ".join(map(repr, rows))),
        fix="compute it outside of vmap, or register a rule with branded.dispatch.rule",
    )


# ---- the pass ----


class Pass:
    """One run of the rules over a graph.  `closing` are the brands to close; None means all."""

    def __init__(self, closing: Row | None = None) -> None:
        self.closing = closing
        self.bodies: dict[Any, Bundle] = {}

    def run(
        self, roots: Sequence[UOp], env: dict[UOp, Batched | Bundle], gate: Callable[[UOp], bool] | None
    ) -> list[Batched]:
        resolutions: dict[Any, Resolution] = {}  # not kept: they know this pass, and would keep it and its graph alive
        for u in UOp(Ops.SINK, src=tuple(roots)).toposort(gate, enter_calls=False):
            op = u.op
            if op is Ops.RANGE:
                if (b := u.__dict__.get("_brand")) is not None and (self.closing is None or b in self.closing):
                    env[u] = Batched(u, (b,))
                continue
            if u in env or op is Ops.SINK:
                continue
            operands = [x if (x := env.get(s)) is not None else Batched(s, ()) for s in u.src]
            if env.keys().isdisjoint(u.src) and not (op is Ops.FUNCTION and is_touched(u.src[0])):
                continue
            rows = tuple([x.row for x in operands])
            how = resolutions.get((op, rows))
            if how is None:
                how = resolutions[op, rows] = resolve(op, rows, self)
            out = how.rule(u, how, *operands)
            if isinstance(out, UOp):
                if (shape := u.__dict__.get(SHAPE)) is not None:  # known: tinygrad need not find it out again
                    out.__dict__[SHAPE] = how.sizes + shape
                out = Batched(out, how.row)
            env[u] = out
        return [x if isinstance(x := env.get(r), Batched) else Batched(r, ()) for r in roots]


def close(roots: Sequence[UOp]) -> list[Batched]:
    """Batch a graph: every value gets a leading axis for each brand that is open in it, and no RANGE is left."""
    return Pass().run(roots, {}, is_touched)


def settled(u: UOp) -> UOp:
    """A value that varies over nothing in plain operations, though examples may have exchanged values in it."""
    return close([u])[0].uop if is_touched(u) and not row_of(u) else u


def without(u: UOp, brand: Brand) -> UOp:
    """A value that does not vary over `brand`, in a graph in which it does not occur, not even beside the value."""
    if _is_last(u, brand):
        return settled(u)
    return Pass((brand,)).run([u], {}, is_touched)[0].uop if is_beside(u) else u


def _is_last(u: UOp, brand: Brand) -> bool:
    """Is this the last brand that is open in `u`?  One that was left while it is open is still to be differentiated."""
    return is_touched(u) and row_of(u) in ((brand,), ()) and all(b is brand or not b.is_open for b in left_brands([u]))


def leave(us: Sequence[UOp], brand: Brand, axes: Sequence[int], repeat: int) -> list[UOp]:
    """The values of all examples of `brand`, which goes to `axes`; a value that does not vary is repeated.

    Where another brand is still open in a value, the work is left to the pass that closes that one: however deep
    vmaps are nested, a graph is batched once.  Only the body of a @function must be whole by itself.
    """
    last = [u for u in us if _is_last(u, brand)] if not is_recording() else []
    done = dict(zip(last, close(last), strict=True)) if last else {}

    def out(u: UOp) -> UOp:
        if (x := done.get(u)) is not None:
            return x.uop if x.row else expand(x.uop, (repeat,))
        return stage(u, brand) if brand in row_of(u) else expand(without(u, brand), (repeat,))

    outs = [out(u) for u in us]
    if _function.depth:
        outs = lower(outs)
    return [lead(u, (*range(1, axis + 1), 0)) for u, axis in zip(outs, axes, strict=True)]


def lower(roots: Sequence[UOp], keep: Row = ()) -> list[UOp]:
    """The same values with every brand that was left also closed, but for those to keep; open ones stay.

    Reverse mode and the bodies of functions and loops need it.
    """
    if not any(map(has_left, roots)):
        return _alone(roots)

    def closed(u: UOp) -> UOp | None:
        if u.op is not Ops.STAGE or (b := u.src[1].__dict__["_brand"]) in keep:
            return None
        return Pass((b,)).run([u.src[0]], {}, is_touched)[0].uop

    return _alone(replaced(roots, closed, has_left))


def _alone(us: Sequence[UOp]) -> list[UOp]:
    """The same values without the closed brands that occur beside what they use."""
    if not any(map(is_beside, us)):
        return list(us)
    graph = UOp(Ops.SINK, src=tuple(us)).toposort(is_touched, enter_calls=False)
    brands = [u.__dict__["_brand"] for u in graph if u.op is Ops.RANGE and "_brand" in u.__dict__]
    done = Pass(tuple(b for b in brands if not b.is_open)).run(us, {}, is_touched)
    return [u if x.row else x.uop for u, x in zip(us, done, strict=True)]


def replaced(
    roots: Sequence[UOp],
    new: Callable[[UOp], UOp | None],
    gate: Callable[[UOp], bool] | None = None,
    at: Mapping[UOp, UOp] | None = None,
) -> list[UOp]:
    """The same graphs with some operations replaced: `new` sees each with its operands replaced; None leaves it.

    `at` gives what to put in the place of an operation whatever becomes of its operands.
    """
    env: dict[UOp, UOp] = {}
    for u in UOp(Ops.SINK, src=tuple(roots)).toposort(gate, enter_calls=False):
        if at is not None and u in at:
            env[u] = at[u]
            continue
        src = u.src if env.keys().isdisjoint(u.src) else tuple(env.get(s, s) for s in u.src)
        v = u if src is u.src else u.replace(src=src)
        if v is not u:
            for key in _KNOWN:
                if key in u.__dict__:
                    v.__dict__[key] = u.__dict__[key]
        if (w := new(v)) is not None:
            env[u] = w
        elif v is not u:
            env[u] = v
    return [env.get(r, r) for r in roots]


_KNOWN = (SHAPE, "axis")
"""What is kept about a UOp, and would be worked out again of one with other operands."""


# ---- how rules build: as tinygrad does, without what it would work out again ----


def again(u: UOp, *src: UOp) -> UOp:
    """The same operation on other operands."""
    return UOp(u.op, u.dtype, src, u.arg)


_RANK = "_branded_rank"


def ranks(u: UOp) -> list[int]:
    """The number of axes of each operand of an elementwise `u`, without working out shapes where it can be avoided."""
    found = [_rank(s) for s in u.src]
    u.__dict__[_RANK] = max(found)
    return found


def _rank(u: UOp) -> int:
    v = u
    while v.op in GroupOp.Elementwise and _RANK not in v.__dict__ and SHAPE not in v.__dict__:
        of = [s for s in v.src if s.op is not Ops.CONST]  # a number has no axes
        if len(of) > 1:
            break
        v = of[0] if of else v.src[0]
    n: int | None = v.__dict__.get(_RANK)
    u.__dict__[_RANK] = n = len(v.shape) if n is None else n
    return n


def reshape(x: UOp, shape: tuple[Any, ...]) -> UOp:
    return x if x.shape == shape else UOp(Ops.RESHAPE, x.dtype, (x, shape_to_shape_arg(shape)))


def expand(x: UOp, sizes: tuple[int, ...]) -> UOp:
    """`x` repeated along new leading axes."""
    return UOp(Ops.EXPAND, x.dtype, (x, shape_to_shape_arg(sizes))) if sizes else x


def behind(front: tuple[UOp, ...], argument: UOp) -> UOp:
    """The sizes or offsets that a movement op takes, behind others for the brands; a value may have left them all."""
    if not front:
        return argument
    src = (*front, *(argument.src if argument.op is Ops.STACK else (argument,)))
    dtype = front[0].dtype if argument.dtype is dtypes.void else argument.dtype  # void: of no sizes
    return src[0] if len(src) == 1 else UOp(Ops.STACK, dtype, src)


def on_device(x: UOp, device: str | None = None) -> UOp:
    """`x`, which may be made of numbers that no device has, as a value in memory."""
    if x.device is not None:
        return x
    out: UOp = x.cast(strong_dtype(x.dtype)).clone(device=device or canonicalize_device(None))
    return out


def full(x: Batched, row: Sequence[Brand]) -> UOp:
    """`x` with a leading axis for each brand of `row`, in its order."""
    missing = [b for b in row if b not in x.row]
    now = [*missing, *x.row]
    return lead(expand(x.uop, tuple(b.size for b in missing)), tuple(now.index(b) for b in row))


def permute(x: UOp, order: tuple[int, ...]) -> UOp:
    if x.op is Ops.PERMUTE:
        x, order = x.src[0], tuple(x.arg[i] for i in order)
    return x if order == tuple(range(len(order))) else UOp(Ops.PERMUTE, x.dtype, (x,), order)


def lead(x: UOp, order: tuple[int, ...]) -> UOp:
    """`x` with its leading axes in this order, and the others behind them as they are."""
    if order == tuple(range(len(order))):
        return x
    rank = len(x.arg if x.op is Ops.PERMUTE else x.shape)
    return permute(x, (*order, *range(len(order), rank)))


def refuse(u: UOp, what: str, fix: str, *operands: Batched) -> UnsupportedError:
    row: Row = functools.reduce(union, (x.row for x in operands), ())
    shaped = next((s for s in (u, *u.src) if s._shape is not None), None)
    return UnsupportedError(what, *([("value", type_text(shaped, row))] if shaped is not None else []), fix=fix)
