"""The patterns of a `match` that need a hook: values that a subject is compared with, and the class Tensor."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from mypy.nodes import MatchStmt, Node, StrExpr, TupleExpr, TypeInfo
from mypy.patterns import (
    AsPattern,
    ClassPattern,
    MappingPattern,
    OrPattern,
    Pattern,
    SequencePattern,
    StarredPattern,
    ValuePattern,
)

from branded.mypy.rows.algebra import TENSOR

MATCH, DISPLAY = "<match>", "<display>"
TEST, OPERANDS, CASE = "<test>", "<operands>", "<case>"

Path = tuple[int | str | tuple[str, int | str], ...]
"""The way to a part of a subject: an index, a key, or a class with the name or the position of an attribute."""


def compared_paths(patterns: Iterable[Pattern]) -> Iterator[StrExpr]:
    """Find the parts of a subject that patterns compare with values: a path for each, at the line of the pattern.

    A class pattern may leave another type of the subject for the patterns after it, so it is the last one.
    """
    for p in patterns:
        for path, compared in _value_patterns(p, ()):
            e = StrExpr(repr(path))
            e.set_line(compared)
            yield e
        if any(_find_class_patterns_in(p)):
            return


def _value_patterns(p: Pattern, path: Path) -> Iterator[tuple[Path, Pattern]]:
    match p:
        case ValuePattern():
            yield path, p
        case AsPattern(pattern=Pattern() as inner):
            yield from _value_patterns(inner, path)
        case OrPattern():
            for inner in itertools.takewhile(lambda q: not isinstance(q, ClassPattern), p.patterns):
                yield from _value_patterns(inner, path)
        case SequencePattern():
            star = next((i for i, q in enumerate(p.patterns) if isinstance(q, StarredPattern)), len(p.patterns))
            for i, inner in enumerate(p.patterns):
                yield from _value_patterns(inner, (*path, i if i < star else i - len(p.patterns)))
        case MappingPattern():
            for key, inner in zip(p.keys, p.values, strict=True):
                if isinstance(key, StrExpr):
                    yield from _value_patterns(inner, (*path, key.value))
        case ClassPattern():
            names: list[int | str] = [*range(len(p.positionals)), *p.keyword_keys]
            for name, inner in zip(names, (*p.positionals, *p.keyword_values), strict=True):
                yield from _value_patterns(inner, (*path, (p.class_ref.fullname, name)))


def _find_class_patterns_in(p: Pattern) -> list[ClassPattern]:
    found: list[ClassPattern] = []
    _find_class_patterns(p, found, found)
    return found


def tensor_classes(s: MatchStmt) -> list[TupleExpr]:
    """Return the uses of `Tensor` in the patterns of a match: first those outside dict patterns, then those inside."""
    patterns: tuple[list[ClassPattern], list[ClassPattern]] = [], []
    for p in s.patterns:
        _find_class_patterns(p, *patterns)
    return [TupleExpr([p.class_ref for p in each if _is_tensor(p.class_ref.node)]) for each in patterns]


def _is_tensor(node: Node | None) -> bool:
    return isinstance(node, TypeInfo) and node.fullname == TENSOR


def _find_class_patterns(p: Pattern | None, outside: list[ClassPattern], entries: list[ClassPattern]) -> None:
    below: Sequence[Pattern | None] = ()
    match p:
        case AsPattern():
            below = [p.pattern]
        case OrPattern() | SequencePattern():
            below = p.patterns
        case MappingPattern():
            below, outside = p.values, entries
        case ClassPattern():
            outside.append(p)
            below = [*p.positionals, *p.keyword_values]
    for q in below:
        _find_class_patterns(q, outside, entries)
