"""The typing rules of loops and branches.

A carry has the rows of every step. The result of a branch has the rows of every branch and of the predicate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mypy.checker import TypeChecker
from mypy.nodes import Expression, IndexExpr, IntExpr, ListExpr, StarExpr, TupleExpr
from mypy.types import AnyType, CallableType, Instance, NoneType, TupleType, Type, get_proper_type

from branded.mypy.axes.mapped_axis import Mapped
from branded.mypy.axes.types import axes_of, unify_axes
from branded.mypy.codes import CARRY, SIZE
from branded.mypy.rows.algebra import CONTAINERS, UNKNOWN, add_brands, hides_brands, is_a, row_of
from branded.mypy.transforms.function_calls import Rule, TransformCall, join_trees, tree_leaves, unique_brands
from branded.mypy.transforms.in_axes import tree_of

MOST = 8
"""The maximum number of steps to a fixed point; each step adds at least one brand."""

_AGAIN = "try:   return a carry with the structure of the initial one"


def _carry_type(call: TransformCall, init: Type, after: Callable[[Type], Type | None]) -> Type | None:
    """Return the carry's type at the fixed point of the loop; None if a step returns a different tree."""
    carry = init
    for _ in range(MOST):
        new = after(carry)
        both = join_trees(carry, call.tensors(new)) if new is not None else None
        if both is None or both == carry or hides_brands(both):
            return carry if both is not None else None
        carry = both
    return carry


def _init_type(call: TransformCall, name: str) -> Type | None:
    init = call.with_axes(name)
    call.has_axes = True
    return call.tensors(init) if call.are_tensors(init, "the carry", CARRY) else None


def _join_carry(call: TransformCall, before: Type, after: Type) -> Type | None:
    both = join_trees(before, call.tensors(after))
    if both is None:
        shown = f"before: {call.show(before)}", f"after: {call.show(after)}"
        call.fail(CARRY, "the carry has another structure after a step than before", *shown, _AGAIN)
    elif not _may_agree(before, after):
        shown = f"before: {call.show(before)}", f"after: {call.show(after)}"
        call.fail(CARRY, "the carry has other axes after a step than before", *shown, _AGAIN)
    return both


def _may_agree(before: Type, after: Type) -> bool:
    """Return whether the axes may be the same, as far as they are known."""
    for (_, t), (_, u) in zip(tree_leaves(before, ""), tree_leaves(after, ""), strict=False):
        one, other = axes_of(t), axes_of(u)
        if one is not None and other is not None and not _are_one(one, other):
            return False
    return True


def _are_one(one: list[Type], other: list[Type]) -> bool:
    return len(one) == len(other) and all(unify_axes(a, b) is not None for a, b in zip(one, other, strict=True))


def _step_axis(call: TransformCall) -> Mapped:
    """Return the mapped axis of a loop, which is the first axis of each tensor."""
    return Mapped(call.at, call.api, call.scope, UNKNOWN, what=call.what)


def scan(call: TransformCall) -> Type:
    """Return the type of `scan(f, init, xs)`."""
    f, init, xs = call.expression("f"), _init_type(call, "init"), call.with_axes("xs")
    if f is None or init is None or not call.are_tensors(xs, "xs", CARRY, numbers=False):
        return UNKNOWN
    if isinstance(get_proper_type(xs), NoneType) and call.expression("length") is None:
        return call.fail(
            SIZE, "the number of steps is unknown", "try:   pass xs with a leading axis of steps, or length=n"
        )
    first, steps = tree_of(None, call.api), _step_axis(call)
    xs = steps.off(call.tensors(xs), first, "xs")

    def after(carry: Type) -> Type | None:
        pair = get_proper_type(call.trial(f, [carry, xs]))
        return pair.items[0] if isinstance(pair, TupleType) and len(pair.items) == 2 else None

    carry = _carry_type(call, init, after) or init
    pair = get_proper_type(call.step(f, [carry, xs]))
    if hides_brands(pair) or isinstance(pair, AnyType):
        return UNKNOWN
    if not isinstance(pair, TupleType) or len(pair.items) != 2:
        if isinstance(pair, Instance) and pair.type.fullname == "builtins.tuple":
            return UNKNOWN
        fix = "try:   return a pair: (carry, output), with None for no output"
        return call.fail(CARRY, f"the body returned {call.show(pair)}, not a pair", fix)
    if _join_carry(call, carry, pair.items[0]) is None or not call.are_tensors(pair.items[1], "the output", CARRY):
        return UNKNOWN
    return pair.copy_modified(items=[carry, steps.on(call.tensors(pair.items[1]), first)])


