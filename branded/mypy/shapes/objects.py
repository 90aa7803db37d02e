"""Objects: their attributes and methods, new objects, and values of declared classes."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import reduce

from mypy.nodes import (
    AssignmentStmt,
    CallExpr,
    Context,
    Decorator,
    Expression,
    FuncDef,
    IndexExpr,
    MemberExpr,
    NameExpr,
    OverloadedFuncDef,
    RefExpr,
    SuperExpr,
    SymbolNode,
    TempNode,
    TypeInfo,
    Var,
)
from mypy.operators import op_methods, reverse_op_methods
from mypy.types import Instance, TupleType, Type, TypedDictType, get_proper_type

from branded.mypy.analysis.external_calls import compares_fields
from branded.mypy.axes.rules import length_text
from branded.mypy.axes.types import axes_of, is_named, is_variable
from branded.mypy.codes import AXIS_RANGE, ERROR, OPERAND
from branded.mypy.rows.algebra import TENSOR, VEC
from branded.mypy.shapes import libraries, tensors
from branded.mypy.shapes.brands import check_read
from branded.mypy.shapes.other_files import decorators_of, function_of, is_user_name, path_of
from branded.mypy.shapes.rules import descriptors, modules
from branded.mypy.shapes.rules.operators import item_at
from branded.mypy.shapes.rules.special_methods import INDEX, first_special
from branded.mypy.shapes.state import FileState, ShapeMistake
from branded.mypy.shapes.values import (
    NUMBER,
    UNKNOWN,
    Arguments,
    Class,
    Const,
    Fact,
    Function,
    LibraryName,
    Mutable,
    Shaped,
    Size,
    Tuple,
    Variables,
    Wrapped,
    as_number,
    brands_of,
    join,
)


class Objects(FileState):
    """Evaluates attributes, and calls of classes."""

    def attribute(self, base: Fact, name: str, at: Context) -> Fact:
        match base:
            case Shaped():
                return tensors.attribute(self, base, name, at)
            case Mutable(kind=kind) if kind in ("object", "brand") or kind in modules.LAYERS:
                if base.info is not None and (value := descriptors.read(self, base, name, at)) is not None:
                    return value
                if base.items is not None and name in base.items:
                    return base.items[name]
                return self.from_class(base, name, at)
            case Mutable() | Const() | Tuple():
                return LibraryName(name, base)
            case Class():
                found = base.info.get(name)
                node = implementation(found.node) if found is not None else None
                if isinstance(node, FuncDef):
                    f = self.body_of(node)
                    bound = (base,) if node.is_class else ()
                    return Function(f.node, f.frame, bound) if f is not None else UNKNOWN
                if isinstance(node, Decorator):
                    return self._from_decorator(node, base, at)
                if isinstance(node, Var):
                    return Const((base.info.fullname, name)) if base.info.is_enum else self.class_value(node)
            case Function(node=FuncDef(name=own)) if name == "__name__":
                return Const(own)
            case LibraryName(owner=None):
                return LibraryName(f"{base.name}.{name}")
            case LibraryName() if base.owner is not None:
                return UNKNOWN
        return UNKNOWN

    def super_method(self, e: SuperExpr) -> Fact:
        """Return `super().name`: the method of the next class that defines it, for this object."""
        frame: Variables | None = self.frame
        own: Fact | None = None
        while own is None and frame is not None:
            own = next((v for node, v in frame.names.items() if isinstance(node, Var) and node.is_self), None)
            frame = frame.outer
        if not isinstance(own, Mutable) or own.info is None or e.info not in own.info.mro:
            return UNKNOWN
        classes = own.info.mro
        nodes = (c.names[e.name].node for c in classes[classes.index(e.info) + 1 :] if e.name in c.names)
        found = implementation(next(nodes, None))
        if isinstance(found, Decorator):
            return self._from_decorator(found, own, e)
        f = self.body_of(found) if isinstance(found, FuncDef) else None
        return Function(f.node, f.frame, (own,)) if f is not None else UNKNOWN

    def special(self, value: Fact, name: str, given: Sequence[Fact], at: Context) -> Fact | None:
        """Return the result of a special method, such as `__add__`, of an object; None if its class has none."""
        if not isinstance(value, Mutable) or value.kind != "object" or value.info is None:
            return None
        found = value.info.get(name)
        if found is None or found.plugin_generated or not isinstance(implementation(found.node), FuncDef | Decorator):
            return None
        method = self.from_class(value, name, at)
        return self.call_function(method, Arguments([*given]), at) if isinstance(method, Function) else None

    def check_fields(self, op: str, left: Fact, right: Fact, at: Context) -> None:
        """Report a comparison of dataclasses or named tuples that needs the truth value of one of their fields.

        Python compares the identity of two fields first.
        """
        if not (isinstance(left, Mutable) and isinstance(right, Mutable)) or left.info is None:
            return
        method = op_methods.get("==" if op == "!=" else op, "")
        info = left.info
        if info is not right.info or not compares_fields(info, method) or not self.is_own(info.fullname):
            return
        if any("eq" in d.arg_names for d in info.defn.decorators if isinstance(d, CallExpr)):
            return
        pairs = [(a, (right.items or {}).get(key)) for key, a in (left.items or {}).items()]
        compared = [v for a, b in pairs if a is not b for v in (a, b) if isinstance(v, Shaped) and v.brands]
        for value in compared[:1]:
            check_read(self, value, "bool", at, OPERAND)

    def by_special_method(self, op: str, left: Fact, right: Fact, at: Context) -> Fact | None:
        """Return `left op right` if a class of the program defines it."""
        name = op_methods.get(op, "")
        if op == "in":
            left, right = right, left
        result = self.special(left, name, [right], at)
        return self.special(right, reverse_op_methods.get(name, ""), [left], at) if result is None else result

    def item(self, base: Fact, index: Fact, at: Context) -> Fact:
        """Return `base[index]`; the items of a dict whose key is unknown may be functions of a registry."""
        self.check_key(at, base, index)
        if not isinstance(base, Mutable) or base.kind != "dict":
            first_special(self, index, INDEX, at)
        if not isinstance(base, Mutable) or base.kind != "dict" or not base.items or isinstance(index, Const):
            self._check_axis(at, base, index)
            return item_at(base, index)
        values = list(base.items.values())
        if len(values) > 1 and all(isinstance(v, Function | Wrapped) for v in values):
            return Wrapped(lambda given: self._call_any(values, given, at))
        return reduce(join, values)

    def _check_axis(self, e: Context, base: Fact, index: Fact) -> None:
        """Report `x.shape[1]` of a tensor that has fewer axes."""
        n = as_number(index)
        if n is None or not isinstance(base, Tuple) or -len(base.items) <= n < len(base.items):
            return
        if isinstance(e, IndexExpr) and isinstance(e.base, MemberExpr) and e.base.name == "shape":
            self.report(e, AXIS_RANGE, f"shape: axis {n} of a tensor with {length_text(base.items)}")

    def _call_any(self, functions: Sequence[Fact], given: Arguments, at: Context) -> Fact:
        """Return the result of one of several functions; a mistake is certain if a call of each one has a mistake."""
        before, told, found, results = self.findings, self.told, list[dict[tuple[int, str], ShapeMistake]](), []
        for f in functions:
            self.findings = dict(before)
            results.append(self.call(f, given, at))
            found.append(self.findings)
        is_certain = all(len(each) > len(before) for each in found)
        self.findings, self.told = (found[0], told + 1) if is_certain else (before, told)
        return reduce(join, results)

    def check_key(self, e: Context, base: Fact, index: Fact) -> None:
        """Report a key that a dict certainly does not have; mypy reports the keys of a TypedDict in an index."""
        if not isinstance(base, Mutable) or base.kind != "dict" or not base.items or not isinstance(index, Const):
            return
        self.unshared += index.value not in base.items
        if index.value in base.items or (isinstance(e, IndexExpr) and self._is_checked_by_mypy(e.base, base)):
            return
        keys = [repr(k) for k in base.items]
        near = get_close_matches(repr(index.value), keys, 1)
        fix = near[0] if near else f"use one of these keys, or add {index.value!r} to the dict"
        wrong = f"dict: there is no key {index.value!r}"
        self.report(e, ERROR, wrong, f"keys: {', '.join(keys)}", f"try:   {fix}")

    def _is_checked_by_mypy(self, e: Expression, value: Mutable) -> bool:
        """Return whether a dict is a TypedDict: mypy may not know its type yet, because it checks functions later."""
        declared = e.node.type if isinstance(e, NameExpr) and isinstance(e.node, Var) else None
        found = declared or (self.api.lookup_type_or_none(e) if path_of(e) is None else None)
        return value.is_typed if found is None else not isinstance(get_proper_type(found), Instance)

    def from_class(self, base: Mutable, name: str, at: Context) -> Fact:
        if base.info is None:
            return LibraryName(name, base)
        if base.info.is_named_tuple and name == "_replace":  # mypy's own definition has no body
            return LibraryName("_replace", base)
        found = base.info.get(name)
        if found is None:
            return descriptors.missing(self, base, name, at)
        node = implementation(found.node)
        if isinstance(node, FuncDef) and (f := self.body_of(node)) is not None:
            return Function(f.node, f.frame, () if node.is_static else (base,))
        if isinstance(node, Decorator):
            return self._from_decorator(node, base, at)
        is_in_class = isinstance(node, Var) and node.is_initialized_in_class and base.items is not None
        return self.class_value(node) if is_in_class else UNKNOWN

    def _from_decorator(self, node: Decorator, base: Fact, at: Context) -> Fact:
        """Return a property, a static method, a class method, or a method whose decorators do not change it."""
        body = self.body_of(node.func)
        f = self.decorated(node, at)
        if body is None or not isinstance(f, Function) or f.node is not body.node:
            return UNKNOWN
        if node.func.is_property:
            return self.call_function(Function(f.node, f.frame, (base,)), Arguments(), at)
        if node.func.is_static:
            return f
        owner = Class(base.info) if isinstance(base, Mutable) and base.info is not None else base
        bound = (owner,) if node.func.is_class else (base,) if isinstance(base, Mutable) else ()
        return Function(f.node, f.frame, bound)

    def decorated(self, node: Decorator, at: Context) -> Fact:
        """Return a function of this file or another one, changed by its decorators."""
        f = self.body_of(node.func)
        if f is None:
            return UNKNOWN
        value: Fact = f
        outer, self.frame = self.frame, f.frame
        is_here = f.node is node.func
        for decorator in reversed(node.decorators if is_here else decorators_of(f.node)):
            # mypy's nodes of other files have no path, and no line in a warm run
            value = libraries.decorate(self, self.evaluate(decorator), value, at if is_here else decorator)
        self.frame = outer
        return value

    def _is_here(self, f: FuncDef) -> bool:
        return self.is_own(f.fullname) and hasattr(f, "arguments")

    def body_of(self, node: FuncDef) -> Function | None:
        """Return a function or method with its body, of this file or another one."""
        return Function(node, self.module) if self._is_here(node) else function_of(node, self.api)

    def construct(self, info: TypeInfo, given: Arguments, at: Context) -> Fact:
        if not given.exact:
            return UNKNOWN
        if (t := info.typeddict_type) is not None:
            made = Mutable("dict", None if given.positional else dict(given.keywords.items()))
            _mark_typed(made, t)
            return made
        if (names := field_names(info)) is not None:
            values: dict[str, Fact] = dict(zip(names, given.positional, strict=False)) | given.keywords
            fields: dict[object, Fact] = {n: self._field(info, n, values.get(n)) for n in names}
            made = Mutable("object", fields, info)
            after = info.names.get("__post_init__")
            if after is not None and isinstance(after.node, FuncDef):
                f = self.body_of(after.node)
                if f is None:
                    return UNKNOWN
                self.call_function(Function(f.node, f.frame, (made,)), Arguments(), at)
            return made
        known = "abc.ABC", "builtins.object", "typing.", "typing_extensions."
        names = [c.fullname for c in info.mro if not c.fullname.startswith(known)]
        if any(not self.is_own(n) and not is_user_name(n, self.api) for n in names):
            return UNKNOWN
        made, init = Mutable("object", {}, info), info.get_method("__init__")
        if isinstance(init, FuncDef) and init.info.fullname != "builtins.object":
            f = self.body_of(init)
            if f is None:
                return UNKNOWN
            self.call_function(Function(f.node, f.frame, (made,)), given, at)
        return made

    def _field(self, info: TypeInfo, name: str, value: Fact | None) -> Fact:
        """Return the value of a field that was given, or its default."""
        symbol = info.get(name)
        node = symbol.node if symbol is not None else None
        if value is None:
            value = self.class_value(node)
        declared = node.type if isinstance(node, Var) else None
        return self.declared(declared, value) if declared is not None else value

    def declared(self, declared: Type, value: Fact, outer: tuple[TypeInfo, ...] = ()) -> Fact:
        """Return a value with the axes that its annotation names, also for the fields of an unknown object.

        `outer` are the classes of the objects that have this one as a field.
        """
        _mark_typed(value, declared)
        known = declared_value(declared, value)
        if self.declared_only:
            return known
        named, given = (v.axes or () if isinstance(v, Shaped) else () for v in (known, value))
        if isinstance(known, Shaped) and named and len(named) == len(given):
            axes = (libraries.with_length(self, a, b) for a, b in zip(named, given, strict=True))
            return known.with_axes(tuple(axes))
        if known is not UNKNOWN:
            return known
        p = get_proper_type(declared)
        info = p.partial_fallback.type if isinstance(p, TupleType) else p.type if isinstance(p, Instance) else None
        names = field_names(info) if info is not None and not info.defn.type_vars and info not in outer else None
        nodes = {n: symbol.node for n in names or () if info is not None and (symbol := info.get(n)) is not None}
        types = {n: node.type for n, node in nodes.items() if isinstance(node, Var) and node.type is not None}
        inside = (*outer, info) if info is not None else outer
        items: dict[object, Fact] = {n: self.declared(t, UNKNOWN, inside) for n, t in types.items()}
        if not any(isinstance(v, Shaped | Mutable) for v in items.values()):
            return known
        return Mutable("object", items, info, is_declared=True)

    def class_value(self, node: SymbolNode | None, is_descriptor: bool = False) -> Fact:
        """Return the value that the body of a class gives to an attribute, such as the default of a field.

        A value that can change is UNKNOWN, except a descriptor.
        """
        owner = node.info if isinstance(node, Var) and node.info else None
        if owner is None or not self.is_own(owner.fullname):
            return UNKNOWN
        for s in owner.defn.defs.body:
            if isinstance(s, AssignmentStmt) and any(isinstance(t, NameExpr) and t.node is node for t in s.lvalues):
                with self.maybe():
                    return self._default_value(s.rvalue, is_descriptor)
        return UNKNOWN

    def _default_value(self, e: Expression, is_descriptor: bool) -> Fact:
        """Return the value of `1.0`, `field(default=1.0)` or `field(default_factory=make)`."""
        if isinstance(e, CallExpr) and isinstance(e.callee, RefExpr) and e.callee.fullname == "dataclasses.field":
            named = dict(zip(e.arg_names, e.args, strict=True))
            if (factory := named.get("default_factory")) is not None:
                return self.call(self.evaluate(factory), Arguments(), e)
            return self.evaluate(named["default"]) if "default" in named else UNKNOWN
        value = UNKNOWN if isinstance(e, TempNode) else self.evaluate(e)
        return UNKNOWN if isinstance(value, Mutable) and not is_descriptor else value


def implementation(node: SymbolNode | None) -> SymbolNode | None:
    """Return the implementation of an overloaded function, or the getter of a property with a setter."""
    if isinstance(node, OverloadedFuncDef):
        return node.impl or (node.items[0] if node.is_property else None)
    return node


def _mark_typed(value: Fact, declared: Type) -> None:
    """Mark a dict that is declared as a TypedDict, and the dicts in it."""
    t = get_proper_type(declared)
    if isinstance(value, Mutable) and value.kind == "dict" and not value.is_typed and isinstance(t, TypedDictType):
        value.is_typed = True
        for name, item in t.items.items():
            _mark_typed((value.items or {}).get(name, UNKNOWN), item)


def declared_value(declared: Type, value: Fact) -> Fact:
    """Return a value with the axes that its annotation names."""
    p = get_proper_type(declared)
    axes = axes_of(declared)
    if axes is None:
        is_tensor = isinstance(p, Instance) and p.type.fullname in (TENSOR, VEC)
        is_size = isinstance(p, Instance) and p.type.fullname == "builtins.int"
        is_float = isinstance(p, Instance) and p.type.fullname == "builtins.float"
        if value is not UNKNOWN:
            return value
        return Shaped() if is_tensor else Size() if is_size else NUMBER if is_float else UNKNOWN
    if isinstance(value, Shaped) and value.axes is not None:
        if len(value.axes) != len(axes):  # mypy reports it
            return value.with_axes(tuple(axes))
        known = tuple(a if is_named(a) and not is_variable(a) else b for a, b in zip(axes, value.axes, strict=True))
        return value.with_axes(known)
    return Shaped(tuple(axes), brands_of(value)) if value is UNKNOWN or isinstance(value, Shaped) else value


def field_names(info: TypeInfo) -> list[str] | None:
    """Return the fields of a dataclass or a named tuple; None for other classes."""
    if "dataclass" in info.metadata:
        attributes = info.metadata["dataclass"].get("attributes", [])
        return [a["name"] for a in attributes if a.get("is_in_init", True)]
    if info.is_named_tuple and "namedtuple" in info.metadata:
        return list(info.metadata["namedtuple"].get("fields", []))
    return None
