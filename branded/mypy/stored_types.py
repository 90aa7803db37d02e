"""The types of a file's variables after mypy has checked it: without the functions that mypy's cache does not keep."""

from __future__ import annotations

from mypy.nodes import MypyFile, SymbolTable, TypeInfo, Var
from mypy.type_visitor import TypeTranslator
from mypy.types import CallableType, Type, TypeAliasType

from branded.mypy.analysis.source_digest import DIGEST


class _Forgetting(TypeTranslator):
    """Copies types without the functions that values have."""

    def visit_callable_type(self, t: CallableType) -> Type:
        return super().visit_callable_type(t.copy_modified(definition=None))

    def visit_type_alias_type(self, t: TypeAliasType) -> Type:
        return t  # of annotations, which contain no functions


def forget_definitions(module: MypyFile) -> None:
    """Remove the functions from the types of the variables of a checked file, such as `REGISTRY = {"a": f}`.

    mypy's cache does not keep them. Otherwise other files would be checked differently without the cache.
    """
    if DIGEST in module.names:
        _forget_in(module.names, f"{module.fullname}.")


def _forget_in(names: SymbolTable, prefix: str) -> None:
    for symbol in names.values():
        node = symbol.node
        if isinstance(node, Var) and node.type is not None and node.fullname.startswith(prefix):
            node.type = node.type.accept(_Forgetting())
        elif isinstance(node, TypeInfo) and node.fullname.startswith(prefix):
            _forget_in(node.names, prefix)
