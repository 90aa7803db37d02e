"""Recording the operations that a user calls, in order.

A `Frame` is the record of one program, or of the body of a loop or branch in it.  Nothing is recorded unless
`make_expr` asks for it; then the operations of tinygrad and of this package put down what they took and gave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tinygrad.uop.ops import UOp

from branded.core.tracing.operand_names import UNSAID, Said, begun, names_of
from branded.core.tracing.operand_names import named as named
from branded.errors.source import Where, here
from branded.graph.scope import Block, Blocks


class Call(NamedTuple):
    """One operation: what it took (UOps, and numbers that stand for themselves), what it gave."""

    op: str
    operands: tuple[Any, ...]
    params: dict[str, Any]
    results: tuple[UOp, ...]
    where: Where | None
    bodies: dict[str, Any]
    """The bodies by their names: a `BodyRecord`, or a list of them."""
    names: Said = UNSAID


class BodyRecord(NamedTuple):
    """The record of the body of a loop or branch."""

    frame: Frame
    params: tuple[UOp, ...]
    results: tuple[UOp, ...]


class Derived(NamedTuple):
    """What a derivative gave: `gradient of loss`, and where it was asked for."""

    what: str
    where: Where | None
    results: tuple[UOp, ...]


@dataclass(eq=False)
class Frame:
    calls: list[Call] = field(default_factory=list)
    derived: list[Derived] = field(default_factory=list)
    """The derivatives, which are no operations: what they give is written down as what it is made of."""


@dataclass(eq=False)
class Unfinished:
    """A loop or branch in the making, in the record that it is part of."""

    frame: Frame
    where: Where | None = None
    bodies: list[BodyRecord] = field(default_factory=list)
    """Those that were traced since it began."""

    def put(
        self, op: str, operands: Sequence[Any], params: dict[str, Any], results: Sequence[UOp], bodies: dict[str, Any]
    ) -> None:
        own = names_of(operands)
        self.frame.calls.append(Call(op, tuple(operands), params, tuple(results), self.where, bodies, own))


_frames: Blocks[Frame] = Blocks("branded_frames")
_operations: Blocks[Any] = Blocks("branded_operations")
"""The recorded operations that run here, by their frame or structure: of a frame only the outermost is written down."""


is_recording = _frames.any_open
"""Is a program written down here?"""


may_be_recording = _frames.may_hold


def _frame() -> Frame | None:
    """Where to write down what happens here."""
    frames = _frames.get()
    if not frames or any(getattr(op, "frame", op) is frames[-1] for op in _operations.get()):
        return None
    return frames[-1]


def framed() -> Block[Frame]:
    """Record into a new frame."""
    frame = Frame()
    begun(frame)
    return _frames.during(frame)


def put(op: str, operands: Sequence[Any], params: dict[str, Any], results: Sequence[UOp]) -> None:
    """Write down an operation, if anything is recorded here."""
    if (f := _frame()) is not None:
        f.calls.append(Call(op, tuple(operands), params, tuple(results), here(), {}, names_of(operands)))


def derived(what: str, f: object, results: Sequence[UOp]) -> None:
    """Write down that this is a derivative of `f`, if anything is recorded here."""
    if (frame := _frame()) is not None:
        name = getattr(f, "__name__", type(f).__name__)
        frame.derived.append(Derived(f"{what} of {name}", here(), tuple(results)))


def within() -> Block[Frame | None]:
    """While a recorded operation runs: what it does in turn is not written down."""
    return _operations.during(_frame())


def structured() -> Block[Unfinished | None]:
    """While a loop or branch is made, whose bodies become programs of their own; None where nothing is recorded."""
    f = _frame()
    return _operations.during(None if f is None else Unfinished(f, here()))


class body(Block[Frame]):  # noqa: N801  a function for whoever uses it
    """While a body is traced: it is recorded in a frame of its own, which is done when its parameters are told."""

    def __init__(self) -> None:
        super().__init__(_frames, Frame())
        self.outer = _frames.get()[-1:]

    def __enter__(self) -> Callable[[Sequence[UOp], Sequence[UOp]], None]:  # type: ignore[override]
        if not self.outer:
            return lambda params, results: None
        of = [s for s in _operations.get() if isinstance(s, Unfinished) and s.frame is self.outer[0]]
        frame = super().__enter__()
        begun(frame)

        def done(params: Sequence[UOp], results: Sequence[UOp]) -> None:
            for structure in of[-1:]:
                structure.bodies.append(BodyRecord(frame, tuple(params), tuple(results)))

        return done
