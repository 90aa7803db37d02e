"""The type `Axes[Users, Features]`: its representation in mypy, and its compatibility with other types.

It is an instance of the class `Axes` in vec.pyi, with a type argument for each axis. It is a gradual type:

- `Axes[A, B]` is accepted as a `Tensor`, and a `Tensor`, whose axes are unknown, is accepted as `Axes[A, B]`.
- `Axes[A, B]` is rejected as `Axes[B, A]` or `Axes[A]`.
- `Vec[S, Axes[A]]` is compatible with `Vec[S, Tensor]`, but not with `Vec[S, Axes[B]]`.

mypy follows these rules because `Tensor` is promoted to the class and the class to `Tensor`, as for `int` and `i64`. An
axis is a name (a subclass of `Brand` or a type variable), a length such as `Literal[3]`, or `Any`. Annotations write
`Any` as `int`. A rule that is not certain returns `Tensor`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mypy.messages import format_type_bare
from mypy.nodes import SymbolTableNode, TypeInfo
from mypy.plugin import AnalyzeTypeContext, ClassDefContext
from mypy.type_visitor import TypeQuery, TypeTranslator
from mypy.typeanal import TypeAnalyser
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    LiteralType,
    NoneType,
    TupleType,
    Type,
    TypeAliasType,
    TypeOfAny,
    TypeVarType,
    UninhabitedType,
    UnionType,
    UnpackType,
    get_proper_type,
)

from branded.mypy.codes import ERROR
from branded.mypy.rows.algebra import AXES, BRAND, TENSOR, UNKNOWN, VEC, is_row, vec_to_tensor
from branded.mypy.rows.brand_env import OpenBrands

ALIAS = "branded.core.axis_names.Axes"
SIZE = "branded, size "
"""The full name of an axis that is known by the variable of its length begins with this."""


def promote_tensor(ctx: ClassDefContext) -> None:
    """Promote Tensor to Axes and Axes to Tensor; mypy takes one step, so `Axes[A]` does not become `Axes[B]`."""
    symbol = ctx.api.lookup_fully_qualified_or_none(TENSOR)
    tensor, info = symbol.node if symbol is not None else None, ctx.cls.info
    if not isinstance(tensor, TypeInfo):
        return
    info.alt_promote = Instance(tensor, [])
    if not any(isinstance(p, Instance) and p.type.fullname == AXES for p in tensor._promote):
        anything = ctx.api.named_type("builtins.tuple", [AnyType(TypeOfAny.special_form)])
        tensor._promote.append(Instance(info, [UnpackType(anything)]))


def analyze_axes(ctx: AnalyzeTypeContext, lookup: Callable[[str], SymbolTableNode | None]) -> Type:
    """Analyze `Axes[Users, Features]` in an annotation."""
    t, api, symbol = ctx.type, ctx.api, lookup(AXES)
    assert isinstance(api, TypeAnalyser)
    if symbol is None or not isinstance(symbol.node, TypeInfo) or not (t.args or t.empty_tuple_index):
        return api.named_type(TENSOR, [])
    axes = [_declared_axis(a) for a in api.anal_array(t.args, allow_unpack=True)]
    for axis in filter(_is_not_axis, axes):
        kinds = "a subclass of Brand, a length such as Literal[3], or int for any axis"
        api.fail(f"Axes: {format_type_bare(axis, api.options)} is not an axis: {kinds}", ctx.context, code=ERROR)
        return api.named_type(TENSOR, [])
    return Instance(symbol.node, axes, t.line, t.column)


def _declared_axis(axis: Type) -> Type:
    """Return the axis of an annotation; `int` means any axis."""
    p = get_proper_type(axis)
    is_int = isinstance(p, Instance) and p.type.fullname == "builtins.int"
    return UNKNOWN if is_int or (isinstance(p, Instance) and p.type.fullname == BRAND) else axis


def _is_not_axis(axis: Type) -> bool:
    """Return whether this cannot be an axis. A class that mypy has not analyzed yet may be one."""
    t = get_proper_type(axis)
    if isinstance(t, LiteralType):
        return axis_length(t) is None
    if isinstance(t, Instance):
        return bool(t.type.mro) and not is_named(t)
    return isinstance(t, NoneType | TupleType | UnionType | CallableType)


def axes_of(t: Type) -> list[Type] | None:
    """Return the axes of a tensor; None if they are unknown."""
    t = get_proper_type(t)
    if isinstance(t, Instance) and t.type.fullname == VEC and len(t.args) == 2:
        t = get_proper_type(t.args[1])
    if isinstance(t, Instance) and t.type.fullname == AXES and not any(isinstance(a, UnpackType) for a in t.args):
        return list(t.args)
    return None


def with_axes(t: Type, axes: Sequence[Type] | None, scope: OpenBrands) -> Type:
    """Return a tensor type with these axes and the same row; with None the axes are unknown."""
    t = get_proper_type(t)
    tensor = scope.instance(TENSOR) if axes is None else scope.instance(AXES, *axes)
    if isinstance(t, Instance) and t.type.fullname in (TENSOR, AXES):
        return tensor
    if isinstance(t, Instance) and t.type.fullname == VEC:
        return vec_to_tensor(t.copy_modified(args=[t.args[0], tensor]))
    return t


class _HasAxes(TypeQuery[bool]):
    def strategy(self, items: list[bool]) -> bool:
        return any(items)

    def visit_instance(self, t: Instance) -> bool:
        return t.type.fullname == AXES or super().visit_instance(t)


def has_axes(t: Type) -> bool:
    """Return whether a type contains Axes.

    Most types here are classes and unions of classes, for which the slower visitor is not needed.
    """
    if isinstance(t, Instance):
        name, args = t.type.fullname, t.args
        if name == VEC and args:
            return has_axes(args[-1])  # a row contains no Axes
        return name == AXES or (bool(args) and any(map(has_axes, args)))
    if isinstance(t, UnionType):
        return any(map(has_axes, t.items))
    return not (isinstance(t, AnyType | NoneType | UninhabitedType) or is_row(t)) and t.accept(_HasAxes())


class _Erased(TypeTranslator):
    def __init__(self, scope: OpenBrands) -> None:
        super().__init__()
        self.scope = scope

    def visit_instance(self, t: Instance) -> Type:
        if t.type.fullname == AXES:
            return self.scope.instance(TENSOR)
        result = super().visit_instance(t)
        return vec_to_tensor(result) if isinstance(result, Instance) else result

    def visit_type_alias_type(self, t: TypeAliasType) -> Type:
        return t.copy_modified(args=[a.accept(self) for a in t.args])


def erase_axes(t: Type, scope: OpenBrands) -> Type:
    """Return the type with each Axes replaced by Tensor."""
    return t.accept(_Erased(scope)) if has_axes(t) else t


def is_named(axis: Type) -> bool:
    t = get_proper_type(axis)
    if isinstance(t, TypeVarType):
        return not is_size(t)
    return isinstance(t, Instance) and t.type.fullname != BRAND and any(c.fullname == BRAND for c in t.type.mro)


def is_size(axis: Type) -> bool:
    """Return whether an axis is known by the variable of its length only, as in `Tensor.zeros(n_users)`."""
    return isinstance(axis, TypeVarType) and axis.fullname.startswith(SIZE)


def is_variable(axis: Type) -> bool:
    """Return whether an axis is a type variable of a function, which stands for any axis."""
    return isinstance(get_proper_type(axis), TypeVarType)


def axis_length(axis: Type) -> int | None:
    """Return the length of an axis given as a literal; None for other axes."""
    t = get_proper_type(axis)
    if isinstance(t, LiteralType) and isinstance(t.value, int) and not isinstance(t.value, bool):
        return t.value
    return None


def known_length(axis: Type) -> int | None:
    """Return the length of a literal axis, or of a named axis whose length is known too."""
    t = get_proper_type(axis)
    return axis_length(t.last_known_value if isinstance(t, Instance) and t.last_known_value else t)


def is_any(axis: Type) -> bool:
    return isinstance(get_proper_type(axis), AnyType)


def of_length(n: int, scope: OpenBrands) -> Type:
    return LiteralType(n, scope.instance("builtins.int"))


def unify_axes(a: Type, b: Type) -> Type | None:
    """Return the axis that `a` and `b` both denote; None if they cannot be the same axis."""
    if is_named(a) and is_named(b):
        return _unify_names(a, b)
    if (n := axis_length(a)) is not None and (m := axis_length(b)) is not None:
        return a if n == m else None
    if is_size(a) and is_size(b):
        return a if a == b else UNKNOWN
    if (n := known_length(a)) is not None and (m := known_length(b)) is not None and n != m:
        return None
    for is_known in (is_named, lambda x: axis_length(x) is not None, is_size):
        if (known := next((x for x in (a, b) if is_known(x)), None)) is not None:
            return known
    return UNKNOWN


def broadcast_axis(a: Type, b: Type) -> Type | None:
    """Return the axis of `a + b`, where length 1 is broadcast; None if the axes are incompatible.

    A named axis with an unnamed one gives an unknown axis, since either may have length 1.
    """
    if axis_length(a) == 1 or axis_length(b) == 1:
        return b if axis_length(a) == 1 else a
    if is_named(a) != is_named(b) and (n := known_length(a)) is not None and (m := known_length(b)) is not None:
        named, other = (a, b) if is_named(a) else (b, a)
        return named if n == m else other if known_length(named) == 1 else None
    if is_named(a) != is_named(b) or (is_size(a) != is_size(b) and is_any(a) != is_any(b)):
        return UNKNOWN
    return unify_axes(a, b)


def _unify_names(a: Type, b: Type) -> Type | None:
    p, q = get_proper_type(a), get_proper_type(b)
    if p == q:
        return a
    if isinstance(p, Instance) and isinstance(q, Instance) and p.type is q.type:  # one has a known length
        n, m = known_length(p), known_length(q)
        return None if n is not None and m is not None else a if n is not None else b
    if isinstance(p, Instance) and isinstance(q, Instance) and (p.type in q.type.mro or q.type in p.type.mro):
        return UNKNOWN
    return None
