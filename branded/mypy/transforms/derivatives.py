"""Derivatives: `grad(f)(x)` has the tree of `x`, and the rows of everything that `f(x)` depends on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mypy.checker import TypeChecker
from mypy.erasetype import remove_instance_last_known_values
from mypy.nodes import (
    ARG_POS,
    ARG_STAR,
    ARG_STAR2,
    CallExpr,
    Context,
    Expression,
    IntExpr,
    ListExpr,
    TupleExpr,
    UnaryExpr,
)
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    NoneType,
    Overloaded,
    TupleType,
    Type,
    TypedDictType,
    TypeOfAny,
    UnionType,
    get_proper_type,
)

from branded.mypy.axes.types import erase_axes
from branded.mypy.codes import DERIVATIVE, ERROR
from branded.mypy.rows.algebra import (
    ARRAY,
    CONTAINERS,
    TENSOR,
    UNKNOWN,
    Brand,
    add_brands,
    change,
    hides_brands,
    is_recursive,
    keep_row,
    row_of,
)
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.rows.callables import Arg, formal_of_each, overload_plain, signatures_of, type_for
from branded.mypy.rows.leaves import replace_leaves
from branded.mypy.rows.reporting import add_errors, fail, show, trying
from branded.mypy.transforms import function_calls
from branded.mypy.transforms.example_call import called_function
from branded.mypy.transforms.function_calls import Rule, TransformCall, join_trees, result_type, unique_brands
from branded.mypy.transforms.in_axes import plural, tuple_type

API, JACOBIANS = "branded.autodiff.api", "branded.autodiff.jacobians"
LATER = {
    **{f"{API}.{n}": n for n in ("grad", "value_and_grad")},
    **{f"{JACOBIANS}.{n}": n for n in ("jacfwd", "jacrev", "hessian")},
}
"""The transforms that return a function."""

FLOATS = {"builtins.float", ARRAY}


@dataclass(eq=False, repr=False, match_args=False)
class Derivative:
    """A use of a derivative: its position and options."""

    what: str
    at: Context
    api: TypeChecker
    scope: OpenBrands
    argnums: list[int] | int | None = 0
    has_aux: bool | None = False

    @classmethod
    def of(cls, call: TransformCall) -> Derivative:
        """Read the options of `grad(f, argnums, has_aux)`."""
        e = call.expression("argnums")
        return cls(call.what, call.at, call.api, call.scope, argnums_of(e) if e else 0, call.is_true("has_aux"))

    def fail(self, message: str, *notes: str) -> Type:
        fail(self.api, self.at, DERIVATIVE, f"{self.what}: {message}", *notes)
        return AnyType(TypeOfAny.from_error)

    def apply(self, f: Expression, args: list[Arg], exact: bool = True) -> Type:
        """Return the type of `grad(f, …)(*args)`."""
        starred = any(a.kind in (ARG_STAR, ARG_STAR2) for a in args)
        positional = [a.type for a in args if a.kind == ARG_POS]
        places = None if starred else self._places(len(positional))
        if places is not None and not self._are_floats([positional[i] for i in places], places):
            return AnyType(TypeOfAny.from_error)
        crossed = len(self.scope.crossed)
        leaves = [args[i]._replace(type=self._leaf(a.type)) if i in (places or ()) else a for i, a in enumerate(args)]
        function = called_function(f, [a.type for a in leaves], leaves, self.at, self.scope, self.api)
        inside = result_type(function, leaves, self.at, self.api, [a.type for a in args])
        rows = [b for a in args for b in unique_brands(a.type)] + self.scope.crossed[crossed:]
        if isinstance(p := get_proper_type(inside), AnyType) and p.type_of_any == TypeOfAny.from_error:
            return inside
        if hides_brands(inside) and not any(hides_brands(a.type) for a in args):
            type_text = show(inside, self.api)
            note = f'{self.what}: the function returns "{type_text}" here, so its result is not checked'
            self.api.note(note, self.at, code=ERROR)
        if places is None or hides_brands(inside):
            return UNKNOWN
        return self.result(inside, [positional[i] for i in places], rows)

    def generic(self, f: Type) -> Type:
        """Return the type of `grad(f)`: a function with the parameters of `f` that returns the derivative."""
        items = signatures_of(f, self.api)
        overloads = []
        for item in items:
            with trying(self.api) as errors:
                one = self._generic(item)
            if one is not None and not errors.has_new_errors():
                overloads += one.items
            elif len(items) == 1:
                add_errors(self.api, errors.filtered_errors())
                return AnyType(TypeOfAny.from_error)
        if not items and not isinstance(get_proper_type(f), AnyType):
            return self.fail(f'"{show(f, self.api)}" is not a function', f"try:   {self.what}(f)(x)")
        if len(overloads) == 1:
            return overloads[0]
        return Overloaded(overloads) if overloads else UNKNOWN

    def _generic(self, f: CallableType) -> FunctionLike | None:
        types = [t for t, k in zip(f.arg_types, f.arg_kinds, strict=True) if k.is_positional() or k == ARG_STAR]
        if any(k in (ARG_STAR, ARG_STAR2) for k in f.arg_kinds):
            return f.copy_modified(ret_type=UNKNOWN)
        places = self._places(len(types))
        if places is None or hides_brands(f.ret_type):
            return f.copy_modified(ret_type=UNKNOWN)
        if not self._are_floats([types[i] for i in places], places):
            return None
        result = self.result(f.ret_type, [types[i] for i in places], [b for t in f.arg_types for b in unique_brands(t)])
        return overload_plain(f.copy_modified(ret_type=result))

    def _places(self, n: int) -> list[int] | None:
        """Return the positions to differentiate with respect to; None if they are unknown."""
        nums = self.argnums
        positions = [nums] if isinstance(nums, int) else nums
        if positions is None:
            return None
        if any(not -n <= i < n for i in positions):
            text = nums if isinstance(nums, int) else f"({', '.join(map(str, positions))}{',' * (len(positions) == 1)})"
            given = plural(n, "positional argument", "positional arguments")
            wrong = f"argnums={text} is out of range for a call with {given}"
            self.fail(wrong, "try:   give positions of arguments, counted from 0: argnums=0")
            return None
        return [i % n for i in positions]

    def _are_floats(self, types: Sequence[Type], places: Sequence[int]) -> bool:
        for t, i in zip(types, places, strict=True):
            for where, what in not_floats(t, f"argument {i + 1}"):
                self.fail(
                    f"{where} is {what}, and only floats have derivatives",
                    "try:   use a float tensor or a float, or another position in argnums",
                )
                return False
        return True

    def _leaf(self, t: Type) -> Type:
        """Return the type that the function receives for an argument: floats and arrays become tensors."""
        return change(t, keep_row, UNKNOWN, replace_leaves(self.scope.instance(TENSOR), FLOATS))

    def result(self, inside: Type, wrt: Sequence[Type], rows: Sequence[Brand]) -> Type:
        """Return the derivative of a function whose result has the type `inside`."""
        if (parts := split_aux(self, remove_instance_last_known_values(inside), self.has_aux)) is None:
            return UNKNOWN
        value, aux = parts
        if not self._has_derivative(value):
            return AnyType(TypeOfAny.from_error)
        value = self._tensors(value)
        over = list(dict.fromkeys([*rows, *unique_brands(value)]))
        parts_of = [add_brands(self._leaf(t), over) for t in wrt]
        one = parts_of[0] if isinstance(self.argnums, int) else self._tuple(parts_of)
        match self.what:
            case "grad":
                return one if aux is None else self._tuple([one, aux])
            case "value_and_grad":
                return self._tuple([value if aux is None else self._tuple([value, aux]), one])
        one = erase_axes(one, self.scope)  # a Jacobian also has the axes of the value
        derived = _each_leaf(value, one)
        if self.what == "hessian":
            derived = _each_leaf(derived, one)
        return derived if aux is None else self._tuple([derived, aux])

    def _has_derivative(self, value: Type) -> bool:
        """Return whether a result can be differentiated; report an error if not."""
        if self.what not in ("grad", "value_and_grad"):
            for where, kind in function_calls.non_tensors(value, "the result"):
                self.fail(
                    f"{where} is {kind}, not a tensor", "try:   return tensors, and other values with has_aux=True"
                )
                return False
            return True
        t = get_proper_type(value)
        is_tree = isinstance(t, TupleType | TypedDictType | NoneType | FunctionLike)
        is_other = isinstance(t, Instance) and t.type.fullname in (*CONTAINERS, "builtins.str", "builtins.bytes")
        if is_tree or is_other:
            self.fail(
                f'the function must return a scalar, and it returns "{show(value, self.api)}"',
                "try:   use has_aux=True to return a pair (value, aux)"
                if isinstance(t, TupleType) and len(t.items) == 2
                else "try:   reduce it, for example with .sum(), or use jacrev for the Jacobian",
            )
        return not is_tree and not is_other

    def _tensors(self, t: Type) -> Type:
        return TransformCall(self.what, self.at, self.api, self.scope, {}).tensors(t)

    def _tuple(self, items: list[Type]) -> TupleType:
        return tuple_type(items, self.api)


def split_aux(by: Derivative, inside: Type, has_aux: bool | None) -> tuple[Type, Type | None] | None:
    """Split a result into the value and the auxiliary output; None if that is unknown."""
    if has_aux is None:
        return None
    if not has_aux:
        return inside, None
    pair = get_proper_type(inside)
    if isinstance(pair, TupleType) and len(pair.items) == 2:
        return pair.items[0], pair.items[1]
    if not isinstance(pair, UnionType) and not (isinstance(pair, Instance) and pair.type.fullname == "builtins.tuple"):
        by.fail(
            f'has_aux=True needs a pair, and the function returns "{show(inside, by.api)}"',
            "try:   return a pair: (value, aux)",
        )
    return None


def not_floats(t: Type, what: str) -> Iterator[tuple[str, str]]:
    """Find the leaves of an argument that cannot be differentiated; yield a name and a description for each."""
    yield from function_calls.non_tensors(t, what)
    for where, leaf in function_calls.tree_leaves(t, what, certain=True):
        if isinstance(leaf, Instance) and leaf.type.fullname in ("builtins.int", "builtins.bool"):
            yield where, function_calls.with_article(leaf.type.name)


def argnums_of(e: Expression) -> list[int] | int | None:
    """Return the positions that a literal gives; None for other expressions."""
    match e:
        case IntExpr():
            return e.value
        case UnaryExpr(op="-", expr=IntExpr() as n):
            return -n.value
        case TupleExpr() | ListExpr():
            entries = [argnums_of(i) for i in e.items]
            numbers = [i for i in entries if isinstance(i, int)]
            return numbers if len(numbers) == len(entries) else None
    return None


def _each_leaf(t: Type, new: Type) -> Type:
    """Return a tree with each tensor replaced by `new`."""
    t = t if is_recursive(t) else get_proper_type(t)
    if row_of(t) is not None:
        return new
    match t:
        case TupleType() if not t.partial_fallback.type.is_named_tuple:
            return t.copy_modified(items=[_each_leaf(i, new) for i in t.items])
        case TypedDictType():
            return t.copy_modified(item_types=[_each_leaf(i, new) for i in t.items.values()])
        case Instance() if t.type.fullname in CONTAINERS:
            return t.copy_modified(args=[_each_leaf(a, new) for a in t.args])
        case NoneType():
            return t
    # a class declares its fields; if the argument is one tensor, they are tensors again
    return add_brands(t, unique_brands(new)) if row_of(new) is not None else UNKNOWN


def vjp(call: TransformCall) -> Type:
    """Return the type of `vjp(f, *primals)`."""
    f, primals = call.expression("f"), call.types_of("primals")
    if f is None or primals is None:
        return UNKNOWN
    primals = _primals_in_context(call, f, call.given.get("primals", []))
    d = Derivative("vjp", call.at, call.api, call.scope, list(range(len(primals))), call.is_true("has_aux"))
    result = _value_and_rows(d, f, primals)
    if result is None:
        return UNKNOWN
    value, aux, rows = result
    # a cotangent may have more brands than the value
    brand = call.scope.fresh("CT", call.at, call.api)
    cotangent = change(value, lambda row: [*row, brand])
    if row_of(value) is not None:
        cotangent = UnionType([cotangent, call.api.named_generic_type("builtins.float", [])])
    out = d._tuple([add_brands(d._leaf(t), [*rows, brand]) for t in primals])
    function = call.api.named_generic_type("builtins.function", [])
    pullback = overload_plain(CallableType([cotangent], [ARG_POS], [None], out, function, variables=[brand]))
    return d._tuple([value, pullback] if aux is None else [value, pullback, aux])


def _primals_in_context(call: TransformCall, f: Expression, primals: list[Expression]) -> list[Type]:
    """Return the types of the arguments of a function, where a dict may be one of its TypedDicts."""
    call_of_f = CallExpr(f, primals, [ARG_POS] * len(primals), [None] * len(primals))
    formals = formal_of_each(f, call_of_f, call.api)
    return [erase_axes(type_for(formals.get(e), e, call.scope, call.api), call.scope) for e in primals]


def jvp(call: TransformCall) -> Type:
    """Return the type of `jvp(f, primals, tangents)`."""
    f, primal_tree, moved = call.expression("f"), *(get_proper_type(call.type_of(n)) for n in ("primals", "tangents"))
    if f is None or not isinstance(primal_tree, TupleType):
        if row_of(primal_tree) is None:
            return UNKNOWN
        return call.fail(DERIVATIVE, "primals and tangents must be tuples", "try:   jvp(f, (x,), (dx,))")
    primals = list(primal_tree.items)
    display = call.expression("primals")
    if isinstance(display, TupleExpr) and len(display.items) == len(primals):
        primals = _primals_in_context(call, f, display.items)
    d = Derivative("jvp", call.at, call.api, call.scope, list(range(len(primals))), call.is_true("has_aux"))
    if row_of(moved) is not None:
        return call.fail(DERIVATIVE, "primals and tangents must be tuples", "try:   jvp(f, (x,), (dx,))")
    if isinstance(moved, TupleType) and join_trees(d._leaf(primal_tree), d._leaf(moved)) is None:
        fix = "try:   pass one tangent for each primal, with the structure of the primal"
        shown = f"tangent: {call.show(moved)}", f"primal:  {call.show(primal_tree)}", fix
        return call.fail(DERIVATIVE, "the tangent has another structure than the primal", *shown)
    result = _value_and_rows(d, f, primals)
    if result is None:
        return UNKNOWN
    value, aux, rows = result
    tangent = add_brands(value, [*rows, *unique_brands(moved)])
    return d._tuple([value, tangent] if aux is None else [value, tangent, aux])


def _value_and_rows(d: Derivative, f: Expression, primals: list[Type]) -> tuple[Type, Type | None, list[Brand]] | None:
    """Return the value of a function at these arguments, its auxiliary output, and the rows of its derivative."""
    if not d._are_floats(primals, range(len(primals))):
        return None
    crossed = len(d.scope.crossed)
    inside = result_type(f, [Arg(d._leaf(t)) for t in primals], d.at, d.api, primals)
    if (
        hides_brands(inside)
        or (parts := split_aux(d, remove_instance_last_known_values(inside), d.has_aux)) is None
        or not d._has_derivative(parts[0])
    ):
        return None
    value = d._tensors(parts[0])
    rows = [b for t in [*primals, value] for b in unique_brands(t)] + d.scope.crossed[crossed:]
    return value, parts[1], list(dict.fromkeys(rows))


AT_ONCE: dict[str, Rule] = {f"{API}.vjp": vjp, f"{API}.jvp": jvp}
