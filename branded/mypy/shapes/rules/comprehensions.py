"""Values of comprehensions: exact for short iterables with known conditions."""

from __future__ import annotations

from functools import reduce

from mypy.nodes import DictionaryComprehension, Expression, GeneratorExpr

from branded.mypy.shapes.brands import check_iterable
from branded.mypy.shapes.rules.iterables import LONGEST
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import UNKNOWN, Const, Fact, Mutable, Stream, join, list_of


def comprehension(run: FileState, e: GeneratorExpr) -> Fact:
    """Return the value of a list comprehension or a generator expression."""
    if len(e.sequences) != 1:
        return UNKNOWN
    sequence = run.evaluate(e.sequences[0])
    check_iterable(run, sequence, e.sequences[0])
    items = run.iterate(sequence)
    if not isinstance(items, list) or len(items) > LONGEST:
        with run.maybe(isinstance(items, list)):
            run.assign(e.indices[0], UNKNOWN if isinstance(items, list) or items is None else items)
            for condition in e.condlists[0]:
                run.truth(condition)
        with run.maybe(isinstance(items, list) or bool(e.condlists[0])):
            return Stream(run.evaluate(e.left_expr))
    values, is_exact = list[Fact](), True
    for item in items:
        run.assign(e.indices[0], item)
        is_kept = _are_true(run, e.condlists[0])
        is_exact &= is_kept is not None
        if is_kept is not False:
            with run.maybe(is_kept is None):
                values.append(run.evaluate(e.left_expr))
    return list_of(values) if is_exact else Stream(reduce(join, values))


def _are_true(run: FileState, conditions: list[Expression]) -> bool | None:
    """Return whether all conditions hold; None if that is unknown."""
    for i, condition in enumerate(conditions):
        known = run.truth(condition)
        if known is None:
            with run.maybe():
                return False if _are_true(run, conditions[i + 1 :]) is False else None
        if not known:
            return False
    return True


def dict_comprehension(run: FileState, e: DictionaryComprehension) -> Fact:
    items = run.iterate(run.evaluate(e.sequences[0])) if len(e.sequences) == 1 else None
    known: dict[object, Fact] | None = {}
    is_short = isinstance(items, list) and len(items) <= LONGEST and not e.condlists[0]
    for item in items if isinstance(items, list) and is_short else [UNKNOWN]:
        with run.maybe(not is_short):
            for index in e.indices:
                run.assign(index, item)
            key, value = run.evaluate(e.key), run.evaluate(e.value)
        known = {**known, key.value: value} if known is not None and isinstance(key, Const) else None
    return Mutable("dict", known if is_short else None)
