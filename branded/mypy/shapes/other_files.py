"""Functions and variables of other files: their code in mypy's syntax with resolved names, made from Python's trees.

mypy does not always keep the bodies of functions of other files. Making them always lets runs with and without mypy's
cache report the same errors.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from mypy.checker import TypeChecker
from mypy.errors import Errors
from mypy.fastparse import ASTConverter
from mypy.nodes import (
    AssignmentExpr,
    AssignmentStmt,
    ClassDef,
    Context,
    Decorator,
    DictionaryComprehension,
    Expression,
    ForStmt,
    FuncDef,
    GeneratorExpr,
    LambdaExpr,
    ListExpr,
    MypyFile,
    NameExpr,
    Node,
    OperatorAssignmentStmt,
    OverloadedFuncDef,
    StarExpr,
    SymbolNode,
    SymbolTable,
    TupleExpr,
    Var,
    WithStmt,
    YieldExpr,
    YieldFromExpr,
)
from mypy.options import Options
from mypy.types import CallableType

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.source.walk import parts, walk
from branded.mypy.analysis.source_digest import depend_on_sources, file_version, parse
from branded.mypy.shapes.values import Function, Variables

Scope = dict[str, SymbolNode]
Source = ast.FunctionDef | ast.AsyncFunctionDef


class OtherFunction(Function):
    """A function of another file, whose body is converted when it is first used: a shared result needs none."""

    def __init__(self, original: FuncDef, frame: Variables, convert: Callable[[], FuncDef]) -> None:
        self.original, self.frame, self.bound, self._convert = original, frame, (), convert

    def __getattr__(self, name: str) -> FuncDef:
        if name != "node":
            raise AttributeError(name)
        self.node = node = self._convert()
        return node


def function_of(node: FuncDef, api: TypeChecker) -> Function | None:
    """Return a function of another file with its body, or None if its source is missing or may be incomplete."""
    module = _module_of(node.fullname, api)
    if module is None or module is api.tree:
        return None
    parsed = _parse(module, api)
    source = parsed.sources.get(node.fullname.removeprefix(f"{module.fullname}."))
    if source is None:
        return None
    if isinstance(node.type, CallableType) and len(node.type.arg_types) != _parameter_count(source.args):
        return None  # mypy's daemon checks this file before it has analyzed the changed one
    return OtherFunction(node, parsed.frame, lambda: parsed.function(node, source, module, api))


def _parameter_count(a: ast.arguments) -> int:
    return len(a.posonlyargs) + len(a.args) + len(a.kwonlyargs) + (a.vararg is not None) + (a.kwarg is not None)


def variable_of(node: Var, api: TypeChecker) -> tuple[Expression, Variables] | None:
    """Return the value of a global variable of another file and the variables around it; None if it may change."""
    module = _module_of(node.fullname, api)
    if module is None or module is api.tree or node.fullname != f"{module.fullname}.{node.name}":
        return None
    parsed = _parse(module, api)
    value = parsed.variable(node.name, module, api)
    return (value, parsed.frame) if value is not None else None


def _parse(module: MypyFile, api: TypeChecker) -> _Parsed:
    depend_on_sources({module}, api)
    if module not in _parsed:
        tree = parse(module.path, file_version(module.path))
        _parsed[module] = _Parsed(tree if tree is not None else ast.Module([], []), _converter(module, api))
    return _parsed[module]


def decorators_of(f: FuncDef | LambdaExpr) -> list[Expression]:
    """Return the decorators of a function that `function_of` has found."""
    return _decorators.get(f, [])


def original_of(f: FuncDef | LambdaExpr) -> FuncDef | LambdaExpr:
    """Return the node of mypy for a function that `function_of` has found, and other functions unchanged."""
    return _originals.get(f, f)


def original_node(f: Function) -> tuple[FuncDef | LambdaExpr, bool]:
    """Return the node of mypy for a function, and whether the function is in another file."""
    if isinstance(f, OtherFunction):
        return f.original, True
    return original_of(f.node), path_of(f.node) is not None


def is_user_name(fullname: str, api: TypeChecker) -> bool:
    """Return whether a name is defined in a file of the user, whose functions are followed."""
    return _module_of(fullname, api) is not None


def name_of_user(module: str, name: str, api: TypeChecker) -> SymbolNode | None:
    """Return the definition of a name in a module of the user, else None."""
    tree = api.modules.get(module)
    symbol = tree.names.get(name) if tree is not None and is_user_name(f"{module}.{name}", api) else None
    return symbol.node if symbol is not None else None


def path_of(node: Context) -> str | None:
    """Return the path of the file of a node, if this module parsed the file."""
    return _paths.get(node)


def _module_of(fullname: str, api: TypeChecker) -> MypyFile | None:
    name = fullname
    while "." in name:
        name = name.rpartition(".")[0]
        if (module := api.modules.get(name)) is not None:
            is_followed = module.path.endswith(".py") and "site-packages" not in module.path
            return module if is_followed and not f"{name}.".startswith(("branded.", "tinygrad.")) else None
    return None


@dataclass(eq=False, repr=False, match_args=False)
class _Parsed:
    """A parsed file: its functions, methods and variables by name, and those that were used, in mypy's syntax."""

    tree: ast.Module
    converter: ASTConverter
    made: dict[str, FuncDef] = field(default_factory=dict)
    values: dict[str, Expression] = field(default_factory=dict)
    frame: Variables = field(default_factory=Variables)

    @cached_property
    def sources(self) -> dict[str, Source]:
        return _functions(self.tree)

    @cached_property
    def variables(self) -> dict[str, ast.expr]:
        return _variables(self.tree)

    def variable(self, name: str, module: MypyFile, api: TypeChecker) -> Expression | None:
        """Return the value of a variable that is bound once; None if the file has none with this name."""
        if name not in self.values:
            if (source := self.variables.get(name)) is None:
                return None
            value = self.values[name] = self.converter.visit(source)
            _resolve(value, [], (module.names, api.modules["builtins"].names))
            _paths.update(dict.fromkeys([value, *walk(value)], module.path))
        return self.values[name]

    def function(self, node: FuncDef, source: Source, module: MypyFile, api: TypeChecker) -> FuncDef:
        """Return the function that mypy knows as `node`, with its body."""
        if node.fullname not in self.made:
            found = self.converter.visit(source)
            assert isinstance(found, FuncDef | Decorator)
            f = self.made[node.fullname] = found.func if isinstance(found, Decorator) else found
            _decorators[f] = found.original_decorators if isinstance(found, Decorator) else []
            _resolve(found, [], (module.names, api.modules["builtins"].names))
            body = walk([f.body, *(a.initializer for a in f.arguments), *_decorators[f]])
            _paths.update(dict.fromkeys([f, *body], module.path))
        f = self.made[node.fullname]
        f.type, f._fullname = node.type, node.fullname
        _originals[f] = node
        return f


