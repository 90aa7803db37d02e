"""Following the calls in the body of a function."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from mypy.nodes import Decorator, FuncBase, FuncDef, TypeInfo, Var
from mypy.types import CallableType, Type, get_proper_type

from branded.mypy.analysis.function_source import bound_count, named_arguments
from branded.mypy.analysis.reads import METHODS, NUMBERS
from branded.mypy.analysis.source.effects import Effects, Read
from branded.mypy.analysis.source.names import BodyNames, own_name, path_of
from branded.mypy.analysis.untyped_modules import is_untyped_module
from branded.mypy.rows.algebra import TENSOR, VEC
from branded.mypy.rows.batch_kinds import (
    BatchKind,
    Made,
    above,
    either_kind,
    entry_kind,
    field_names,
    is_generated,
    result_kind,
)

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
UFUNCS = {"add", "subtract", "multiply", "divide", "true_divide", "floor_divide", "remainder", "mod", "power", "matmul"}
UFUNCS |= {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
UFUNCS |= {"bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"}
"""Functions of numpy that compute an operator of Python, which numpy leaves to the tensor."""


class BodyCalls(BodyNames):
    """Follows the calls in a body."""

    def value(self, e: ast.expr) -> BatchKind:
        """Follow an expression, and return its kind."""
        raise NotImplementedError

    def statements(self, body: Iterable[ast.stmt]) -> bool:
        """Follow statements, and return whether the last one leaves the block."""
        raise NotImplementedError

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
        if name.partition(".")[0] in _NO_FLOATS and BatchKind.BATCHED in args and short not in _OF_SHAPE | UFUNCS:
            self.read(name, e)
        return self.of_method(short, used, used) if module == TENSOR else BatchKind.HOLDS

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
        body = type(self)(self.finder, self.function, self.owner, self.module, env, others)
        body.statements(f.body)
        return either_kind(body.returned or [BatchKind.PLAIN])

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

    def after(self, e: ast.Call, f: FuncDef, effects: Effects, owner: ast.expr | None = None) -> None:
        """Record the stores of a function that was called."""
        call = Read("", self.module.path, e.lineno, e.col_offset, self.function.name, ast.unparse(e))
        given = dict(named_arguments(e, f.arg_names[bound_count(f) :]))
        if bound_count(f) and owner is not None:
            given[f.arg_names[0]] = owner
        for name, value in given.items():
            if effects.changed is None or name in effects.changed:
                self.forget(value)
                if (path := path_of(value)) is not None and (root_name := path.partition(".")[0]) not in self.rebound:
                    self.changed.add(root_name)
        for name, reads in effects.stores.items():
            if not name:
                self.stores.setdefault("", [call, *reads])
            elif name in given and (outer := self.outer_name(given[name])) is not None:
                self.stores.setdefault(outer, [call, *reads])

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

    def member_of(self, made: Made, name: str, e: ast.expr) -> BatchKind:
        """Follow an attribute or a property of an object, and return its kind."""
        if name in made.kinds:
            return made.kinds[name]
        symbol = made.classes[""].get(name)
        node = symbol.node if symbol is not None else None
        if isinstance(node, Decorator) and node.func.is_property:
            return self.run(e, node.func, {}, {own_name(node.func): made}, made.classes[""])
        return made.holds

    def special(self, e: ast.expr, operand: ast.expr, name: str) -> None:
        """Follow a method that an operation calls: `__float__` for `float(x)`."""
        made = self.object_of(operand)
        if made is not None and (f := self.method_of(made, name)) is not None:
            self.run(e, f, {}, {own_name(f): made}, made.classes[""])

    def of_method(self, name: str, base: BatchKind, used: BatchKind) -> BatchKind:
        """Return the kind of a method's result."""
        t = self.attribute_type(name)
        return min(used, BatchKind.HOLDS) if t is None or base is BatchKind.HOLDS else result_kind(t, used)

    def attribute_type(self, name: str) -> Type | None:
        """Return the type of an attribute of a Vec, or the result of a method; None if it has no such attribute."""
        module = self.finder.api.modules.get(VEC.rpartition(".")[0])
        vec = module.names["Vec"].node if module is not None else None
        symbol = vec.get(name) if isinstance(vec, TypeInfo) else None
        node = symbol.node if symbol is not None else None
        t = node.func.type if isinstance(node, Decorator) else node.type if isinstance(node, FuncBase | Var) else None
        t = get_proper_type(t) if t is not None else None
        return t.ret_type if isinstance(t, CallableType) else t
