"""Batched values passed to functions of Python, math and numpy, and the tensor methods to use instead."""

from __future__ import annotations

from collections.abc import Sequence

from mypy.checker import TypeChecker
from mypy.checkstrformat import parse_conversion_specifiers
from mypy.errorcodes import ErrorCode
from mypy.nodes import (
    ARG_NAMED,
    ARG_NAMED_OPT,
    ARG_POS,
    Expression,
    Import,
    ImportAll,
    ImportFrom,
    LambdaExpr,
    MypyFile,
    RefExpr,
    StrExpr,
    TypeInfo,
)
from mypy.plugin import FunctionContext, FunctionSigContext, MethodContext, MethodSigContext
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    NoneType,
    TupleType,
    Type,
    TypedDictType,
    TypeOfAny,
    UnionType,
    get_proper_type,
)

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.reads import TEXTS, item_type, known_brands, reject_batched
from branded.mypy.analysis.source.calls import UFUNCS
from branded.mypy.codes import OPERAND, READ
from branded.mypy.rows.algebra import CONTAINERS, add_brands, as_vec, row_of
from branded.mypy.rows.callables import Arg, synthetic_call
from branded.mypy.rows.injected_calls import is_silent_library
from branded.mypy.rows.reporting import checker, trying

BUILTINS = {
    "builtins.max": "x.maximum(y); x.max() for the largest entry",
    "builtins.min": "x.minimum(y); x.min() for the least entry",
    "builtins.sorted": "x.sort()[0] for its entries; x.stack(y).sort()[0] for several",
    "sort": "x.stack(y).sort()[0]",
    "builtins.round": "x.round()",
}
"""Functions that read a tensor or that do not support tensors, and the methods to use instead."""

SORT = "builtins.list.sort"
COMPARISONS = [f"__{op}__" for op in ("eq", "ne", "lt", "le", "gt", "ge")]
COMPARED = {f"builtins.{c}.{name}" for c in ("tuple", "list", "dict") for name in COMPARISONS}
POWERS = {f"builtins.{c}.__{op}__" for c in ("int", "float") for op in ("pow", "rpow")}
OF_ITSELF = {"numpy.shape", "numpy.ndim", "numpy.size"}
"""Numpy functions that read only the shape."""


def is_foreign(fullname: str) -> bool:
    """Return whether a function of a library reads its arguments, which it cannot do for a batched value."""
    return fullname not in PRODUCTS and (fullname.startswith(("math.", "numpy.")) or fullname in BUILTINS)


PRODUCTS = {"math.prod", "math.sumprod"}
"""Functions that only multiply and add."""


def product_signature(ctx: FunctionSigContext) -> CallableType:
    """Return the signature of `math.prod([x, y])`: the result has the brands of all factors."""
    sig, api = ctx.default_signature, checker(ctx)
    types = _argument_types([e for actuals in ctx.args for e in actuals], api)
    return _united_signature(sig, types, api)


def _united_signature(sig: CallableType, types: Sequence[Type], api: TypeChecker) -> CallableType:
    """Return a signature that accepts batched arguments, and whose result has the brands of all of them."""
    tensor = next((i for t in types for i in _items(t) if row_of(i) is not None), None)
    if tensor is None or not knows_us(api):
        return sig
    result = add_brands(tensor, [b for t in types for b in known_brands(t)])
    types = [AnyType(TypeOfAny.special_form)] * len(sig.arg_types)
    return sig.copy_modified(arg_types=types, ret_type=result, unpack_kwargs=False)


def _items(t: Type) -> Sequence[Type]:
    """Return a type, and the types of its items if it is a container."""
    p = get_proper_type(t)
    args = p.items if isinstance(p, TupleType) else p.args if isinstance(p, Instance) and row_of(p) is None else ()
    return [t, *args]


def is_ufunc(fullname: str) -> bool:
    """Return whether this is a call of a numpy ufunc such as `numpy.sqrt`."""
    return fullname.startswith("numpy._typing._ufunc.") and fullname.endswith(".__call__")


