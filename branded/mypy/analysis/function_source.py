"""Analysis of a function's source: the parameters that its result does not depend on, and the names that it uses."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from mypy.checker import TypeChecker
from mypy.nodes import CallExpr, Decorator, FuncDef, MypyFile, Node, RefExpr, SymbolTable
from mypy.types import CallableType, Instance, Type, get_proper_type

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.source.syntax import children, nodes_of
from branded.mypy.analysis.source_digest import Kept, depend_on_sources, file_version, keep, parse, use
from branded.mypy.analysis.untyped_modules import is_in_file, module_of
from branded.mypy.rows.algebra import hides_brands, is_unbatched
from branded.mypy.rows.leaves import NUMBERS

ALL_NAMES = {"locals", "vars", "dir", "eval", "exec", "inspect"}
"""Names that give access to parameters without naming them."""

OF_ALL = {"shape", "ndim", "dtype", "device"}
"""Attributes that all examples share."""

TRANSPARENT = {
    "builtins.staticmethod",
    "builtins.classmethod",
    "abc.abstractmethod",
    *(f"{module}.{name}" for module in ("typing", "typing_extensions") for name in ("final", "override")),
}
"""Decorators that change no call."""

MOST_CALLS = 8
"""The maximum depth of calls to follow."""

Names = frozenset[str | None]
"""Parameters of a function."""


_unused: dict[tuple[FuncDef, Names, int], Kept[Names]] = new_cache()


def unused_parameters(f: FuncDef, api: TypeChecker, shared: Names, depth: int = 0) -> Names:
    """Return the parameters that a function's result does not depend on.

    The body may mention them only in attributes that all examples share, or as arguments of functions that do not use
    them.

        def first(a, b): return a                 b
        def scaled(a, b): return 2 * first(a, b)  b

    A nested function, or a method that uses its object, can depend on values that no type shows. The result is then
    empty, except for a method whose object is in `shared`: such an object holds no batched value. `depth` is the number
    of calls that lead to this one.
    """
    key = f, shared, depth
    if key not in _unused:
        _unused[key] = keep(lambda: _find_unused(f, api, shared, depth))
    return use(_unused[key], api)


def _find_unused(f: FuncDef, api: TypeChecker, shared: Names, depth: int) -> Names:
    t, words = f.type, _words(f, api)
    if "." not in f.fullname or not isinstance(t, CallableType) or depth > MOST_CALLS:
        return frozenset()
    n_bound = bound_count(f)
    if words is None or words & ALL_NAMES or not all(map(describes_value, t.arg_types[n_bound:])):
        return frozenset()
    if n_bound and f.arg_names[0] in words and f.arg_names[0] not in shared:
        return frozenset()
    source = source_of(f, api)
    if source is None or all(isinstance(s, ast.Pass | ast.Raise) or _is_constant(s) for s in source.body):
        return frozenset()  # a method of a Protocol, whose implementations may use all
    depends = _depends(source, f, api, shared, depth + 1)
    # mypy keeps no names of positional-only parameters
    return frozenset(n for n in f.arg_names[n_bound:] if n is not None) - depends


def _depends(source: ast.FunctionDef, f: FuncDef, api: TypeChecker, shared: Names, depth: int) -> Names:
    """Return the names that the result may depend on."""
    nodes, idle = descendants(source), set[ast.AST]()
    for n in nodes:
        if isinstance(n, ast.Attribute) and n.attr in OF_ALL:
            idle.add(n.value)
        elif isinstance(n, ast.Call) and (g := _called_function(n.func, f, local_names(source), api)) is not None:
            n_bound = bound_count(g)
            here = frozenset(g.arg_names[:n_bound]) if n_bound and f.arg_names[0] in shared else frozenset[str | None]()
            of_g = unused_parameters(g, api, here, depth)
            for name, value in named_arguments(n, g.arg_names[n_bound:]):
                is_own = g is f and isinstance(value, ast.Name) and value.id == name  # as in the enclosing call
                if is_own or (name in of_g and not any(isinstance(x, ast.NamedExpr) for x in nodes_of(value))):
                    idle.update(nodes_of(value))
    return frozenset(n.id for n in nodes if isinstance(n, ast.Name) and n not in idle)


def _is_constant(s: ast.stmt) -> bool:
    return isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)


def bound_count(f: FuncDef) -> int:
    """Return the number of parameters that a call does not name: 1 for the object of a method, else 0."""
    return int(bool(f.info) and not f.is_static)


def named_arguments(call: ast.Call, names: Sequence[str | None]) -> Iterator[tuple[str | None, ast.expr]]:
    """Match the arguments of a call to parameter names, as far as these are known."""
    if not any(isinstance(a, ast.Starred) for a in call.args):
        yield from zip(names, call.args, strict=False)
    yield from ((k.arg, k.value) for k in call.keywords if k.arg is not None)


def bound_names(n: ast.AST) -> Iterator[str]:
    """Find the names that a node binds."""
    match n:
        case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            yield name
        case ast.alias(name=name, asname=asname):
            yield asname or name


@lru_cache(maxsize=512)
def local_names(source: ast.FunctionDef) -> frozenset[str]:
    """Return the names that a function binds, with its parameters."""
    nodes = (n for n in descendants(source)[1:] if type(n) in _BINDING)
    return frozenset(name for n in nodes for name in bound_names(n))


_BINDING = {ast.Name, ast.FunctionDef, ast.ClassDef, ast.arg, ast.ExceptHandler, ast.MatchAs, ast.alias}
"""The nodes that may bind a name."""


def _called_function(func: ast.expr, f: FuncDef, local: Collection[str], api: TypeChecker) -> FuncDef | None:
    """Return the function of this file, or the method of the same object, that a call refers to."""
    names: SymbolTable | None = None
    if not is_in_file(f, api):
        return None
    match func:
        case ast.Name(id=name) if name not in local:
            names = api.tree.names
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if f.info and owner == f.arg_names[0]:
            names = f.info.names
        case _:
            return None
    symbol = names.get(name)
    node = symbol.node if symbol is not None else None
    return node if isinstance(node, FuncDef) and is_in_file(node, api) else None


def describes_value(t: Type) -> bool:
    """Return whether a parameter's type describes the value completely: tensors or a number."""
    p = get_proper_type(t)
    return (is_unbatched(t) and not hides_brands(t)) or (isinstance(p, Instance) and p.type.fullname in NUMBERS)


