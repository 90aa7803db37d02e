"""The exceptions of branded, and the one form of their messages.

Every mistake of a user is a `BrandedError`, and also a `TypeError`, `ValueError` or `IndexError` as Python
would have it.  A message is one line that says what is wrong, then the facts, then what to write instead:

    zip: brand `users` has 3 examples, but this argument has 4
      left:  f32[3, 8], axis 0   (argument 1 of vmap at app.py:12)
      right: f32[4, 8], axis 0   (argument 2)
      try:   in_axes=(None, 0) for 4 examples, or in_axes=(0, None) for 3 examples

A message that names no line of the user's gets the one that runs: `at: app.py:12`.  A traceback has one line
more, a note of the error: `why: python -m branded why size`.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from branded.errors import source


class BrandedError(Exception):
    """The base of all errors of this package.

    Args:
        what: One line: the operation or option, a colon, and what is wrong.
        facts: Pairs of a label and a text, printed in columns.
        fix: What to write instead; printed last, under the label `try`.

    Attributes:
        code: A word for its kind, which does not change: `python -m branded why CODE` says more.
    """

    code: ClassVar[str] = ""

    def __init__(self, what: str, *facts: tuple[str, str], fix: str | None = None) -> None:
        named = any(label == "at" or _PLACE.search(text) for label, text in facts)
        if not named and (at := place()) is not None:
            facts = (*facts, ("at", at))
        lines = [(one_line(label), one_line(text)) for label, text in (*facts, *([("try", fix)] if fix else []))]
        width = max((len(label) for label, _ in lines), default=0) + 1
        text = "\n".join([one_line(what), *(f"  {label + ':':<{width}} {text}" for label, text in lines)])
        super().__init__(text)
        if self.code:
            self.add_note(f"  {'why:':<{width}} python -m branded why {self.code}")

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has the message, whose lines are not to be made again."""
        return _copied, (type(self), self.args, self.__dict__)


_PLACE = re.compile(r"\bat \S+:\d+")


def place() -> str | None:
    """The user's line that runs, `app.py:12`; None for what is typed at a prompt, which has no file."""
    w = source.here()
    return None if w is None or w.file.startswith("<") else source.place(w.file, w.line)


def _copied(cls: type[BrandedError], args: tuple[Any, ...], attributes: dict[str, Any]) -> BrandedError:
    made: type = cls
    while made.__module__ != "builtins":  # that of MemoryError, which is not the first base, refuses
        made = made.__base__ or Exception
    error: BrandedError = made.__new__(cls, *args)
    error.__dict__.update(attributes)
    return error