def reject_batched_arguments(ctx: FunctionSigContext | MethodSigContext) -> CallableType:
    """Reject batched arguments of `max(x, y)`, `math.sqrt(x)` and `np.sqrt(x)`."""
    sig, api = ctx.default_signature, checker(ctx)
    if not knows_us(api):
        return sig
    name = _function_name(getattr(ctx.context, "callee", None))
    named = [(n, e) for n, actuals in zip(sig.arg_names, ctx.args, strict=True) for e in actuals]
    key = next((e for n, e in named if n == "key"), None)
    compared = _argument_types([e for _, e in named if e is not key], api)
    compared += [ctx.type] if isinstance(ctx, MethodSigContext) else []
    if name.removeprefix("numpy.") in UFUNCS and not any(e for n, e in named if n in ("out", "where")):
        return _united_signature(sig, compared, api) if any(map(known_brands, compared)) else sig
    is_len = isinstance(key, RefExpr) and key.fullname == "builtins.len"
    if is_len and any(known_brands(item_type(t)) for t in compared):  # vec.pyi hides `__len__` from mypy
        anything = AnyType(TypeOfAny.special_form)
        types = [anything if n == "key" else t for n, t in zip(sig.arg_names, sig.arg_types, strict=True)]
        return sig.copy_modified(arg_types=types)
    if key is not None:
        compared = [_key_type(key, compared, ctx)]
    elif name.startswith("builtins."):
        compared = [_without_values(t) for t in compared]
    if name in OF_ITSELF and any(map(known_brands, compared)):
        accepted: list[Type] = [AnyType(TypeOfAny.special_form)] * len(sig.arg_types)
        # np.shape is overloaded, and accepts tensors by itself
        return sig if name == "numpy.shape" else sig.copy_modified(arg_types=accepted)
    for t in compared:
        if known_brands(t):
            code, says = error_text(name)
            reject_batched(
                api, ctx.context, t, code, f"{name.removeprefix('builtins.')}: {says}", suggest_method(name, t)
            )
            anything = AnyType(TypeOfAny.from_error)
            result = t if name in BUILTINS and row_of(t) is not None else anything if key is not None else sig.ret_type
            kinds = [ARG_NAMED_OPT if k == ARG_NAMED else k for k in sig.arg_kinds]  # an overload may need a key
            types = [anything] * len(kinds)  # no Unpack[...] for `**kwargs`
            return sig.copy_modified(arg_types=types, arg_kinds=kinds, ret_type=result, unpack_kwargs=False)
    return sig


_ITEMS = ("_collections_abc.dict_items", "typing.ItemsView")


def _without_values(t: Type) -> Type:
    """Return the type of the keys of a dict or its items, which are all that a comparison reads; else the type."""
    p = get_proper_type(t)
    if isinstance(p, TypedDictType):
        return NoneType()
    if isinstance(p, Instance) and len(p.args) == 2 and p.type.fullname in (*CONTAINERS, *_ITEMS):
        return p.args[0]
    return t


def _key_type(key: Expression, types: Sequence[Type], ctx: FunctionSigContext | MethodSigContext) -> Type:
    """Return the type of `f(entry)` for `sorted(xs, key=f)`; for `max(x, y, key=f)` an entry is an argument."""
    api = checker(ctx)
    entry = item_type(types[0]) if len(types) == 1 else UnionType.make_union(types)
    with trying(api):
        return api.get_expression_type(synthetic_call(key, [entry], [Arg(entry)], ctx.context))


def _argument_types(expressions: Sequence[Expression], api: TypeChecker) -> list[Type]:
    with trying(api):
        return [api.get_expression_type(e) for e in expressions if not isinstance(e, LambdaExpr)]


def _function_name(callee: Expression | None) -> str:
    """Return a function's name without numpy's private modules."""
    name = str(getattr(callee, "fullname", "") or getattr(callee, "name", "the function"))
    if not name.startswith("numpy."):
        return name
    module = "numpy.linalg" if name.startswith("numpy.linalg.") else "numpy"
    return f"{module}.{name.rpartition('.')[2]}"


def error_text(name: str) -> tuple[ErrorCode, str]:
    if name.startswith("numpy."):
        return OPERAND, "a value that varies over {} cannot be read by numpy"
    if name in ("builtins.max", "builtins.min", "builtins.sorted", "sort"):
        return READ, "a value that varies over {} has no single truth value, which a comparison asks for"
    code = OPERAND if name == "builtins.round" else READ  # the other functions need a float
    return code, "a value that varies over {} is not a scalar"