def source_of(f: FuncDef, api: TypeChecker) -> ast.FunctionDef | None:
    """Return the syntax tree of a function; None if its source is not available."""
    module = module_of(f, api) if "." in f.fullname else api.tree
    if module is None:
        return None
    depend_on_sources({module}, api)
    # mypy does not store the lines of functions in its cache
    place = f.line if module.fullname == api.tree.fullname else f.fullname.removeprefix(f"{module.fullname}.")
    if module not in _functions:
        tree = parse(module.path, file_version(module.path))
        _functions[module] = _functions_in(tree) if tree is not None else {}
    return _functions[module].get((place, f.name))


_functions: dict[MypyFile, dict[tuple[int | str, str], ast.FunctionDef]] = new_cache()


def decorators_of(node: Decorator, api: TypeChecker) -> list[str] | None:
    """Return the full names of a function's decorators that may change a call; None if the source is not available.

    The name of an unknown decorator is empty. mypy does not store decorators in its cache.
    """
    if is_in_file(node, api):
        called = [d.callee if isinstance(d, CallExpr) else d for d in node.decorators]
        names = [d.fullname if isinstance(d, RefExpr) else "" for d in called]
    else:
        source, module = source_of(node.func, api), module_of(node, api)
        if source is None or module is None:
            return None
        names = [full_name(d.func if isinstance(d, ast.Call) else d, module, api) for d in source.decorator_list]
    return [n for n in names if n not in TRANSPARENT]


def without_decorator(node: Node | None, api: TypeChecker) -> Node | None:
    """Return the function without its decorators if these change no call."""
    return node.func if isinstance(node, Decorator) and decorators_of(node, api) == [] else node


def full_name(e: ast.expr, module: MypyFile, api: TypeChecker) -> str:
    """Return the full name of a global that an expression of a module refers to; empty if it is unknown."""
    match e:
        case ast.Attribute(value=value, attr=attr):
            name = full_name(value, module, api)
            return name and f"{name}.{attr}"
        case ast.Name(id=name):
            symbol = module.names.get(name) or api.modules["builtins"].names.get(name)
            return symbol.node.fullname if symbol is not None and symbol.node is not None else ""
    return ""


def _words(f: FuncDef, api: TypeChecker) -> frozenset[str] | None:
    """Return the names in a function; None if its source is not available."""
    source = source_of(f, api)
    return _words_of(source) if source is not None else None


@lru_cache(maxsize=512)
def _words_of(source: ast.FunctionDef) -> frozenset[str]:
    return frozenset(word for n in descendants(source) for word in node_words(n))


@lru_cache(maxsize=512)
def descendants(source: ast.AST) -> tuple[ast.AST, ...]:
    """Return a node of a syntax tree, and all nodes below it."""
    return tuple(nodes_of(source))


def _functions_in(tree: ast.Module) -> dict[tuple[int | str, str], ast.FunctionDef]:
    """Return the functions of a file by line, and by full name in the file where that is unique."""
    named, found = list(_named_functions(tree, "")), dict[tuple[int | str, str], ast.FunctionDef]()
    counts = Counter(name for name, _ in named)
    for name, f in named:
        found[f.lineno, f.name] = f
        if counts[name] == 1:
            found[name, f.name] = f
    return found


def _named_functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Find the functions of a file with their full names in it."""
    for n in children(node):
        if isinstance(n, ast.expr) or not ("body" in n._fields or isinstance(n, ast.Match)):
            continue  # an expression or a simple statement contains no functions with names
        if isinstance(n, ast.FunctionDef):
            yield f"{prefix}{n.name}", n
        name = f"{n.name}." if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else ""
        yield from _named_functions(n, prefix + name)


def node_words(n: ast.AST) -> Iterator[str]:
    match n:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            yield name
