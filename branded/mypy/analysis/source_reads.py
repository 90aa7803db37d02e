"""Reads of batched values in functions of other files, found in their source.

mypy does not always keep the bodies of other files, so they cannot be checked again. This analysis follows the batched
arguments through the source. It reports a read only where the value is certain to be a batched tensor, so a function
that uses its arguments in ways that the analysis does not know is accepted.

    def scale(x: Tensor, k: float) -> Tensor:       x is batched: nothing reads it
        if x.ndim != 1 or k == 0: ...               `ndim` and `k` are the same for all examples
        return x / x.sum().item()                   a read, at this line
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple, TypeVar

from mypy.checker import TypeChecker
from mypy.errorcodes import TRUTHY_BOOL, ErrorCode
from mypy.nodes import (
    Context,
    Decorator,
    Expression,
    FuncBase,
    FuncDef,
    LambdaExpr,
    MypyFile,
    Node,
    RefExpr,
    TypeInfo,
    Var,
)
from mypy.plugin import FunctionContext, MethodContext
from mypy.types import CallableType, Instance, NoneType, TupleType, Type, UnionType, get_proper_type

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.external_calls import BUILTINS, error_text, suggest_method
from branded.mypy.analysis.function_source import (
    bound_count,
    bound_names,
    full_name,
    named_arguments,
    source_of,
    without_decorator,
)
from branded.mypy.analysis.memoize import type_of_call
from branded.mypy.analysis.reads import METHODS, NUMBERS, READ_TEXT, TEXTS, reject_brands
from branded.mypy.analysis.source_digest import Kept, file_version, keep, parse, use
from branded.mypy.analysis.untyped_modules import definition_of, is_untyped_module, module_of
from branded.mypy.codes import ESCAPE, READ
from branded.mypy.rows.algebra import (
    CONTAINERS,
    TENSOR,
    UNKNOWN,
    VEC,
    Brand,
    add_brands,
    each_row,
    holds_tensors,
    is_unbatched,
    row_of,
)
from branded.mypy.rows.brand_env import OpenBrands, checker, fail_at_once, trying
from branded.mypy.rows.callables import Arg, synthetic_call

MOST_CALLS = 100
"""The maximum depth of calls to follow."""

_PREDICATES = {"isinstance", "issubclass", "hasattr", "callable", "len", "id", "type", "repr", "str", "print"}
"""Built-in functions that read nothing and whose result is no tensor."""
_SPECIAL = {"float", "int", "bool", "len", "str", "complex"}
"""Built-in functions that call a method of their argument."""
PUTTERS = {"add", "append", "appendleft", "extend", "insert", "setdefault", "update"}
"""Methods that put a value into a container."""
_ARITHMETIC = {
    *("lt", "le", "eq", "ne", "ge", "gt", "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "neg"),
    *("pos", "and_", "or_", "xor", "inv", "invert"),
}
"""Functions of the module operator whose result is a tensor if an operand is one."""
_COMPARING = {"max", "min", "sorted"}
_TESTING = {"bool", "all", "any"}
_SAME = {"list", "tuple", "reversed", "iter"}
"""Built-in functions whose result has the entries of their argument."""
_NO_FLOATS = {"math", "cmath", "numpy"}
"""Modules whose functions read their arguments."""
_OF_SHAPE = {"shape", "ndim", "size"}
"""Functions of numpy that read only the shape."""


class BatchKind(IntEnum):
    """What a value is, by what is known of it."""

    PLAIN = 0
    """The same for all examples."""
    HOLDS = 1
    """It may be or hold a batched tensor."""
    ENTRIES = 2
    """It is a list or tuple of batched tensors."""
    BATCHED = 3
    """It is a batched tensor."""


class Read(NamedTuple):
    """A read in the source of a function."""

    what: str
    """The function or method that reads: `item`, `float`, `bool` for a truth value."""
    path: str
    line: int
    column: int
    function: str
    text: str

    def __str__(self) -> str:
        return f"{Path(self.path).name}:{self.line}, in `{self.function}`: {self.text}"


def kind_of(t: Type) -> BatchKind:
    """Return the kind of a value of this type, from its brands."""
    t = get_proper_type(t)
    if isinstance(t, UnionType):  # `if b:` tests the tensor of `Tensor | None`
        kinds = {kind_of(i) for i in t.items if not isinstance(get_proper_type(i), NoneType)}
        return kinds.pop() if len(kinds) == 1 else min(max(kinds, default=BatchKind.PLAIN), BatchKind.HOLDS)
    if (row := row_of(t)) is not None:
        return BatchKind.BATCHED if row else BatchKind.PLAIN
    entries = _entry_types(t)
    if entries and all(kind_of(i) is BatchKind.BATCHED for i in entries):
        return BatchKind.ENTRIES
    return BatchKind.HOLDS if any(each_row(t)) else BatchKind.PLAIN


def _entry_types(t: Type) -> list[Type]:
    """Return the types of the entries of a list or tuple; empty for other types."""
    t = get_proper_type(t)
    if isinstance(t, TupleType):
        return t.items
    is_sequence = isinstance(t, Instance) and t.type.fullname in CONTAINERS and len(t.args) == 1
    return list(t.args) if is_sequence and isinstance(t, Instance) else []


def reads_in(
    f: FuncDef,
    sig: CallableType,
    types: Sequence[Type],
    owner: TypeInfo | None,
    api: TypeChecker,
    is_traced: bool = False,
) -> list[Read]:
    """Return where a call of a function reads a batched value, from the called function to the read.

    Args:
        f: The called function.
        sig: Its signature as it is called: without `self`.
        types: The types of the parameters of `sig`, with the brands of the arguments.
        owner: The class of the method's object, if it is known.
        api: The type checker.
        is_traced: Whether the function is traced, so that functions with annotations for one example read nothing too.

    Returns:
        The read, after the calls that lead to it; empty if nothing certainly reads a value.
    """
    return effects_of(f, sig, types, owner, api, is_traced).reads


def effects_of(
    f: FuncDef,
    sig: CallableType,
    types: Sequence[Type],
    owner: TypeInfo | None,
    api: TypeChecker,
    is_traced: bool = False,
) -> Effects:
    """Return what a call of a function does with its batched values, with the parameters of `reads_in`."""
    kinds = {n: kind_of(t) for n, t in zip(sig.arg_names, types, strict=True) if n is not None}
    finder = _ReadFinder(api, is_traced)
    try:
        return finder.call(f, kinds, owner)[1]
    except RecursionError:
        return Effects([], {})


def reads_in_lambda(f: LambdaExpr, types: Sequence[Type], api: TypeChecker) -> list[Read]:
    """Return where a lambda reads a batched value in objects that it makes; mypy checks the other reads."""
    tree = parse(api.path, file_version(api.path))
    source = next((n for n in ast.walk(tree or ast.Module([], [])) if _is_at(n, f)), None)
    if not isinstance(source, ast.Lambda) or tree is None:
        return []
    around = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and _contains(n, source)]
    outer_names = {name for n in around for part in ast.walk(n) for name in bound_names(part)}
    names = [a.arg for a in (*source.args.posonlyargs, *source.args.args)]
    env = {**dict.fromkeys(outer_names, BatchKind.PLAIN), **dict(zip(names, map(kind_of, types), strict=False))}
    finder = _ReadFinder(api, is_traced=False)
    try:
        _Body(finder, FuncDef("<lambda>"), None, api.tree, env).value(source.body)
    except RecursionError:
        return []
    return finder.found


def _is_at(n: ast.AST, f: LambdaExpr) -> bool:
    return isinstance(n, ast.Lambda) and (n.lineno, n.col_offset) == (f.line, f.column)


def _contains(n: ast.stmt, e: ast.expr) -> bool:
    return n.lineno <= e.lineno <= (n.end_lineno or n.lineno)


def certain_reads(f: Node | None, api: TypeChecker, is_traced: bool = False) -> list[Read]:
    """Return where a function reads a value if its plain tensors are batched; empty for other nodes."""
    f = without_decorator(f, api)
    if not isinstance(f, FuncDef) or not isinstance(f.type, CallableType):
        return []
    sig = f.type.copy_modified(
        arg_types=f.type.arg_types[(n := bound_count(f)) :],
        arg_kinds=f.type.arg_kinds[n:],
        arg_names=f.type.arg_names[n:],
    )
    key = f, is_traced
    if key not in _certain:
        types = [add_brands(t, [UNKNOWN]) if is_unbatched(t) else NoneType() for t in sig.arg_types]
        _certain[key] = keep(lambda: reads_in(f, sig, types, f.info or None, api, is_traced))
    return use(_certain[key], api)


_certain: dict[tuple[FuncDef, bool], Kept[list[Read]]] = new_cache()


def report_read(reads: Sequence[Read], brands: Sequence[Brand], context: Context, api: TypeChecker) -> None:
    """Report a read in the source of a function, with the calls that lead to it."""
    code, says, fix = _read_text(reads[-1].what)
    context, facts = _place_and_facts(reads, context, api)
    reject_brands(api, context, brands, code, f"{reads[-1].what}: {says}", facts, fix)


def report_stored(places: Sequence[Read], brands: Sequence[Brand], context: Context, api: TypeChecker) -> None:
    """Report a batched value that a function of another file stores, with the calls that lead to it."""
    *calls, place = places
    facts = [*(f"calls: {c}" for c in calls), f"keeps: {place}"]
    message = "escape: a value that varies over {} is kept where it outlives the call"
    reject_brands(api, context, brands, ESCAPE, message, facts, "return it from the mapped function")


def report_traced_read(f: Expression, what: str, uses: str, context: Context, api: TypeChecker) -> None:
    """Report a read in a function that the transform `what` traces once for all of its `uses`."""
    reads = certain_reads(_function_at(f, api), api, is_traced=True)
    if not reads:
        return
    says = f"in the body of {what} there is no value to read: it is traced once, for all {uses}"
    context, facts = _place_and_facts(reads, context, api)
    fail_at_once(api, context, READ, f"{reads[-1].what}: {says}", *facts, _INSTEAD_OF_IF)


_INSTEAD_OF_IF = "try:   cond, where or while_loop in place of `if` and `while`; return the value and read it outside"


def report_jit_reads(ctx: FunctionContext | MethodContext, scope: OpenBrands) -> Type:
    """Report the reads in `f` for `jit(f)`."""
    api = checker(ctx)
    if not ctx.args or not ctx.args[0]:
        return ctx.default_return_type
    if isinstance(e := ctx.args[0][0], LambdaExpr) and not any(ctx.args[1:]):
        brand = scope.fresh("jit", ctx.context, api)
        vec = scope.instance(VEC, brand, scope.instance(TENSOR))
        call = synthetic_call(e, [vec] * len(e.arg_names), [Arg(vec)] * len(e.arg_names), ctx.context)
        with trying(api) as errors, scope.opened(brand):
            type_of_call(call, api)
        api.msg.add_errors([e for e in errors.filtered_errors() if e.code in (READ, TRUTHY_BOOL)])
    else:
        report_traced_read(ctx.args[0][0], "jit", "calls", ctx.context, api)
    return ctx.default_return_type


def report_lift_reads(f: Expression, rows: Sequence[Brand], context: Context, api: TypeChecker) -> None:
    """Report the reads in `f` for `lift(f)`."""
    if rows and (reads := certain_reads(_function_at(f, api), api, is_traced=True)):
        report_read(reads, rows, context, api)


def _function_at(e: Expression, api: TypeChecker) -> Node | None:
    """Return the function that an expression refers to; None if it is unknown."""
    t = get_proper_type(api.get_expression_type(e))
    return definition_of(t, e.node if isinstance(e, RefExpr) else None, api) if isinstance(t, CallableType) else None


def _read_text(name: str) -> tuple[ErrorCode, str, str]:
    """Return the code and the text of an error about a read, and the fix."""
    if name in {*METHODS, *TEXTS}:
        return READ, *TEXTS.get(name, READ_TEXT)
    full_name = f"builtins.{name}" if f"builtins.{name}" in BUILTINS else name
    return *error_text(full_name), suggest_method(full_name, None)


def _place_and_facts(reads: Sequence[Read], context: Context, api: TypeChecker) -> tuple[Context, list[str]]:
    """Return the read itself as the context if it is in this file, and the facts about it."""
    *calls, read = reads
    facts = [f"calls: {c}" for c in calls]
    return (Context(read.line, read.column), facts) if read.path == api.path else (context, [*facts, f"reads: {read}"])


def _result_kind(t: Type, used: BatchKind) -> BatchKind:
    """Return the kind of a result that is declared with this type, computed from arguments of the kind `used`."""
    if row_of(t) is not None:
        return BatchKind.BATCHED if used > BatchKind.HOLDS else used
    entries = _entry_types(t)
    if used is BatchKind.BATCHED and entries and all(row_of(i) is not None for i in entries):
        return BatchKind.ENTRIES
    return min(used, BatchKind.HOLDS) if holds_tensors(t) else BatchKind.PLAIN


def _certain_result(declared: BatchKind, effects: Effects) -> BatchKind:
    """Return the kind of a call's result, from its declared type and its body."""
    return declared if declared is BatchKind.PLAIN or effects.returned is BatchKind.HOLDS else effects.returned


