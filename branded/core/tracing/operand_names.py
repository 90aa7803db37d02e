"""What the user's code calls the operands of an operation: `weights`, `self.bias`, `params['w']`."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded.errors import source
from branded.errors.source import Where
from branded.graph.scope import Block, Blocks

_naming: Blocks[list[Any]] = Blocks("branded_naming")


def named() -> Block[list[Any]]:
    """While operations are recorded with what the user calls their operands: it takes a look at frames for each.

    It gives the records that are begun, for who wants to know what there was before a mistake.
    """
    return _naming.during([])


def begun(frame: object) -> None:
    """A record begins."""
    for found in _naming.get()[-1:]:
        found.append(frame)


class Said(NamedTuple):
    """What the user calls the operands of an operation, where somebody asks for it."""

    operands: tuple[tuple[str, ...], ...] = ()
    """For each its names, from the outermost function to that which runs; none for one without a name."""
    caller: Where | None = None
    """Where the function that runs is called by another one of the user's."""

    def behind(self, n: int) -> Said:
        """The same of an operation with `n` operands more, which stand first and have no names."""
        return self._replace(operands=((),) * n + self.operands) if self.operands else self


UNSAID = Said()


def names_of(operands: Sequence[Any]) -> Said:
    """What the operands are called in the expressions that run, or what holds them there."""
    if not _naming.any_open() or not (frames := source.frames(_TRACED)):
        return UNSAID
    found: dict[UOp, list[str]] = {}
    for f in reversed(frames):
        for u, name in _names(f).items():
            found.setdefault(u, []).append(name)
    caller = frames[0].f_back
    direct = source.where(caller) if caller is not None and caller in frames else None
    return Said(tuple(tuple(found.get(x, ())) if isinstance(x, UOp) else () for x in operands), direct)


_TRACED = f"program{os.sep}expr.py"
"""What called the function whose program is written down: its callers are no part of it."""


def _names(f: FrameType) -> dict[UOp, str]:
    local, others = f.f_locals, f.f_globals
    found: dict[UOp, str] = {}
    around = source.expression(f)
    for part in ast.walk(around) if around is not None else ():
        if isinstance(part, ast.Name | ast.Attribute | ast.Subscript):
            x = _value(part, local, others)
            if isinstance(x, Tensor):
                found.setdefault(x.uop, ast.unparse(part))
    for name, x in list(local.items()):
        if isinstance(x, Tensor) and name.isidentifier():
            found.setdefault(x.uop, name)
    return found


def _value(part: ast.expr, local: Mapping[str, Any], others: Mapping[str, Any]) -> Any:
    """What a name, a field of it or an entry of it is, without running any code of the user's; None for all else."""
    match part:
        case ast.Name(name):
            return local.get(name, others.get(name))
        case ast.Attribute(of, name):
            x = _value(of, local, others)
            if isinstance(x, tuple):
                return getattr(x, name, None) if name in getattr(type(x), "_fields", ()) else None
            return _fields(x).get(name)
        case ast.Subscript(of, ast.Constant(key)):
            x = _value(of, local, others)
            try:
                return x[key] if type(x) in (dict, list, tuple) else None
            except LookupError:
                return None
    return None


def _fields(x: Any) -> Mapping[str, Any]:
    try:
        found = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, Mapping) else {}
