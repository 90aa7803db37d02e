"""Methods and operators of tensors on abstract values, by the rules in the folder `axes`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mypy.errorcodes import ErrorCode
from mypy.nodes import (
    ARG_NAMED,
    ARG_POS,
    ARG_STAR,
    ARG_STAR2,
    CallExpr,
    Context,
    Decorator,
    Expression,
    FuncDef,
    OverloadedFuncDef,
)
from mypy.types import AnyType, CallableType, Instance, NoneType, TupleType, Type, TypeOfAny

from branded.mypy.analysis.caches import new_cache
from branded.mypy.axes import table
from branded.mypy.axes.calls import Axes, Known, MethodCall
from branded.mypy.axes.rules import broadcast_operands
from branded.mypy.axes.types import axis_length, known_length
from branded.mypy.codes import ERROR, SHAPE
from branded.mypy.rows.algebra import AXES, TENSOR, VEC
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS
from branded.mypy.shapes.axes import format_axes, format_axis
from branded.mypy.shapes.brands import READS, UNBATCHED, check_read
from branded.mypy.shapes.rules import dtypes, resized
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import (
    NUMBER,
    UNKNOWN,
    Const,
    Fact,
    LibraryName,
    Number,
    Shaped,
    Size,
    Tuple,
    add_brands,
    as_number,
    brands_of,
    forget,
    is_any_axis,
    is_int,
    size_of,
)

_OPERATORS = {symbol: name for name, symbol in table.SYMBOLS.items()}
_REDUCED = {"all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var"}
"""Methods that return a scalar if no axis is given."""
_OF_SEVERAL = {"chunk", "qr", "sort", "split", "svd", "topk"}
_OF_NUMPY = {"astype": "cast", "copy": "clone"}


@dataclass(eq=False, repr=False, match_args=False)
class FollowedCall(MethodCall):
    """A call of a method whose arguments have abstract values."""

    run: FileState | None = None

    def value(self, e: Expression | None) -> Fact:
        assert self.run is not None
        with self.run.maybe():
            return self.run.evaluate(e)

    def literal(self, e: Expression | None) -> int | None:
        return as_number(self.value(e)) if e is not None else None

    def type_of(self, e: Expression) -> Type:
        assert self.run is not None
        return as_type(self.run, self.value(e))

    def is_size(self, e: Expression) -> bool:
        return is_int(self.value(e))

    def flag(self, name: str) -> bool | None:
        if not self.is_given(name):
            return False
        value = self.value(self.expression(name))
        return bool(value.value) if isinstance(value, Const) else None

    def text(self, name: str) -> str | None:
        value = self.value(self.expression(name)) if self.is_given(name) else None
        return value.value if isinstance(value, Const) and isinstance(value.value, str) else None

    def fail(self, code: ErrorCode, message: str, *notes: str) -> None:
        assert self.run is not None
        self.run.report(self.at, SHAPE if code is ERROR else code, f"{self.what}: {message}", *notes)

    def show(self, t: Type) -> str:
        args = t.args if isinstance(t, Instance) and t.type.fullname == AXES else None
        return f"shape {format_axes(args)}" if args is not None else "a number"

    def shown(self, axis: Type) -> str:
        return f"`{format_axis(axis)}`"


def as_type(run: FileState, value: Fact) -> Type:
    """Return the type of a value, with the axes of tensors."""
    scope = run.scope
    match value:
        case Shaped():
            return scope.instance(TENSOR) if value.axes is None else scope.instance(AXES, *value.axes)
        case Const():
            if value.value is None:
                return NoneType()
            if isinstance(value.value, bool | int | float):
                return scope.instance(f"builtins.{type(value.value).__name__}")
        case Size():
            return scope.instance("builtins.int")
        case Number():
            return scope.instance("builtins.float")
        case Tuple():
            items = [as_type(run, i) for i in value.items]
            return TupleType(items, scope.instance("builtins.tuple", AnyType(TypeOfAny.special_form)))
    return AnyType(TypeOfAny.special_form)


def attribute(run: FileState, base: Shaped, name: str, at: Context) -> Fact:
    """Return the abstract value of an attribute of a tensor."""
    if name == "shape":
        return UNKNOWN if base.axes is None else Tuple(tuple(map(size_of, base.axes)))
    if name == "ndim":
        return Size() if base.axes is None else Const(len(base.axes))
    if name == "T":
        return add_brands(method(run, at, base, "transpose", {}), base.brands)
    return LibraryName(name, base)


def binary(run: FileState, at: Context, op: str, left: Fact, right: Fact, a: Expression, b: Expression) -> Fact:
    """Return the value of a binary operator with at least one tensor."""
    name = _OPERATORS.get(op)
    if name is None:
        return UNKNOWN
    own, other, e = (left, right, b) if isinstance(left, Shaped) else (right, left, a)
    brands = brands_of(left) | brands_of(right)
    if op == "@" and not isinstance(left, Shaped):
        return Shaped(None, brands)
    assert isinstance(own, Shaped)
    dtypes.check(run, name, at, left, right)
    result = method(run, at, own, f"__{name}__", {"x": [(e, other)]})
    return add_brands(dtypes.with_dtype(result, dtypes.result_dtype(name, left, right)), brands)


def method(
    run: FileState, at: Context, own: Shaped, name: str, values: dict[str, list[tuple[Expression, Fact]]],
    starred: bool = False,
) -> Fact:  # fmt: skip
    """Return the result of a method of a tensor; `values` has the arguments by parameter name."""
    rule = table.METHODS.get(name)
    if rule is None:
        return UNKNOWN
    if own.axes is None and name in _REDUCED and not values and not run.declared_only:
        return Shaped(())
    result: Known | list[Known] = None
    key = _key_of(own, name, values) if own.axes is not None else None
    if key in _known:
        return _known[key]
    if own.axes is not None or name == "gather":
        given = {k: [(e, as_type(run, v)) for e, v in actuals] for k, actuals in values.items()}
        what, self_type = table.method_label(name), as_type(run, own)
        call = FollowedCall(what, at, None, run.scope, self_type, given, starred, run)  # type: ignore[arg-type]
        result = _exact_length(call, name, rule(call))
    if name in ("sort", "var_mean", "std_mean", "cummax", "cummin"):
        each = result if isinstance(result, list) else [None, None]
        return Tuple(tuple(Shaped(tuple(a)) if isinstance(a, list) else Shaped() for a in each))
    if result is None:
        return Shaped()
    value = Shaped(tuple(a for a in result if isinstance(a, Type)))
    if key is not None:
        _known[key] = value
    return value


_known: dict[tuple[object, ...] | None, Fact] = new_cache()
"""The results without mistakes that depend on the axes of the operands alone."""


def _key_of(own: Shaped, name: str, values: dict[str, list[tuple[Expression, Fact]]]) -> tuple[object, ...] | None:
    """Return the key of a call without arguments, or of an operator with one operand; None for other calls."""
    if not values:
        return own.axes, name
    if table.METHODS[name] is not broadcast_operands or [*values] != ["x"] or len(values["x"]) > 1:
        return None
    other = values["x"][0][1]
    if isinstance(other, Shaped):
        return own.axes, name, other.axes
    if isinstance(other, Const):
        return own.axes, name, type(other.value)
    return (own.axes, name, type(other)) if isinstance(other, Size | Number) or other is UNKNOWN else None


def _exact_length(call: FollowedCall, name: str, result: Known | list[Known]) -> Known | list[Known]:
    """Compute lengths in a result that are known only if all lengths are ints, as for `x.reshape(-1, 2)`."""
    axes = call.own
    if result is None or axes is None or any(isinstance(a, list) or a is None for a in result):
        return result
    one: Axes = [a for a in result if isinstance(a, Type)]
    lengths = [known_length(a) for a in axes]
    if name == "cat" and not call.starred:
        return _joined_length(call, one, axes)
    if name in ("reshape", "view") and None not in lengths:
        total = math.prod(n for n in lengths if n is not None)
        unknown = [i for i, a in enumerate(one) if is_any_axis(a)]
        rest = math.prod(axis_length(a) or 0 for i, a in enumerate(one) if i not in unknown)
        minus = _has_minus_one(call)
        assert call.run is not None
        if len(unknown) == 1 and minus and rest and total % rest == 0:
            one[unknown[0]] = call.run.length(total // rest)
        elif (not unknown and rest != total) or (len(unknown) == 1 and minus and rest and total % rest):
            given = f"{total} {'entry' if total == 1 else 'entries'}"
            call.fail(SHAPE, f"a tensor of {given} does not fit", f"value: {call.show(call.self_type or ANY_AXIS)}")
            return None
    return one


def _joined_length(call: FollowedCall, result: Axes, axes: Axes) -> Known:
    """Return the axes of `x.cat(y)`; the joined axis has the sum of the lengths, if all of them are known."""
    joined = [i for i, a in enumerate(result) if is_any_axis(a)]
    operands = [axes, *(t.args for t in call.types("args") if isinstance(t, Instance) and t.type.fullname == AXES)]
    if len(joined) == 1 and len(operands) == 1 + len(call.types("args")):
        lengths = [known_length(a[joined[0]]) for a in operands]
        assert call.run is not None
        if None not in lengths:
            result[joined[0]] = call.run.length(sum(n for n in lengths if n is not None))
    return [*result]


def _has_minus_one(call: FollowedCall) -> bool:
    return any(call.literal(e) == -1 for e in call.entries("shape") or [])


def call_method(run: FileState, own: Shaped, name: str, at: Context, given: Sequence[Fact]) -> Fact:
    """Return the result of `x.name(...)`; `given` has the arguments if these are of the call `at`."""
    if not isinstance(at, CallExpr):
        return UNKNOWN
    name = _OF_NUMPY.get(name, name)
    values = dict(enumerate(given if len(given) == len(at.args) else map(run.evaluate, at.args)))
    if name in READS and own.brands:
        check_read(run, own, name, at)
        return UNKNOWN
    brands = own.brands.union(*map(brands_of, values.values())) if name not in UNBATCHED else frozenset()
    operands = [own, *(values[i] for i, n in enumerate(at.arg_names) if n != "dim")]
    dtypes.check(run, name, at, *operands)
    named = next((values[i] for i, n in enumerate(at.arg_names) if n == "dtype"), None)
    dtype = dtypes.result_dtype(name, *operands) if named is None else dtypes.named_dtype(named)
    return add_brands(dtypes.with_dtype(_of_method(run, Shaped(own.axes), name, at, values), dtype), brands)


def _of_method(run: FileState, own: Shaped, name: str, at: CallExpr, values: dict[int, Fact]) -> Fact:
    if name in ("numpy", "replace", "requires_grad_", "assign", "backward", "realize", "__array__"):
        return own
    if name == "size":
        d = as_number(values.get(0))
        if own.axes is None:
            return UNKNOWN
        return size_of(own.axes[d]) if d is not None and -len(own.axes) <= d < len(own.axes) else UNKNOWN
    if name in ("item", "tolist", "numel", "nbytes"):
        lengths = [known_length(a) for a in own.axes or ()]
        if name == "item" and not run.inside and any(n is not None and n != 1 for n in lengths):
            run.report(at, SHAPE, f"item: the shape is {format_axes(own.axes or ())}, and item reads one element")
        return NUMBER if name == "item" else UNKNOWN
    if name in resized.LEAST and not resized.has_enough_axes(run, own, name, at):
        return UNKNOWN if name in _OF_SEVERAL else Shaped()
    callee = getattr(at.callee, "name", "")
    if (result := resized.method_result(run, own, name, at, values)) is not None:
        return result
    if name in table.METHODS:
        given = by_parameter(run, name, at, values) if values else {}
        starred = any(k in (ARG_STAR, ARG_STAR2) for k in at.arg_kinds)
        return method(run, at, own, name, given, starred) if given is not None else Shaped()
    for value in values.values():
        forget(value)
    info = run.scope.instance(TENSOR).type
    found = info.get(callee)
    return Shaped() if found is not None else UNKNOWN


def by_parameter(
    run: FileState, name: str, at: CallExpr, values: dict[int, Fact]
) -> dict[str, list[tuple[Expression, Fact]]] | None:
    """Return the arguments of a call by parameter name; None if they do not fit."""
    symbol = run.scope.instance(VEC).type.get(name)
    node = symbol.node if symbol is not None else None
    node = node.items[0] if isinstance(node, OverloadedFuncDef) and node.items else node
    node = node.func if isinstance(node, Decorator) else node
    t = node.type if isinstance(node, FuncDef) else None
    if not isinstance(t, CallableType):
        return None
    names, kinds = t.arg_names[1:], t.arg_kinds[1:]
    positional = [(n, k) for n, k in zip(names, kinds, strict=True) if k.is_positional() or k == ARG_STAR]
    given: dict[str, list[tuple[Expression, Fact]]] = {}
    i = 0
    for j, (e, kind, keyword) in enumerate(zip(at.args, at.arg_kinds, at.arg_names, strict=True)):
        if kind in (ARG_POS, ARG_STAR):
            if i >= len(positional):
                return None
            parameter, parameter_kind = positional[i]
            i += parameter_kind != ARG_STAR
            given.setdefault(parameter or "x", []).append((e, values[j]))
        elif kind == ARG_NAMED and keyword is not None:
            given.setdefault(keyword, []).append((e, values[j]))
    return given
