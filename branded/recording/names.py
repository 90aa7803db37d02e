"""What the user's code calls the operands of an operation: `weights`, `self.bias`, `params['w']`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded import source
from branded.scope import Block, Blocks

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


def names_of(operands: Sequence[Any]) -> tuple[str, ...]:
    """For each operand what it is called in the expression that runs, or what holds it there; empty for no name."""
    if not _naming.any_open() or (f := source.frame()) is None:
        return ()
    local, others = f.f_locals, f.f_globals
    found: dict[UOp, str] = {}
    around = source.expression()
    for part in ast.walk(around) if around is not None else ():
        if isinstance(part, ast.Name | ast.Attribute | ast.Subscript):
            x = _value(part, local, others)
            if isinstance(x, Tensor):
                found.setdefault(x.uop, ast.unparse(part))
    for name, x in list(local.items()):
        if isinstance(x, Tensor) and name.isidentifier():
            found.setdefault(x.uop, name)
    return tuple(found.get(x, "") if isinstance(x, UOp) else "" for x in operands)


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
