"""Axes of operations that move axes, and of indexing."""

from __future__ import annotations

from mypy.nodes import ComparisonExpr, EllipsisExpr, Expression, ListExpr, NameExpr, SliceExpr, TupleExpr
from mypy.types import Instance, NoneType, Type, get_proper_type

from branded.mypy.axes.calls import Axes, Known, MethodCall, axes_of_operand, is_single_entry
from branded.mypy.axes.rules import length_text, literal_position
from branded.mypy.axes.types import axis_length, is_named, known_length, of_length, unify_axes
from branded.mypy.codes import ERROR
from branded.mypy.rows.algebra import UNKNOWN


def _value_note(call: MethodCall) -> list[str]:
    return [f"value: {call.show(call.self_type)}"] if call.self_type is not None else []


def transpose_axes(call: MethodCall) -> Known:
    """Return the axes of `x.transpose(dim0=1, dim1=0)`."""
    axes = call.own
    if axes is None:
        return None
    if len(axes) < 2 and not (call.is_given("dim0") or call.is_given("dim1")):
        call.fail(ERROR, f"a tensor with {length_text(axes)} has no two axes to swap", *_value_note(call))
        return None
    i, j = (literal_position(call, call.number(n, d), axes) for n, d in (("dim0", 1), ("dim1", 0)))
    if i is None or j is None or not axes:
        return None
    axes[i], axes[j] = axes[j], axes[i]
    return axes


def permute_axes(call: MethodCall) -> Known:
    """Return the axes of `x.permute(order)`."""
    axes, order = call.own, call.entries("order")
    if axes is None or order is None:
        return None
    numbers = [call.literal(e) for e in order]
    if None in numbers:
        return None
    if len(numbers) != len(axes):
        call.fail(
            ERROR,
            f"{length_text(numbers, 'position', 'positions')} for a tensor with {length_text(axes)}",
            *_value_note(call),
        )
        return None
    dims = [literal_position(call, n, axes) for n in numbers]
    return [axes[i] for i in dims if i is not None] if None not in dims and len(set(dims)) == len(dims) else None


def unsqueeze_axes(call: MethodCall) -> Known:
    """Return the axes of `x.unsqueeze(dim)`."""
    axes = call.own
    if axes is None or (position := literal_position(call, call.number("dim", 0), axes, more=1)) is None:
        return None
    return [*axes[:position], of_length(1, call.scope), *axes[position:]]


def squeeze_axes(call: MethodCall) -> Known:
    """Return the axes of `x.squeeze(dim)`, which removes an axis of length 1."""
    axes = call.own
    if axes is None or not call.is_given("dim"):
        return None
    position = literal_position(call, call.number("dim", 0), axes)
    if position is None or not axes or axis_length(axes[position]) is None:
        return None
    return axes[:position] + axes[position + 1 :] if axis_length(axes[position]) == 1 else axes


def expand_axes(call: MethodCall) -> Known:
    """Return the axes of `x.expand(shape)`; -1 keeps an axis."""
    axes, shape = call.own, call.entries("shape")
    if axes is None or shape is None:
        return None
    if len(shape) < len(axes):
        call.fail(
            ERROR,
            f"{length_text(shape, 'length', 'lengths')} for a tensor with {length_text(axes)}",
            *_value_note(call),
        )
        return None
    olds = [of_length(1, call.scope)] * (len(shape) - len(axes)) + axes
    return [_expand_axis(call, a, call.literal(e)) for a, e in zip(olds, shape, strict=True)]


def _expand_axis(call: MethodCall, axis: Type, n: int | None) -> Type:
    if n == -1:
        return axis
    return of_length(n, call.scope) if n is not None and axis_length(axis) is not None else UNKNOWN


def reshape_axes(call: MethodCall) -> Known:
    """Return the axes of `x.reshape(shape)`: one axis for each length."""
    shape = call.entries("shape")
    return None if shape is None or call.own is None else [_axis_of_length(call, call.literal(e)) for e in shape]


def _axis_of_length(call: MethodCall, n: int | None) -> Type:
    return of_length(n, call.scope) if n is not None and n >= 0 else UNKNOWN


def flatten_axes(call: MethodCall) -> Known:
    """Return the axes of `x.flatten()`."""
    return [UNKNOWN] if call.own is not None and not call.given and len(call.own) > 1 else None


def one_hot_axes(call: MethodCall) -> Known:
    """Return the axes of `x.one_hot(n)`: one more axis of length n."""
    axes, n = call.own, call.number("num_classes", -1)
    return None if axes is None else [*axes, _axis_of_length(call, n)]


def gather_axes(call: MethodCall) -> Known:
    """Return the axes of `x.gather(dim, index)`: the axes of `index`."""
    index = call.axes("index")
    if call.own is not None and index is not None and len(index) != len(call.own):
        needed = f"the tensor has {length_text(call.own)}, and the index {length_text(index)}"
        call.fail(ERROR, needed, "try:   use an index with as many axes")
        return None
    return index


def stack_axes(call: MethodCall) -> Known:
    """Return the axes of `x.stack(y, dim=0)`: a new axis, as long as the number of tensors."""
    axes = _common_axes(call, None)
    if axes is None or (position := literal_position(call, call.number("dim", 0), axes, more=1)) is None:
        return None
    n = 1 + len(call.types("args"))
    new = UNKNOWN if call.starred else of_length(n, call.scope)
    return [*axes[:position], new, *axes[position:]]