def fori_loop(call: TransformCall) -> Type:
    """Return the type of `fori_loop(lower, upper, body_fun, init_val)`."""
    f, init = call.expression("body_fun"), _init_type(call, "init_val")
    bounds = {n: call.type_of(n) for n in ("lower", "upper")}
    if f is None or init is None or not all(call.are_tensors(t, n, CARRY) for n, t in bounds.items()):
        return UNKNOWN
    over = [b for t in bounds.values() for b in unique_brands(t)]
    index, start = call.vec(over), add_brands(init, over)
    carry = _carry_type(call, start, lambda c: call.trial(f, [index, c])) or start
    out = call.step(f, [index, carry])
    return UNKNOWN if hides_brands(out) or _join_carry(call, carry, out) is None else carry


def while_loop(call: TransformCall) -> Type:
    """Return the type of `while_loop(cond_fun, body_fun, init_val)`."""
    go, f, init = call.expression("cond_fun"), call.expression("body_fun"), _init_type(call, "init_val")
    if go is None or f is None or init is None:
        return UNKNOWN

    def after(carry: Type) -> Type:
        return add_brands(call.trial(f, [carry]), unique_brands(call.trial(go, [carry])))

    def wider(carry: Type) -> Type:
        return add_brands(carry, unique_brands(call.trial(go, [carry])))

    start = wider(init)
    carry = _carry_type(call, start, after) or start
    flag, out = get_proper_type(call.step(go, [carry])), call.step(f, [carry])
    if row_of(flag) is None and not hides_brands(flag) and not is_a(flag, "builtins.bool"):
        fix = "try:   return a scalar bool: use a comparison, .any() or .all()"
        return call.fail(CARRY, f"the condition is {call.show(flag)}, not a scalar bool", fix)
    return UNKNOWN if hides_brands(out) or _join_carry(call, carry, out) is None else carry


def map_(call: TransformCall) -> Type:
    """Return the type of `map(f, xs)`."""
    f, xs = call.expression("f"), call.with_axes("xs")
    if f is None or not call.are_tensors(xs, "xs", CARRY, numbers=False):
        return UNKNOWN
    if isinstance(get_proper_type(xs), NoneType):
        return call.fail(SIZE, "the number of steps is unknown", "try:   pass xs with a leading axis of steps")
    first, steps = tree_of(None, call.api), _step_axis(call)
    out = call.step(f, [steps.off(call.tensors(xs), first, "xs")])
    if not call.are_tensors(out, "the output", CARRY) or hides_brands(out):
        return UNKNOWN
    call.has_axes = True
    return steps.on(call.tensors(out), first)


def associative_scan(call: TransformCall) -> Type:
    """Return the type of `associative_scan(fn, elems)`."""
    f, elems = call.expression("fn"), call.type_of("elems")
    if f is None or not call.are_tensors(elems, "elems", CARRY, numbers=False):
        return UNKNOWN
    elems = call.tensors(elems)
    out = _carry_type(call, elems, lambda t: call.trial(f, [t, t])) or elems
    if hides_brands(result := call.result(f, [out, out])):
        return UNKNOWN
    both = join_trees(out, call.tensors(result))
    if both is None:
        notes = (
            f"takes: {call.show(out)}",
            f"returns: {call.show(result)}",
            "try:   return a pytree with the structure of the arguments",
        )
        return call.fail(CARRY, "the function returns another structure than it takes", *notes)
    return both


