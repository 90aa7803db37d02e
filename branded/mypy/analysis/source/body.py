"""Follow batched values through the source of a function, and through the functions that it calls.

It finds reads and stores in functions of other files, whose bodies mypy may not keep. `ReadFinder` follows calls and
caches their `Effects`. `FunctionBody` follows the statements of one call.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from mypy.checker import TypeChecker
from mypy.nodes import (
    Decorator,
    FuncBase,
    FuncDef,
    MypyFile,
    Node,
    TypeInfo,
    Var,
)
from mypy.types import CallableType, Instance, Type, get_proper_type

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.function_source import (
    bound_count,
    full_name,
    named_arguments,
    source_of,
    without_decorator,
)
from branded.mypy.analysis.reads import METHODS, NUMBERS
from branded.mypy.analysis.searches import identity_searches
from branded.mypy.analysis.source_digest import Kept, file_version, keep, use
from branded.mypy.analysis.untyped_modules import is_untyped_module, module_of
from branded.mypy.rows.algebra import (
    CONTAINERS,
    TENSOR,
    VEC,
)
from branded.mypy.rows.batch_kinds import (
    BatchKind,
    Env,
    Made,
    above,
    below,
    display_kind,
    either_kind,
    entry_kind,
    field_names,
    is_generated,
    join_kinds,
    result_kind,
)

MOST_CALLS = 100
"""The maximum depth of calls to follow."""
_PREDICATES = {"isinstance", "issubclass", "hasattr", "callable", "len", "id", "type", "repr", "str", "print"}
"""Built-in functions that read no tensor and return none."""
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


def _certain_result(declared: BatchKind, effects: Effects) -> BatchKind:
    """Return the kind of a call's result, from its declared type and its body."""
    return declared if declared is BatchKind.PLAIN or effects.returned is BatchKind.HOLDS else effects.returned


class Effects(NamedTuple):
    """The effects of a followed call."""

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
class ReadFinder:
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
        """Follow a call, and return the kind of its result and its effects."""
        objects = objects or {}
        owner = owner if owner is not None and f.info in owner.mro else f.info or None
        used = max([*kinds.values(), *(o.holds for o in objects.values())], default=BatchKind.PLAIN)
        key = f, owner, frozenset(kinds.items()), frozenset((n, o.key()) for n, o in objects.items()), self.is_traced
        returned = f.type.ret_type if isinstance(f.type, CallableType) else None
        result = BatchKind.HOLDS if returned is None else result_kind(returned, used)
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
            body = FunctionBody(self, f, owner, module, dict(kinds))
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

    def _follow(self, body: FunctionBody, source: ast.FunctionDef) -> Effects:
        body.statements(source.body)
        if body.function.name == "__init__":
            made = body.object_at(own_name(body.function))
        else:
            made = body.made[0] if len(body.made) == 1 else None
        returned = either_kind(body.returned or [BatchKind.PLAIN])
        return Effects([*self.found], body.stores, made, body.changed, returned)


_followed: dict[Call, Kept[Effects]] = new_cache()
"""The effects of calls."""