def cat_axes(call: MethodCall) -> Known:
    """Return the axes of `x.cat(y, dim=0)`: the length of axis `dim` is the sum of the lengths."""
    if call.own is None or (position := literal_position(call, call.number("dim", 0), call.own)) is None:
        return None
    axes = _common_axes(call, position)
    if axes is not None and axes and call.types("args"):
        axes[position] = UNKNOWN
    return axes


def _common_axes(call: MethodCall, but: int | None) -> Known:
    """Return the common axes of tensors that must have the same shape, except along axis `but`."""
    axes = call.own
    for t in call.types("args"):
        other = axes_of_operand(t)
        if axes is None or other is None:
            return None
        sides = f"left:  {call.show(call.self_type or UNKNOWN)}", f"right: {call.show(t)}"
        if len(axes) != len(other):
            call.fail(ERROR, f"{length_text(axes)} and {length_text(other)}", *sides)
            return None
        for i, (a, b) in enumerate(zip(axes, other, strict=True)):
            common_axis = UNKNOWN if i == but else unify_axes(a, b)
            if common_axis is None:
                call.fail(ERROR, f"{call.shown(a)} differs from {call.shown(b)} at axis {i}", *sides)
                return None
            axes[i] = a if i == but else common_axis
    return axes


def index_axes(call: MethodCall) -> Known:
    """Return the axes of `x[0, :, None]`: an int removes an axis, a slice keeps it, None inserts one."""
    axes, e = call.own, call.expression("indices")
    if axes is None or e is None or (isinstance(e, ListExpr) and not _are_numbers(call, e)):
        return None  # tinygrad treats a list of lists as a tuple
    entries: list[Expression] = list(e.items) if isinstance(e, TupleExpr) else [e]
    if any(not is_single_entry(i) for i in entries) or sum(isinstance(i, EllipsisExpr) for i in entries) > 1:
        return None
    indices = [i for i in entries if not (isinstance(i, EllipsisExpr) or _is_none(i))]
    if len(indices) > len(axes):
        if any(isinstance(i, ComparisonExpr) for i in indices):
            return None  # a mask has as many axes as it indexes
        wrong = f"{length_text(indices, 'index', 'indices')} for a tensor with {length_text(axes)}"
        call.fail(ERROR, wrong, *_value_note(call))
        return None
    if not any(isinstance(i, EllipsisExpr) for i in entries):
        entries = [*entries, EllipsisExpr()]
    return _index_entries(call, axes, entries, len(axes) - len(indices))


def iterate_axes(call: MethodCall) -> Known:
    """Return the axes of a row in `for row in x`: all axes but the first."""
    return call.own[1:] if call.own else None


def _index_entries(call: MethodCall, axes: Axes, entries: list[Expression], rest: int) -> Known:
    remaining, result_axes, tensors = list(axes), [], 0
    for e in entries:
        if isinstance(e, EllipsisExpr):
            result_axes += remaining[:rest]
            del remaining[:rest]
        elif _is_none(e):
            result_axes.append(of_length(1, call.scope))
        else:
            axis = remaining.pop(0)
            one = _index_entry(call, axis, e)
            if one is None:
                return None
            tensors += not (isinstance(e, SliceExpr) or one == [])
            result_axes += one
    return result_axes if tensors < 2 else None


def _index_entry(call: MethodCall, axis: Type, e: Expression) -> Known:
    """Return the axes that an index makes of one axis."""
    if isinstance(e, SliceExpr):
        bounds = [None if b is None or _is_none(b) else b for b in (e.begin_index, e.end_index, e.stride)]
        if not any(bounds):
            return [axis]
        numbers, n = [call.literal(b) for b in bounds], axis_length(axis)
        if (
            n is None
            or 0 in numbers[2:]
            or any(b is not None and i is None for b, i in zip(bounds, numbers, strict=True))
        ):
            return [UNKNOWN]
        return [of_length(len(range(n)[slice(*numbers)]), call.scope)]
    if isinstance(e, ListExpr):
        return [UNKNOWN] if _are_numbers(call, e) else None
    t = get_proper_type(call.type_of(e))
    if isinstance(t, NoneType):  # inserts an axis
        return None
    if isinstance(t, Instance) and t.type.fullname in ("builtins.int", "tinygrad.uop.ops.UOp"):
        i, n = call.literal(e), known_length(axis)
        if i is not None and n is not None and not -n <= i < n:
            wrong = f"index {i} is out of bounds for an axis of {n} {'entry' if n == 1 else 'entries'}"
            call.fail(ERROR, wrong, *_value_note(call))
            return None
        return []
    axes = axes_of_operand(t)
    if axes is not None and any(map(is_named, axes)) and len(axes) > 1:
        return None  # a mask consumes one axis for each of its own
    return axes


def _are_numbers(call: MethodCall, e: ListExpr) -> bool:
    types = [get_proper_type(call.type_of(i)) for i in e.items]
    return all(isinstance(t, Instance) and t.type.fullname == "builtins.int" for t in types)


def _is_none(e: Expression) -> bool:
    return isinstance(e, NameExpr) and e.name == "None"
