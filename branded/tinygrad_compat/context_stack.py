"""`ContextStack`: values that are set during a `with` block, in one thread or asyncio task.

A value is reset correctly even if an interrupt (Ctrl-C) arrives at the end of its block, unlike a context variable.
"""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import io
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Generic, TypeVar

from branded.tinygrad_compat import private_api, tensor_methods

T = TypeVar("T")


def run_then_undo(run: Callable[[], T], undo: Callable[[], None]) -> T:
    """Return `run()`, and call `undo` afterwards, twice, because an interrupt may stop the first call of `undo`."""
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
    """A `with` block in which a value is set; it is closed like a file."""

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
        """Run the setup of a subclass, after the value is set."""

    def within(self, frame: FrameType) -> None:
        """Record that `frame` contains this block: while `frame` is a suspended generator, the value is not set.

        The generator of a context manager is an exception, because it is suspended while its caller's block runs.
        """
        if frame.f_code.co_flags & inspect.CO_GENERATOR:
            caller = frame.f_back
            if caller is None or caller.f_code.co_filename != contextlib.__file__:
                self.generator = frame

    @property
    def waits(self) -> bool:
        """Whether the block is in a suspended generator."""
        return self.generator is not None and self.generator.f_back is None


class ContextStack(Generic[T]):
    """The values of the current blocks of this thread or asyncio task, outermost first.

    The stack has weak references to the entries, so that a value is freed at the end of its block.
    """

    def __init__(self, name: str) -> None:
        self._known: contextvars.ContextVar[tuple[weakref.ref[ContextEntry[T]], ...]]
        self._known = contextvars.ContextVar(name, default=())

    def push(self, entry: ContextEntry[T]) -> None:
        if private_api.tensor._METADATA.get() is not None:
            tensor_methods.forget_unless_one_runs()
        entries = [ref for ref in self._known.get() if (s := ref()) is not None and not s.closed]
        self._known.set((*entries, weakref.ref(entry)))

    def get(self, *, waiting: bool = False) -> tuple[T, ...]:
        """Return the current values, outermost first; `waiting` adds the values of suspended generators."""
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
            self._known.set(())  # because `may_hold` checks only this tuple
        return tuple(values)

    def any_open(self) -> bool:
        """Return whether a value is set; the innermost block decides."""
        if not (entries := self._known.get()):
            return False
        for ref in reversed(entries):
            if (entry := ref()) is None or entry.closed or (entry.generator is not None and entry.waits):
                continue
            return not entry.alone
        return bool(self.get())  # `get` also drops the blocks that are over

    @property
    def may_hold(self) -> Callable[[], object]:
        """A fast function: if its result is falsy, no value is set; if it is truthy, a value may be set."""
        return self._known.get

    def during(self, value: T) -> ContextEntry[T]:
        """Return a `with` block in which the value is set."""
        return ContextEntry(self, value)

    def without(self, value: T) -> ContextEntry[T]:
        """Return a `with` block in which no value is set."""
        return ContextEntry(self, value, alone=True)
