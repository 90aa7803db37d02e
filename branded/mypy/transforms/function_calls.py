"""Calls of the functions passed to transforms: their result types, and trees that must agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from mypy.checker import TypeChecker
from mypy.errorcodes import ARG_TYPE, CALL_ARG, NO_UNTYPED_CALL, TRUTHY_BOOL, ErrorCode
from mypy.nodes import (
    ARG_POS,
    ARG_STAR,
    CallExpr,
    Context,
    Expression,
    FuncDef,
    LambdaExpr,
    ListExpr,
    NameExpr,
    OverloadedFuncDef,
    RefExpr,
    TupleExpr,
    TypeInfo,
)
from mypy.plugin import FunctionSigContext
from mypy.typeops import make_simplified_union
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    LiteralType,
    NoneType,
    ProperType,
    TupleType,
    Type,
    TypedDictType,
    TypeOfAny,
    UninhabitedType,
    UnionType,
    get_proper_type,
)

from branded.mypy.analysis.memoize import cache_in_body, type_of_call
from branded.mypy.analysis.source.reads import report_traced_read
from branded.mypy.axes.types import erase_axes
from branded.mypy.codes import is_brand_code
from branded.mypy.rows.algebra import (
    ARRAY,
    CONTAINERS,
    TENSOR,
    UNKNOWN,
    VEC,
    Brand,
    add_brands,
    as_vec,
    change,
    has_rows,
    is_a,
    is_recursive,
    keep_row,
    row_of,
    rows_in,
    union_row,
)
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.rows.callables import Arg, synthetic_call, types_in_context
from branded.mypy.rows.leaves import NUMBERS, fields_of, optional_items, replace_leaves
from branded.mypy.rows.reporting import add_errors, checker, fail, show, trying
from branded.mypy.transforms.example_call import called_function
from branded.mypy.transforms.options import MAPPED


@dataclass(eq=False, repr=False, match_args=False)
class TransformCall:
    """A call of a transform: its position, and its arguments by parameter."""

    what: str
    at: Context
    api: TypeChecker
    scope: OpenBrands
    given: dict[str, list[Expression]]
    has_axes: bool = False
    """Whether the rule returns a type with axes. For other transforms the axes of the result are erased."""

    def expression(self, name: str) -> Expression | None:
        """Return the argument for a parameter; None if it is missing."""
        return next(iter(self.given.get(name, ())), None)

    def type_of(self, name: str) -> Type:
        """Return an argument's type without axes; None's type if it is missing."""
        return erase_axes(self.with_axes(name), self.scope)

    def with_axes(self, name: str) -> Type:
        """Return an argument's type with its axes."""
        e = self.expression(name)
        return self.api.get_expression_type(e) if e is not None else NoneType()

    def types_of(self, name: str, erases: bool = True) -> list[Type] | None:
        """Return the types of a star-argument, with or without axes; None if their number is unknown."""
        expressions = self.given.get(name, [])
        if isinstance(self.at, CallExpr) and ARG_STAR in self.at.arg_kinds:
            return None
        types = [self.api.get_expression_type(e) for e in expressions]
        return [erase_axes(t, self.scope) for t in types] if erases else types

    def is_true(self, name: str) -> bool | None:
        """Return a flag, False by default; None if its value is unknown."""
        match self.expression(name):
            case None | NameExpr(name="False"):
                return False
            case NameExpr(name="True"):
                return True
        return None

    def fail(self, code: ErrorCode, message: str, *notes: str) -> Type:
        fail(self.api, self.at, code, f"{self.what}: {message}", *notes)
        return UNKNOWN

    def show(self, t: Type) -> str:
        return f'"{show(t, self.api)}"'

    def result(self, f: Expression, types: Sequence[Type]) -> Type:
        """Return the type of `f(*types)`, and report errors."""
        args = [Arg(t) for t in types]
        return result_type(called_function(f, types, args, self.at, self.scope, self.api), args, self.at, self.api)

    def trial(self, f: Expression, types: Sequence[Type]) -> Type:
        """Return the type of `f(*types)` silently."""
        with trying(self.api):
            return self.result(f, types)

    def step(self, f: Expression, types: Sequence[Type]) -> Type:
        """Return the type of a loop body, and report reads in it: the body is traced once for all steps.

        A lambda is checked again with an additional brand in its parameters. For a named function, whose parameters may
        be declared as plain tensors, its source is enough.
        """
        with self.api.msg.filter_errors(filter_errors=False) as errors:
            out = self.result(f, types)
        if isinstance(f, RefExpr) and not errors.has_new_errors():
            report_traced_read(f, self.what, "steps", self.at, self.api)
        if isinstance(f, LambdaExpr) and not errors.has_new_errors():
            place = f"{self.what}:{self.at.line}:{self.at.column}"
            steps = self.scope.fresh(self.what, self.at, self.api, place=place)
            # the names that are open are as before: a loop opens none
            is_inside = self.scope.open or not any(isinstance(f, FuncDef) for f in self.api.scope.stack)
            with trying(self.api) as more, self.scope.opened(steps) if is_inside else nullcontext():
                self.result(f, [add_brands(t, [steps]) for t in types])
            add_errors(self.api, [e for e in more.filtered_errors() if is_brand_code(e.code) or e.code is TRUTHY_BOOL])
        return out

    def tensors(self, t: Type) -> Type:
        """Replace numbers and arrays in a tree by tensors, except in classes that declare them as numbers."""
        t = get_proper_type(t)
        if isinstance(t, TupleType) and not t.partial_fallback.type.is_named_tuple:
            return t.copy_modified(items=[i if is_recursive(i) else self.tensors(i) for i in t.items])
        if isinstance(t, Instance) and t.type.fullname in CONTAINERS:
            return t.copy_modified(args=[a if is_recursive(a) else self.tensors(a) for a in t.args])
        if isinstance(t, TupleType | TypedDictType):
            return change(t, keep_row)
        return change(t, keep_row, UNKNOWN, replace_leaves(self.scope.instance(TENSOR), {*NUMBERS, ARRAY}))

    def vec(self, row: Sequence[Brand]) -> Type:
        return change(self.scope.instance(VEC, union_row(row), self.scope.instance(TENSOR)), keep_row)

    def are_tensors(self, t: Type, what: str, code: ErrorCode, numbers: bool = True) -> bool:
        """Return whether all leaves of a tree can be tensors; report an error if not."""
        for where, kind in non_tensors(t, what, numbers):
            kinds = "use tensors, numbers, or pytrees of these" if numbers else "use tensors, or pytrees of these"
            self.fail(code, f"{where} is {kind}, not a tensor", f"try:   {kinds}")
            return False
        return True