def _entry(kind: BatchKind) -> BatchKind:
    """Return the kind of an entry of a value."""
    return BatchKind.BATCHED if kind is BatchKind.ENTRIES else kind


Env = dict[str, BatchKind]
"""The kinds of local variables, and of the attributes of objects: `point` and `point.x`.

Names that are missing are the same for all examples.
"""


class Made(NamedTuple):
    """An object that a followed function has made, as values below it: "" is the object, "x" its attribute."""

    classes: dict[str, TypeInfo]
    kinds: dict[str, BatchKind]

    def part(self, name: str) -> Made | None:
        """Return the object in an attribute; None if it is not known to be one."""
        if name not in self.classes:
            return None
        return Made(_below(self.classes, name), _below(self.kinds, name))

    def key(self) -> frozenset[tuple[str, TypeInfo | BatchKind]]:
        return frozenset([*self.classes.items(), *self.kinds.items()])

    @property
    def holds(self) -> BatchKind:
        return min(max(self.kinds.values(), default=BatchKind.PLAIN), BatchKind.HOLDS)


V = TypeVar("V")


def _below(values: Mapping[str, V], name: str) -> dict[str, V]:
    """Return the values below a name, without it."""
    return {
        n.removeprefix(name).removeprefix("."): v for n, v in values.items() if n == name or n.startswith(f"{name}.")
    }


