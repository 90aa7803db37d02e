"""Blocks: what holds while a `with` block runs, and ends with it, whatever ends it.

An interrupt may come at each call of a function of Python, so also at that of an `__exit__`, and in its `finally`.
A `Block` is a file of the standard library, whose `__exit__` is written in C: nothing comes between the end of the
block and its being closed.  Who asks what holds is given the blocks that are not closed.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
import io
import weakref
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def undone(run: Callable[[], T], undo: Callable[[], None]) -> T:
    """What `run` gives, after which `undo` is called, twice: an interrupt may come into the first."""
    try:
        try:
            return run()
        finally:
            undo()
    finally:
        undo()


class Restored(io.BytesIO):
    """A `with` block after which an attribute has again the value that it had before, by C alone."""

    close: Any

    def __init__(self, holder: object, name: str, value: object) -> None:
        super().__init__()
        # a map is run through once: what closes a file when it is freed comes a second time
        self.close = functools.partial(deque, map(setattr, (holder,), (name,), (value,)), 0)


class Block(io.BytesIO, Generic[T]):
    """A `with` block in which a value holds; it is closed as a file is."""

    def __init__(self, blocks: Blocks[T], value: T, *, alone: bool = False) -> None:
        super().__init__()
        self.blocks, self.value, self.alone = blocks, value, alone
        self.generator: FrameType | None = None

    def __enter__(self) -> T:  # type: ignore[override]
        try:
            self.blocks.add(self)
            return self.value
        except BaseException:
            self.close()  # the block will not run
            raise

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
        known = [ref for ref in self._known.get() if (s := ref()) is not None and not s.closed]
        self._known.set((*known, weakref.ref(block)))

    def get(self, *, waiting: bool = False) -> tuple[T, ...]:
        """The values that hold here, the outermost first; `waiting` adds those of generators that wait."""
        known = self._known.get()
        if not known:
            return ()
        found: list[T] = []
        for ref in known:
            if (block := ref()) is None or block.closed or (block.waits and not waiting):
                continue
            if block.alone:
                found.clear()
            else:
                found.append(block.value)
        return tuple(found)

    def during(self, value: T) -> Block[T]:
        """The value holds in the `with` block."""
        return Block(self, value)

    def without(self, value: T) -> Block[T]:
        """In the `with` block nothing holds."""
        return Block(self, value, alone=True)