def cond(call: TransformCall) -> Type:
    """Return the type of `cond(pred, true_fun, false_fun, *operands)`."""
    names = ("true_fun", "false_fun")
    branches = [e for n in names if (e := call.expression(n)) is not None]
    return _branch_type(call, "pred", ("predicate", "str"), names, branches)


def switch(call: TransformCall) -> Type:
    """Return the type of `switch(index, branches, *operands)`."""
    expression = call.expression("branches")
    branches = list[Expression]()
    if isinstance(expression, ListExpr | TupleExpr):
        if not expression.items:
            return call.fail(CARRY, "there are no branches", "try:   pass a sequence of functions")
        branches = [e for item in expression.items for e in _entries(item, call.api)]
    elif expression is not None:
        branches = _entries(StarExpr(expression), call.api)
    indexed = [e for e in branches if isinstance(e, IndexExpr)]
    if any(is_a(call.api.get_expression_type(e), "builtins.function") for e in indexed):
        return UNKNOWN  # the common type of functions with different types
    return _branch_type(
        call, "index", ("index", "str float bool"), [f"branches[{i}]" for i in range(len(branches))], branches
    )


def _entries(e: Expression, api: TypeChecker) -> list[Expression]:
    """Return the branches that an entry of a list stands for: the function, or `fs[0]` for `*fs`."""
    if not isinstance(e, StarExpr):
        return [e]
    t = get_proper_type(api.get_expression_type(e.expr))
    is_sequence = isinstance(t, Instance) and t.type.fullname in CONTAINERS
    count = len(t.items) if isinstance(t, TupleType) else int(is_sequence)
    entries = list[Expression]()
    for i in range(count):
        entry = IndexExpr(e.expr, IntExpr(i))
        for node in (entry, entry.index):
            node.set_line(e.expr)
        entries.append(entry)
    return entries


def _branch_type(
    call: TransformCall, by: str, what: tuple[str, str], names: Sequence[str], branches: Sequence[Expression]
) -> Type:
    """Return the joined type of the branches, with the rows of the choice: each example selects its own branch."""
    choice, operands = get_proper_type(call.type_of(by)), call.types_of("operands", erases=False)
    kind, refused = what
    if isinstance(choice, NoneType | TupleType | CallableType) or any(
        is_a(choice, f"builtins.{n}") for n in refused.split()
    ):
        more = (
            ("try:   use cond for a bool, or .cast(dtypes.int32)",)
            if by == "index"
            else ("try:   return a scalar bool: use a comparison, .any() or .all()",)
        )
        return call.fail(CARRY, f"the {kind} is {call.show(choice)}, and must be a scalar for each example", *more)
    if operands is None or not branches:
        return UNKNOWN
    outs = [call.result(f, operands) for f in branches]
    if any(map(hides_brands, outs)):
        return UNKNOWN
    both: Type | None = call.tensors(outs[0])
    for name, out in zip(names, outs, strict=True):
        if not call.are_tensors(out, f"the result of {name}", CARRY):
            return UNKNOWN
        both = join_trees(both, call.tensors(out)) if both is not None else None
        if both is None:
            shown = f"{names[0]}: {call.show(outs[0])}", f"{name}: {call.show(out)}"
            return call.fail(
                CARRY,
                "the branches return different structures",
                *shown,
                "try:   return the same structure from each branch",
            )
    call.has_axes = all(_axes_in(out) == _axes_in(outs[0]) for out in outs)
    return add_brands(both, unique_brands(choice)) if both is not None else UNKNOWN


def _axes_in(t: Type) -> list[list[Type] | None]:
    return [axes_of(leaf) for _, leaf in tree_leaves(t, "")]


LOOPS: dict[str, Rule] = {
    "branded.control_flow.loops.scan": scan,
    "branded.control_flow.loops.fori_loop": fori_loop,
    "branded.control_flow.loops.while_loop": while_loop,
    "branded.control_flow.loops.map": map_,
    "branded.control_flow.associative_scan.associative_scan": associative_scan,
    "branded.control_flow.cond.cond": cond,
    "branded.control_flow.cond.switch": switch,
}
"""The rules of transforms that call their function immediately."""