def _above(values: Mapping[str, V], name: str) -> dict[str, V]:
    return {f"{name}.{n}" if n else name: v for n, v in values.items()}


class Effects(NamedTuple):
    """What a followed call does."""

    reads: list[Read]
    """The first read, after the calls that lead to it."""
    stores: dict[str, list[Read]]
    """Where it stores a batched value, by the parameter that holds the value afterwards; "" for a global."""
    made: Made | None = None
    """The object that it returns."""
    changed: Collection[str] | None = None
    """The parameters whose attributes it replaces; None if they are unknown."""
    returned: BatchKind = BatchKind.HOLDS


Call = tuple[FuncDef, TypeInfo | None, frozenset[tuple[str, BatchKind]], frozenset[tuple[str, object]], bool]
"""A function, the class of its object, the kinds of its arguments, its arguments that are objects, and whether it is
traced."""


@dataclass
class _ReadFinder:
    """Follows batched values through the source of functions."""

    api: TypeChecker
    is_traced: bool
    found: list[Read] = field(default_factory=list)
    running: list[FuncDef] = field(default_factory=list)
    begun: set[Call] = field(default_factory=set)
    """The calls that were followed."""
    lowest: int = MOST_CALLS
    """The position in `running` of the outermost function that a call in the current one has not followed again."""

    def call(
        self,
        f: FuncDef,
        kinds: Mapping[str, BatchKind],
        owner: TypeInfo | None = None,
        objects: Mapping[str, Made] | None = None,
    ) -> tuple[BatchKind, Effects]:
        """Follow a call, and return the kind of its result and what it does."""
        objects = objects or {}
        owner = owner if owner is not None and f.info in owner.mro else f.info or None
        used = max([*kinds.values(), *(o.holds for o in objects.values())], default=BatchKind.PLAIN)
        key = f, owner, frozenset(kinds.items()), frozenset((n, o.key()) for n, o in objects.items()), self.is_traced
        returned = f.type.ret_type if isinstance(f.type, CallableType) else None
        result = BatchKind.HOLDS if returned is None else _result_kind(returned, used)
        nothing = Effects([], {})
        if self.found or used is BatchKind.PLAIN:
            return result, nothing
        if f in self.running or len(self.running) == MOST_CALLS:
            self.lowest = min(self.lowest, self.running.index(f) if f in self.running else 0)
            return result, nothing
        if key not in _followed and key not in self.begun:
            module, source = module_of(f, self.api), source_of(f, self.api)
            if module is None or source is None:
                return result, nothing
            self.begun.add(key)
            around, self.lowest = self.lowest, MOST_CALLS
            self.running.append(f)
            body = _Body(self, f, owner, module, dict(kinds))
            for name, made in objects.items():
                body.bind(name, made)
            kept = keep(lambda: self._follow(body, source))
            self.running.pop()
            if self.lowest >= len(self.running):  # else the effects depend on the functions that are running
                _followed[key] = kept
            self.lowest = min(around, self.lowest)
            return _certain_result(result, kept[0]), kept[0]
        if key in _followed:
            effects = use(_followed[key], self.api)
            self.found += effects.reads
            return _certain_result(result, effects), effects
        return result, nothing

    def _follow(self, body: _Body, source: ast.FunctionDef) -> Effects:
        body.statements(source.body)
        if body.function.name == "__init__":
            made = body.object_at(own_name(body.function))
        else:
            made = body.made[0] if len(body.made) == 1 else None
        returned = _either(body.returned or [BatchKind.PLAIN])
        return Effects([*self.found], body.stores, made, body.changed, returned)


