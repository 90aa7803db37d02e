"""The source of a function: what it reads, and the parameters that what it gives does not depend on."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from mypy.checker import TypeChecker
from mypy.nodes import FuncDef, SymbolTable
from mypy.types import CallableType, Instance, Type, get_proper_type

from branded.mypy.again import is_here
from branded.mypy.leaves import NUMBERS
from branded.mypy.quiet import module_of
from branded.mypy.reading import METHODS
from branded.mypy.rows import hides, is_plain

READS = {*METHODS, "realize", "float", "int", "bool", "range", "while", "if"}
"""What reads values, in the source of a function that is not at hand."""

ALL_NAMES = {"locals", "vars", "dir", "eval", "exec", "inspect"}
"""What gives parameters without their names."""

OF_ALL = {"shape", "ndim", "dtype", "device"}
"""What all examples have in common."""

MOST_CALLS = 8
"""How many functions in each other are looked into."""

Names = frozenset[str | None]
"""Parameters of a function."""


def reads(f: FuncDef, api: TypeChecker) -> bool:
    """Is there something in the source of a function by which it may read a value?"""
    words = _words(f, api)
    return words is None or bool(words & READS)


def unused(f: FuncDef, api: TypeChecker, shared: Names, around: tuple[FuncDef, ...] = ()) -> Names:
    """The parameters that what a function gives does not depend on.

    Of those it does not speak, but for what all examples have in common, or to a function that does not use them.

        def first(a, b): return a                 b
        def scaled(a, b): return 2 * first(a, b)  b

    Within another function, and with an object of a class, there is what no type tells of; but an object that is
    there after the call, by `shared`, has nothing in it that varies.
    """
    t, words = f.type, _words(f, api)
    if "." not in f.fullname or not isinstance(t, CallableType) or f in around or len(around) > MOST_CALLS:
        return frozenset()
    own = _bound(f)
    if words is None or words & ALL_NAMES or not all(map(tells_all, t.arg_types[own:])):
        return frozenset()
    if own and f.arg_names[0] in words and f.arg_names[0] not in shared:
        return frozenset()
    source = source_of(f, api)
    depends = _depends(source, f, api, shared, (*around, f)) if source is not None else words
    return frozenset(f.arg_names[own:]) - depends


def _depends(
    source: ast.FunctionDef, f: FuncDef, api: TypeChecker, shared: Names, around: tuple[FuncDef, ...]
) -> Names:
    """The names on which what a function gives may depend."""
    made, idle = {name for n in ast.walk(source) if n is not source for name in _made(n)}, set[ast.AST]()
    for n in ast.walk(source):
        if isinstance(n, ast.Attribute) and n.attr in OF_ALL:
            idle.add(n.value)
        elif isinstance(n, ast.Call) and (g := _called(n.func, f, made, api)) is not None:
            own = _bound(g)
            here = frozenset(g.arg_names[:own]) if own and f.arg_names[0] in shared else frozenset[str | None]()
            of_g = unused(g, api, here, around)
            for name, value in _arguments(n, g.arg_names[own:]):
                is_own = g is f and isinstance(value, ast.Name) and value.id == name  # as in the call around this one
                if is_own or (name in of_g and not any(isinstance(x, ast.NamedExpr) for x in ast.walk(value))):
                    idle.update(ast.walk(value))
    return frozenset(n.id for n in ast.walk(source) if isinstance(n, ast.Name) and n not in idle)


def _bound(f: FuncDef) -> int:
    """How many parameters a call does not name: that of the object, or none."""
    return int(bool(f.info) and not f.is_static)


def _arguments(call: ast.Call, names: Sequence[str | None]) -> Iterator[tuple[str | None, ast.expr]]:
    """The arguments of a call by the names of the parameters, as far as these are known."""
    if not any(isinstance(a, ast.Starred) for a in call.args):
        yield from zip(names, call.args, strict=False)
    yield from ((k.arg, k.value) for k in call.keywords if k.arg is not None)


def _made(n: ast.AST) -> Iterator[str]:
    """The names that a part of a function makes its own."""
    match n:
        case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            yield name
        case ast.alias(name=name, asname=asname):
            yield asname or name


def _called(func: ast.expr, f: FuncDef, made: Collection[str], api: TypeChecker) -> FuncDef | None:
    """The function of this file, or the method of the same object, that is called."""
    names: SymbolTable | None = None
    match func:
        case ast.Name(id=name) if name not in made:
            names = api.tree.names
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if f.info and owner == f.arg_names[0]:
            names = f.info.names
        case _:
            return None
    found = names.get(name)
    node = found.node if found is not None else None
    return node if isinstance(node, FuncDef) and is_here(node, api) else None


def tells_all(t: Type) -> bool:
    """Does the type of a parameter say what is in it: tensors, or a number?"""
    p = get_proper_type(t)
    return (is_plain(t) and not hides(t)) or (isinstance(p, Instance) and p.type.fullname in NUMBERS)


def source_of(f: FuncDef, api: TypeChecker) -> ast.FunctionDef | None:
    """A function as it is written; None if its source is not there."""
    module = module_of(f, api)
    path = Path(module.path) if module is not None else Path()
    try:
        return _functions(path, path.stat().st_mtime_ns).get((f.line, f.name))
    except (OSError, SyntaxError, ValueError):
        return None


def _words(f: FuncDef, api: TypeChecker) -> frozenset[str] | None:
    """The names that a function uses, and `if` and `while`; None if its source is not there."""
    source = source_of(f, api)
    return _words_of(source) if source is not None else None


@lru_cache(maxsize=512)
def _words_of(source: ast.FunctionDef) -> frozenset[str]:
    return frozenset(word for n in ast.walk(source) for word in _said(n))


@lru_cache(maxsize=8)
def _functions(path: Path, time: int) -> dict[tuple[int, str], ast.FunctionDef]:
    """The functions of a file as it was at this time, by their lines and names."""
    nodes = ast.walk(ast.parse(path.read_bytes()))
    return {(n.lineno, n.name): n for n in nodes if isinstance(n, ast.FunctionDef)}


def _said(n: ast.AST) -> Iterator[str]:
    match n:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            yield name
        case ast.If() | ast.IfExp() | ast.While():
            yield "if"
