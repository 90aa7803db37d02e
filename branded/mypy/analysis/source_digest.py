"""A digest of each module's source, kept in its symbol table.

mypy checks an importer again if the interface of a module has changed. The plugin also looks into the bodies of
functions of other files. The digest makes these bodies part of the interface: mypy stores it in its cache, and its
daemon compares it. It is of the whole text: every file of every program has one, and parsing it would take longer.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from mypy.checker import TypeChecker
from mypy.nodes import GDEF, MypyFile, SymbolTableNode, Var
from mypy.types import UnboundType

from branded.mypy.analysis.caches import new_cache
from branded.mypy.rows.static_fields import STATIC, find_static_fields

DIGEST = "branded@source"
"""The name of the digest. mypy's daemon keeps names with an `@` when it analyzes a file again."""
LIBRARIES = ("builtins.", "typing.", "tinygrad.", "branded.")
"""The prefixes of modules whose functions have known behavior."""

_recorded: list[set[MypyFile]] = []
"""The modules that the results being computed depend on, for the innermost result last."""

_registered: dict[tuple[str, str], set[MypyFile]] = new_cache()
"""The modules that the functions depend on, by the names of the file and of the function."""


def add_source_facts(module: MypyFile) -> None:
    """Add facts about a file's source to its symbol table: the digest of its text, and the static fields.

    mypy's hook for files that it has parsed calls this, except for an unchanged file that mypy parses again to check it
    with other imports. Such a file gets them when it is checked, and at the latest before mypy writes its cache.
    """
    is_ours = module.is_stub or f"{module.fullname}.".startswith(LIBRARIES)
    if is_ours or DIGEST in module.names:
        return
    if (text := _text_of(module.path, file_version(module.path))) is None:
        return
    add_fact(module, DIGEST, hashlib.sha256(text).hexdigest())
    if fields := find_static_fields(text):
        add_fact(module, STATIC, fields)


def add_fact(module: MypyFile, name: str, fact: str) -> None:
    """Add a text to the symbol table of a parsed file."""
    # a type without a class: when a file has just been parsed, no class is known
    held = Var(name, UnboundType(fact))
    held._fullname = f"{module.fullname}.{name}"
    module.names[name] = SymbolTableNode(GDEF, held, module_public=False, module_hidden=True)


def depend_on_sources(modules: set[MypyFile], api: TypeChecker) -> None:
    """Check the current function again when a body of these modules, or a definition that it uses, changes."""
    if _recorded:
        _recorded[-1].update(modules)
    target = api.tscope.current_target()
    known = _registered.setdefault((api.tree.fullname, target), set())
    for module in modules - known:
        known.add(module)
        if module.fullname != api.tree.fullname:
            api.module_refs.update(m.fullname for m in (module, *_imports(module, api)))
        if api.options.fine_grained_incremental or api.options.cache_fine_grained:
            # the daemon checks single functions, and does not know the dependencies of the bodies in this file
            found, left = dict[str, MypyFile](), [api.tree, module]
            while left:
                m = left.pop()
                if m.fullname not in found:
                    found[m.fullname] = m
                    left += _imports(m, api)
            api.tree.alias_deps[target].update(f"{name}.{DIGEST}" for name in found)


T = TypeVar("T")
Kept = tuple[T, set[MypyFile]]
"""A result, and the modules that it depends on."""


def keep(compute: Callable[[], T]) -> Kept[T]:
    """Compute a result that other files may use too, and record the modules that it depends on."""
    _recorded.append(set())
    try:
        value = compute()
    finally:
        modules = _recorded.pop()
        if _recorded:
            _recorded[-1].update(modules)
    return value, modules


def use(kept: Kept[T], api: TypeChecker) -> T:
    """Return a result, and depend on its modules as if it were computed here."""
    depend_on_sources(kept[1], api)
    return kept[0]


_imported: dict[tuple[MypyFile, bool], list[MypyFile]] = new_cache()


def _imports(module: MypyFile, api: TypeChecker) -> list[MypyFile]:
    """Return the modules with a digest whose names a module uses."""
    key = module, module is api.tree
    if key not in _imported:
        _imported[key] = list(_find_imports(module, api))
    return _imported[key]


def _find_imports(module: MypyFile, api: TypeChecker) -> Iterator[MypyFile]:
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


def file_version(path: str) -> int:
    """Return the time at which a file was changed; 0 for a text that is not from a file."""
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=512)
def _text_of(path: str, version: int) -> bytes | None:
    """Return the text of one version of a file; None if the text is not from a file."""
    try:
        return Path(path).read_bytes() if version else None
    except OSError:
        return None


@lru_cache(maxsize=512)
def parse(path: str, version: int) -> ast.Module | None:
    """Return the syntax tree of one version of a file; None if it cannot be parsed."""
    text = _text_of(path, version)
    try:
        return ast.parse(text) if text is not None else None
    except (SyntaxError, ValueError):  # mypy reports it, or it is newer than the Python running mypy
        return None
