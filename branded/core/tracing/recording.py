"""Recording of the operations that a user calls, in order.

A `Frame` is the record of one program, or of the body of a loop or branch in it.  Recording is off unless `make_expr`
requests it; then the operations of tinygrad and of this package record their arguments and results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tinygrad.uop.ops import UOp

from branded.core.tracing.operand_names import UNSAID, Said, names_of, note_record
from branded.core.tracing.operand_names import record_operand_names as record_operand_names
from branded.errors.source import Where, here
from branded.tinygrad_compat.context_stack import ContextEntry, ContextStack


class Call(NamedTuple):
    """One operation: its operands (UOps, and literal numbers) and its results."""

    op: str
    operands: tuple[Any, ...]
    params: dict[str, Any]
    results: tuple[UOp, ...]
    where: Where | None
    bodies: dict[str, Any]
    """The bodies by name: a `BodyRecord`, or a list of them."""
    names: Said = UNSAID


class BodyRecord(NamedTuple):
    """The record of the body of a loop or branch."""

    frame: Frame
    params: tuple[UOp, ...]
    results: tuple[UOp, ...]


class Derived(NamedTuple):
    """The results of a derivative, such as `gradient of loss`, and the place in the code that requested it."""

    api_name: str
    where: Where | None
    results: tuple[UOp, ...]


@dataclass(eq=False)
class Frame:
    calls: list[Call] = field(default_factory=list)
    derived: list[Derived] = field(default_factory=list)
    """The derivatives.  They are not operations: the operations that compute them are recorded instead."""


@dataclass(eq=False)
class Unfinished:
    """A loop or branch during tracing, in the record that contains it."""

    frame: Frame
    where: Where | None = None
    bodies: list[BodyRecord] = field(default_factory=list)
    """The bodies traced since it began."""

    def put(
        self, op: str, operands: Sequence[Any], params: dict[str, Any], results: Sequence[UOp], bodies: dict[str, Any]
    ) -> None:
        names = names_of(operands)
        self.frame.calls.append(Call(op, tuple(operands), params, tuple(results), self.where, bodies, names))


_frames: ContextStack[Frame] = ContextStack("branded_frames")
_operations: ContextStack[Any] = ContextStack("branded_operations")
"""The running recorded operations, by their frame or structure; a frame records only its outermost operation."""


is_recording = _frames.any_open
"""Whether a program is being recorded."""


may_be_recording = _frames.may_hold


def _frame() -> Frame | None:
    """Return the frame to record into, or None."""
    frames = _frames.get()
    if not frames or any(getattr(op, "frame", op) is frames[-1] for op in _operations.get()):
        return None
    return frames[-1]


def record_frame() -> ContextEntry[Frame]:
    frame = Frame()
    note_record(frame)
    return _frames.during(frame)


def record_operation(op: str, operands: Sequence[Any], params: dict[str, Any], results: Sequence[UOp]) -> None:
    """Record an operation if a program is being recorded."""
    if (f := _frame()) is not None:
        f.calls.append(Call(op, tuple(operands), params, tuple(results), here(), {}, names_of(operands)))


def record_derivative(api_name: str, f: object, results: Sequence[UOp]) -> None:
    """Record results as a derivative of `f` if a program is being recorded."""
    if (frame := _frame()) is not None:
        name = getattr(f, "__name__", type(f).__name__)
        frame.derived.append(Derived(f"{api_name} of {name}", here(), tuple(results)))


def within() -> ContextEntry[Frame | None]:
    """Return a block for a recorded operation: operations inside it are not recorded."""
    return _operations.during(_frame())


def record_structure() -> ContextEntry[Unfinished | None]:
    """Return a block for a loop or branch, whose bodies are recorded separately; it yields None if nothing records."""
    f = _frame()
    return _operations.during(None if f is None else Unfinished(f, here()))


class body(ContextEntry[Frame]):  # noqa: N801  used as a function
    """A block in which a body is traced and recorded in its own frame, completed when its parameters are known."""

    def __init__(self) -> None:
        super().__init__(_frames, Frame())
        self.outer = _frames.get()[-1:]

    def __enter__(self) -> Callable[[Sequence[UOp], Sequence[UOp]], None]:  # type: ignore[override]
        if not self.outer:
            return lambda params, results: None
        structures = [s for s in _operations.get() if isinstance(s, Unfinished) and s.frame is self.outer[0]]
        frame = super().__enter__()
        note_record(frame)

        def done(params: Sequence[UOp], results: Sequence[UOp]) -> None:
            for structure in structures[-1:]:
                structure.bodies.append(BodyRecord(frame, tuple(params), tuple(results)))

        return done
