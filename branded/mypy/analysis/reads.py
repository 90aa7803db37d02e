"""Operations that need a single value: reads, truth values and `len`."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from string import Formatter

from mypy.checker import TypeChecker
from mypy.errorcodes import ErrorCode
from mypy.nodes import Context, DictExpr, Expression, FuncDef, MemberExpr, StrExpr
from mypy.plugin import ClassDefContext, FunctionContext, FunctionSigContext, MethodContext
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    NoneType,
    ProperType,
    TupleType,
    Type,
    TypeOfAny,
    UnboundType,
    UnionType,
    get_proper_type,
)

from branded.mypy.analysis.source.conditions import GENERAL, call_fix, truth_fix
from branded.mypy.analysis.source.syntax import nodes_of
from branded.mypy.analysis.source_digest import file_version, parse
from branded.mypy.codes import ERROR, OPERAND, READ, SHAPE
from branded.mypy.rows.algebra import AXES, CONTAINERS, TENSOR, VEC, Brand, each_row, row_of, rows_in
from branded.mypy.rows.brand_env import enclosing_functions, is_in_function, opened_at
from branded.mypy.rows.injected_calls import tested_operands
from branded.mypy.rows.leaves import fields_of
from branded.mypy.rows.reporting import checker, fail_at_once, show

METHODS = ["numpy", "data", "tolist", "item", "linear_with_vars", "schedule_linear", "callify", "backward"]
"""The methods listed in `branded.hooks.reads`, which a plugin does not import; a test compares the two lists."""
READS = tuple(f"{VEC}.{name}" for name in METHODS)
NUMBERS = {f"builtins.{name}": name.replace("range", "int") for name in ("int", "float", "complex", "range")}
_VARIES = "a value that varies over {}"
READ_TEXT = f"{_VARIES} has no single value to read", "return it from the mapped function and read the result"
TEXTS = {
    "item": (READ_TEXT[0], f"leave out .item(), or {READ_TEXT[1]}"),
    "backward": (
        f"{_VARIES} has a gradient for each example, and .grad holds one",
        "loss.gradient(w), which is per example",
    ),
    "bool": (f"{_VARIES} has no single truth value", GENERAL),
    "format": (f"{_VARIES} has no single text", 'debug.print("{x}", x=x)'),
    **{kind: (f"{_VARIES} has no single {kind}", "use the methods of Tensor instead") for kind in NUMBERS.values()},
}
"""Messages and fixes for operations that need a single value; `READ_TEXT` is for other methods."""
COMPARISONS = {f"{c}.__{op}__" for c in (VEC, AXES, TENSOR) for op in ("lt", "le", "gt", "ge", "eq", "ne")}


def reject_batched(api: TypeChecker, context: Context, t: Type, code: ErrorCode, message: str, fix: str) -> None:
    reject_brands(api, context, known_brands(t), code, message, [f'value: "{show(t, api)}"'], fix)


def reject_brands(
    api: TypeChecker,
    context: Context,
    row: Sequence[Brand],
    code: ErrorCode,
    message: str,
    facts: Sequence[str],
    fix: str,
) -> None:
    """Report an operation on a value with these brands."""
    opened = [f"{show(b, api)}: opened by vmap at {place}" for b in row if (place := opened_at(b))]
    names = " and ".join(f'"{show(b, api)}"' for b in row)
    fail_at_once(api, context, code, message.format(names), *facts, *opened, f"try:   {fix}")


def known_brands(t: Type) -> list[Brand]:
    """Return the brands of a tree, without those hidden by Any."""
    return [b for b in dict.fromkeys(rows_in(t)) if not isinstance(b, AnyType)]


def open_reads(ctx: ClassDefContext) -> None:
    """Let mypy find `numpy` and similar methods on every Vec, so that the plugin can report the error.

    vec.pyi declares them for the empty row only, for checkers that run without the plugin.
    """
    for f in ctx.cls.defs.body:
        if isinstance(f, FuncDef) and f"{VEC}.{f.name}" in READS:
            for signature in (f.type, f.unanalyzed_type):
                if isinstance(signature, CallableType) and isinstance(signature.arg_types[0], UnboundType):
                    signature.arg_types[0] = AnyType(TypeOfAny.unannotated)


def reject_read(ctx: MethodContext) -> Type:
    """Reject `x.numpy()` and other reads of a batched value."""
    if known_brands(ctx.type):
        name = getattr(getattr(ctx.context, "callee", None), "name", "read")
        says, fix = TEXTS.get(name, READ_TEXT)
        reject_batched(checker(ctx), ctx.context, ctx.type, READ, f"{name}: {says}", fix)
    return ctx.default_return_type


COUNTED = {f"{c}.{name}" for c in (VEC, AXES, TENSOR) for name in ("nonzero", "masked_select")}
"""Methods whose number of results depends on values, unless `size` is given."""


def reject_count(ctx: MethodContext) -> Type:
    """Reject `x.nonzero()` of a batched value: each example would have a shape of its own."""
    i = ctx.callee_arg_names.index("size") if "size" in ctx.callee_arg_names else None
    given = [t for t in (ctx.arg_types[i] if i is not None else []) if not isinstance(get_proper_type(t), NoneType)]
    if known_brands(ctx.default_return_type) and not given:
        name = getattr(getattr(ctx.context, "callee", None), "name", "nonzero")
        says = f"{name}: a result over {{}} would have another shape for each example"
        fix = f"{name}(..., size=n), with the same n for all"
        reject_batched(checker(ctx), ctx.context, ctx.default_return_type, SHAPE, says, fix)
    return ctx.default_return_type


TRUTH, WHERE = f"bool: {TEXTS['bool'][0]}", TEXTS["bool"][1]


ASKERS = {
    **dict.fromkeys([*(f"builtins.{name}" for name in ("bool", "all", "any")), "builtins.filter"], 0),
    **{f"{module}.{name}": 0 for module in ("operator", "_operator") for name in ("truth", "not_")},
    **{f"itertools.{name}": 0 for name in ("takewhile", "dropwhile", "filterfalse")},
    **{f"itertools.{name}": 1 for name in ("compress", "groupby")},
}
"""Functions that need truth values, and the position of the argument that they test or call for a test."""


def reject_truth(ctx: FunctionContext, position: int) -> Type:
    """Reject batched values in `bool(x)`, `any([x])`, and `filter(f, [x])` if `f` returns a Vec."""
    args, types = dict(enumerate(ctx.args)), dict(enumerate(ctx.arg_types))
    is_none = any(isinstance(get_proper_type(t), NoneType) for t in types.get(position, []))
    if is_none or not types.get(position):
        position = 1 - position  # filter(None, [x]) and groupby([x]) test the entries
    reject_tested(ctx, args.get(position, []), types.get(position, []))
    return ctx.default_return_type


def reject_tested(
    ctx: FunctionContext | MethodContext,
    of: Sequence[Expression],
    types: Sequence[Type],
    is_allowed: Callable[[], bool] = lambda: False,
) -> None:
    """Report the first type whose batched truth value is needed.

    In the context of builtins.any, mypy infers a list of objects; the function of a filter is inferred in context.
    """
    alone = [checker(ctx).get_expression_type(e) for e in of]
    for t in map(tested_type, [*alone, *types]):
        if known_brands(t):
            if not is_allowed():
                reject_batched(
                    checker(ctx), ctx.context, t, READ, TRUTH, call_fix(checker(ctx).path, ctx.context) or WHERE
                )
            break


def tested_type(t: Type) -> Type:
    """Return the type whose truth value is needed: the value, a function's result, or an iterator's items."""
    p = get_proper_type(t)
    return p.ret_type if isinstance(p, CallableType) else item_type(p)


def item_type(t: Type) -> Type:
    """Return the type of an iterable's items; other types are unchanged."""
    t = get_proper_type(t)
    if isinstance(t, TupleType) and t.items:
        return UnionType.make_union(t.items)
    if isinstance(t, Instance) and t.args and row_of(t) is None:
        return t.args[0]
    return t


