"""The names of brands that a function's callers may open, from the source of its file.

def shares(row): return vmap(lambda x: x / psum(x, Users))(row)
vmap(shares, axis_name=Users)(table)                               Users is open in `shares`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from mypy.checker import TypeChecker
from mypy.nodes import FuncDef

from branded.mypy.analysis.function_source import descendants, node_words
from branded.mypy.analysis.source.syntax import nodes_of
from branded.mypy.analysis.source_digest import file_version, parse


def may_be_open(name: str, api: TypeChecker) -> bool:
    """Return whether a function around the current expression may be called where this file opens the name."""
    around = [f.name for f in api.scope.stack if isinstance(f, FuncDef)]
    return bool(around) and not _called_within(api.path, file_version(api.path)).get(name, frozenset()).isdisjoint(
        around
    )


@lru_cache(maxsize=8)
def _called_within(path: str, version: int) -> dict[str, frozenset[str]]:
    """Return, for each name that a file opens, the functions of the file that run where it is open."""
    tree = parse(path, version)
    if tree is None:
        return {}
    bodies: dict[str, set[str]] = {}
    for n in nodes_of(tree):
        if isinstance(n, ast.FunctionDef):
            bodies.setdefault(n.name, set()).update(_words(n))
    found: dict[str, set[str]] = {}
    for name, words in _openings(tree):
        reached, left = found.setdefault(name, set()), list(words)
        while left:
            word = left.pop()
            if word in bodies and word not in reached:
                reached.add(word)
                left += bodies[word]
    return {name: frozenset(reached) for name, reached in found.items()}


def _openings(tree: ast.Module) -> Iterator[tuple[str, set[str]]]:
    """Find where names are opened, with the words of the code that runs there."""
    for n in nodes_of(tree):
        if isinstance(n, ast.Call):
            given = [k.value for k in n.keywords if k.arg == "axis_name"]
            yield from ((name, _words(n)) for e in given for name in _words(e))
        elif isinstance(n, ast.FunctionDef):
            given = [k.value for d in n.decorator_list for k in getattr(d, "keywords", ()) if k.arg == "axis_name"]
            yield from ((name, {n.name}) for e in given for name in _words(e))
        elif isinstance(n, ast.With):
            opened = {name for i in n.items for name in _words(i.context_expr)}
            yield from ((name, {w for s in n.body for w in _words(s)}) for name in opened)


def _words(node: ast.AST) -> set[str]:
    """Return the names and the strings in a part of a file."""
    nodes = descendants(node)
    texts = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return texts.union(word for n in nodes for word in node_words(n))
