"""Calls of a module with replaced tensors; afterwards the module is restored."""

from __future__ import annotations

import types
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded.errors import UnsupportedError
from branded.tinygrad_compat.context_stack import run_then_undo
from branded.tinygrad_compat.private_api import _TinyJit


def with_others(module: Any, held: Mapping[int, Tensor], call: Callable[[], Any]) -> Any:
    """Call the module with other tensors, and restore its attributes, lists and dicts afterwards."""
    undo: list[tuple[Any, Any]] = []

    def replaced() -> Any:
        _replace(module, held, undo, set())
        return call()

    def restored() -> None:
        for holder, before in reversed(undo):
            if isinstance(holder, list):
                holder[:] = before
            else:
                holder.update(before)
                for key in holder.keys() - before.keys():
                    del holder[key]

    return run_then_undo(replaced, restored)


def _replace(x: Any, held: Mapping[int, Tensor], undo: list[tuple[Any, Any]], visited: set[int]) -> Any:
    """Replace the tensors of `x`, in place if possible, in the places that `get_state_dict` searches."""
    if isinstance(x, Tensor):
        return held.get(id(x), x)
    if isinstance(x, UOp):  # its attributes cache derived information
        return x
    if isinstance(x, _TinyJit):  # it would run with its captured tensors
        return x.fxn if x.fxn is not None else _refuse_jit("a TinyJit in the module")
    if hasattr(x, "_asdict") or type(x) is tuple:
        parts = [_replace(part, held, undo, visited) for part in x]
        if all(a is b for a, b in zip(x, parts, strict=True)):
            return x
        return type(x)(*parts) if hasattr(x, "_asdict") else tuple(parts)
    holder: Any = x if isinstance(x, OrderedDict) else getattr(x, "__dict__", x)
    if not isinstance(holder, dict | list) or id(holder) in visited:
        return x
    visited.add(id(holder))
    undo.append((holder, holder.copy()))
    for key in range(len(holder)) if isinstance(holder, list) else list(holder):
        holder[key] = _replace(holder[key], held, undo, visited)
    if holder is not x:
        _without_jit(x, holder)
    return x


def _without_jit(x: object, attributes: Any) -> None:
    """Replace methods that are a TinyJit by the wrapped functions."""
    for name, f in ((name, f) for cls in type(x).__mro__ for name, f in vars(cls).items()):
        if isinstance(f, _TinyJit):
            if name == "__call__" or f.fxn is None:  # Python looks for `__call__` in the class alone
                _refuse_jit(f"{type(x).__name__}.{name}")
            attributes.setdefault(name, types.MethodType(f.fxn, x))


def _refuse_jit(api_name: str) -> NoReturn:
    raise UnsupportedError(
        f"functional_call: {api_name} is a TinyJit, which has recorded the module's own tensors",
        fix="remove the TinyJit, and wrap the call of functional_call in TinyJit",
    )
