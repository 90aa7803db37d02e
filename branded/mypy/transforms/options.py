"""The options of a vmap: reading and validation."""

from __future__ import annotations

import difflib
from typing import NamedTuple

from mypy.checker import TypeChecker
from mypy.nodes import ARG_POS, ARG_STAR, ARG_STAR2, CallExpr, Context, Expression, StrExpr, TempNode
from mypy.types import AnyType, CallableType, FunctionLike, Instance, NoneType, Type, get_proper_type

from branded.mypy.codes import ERROR, OPTION
from branded.mypy.rows.algebra import UNKNOWN, is_a
from branded.mypy.rows.reporting import fail, show
from branded.mypy.transforms import in_axes as axes

DECORATOR, MAPPED = "branded.core.vmap._Decorator", "branded.core.vmap._Mapped"


class VmapOptions(NamedTuple):
    """The options of a vmap."""

    in_axes: Type
    out_axes: Type
    axis_name: Expression | None = None
    axis_size: bool = False
    is_repeat: bool = True
    """Whether an unbatched result may be intended: an option about results, names or sizes was passed."""


_OF_RUNNING = ("memory_limit", "progress", "save", "devices", "strict")
OPTIONS = ("in_axes", "out_axes", "axis_name", "axis_size", "chunk_size", "randomness", *_OF_RUNNING)


def options_of(call: CallExpr, api: TypeChecker) -> VmapOptions:
    """Return the options of `vmap(f, …)`; in_axes and out_axes may be positional."""
    expressions: dict[str, Expression] = {}
    for i, (e, kind, name) in enumerate(zip(call.args, call.arg_kinds, call.arg_names, strict=True)):
        if kind in (ARG_STAR, ARG_STAR2):
            api.note("vmap: options passed by `**` are not checked", call, code=ERROR)
        elif kind == ARG_POS and i > 2:
            fail(api, call, ERROR, f"vmap: {len(call.args)} arguments, but it takes at most 3", "try:   vmap(f)(x)")
        elif kind == ARG_POS and i > 0:
            expressions[OPTIONS[i - 1]] = e
        elif name in OPTIONS:
            expressions[name] = e
        elif name is not None and name != "f":
            like = difflib.get_close_matches(name, OPTIONS, 1)
            fix = f"try:   {like[0] if like else ', '.join(OPTIONS)}"
            fail(api, call, ERROR, f"vmap: there is no option {name}", fix)
    for name, wanted in KINDS.items():
        t = get_proper_type(api.get_expression_type(expressions[name])) if name in expressions else NoneType()
        kind_of = t.type.fullname if isinstance(t, Instance) else "type" if isinstance(t, FunctionLike) else None
        literal = expressions.get(name)
        text = literal.value if isinstance(literal, StrExpr) else None
        number = t.last_known_value.value if isinstance(t, Instance) and t.last_known_value is not None else None
        is_small = isinstance(number, int) and number < LEAST.get(name, number)
        if (kind_of and kind_of not in wanted) or text not in TEXTS.get(name, (text,)) or is_small:
            what, fix = wanted[-1].split(": ")
            given = repr(text) if text is not None else str(number) if is_small else show(t, api)
            fail(api, call, OPTION, f"{name}: {given} is not a {what}", f"try:   use {fix}")
    in_axes, out_axes = (axes.tree_of(expressions.get(n), api) for n in ("in_axes", "out_axes"))
    is_repeat = bool(expressions.keys() - {"in_axes", "chunk_size", *_OF_RUNNING})
    return VmapOptions(in_axes, out_axes, expressions.get("axis_name"), "axis_size" in expressions, is_repeat)


TEXTS = {"randomness": (None, "error", "same", "different"), "chunk_size": (None, "auto")}
"""The allowed values of a string literal."""
LEAST = {"axis_size": 0, "chunk_size": 1}
"""The smallest allowed numbers."""
KINDS = {
    "axis_name": ("builtins.str", "type", "name: a string, or a subclass of Brand"),
    "axis_size": ("builtins.int", "size: an int of 0 or more"),
    "chunk_size": ("builtins.int", "builtins.str", "size: an int of 1 or more, or 'auto'"),
    "memory_limit": ("builtins.int", "builtins.str", "memory size: bytes, or '2GB'"),
    "progress": ("builtins.bool", "valid choice: True or False"),
    "strict": ("builtins.bool", "choice: True or False"),
    "randomness": ("builtins.str", "valid choice: 'error', 'same' or 'different'"),
}
"""The types of the options, followed by the description for messages."""


def mapped_function(call: CallExpr) -> Expression | None:
    """Return the `f` of `vmap(f, …)`."""
    for i, (e, kind, name) in enumerate(zip(call.args, call.arg_kinds, call.arg_names, strict=True)):
        if (i == 0 and kind == ARG_POS) or name == "f":
            return e
    return None


def has_options(f: CallableType) -> bool:
    """Return whether a function has the options of vmap."""
    return {"in_axes", "out_axes", "axis_name"} <= set(f.arg_names)


def options_at(call: CallExpr, api: TypeChecker) -> VmapOptions:
    """Return the options of `vmap(f, …)` or `vmap(…)(f)`."""
    decorator: Type = get_proper_type(api.get_expression_type(call.callee))
    if is_a(decorator, DECORATOR):
        return kept_options(decorator, call)
    return options_of(call, api)


def kept_options(decorator: Instance, context: Context) -> VmapOptions:
    """Return the options that a `vmap(…)` decorator keeps in its type."""
    in_axes, out_axes, name = decorator.args
    axis_name = None if isinstance(get_proper_type(name), NoneType | AnyType) else TempNode(name, context=context)
    return VmapOptions(in_axes, out_axes, axis_name)


def accept_any_options(sig: CallableType) -> CallableType:
    """Return the signature of vmap with any options: `options_of` validates them."""
    if len(sig.arg_types) == 1:  # a decorator, which already has its options
        return sig
    types, kinds = [sig.arg_types[0], UNKNOWN, UNKNOWN], [sig.arg_kinds[0], ARG_STAR, ARG_STAR2]
    return sig.copy_modified(arg_types=types, arg_kinds=kinds, arg_names=[sig.arg_names[0], None, None])


def default_options(api: TypeChecker) -> VmapOptions:
    zero = axes.tree_of(None, api)
    return VmapOptions(zero, zero, is_repeat=False)
