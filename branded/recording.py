"""What a function does while its program is written down: the operations that the user called, in order.

A `Frame` is the record of one program, or of the body of a loop or branch in it.  Nothing is recorded unless
`make_expr` asks for it; then the operations of tinygrad and of this package put down what they took and gave.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple, TypeVar, cast

import tinygrad
from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded.scopes import Scope, Scopes

F = TypeVar("F", bound=Callable[..., Any])


class Where(NamedTuple):
    """The part of a source file that an operation stands in; lines from 1, columns from 0."""

    file: str
    line: int
    end_line: int
    column: int
    end_column: int


class Call(NamedTuple):
    """One operation: what it took (UOps, and numbers that stand for themselves), what it gave."""

    op: str
    operands: tuple[Any, ...]
    params: dict[str, Any]
    results: tuple[UOp, ...]
    where: Where | None
    bodies: dict[str, Any]
    """The bodies by their names: a `Body`, or a list of them."""


class Body(NamedTuple):
    """The record of the body of a loop or branch."""

    frame: Frame
    params: tuple[UOp, ...]
    results: tuple[UOp, ...]


@dataclass(eq=False)
class Frame:
    calls: list[Call] = field(default_factory=list)


@dataclass(eq=False)
class Structure:
    """A loop or branch in the making, in the record that it is part of."""

    frame: Frame
    where: Where | None = None
    bodies: list[Body] = field(default_factory=list)
    """Those that were traced since it began."""

    def put(
        self, op: str, operands: Sequence[Any], params: dict[str, Any], results: Sequence[UOp], bodies: dict[str, Any]
    ) -> None:
        self.frame.calls.append(Call(op, tuple(operands), params, tuple(results), self.where, bodies))


_frames: Scopes[Frame] = Scopes("branded_frames")
_operations: Scopes[Any] = Scopes("branded_operations")
"""The recorded operations that run here, by their frame or structure: of a frame only the outermost is written down."""


def is_recording() -> bool:
    return bool(_frames.get())


def _frame() -> Frame | None:
    """Where to write down what happens here."""
    frames = _frames.get()
    if not frames or any(getattr(op, "frame", op) is frames[-1] for op in _operations.get()):
        return None
    return frames[-1]


def framed() -> Scope[Frame]:
    """Record into a new frame."""
    return _frames.during(Frame())


def put(op: str, operands: Sequence[Any], params: dict[str, Any], results: Sequence[UOp]) -> None:
    """Write down an operation, if anything is recorded here."""
    if (f := _frame()) is not None:
        f.calls.append(Call(op, tuple(operands), params, tuple(results), here(), {}))


def within() -> Scope[Frame | None]:
    """While a recorded operation runs: what it does in turn is not written down."""
    return _operations.during(_frame())


def structured() -> Scope[Structure | None]:
    """While a loop or branch is made, whose bodies become programs of their own; None where nothing is recorded."""
    f = _frame()
    return _operations.during(None if f is None else Structure(f, here()))


class body(Scope[Frame]):  # noqa: N801  a function for who uses it
    """While a body is traced: it is recorded in a frame of its own, which is done when its parameters are told."""

    def __init__(self) -> None:
        super().__init__(_frames, Frame())
        self.outer = _frames.get()[-1:]

    def __enter__(self) -> Callable[[Sequence[UOp], Sequence[UOp]], None]:  # type: ignore[override]
        if not self.outer:
            return lambda params, results: None
        of = [s for s in _operations.get() if isinstance(s, Structure) and s.frame is self.outer[0]]
        frame = super().__enter__()

        def done(params: Sequence[UOp], results: Sequence[UOp]) -> None:
            for structure in of[-1:]:
                structure.bodies.append(Body(frame, tuple(params), tuple(results)))

        return done


def leafwise(f: F, named: str, value: Callable[[Any], Any]) -> F:
    """Record a function of a tree, which does the same to each leaf, as one operation for each.

    Its parameter `named` is written down as `value` of it.
    """
    from branded import tree

    @functools.wraps(f)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        if not is_recording():
            return f(*args, **kwargs)
        with within() as frame:
            out = f(*args, **kwargs)
        if frame is not None:
            params = bound(f, args, kwargs)
            taken: list[Any] = [()]
            if "x" in params:
                tensors = [tree.as_tensor(v) for v in tree.leaves(params.pop("x"))]
                taken = [(t.uop,) for t in tensors if t is not None]
            params[named] = value(params[named])
            for operands, y in zip(taken, tree.leaves(out), strict=True):
                if isinstance(y, Tensor):  # what becomes of a number is a number
                    put(f.__name__, operands, params, (y.uop,))
        return out

    return cast(F, recorded)


def operation(f: F) -> F:
    """Record a function of tensors as one operation: `random.normal`."""
    op = f"{f.__module__.rpartition('.')[2]}.{f.__name__}"

    @functools.wraps(f)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        if not is_recording():
            return f(*args, **kwargs)
        from branded.program.operators import record

        return record(op, f, f, args, kwargs)

    return cast(F, recorded)


def bound(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by their names."""
    return dict(signature(f).bind(*args, **kwargs).arguments)


@functools.cache
def signature(f: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(f)


# ---- where ----

_PACKAGE = Path(__file__).parent
_OWN = tuple(f"{folder}{os.sep}" for folder in (_PACKAGE, Path(tinygrad.__path__[0])))
_OWN += (contextlib.__file__, functools.__file__)
_USERS = tuple(f"{_PACKAGE / folder}{os.sep}" for folder in ("learn/demo", "learn/explorer", "learn/puzzles"))
"""Parts of this package that use it as anyone would."""


@functools.lru_cache(maxsize=64)
def _positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())


def here() -> Where | None:
    """Where the user called this: the innermost frame that is neither of this package nor of tinygrad."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_OWN) or file.startswith(_USERS):
            break
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename.startswith("<frozen"):
        return None
    code = frame.f_code
    line, end_line, column, end_column = _positions(code)[frame.f_lasti // 2]
    line = line or frame.f_lineno
    return Where(code.co_filename, line, end_line or line, column or 0, end_column or 0)
