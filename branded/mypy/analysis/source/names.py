"""The values that the names in the body of a function refer to."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from mypy.checker import TypeChecker
from mypy.nodes import FuncDef, MypyFile, Node, TypeInfo, Var
from mypy.types import CallableType, Instance, Type, get_proper_type

from branded.mypy.analysis.function_source import full_name, without_decorator
from branded.mypy.analysis.source.effects import Effects, Read
from branded.mypy.analysis.untyped_modules import is_untyped_module, module_of
from branded.mypy.rows.algebra import CONTAINERS
from branded.mypy.rows.batch_kinds import BatchKind, Env, Made, above, below, entry_kind


class Finder(Protocol):
    """The part of `ReadFinder` that a body uses: it follows the calls of other functions."""

    api: TypeChecker
    is_traced: bool
    found: list[Read]

    def call(
        self,
        f: FuncDef,
        kinds: Mapping[str, BatchKind],
        owner: TypeInfo | None = None,
        objects: Mapping[str, Made] | None = None,
    ) -> tuple[BatchKind, Effects]: ...


@dataclass(eq=False, repr=False, match_args=False)
class BodyNames:
    """The values of the names in the body of one function."""

    finder: Finder
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

    def forget(self, e: ast.expr) -> None:
        """Forget the attributes of an object that a call may have changed."""
        if (path := path_of(e)) is not None and path in self.classes:
            self.unbind(path)
            self.env[path] = BatchKind.HOLDS

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
                root = root_name(value)
                if root is not None and kind is not BatchKind.PLAIN:
                    self.env[root] = max(self.env.get(root, BatchKind.PLAIN), BatchKind.HOLDS)
                if root is not None and root not in self.rebound:
                    self.changed.add(root)
                place = path_of(target)
                if isinstance(target, ast.Attribute) and place is not None and path_of(value) in self.classes:
                    self.unbind(place)
                    self.env[place] = kind

    def set_target(self, target: ast.expr, value: ast.expr, kind: BatchKind) -> None:
        """Follow `target = value`, where the value has this kind."""
        self.assign(target, kind)
        self.store(target, kind)
        if isinstance(target, ast.Name) and (made := self.object_of(value)) is not None:
            self.bind(target.id, made)

    def store(self, target: ast.expr, kind: BatchKind, into: bool = False) -> None:
        """Record where a value that is certainly batched is stored in a global or in an argument."""
        if kind < BatchKind.ENTRIES or not isinstance(target, ast.Attribute | ast.Subscript | ast.Name):
            return
        name = root_name(target)
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
        name = root_name(e)
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

    def read(self, what: str, at: ast.expr | ast.pattern) -> None:
        """Record the first read, after the calls that lead to it."""
        if not self.finder.found:
            text = ast.unparse(at) if isinstance(at, ast.expr) else f"case {ast.unparse(at)}"
            place = self.module.path, at.lineno, at.col_offset
            self.finder.found.append(Read(what, *place, self.function.name, text))

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

    def method_of(self, made: Made, name: str) -> FuncDef | None:
        symbol = made.classes[""].get(name)
        node = without_decorator(symbol.node, self.finder.api) if symbol is not None else None
        return node if isinstance(node, FuncDef) and self.is_followed(node) and not node.is_class else None

    def is_followed(self, f: FuncDef) -> bool:
        return self.finder.is_traced or is_untyped_module(module_of(f, self.finder.api))


def root_name(e: ast.expr) -> str | None:
    """Return the variable whose attribute or entry an expression is: `x` for `x.y[0]`; None for other expressions."""
    while isinstance(e, ast.Attribute | ast.Subscript):
        e = e.value
    return e.id if isinstance(e, ast.Name) else None


def own_name(f: FuncDef) -> str:
    """Return the name of a method's object."""
    return (f.arg_names or [""])[0] or ""


def path_of(e: ast.expr) -> str | None:
    """Return the name of a variable or of its attribute: `point.x`; None for other expressions."""
    match e:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=base, attr=attr):
            path = path_of(base)
            return path and f"{path}.{attr}"
    return None


def _is_container(t: Type | None) -> bool:
    p = get_proper_type(t) if t is not None else None
    return isinstance(p, Instance) and p.type.fullname in (*CONTAINERS, "builtins.set")
