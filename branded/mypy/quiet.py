"""Files that say nothing of rows: those that do not import `Vec`."""

from __future__ import annotations

from mypy.checker import TypeChecker
from mypy.nodes import FuncDef, MypyFile, Node, TypeInfo

from branded.mypy.rows import VEC


def is_quiet(module: MypyFile | None) -> bool:
    """Does a file speak of `Tensor` alone?  Its names are known also where its text is not in memory."""
    return module is not None and not module.is_stub and not any(_is_vec(s.node) for s in module.names.values())


def _is_vec(node: object) -> bool:
    return isinstance(node, TypeInfo) and node.fullname == VEC


def is_quiet_function(node: Node | None, api: TypeChecker) -> bool:
    """Is this a function of such a file, or a value that is called in one?"""
    named = isinstance(node, FuncDef) and "." in node.fullname
    return is_quiet(module_of(node, api) if named and isinstance(node, FuncDef) else api.tree)


def is_quiet_class(info: TypeInfo, api: TypeChecker) -> bool:
    return is_quiet(api.modules.get(info.module_name))


def module_of(f: FuncDef, api: TypeChecker) -> MypyFile | None:
    name = f.fullname
    while name := name.rpartition(".")[0]:
        if name in api.modules:
            return api.modules[name]
    return None
