"""The names of an operation's operands in the user's code: `weights`, `self.bias`, `params['w']`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded.errors import source
from branded.errors.source import Where
from branded.tinygrad_compat.context_stack import ContextEntry, ContextStack


class Naming(NamedTuple):
    """A block in which operations are recorded with operand names."""

    records: list[Any]
    """The records that were started, so that an error can show the operations before it."""
    outside: int
    """The `id` of the Python frame that runs the block: it and its callers are not part of the program."""


_naming: ContextStack[Naming] = ContextStack("branded_naming")


def record_operand_names() -> ContextEntry[Naming]:
    """Return a block in which operations are recorded with operand names, found in the Python frames of each call."""
    return _naming.during(Naming([], id(sys._getframe(1))))


def note_record(frame: object) -> None:
    """Note that a new `Frame` begins, so that an error can show the operations before it."""
    for naming in _naming.get()[-1:]:
        naming.records.append(frame)


class Said(NamedTuple):
    """The operands' names in the user's code, if names are requested."""

    operands: tuple[tuple[str, ...], ...] = ()
    """The names of each operand, from the outermost function to the running one; empty for an unnamed operand."""
    caller: Where | None = None
    """The place where another function of the user calls the running one."""

    def behind(self, n: int) -> Said:
        """Return the names for an operation with `n` additional leading operands, which have no names."""
        return self._replace(operands=((),) * n + self.operands) if self.operands else self


UNSAID: Said = Said()


def names_of(operands: Sequence[Any]) -> Said:
    """Return the names of the operands in the running expressions, or of the variables that hold them."""
    if not _naming.any_open() or not (frames := source.frames(_naming.get()[-1].outside)):
        return UNSAID
    names: dict[UOp, list[str]] = {}
    for f in reversed(frames):
        for u, name in _variable_names(f).items():
            names.setdefault(u, []).append(name)
    caller = frames[0].f_back
    direct = source.where(caller) if caller is not None and caller in frames else None
    return Said(tuple(tuple(names.get(x, ())) if isinstance(x, UOp) else () for x in operands), direct)


def _variable_names(f: FrameType) -> dict[UOp, str]:
    local, others = f.f_locals, f.f_globals
    names: dict[UOp, str] = {}
    around = source.expression(f)
    for part in ast.walk(around) if around is not None else ():
        if isinstance(part, ast.Name | ast.Attribute | ast.Subscript):
            x = _value(part, local, others)
            if isinstance(x, Tensor):
                names.setdefault(x.uop, ast.unparse(part))
    for name, x in list(local.items()):
        if isinstance(x, Tensor) and name.isidentifier():
            names.setdefault(x.uop, name)
    return names


def _value(part: ast.expr, local: Mapping[str, Any], others: Mapping[str, Any]) -> Any:
    """Return the value of a name, a field or an entry, without running user code; None for other expressions."""
    match part:
        case ast.Name(name):
            return local.get(name, others.get(name))
        case ast.Attribute(base, name):
            x = _value(base, local, others)
            if isinstance(x, tuple):
                return getattr(x, name, None) if name in getattr(type(x), "_fields", ()) else None
            return _fields(x).get(name)
        case ast.Subscript(base, ast.Constant(key)):
            x = _value(base, local, others)
            try:
                return x[key] if type(x) in (dict, list, tuple) else None
            except LookupError:
                return None
    return None


def _fields(x: Any) -> Mapping[str, Any]:
    try:
        fields = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return {}
    return fields if isinstance(fields, Mapping) else {}
