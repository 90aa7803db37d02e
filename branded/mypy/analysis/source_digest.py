"""A digest of each module's functions, kept in its symbol table.

mypy checks an importer again if the interface of a module has changed. The plugin also looks into the bodies of
functions of other files. The digest makes these bodies part of the interface: mypy stores it in its cache, and its
daemon compares it.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path

from mypy.checker import TypeChecker
from mypy.nodes import GDEF, MypyFile, SymbolTableNode, Var
from mypy.types import UnboundType

from branded.mypy.analysis.caches import new_cache

DIGEST = "branded@source"
"""The name of the digest. mypy's daemon keeps names with an `@` when it analyzes a file again."""
_SCALARS = {"bool", "bytes", "complex", "float", "int", "str"}

_registered: dict[tuple[str, str, str], None] = new_cache()
"""The files, the functions in them, and the modules that they depend on."""


def add_digest(module: MypyFile) -> None:
    """Add the digest of a parsed file to its symbol table."""
    try:
        text = Path(module.path).read_bytes()
    except OSError:  # the text is not from a file
        return
    # a type without a class: when a file has just been parsed, no class is known
    digest = Var(DIGEST, UnboundType(_digest(text, is_parsed="site-packages" not in module.path)))
    digest._fullname = f"{module.fullname}.{DIGEST}"
    module.names[DIGEST] = SymbolTableNode(GDEF, digest, module_public=False, module_hidden=True)


def depend_on_source(module: MypyFile, api: TypeChecker) -> None:
    """Check the current function again when a body of this module changes, or what the body refers to."""
    target = api.tscope.current_target()
    if (api.tree.fullname, target, module.fullname) in _registered:
        return
    _registered[api.tree.fullname, target, module.fullname] = None
    if module.fullname != api.tree.fullname:
        api.module_refs.update(m.fullname for m in (module, *_imports(module, api)))
    if api.options.fine_grained_incremental or api.options.cache_fine_grained:
        # the daemon checks single functions, and it does not know what the bodies in this file depend on
        found, left = dict[str, MypyFile](), [api.tree, module]
        while left:
            m = left.pop()
            if m.fullname not in found:
                found[m.fullname] = m
                left += _imports(m, api)
        api.tree.alias_deps[target].update(f"{name}.{DIGEST}" for name in found)


def _imports(module: MypyFile, api: TypeChecker) -> Iterator[MypyFile]:
    """Find the modules with a digest whose names a module uses."""
    names = [i.id for i in module.imports if hasattr(i, "id")] if module is api.tree else []
    for symbol in module.names.values():
        node = symbol.node
        if isinstance(node, MypyFile):
            names.append(node.fullname)
        elif node is not None and not node.fullname.startswith(f"{module.fullname}."):
            names.append(node.fullname.rpartition(".")[0])
    for name in dict.fromkeys(names):
        found = api.modules.get(name)
        if found is not None and DIGEST in found.names:
            yield found


def _digest(text: bytes, is_parsed: bool) -> str:
    """Return a digest of a file's imports and functions, with the lines that a message can refer to."""
    try:
        tree = ast.parse(text) if is_parsed else None
    except (SyntaxError, ValueError):  # mypy reports it, or it is newer than the Python running mypy
        tree = None
    if tree is None:
        return hashlib.sha256(text).hexdigest()
    parts = list[str]()
    for n in ast.walk(tree):
        if isinstance(n, ast.Import | ast.ImportFrom):
            parts.append(ast.dump(n))
        elif isinstance(n, ast.FunctionDef) and _can_take_tensors(n.args):
            parts += [ast.dump(n), *(str(line) for part in ast.walk(n) if (line := getattr(part, "lineno", None)))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _can_take_tensors(args: ast.arguments) -> bool:
    annotations = [
        a.annotation for a in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg] if a is not None
    ]
    return not all(isinstance(a, ast.Name) and a.id in _SCALARS for a in annotations)
