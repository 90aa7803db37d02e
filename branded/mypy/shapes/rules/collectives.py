"""Collectives that change the shape of a value, and the index and the size of a brand."""

from __future__ import annotations

from mypy.nodes import Context
from mypy.types import Type

from branded.mypy.axes.types import known_length
from branded.mypy.codes import AXIS_RANGE, SIZE
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS
from branded.mypy.shapes.axes import axis_of
from branded.mypy.shapes.brands import is_name, map_leaves, of_collective
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Const,
    Fact,
    FollowedBrand,
    Shaped,
    as_number,
    size_of,
)


def index_or_size(run: FileState, name: str, given: Arguments) -> Fact:
    """Return the value of `axis_index(name)` or `axis_size(name)`."""
    found = _open_brand(run, given.get(0, "axis_name"))
    if name == "axis_index":
        return Shaped((), frozenset([found[0]] if found is not None else ()))
    return size_of(axis_of(run, found[1] if found is not None else None))


def exchange(run: FileState, name: str, given: Arguments, at: Context) -> Fact:
    """Return the value of a collective that changes shapes, and report axes that do not fit."""
    x, tiled = given.get(0, "x") or UNKNOWN, given.get(None, "tiled") or Const(False)
    found = _open_brand(run, given.get(1, "axis_name"))
    is_known = given.exact and found is not None and tiled in (Const(False), Const(True))

    def leaf(value: Fact) -> Fact:
        if not isinstance(value, Shaped):
            return UNKNOWN
        if value.axes is None or found is None or not is_known or run.declared_only:
            return Shaped(None, value.brands)
        axes = EXCHANGES[name](_Exchange(run, name, given, at, *found, tiled == Const(True)), list(value.axes))
        return Shaped(tuple(axes) if axes is not None else None, value.brands)

    return map_leaves(of_collective(name, given) if name == "all_gather" and given.positional else x, leaf)


def _open_brand(run: FileState, name: Fact | None) -> tuple[FollowedBrand, int | None] | None:
    """Return the innermost open brand with this name, and its batch size."""
    if name is None or name == NONE:
        return None
    opened = zip(reversed(run.opened), reversed(run.sizes), strict=True)
    return next((pair for pair in opened if is_name(pair[0].name, name)), None)


class _Exchange:
    """A call of a collective for one tensor."""

    def __init__(
        self,
        run: FileState,
        name: str,
        given: Arguments,
        at: Context,
        brand: FollowedBrand,
        size: int | None,
        is_tiled: bool,
    ) -> None:
        self.run, self.name, self.given, self.at = run, name, given, at
        self.brand, self.size, self.is_tiled = brand, size, is_tiled

    def gather(self, axes: list[Type]) -> list[Type] | None:
        i = self._axis(None, "axis", len(axes) + (not self.is_tiled))
        if i is None:
            return None
        if self.is_tiled:
            return [*axes[:i], self._times(axes[i]), *axes[i + 1 :]]
        return [*axes[:i], axis_of(self.run, self.size), *axes[i:]]

    def to_all(self, axes: list[Type]) -> list[Type] | None:
        split, to = self._axis(2, "split_axis", len(axes)), self._axis(3, "concat_axis", len(axes))
        if split is None or to is None or not self._fits(axes, split):
            return None
        if self.is_tiled:
            axes[split] = self._piece(axes[split])
            axes[to] = self._times(axes[to])
        else:
            axes.insert(to, axes.pop(split))
        return axes

    def scatter(self, axes: list[Type]) -> list[Type] | None:
        i = self._axis(None, "scatter_dimension", len(axes))
        if i is None or not self._fits(axes, i):
            return None
        if self.is_tiled:
            return [*axes[:i], self._piece(axes[i]), *axes[i + 1 :]]
        return [*axes[:i], *axes[i + 1 :]]

    def _axis(self, position: int | None, option: str, rank: int) -> int | None:
        """Return an option that is an axis, counted from 0; None if it is unknown or out of range."""
        n = as_number(self.given.get(position, option) or Const(0))
        if n is None or -rank <= n < rank:
            return n % rank if n is not None else None
        count = f"{rank} {'axis' if rank == 1 else 'axes'}"
        fix = f"use an int from {-rank} to {rank - 1}" if rank else "pass a value with at least one axis per example"
        message = f"{self.name}: {option}={n} is out of range for {count}"
        self.run.report(self.at, AXIS_RANGE, message, f"try:   {fix}")
        return None

    def _fits(self, axes: list[Type], i: int) -> bool:
        """Return whether an axis can be split into one piece for each example; report an axis that cannot."""
        n, size = known_length(axes[i]), self.size
        if n is None or size is None or (n % size == 0 if self.is_tiled and size else n == size):
            return True
        wrong = f"brand `{self.brand.label}` has {size} examples, and axis {i} of the value has {n} entries"
        fix = f"use an axis whose size is a multiple of {size}" if self.is_tiled else f"use an axis of size {size}"
        self.run.report(self.at, SIZE, f"{self.name}: {wrong}", f"try:   {fix}")
        return False

    def _times(self, axis: Type) -> Type:
        n = known_length(axis)
        return axis_of(self.run, n * self.size) if n is not None and self.size is not None else ANY_AXIS

    def _piece(self, axis: Type) -> Type:
        n = known_length(axis)
        return axis_of(self.run, n // self.size) if n is not None and self.size else ANY_AXIS


EXCHANGES = {"all_gather": _Exchange.gather, "all_to_all": _Exchange.to_all, "psum_scatter": _Exchange.scatter}