def suggest_method(name: str, t: Type | None) -> str:
    """Return the equivalent method of Tensor."""
    if name in BUILTINS:
        return BUILTINS[name]
    method, p = name.rpartition(".")[2], get_proper_type(t)
    if isinstance(p, Instance) and row_of(p) is not None and as_vec(p).type.get(method) is not None:
        return f"x.{method}(...), the method of Tensor"
    if name.startswith("numpy."):
        return "return it from the mapped function, and give numpy the result"
    return "use the methods of Tensor instead"


def compares_fields(info: TypeInfo, method: str) -> bool:
    """Return whether a comparison of objects compares their fields, as in dataclasses and named tuples."""
    symbol = info.get(method)
    if symbol is None or method not in COMPARISONS:
        return False
    owner = getattr(symbol.node, "info", None)
    is_own = symbol.plugin_generated or not isinstance(owner, TypeInfo) or owner.fullname.startswith("builtins.")
    return is_own and (info.is_named_tuple or "dataclass" in info.metadata)


def power(ctx: MethodContext) -> Type:
    """Return float for `d ** -0.5` and int for `2 ** k`; typeshed has Any for both, and Any would hide brands."""
    types = [ctx.type, *(t for types in ctx.arg_types for t in types)]
    is_any = isinstance(get_proper_type(ctx.default_return_type), AnyType)
    if not is_any or not knows_us(checker(ctx)) or not all(map(_is_number, types)):
        return ctx.default_return_type
    name = "float" if any(map(_is_float, types)) else "int"
    return checker(ctx).named_generic_type(f"builtins.{name}", [])


LOGGED = {
    f"logging.{prefix}{name}"
    for prefix in ("", "Logger.", "LoggerAdapter.")
    for name in ("debug", "info", "warning", "error", "exception", "critical", "log")
}


def reject_logged(ctx: FunctionContext | MethodContext) -> Type:
    """Reject batched values for `%.3f` in `log.info("loss %.3f", x)`; for `%s` their text is the brands and shape."""
    given = dict(zip(ctx.callee_arg_names, zip(ctx.args, ctx.arg_kinds, strict=True), strict=True))
    (message, _), (values, kinds) = given.get("msg", ([], [])), given.get("args", ([], []))
    text = message[0].value if message and isinstance(message[0], StrExpr) else ""
    fields = [s for s in parse_conversion_specifiers(text) if s.conv_type != "%"]
    if any(s.has_star() or s.has_key() for s in fields) or any(k != ARG_POS for k in kinds):
        return ctx.default_return_type
    for s, e in zip(fields, values, strict=False):
        t = checker(ctx).get_expression_type(e)
        if s.conv_type not in ("s", "r", "a") and row_of(t) is not None and known_brands(t):
            says, fix = TEXTS["format"]
            reject_batched(checker(ctx), ctx.context, t, READ, f"format: {says}", fix)
            break
    return ctx.default_return_type


def _is_number(t: Type) -> bool:
    t = get_proper_type(t)
    if isinstance(t, UnionType):
        return all(map(_is_number, t.items))
    return isinstance(t, Instance) and t.type.fullname in ("builtins.int", "builtins.float", "builtins.bool")


def _is_float(t: Type) -> bool:
    t = get_proper_type(t)
    return isinstance(t, Instance) and t.type.fullname == "builtins.float"


_knows_us: dict[MypyFile, bool] = new_cache()


def knows_us(api: TypeChecker) -> bool:
    """Return whether this file imports branded or tinygrad, and is not one of them as an installed library.

    The plugin changes nothing in other files.
    """
    if api.tree not in _knows_us:
        _knows_us[api.tree] = _imports_us(api.tree) and not is_silent_library(api.tree, api.errors)
    return _knows_us[api.tree]


def _imports_us(tree: MypyFile) -> bool:
    for i in tree.imports:
        match i:
            case Import():
                names = [name for name, _ in i.ids]
            case ImportFrom() | ImportAll():
                names = [i.id]
            case _:
                names = []
        if any(name.split(".")[0] in ("branded", "tinygrad") for name in names):
            return True
    return False