def reject_format(ctx: FunctionContext | MethodContext) -> Type:
    """Reject batched values in `format(x, ".2f")` and `f"{x:.2f}"`, which is `"{:{}}".format(x, ".2f")` to mypy."""
    callee = getattr(ctx.context, "callee", None)
    template = callee.expr if isinstance(callee, MemberExpr) else None
    args = [e for es in ctx.args for e in es]
    is_field = template is None or (isinstance(template, StrExpr) and template.value == "{:{}}")
    if is_field and len(args) == 2 and not (isinstance(args[1], StrExpr) and not args[1].value):
        t = checker(ctx).get_expression_type(args[0])
        if _is_batched(t):
            says, fix = TEXTS["format"]
            reject_batched(checker(ctx), ctx.context, t, READ, f"format: {says}", fix)
    return ctx.default_return_type


def reject_format_map(ctx: MethodContext) -> Type:
    """Reject batched values for the fields with a format in `"{loss:.2f}".format_map({"loss": x})`."""
    callee = getattr(ctx.context, "callee", None)
    template = callee.expr if isinstance(callee, MemberExpr) else None
    given = ctx.args[0][0] if ctx.args and ctx.args[0] else None
    if not isinstance(template, StrExpr) or not isinstance(given, DictExpr):
        return ctx.default_return_type
    try:
        formatted = {name for _, name, spec, _ in Formatter().parse(template.value) if spec}
    except ValueError:
        return ctx.default_return_type
    for key, e in given.items:
        t = checker(ctx).get_expression_type(e) if isinstance(key, StrExpr) and key.value in formatted else None
        if t is not None and _is_batched(t):
            says, fix = TEXTS["format"]
            reject_batched(checker(ctx), ctx.context, t, READ, f"format: {says}", fix)
            break
    return ctx.default_return_type