def result_type(
    f: Expression, args: Sequence[Arg], context: Context, api: TypeChecker, original: Sequence[Type] = ()
) -> Type:
    """Return the type of `f(*args)`, and report errors.

    To mypy a dict of tensors is not a dict of Vecs, but a transform rebuilds the containers that `f` receives.
    `original` has the types of the arguments before they became tensors; `f` may be declared with them.

        def f(d: dict[str, Vec[S, Tensor]]) -> ...      called with a dict[str, Tensor]: ARG_TYPE, not reported yet
        f(dict[str, Vec[S, Tensor]])                    called again, with the rows of all arguments in each
        f(*original)                                    and with `original`: the first call without an error is used
    """
    # mypy treats code after a call that never returns as unreachable; this call may not run
    with trying(api) as errors, api.binder.frame_context(can_skip=True, fall_through=0):
        own = types_in_context(f, [a.type for a in args], args, context, api)
        out = type_of_call(synthetic_call(f, own, args, context), api)
    if isinstance(get_proper_type(out), UninhabitedType):
        out = UNKNOWN
    told = [e for e in errors.filtered_errors() if e.code is not NO_UNTYPED_CALL]
    if any(e.code is ARG_TYPE for e in told) and not isinstance(f, LambdaExpr):
        rows = [b for a in args for b in unique_brands(a.type)]
        wider = [
            a.type if row_of(a.type) is not None else change(a.type, lambda r: [*r, *rows], end=as_vec) for a in args
        ]
        for types in (wider, original) if original else (wider,):
            with trying(api) as more:
                again = type_of_call(synthetic_call(f, types, args, context), api)
            if not more.has_new_errors():
                return change(again, keep_row)
    add_errors(api, told)
    is_rejected = not isinstance(f, LambdaExpr) and any(e.code in (ARG_TYPE, CALL_ARG) for e in told)
    return AnyType(TypeOfAny.from_error) if is_rejected else out


