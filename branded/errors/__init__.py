"""The exceptions of branded and the format of their messages.

Every user error is a `BrandedError` and also the `TypeError`, `ValueError` or `IndexError` that Python would raise.
A message has one line for the problem, then the facts, then a fix to try:

    vmap: mapped sizes differ: argument 1 has 3 examples, argument 2 has 4
      left:  f32[3, 8], axis 0   (argument 1 of vmap at app.py:12)
      right: f32[4, 8], axis 0   (argument 2)
      try:   in_axes=(None, 0) for 4 examples, or in_axes=(0, None) for 3 examples, or nest two vmaps for all pairs

A message that names no line of the user's code gets the running line: `at: app.py:12`.  A traceback shows one more
line, a note of the error: `why: python -m branded why size`.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from branded.errors import source


class BrandedError(Exception):
    """The base class of all errors of this package.

    Args:
        problem: One line: the operation or option, a colon, and the problem.
        facts: Pairs of a label and a text, printed in columns.
        fix: A replacement to try; printed last, under the label `try`, unless it is the code that failed.

    Attributes:
        code: A stable word for the kind of error; `python -m branded why CODE` explains it.
    """

    code: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        """Set the code: `axis-type` for `AxisTypeError`. A subclass outside this module keeps the code of its base."""
        super().__init_subclass__()
        if cls.__module__ == __name__:
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__.removesuffix("Error")).lower()

    def __init__(self, problem: str, *facts: tuple[str, str], fix: str | None = None) -> None:
        if fix and source.is_running(fix):
            fix = None
        named = any(label == "at" or _PLACE.search(text) for label, text in facts)
        if not named and (location := place()) is not None:
            facts = (*facts, ("at", location))
        lines = [(one_line(label), one_line(text)) for label, text in (*facts, *([("try", fix)] if fix else []))]
        width = max((len(label) for label, _ in lines), default=0) + 1
        text = "\n".join([one_line(problem), *(f"  {label + ':':<{width}} {text}" for label, text in lines)])
        super().__init__(text)
        if self.code:
            self.add_note(f"  {'why:':<{width}} python -m branded why {self.code}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Return a recipe that copies the finished message instead of formatting it again."""
        return _restore_error, (type(self), self.args, self.__dict__)


_PLACE = re.compile(r"\bat \S+:\d+")


def place() -> str | None:
    """Return the user's running line as `app.py:12`, or None for code typed at a prompt, which has no file."""
    w = source.here()
    return None if w is None or w.file.startswith("<") else source.place(w.file, w.line)


def _restore_error(cls: type[BrandedError], args: tuple[Any, ...], attributes: dict[str, Any]) -> BrandedError:
    base: type = cls
    while base.__module__ != "builtins":  # MemoryError.__new__ rejects a class if it is not the first base
        base = base.__base__ or Exception
    error: BrandedError = base.__new__(cls, *args)
    error.__dict__.update(attributes)
    return error


def one_line(text: str) -> str:
    """Return `text` with unprintable characters escaped, because names given by users may contain any character."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def count_noun(n: int, one: str, many: str = "") -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def examples(n: int) -> str:
    return count_noun(n, "example")


class TreeError(BrandedError, ValueError):
    """A container passed as a pytree contains itself or has no end."""


class CallError(BrandedError, TypeError):
    """A function does not accept its arguments, or a non-callable was passed where a function is required."""


class OperandError(BrandedError, TypeError):
    """The other operand of a tensor operation is neither a tensor nor convertible to one."""


class ArgumentError(BrandedError, ValueError):
    """An argument has an invalid shape or value, alone or in combination with the other arguments."""


class AxesError(BrandedError, ValueError):
    """The axes do not fit the arguments or the results."""


class AxisTypeError(BrandedError, TypeError):
    """An axis is not an int or None, or a value to be mapped has no axes."""


class AxisRangeError(BrandedError, IndexError):
    """An axis is out of range for its tensor."""


class SizeError(BrandedError, ValueError):
    """Two mapped axes of one brand have different sizes."""


class NameTakenError(BrandedError, ValueError):
    """A brand with this name is already open."""


class NameUnboundError(BrandedError, NameError):
    """A collective names a brand that is not open."""


class OptionError(BrandedError, ValueError):
    """An option of `vmap` or of another function has an invalid value."""


class ReadError(BrandedError, TypeError):
    """A value that differs between examples was read as if it were a single value."""


class EscapeError(BrandedError, TypeError):
    """A value was used after the brand that it varies over was closed."""


class WriteError(BrandedError, TypeError):
    """A per-example value was written into a tensor that all examples share, or the written value does not fit."""


class RandomnessError(BrandedError, ValueError):
    """A random number was sampled under `vmap` without a choice whether all examples share it."""


class ShapeError(BrandedError, TypeError, ValueError, IndexError):
    """Shapes do not fit in the body, or a shape depends on per-example values.

    tinygrad raises a ValueError or an IndexError here, JAX a TypeError.  Code that catches any of them catches this.
    """


class UnsupportedError(BrandedError, TypeError):
    """An operation that cannot be batched was applied to a per-example value."""


class DerivativeError(BrandedError, TypeError):
    """The requested derivative does not exist, or its tangents or cotangents do not fit."""


class CarryError(BrandedError, TypeError):
    """The body of a loop or a branch returns a value of the wrong structure or type."""


class DrawError(BrandedError, ValueError):
    """A sample is impossible: an empty range, a probability outside [0, 1], or sizes that do not fit."""


class DrawTypeError(BrandedError, TypeError):
    """A key, shape or bound of a random sample has the wrong type."""


class StateError(BrandedError, ValueError):
    """A state does not fit its module, or modules do not fit each other."""


class StateTypeError(BrandedError, TypeError):
    """A module or its state has the wrong type."""


class PuzzleError(BrandedError, IndexError):
    """The requested puzzle does not exist."""


class PictureError(BrandedError, ValueError):
    """A picture cannot be rendered: it is too large to read, or does not fit the picture next to it."""


class CallbackError(BrandedError, RuntimeError):
    """A host callback raised an error or returned a result other than the declared one."""


class CallbackTypeError(BrandedError, TypeError):
    """The declared shape and dtype of a callback's result are missing or invalid."""


class ProgramError(BrandedError, ValueError):
    """An IR program (`Expr`) cannot be built, parsed or run."""


class ProgramTypeError(BrandedError, TypeError):
    """An IR program (`Expr`) receives or returns a value that has no type in the IR."""


class ExplorerError(BrandedError, ValueError):
    """The explorer cannot be built, or its program is too large for a browser."""


class ExplainError(BrandedError, TypeError):
    """The object to explain is not a function, or its arguments are missing."""


class CompilerError(BrandedError, RuntimeError):
    """tinygrad's CPU device has no C compiler."""


class TinygradError(BrandedError, ImportError):
    """The installed tinygrad lacks private names that `branded`, or one of its features, needs."""


class OutOfMemoryError(BrandedError, MemoryError):
    """No memory is left for the working buffers of an operation."""


class MemoryLimitError(BrandedError, MemoryError):
    """A program needs more memory than its limit or than the device has.  No part of it has run."""


class SavedError(BrandedError, ValueError):
    """Saved results belong to another run, or cannot be read or written."""


class MatrixError(BrandedError, ValueError):
    """An argument is not a matrix of the required shape, or two matrices do not fit."""


class MatrixTypeError(BrandedError, TypeError):
    """An argument that must be a matrix of floats has another type."""