@dataclass
class FunctionBody:
    """Follows the statements of one function."""

    finder: ReadFinder
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
        self.classes |= above(made.classes, name)
        self.env |= {**above(made.kinds, name), name: made.holds}

    def unbind(self, name: str) -> None:
        for n in [n for n in (*self.classes, *self.env) if n == name or n.startswith(f"{name}.")]:
            self.classes.pop(n, None)
            self.env.pop(n, None)

    def object_at(self, name: str) -> Made | None:
        if name not in self.classes:
            return None
        kinds = below(self.env, name)
        kinds.pop("", None)
        return Made(below(self.classes, name), kinds)

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
        if isinstance(node, FuncDef) and node.info.fullname != "builtins.object" and not is_generated(node):
            kinds, objects = self.arguments(e, node, args, named)
            if kinds is None:
                return BatchKind.HOLDS
            effects = self.finder.call(node, kinds, info, {**objects, own_name(node): made})[1]
            self.after(e, node, effects)
            made = effects.made or made
        elif "dataclass" in info.metadata or info.is_named_tuple:
            fields = field_names(info)
            if None in named or len(args) > len(fields) or any(isinstance(a, ast.Starred) for a in e.args):
                return BatchKind.HOLDS
            values = [*zip(fields, e.args, args, strict=False)]
            values += [(k.arg, k.value, named[k.arg]) for k in e.keywords if k.arg is not None]
            for name, value, kind in values:
                part = self.object_of(value)
                made.kinds.update({name: kind} if part is None else above(part.kinds, name))
                made.classes.update({} if part is None else above(part.classes, name))
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
                        self.set_target(t, value, kind)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.set_target(target, value, self.value(value))
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
                    self.assign(target, entry_kind(kind))
                    self.statements(body)
                    self.env = join_kinds(before, self.env)
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
                    self.env = join_kinds(before, after[0])
                    self.statements(h.body)
                    after.append(self.env)
                self.env = join_kinds(*after)
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
        self.env = join_kinds(*after)

    def branches(self, test: ast.expr, body: Callable[[], bool], orelse: Callable[[], bool]) -> None:
        """Follow a test and its branches; continue with the values of the branches that do not leave."""
        self.test(test)
        before, after = dict(self.env), []
        for branch, is_true in ((body, True), (orelse, False)):
            self.env = {**before, **dict.fromkeys(_plain_where(test, is_true), BatchKind.PLAIN)}
            if not branch():
                after.append(self.env)
        self.env = join_kinds(*after) if after else before

    def set_target(self, target: ast.expr, value: ast.expr, kind: BatchKind) -> None:
        """Follow `target = value`, where the value has this kind."""
        self.assign(target, kind)
        self.store(target, kind)
        if isinstance(target, ast.Name) and (made := self.object_of(value)) is not None:
            self.bind(target.id, made)

    def assign(self, target: ast.expr, kind: BatchKind) -> None:
        match target:
            case ast.Name(id=name):
                self.unbind(name)
                self.env[name] = kind
                self.rebound.add(name)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                for item in items:
                    self.assign(
                        item, min(kind, BatchKind.ENTRIES) if isinstance(item, ast.Starred) else entry_kind(kind)
                    )
            case ast.Starred(value=value):
                self.assign(value, kind)
            case ast.Attribute(value=value) | ast.Subscript(value=value):
                root = _root_name(value)
                if root is not None and kind is not BatchKind.PLAIN:
                    self.env[root] = max(self.env.get(root, BatchKind.PLAIN), BatchKind.HOLDS)
                if root is not None and root not in self.rebound:
                    self.changed.add(root)
                place = _path(target)
                if isinstance(target, ast.Attribute) and place is not None and _path(value) in self.classes:
                    self.unbind(place)
                    self.env[place] = kind

    def store(self, target: ast.expr, kind: BatchKind, into: bool = False) -> None:
        """Record where a value that is certainly batched is stored in a global or in an argument."""
        if kind < BatchKind.ENTRIES or not isinstance(target, ast.Attribute | ast.Subscript | ast.Name):
            return
        name = _root_name(target)
        if name is None or (isinstance(target, ast.Name) and not into):
            return
        container = target if into else target.value if isinstance(target, ast.Subscript) else None
        if container is not None and not _is_container(self.type_of(container)):
            return
        f = self.function
        is_own = f.name in ("__init__", "__post_init__") and f.info and name == f.arg_names[0]
        if not is_own and (outer := self.outer_name(target)) is not None:
            place = self.module.path, target.lineno, target.col_offset
            self.stores.setdefault(outer, [Read("", *place, f.name, ast.unparse(target))])

    def outer_name(self, e: ast.expr) -> str | None:
        """Return the key in `stores` of a value that outlives the call: a parameter, or "" for a global."""
        name = _root_name(e)
        if name is None or name in self.rebound:
            return None
        if name in self.function.arg_names:
            return name
        node = self.module.names[name].node if name in self.module.names else None
        return "" if name not in self.env and isinstance(node, Var) else None

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
        """Record the stores of a function that was called."""
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
            elif name in given and (outer := self.outer_name(given[name])) is not None:
                self.stores.setdefault(outer, [call, *reads])

    # expressions

    def read(self, what: str, at: ast.expr | ast.pattern) -> None:
        """Record the first read, after the calls that lead to it."""
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
                return max(whole if isinstance(index, ast.Slice) else entry_kind(whole), chosen)
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
                return either_kind(chosen_kinds)
            case ast.Call():
                return self.called(e)
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                return display_kind([self.value(item) for item in items])
            case ast.Dict(keys=keys, values=values):
                return min(self.most([*keys, *values]), BatchKind.HOLDS)
            case ast.Slice(lower=lower, upper=upper, step=step):
                return self.most([lower, upper, step])
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return display_kind([self.entries(e, [e.elt])])
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
            self.assign(c.target, entry_kind(self.value(c.iter)))
            for test in c.ifs:
                self.test(test)
        kind = self.most(of)
        self.env = before
        return kind

    def comparison(self, e: ast.Compare) -> BatchKind:
        kinds = [self.value(v) for v in (e.left, *e.comparators)]
        kind = BatchKind.PLAIN
        for op, left, right, node in zip(e.ops, kinds, kinds[1:], e.comparators, strict=False):
            if isinstance(op, ast.In | ast.NotIn):
                # sets compare hashes first
                if left is BatchKind.BATCHED and isinstance(node, ast.List | ast.Tuple):
                    path = self.module.path
                    if ("Compare", e.lineno, e.col_offset) not in identity_searches(path, file_version(path)):
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
            if (f := self.method_of(made, e.func.attr)) is None:
                return max(min(used, BatchKind.HOLDS), made.holds)
            kind = self.of_object(e, e.func.value, made, f, args, named)
            return max(used, made.holds) if kind is None else kind
        if (
            (made := self.object_of(e.func)) is not None
            and (f := self.method_of(made, "__call__")) is not None
            and (kind := self.of_object(e, e.func, made, f, args, named)) is not None
        ):
            return kind
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

    def of_object(
        self,
        e: ast.Call,
        owner: ast.expr,
        made: Made,
        f: FuncDef,
        args: Sequence[BatchKind],
        named: Mapping[str | None, BatchKind],
    ) -> BatchKind | None:
        """Follow the call of a method of an object; None if the arguments are unknown."""
        kinds, objects = self.arguments(e, f, args, named)
        if kinds is None:
            return None
        own = {own_name(f): made} if bound_count(f) else {}
        return self.run(e, f, kinds, {**objects, **own}, made.classes[""], owner)

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
        body = FunctionBody(self.finder, self.function, self.owner, self.module, env, others)
        body.statements(f.body)
        return either_kind(body.returned or [BatchKind.PLAIN])

    def of_method(self, name: str, base: BatchKind, used: BatchKind) -> BatchKind:
        """Return the kind of a method's result."""
        t = self.attribute_type(name)
        return min(used, BatchKind.HOLDS) if t is None or base is BatchKind.HOLDS else result_kind(t, used)

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
            kind = args[0] if name == "bool" else entry_kind(args[0])
            if kind is BatchKind.BATCHED:
                self.read("bool", tested)
            return BatchKind.PLAIN
        if name in _PREDICATES or name in _TESTING or f"builtins.{name}" in NUMBERS:
            return BatchKind.PLAIN
        if name in _SAME:
            return min(used, BatchKind.ENTRIES)
        return entry_kind(used) if name in ("abs", "pow", "sum") else BatchKind.HOLDS

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


def _root_name(e: ast.expr) -> str | None:
    """Return the variable whose attribute or entry an expression is: `x` for `x.y[0]`; None for other expressions."""
    while isinstance(e, ast.Attribute | ast.Subscript):
        e = e.value
    return e.id if isinstance(e, ast.Name) else None


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


def _plain_where(test: ast.expr, is_true: bool) -> Iterator[str]:
    """Find the names that hold no batched tensor if a test is true or false: `b is None`, `isinstance(x, float)`."""
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
