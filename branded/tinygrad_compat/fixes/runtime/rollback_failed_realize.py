"""A fix for a failed `realize`: tinygrad marks tensors as computed before it computes them, and never undoes that.

Suppose `y = x * 3; y.realize()` fails for lack of a compiler or memory, or by Ctrl-C. From then on, `y` and everything
computed from it read as zeros. Here the tensors get their old graphs back, and the next read computes them. If kernels
of this run may have written to an existing buffer (`assign`), that would write twice. The tensors then keep their new
state, and a note on the exception says so.
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
from branded.tinygrad_compat.uops import living_tensors

NOTE = "tinygrad: writes were interrupted: a tensor that they change has its old or its new values"


class _Run:
    """The state of one `realize`: the graphs of the tensors before it, and its progress."""

    def __init__(self) -> None:
        self.before: list[tuple[Tensor, UOp]] = []
        self.became: dict[UOp, UOp] | None = None
        self.has_begun = False
        self.realized_buffers = set[UOp]()
        """The buffers of its kernels that were computed before this run."""

    def roll_back(self, error: BaseException) -> None:
        """Restore the graphs of the tensors, unless the kernels may have written to an existing buffer."""
        stores = (u for _, before in self.before for u in before.toposort() if u.op is Ops.STORE)
        if self.has_begun and any(_storage(u.src[0]) in self.realized_buffers for u in stores):
            if NOTE not in getattr(error, "__notes__", ()):
                error.add_note(NOTE)
            return
        for t, u in self.before:
            t.uop = u
        if self.became is not None:
            realized_writes.became.clear()
            realized_writes.became.update(self.became)


def _storage(u: UOp) -> UOp:
    """Return the buffer under a view, on one device or on several."""
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
                run.roll_back(error)
                raise
        except BaseException as error:  # an interrupt may come inside the first `except`
            run.roll_back(error)
            raise
        finally:
            _run.reset(token)

    return realize


def _apply_map(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def apply_map(applied_map: dict[UOp, UOp], name: str) -> None:
        if (run := _run.get()) is not None:
            run.became = dict(realized_writes.became)
            run.before = [(t, t.uop) for t in living_tensors()]
        original(applied_map, name)

    return apply_map


def _run_linear(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run_linear(linear: UOp, *args: Any, **kwargs: Any) -> Any:
        if (run := _run.get()) is not None:
            used = UOp.sink(*(u for call in linear.src for u in call.src[1:])).toposort()  # includes views of buffers
            run.realized_buffers = {u for u in used if u.op is Ops.BUFFER and u.is_realized}
        return original(linear, *args, **kwargs)

    return run_linear


def _exec_context(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def exec_context(*args: Any, **kwargs: Any) -> Any:
        if (run := _run.get()) is not None:
            run.has_begun = True  # everything is compiled
        return original(*args, **kwargs)

    return exec_context


def install() -> None:
    hooks: tuple[tuple[Any, str, Callable[[Callable[..., Any]], Callable[..., Any]]], ...] = (
        (private_api.tensor, "_apply_map_to_tensors", _apply_map),
        (private_api.tensor, "run_linear", _run_linear),
        (private_api.realize, "ExecContext", _exec_context),
        (Tensor, "realize", _realize),
    )
    for holder, name, wrapped in hooks:
        setattr(holder, name, wrapped(getattr(holder, name)))
    # roll back before another thread continues
    setattr(Tensor, "realize", serial(getattr(Tensor, "realize")))  # noqa: B009, B010  mypy: a method
