"""Scopes: values that hold during a `with` block, and scopes with a RANGE that is meaningless outside of the block.

A `Scope` is a fresh tinygrad `RANGE`: the brand of a vmap, or the body of a loop, which is traced once for all steps.
The row of a value is the scopes that are open in its graph.
"""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import io
import itertools
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from types import FrameType
from typing import Generic, TypeVar

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import AxisType, Ops, UOp

from branded.errors import BrandedError, OptionError
from branded.graph.uops import tensor
from branded.tinygrad_compat import tensor_methods
from branded.tinygrad_compat.private_api import _METADATA, all_tensors

T = TypeVar("T")
B = TypeVar("B", bound="Scope")


def undone(run: Callable[[], T], undo: Callable[[], None]) -> T:
    """Run `run`, then `undo`, and return the result; `undo` runs twice, because an interrupt may stop the first run."""
    try:
        try:
            return run()
        finally:
            undo()
    finally:
        undo()


# An entry is a file object, because the `__exit__` of a file is written in C and only closes it.  An interrupt may come
# at any call of a Python function, including a Python `__exit__` and its `finally`.  It cannot come between the end of
# the `with` block and the closing of a file.  Nor does a frame of this package show in the traceback of an error that
# leaves the block.  Nothing else has to happen at the exit: a stack skips the entries that are closed.
class ContextEntry(io.BytesIO, Generic[T]):
    """A `with` block in which a value holds; it is closed like a file."""

    def __init__(self, stack: ContextStack[T], value: T, *, alone: bool = False) -> None:
        super().__init__()
        self.stack, self.value, self.alone = stack, value, alone
        self.generator: FrameType | None = None

    def __enter__(self) -> T:  # type: ignore[override]
        try:
            self.stack.push(self)
            self.began()
            return self.value
        except BaseException:
            self.close()  # the block will not run
            raise

    def began(self) -> None:
        """Run the setup of a kind of block, once its value holds."""

    def within(self, frame: FrameType) -> None:
        """Record that this block belongs to `frame`: while `frame` is a suspended generator, the block does not hold.

        The generator of a context manager is an exception: it is suspended while the block of its caller runs.
        """
        if frame.f_code.co_flags & inspect.CO_GENERATOR:
            caller = frame.f_back
            if caller is None or caller.f_code.co_filename != contextlib.__file__:
                self.generator = frame

    @property
    def waits(self) -> bool:
        return self.generator is not None and self.generator.f_back is None


class ContextStack(Generic[T]):
    """The values of the current blocks of this thread or asyncio task, outermost first.

    Entries are kept by weak references, so the value of a block is freed as soon as the block is left.
    """

    def __init__(self, name: str) -> None:
        self._known: contextvars.ContextVar[tuple[weakref.ref[ContextEntry[T]], ...]]
        self._known = contextvars.ContextVar(name, default=())

    def push(self, entry: ContextEntry[T]) -> None:
        if _METADATA.get() is not None:
            tensor_methods.forget_unless_one_runs()
        entries = [ref for ref in self._known.get() if (s := ref()) is not None and not s.closed]
        self._known.set((*entries, weakref.ref(entry)))

    def get(self, *, waiting: bool = False) -> tuple[T, ...]:
        """Return the values that hold here, outermost first; `waiting` adds the values of suspended generators."""
        entries = self._known.get()
        if not entries:
            return ()
        values: list[T] = []
        is_over = True
        for ref in entries:
            if (entry := ref()) is None or entry.closed:
                continue
            is_over = False
            if entry.waits and not waiting:
                continue
            if entry.alone:
                values.clear()
            else:
                values.append(entry.value)
        if is_over:
            self._known.set(())  # so that `may_hold`, which checks only this tuple, is false
        return tuple(values)

    def any_open(self) -> bool:
        """Return whether a value holds here."""
        return bool(self.get())

    @property
    def may_hold(self) -> Callable[[], object]:
        """A function with a falsy result if no value holds here; if the result is truthy, a value may hold."""
        return self._known.get

    def during(self, value: T) -> ContextEntry[T]:
        """Return a `with` block in which the value holds."""
        return ContextEntry(self, value)

    def without(self, value: T) -> ContextEntry[T]:
        """Return a `with` block in which no value holds."""
        return ContextEntry(self, value, alone=True)


_open: ContextStack[Row] = ContextStack("branded_open")
_branches: ContextStack[Region] = ContextStack("branded_branches")
_ruled: ContextStack[Region | None] = ContextStack("branded_ruled")
_calls: ContextStack[None] = ContextStack("branded_calls")
_numbers = itertools.count(1)
_SCOPE = "_brand"
_NOTHING = UOp.const(0)


class Region:
    """The things created since a point in time, such as the opening of a scope or a branch."""

    first_slot: int
    """Buffers from this slot on belong to the region."""

    @property
    def _mark(self) -> Tensor | None:
        """Tensors after this one belong to the region."""
        raise NotImplementedError

    def has_outside(self, storage: Callable[[UOp], UOp], memory: UOp) -> bool:
        """Return whether a tensor from outside has this storage."""
        for ref in list(all_tensors):
            if (t := ref()) is self._mark:
                return False
            if t is not None and storage(t.uop) is memory:
                return True
        return False

    def made(self, x: Tensor) -> bool:
        """Return whether `x` was created in this region."""
        for ref in reversed(all_tensors):
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
    """The unit for messages: the body of a loop is traced for all steps at the same time."""
    is_program = False
    """Whether this is the scope of a function that becomes a typed program, whose arguments have no values."""

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
        """The device for which its body is traced, where unmapped values are."""

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
        """The tinygrad RANGE of this scope; tinygrad keeps one UOp for equal ones."""
        r = self._range() if self._range is not None else None
        if r is None:
            r = UOp(Ops.RANGE, dtypes.weakint, (UOp.const(self.size),), (self.number, AxisType.PLACEHOLDER))
            r.__dict__[_SCOPE] = self
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
    """The block of one or more scopes."""

    def __init__(self, brands: Iterable[Scope]) -> None:
        super().__init__(_open, tuple(brands))

    def began(self) -> None:
        # tensors and buffers created from here on belong to the scopes
        self.mark, first_slot = tensor(_NOTHING), next(UOp.unique_num)
        for b in self.value:
            b._block, b.first_slot = weakref.ref(self), first_slot


class OpenedOne(_Opened, Generic[B]):
    """The block of one scope, which is created when the block is entered."""

    def __init__(self, make: Callable[[], B]) -> None:
        super().__init__(())
        self.make = make

    def __enter__(self) -> B:  # type: ignore[override]
        if self.closed:
            raise OptionError("brand: this scope is over", fix="brand(...) anew for each `with` block")
        scope = self.make()
        self.value = (scope,)
        self.within(sys._getframe(1))
        super().__enter__()
        return scope


def opened(scope: B) -> AbstractContextManager[B]:
    """Return the block of a new scope."""
    return OpenedOne(lambda: scope)


def all_opened(brands: Iterable[Scope]) -> AbstractContextManager[Row]:
    """Return one block for several new scopes."""
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