_followed: dict[Call, Kept[Effects]] = new_cache()
"""What calls do."""


@dataclass
class _Body:
    """Follows the statements of one function."""

    finder: _ReadFinder
    function: FuncDef
    owner: TypeInfo | None
    """The class of the method's object."""
    module: MypyFile
    env: Env
    nested: dict[str, ast.FunctionDef] = field(default_factory=dict)
    """The functions defined in the body."""
    returned: list[BatchKind] = field(default_factory=list)
    made: list[Made | None] = field(default_factory=list)
    """The objects that are returned."""
    classes: dict[str, TypeInfo] = field(default_factory=dict)
    """The classes of the objects in local variables."""
    results: dict[ast.AST, Made | None] = field(default_factory=dict)
    """The objects that calls return."""
    stores: dict[str, list[Read]] = field(default_factory=dict)
    rebound: set[str] = field(default_factory=set)
    """The names that the body assigns."""
    changed: set[str] = field(default_factory=set)
    """The names whose attributes or entries the body replaces."""

    # objects

    def bind(self, name: str, made: Made) -> None:
        """Let a name refer to an object."""
        self.unbind(name)
        self.classes |= _above(made.classes, name)
        self.env |= {**_above(made.kinds, name), name: made.holds}

    def unbind(self, name: str) -> None:
        for n in [n for n in (*self.classes, *self.env) if n == name or n.startswith(f"{name}.")]:
            self.classes.pop(n, None)
            self.env.pop(n, None)

    def object_at(self, name: str) -> Made | None:
        if name not in self.classes:
            return None
        kinds = _below(self.env, name)
        kinds.pop("", None)
        return Made(_below(self.classes, name), kinds)

    def object_of(self, e: ast.expr) -> Made | None:
        """Return the object that an expression, which has been followed, refers to; None if it is unknown."""
        match e:
            case ast.Name(id=name):
                return self.object_at(name)
            case ast.Attribute(value=base, attr=attr):
                owner = self.object_of(base)
                return owner.part(attr) if owner is not None else None
            case ast.Call():
                return self.results.get(e)
        return None

    def construct(
        self, e: ast.Call, info: TypeInfo, args: Sequence[BatchKind], named: Mapping[str | None, BatchKind]
    ) -> BatchKind:
        """Follow the call of a class."""
        init, made = info.get("__init__"), Made({"": info}, {})
        node = init.node if init is not None else None
        if isinstance(node, FuncDef) and node.info.fullname != "builtins.object" and not _is_generated(node):
            kinds, objects = self.arguments(e, node, args, named)
            if kinds is None:
                return BatchKind.HOLDS
            effects = self.finder.call(node, kinds, info, {**objects, own_name(node): made})[1]
            self.after(e, node, effects)
            made = effects.made or made
        elif "dataclass" in info.metadata or info.is_named_tuple:
            fields = _field_names(info)
            if None in named or len(args) > len(fields) or any(isinstance(a, ast.Starred) for a in e.args):
                return BatchKind.HOLDS
            values = [*zip(fields, e.args, args, strict=False)]
            values += [(k.arg, k.value, named[k.arg]) for k in e.keywords if k.arg is not None]
            for name, value, kind in values:
                part = self.object_of(value)
                made.kinds.update({name: kind} if part is None else _above(part.kinds, name))
                made.classes.update({} if part is None else _above(part.classes, name))
        self.results[e] = made
        return max([made.holds, *(min(k, BatchKind.HOLDS) for k in (*args, *named.values()))])

    def member_of(self, made: Made, name: str, e: ast.expr) -> BatchKind:
        """Follow an attribute or a property of an object, and return its kind."""
        if name in made.kinds:
            return made.kinds[name]
        symbol = made.classes[""].get(name)
        node = symbol.node if symbol is not None else None
        if isinstance(node, Decorator) and node.func.is_property:
            return self.run(e, node.func, {}, {own_name(node.func): made}, made.classes[""])
        return made.holds

    def method_of(self, made: Made, name: str) -> FuncDef | None:
        symbol = made.classes[""].get(name)
        node = without_decorator(symbol.node, self.finder.api) if symbol is not None else None
        return node if isinstance(node, FuncDef) and self.is_followed(node) and not node.is_class else None

    def is_followed(self, f: FuncDef) -> bool:
        return self.finder.is_traced or is_untyped_module(module_of(f, self.finder.api))

    def special(self, e: ast.expr, operand: ast.expr, name: str) -> None:
        """Follow a method that an operation calls: `__float__` for `float(x)`."""
        made = self.object_of(operand)
        if made is not None and (f := self.method_of(made, name)) is not None:
            self.run(e, f, {}, {own_name(f): made}, made.classes[""])

    # statements

    def statements(self, body: Iterable[ast.stmt]) -> bool:
        """Follow statements, and return whether the last one leaves the block."""
        for s in body:
            if self.finder.found:
                return True
            if self.statement(s):
                return True
        return False

    def statement(self, s: ast.stmt) -> bool:
        match s:
            case ast.Return(value=value):
                self.returned.append(self.optional(value))
                self.made.append(self.object_of(value) if value is not None else None)
                return True
            case ast.Raise(exc=value):
                self.optional(value)
                return True
            case ast.Continue() | ast.Break():
                return True
            case ast.Assign(targets=targets, value=value):
                kind = self.value(value)
                for t in targets:
                    if isinstance(t, ast.Tuple) and isinstance(value, ast.Tuple) and len(t.elts) == len(value.elts):
                        for item, k in zip(t.elts, [self.value(v) for v in value.elts], strict=True):
                            self.assign(item, k)
                    else:
                        self.assign(t, kind)
                        self.store(t, kind)
                        if isinstance(t, ast.Name) and (made := self.object_of(value)) is not None:
                            self.bind(t.id, made)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, kind := self.value(value))
                self.store(target, kind)
                if isinstance(target, ast.Name) and (made := self.object_of(value)) is not None:
                    self.bind(target.id, made)
            case ast.AugAssign(target=target, value=value):
                self.assign(target, max(self.value(value), self.value(target)))
            case ast.Expr(value=value):
                self.value(value)
            case ast.Assert(test=test):
                self.test(test)
            case ast.If(test=test, body=body, orelse=orelse):
                self.branches(test, lambda: self.statements(body), lambda: self.statements(orelse))
            case ast.While(test=test, body=body, orelse=orelse):
                for _ in range(2):  # the second time with the values that the body has assigned
                    self.branches(test, lambda: self.statements(body), lambda: False)
                self.statements(orelse)
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                kind = self.value(iterable)
                for _ in range(2):
                    before = dict(self.env)
                    self.assign(target, _entry(kind))
                    self.statements(body)
                    self.env = _join(before, self.env)
                self.statements(orelse)
            case ast.With(items=items, body=body):
                for opened in items:
                    kind = self.value(opened.context_expr)
                    if opened.optional_vars is not None:
                        self.assign(opened.optional_vars, kind)
                return self.statements(body)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                before = dict(self.env)
                self.statements([*body, *orelse])
                after = [self.env]
                for h in handlers:
                    self.env = _join(before, after[0])
                    self.statements(h.body)
                    after.append(self.env)
                self.env = _join(*after)
                return self.statements(final)
            case ast.Match(subject=subject, cases=cases):
                self.match(subject, cases)
            case ast.FunctionDef(name=name):
                self.env[name] = BatchKind.PLAIN
                self.nested[name] = s
        return False

    def match(self, subject: ast.expr, cases: Sequence[ast.match_case]) -> None:
        kind, before = self.value(subject), dict(self.env)
        after = [before]
        for c in cases:
            self.env = dict(before)
            values = c.pattern.patterns if isinstance(c.pattern, ast.MatchOr) else [c.pattern]
            if kind is BatchKind.BATCHED and any(isinstance(p, ast.MatchValue) for p in values):
                self.read("bool", c.pattern)
            for n in ast.walk(c.pattern):
                if isinstance(n, ast.MatchAs | ast.MatchStar) and n.name is not None:
                    self.env[n.name] = min(kind, BatchKind.HOLDS)
            if c.guard is not None:
                self.test(c.guard)
            if not self.statements(c.body):
                after.append(self.env)
        self.env = _join(*after)

    def branches(self, test: ast.expr, body: Callable[[], bool], orelse: Callable[[], bool]) -> None:
        """Follow a test and its branches; continue with the values of the branches that do not leave."""
        self.test(test)
        before, after = dict(self.env), []
        for branch, is_true in ((body, True), (orelse, False)):
            self.env = {**before, **dict.fromkeys(_plain_where(test, is_true), BatchKind.PLAIN)}
            if not branch():
                after.append(self.env)
        self.env = _join(*after) if after else before

    def assign(self, target: ast.expr, kind: BatchKind) -> None:
        match target:
            case ast.Name(id=name):
                self.unbind(name)
                self.env[name] = kind
                self.rebound.add(name)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                for item in items:
                    self.assign(item, min(kind, BatchKind.ENTRIES) if isinstance(item, ast.Starred) else _entry(kind))
            case ast.Starred(value=value):
                self.assign(value, kind)
            case ast.Attribute(value=value) | ast.Subscript(value=value):
                root: ast.AST = value
                while isinstance(root, ast.Attribute | ast.Subscript):
                    root = root.value
                if isinstance(root, ast.Name) and kind is not BatchKind.PLAIN:
                    self.env[root.id] = max(self.env.get(root.id, BatchKind.PLAIN), BatchKind.HOLDS)
                if isinstance(root, ast.Name) and root.id not in self.rebound:
                    self.changed.add(root.id)
                place = _path(target)
                if isinstance(target, ast.Attribute) and place is not None and _path(value) in self.classes:
                    self.unbind(place)
                    self.env[place] = kind

    def store(self, target: ast.expr, kind: BatchKind, into: bool = False) -> None:
        """Keep where a certainly batched value is stored in a global or in an argument."""
        if kind < BatchKind.ENTRIES or not isinstance(target, ast.Attribute | ast.Subscript | ast.Name):
            return
        root: ast.expr = target
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        if not isinstance(root, ast.Name) or (isinstance(target, ast.Name) and not into):
            return
        container = target if into else target.value if isinstance(target, ast.Subscript) else None
        if container is not None and not _is_container(self.type_of(container)):
            return
        f, name = self.function, root.id
        is_own = f.name in ("__init__", "__post_init__") and f.info and name == f.arg_names[0]
        if name in self.rebound or is_own:
            return
        node = self.module.names[name].node if name in self.module.names else None
        if name in f.arg_names or (name not in self.env and isinstance(node, Var)):
            place = self.module.path, target.lineno, target.col_offset
            read = Read("", *place, f.name, ast.unparse(target))
            self.stores.setdefault(name if name in f.arg_names else "", [read])

    def type_of(self, e: ast.expr) -> Type | None:
        """Return the type of a parameter, of a global, or of an attribute of the method's object."""
        f = self.function
        node: Node | None = None
        match e:
            case ast.Name(id=name) if name in f.arg_names and isinstance(f.type, CallableType):
                return f.type.arg_types[f.arg_names.index(name)]
            case ast.Name(id=name):
                node = self.module.names[name].node if name in self.module.names else None
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if f.info and owner == f.arg_names[0]:
                symbol = f.info.get(name)
                node = symbol.node if symbol is not None else None
        return node.type if isinstance(node, Var) else None

    def after(self, e: ast.Call, f: FuncDef, effects: Effects, owner: ast.expr | None = None) -> None:
        """Keep the stores of a function that was called."""
        call = Read("", self.module.path, e.lineno, e.col_offset, self.function.name, ast.unparse(e))
        given = dict(named_arguments(e, f.arg_names[bound_count(f) :]))
        if bound_count(f) and owner is not None:
            given[f.arg_names[0]] = owner
        for name, value in given.items():
            if effects.changed is None or name in effects.changed:
                self.forget(value)
                if (path := _path(value)) is not None and (root_name := path.partition(".")[0]) not in self.rebound:
                    self.changed.add(root_name)
        for name, reads in effects.stores.items():
            if not name:
                self.stores.setdefault("", [call, *reads])
            elif (value_given := given.get(name)) is not None:
                root: ast.expr = value_given
                while isinstance(root, ast.Attribute | ast.Subscript):
                    root = root.value
                if isinstance(root, ast.Name) and root.id not in self.rebound:
                    node = self.module.names[root.id].node if root.id in self.module.names else None
                    if root.id in self.function.arg_names:
                        self.stores.setdefault(root.id, [call, *reads])
                    elif root.id not in self.env and isinstance(node, Var):
                        self.stores.setdefault("", [call, *reads])

    # expressions

    def read(self, what: str, at: ast.expr | ast.pattern) -> None:
        """Keep the first read, after the calls that lead to it."""
        if not self.finder.found:
            text = ast.unparse(at) if isinstance(at, ast.expr) else f"case {ast.unparse(at)}"
            place = self.module.path, at.lineno, at.col_offset
            self.finder.found.append(Read(what, *place, self.function.name, text))

    def optional(self, e: ast.expr | None) -> BatchKind:
        return BatchKind.PLAIN if e is None else self.value(e)

    def most(self, parts: Iterable[ast.expr | None]) -> BatchKind:
        return max([self.optional(p) for p in parts], default=BatchKind.PLAIN)

    def test(self, e: ast.expr) -> BatchKind:
        """Follow an expression whose truth value is needed."""
        if isinstance(e, ast.BoolOp):
            return max([self.test(v) for v in e.values])
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
            return self.test(e.operand)
        if (kind := self.value(e)) is BatchKind.BATCHED:
            self.read("bool", e)
        self.special(e, e, "__bool__")
        return kind

    def value(self, e: ast.expr) -> BatchKind:
        """Follow an expression, and return its kind."""
        match e:
            case ast.Name(id=name):
                return self.env.get(name, BatchKind.PLAIN)
            case ast.Attribute(value=base, attr=attr):
                kind = self.value(base)
                if (made := self.object_of(base)) is not None:
                    return self.member_of(made, attr, e)
                return self.of_method(attr, kind, kind) if kind else kind
            case ast.Subscript(value=base, slice=index):
                whole, chosen = self.value(base), min(self.value(index), BatchKind.HOLDS)
                return max(whole if isinstance(index, ast.Slice) else _entry(whole), chosen)
            case ast.BoolOp(values=[*tested, last]):
                return max([*map(self.test, tested), self.value(last)])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.test(operand)
                return BatchKind.PLAIN
            case ast.UnaryOp(operand=operand):
                return self.value(operand)
            case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod(), right=right):
                self.value(right)
                return BatchKind.PLAIN
            case ast.BinOp(left=left, right=right):
                kinds = [self.value(left), self.value(right)]
                return (
                    min(max(kinds), BatchKind.HOLDS) if BatchKind.ENTRIES in kinds and len({*kinds}) > 1 else max(kinds)
                )
            case ast.Compare():
                return self.comparison(e)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                chosen_kinds: list[BatchKind] = []
                self.branches(test, lambda: self.keep(chosen_kinds, body), lambda: self.keep(chosen_kinds, orelse))
                return _either(chosen_kinds)
            case ast.Call():
                return self.called(e)
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                return _display([self.value(item) for item in items])
            case ast.Dict(keys=keys, values=values):
                return min(self.most([*keys, *values]), BatchKind.HOLDS)
            case ast.Slice(lower=lower, upper=upper, step=step):
                return self.most([lower, upper, step])
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return _display([self.entries(e, [e.elt])])
            case ast.DictComp(key=key, value=value):
                return min(self.entries(e, [key, value]), BatchKind.HOLDS)
            case ast.Starred(value=value) | ast.NamedExpr(value=value):
                kind = self.value(value)
                if isinstance(e, ast.NamedExpr):
                    self.assign(e.target, kind)
                return kind
            case ast.JoinedStr(values=values):
                for v in values:
                    if isinstance(v, ast.FormattedValue) and self.value(v.value) is BatchKind.BATCHED and v.format_spec:
                        self.read("format", ast.copy_location(ast.JoinedStr([v]), e))
            case ast.Await(value=value) | ast.YieldFrom(value=value):
                return self.value(value)
            case ast.Yield(value=optional):
                return self.optional(optional)
        return BatchKind.PLAIN

    def keep(self, kinds: list[BatchKind], e: ast.expr) -> bool:
        kinds.append(self.value(e))
        return False

    def entries(self, e: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, of: list[ast.expr]) -> BatchKind:
        """Return the kind of a comprehension's entries."""
        before = dict(self.env)
        for c in e.generators:
            self.assign(c.target, _entry(self.value(c.iter)))
            for test in c.ifs:
                self.test(test)
        kind = self.most(of)
        self.env = before
        return kind

    def comparison(self, e: ast.Compare) -> BatchKind:
        kinds = [self.value(v) for v in (e.left, *e.comparators)]
        kind = BatchKind.PLAIN
        nodes = [e.left, *e.comparators]
        for op, left, right, first, node in zip(e.ops, kinds, kinds[1:], nodes, e.comparators, strict=False):
            if isinstance(op, ast.In | ast.NotIn):
                is_first = isinstance(node, ast.List | ast.Tuple) and node.elts and _is_same(node.elts[0], first)
                if left is BatchKind.BATCHED and isinstance(node, ast.List | ast.Tuple | ast.Set) and not is_first:
                    self.read("bool", e)
            elif not isinstance(op, ast.Is | ast.IsNot):
                kind = max(left, right)
                if kind is BatchKind.BATCHED and len(e.ops) > 1 and op is not e.ops[-1]:
                    self.read("bool", e)
        return kind

    def attribute_type(self, name: str) -> Type | None:
        """Return the type of an attribute of a Vec, or the result of a method; None if it has no such attribute."""
        module = self.finder.api.modules.get(VEC.rpartition(".")[0])
        vec = module.names["Vec"].node if module is not None else None
        symbol = vec.get(name) if isinstance(vec, TypeInfo) else None
        node = symbol.node if symbol is not None else None
        t = node.func.type if isinstance(node, Decorator) else node.type if isinstance(node, FuncBase | Var) else None
        t = get_proper_type(t) if t is not None else None
        return t.ret_type if isinstance(t, CallableType) else t

    # calls

    def called(self, e: ast.Call) -> BatchKind:
        """Follow a call, and return the kind of its result."""
        base = self.value(e.func.value) if isinstance(e.func, ast.Attribute) else BatchKind.PLAIN
        args = [self.value(a) for a in e.args]
        named = {k.arg: self.value(k.value) for k in e.keywords}
        used = max([base, *args, *named.values()])
        self.results.pop(e, None)
        if isinstance(e.func, ast.Attribute) and (made := self.object_of(e.func.value)) is not None:
            if (f := self.method_of(made, e.func.attr)) is not None:
                kinds, objects = self.arguments(e, f, args, named)
                if kinds is None:
                    return max(used, made.holds)
                own = {own_name(f): made} if bound_count(f) else {}
                return self.run(e, f, kinds, {**objects, **own}, made.classes[""], e.func.value)
            return max(min(used, BatchKind.HOLDS), made.holds)
        if (made := self.object_of(e.func)) is not None and (f := self.method_of(made, "__call__")) is not None:
            kinds, objects = self.arguments(e, f, args, named)
            if kinds is not None:
                return self.run(e, f, kinds, {**objects, own_name(f): made}, made.classes[""], e.func)
        if isinstance(e.func, ast.Attribute) and e.func.attr in PUTTERS and base is not BatchKind.BATCHED:
            self.store(e.func.value, max([*args, *named.values()], default=BatchKind.PLAIN), into=True)
        if isinstance(e.func, ast.Attribute) and base:
            if base is BatchKind.BATCHED and e.func.attr in METHODS:
                self.read(e.func.attr, e)
            return self.of_method(e.func.attr, base, used)
        node = self.resolve(e.func)
        if isinstance(node, TypeInfo) and used and is_untyped_module(self.finder.api.modules.get(node.module_name)):
            return self.construct(e, node, args, named)
        if isinstance(e.func, ast.Name) and e.func.id in _SPECIAL and e.args and e.func.id not in self.env:
            self.special(e, e.args[0], f"__{e.func.id}__")
        if not used:
            return BatchKind.PLAIN
        if isinstance(e.func, ast.Name) and e.func.id in self.nested:
            return self.of_nested(self.nested[e.func.id], args, named)
        name = self.full_name(e.func)
        if isinstance(node, FuncDef) and self.is_followed(node):
            return self.followed(e, node, args, named)
        if isinstance(e.func, ast.Name) and node is None and e.func.id not in self.env:
            return self.built_in(e, e.func.id, args, used)
        for value in (*e.args, *(k.value for k in e.keywords)):
            self.forget(value)
        module, _, short = name.rpartition(".")
        if module in ("operator", "_operator") and short in _ARITHMETIC and max(args, default=0) is BatchKind.BATCHED:
            return BatchKind.BATCHED
        if name.partition(".")[0] in _NO_FLOATS and BatchKind.BATCHED in args and short not in _OF_SHAPE:
            self.read(name, e)
        return self.of_method(short, used, used) if module == TENSOR else BatchKind.HOLDS

    def of_nested(
        self, f: ast.FunctionDef, args: Sequence[BatchKind], named: Mapping[str | None, BatchKind]
    ) -> BatchKind:
        """Follow a call of a function that the body defines."""
        names = [a.arg for a in (*f.args.posonlyargs, *f.args.args)]
        if f.decorator_list or len(args) > len(names) or None in named:
            return BatchKind.HOLDS
        env = {**self.env, **dict.fromkeys(names, BatchKind.PLAIN), **dict(zip(names, args, strict=False))}
        env |= {n: k for n, k in named.items() if n is not None}
        others = {n: g for n, g in self.nested.items() if g is not f}  # recursion is not followed
        body = _Body(self.finder, self.function, self.owner, self.module, env, others)
        body.statements(f.body)
        return _either(body.returned or [BatchKind.PLAIN])

    def of_method(self, name: str, base: BatchKind, used: BatchKind) -> BatchKind:
        """Return the kind of a method's result."""
        t = self.attribute_type(name)
        return min(used, BatchKind.HOLDS) if t is None or base is BatchKind.HOLDS else _result_kind(t, used)

    def followed(
        self, e: ast.Call, f: FuncDef, args: Sequence[BatchKind], named: Mapping[str | None, BatchKind]
    ) -> BatchKind:
        """Follow a call of a function whose source may be read."""
        kinds, objects = self.arguments(e, f, args, named)
        if kinds is None:
            return BatchKind.HOLDS
        owner = e.func.value if isinstance(e.func, ast.Attribute) else None
        return self.run(e, f, kinds, objects, self.owner, owner)

    def arguments(
        self, e: ast.Call, f: FuncDef, args: Sequence[BatchKind], named: Mapping[str | None, BatchKind]
    ) -> tuple[dict[str, BatchKind] | None, dict[str, Made]]:
        """Return the kinds of arguments by parameter, and the arguments that are objects; None if they are unknown."""
        parameters = f.arg_names[bound_count(f) :]
        if any(isinstance(a, ast.Starred) for a in e.args) or None in named or len(args) > len(parameters):
            return None, {}
        kinds = {n: k for n, k in zip(parameters, args, strict=False) if n is not None}
        kinds |= {n: k for n, k in named.items() if n is not None}
        given = [*zip(parameters, e.args, strict=False), *((k.arg, k.value) for k in e.keywords)]
        return kinds, {n: made for n, v in given if n is not None and (made := self.object_of(v)) is not None}

    def run(
        self,
        e: ast.expr,
        f: FuncDef,
        kinds: Mapping[str, BatchKind],
        objects: Mapping[str, Made],
        of: TypeInfo | None,
        owner: ast.expr | None = None,
    ) -> BatchKind:
        """Follow a call of a function, and return the kind of its result."""
        had = bool(self.finder.found)
        result, effects = self.finder.call(f, kinds, of, objects)
        if self.finder.found and not had:
            self.finder.found.insert(
                0, Read("", self.module.path, e.lineno, e.col_offset, self.function.name, ast.unparse(e))
            )
        if isinstance(e, ast.Call):
            self.results[e] = effects.made if f.name != "__init__" else None
            self.after(e, f, effects, owner)
        return result

    def forget(self, e: ast.expr) -> None:
        """Forget the attributes of an object that a call may have changed."""
        if (path := _path(e)) is not None and path in self.classes:
            self.unbind(path)
            self.env[path] = BatchKind.HOLDS

    def built_in(self, e: ast.Call, name: str, args: Sequence[BatchKind], used: BatchKind) -> BatchKind:
        """Follow a call of a built-in function."""
        if f"builtins.{name}" in NUMBERS and BatchKind.BATCHED in args:
            self.read(NUMBERS[f"builtins.{name}"], e)
        elif name in _COMPARING and max(args) >= BatchKind.ENTRIES and not any(k.arg == "key" for k in e.keywords):
            self.read(name, e)
        elif name in _TESTING and args:
            tested = e.args[0]
            kind = args[0] if name == "bool" else _entry(args[0])
            if kind is BatchKind.BATCHED:
                self.read("bool", tested)
            return BatchKind.PLAIN
        if name in _PREDICATES or name in _TESTING or f"builtins.{name}" in NUMBERS:
            return BatchKind.PLAIN
        if name in _SAME:
            return min(used, BatchKind.ENTRIES)
        return _entry(used) if name in ("abs", "pow", "sum") else BatchKind.HOLDS

    def resolve(self, func: ast.expr) -> Node | None:
        """Return the function or class that a call refers to; None if it is unknown."""
        match func:
            case ast.Name(id=name) if name not in self.env:
                symbol = self.module.names.get(name)
                return symbol.node if symbol is not None else None
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                return self.member(owner, name)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=[]), attr=name) if self.owner:
                bases = self.owner.mro[self.owner.mro.index(self.function.info) + 1 :]
                return next((c.names[name].node for c in bases if name in c.names), None)
        return None

    def member(self, owner: str, name: str) -> Node | None:
        """Return a member of a module, of a class, or of the method's object."""
        if self.owner and not self.function.is_static and owner == self.function.arg_names[0]:
            symbol = self.owner.get(name)
        else:
            outer = self.module.names.get(owner)
            node = outer.node if outer is not None and owner not in self.env else None
            names = node.names if isinstance(node, MypyFile | TypeInfo) else {}
            symbol = names.get(name)
        return without_decorator(symbol.node, self.finder.api) if symbol is not None else None

    def full_name(self, func: ast.expr) -> str:
        """Return the full name of a function that a call refers to; empty if it is unknown."""
        root = func
        while isinstance(root, ast.Attribute):
            root = root.value
        is_global = isinstance(root, ast.Name) and root.id not in self.env
        return full_name(func, self.module, self.finder.api) if is_global else ""


