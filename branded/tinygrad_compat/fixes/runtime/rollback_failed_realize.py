"""tinygrad takes tensors for computed before it computes them, and leaves them so when that fails or is interrupted.

`y = x * 3; y.realize()`, with a compiler that is not there, without memory, or with Ctrl-C: `y` reads as zeros from
then on, and so does all that was made of it.  Here the tensors are given back what they were, and the next read
computes them.  Where kernels of this run may have written into a buffer that was there before (`assign`), that would
write twice: the tensors stay, and a note on the exception says so.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from tinygrad import Tensor
from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.fixes.runtime import realized_writes
from branded.tinygrad_compat.tinygrad_lock import serial

NOTE = "tinygrad: this ended in the midst of writes: what was written into holds its old values or the new ones"


class _Run:
    """One `realize`: what the tensors were before it, and how far it came."""

    def __init__(self) -> None:
        self.before: list[tuple[Tensor, UOp]] = []
        self.became: dict[UOp, UOp] | None = None
        self.has_begun = False
        self.there = set[UOp]()
        """The buffers that its kernels use, and that were computed before."""

    def take_back(self, error: BaseException) -> None:
        if self.has_begun and any(self._may_write_again(u) for _, u in self.before):
            if NOTE not in getattr(error, "__notes__", ()):
                error.add_note(NOTE)
            return
        for t, u in self.before:
            t.uop = u
        if self.became is not None:
            realized_writes.became.clear()
            realized_writes.became.update(self.became)

    def _may_write_again(self, u: UOp) -> bool:
        return any(w.op is Ops.STORE and _storage(w.src[0]) in self.there for w in u.toposort())


def _storage(u: UOp) -> UOp:
    """The buffer of which this is a view, on one device or on several."""
    while u.op is not Ops.BUFFER and u.src:
        u = u.src[0]
    return u


_run: ContextVar[_Run | None] = ContextVar("branded_run", default=None)


def _realize(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def realize(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        token = _run.set(run := _Run())
        try:
            try:
                return original(self, *args, **kwargs)
            except BaseException as error:
                run.take_back(error)
                raise
        except BaseException as error:  # an interrupt may have come into the first
            run.take_back(error)
            raise
        finally:
            _run.reset(token)

    return realize


def _apply_map(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def apply_map(applied_map: dict[UOp, UOp], name: str) -> None:
        if (run := _run.get()) is not None:
            run.became = dict(realized_writes.became)
            run.before = [(t, t.uop) for ref in list(private_api.all_tensors) if (t := ref()) is not None]
        original(applied_map, name)

    return apply_map


def _run_linear(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run_linear(linear: UOp, *args: Any, **kwargs: Any) -> Any:
        if (run := _run.get()) is not None:
            used = UOp.sink(*(u for call in linear.src for u in call.src[1:])).toposort()  # views of buffers, too
            run.there = {u for u in used if u.op is Ops.BUFFER and u.is_realized}
        return original(linear, *args, **kwargs)

    return run_linear


def _exec_context(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def exec_context(*args: Any, **kwargs: Any) -> Any:
        if (run := _run.get()) is not None:
            run.has_begun = True  # all is compiled
        return original(*args, **kwargs)

    return exec_context


def install() -> None:
    hooks: tuple[tuple[Any, str, Callable[[Callable[..., Any]], Callable[..., Any]]], ...] = (
        (private_api.tensor, "_apply_map_to_tensors", _apply_map),
        (private_api.tensor, "run_linear", _run_linear),
        (private_api.realize, "ExecContext", _exec_context),
        (Tensor, "realize", _realize),
    )
    if all(hasattr(holder, name) for holder, name, _ in hooks):
        for holder, name, wrapped in hooks:
            setattr(holder, name, wrapped(getattr(holder, name)))
        # what is taken back is taken back before another thread goes on
        setattr(Tensor, "realize", serial(getattr(Tensor, "realize")))  # noqa: B009, B010  mypy: a method
