"""Following batched values through the functions that a function calls."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from mypy.checker import TypeChecker
from mypy.nodes import FuncDef, TypeInfo
from mypy.types import CallableType

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.function_source import source_of
from branded.mypy.analysis.source.body import FunctionBody
from branded.mypy.analysis.source.effects import Effects, Read
from branded.mypy.analysis.source.names import own_name
from branded.mypy.analysis.source_digest import Kept, keep, use
from branded.mypy.analysis.untyped_modules import module_of
from branded.mypy.rows.batch_kinds import BatchKind, Made, either_kind, result_kind

MOST_CALLS = 100
"""The maximum depth of calls to follow."""


Call = tuple[FuncDef, TypeInfo | None, frozenset[tuple[str, BatchKind]], frozenset[tuple[str, object]], bool]
"""A function, the class of its object, the kinds of its arguments, its arguments that are objects, and whether it is
traced."""


@dataclass(eq=False, repr=False, match_args=False)
class ReadFinder:
    """Follows batched values through the source of functions."""

    api: TypeChecker
    is_traced: bool
    found: list[Read] = field(default_factory=list)
    running: list[FuncDef] = field(default_factory=list)
    begun: set[Call] = field(default_factory=set)
    """The calls that were followed."""
    lowest: int = MOST_CALLS
    """The position in `running` of the outermost function that a call in the current one has not followed again."""

    def call(
        self,
        f: FuncDef,
        kinds: Mapping[str, BatchKind],
        owner: TypeInfo | None = None,
        objects: Mapping[str, Made] | None = None,
    ) -> tuple[BatchKind, Effects]:
        """Follow a call, and return the kind of its result and its effects."""
        objects = objects or {}
        owner = owner if owner is not None and f.info in owner.mro else f.info or None
        used = max([*kinds.values(), *(o.holds for o in objects.values())], default=BatchKind.PLAIN)
        key = f, owner, frozenset(kinds.items()), frozenset((n, o.key()) for n, o in objects.items()), self.is_traced
        returned = f.type.ret_type if isinstance(f.type, CallableType) else None
        result = BatchKind.HOLDS if returned is None else result_kind(returned, used)
        nothing = Effects([], {})
        if self.found or used is BatchKind.PLAIN:
            return result, nothing
        if f in self.running or len(self.running) == MOST_CALLS:
            self.lowest = min(self.lowest, self.running.index(f) if f in self.running else 0)
            return result, nothing
        if key not in _followed and key not in self.begun:
            module, source = module_of(f, self.api), source_of(f, self.api)
            if module is None or source is None:
                return result, nothing
            self.begun.add(key)
            around, self.lowest = self.lowest, MOST_CALLS
            self.running.append(f)
            body = FunctionBody(self, f, owner, module, dict(kinds))
            for name, made in objects.items():
                body.bind(name, made)
            kept = keep(lambda: self._follow(body, source))
            self.running.pop()
            if self.lowest >= len(self.running):  # else the effects depend on the functions that are running
                _followed[key] = kept
            self.lowest = min(around, self.lowest)
            return _certain_result(result, kept[0]), kept[0]
        if key in _followed:
            effects = use(_followed[key], self.api)
            self.found += effects.reads
            return _certain_result(result, effects), effects
        return result, nothing

    def _follow(self, body: FunctionBody, source: ast.FunctionDef) -> Effects:
        body.statements(source.body)
        if body.function.name == "__init__":
            made = body.object_at(own_name(body.function))
        else:
            made = body.made[0] if len(body.made) == 1 else None
        returned = either_kind(body.returned or [BatchKind.PLAIN])
        return Effects([*self.found], body.stores, made, body.changed, returned)


def _certain_result(declared: BatchKind, effects: Effects) -> BatchKind:
    """Return the kind of a call's result, from its declared type and its body."""
    return declared if declared is BatchKind.PLAIN or effects.returned is BatchKind.HOLDS else effects.returned


_followed: dict[Call, Kept[Effects]] = new_cache()
"""The effects of calls."""
