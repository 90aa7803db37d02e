"""Scopes: what holds while a `with` block runs, and what has a RANGE of its own, outside of which it means nothing.

A `Block` is a file of the standard library, whose `__exit__` is written in C: an interrupt may come at each call of a
function of Python, so also at that of an `__exit__`, and in its `finally`, but nothing comes between the end of such a
block and its being closed.  Whoever asks what holds is given the blocks that are not closed.

A `Scope` is one fresh tinygrad `RANGE`.  The brand of a vmap is one, and so is the body of a loop, which is traced once
for all steps.  The row of a value is the scopes that are open in its graph.
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


# ---- blocks ----


def undone(run: Callable[[], T], undo: Callable[[], None]) -> T:
    """What `run` gives, after which `undo` is called, twice: an interrupt may come into the first."""
    try:
        try:
            return run()
        finally:
            undo()
    finally:
        undo()


class Block(io.BytesIO, Generic[T]):
    """A `with` block in which a value holds; it is closed as a file is."""

    def __init__(self, blocks: Blocks[T], value: T, *, alone: bool = False) -> None:
        super().__init__()
        self.blocks, self.value, self.alone = blocks, value, alone
        self.generator: FrameType | None = None

    def __enter__(self) -> T:  # type: ignore[override]
        try:
            self.blocks.add(self)
            self.began()
            return self.value
        except BaseException:
            self.close()  # the block will not run
            raise

    def began(self) -> None:
        """What a kind of block does when its value holds."""

    def within(self, frame: FrameType) -> None:
        """This block stands in `frame`: while that is a generator that waits, the block does not run.

        The generator of a context manager waits while the block of its caller runs, for which it is open.
        """
        if frame.f_code.co_flags & inspect.CO_GENERATOR:
            caller = frame.f_back
            if caller is None or caller.f_code.co_filename != contextlib.__file__:
                self.generator = frame

    @property
    def waits(self) -> bool:
        return self.generator is not None and self.generator.f_back is None


class Blocks(Generic[T]):
    """The values of the blocks that this thread, or this task of asyncio, is in.

    They are known by weak references: what a block held is free as soon as it is left.
    """

    def __init__(self, name: str) -> None:
        self._known: contextvars.ContextVar[tuple[weakref.ref[Block[T]], ...]]
        self._known = contextvars.ContextVar(name, default=())

    def add(self, block: Block[T]) -> None:
        if _METADATA.get() is not None:
            tensor_methods.forget_unless_one_runs()
        known = [ref for ref in self._known.get() if (s := ref()) is not None and not s.closed]
        self._known.set((*known, weakref.ref(block)))

    def get(self, *, waiting: bool = False) -> tuple[T, ...]:
        """The values that hold here, the outermost first; `waiting` adds those of generators that wait."""
        known = self._known.get()
        if not known:
            return ()
        found: list[T] = []
        is_over = True
        for ref in known:
            if (block := ref()) is None or block.closed:
                continue
            is_over = False
            if block.waits and not waiting:
                continue
            if block.alone:
                found.clear()
            else:
                found.append(block.value)
        if is_over:
            self._known.set(())  # for `may_hold`, which looks at nothing else
        return tuple(found)

    def any_open(self) -> bool:
        """Does a value hold here?"""
        return bool(self.get())

    @property
    def may_hold(self) -> Callable[[], object]:
        """A function that gives what is not true where nothing holds; the other way round one has to look."""
        return self._known.get

    def during(self, value: T) -> Block[T]:
        """The value holds in the `with` block."""
        return Block(self, value)

    def without(self, value: T) -> Block[T]:
        """In the `with` block nothing holds."""
        return Block(self, value, alone=True)


# ---- scopes ----

_open: Blocks[Row] = Blocks("branded_open")
_branches: Blocks[Region] = Blocks("branded_branches")
_ruled: Blocks[Region | None] = Blocks("branded_ruled")
_calls: Blocks[None] = Blocks("branded_calls")
_numbers = itertools.count(1)
_SCOPE = "_brand"
_NOTHING = UOp.const(0)


class Region:
    """What was made since something began, as a scope or a branch: it can tell that from what was there before."""

    first_slot: int
    """The buffers from this one on are of the region."""

    @property
    def _mark(self) -> Tensor | None:
        """The tensors after this one are of the region."""
        raise NotImplementedError

    def has_outside(self, storage: Callable[[UOp], UOp], of: UOp) -> bool:
        """Does a tensor from outside have this storage?"""
        for ref in list(all_tensors):
            if (t := ref()) is self._mark:
                return False
            if t is not None and storage(t.uop) is of:
                return True
        return False

    def made(self, x: Tensor) -> bool:
        """Was `x` made here?"""
        for ref in reversed(all_tensors):
            if (t := ref()) is x:
                return True
            if t is self._mark:
                return False
        return False


class Scope(Region):
    """Something with a RANGE that opens and closes: a brand, or the body of a loop, which is traced once for all steps.

    Attributes:
        size: The number of entries of the axis that becomes the RANGE.
        name: What messages call it: the name that was given, else one that no scope around it has.
    """

    is_brand = False
    """Is a value that varies over it another one for each example?"""
    turn = "step"
    """What the body of a loop is traced for all of at once."""
    is_program = False
    """Is this the scope of a function that is written down, whose arguments have no values?"""

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
        """Those on which its examples are, where that was asked for."""
        self.has_chosen = False
        """Have branches chosen among numbers of Python here?"""
        self.home = ""
        """The device for which its body is traced, where other values are."""

    @property
    def traced_for(self) -> str:
        return f"for all {self.turn}s"

    @property
    def name(self) -> str:
        if self._name is None:
            taken = {b.name for b in self.outer}
            stem = self._hint() if self._hint else "brand"
            self._name = next(n for n in _numbered(stem) if n not in taken)
        return self._name

    @property
    def is_named(self) -> bool:
        """Did the user name it?  A collective finds only such brands."""
        return self._explicit

    def avoid(self, name: str) -> None:
        """Give way to a brand that the user named: two open brands never print the same name."""
        if not self._explicit and self.name == name:
            self._name = next(n for n in _numbered(name) if n not in {name, *(b.name for b in self.outer)})

    def __repr__(self) -> str:
        return f"{self.name}:{self.size}"

    @property
    def range(self) -> UOp:
        """The tinygrad RANGE that it is; tinygrad keeps one UOp for equal ones."""
        r = self._range() if self._range is not None else None
        if r is None:
            r = UOp(Ops.RANGE, dtypes.weakint, (UOp.const(self.size),), (self.number, AxisType.PLACEHOLDER))
            r.__dict__[_SCOPE] = self
            self._range = weakref.ref(r)
        return r

    @property
    def is_open(self) -> bool:
        """Is its block not over?"""
        return self._block is None or ((block := self._block()) is not None and not block.closed)

    def refusal(self, u: UOp, where: str) -> BrandedError | None:
        """Why `u` cannot be used any more, where there is more to say than that this is closed."""
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
    """The scope whose RANGE `u` is."""
    found: Scope | None = u.__dict__.get(_SCOPE)
    return found


def scope_at(u: UOp) -> Scope:
    """The scope that this INDEX enters, or that this STAGE leaves."""
    found: Scope = u.src[1].__dict__[_SCOPE]
    return found


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    for i in itertools.count(2):
        yield f"{stem}{i}"


# ---- which are open ----


def open_brands(*, waiting: bool = False) -> Row:
    """The brands that are open here, outermost first; `waiting` adds those of generators that wait."""
    return tuple(b for row in _open.get(waiting=waiting) for b in row)


def in_step() -> bool:
    """Is the step of a loop traced here?  One device does it."""
    return any(not s.is_brand and not s.is_program and s.turn == "step" for s in open_brands())


def outside() -> Block[Row]:
    """As if no brand were open."""
    return _open.without(())


class _Opened(Block[Row]):
    """The block of some scopes."""

    def __init__(self, brands: Iterable[Scope]) -> None:
        super().__init__(_open, tuple(brands))

    def began(self) -> None:
        # tensors and buffers made from here on belong to the scopes
        self.mark, first_slot = tensor(_NOTHING), next(UOp.unique_num)
        for b in self.value:
            b._block, b.first_slot = weakref.ref(self), first_slot


class OpenedOne(_Opened, Generic[B]):
    """The block of one scope, which is made when the block is entered."""

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
    """The block of a scope that was just made."""
    return OpenedOne(lambda: scope)


def all_opened(brands: Iterable[Scope]) -> AbstractContextManager[Row]:
    """One block of many scopes that were just made."""
    return _Opened(brands)


def reopened(brands: Iterable[Scope]) -> AbstractContextManager[Row]:
    """While a rule runs for a call that was made in the scope of these brands: gives those that were closed."""
    return _Opened(b for b in brands if not b.is_open or b._block is None)


class Branch(Region):
    """What is made while a branch runs, though another one may be taken, or a function, though its rule may run."""

    def __init__(self) -> None:
        self.first_slot = next(UOp.unique_num)
        self._began = tensor(_NOTHING)

    @property
    def _mark(self) -> Tensor | None:
        return self._began


def branch() -> Block[Region]:
    """While a branch runs."""
    return _branches.during(Branch())


def ruled() -> Block[Region | None]:
    """While a function runs that has a rule, which runs in its place where a derivative is taken."""
    return _ruled.during(Branch())


def unruled() -> Block[Region | None]:
    """As if no such function ran."""
    return _ruled.without(None)


may_be_in_brand, may_be_in_call_body = _open.may_hold, _calls.may_hold


def branches() -> tuple[Region, ...]:
    """The branches that we are in, outermost first."""
    return _branches.get()


def ruled_functions() -> tuple[Region, ...]:
    """The functions with rules that we are in, outermost first."""
    return tuple(f for f in _ruled.get() if f is not None)


def call_body() -> Block[None]:
    """While what runs becomes the body of a call in a graph, in which nothing is scheduled by itself."""
    return _calls.during(None)


in_call_body = _calls.any_open
"""Does what runs here become the body of a call?"""