_parsed: dict[MypyFile, _Parsed] = new_cache()
_decorators: dict[Context, list[Expression]] = new_cache()
_originals: dict[FuncDef | LambdaExpr, FuncDef] = new_cache()
_paths: dict[Context, str] = new_cache()
"""The path of the file of each parsed node."""


def _converter(module: MypyFile, api: TypeChecker) -> ASTConverter:
    options = Options()
    options.python_version = api.options.python_version
    errors = Errors(options)
    errors.set_file(module.path, module.fullname, options)
    return ASTConverter(options, False, errors, strip_function_bodies=False, path=module.path)


def _functions(tree: ast.Module) -> dict[str, Source]:
    """Return the functions and methods of a file by name.

    Of two with the same name the last one counts, but the getter of a property and not its setter.
    """
    functions: dict[str, Source] = {}
    for name, f in _all_functions(tree.body, ""):
        if name not in functions or not f.decorator_list:
            functions[name] = f
    return functions


def _all_functions(statements: Sequence[ast.stmt], prefix: str) -> Iterator[tuple[str, Source]]:
    for s in statements:
        if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{s.name}", s
        elif isinstance(s, ast.ClassDef):
            yield from _all_functions(s.body, f"{prefix}{s.name}.")


def _variables(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the values of the global variables that only one statement of a file binds."""
    bound = Counter(_stored_names(tree.body))
    names = {name for part in ast.walk(tree) if isinstance(part, ast.Global) for name in part.names}
    values: dict[str, ast.expr] = {}
    for s in tree.body:
        targets = s.targets if isinstance(s, ast.Assign) else [s.target] if isinstance(s, ast.AnnAssign) else []
        value = s.value if isinstance(s, ast.Assign | ast.AnnAssign) else None
        for target in targets:
            if value is not None and isinstance(target, ast.Name) and bound[target.id] == 1 and target.id not in names:
                values[target.id] = value
    return values


def _stored_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that statements bind or delete, except in functions and classes."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name is not None:
            yield node.name
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _stored_names(ast.iter_child_nodes(node))


def _resolve(node: object, scopes: list[Scope], tables: Sequence[SymbolTable]) -> None:
    """Resolve the names in a function to its own variables, to variables of enclosing functions, or to globals.

    `tables` has the names of the file, and those of Python.
    """
    if isinstance(node, list | tuple):
        for item in node:
            _resolve(item, scopes, tables)
    elif isinstance(node, NameExpr):
        node.fullname, node.node = node.name, next((s[node.name] for s in reversed(scopes) if node.name in s), None)
        if node.node is None and (definition := _global(node.name, tables)) is not None:
            node.fullname, node.node = definition.fullname, definition
        if node.name in ("True", "False", "None"):
            node.fullname = f"builtins.{node.name}"
    elif isinstance(node, FuncDef | LambdaExpr):
        for argument in node.arguments:
            _resolve(argument.initializer, scopes, tables)
        if isinstance(node, FuncDef):
            node.is_generator = _yields(node.body.body)
        local_names: Scope = {a.variable.name: a.variable for a in node.arguments}
        for name, bound in _bound_names(node.body.body):
            local_names.setdefault(name, bound)
        _resolve(node.body, [*scopes, local_names], tables)
    elif isinstance(node, GeneratorExpr | DictionaryComprehension):
        local_names = {}
        for index in node.indices:
            local_names.update((name, Var(name)) for name in _target_names(index))
        inner = [*scopes, local_names]
        for part in (node.indices, *parts(node)):
            _resolve(part, inner, tables)
    elif isinstance(node, Node) and not isinstance(node, ClassDef | OverloadedFuncDef):
        if isinstance(node, Decorator):
            _resolve(node.original_decorators, scopes, tables)
        if isinstance(node, ForStmt):
            _resolve(node.index, scopes, tables)
        if isinstance(node, WithStmt | AssignmentExpr):
            _resolve(node.target, scopes, tables)
        for part in parts(node):
            _resolve(part, scopes, tables)


def _global(name: str, tables: Sequence[SymbolTable]) -> SymbolNode | None:
    return next((s.node for t in tables if (s := t.get(name)) is not None and s.node is not None), None)


def _yields(body: object) -> bool:
    """Return whether a body contains `yield`, except in nested functions."""
    if isinstance(body, list | tuple):
        return any(map(_yields, body))
    if isinstance(body, YieldExpr | YieldFromExpr):
        return True
    is_other = isinstance(body, FuncDef | ClassDef | LambdaExpr | Decorator | OverloadedFuncDef)
    return isinstance(body, Node) and not is_other and any(map(_yields, parts(body)))


def _bound_names(body: object) -> Iterable[tuple[str, SymbolNode]]:
    """Yield the variables and functions that a body binds, except in nested functions."""
    if isinstance(body, list | tuple):
        for item in body:
            yield from _bound_names(item)
        return
    match body:
        case FuncDef():
            yield body.name, body
            return
        case Decorator():
            yield body.func.name, body
            return
        case ClassDef() | OverloadedFuncDef() | LambdaExpr() | GeneratorExpr() | DictionaryComprehension():
            return
    targets: list[object] = []
    match body:
        case AssignmentStmt():
            targets = list(body.lvalues)
        case OperatorAssignmentStmt():
            targets = [body.lvalue]
        case ForStmt():
            targets = [body.index]
        case WithStmt():
            targets = list(body.target)
        case AssignmentExpr():
            targets = [body.target]
    for target in targets:
        yield from ((name, Var(name)) for name in _target_names(target))
    if isinstance(body, Node):
        for part in parts(body):
            yield from _bound_names(part)


def _target_names(target: object) -> Iterable[str]:
    match target:
        case NameExpr():
            yield target.name
        case TupleExpr() | ListExpr():
            for item in target.items:
                yield from _target_names(item)
        case StarExpr():
            yield from _target_names(target.expr)
