"""Special methods of objects: functions and statements of Python call them, such as `float(x)` calls `__float__`."""

from __future__ import annotations

from collections.abc import Sequence

from mypy.nodes import Context

from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import Arguments, Const, Fact, LibraryName, Mutable, items_of

TEXT = "__str__", "__repr__"
TRUTH = "__bool__", "__len__"
HASH = ("__hash__",)
INDEX = ("__index__",)
CALLED: dict[str, tuple[str, ...]] = {
    **{f"builtins.{name}": (f"__{name}__",) for name in ("abs", "round", "hash", "repr", "reversed", "next", "len")},
    **{f"math.{name}": (f"__{name}__", "__float__", "__index__") for name in ("floor", "ceil", "trunc")},
    **{f"operator.{name}": (f"__{name}__",) for name in ("index", "neg", "pos", "abs", "invert", "call")},
    "builtins.float": ("__float__", "__index__"),
    "builtins.int": ("__int__", "__index__", "__trunc__"),
    "builtins.complex": ("__complex__", "__float__", "__index__"),
    "builtins.bool": TRUTH,
    "builtins.str": TEXT,
    "builtins.ascii": ("__repr__",),
    "builtins.format": ("__format__", *TEXT),
    "builtins.bytes": ("__bytes__",),
    "builtins.dir": ("__dir__",),
    "builtins.range": INDEX,
    "operator.truth": TRUTH,
    "operator.not_": TRUTH,
    "operator.length_hint": ("__len__", "__length_hint__"),
}
"""The special methods that a function calls for its first argument: the first one that the class has."""
OF_EACH = {
    "builtins.print": TEXT,
    "builtins.set": HASH,
    "builtins.frozenset": HASH,
}
"""The special methods that a function calls for each argument of `print`, or each item of the others."""

_WITH_ARGUMENTS = "__format__", "__round__", "__set__"


def first_special(
    run: FileState, value: Fact, names: Sequence[str], at: Context, given: Sequence[Fact] = ()
) -> Fact | None:
    """Return the result of the first special method that the class of an object has; None if it has none."""
    if not isinstance(value, Mutable):
        return None
    found = (run.special(value, name, given if name in _WITH_ARGUMENTS else [], at) for name in names)
    return next((result for result in found if result is not None), None)


def of_function(run: FileState, name: str, given: Arguments, at: Context) -> Fact | None:
    """Return the result of a function that calls a special method of its first argument; None if it calls none."""
    values = given.positional
    if not values:
        return None
    if (methods := CALLED.get(name if not name.startswith("_operator.") else name[1:])) is not None:
        return first_special(run, values[0], methods, at, values[1:])
    if (methods := OF_EACH.get(name)) is not None:
        for value in values if name == "builtins.print" else items_of(values[0]) or ():
            first_special(run, value, methods, at)
    return None


def of_format(run: FileState, f: LibraryName, given: Arguments, at: Context) -> None:
    """Call the special methods for the values in `f"{x}"`, which mypy turns into `"{:{}}".format(x, "")`."""
    text = f.owner.value if isinstance(f.owner, Const) else None
    if f.name != "format" or not isinstance(text, str) or not given.positional:
        return
    names = {"{!r:{}}": ("__repr__",), "{!s:{}}": TEXT}.get(text, ("__format__", *TEXT))
    for value in given.positional if not text.endswith(":{}}") else given.positional[:1]:
        first_special(run, value, names, at, [Const("")])
