"""Results of functions by their arguments, and those of other files, which the files that call them share.

The brands of two vmaps of the same depth are equal here: a result has the brands of the vmaps around the call.

A result is shared between files only if nothing but the arguments determines it. It counts as many steps as its
computation, so that a file is followed equally far, whichever files were checked before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from mypy.nodes import Context, FuncDef, LambdaExpr, MypyFile

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.source_digest import depend_on_source, keep
from branded.mypy.shapes.state import DEEPEST, STEPS, FileState
from branded.mypy.shapes.values import Const, Fact, FollowedBrand, Shaped, Tuple, changed, is_immutable

Body = FuncDef | LambdaExpr
Key = tuple[Body, tuple[Fact, ...], bool, tuple[object, ...]]
"""A function, its arguments, whether it may not run, and the vmaps around it."""
_PLACE = Context()


@dataclass(frozen=True)
class Result:
    """The result of a call, with the brands that were open, and the number of changes before the call."""

    value: Fact
    opened: tuple[FollowedBrand, ...]
    version: int

    def under(self, opened: Sequence[FollowedBrand]) -> Fact | None:
        """Return the result of the same call in these vmaps; None if it may hold a brand of the other ones."""
        if self.opened == tuple(opened):
            return self.value
        names = dict(zip(self.opened, opened, strict=True))
        return _renamed(self.value, names) if is_value(self.value) else None


def key_of(run: FileState, node: Body, given: tuple[Fact, ...]) -> Key:
    """Return the key of a call, which has a brand for each depth of vmaps."""
    opened, around = run.opened, tuple((b.loop, b.name, n) for b, n in zip(run.opened, run.sizes, strict=True))
    if opened:
        names = {b: FollowedBrand("", _PLACE, b.depth) for b in opened}
        given = tuple(_renamed(value, names) for value in given)
    return node, given, bool(run.uncertain), (bool(run.inside), *around)


def is_value(value: Fact) -> bool:
    """Return whether a result is the same wherever it is used, apart from its brands."""
    return is_immutable(value) or isinstance(value, Const)


def _renamed(value: Fact, names: Mapping[FollowedBrand, FollowedBrand]) -> Fact:
    if isinstance(value, Shaped) and value.brands:
        return Shaped(value.axes, frozenset(names.get(b, b) for b in value.brands))
    return Tuple(tuple(_renamed(item, names) for item in value.items)) if isinstance(value, Tuple) else value


@dataclass
class SharedResult:
    """The result of a function, and the work that it took."""

    result: Result
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

    def __init__(self, run: FileState, known: dict[Key, Result]) -> None:
        self.run, self.known = run, known
        self.within = 0
        """The steps in calls whose results are shared."""
        self.calls: list[Key] = []
        """The shared results in the one that is being computed."""
        self.entered: set[Body] = set()
        """The functions that ran for it, without those that ran for `calls`."""

    def called(self, key: Key) -> None:
        """Note a call whose result this file knows already."""
        if (found := _shared.get(key)) is not None:
            self.calls.append(key)
            self.run.deepest = max(self.run.deepest, len(self.run.calls) + found.depth)
        else:
            self.run.unshared += 1

    def find(self, key: Key) -> Fact | None:
        """Return the shared result of a call, if it is its result in this place too."""
        run, found = self.run, _shared.get(key)
        if found is None:
            return None
        new = self._unknown(key)
        steps, depth = sum(r.steps for r in new.values()), len(run.calls) + found.depth
        is_running = any(node in r.entered for node, _ in run.calls for r in new.values())
        if is_running or depth > DEEPEST or run.steps + steps >= STEPS // 2:
            return None
        for module in found.modules:
            depend_on_source(module, run.api)
        self.known.update((k, replace(r.result, version=changed[0])) for k, r in new.items())
        self.calls.append(key)
        self.within += steps
        run.steps += steps
        run.deepest = max(run.deepest, depth)
        return found.result.under(run.opened)

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

    def compute(self, key: Key, run_function: Callable[[], Fact]) -> Fact:
        """Return the result of a call, and share it if nothing but the arguments determines it."""
        run, outer = self.run, (self.calls, self.entered)
        self.calls, self.entered = [], set()
        before = run.steps, self.within, run.unshared, changed[0], run.deepest
        run.deepest = len(run.calls)
        value, modules = keep(run_function)
        steps, depth = run.steps - before[0], run.deepest - len(run.calls)
        if is_value(value) and (run.unshared, changed[0]) == before[2:4] and run.steps < STEPS // 2:
            own = steps - (self.within - before[1])
            _shared[key] = SharedResult(
                Result(value, tuple(run.opened), changed[0]), own, depth, self.calls, self.entered, modules
            )
            outer[0].append(key)
        else:
            run.unshared += 1
        self.within = before[1] + steps
        (self.calls, self.entered), run.deepest = outer, max(before[4], run.deepest)
        return value