Rule = Callable[[TransformCall], Type]
"""A function that returns the type of a transform's call."""
OPTIONS = {
    *("argnums", "has_aux", "length", "reverse", "unroll", "batch_size"),
    *("axis", "tiled", "perm", "split_axis", "concat_axis", "scatter_dimension"),
}
"""Parameters that the rules do not check, so mypy does."""


def signature_by_rule(
    ctx: FunctionSigContext, node: OverloadedFuncDef | None, scope: OpenBrands, rule: Rule
) -> FunctionLike:
    """Return the signature of a call whose result type is computed by a rule.

    mypy asks for each overload. The rule runs once, for the first one, and all overloads get the signature of the
    implementation. Its parameters accept the arguments as the rule has typed them, so no argument is checked twice.

        scan(f, init, xs)       mypy asks for `scan` with `xs`, then for `scan` with only `length`
        the first time          the rule returns R = tuple[Vec[S, Tensor], Tensor]; signature (f, init, xs, ...) -> R
        the second time         the rule does not run: the call has matched the first overload
    """
    sig, api = ctx.default_signature, checker(ctx)
    cache_in_body(api)
    impl = node.impl.type if node is not None and node.impl is not None else sig
    impl_sig = impl if isinstance(impl, CallableType) else sig
    overloads = node.items if node is not None else []
    first = overloads[0].type if overloads else sig
    callee = ctx.context.callee if isinstance(ctx.context, CallExpr) else None
    what = node.name if node is not None else getattr(callee, "name", "")
    actuals = {n: list(es) for n, es in zip(sig.arg_names, ctx.args, strict=False) if n is not None}
    result: Type = UNKNOWN
    required = [n for n, k in zip(impl_sig.arg_names, impl_sig.arg_kinds, strict=True) if k.is_required()]
    if sig == first and all(actuals.get(n or "") for n in required):
        overrides = api.expr_checker.type_overrides
        expressions = [e for es in actuals.values() for e in es]
        for e in expressions:
            overrides.pop(e, None)
        call = TransformCall(what, ctx.context, api, scope, actuals)
        result = rule(call)
        if not call.has_axes and not isinstance(get_proper_type(result), FunctionLike):
            result = erase_axes(result, scope)
        # the rule of a deferred call checks the function, whose type as a callee mypy would take from its cache
        later = call.expression("f") if is_a(result, MAPPED) else None
        for e in expressions:
            overrides[e] = UNKNOWN if has_body(e) or e is later else api.get_expression_type(e)
    types = [t if n in OPTIONS else UNKNOWN for n, t in formals(impl_sig)]
    return impl_sig.copy_modified(arg_types=types, ret_type=result, variables=[])


def arguments_by_name(call: CallExpr, names: Sequence[str]) -> dict[str, list[Expression]]:
    """Return the arguments of a call by parameter; `names` are the parameters in order."""
    arguments: dict[str, list[Expression]] = {}
    for i, (e, kind, name) in enumerate(zip(call.args, call.arg_kinds, call.arg_names, strict=True)):
        if kind == ARG_POS and i < len(names):
            arguments[names[i]] = [e]
        elif name is not None:
            arguments[name] = [e]
    return arguments


def formals(f: CallableType) -> Iterator[tuple[str | None, Type]]:
    return zip(f.arg_names, f.arg_types, strict=True)


def has_body(e: Expression) -> bool:
    """Return whether this is a lambda, or a list of lambdas, whose body the rule checks."""
    return isinstance(e, LambdaExpr) or (isinstance(e, ListExpr | TupleExpr) and any(map(has_body, e.items)))


