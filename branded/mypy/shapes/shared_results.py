"""A cache of results of function calls, by function and arguments.

Equal calls under different vmaps share a result: the brands of the arguments replace those of the cached call.

Files share a result only if the arguments alone determine it. A file also shares the results of its own functions, but
only if its importers, which parse its source again, would compute the same: mypy's types of its expressions, the values
of its variables and its classes must not be used.

Using a cached result counts as many steps as computing it. So `STEPS` ends the analysis of a file at the same place,
whichever files were checked before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from mypy.nodes import Context, FuncDef, LambdaExpr, MypyFile

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.source_digest import depend_on_sources, keep
from branded.mypy.shapes.other_files import original_of
from branded.mypy.shapes.state import DEEPEST, STEPS, FileState
from branded.mypy.shapes.values import NONE, Const, Fact, FollowedBrand, Shaped, Tuple, brands_of, changed, is_immutable

Body = FuncDef | LambdaExpr
Key = tuple[Body, tuple[Fact, ...], bool, tuple[object, ...]]
"""A function, its arguments, whether it may not run, and the vmaps around it."""
_PLACE = Context()


Used = tuple[FollowedBrand, ...]
"""The open brands of the arguments of a call, outermost first."""


class KnownResult(NamedTuple):
    """The result of a call, the brands that were open, and the number of changes before the call."""

    value: Fact
    used: Used
    opened: tuple[FollowedBrand, ...]
    version: int

    def under(self, run: FileState, used: Used) -> Fact | None:
        """Return the result of a call with the same key; None if it may hold brands of the other call."""
        if self.used == used and (is_value(self.value) or self.opened == tuple(run.opened)):
            return self.value
        return _rename(self.value, dict(zip(self.used, used, strict=True))) if is_value(self.value) else None


def key_of(run: FileState, node: Body, given: tuple[Fact, ...]) -> tuple[Key, Used]:
    """Return the key of a call, whose brands have numbers, and these brands.

    A collective can name a brand that no argument has.
    """
    if not run.opened:
        return (node, given, bool(run.uncertain), (bool(run.inside),)), ()
    held = frozenset[FollowedBrand]().union(*map(brands_of, given))
    used = tuple(b for b in run.opened if b in held)
    numbers = {b: _brand_with_number(i, b.loop) for i, b in enumerate(used)}
    opened = zip(run.opened, run.sizes, strict=True)
    named = [(b.name, n, numbers.get(b)) for b, n in opened if b.name != NONE]
    given = tuple(_rename(value, numbers) for value in given) if used else given
    return (node, given, bool(run.uncertain), (bool(run.inside), *named)), used


@lru_cache(maxsize=256)
def _brand_with_number(i: int, loop: str) -> FollowedBrand:
    """Return the brand that stands for the brand with this number in the key of a call."""
    return FollowedBrand("", _PLACE, i, loop)


def result_of(run: FileState, value: Fact, used: Used) -> KnownResult:
    return KnownResult(value, used, tuple(run.opened), changed[0])


def is_value(value: Fact) -> bool:
    """Return whether a result cannot change after the call, so that it can be shared; its brands may differ."""
    return is_immutable(value) or isinstance(value, Const)


def _rename(value: Fact, names: Mapping[FollowedBrand, FollowedBrand]) -> Fact:
    if isinstance(value, Shaped) and value.brands:
        return value.with_brands(frozenset(names.get(b, b) for b in value.brands))
    return Tuple(tuple(_rename(item, names) for item in value.items)) if isinstance(value, Tuple) else value


class SharedResult(NamedTuple):
    """The result of a function, and the work that it took."""

    result: KnownResult
    steps: int
    """The expressions that were evaluated, without those in `calls`."""
    depth: int
    """The depth of its calls."""
    calls: list[Key]
    """The calls in it whose results are shared too."""
    entered: set[Body]
    """The functions that ran for it, without those that ran for `calls`."""
    modules: set[MypyFile]


_shared: dict[Key, SharedResult] = new_cache()


class Sharing:
    """The shared results that are used and computed while one file is followed."""

    def __init__(self, run: FileState, known: dict[Key, KnownResult]) -> None:
        self.run, self.known = run, known
        self.within = 0
        """The steps in calls whose results are shared."""
        self.calls: list[Key] = []
        """The calls with shared results inside the call that is being computed."""
        self.entered: set[Body] = set()
        """The functions that ran for it, without those that ran for `calls`."""

    def called(self, key: Key) -> None:
        """Note a call whose result this file knows already."""
        if (found := _shared.get(key)) is not None:
            self._depend(found)
            self.calls.append(key)
            self.run.deepest = max(self.run.deepest, len(self.run.calls) + found.depth)
        else:
            self.run.unshared += 1

    def find(self, key: Key, used: Used) -> Fact | None:
        """Return the shared result of a call, if it is its result in this place too."""
        run, found = self.run, _shared.get(key)
        if found is None:
            return None
        new = self._unknown(key)
        steps, depth = sum(r.steps for r in new.values()), len(run.calls) + found.depth
        is_running = any(original_of(node) in r.entered for node, *_ in run.calls for r in new.values())
        if is_running or depth > DEEPEST or run.steps + steps >= STEPS // 2:
            return None
        self._depend(found)
        self.known.update((k, r.result._replace(version=changed[0])) for k, r in new.items())
        self.calls.append(key)
        self.within += steps
        run.steps += steps
        run.deepest = max(run.deepest, depth)
        return found.result.under(run, used)

    def _depend(self, found: SharedResult) -> None:
        depend_on_sources(found.modules, self.run.api)

    def _unknown(self, key: Key) -> dict[Key, SharedResult]:
        """Return a shared result and the results of the calls in it, except results that this file knows."""
        found: dict[Key, SharedResult] = {}
        left = [key]
        while left:
            k = left.pop()
            if k not in found and ((r := self.known.get(k)) is None or r.version != changed[0]):
                found[k] = _shared[k]
                left += found[k].calls
        return found

    def compute(self, key: Key, used: Used, run_function: Callable[[], Fact], is_own: bool) -> Fact:
        """Return the result of a call, and share it if nothing but the arguments determines it.

        `is_own` says that the function is in the file that is followed.
        """
        run, outer = self.run, (self.calls, self.entered)
        self.calls, self.entered = [], set()
        before = run.steps, self.within, run.unshared, changed[0], run.deepest
        run.deepest = len(run.calls)
        value, modules = keep(run_function)
        if is_own:
            modules.add(run.tree)
        steps, depth = run.steps - before[0], run.deepest - len(run.calls)
        # importers have their own nodes for the vmaps in the function, which its brands name
        is_portable = is_value(value) and (not is_own or brands_of(value) <= set(used))
        if is_portable and (run.unshared, changed[0]) == before[2:4] and run.steps < STEPS // 2:
            own = steps - (self.within - before[1])
            result = result_of(run, value, used)
            _shared[key] = SharedResult(result, own, depth, self.calls, self.entered, modules)
            outer[0].append(key)
        else:
            run.unshared += 1
        self.within = before[1] + steps
        (self.calls, self.entered), run.deepest = outer, max(before[4], run.deepest)
        return value
