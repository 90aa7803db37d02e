"""Scopes: blocks in which a brand is open, a loop's body is traced, or a branch runs.

A `Scope` is a fresh tinygrad `RANGE`: the brand of a vmap, or the body of a loop, which is traced once for all steps.
The row of a value is the scopes that are open in its graph.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import AxisType, Ops, UOp

from branded.errors import BrandedError, OptionError
from branded.graph.uops import tensor
from branded.tinygrad_compat import activation, gates, private_api, result_marks
from branded.tinygrad_compat.context_stack import ContextEntry, ContextStack

T = TypeVar("T")
B = TypeVar("B", bound="Scope")


_open: ContextStack[Row] = ContextStack("branded_open")
gates.blocks.append(_open)
_branches: ContextStack[Region] = ContextStack("branded_branches")
_ruled: ContextStack[Region | None] = ContextStack("branded_ruled")
_calls: ContextStack[None] = ContextStack("branded_calls")
_numbers = itertools.count(1)
_SCOPE = "_brand"
_NOTHING = UOp.const(0)


class Region:
    """The tensors and buffers created since a point in time, such as the opening of a scope or a branch."""

    first_slot: int
    """Buffers from this slot on belong to the region."""

    @property
    def _mark(self) -> Tensor | None:
        """Tensors after this one belong to the region."""
        raise NotImplementedError

    def has_outside(self, storage: Callable[[UOp], UOp], memory: UOp) -> bool:
        """Return whether a tensor from outside has this storage."""
        for ref in list(private_api.tensor.all_tensors):
            if (t := ref()) is self._mark:
                return False
            if t is not None and storage(t.uop) is memory:
                return True
        return False

    def has_made(self, x: Tensor) -> bool:
        """Return whether `x` was created in this region."""
        for ref in reversed(private_api.tensor.all_tensors):
            if (t := ref()) is x:
                return True
            if t is self._mark:
                return False
        return False


class Scope(Region):
    """A RANGE that opens and closes: a brand, or the body of a loop, which is traced once for all steps.

    Attributes:
        size: The number of entries of the axis that becomes the RANGE.
        name: The name in messages: the given name, or a name that no scope around it has.
    """

    is_brand = False
    """Whether a value that varies over it has one entry per example."""
    turn = "step"
    """The word for one entry in messages: `example`, or `step` for the body of a loop."""
    is_program = False
    """Whether this is the scope of a function that becomes a typed program, whose arguments have no values."""
    recorded_writes: list[Tensor] | None = None
    """The tensors from outside that such a function writes to, if its program returns their new values."""

    def __init__(
        self, size: int, name: str | None = None, *, hint: Callable[[], str] | None = None, where: str = ""
    ) -> None:
        self.size, self.where = size, where
        self.number = next(_numbers)
        self.outer: Row = open_brands()
        self._explicit, self._name, self._hint = name is not None, name, hint
        self._range: weakref.ref[UOp] | None = None
        self._block: weakref.ref[_Opened] | None = None
        self.first_slot = 0
        self.was_left = False
        self.devices: tuple[str, ...] = ()
        """The devices of its examples, if devices were requested."""
        self.has_writes = False
        """Whether a per-example value was written in this scope."""
        self.has_chosen = False
        """Whether a loop or a branch in this scope returned a value with a weak dtype."""
        self.home = ""
        """The device for which its body is traced, which also holds the unmapped values."""

    @property
    def traced_for(self) -> str:
        return f"for all {self.turn}s"

    @property
    def name(self) -> str:
        if self._name is None:
            names = {b.name for b in self.outer}
            stem = self._hint() if self._hint else "brand"
            self._name = next(n for n in _numbered_names(stem) if n not in names)
        return self._name

    @property
    def is_named(self) -> bool:
        """Whether the user named it; a collective finds only named brands."""
        return self._explicit

    def avoid(self, name: str) -> None:
        """Change the default name if the user named another open brand like it, so that printed names are unique."""
        if not self._explicit and self.name == name:
            self._name = next(n for n in _numbered_names(name) if n not in {name, *(b.name for b in self.outer)})

    def __repr__(self) -> str:
        return f"{self.name}:{self.size}"

    @property
    def range(self) -> UOp:
        """The tinygrad RANGE of this scope, which is always the same UOp."""
        r = self._range() if self._range is not None else None
        if r is None:
            r = UOp(Ops.RANGE, dtypes.weakint, (UOp.const(self.size),), (self.number, AxisType.PLACEHOLDER))
            r.__dict__[_SCOPE] = self
            result_marks.mark_new(r)
            self._range = weakref.ref(r)
        return r

    @property
    def is_open(self) -> bool:
        """Whether its block has not ended."""
        return self._block is None or ((block := self._block()) is not None and not block.closed)

    def refusal(self, u: UOp, where: str) -> BrandedError | None:
        """Return a specific error for a use of `u` after this scope has closed, or None for the general error."""
        return None

    @property
    def _mark(self) -> Tensor | None:
        block = self._block() if self._block is not None else None
        return block.mark if block is not None else None


Row = tuple[Scope, ...]
"""The open scopes of a value, outermost (first opened) first."""


def union(a: Row, b: Row) -> Row:
    if a is b or not b:
        return a
    if not a:
        return b
    return a if (both := {*a, *b}) == set(a) else tuple(sorted(both, key=lambda brand: brand.number))


def brand_of(u: UOp) -> Scope | None:
    """Return the scope whose RANGE is `u`."""
    scope: Scope | None = u.__dict__.get(_SCOPE)
    return scope


def scope_at(u: UOp) -> Scope:
    """Return the scope that this INDEX enters, or that this STAGE leaves."""
    scope: Scope = u.src[1].__dict__[_SCOPE]
    return scope


def _numbered_names(stem: str) -> Iterator[str]:
    yield stem
    for i in itertools.count(2):
        yield f"{stem}{i}"


def open_brands(*, waiting: bool = False) -> Row:
    """Return the brands that are open here, outermost first; `waiting` adds the brands of suspended generators."""
    return tuple(b for row in _open.get(waiting=waiting) for b in row)


def in_step() -> bool:
    """Return whether the step of a loop is being traced here; a step runs on one device."""
    return any(not s.is_brand and not s.is_program and s.turn == "step" for s in open_brands())


def outside() -> ContextEntry[Row]:
    """Return a block in which no brand is open."""
    return _open.without(())


class _Opened(ContextEntry[Row]):
    """The `with` block of one or more scopes."""

    def __init__(self, brands: Iterable[Scope]) -> None:
        super().__init__(_open, tuple(brands))

    def began(self) -> None:
        activation.activate()
        # tensors and buffers created from here on belong to the scopes
        self.mark, first_slot = tensor(_NOTHING), next(UOp.unique_num)
        for b in self.value:
            b._block, b.first_slot = weakref.ref(self), first_slot


class OpenedOne(_Opened, Generic[B]):
    """The `with` block of one scope, which is created when the block is entered."""

    def __init__(self, make: Callable[[], B]) -> None:
        super().__init__(())
        self.make = make

    def __enter__(self) -> B:  # type: ignore[override]
        if self.closed:
            raise OptionError("brand: this scope has ended", fix="call brand(...) again for each `with` block")
        scope = self.make()
        self.value = (scope,)
        self.within(sys._getframe(1))
        super().__enter__()
        return scope


def open_block(scope: B) -> AbstractContextManager[B]:
    """Return the `with` block of a new scope."""
    return OpenedOne(lambda: scope)


def all_opened(brands: Iterable[Scope]) -> AbstractContextManager[Row]:
    """Return one `with` block for several new scopes."""
    return _Opened(brands)


def reopen_scopes(brands: Iterable[Scope]) -> AbstractContextManager[Row]:
    """Reopen closed brands while a rule runs for a call made in their scope; gives the brands that were closed."""
    return _Opened(b for b in brands if not b.is_open or b._block is None)


class Branch(Region):
    """The region of a branch that may not be taken, or of a function whose custom rule may run instead."""

    def __init__(self) -> None:
        self.first_slot = next(UOp.unique_num)
        self._began = tensor(_NOTHING)

    @property
    def _mark(self) -> Tensor | None:
        return self._began


def branch() -> ContextEntry[Region]:
    """Return a block for running a branch."""
    return _branches.during(Branch())


def rule_block() -> ContextEntry[Region | None]:
    """Return a block for running a function with a custom rule, which replaces it when a derivative is taken."""
    return _ruled.during(Branch())


def without_rule_block() -> ContextEntry[Region | None]:
    """Return a block in which no function with a custom rule is running."""
    return _ruled.without(None)


may_be_in_brand, may_be_in_call_body, may_be_in_branch = _open.may_hold, _calls.may_hold, _branches.may_hold


def branches() -> tuple[Region, ...]:
    """Return the branches around this call, outermost first."""
    return _branches.get()


def ruled_functions() -> tuple[Region, ...]:
    """Return the functions with custom rules around this call, outermost first."""
    return tuple(f for f in _ruled.get() if f is not None)


def call_body() -> ContextEntry[None]:
    """Return a block for tracing the body of a call, in which no value is scheduled separately."""
    return _calls.during(None)


in_call_body = _calls.any_open
"""Return whether the body of a call is being traced here."""
