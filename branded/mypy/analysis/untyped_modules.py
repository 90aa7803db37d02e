"""Files that do not import `Vec`: their annotations do not mention brands."""

from __future__ import annotations

from mypy.checker import TypeChecker
from mypy.nodes import FuncDef, MypyFile, Node, TypeInfo

from branded.mypy.analysis.caches import new_cache
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
    named = isinstance(node, FuncDef) and "." in node.fullname
    return is_untyped_module(module_of(node, api) if named and isinstance(node, FuncDef) else api.tree)


def is_untyped_class(info: TypeInfo, api: TypeChecker) -> bool:
    return is_untyped_module(api.modules.get(info.module_name))


def module_of(f: FuncDef, api: TypeChecker) -> MypyFile | None:
    name = f.fullname
    while name := name.rpartition(".")[0]:
        if name in api.modules:
            return api.modules[name]
    return None
