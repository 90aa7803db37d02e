"""The patterns of `match` statements: whether a value matches, and the names that it binds."""

from __future__ import annotations

from collections.abc import Sequence

from mypy.nodes import NameExpr, Var
from mypy.patterns import AsPattern, ClassPattern, OrPattern, Pattern, SequencePattern, StarredPattern, ValuePattern

from branded.mypy.analysis.source.walk import walk
from branded.mypy.shapes.brands import check_truth
from branded.mypy.shapes.objects import Objects, field_names
from branded.mypy.shapes.values import UNKNOWN, Class, Const, Fact, Mutable, brands_of, is_same, items_of


def matches(run: Objects, pattern: Pattern, value: Fact) -> bool | None:
    """Return whether a pattern matches, and bind its names; None if it is unknown."""
    match pattern:
        case AsPattern():
            inner = matches(run, pattern.pattern, value) if pattern.pattern is not None else True
            if pattern.name is not None:
                run.assign(pattern.name, value)
            return inner
        case OrPattern():
            each = [matches(run, p, value) for p in pattern.patterns]
            return True if True in each else False if all(e is False for e in each) else None
        case ClassPattern():
            return _matches_class(run, pattern, value)
        case SequencePattern() if (items := items_of(value)) is not None and not any(
            isinstance(p, StarredPattern) for p in pattern.patterns
        ):
            if len(items) != len(pattern.patterns):
                return False
            return _every([matches(run, p, v) for p, v in zip(pattern.patterns, items, strict=True)])
        case ValuePattern():
            wanted = run.evaluate(pattern.expr)
            if brands_of(value):
                check_truth(run, value, pattern.expr)
            same = isinstance(value, Const) and isinstance(wanted, Const)
            return is_same(value, wanted) if same else None
    for name in walk(pattern):
        if isinstance(name, NameExpr) and name.node is not None and isinstance(name.node, Var):
            run.assign(name, UNKNOWN)
    return None


def _matches_class(run: Objects, pattern: ClassPattern, value: Fact) -> bool | None:
    wanted = run.evaluate(pattern.class_ref)
    info = value.info if isinstance(value, Mutable) else None
    is_one = isinstance(wanted, Class) and info is not None and wanted.info in info.mro
    if info is not None and isinstance(wanted, Class) and not is_one:
        return False
    names = (field_names(info) or []) if info is not None and is_one else []
    inner = [
        *zip(names, pattern.positionals, strict=False),
        *zip(pattern.keyword_keys, pattern.keyword_values, strict=True),
    ]
    each = [matches(run, p, run.attribute(value, name, pattern)) for name, p in inner]
    if not is_one or len(names) < len(pattern.positionals):
        for p in pattern.positionals if not is_one else ():
            matches(run, p, UNKNOWN)
        return None
    return _every(each)


def _every(each: Sequence[bool | None]) -> bool | None:
    return False if False in each else None if None in each else True