def _is_same(a: ast.expr, b: ast.expr) -> bool:
    return isinstance(a, ast.Name) and isinstance(b, ast.Name) and a.id == b.id


def own_name(f: FuncDef) -> str:
    """Return the name of a method's object."""
    return (f.arg_names or [""])[0] or ""


def _path(e: ast.expr) -> str | None:
    """Return the name of a variable or of its attribute: `point.x`; None for other expressions."""
    match e:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=base, attr=attr):
            path = _path(base)
            return path and f"{path}.{attr}"
    return None


def _is_container(t: Type | None) -> bool:
    p = get_proper_type(t) if t is not None else None
    return isinstance(p, Instance) and p.type.fullname in (*CONTAINERS, "builtins.set")


def _is_generated(f: FuncDef) -> bool:
    """Return whether a method was added by mypy: `__init__` of a dataclass."""
    symbol = f.info.names.get(f.name)
    return symbol is not None and symbol.plugin_generated


def _field_names(info: TypeInfo) -> list[str]:
    """Return the parameters of a dataclass or a NamedTuple."""
    init = info.get("__new__" if info.is_named_tuple else "__init__")
    node = init.node if init is not None else None
    return [n for n in node.arg_names[1:] if n is not None] if isinstance(node, FuncDef) else []


def _join(*envs: Env) -> Env:
    """Return the kinds after branches: a value is certain to be batched only if it is in all of them."""
    joined = Env()
    for name in {n for env in envs for n in env}:
        joined[name] = _either([env.get(name, BatchKind.PLAIN) for env in envs])
    return joined


def _either(kinds: Collection[BatchKind]) -> BatchKind:
    """Return the kind of a value that has one of these kinds."""
    return max(kinds) if len({*kinds}) == 1 else min(max(kinds), BatchKind.HOLDS)


def _display(kinds: Collection[BatchKind]) -> BatchKind:
    """Return the kind of a list or tuple with entries of these kinds."""
    if kinds and all(k is BatchKind.BATCHED for k in kinds):
        return BatchKind.ENTRIES
    return min(max(kinds, default=BatchKind.PLAIN), BatchKind.HOLDS)


def _plain_where(test: ast.expr, is_true: bool) -> Iterator[str]:
    """Find the names that hold no batched tensor where a test is true or false: `b is None`, `isinstance(x, float)`."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _plain_where(operand, not is_true)
        case ast.Compare(
            left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]
        ):
            if isinstance(op, ast.Is) is is_true:
                yield name
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), ast.Name(id="Tensor")]):
            if not is_true:
                yield name
        case ast.Call(func=ast.Name(id="isinstance" | "hasattr" | "callable"), args=[ast.Name(id=name), *_]):
            yield name
        case ast.BoolOp(values=values):
            for v in values:
                yield from _plain_where(v, is_true)