def tree_leaves(
    t: Type, what: str, above: tuple[TypeInfo, ...] = (), certain: bool = False
) -> Iterator[tuple[str, ProperType]]:
    """Find the leaves of a tree called `what`; yield how Python reaches each, and its type.

    A part of a recursive type is a leaf: a recursive alias, and a class within the classes `above` it. With `certain`,
    the items that a TypedDict may lack are left out.
    """
    is_within, t = is_recursive(t), get_proper_type(t)
    t = t.fallback if isinstance(t, LiteralType) else t
    within = (*above, t.type) if isinstance(t, Instance) else above
    if is_within or len(set(within)) < len(within):
        yield what, t
    elif fields := fields_of(t):
        absent = optional_items(t) if certain else set()
        for accessor, field in fields.items():
            if accessor not in absent:
                yield from tree_leaves(field, f"{what}{accessor}", within, certain)
    elif isinstance(t, Instance) and t.type.fullname in CONTAINERS and t.args:
        yield from tree_leaves(t.args[-1], f"each item of {what}", above, certain)
    else:
        yield what, t


def non_tensors(t: Type, what: str, numbers: bool = True) -> Iterator[tuple[str, str]]:
    """Find the leaves of a tree that cannot be tensors; yield a name and a description for each."""
    refused = {"builtins.str", "builtins.bytes", "builtins.set", *(() if numbers else NUMBERS)}
    for where, leaf in tree_leaves(t, what, certain=True):
        if isinstance(leaf, FunctionLike):
            yield where, "a function"
        elif isinstance(leaf, Instance) and leaf.type.fullname in refused:
            yield where, with_article(leaf.type.name)


def with_article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def join_trees(a: Type, b: Type) -> Type | None:
    """Return the common tree with the rows of both; None if the trees certainly differ.

    tuple[Vec[S], int]    tuple[Vec[S1], int]    tuple[Vec[S | S1], int]
    tuple[Vec[S], int]    tuple[Vec[S1]]         None: one has one more item
    """
    a, b = get_proper_type(a), get_proper_type(b)
    if isinstance(a, AnyType) or isinstance(b, AnyType):
        return UNKNOWN
    if isinstance(a, UnionType) or isinstance(b, UnionType):
        return make_simplified_union([a, b])
    if row_of(a) is not None and (row := row_of(b)) is not None:
        return add_brands(a, row)
    if isinstance(a, NoneType) and isinstance(b, NoneType):
        return a
    if _tree_kind(a) != _tree_kind(b) and _tree_kind(a) and _tree_kind(b):
        return None
    match a, b:
        case TupleType(), TupleType():
            if (items := _join_all(a.items, b.items)) is None:
                return None
            # the attributes of a named tuple have the rows of its class
            return (
                add_brands(a, unique_brands(b))
                if a.partial_fallback.type.is_named_tuple
                else a.copy_modified(items=items)
            )
        case TypedDictType(), TypedDictType():
            same = a.items.keys() == b.items.keys()
            values = _join_all([*a.items.values()], [b.items[k] for k in a.items]) if same else None
            return None if values is None else a.copy_modified(item_types=values)
        case Instance(), Instance() if a.type is b.type and a.type.fullname in CONTAINERS:
            args = _join_all(a.args, b.args)
            return None if args is None else a.copy_modified(args=args)
    return add_brands(a, unique_brands(b)) if _tree_kind(a) else make_simplified_union([a, b])


def _join_all(xs: Sequence[Type], ys: Sequence[Type]) -> list[Type] | None:
    """Join the trees pairwise; return None if a pair differs."""
    pairs = zip(xs, ys, strict=False)
    joined = [add_brands(x, unique_brands(y)) if is_recursive(x) else join_trees(x, y) for x, y in pairs]
    trees = [t for t in joined if t is not None]
    return trees if len(trees) == len(xs) == len(ys) else None


def unique_brands(t: Type) -> list[Brand]:
    """Return all brands of a tree, each once."""
    return list(dict.fromkeys(rows_in(t)))


def _tree_kind(t: ProperType) -> str:
    """Return the kind of node that a type has in a tree; empty if it is unknown."""
    match t:
        case NoneType():
            return "None"
        case TupleType() if t.partial_fallback.type.is_named_tuple:
            return t.partial_fallback.type.fullname
        case TupleType():
            return "tuple"
        case TypedDictType():
            return "dict"
        case Instance() if row_of(t) is not None:
            return "tensor"
        case Instance() if t.type.fullname in ("builtins.tuple", "builtins.list", "builtins.dict"):
            return t.type.name
        case Instance() if has_rows(t.type) or "dataclass" in t.type.metadata:
            return t.type.fullname
    return ""
