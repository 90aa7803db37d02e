"""The names of brands that a function needs to be open when it is called, from its source.

    def center(x: Vec[Batch | S]) -> Vec[Batch | S]:
        return x - pmean(x, Batch)                      needs Batch, which pmean names

Only calls that certainly run count: none in a branch, in a nested function, or after a branch that may return.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mypy.checker import TypeChecker
from mypy.nodes import Decorator, FuncDef, MypyFile, Node, SymbolNode, TypeInfo

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.function_source import (
    bound_count,
    descendants,
    full_name,
    local_names,
    source_of,
    without_decorator,
)
from branded.mypy.analysis.source.syntax import children
from branded.mypy.analysis.source_digest import LIBRARIES, Kept, depend_on_sources, keep, use
from branded.mypy.analysis.untyped_modules import module_of

REDUCTIONS = [f"branded.collectives.reductions.{n}" for n in ("psum", "pmean", "pmax", "pmin", "all_gather")]
EXCHANGES = [f"branded.collectives.exchanges.{n}" for n in ("ppermute", "all_to_all", "psum_scatter")]
POSITIONS = {
    **dict.fromkeys([*REDUCTIONS, *EXCHANGES], 1),
    **{f"branded.collectives.reductions.{n}": 0 for n in ("axis_index", "axis_size")},
}
"""The collectives, and the position of their parameter `axis_name`."""

MOST_CALLS = 100
"""The maximum depth of calls to follow."""


class Need(NamedTuple):
    """A name that a collective needs."""

    name: str | TypeInfo
    collective: str
    where: str


_known: dict[FuncDef, Kept[list[Need]]] = new_cache()


def needed_names(node: Node | None, api: TypeChecker, depth: int = 0) -> list[Need]:
    """Return the names that a call of a function certainly needs; empty for other nodes."""
    f = without_decorator(node, api)
    if not isinstance(f, FuncDef) or depth > MOST_CALLS:
        return []
    if f not in _known:
        _known[f] = [], set()  # a recursive call needs no more
        _known[f] = keep(lambda: _find_needs(f, api, depth))
    return use(_known[f], api)


def _find_needs(f: FuncDef, api: TypeChecker, depth: int) -> list[Need]:
    module = module_of(f, api) if "." in f.fullname else api.tree
    if module is None:
        return []
    depend_on_sources({module}, api)
    if module not in _with_collectives:
        _with_collectives[module] = any(_may_need(s.node, module, api) for s in module.names.values())
    is_read = _with_collectives[module] or (bool(f.info) and _may_need(f.info, module, api))
    source = source_of(f, api) if is_read else None
    return list(_needs_of(source, f, module, api, depth)) if source is not None else []


_with_collectives: dict[MypyFile, bool] = new_cache()
"""Whether a function of a module may need a name; if not, its source is not read."""


def _may_need(node: SymbolNode | None, module: MypyFile, api: TypeChecker) -> bool:
    """Return whether a global is a collective, or may contain one, or has its code in another file of the user."""
    if isinstance(node, MypyFile):
        return f"{node.fullname}.".startswith("branded.")
    if node is not None and node.fullname in POSITIONS:
        return True
    called = node.mro if isinstance(node, TypeInfo) else [node] if isinstance(node, FuncDef | Decorator) else []
    owners = [module_of(n, api) for n in called if not n.fullname.startswith(LIBRARIES)]
    return any(owner is None or (owner is not module and not owner.is_stub) for owner in owners)


def _needs_of(source: ast.FunctionDef, f: FuncDef, module: MypyFile, api: TypeChecker, depth: int) -> Iterator[Need]:
    for call in _certain_calls(source.body):
        root = call.func
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or not (root.id in module.names or f.info):
            continue
        local = local_names(source)
        if f.info and bound_count(f) and root.id == f.arg_names[0] and isinstance(call.func, ast.Attribute):
            symbol = f.info.get(call.func.attr) if call.func.value is root else None
        else:
            symbol = module.names.get(root.id) if root.id not in local and call.func is root else None
        name = full_name(call.func, module, api) if root.id not in local else ""
        if name in POSITIONS:
            for e in _axis_names(call, POSITIONS[name]):
                if (wanted := _name_of(e, module, local)) is not None:
                    place = f"{Path(module.path).name}:{call.lineno}, in `{f.name}`: {ast.unparse(call)}"
                    yield Need(wanted, name.rpartition(".")[2], place)
        elif symbol is not None:
            yield from needed_names(symbol.node, api, depth + 1)


def _axis_names(call: ast.Call, position: int) -> Iterator[ast.expr]:
    """Find the entries of the argument `axis_name`."""
    given = [k.value for k in call.keywords if k.arg == "axis_name"] or call.args[position : position + 1]
    for e in given:
        yield from e.elts if isinstance(e, ast.Tuple | ast.List) else [e]


def _name_of(e: ast.expr, module: MypyFile, local: frozenset[str]) -> str | TypeInfo | None:
    match e:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name) if name not in local:
            symbol = module.names.get(name)
            return symbol.node if symbol is not None and isinstance(symbol.node, TypeInfo) else None
    return None


def _certain_calls(body: Sequence[ast.stmt]) -> Iterator[ast.Call]:
    """Find the calls in statements that run whenever the function does."""
    for s in body:
        match s:
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Expr() | ast.Return():
                yield from _calls_in(s.value)
            case ast.With():
                return  # a block may open a brand
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                pass
            case _ if any(isinstance(n, ast.Return | ast.Raise) for n in descendants(s)):
                return
        if isinstance(s, ast.Return):
            return


_NOT_CERTAIN = {ast.Lambda, ast.IfExp, ast.BoolOp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp}
"""The expressions whose parts may not run."""


def _calls_in(e: ast.expr | None) -> Iterator[ast.Call]:
    """Find the calls in an expression that run whenever it is evaluated."""
    left: list[ast.AST] = [e] if e is not None else []
    while left:
        part = left.pop()
        if type(part) not in _NOT_CERTAIN:
            if isinstance(part, ast.Call):
                yield part
            left += reversed(children(part))