def one_line(text: str) -> str:
    """The names that users give may have any character in them; the form of a message is ours."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def counted(n: int, one: str, many: str = "") -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def examples(n: int) -> str:
    return counted(n, "example")


class TreeError(BrandedError, ValueError):
    """A container that should be a tree of values contains itself, or has no end."""

    code = "tree"


class CallError(BrandedError, TypeError):
    """A function does not take the arguments that it is given, or what should be a function is none."""

    code = "call"


class OperandError(BrandedError, TypeError):
    """What stands beside a tensor in an operation is neither a tensor nor what could be one."""

    code = "operand"


class ArgumentError(BrandedError, ValueError):
    """An argument of a function has a shape or a value that it cannot have, beside the others or at all."""

    code = "argument"


class AxesError(BrandedError, ValueError):
    """The axes do not fit the arguments or the results."""

    code = "axes"


class AxisTypeError(BrandedError, TypeError):
    """An axis is not an int or None, or what is to be mapped has no axes."""

    code = "axis-type"


class AxisRangeError(BrandedError, IndexError):
    """An axis is out of range for its tensor."""

    code = "axis-range"


class SizeError(BrandedError, ValueError):
    """Two mapped axes of one brand have different sizes."""

    code = "size"


class NameTakenError(BrandedError, ValueError):
    """The name of a brand is already open."""

    code = "name-taken"


class NameUnboundError(BrandedError, NameError):
    """A collective names a brand that is not open."""

    code = "name-unbound"


class OptionError(BrandedError, ValueError):
    """An option of vmap has a value that means nothing."""

    code = "option"


class ReadError(BrandedError, TypeError):
    """A value that differs from example to example was read as if it were one."""

    code = "read"


class EscapeError(BrandedError, TypeError):
    """A value was used after the brand that it varies over was closed."""

    code = "escape"


class WriteError(BrandedError, TypeError):
    """A write of a per-example value into a tensor that all examples share, or of what does not fit."""

    code = "write"


class RandomnessError(BrandedError, ValueError):
    """A random number was drawn under vmap, and nothing says whether all examples share it."""

    code = "randomness"


class ShapeError(BrandedError, TypeError, ValueError, IndexError):
    """Shapes do not fit in the body, or one depends on per-example values.

    tinygrad says it by a ValueError or an IndexError, JAX by a TypeError: who expects one of them catches this.
    """

    code = "shape"


class UnsupportedError(BrandedError, TypeError):
    """An operation that cannot be batched met a per-example value."""

    code = "unsupported"


class DerivativeError(BrandedError, TypeError):
    """A derivative of what has none, or with tangents or cotangents that do not fit."""

    code = "derivative"


class CarryError(BrandedError, TypeError):
    """The body of a loop, or a branch, does not give what it should."""

    code = "carry"


class DrawError(BrandedError, ValueError):
    """A draw from nothing: an empty range, a probability that is none, sizes that do not fit."""

    code = "draw"


class DrawTypeError(BrandedError, TypeError):
    """What should be a key, a shape or a bound of a random draw is something else."""

    code = "draw-type"


class StateError(BrandedError, ValueError):
    """A state does not fit its module, or modules do not fit each other."""

    code = "state"


class StateTypeError(BrandedError, TypeError):
    """What should be a module, or its state, is something else."""

    code = "state-type"


class PuzzleError(BrandedError, IndexError):
    """There is no such puzzle."""

    code = "puzzle"


class PictureError(BrandedError, ValueError):
    """What should be drawn cannot be: it is too large to read, or does not fit what it stands beside."""

    code = "picture"


class CallbackError(BrandedError, RuntimeError):
    """A function of the host raised, or gave what it was not said to give."""

    code = "callback"


class CallbackTypeError(BrandedError, TypeError):
    """What should say the shape and dtype of a result of a callback does not."""

    code = "callback-type"


class ProgramError(BrandedError, ValueError):
    """A typed program cannot be made, read or run."""

    code = "program"


class ProgramTypeError(BrandedError, TypeError):
    """A typed program gets or gives what it has no type for."""

    code = "program-type"


class ExplorerError(BrandedError, ValueError):
    """The explorer cannot be made, or what it should run is too large for a browser."""

    code = "explorer"


class ExplainError(BrandedError, TypeError):
    """What should be explained is not a function, or its arguments are not there."""

    code = "explain"


class CompilerError(BrandedError, RuntimeError):
    """tinygrad's CPU device has no C compiler."""

    code = "compiler"


class OutOfMemoryError(BrandedError, MemoryError):
    """There is no memory left for what an operation works in."""

    code = "out-of-memory"


class MemoryLimitError(BrandedError, MemoryError):
    """A program needs more memory than it may have, or than there is; nothing of it has run."""

    code = "memory-limit"


class SavedError(BrandedError, ValueError):
    """What was saved of a run is of another one, or cannot be read or written."""

    code = "saved"


class MatrixError(BrandedError, ValueError):
    """What should be a matrix has another shape, or two of them do not fit."""

    code = "matrix"


class MatrixTypeError(BrandedError, TypeError):
    """What should be a matrix of floats is something else."""

    code = "matrix-type"