def reject_sentinel(ctx: FunctionContext) -> Type:
    """Reject batched values in `iter(f, last)`, which compares the results of `f` with `last`."""
    if len(ctx.args) == 2 and ctx.args[1]:
        reject_tested(ctx, [e for es in ctx.args for e in es], [t for types in ctx.arg_types for t in types])
    return ctx.default_return_type


def reject_test(ctx: FunctionContext, is_tested: bool = True) -> Type:
    """Reject tensors whose truth value is needed, in an injected call. mypy itself reports a batched `if x`."""
    api = checker(ctx)
    for e in tested_operands(ctx.args[0][0], is_tested):
        t = api.lookup_type_or_none(e)
        if isinstance(p := get_proper_type(t) if t is not None else None, UnionType) and any(map(_is_batched, p.items)):
            is_optional = any(isinstance(get_proper_type(item), NoneType) for item in p.items)
            reject_batched(api, e, p, READ, TRUTH, truth_fix(api.path, e, is_optional))
            break
        if p is not None and row_of(p) == [] and not is_checked_again(api):
            _reject_plain(api, e, p)
            break
    return ctx.default_return_type


PLAIN_FIX = "try:   x.item() for one element, x.all().item() or x.any().item() for several"


def _reject_plain(api: TypeChecker, e: Context, t: Type) -> None:
    fail_at_once(api, e, READ, "bool: a tensor has no truth value", f'value: "{show(t, api)}"', PLAIN_FIX)


def reject_case(ctx: FunctionContext) -> Type:
    """Reject batched values in `match x: case 0`, in an injected call with the paths of the compared values."""
    api = checker(ctx)
    for e in ctx.args[0][1:]:
        path = ast.literal_eval(e.value) if isinstance(e, StrExpr) else ()
        for t in _types_at(ctx.arg_types[0][0], path):
            if _is_batched(t):
                reject_batched(api, e, t, READ, TRUTH, truth_fix(api.path, e))
                return ctx.default_return_type
    return ctx.default_return_type


def _types_at(t: Type, path: Sequence[int | str | tuple[str, int | str]]) -> Iterator[Type]:
    """Find the types that a part of a value may have, by its path in a pattern."""
    p = get_proper_type(t)
    if isinstance(p, UnionType):
        for item in p.items:
            yield from _types_at(item, path)
    elif not path:
        yield p
    else:
        part = _part_type(p, path[0])
        if part is not None:
            yield from _types_at(part, path[1:])


def _part_type(t: ProperType, step: int | str | tuple[str, int | str]) -> Type | None:
    """Return the type of an item, of the value for a key, or of an attribute of a class; None if it is unknown."""
    fields = fields_of(t)
    match step:
        case int(i):
            items = [*fields.values()] if isinstance(t, TupleType) else []
            if items:
                return items[i] if -len(items) <= i < len(items) else None
            is_sequence = isinstance(t, Instance) and t.type.fullname in CONTAINERS and len(t.args) == 1
            return t.args[0] if is_sequence and isinstance(t, Instance) else None
        case str(key):
            is_dict = isinstance(t, Instance) and t.type.fullname in CONTAINERS and len(t.args) == 2
            return t.args[1] if is_dict and isinstance(t, Instance) else fields.get(f"[{key!r}]")
        case (owner, name):
            info = t.type if isinstance(t, Instance) else t.partial_fallback.type if isinstance(t, TupleType) else None
            if info is None or not info.has_base(owner):
                return None
            return [*fields.values()][name] if isinstance(name, int) else fields.get(f".{name}")


def _is_batched(t: Type) -> bool:
    return row_of(t) is not None and bool(known_brands(t))


def is_checked_again(api: TypeChecker) -> bool:
    """Return whether the enclosing function is checked for each row of its arguments."""
    return any(each_row(t) for f in enclosing_functions(api) for t in f.arg_types)


