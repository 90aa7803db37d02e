"""Files that do not import `Vec`: their annotations do not mention brands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mypy.checker import TypeChecker
from mypy.nodes import (
    AssignmentExpr,
    AssignmentStmt,
    CallExpr,
    ClassDef,
    Decorator,
    DictionaryComprehension,
    Expression,
    ForStmt,
    FuncDef,
    GeneratorExpr,
    IndexExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    Node,
    OperatorAssignmentStmt,
    RefExpr,
    Statement,
    SymbolNode,
    TypeInfo,
    Var,
    WithStmt,
)
from mypy.types import CallableType, Instance, get_proper_type

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.source.walk import walk
from branded.mypy.rows.algebra import VEC

_untyped: dict[MypyFile, bool] = new_cache()


def is_untyped_module(module: MypyFile | None) -> bool:
    """Return whether a module does not import `Vec`; its symbol table is available even if its source is not loaded."""
    if module is not None and module not in _untyped:
        _untyped[module] = not module.is_stub and not any(_is_vec_class(s.node) for s in module.names.values())
    return module is not None and _untyped[module]


def _is_vec_class(node: object) -> bool:
    return isinstance(node, TypeInfo) and node.fullname == VEC


def is_untyped_function(node: Node | None, api: TypeChecker) -> bool:
    """Return whether a function is defined, or a value is called, in a file that does not import `Vec`."""
    if isinstance(node, FuncDef | Decorator | Var) and "." in node.fullname:
        return is_untyped_module(module_of(node, api))
    return is_untyped_module(api.tree)


def is_untyped_class(info: TypeInfo, api: TypeChecker) -> bool:
    return is_untyped_module(api.modules.get(info.module_name))


def is_in_file(node: SymbolNode, api: TypeChecker) -> bool:
    """Return whether a function is in this file; mypy does not always keep the bodies of other files in memory."""
    module = module_of(node, api) if "." in node.fullname else api.tree
    return module is not None and module.fullname == api.tree.fullname


def definition_of(t: CallableType, node: Node | None, api: TypeChecker) -> SymbolNode | None:
    """Return the function that a value of type `t` is, or `node` if this is a variable of another file that holds it.

    `node` is the name that the value has where it is used, if it has one.

    mypy's cache keeps no functions in the types of variables and of decorated functions. To be the same with a cache
    and without one, functions of other files are unknown.
    """
    f = t.definition
    if isinstance(node, Decorator):
        return node
    if isinstance(node, Var) and (other := _variable_of_other_file(node, api)) is not None:
        return other
    is_decorated = isinstance(f, Decorator) or (isinstance(f, FuncDef) and f.is_decorated)
    return None if f is not None and is_decorated and not is_in_file(f, api) else f


def container_of(e: Expression, api: TypeChecker) -> Var | None:
    """Return the variable whose value, entry or attribute an expression is, such as `FUNCTIONS` in `FUNCTIONS[0]`."""
    while True:
        match e:
            case IndexExpr(base=inner) | CallExpr(callee=MemberExpr(expr=inner)):
                e = inner
            case RefExpr(node=Var() as node):
                return node
            case MemberExpr(node=None, expr=inner, name=name):
                owner = get_proper_type(api.lookup_type_or_none(inner))
                symbol = owner.type.get(name) if isinstance(owner, Instance) else None
                return symbol.node if symbol is not None and isinstance(symbol.node, Var) else None
            case _:
                return None


def _variable_of_other_file(node: Var, api: TypeChecker) -> Var | None:
    """Return the variable of another file that a variable is, or that has its value as an entry."""
    seen = {node}
    while is_in_file(node, api):
        value = _source_of(node, api)
        found = None if value is None else container_of(value, api)
        if found is None or found in seen:
            return None
        node = found
        seen.add(node)
    return node


_assigned: dict[MypyFile | FuncDef, dict[tuple[str, int], Expression | None]] = new_cache()
"""The values of variables by name and line: a body that is checked again has copies of the variables around it."""
_sources: dict[MypyFile | FuncDef, dict[tuple[str, int], Expression]] = new_cache()


def assigned_to(node: Node | None, api: TypeChecker) -> Expression | None:
    """Return the only expression that is assigned to a variable of this file; None if there are several."""
    if not isinstance(node, Var):
        return None
    place = node.name, node.line
    for owner in _owners(api):
        if owner not in _assigned:
            _assigned[owner] = _assigned_in(_body(owner))
        if place in _assigned[owner]:
            return _assigned[owner][place]
    return None


def _owners(api: TypeChecker) -> list[MypyFile | FuncDef]:
    return [api.tree, *(f for f in api.scope.stack if isinstance(f, FuncDef))]


def _body(owner: MypyFile | FuncDef) -> object:
    return _all_statements(owner.defs) if isinstance(owner, MypyFile) else owner.body


def _source_of(node: Var, api: TypeChecker) -> Expression | None:
    """Return the expression that a variable of this file has its value from, which may be an entry of it."""
    place = node.name, node.line
    for owner in _owners(api):
        if owner not in _sources:
            _sources[owner] = dict(_sources_in(_body(owner)))
        if place in _sources[owner]:
            return _sources[owner][place]
    return None


def _sources_in(body: object) -> Iterator[tuple[tuple[str, int], Expression]]:
    for part in walk(body):
        match part:
            case AssignmentStmt(lvalues=targets, rvalue=value):
                pairs = [(target, value) for target in targets]
            case ForStmt(index=target, expr=value):
                pairs = [(target, value)]
            case GeneratorExpr() | DictionaryComprehension():
                pairs = [*zip(part.indices, part.sequences, strict=True)]
            case _:
                continue
        for target, value in pairs:
            names = (n.node for n in walk(target) if isinstance(n, NameExpr))
            yield from (((v.name, v.line), value) for v in names if isinstance(v, Var))


def _assigned_in(body: object) -> dict[tuple[str, int], Expression | None]:
    found: dict[tuple[str, int], Expression | None] = {}
    for part in walk(body):
        for target, value in _assignments(part):
            if isinstance(target, NameExpr) and isinstance(target.node, Var):
                place = target.node.name, target.node.line
                found[place] = None if place in found else value
    return found


def _assignments(part: Node) -> Iterator[tuple[Node | None, Expression | None]]:
    match part:
        case AssignmentStmt():
            yield from ((target, part.rvalue) for target in part.lvalues)
        case AssignmentExpr():
            yield part.target, None
        case OperatorAssignmentStmt():
            yield part.lvalue, None
        case ForStmt():
            yield from ((name, None) for name in walk(part.index))
        case WithStmt():
            yield from ((name, None) for name in walk([t for t in part.target if t is not None]))


def _all_statements(statements: Sequence[Statement]) -> list[Node]:
    """Return statements, with each class replaced by its statements."""
    return [s for d in statements for s in (_all_statements(d.defs.body) if isinstance(d, ClassDef) else [d])]


def module_of(node: SymbolNode, api: TypeChecker) -> MypyFile | None:
    name = node.fullname
    while name := name.rpartition(".")[0]:
        if name in api.modules:
            return api.modules[name]
    return None
