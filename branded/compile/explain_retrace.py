"""Find the reason why `jit` traces a function again; it is printed with `BRANDED_LOG=traces`."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from tinygrad import Tensor
from tinygrad.helpers import DEFAULT_FLOAT, DEFAULT_INT

from branded import tree
from branded.tinygrad_compat.lazy_numpy import np


class Seen(NamedTuple):
    """The properties of one argument leaf that a program depends on."""

    kind: str
    text: str
    facts: tuple[tuple[str, Any], ...] = ()
    """The named properties in which two leaves of one kind may differ."""


Call = dict[str, Seen]


def is_wanted() -> bool:
    return "traces" in os.environ.get("BRANDED_LOG", "").split(",")


def describe_call(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], fixed: Sequence[bool]) -> Call:
    """Return a description of each argument leaf of a call, by its path."""
    try:
        parameters = list(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        parameters = []
    names = [parameters[i] if i < len(parameters) else f"argument {i + 1}" for i in range(len(args))]
    dtypes = f"{DEFAULT_FLOAT.value}, {DEFAULT_INT.value}"
    out: Call = {"the default dtypes": Seen("value", dtypes, (("value", dtypes),))}
    for x, name, is_fixed in zip((*args, *kwargs.values()), (*names, *kwargs), fixed, strict=True):
        if is_fixed:
            out[name] = Seen("value", tree.short_repr(x), (("value", x),))
        else:
            out |= dict(zip(tree.paths(x, name), map(_leaf, tree.leaves(x)), strict=True))
    return out


def _leaf(x: Any) -> Seen:
    if isinstance(x, Tensor):
        device = ("device", x.device if x.device is not None else "of a number")
        return Seen("tensor", tree.describe(x), (("shape", x.shape), ("dtype", x.dtype), device))
    if isinstance(x, np.ndarray):
        return Seen("array", tree.describe(x), (("shape", x.shape), ("dtype", x.dtype)))
    if isinstance(x, bool | int | float):
        return Seen(type(x).__name__, type(x).__name__)
    return Seen("value", tree.short_repr(x), (("value", x),))


def reason(before: Call, now: Call) -> str:
    """Return the first difference between two calls: `shape of x: f32[3] -> f32[4]`."""
    if before.keys() != now.keys():
        gone, new = [k for k in before if k not in now], [k for k in now if k not in before]
        return "; ".join([*_list_paths("without", gone), *_list_paths("with", new)])
    for path, x in before.items():
        y = now[path]
        if x.kind != y.kind:
            return f"{path}: {x.text} -> {y.text}"
        for (fact, a), (_, b) in zip(x.facts, y.facts, strict=True):
            if a is not b and a != b:
                texts = (f"{a}", f"{b}") if fact == "device" else (x.text, y.text)
                return f"{fact} of {path}: {' -> '.join(texts)}"
    return "other containers of the arguments"


def _list_paths(change: str, paths: Collection[str]) -> list[str]:
    shown = ", ".join(list(paths)[:3])
    return [f"{change} {shown}{', ...' if len(paths) > 3 else ''}"] if paths else []


def note(f: Callable[..., Any], before: Call, now: Call) -> None:
    """Print to stderr why this function is traced again."""
    name = getattr(f, "__name__", type(f).__name__)
    print(f"branded: jit traces {name} again: {reason(before, now)}", file=sys.stderr)