def reject_tensor_data(ctx: FunctionContext) -> Type:
    """Reject batched values in `Tensor([x, y])`."""
    for e in ctx.args[0] if ctx.args else ():
        t = checker(ctx).get_expression_type(e)  # without the context of Tensor's parameter, which accepts any list
        if known_brands(t):
            message = "Tensor: values that vary over {} cannot be the data of a tensor"
            reject_batched(checker(ctx), ctx.context, t, OPERAND, message, "x.stack(y)")
    return ctx.default_return_type


def reject_comparison(ctx: MethodContext) -> Type:
    """Reject `if a > 0: ...`, which mypy's truthy-bool does not report: if it is batched, or not in a function."""
    api, context, t = checker(ctx), ctx.context, ctx.default_return_type
    is_batched = bool(known_brands(t))
    if not is_batched and (row_of(t) != [] or is_in_function(api)):  # a function of tensors may be mapped
        return t
    tested = _tested_comparisons(api.path, file_version(api.path))
    if (context.line, context.column) not in tested and (context.line, None) not in tested:
        return t
    if is_batched:
        reject_batched(api, context, t, READ, TRUTH, truth_fix(api.path, context))
    else:
        _reject_plain(api, context, t)
    return t


@lru_cache(maxsize=8)
def _tested_comparisons(path: str, version: int) -> set[tuple[int, int | None]]:
    """Return the positions of the comparisons whose truth value a file needs.

    In lines with non-ASCII characters the columns of mypy's parser are wrong.  Such a line has the position None if it
    needs all of its comparisons.
    """
    tests: list[ast.expr] = []
    tree = parse(path, version)
    nodes = nodes_of(tree) if tree is not None else []
    for node in nodes:
        match node:
            case ast.If(test=t) | ast.While(test=t) | ast.Assert(test=t) | ast.IfExp(test=t):
                tests += _tested_operands(t)
            case ast.match_case(guard=ast.expr() as t):
                tests += _tested_operands(t)
            case ast.comprehension(ifs=ts):
                tests += [operand for t in ts for operand in _tested_operands(t)]
            case ast.BoolOp(values=[*ts, _]):
                tests += ts
            case ast.Compare(ops=[_, _, *_]):  # `0 < a < 1` means `0 < a and a < 1`
                tests.append(node)
    compared = {(n.lineno, n.col_offset) for n in nodes if isinstance(n, ast.Compare)}
    tested: set[tuple[int, int | None]] = {(t.lineno, t.col_offset) for t in tests if isinstance(t, ast.Compare)}
    partly = {line for line, _ in compared - tested}
    lines = {line for line, _ in tested} - partly
    linecache.checkcache(path)
    return tested | {(n, None) for n in lines if not linecache.getline(path, n).isascii()}


def _tested_operands(test: ast.expr) -> list[ast.expr]:
    """Return the operands whose truth value a test needs: both for `n and a > 0`."""
    return [o for value in test.values for o in _tested_operands(value)] if isinstance(test, ast.BoolOp) else [test]


def reject_jit_input(ctx: MethodContext) -> Type:
    """Reject batched arguments of `TinyJit(f)(x)`."""
    for t in (t for types in ctx.arg_types for t in types):
        if known_brands(t):
            message = "TinyJit: a value that varies over {} cannot be an input of TinyJit"
            reject_batched(checker(ctx), ctx.context, t, ERROR, message, "TinyJit(vmap(f)), with vmap inside of it")
            break
    return ctx.default_return_type


def reject_number(ctx: FunctionSigContext) -> CallableType:
    """Reject batched arguments of `float(x)`, `int(x)` and `range(x)`."""
    sig, name = ctx.default_signature, getattr(getattr(ctx.context, "callee", None), "fullname", "")
    if ctx.args and ctx.args[0]:
        t = checker(ctx).get_expression_type(ctx.args[0][0])
        if known_brands(t):
            kind = NUMBERS[name]
            (says, fix), path = TEXTS[kind], checker(ctx).path
            reject_batched(checker(ctx), ctx.context, t, READ, f"{kind}: {says}", call_fix(path, ctx.context) or fix)
            anything: Type = AnyType(TypeOfAny.from_error)
            return sig.copy_modified(arg_types=[anything] * len(sig.arg_types))
    return sig


def length_signature(ctx: FunctionSigContext) -> CallableType:
    """Accept `len(x)`, the length of an example; vec.pyi hides `__len__` from mypy so that truthy-bool works."""
    sig = ctx.default_signature
    if ctx.args and ctx.args[0]:
        t = checker(ctx).get_expression_type(ctx.args[0][0])
        if row_of(t):
            return sig.copy_modified(arg_types=[t])
    return sig
