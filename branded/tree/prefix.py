"""Prefix trees of axes: an axis for a container applies to all of its leaves."""

from __future__ import annotations

from typing import Any

from tinygrad import Tensor

from branded.errors import AxesError
from branded.tree.formatting import describe, short_repr
from branded.tree.nodes import Axis, Node, check_axis, leaves, node
from branded.tree.paths import step_text

Axes = Any
"""A prefix tree of axes: an int, None, or a container (tuple, list, dict, NamedTuple, dataclass, …) of axes."""


def broadcast_prefix(axes: Any, x: Any, option: str, where: str) -> list[Axis]:
    """Return one axis for each leaf of `x`, from a prefix tree: the axis of a container applies to its leaves."""
    out: list[Axis] = []
    waiting = [(axes, x, where)]
    while waiting:
        axes, x, where = waiting.pop()
        ax = None if axes is None else node(axes)
        if ax is None:
            out += [check_axis(axes, option)] * (1 if type(x) is Tensor else len(leaves(x)))
            continue
        n = node(x)
        if n is None:
            raise AxesError(
                f"{option}: a {type(axes).__name__} of axes was given for {where}, which is a single leaf",
                ("axes", short_repr(axes)),
                ("value", describe(x)),
                fix="give one int or None",
            )
        if isinstance(axes, dict) == isinstance(x, dict) and set(ax.keys) == set(n.keys):
            by_key = dict(zip(ax.keys, ax.children, strict=True))
        elif isinstance(x, tuple) and isinstance(axes, tuple | list) and len(ax.keys) == len(n.keys):
            by_key = dict(zip(n.keys, ax.children, strict=True))
        else:
            raise AxesError(
                f"{option}: the axes do not fit {where}",
                ("axes", f"{short_repr(axes)}  ({_count(axes, ax)})"),
                ("value", f"{type(x).__name__} with {_count(x, n)}"),
                fix="give one axis per entry, or a single int or None",
            )
        children = [(by_key[k], child, where + step_text(x, k)) for k, child in zip(n.keys, n.children, strict=True)]
        waiting.extend(children[::-1])
    return out


def _count(x: Any, n: Node) -> str:
    if isinstance(x, dict) or (n.keys and isinstance(n.keys[0], str)):
        return f"keys {', '.join(map(repr, n.keys))}"
    return f"{len(n.keys)} entries" if len(n.keys) != 1 else "1 entry"
