"""Checks of custom rules: the trees that rules take and return must fit the arguments and results."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import UOp

from branded import tree
from branded.core.boundary import live_tensor
from branded.core.validation.arguments import check_takes
from branded.core.values import vec_type
from branded.errors import DerivativeError, OptionError
from branded.graph.tags import symbolic_zero
from branded.graph.uops import tensor


def tensor_of(x: Any, where: str) -> Tensor:
    return tree.with_memory_dtype(live_tensor(x, where, DerivativeError, "nondiff_argnums for other values"), where)


def positional(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], api_name: str) -> tuple[Any, ...]:
    """Bind the arguments of a call by position, with defaults filled in, as a rule receives them."""
    check_takes(f, args, kwargs, api_name, "pass one argument per parameter")
    try:
        bound = inspect.signature(f).bind(*args, **kwargs)
    except ValueError:  # a function without a signature
        if kwargs:
            raise OptionError(
                f"{api_name} is called with keywords, but has no signature", fix="pass the arguments by position"
            ) from None
        return args
    bound.apply_defaults()
    if not bound.kwargs.keys().isdisjoint(kwargs):  # keyword arguments of a partial keep their values
        raise OptionError(f"{api_name} has keyword-only parameters", fix="make the parameters positional")
    return bound.args


def by_key(x: Any, like: tree.Node) -> list[Any] | None:
    """Return the children of `x` in the key order of another container, or None if the keys differ."""
    n = tree.node(x)
    if n is None or set(n.keys) != set(like.keys):
        return None
    by_key = dict(zip(n.keys, n.children, strict=True))
    return [by_key[key] for key in like.keys]


def with_none(x: Any, g: Any) -> list[Any] | None:
    """Return the leaves of `g` in the tree of `x`, with None repeated for a whole subtree; None if the trees differ."""
    out: list[Any] = []
    waiting = [(x, g)]
    while waiting:
        x, g = waiting.pop()
        n = tree.node(x)
        if g is None and x is not None:
            out += [None] * len(tree.leaves(x))
        elif n is None:
            out.append(g)
        elif (below := by_key(g, n)) is None:
            return None
        else:
            waiting.extend([*zip(n.children, below, strict=True)][::-1])
    return out


def no_tangent(x: UOp) -> UOp:
    """Return the zero tangent that a rule receives for a constant; it is a float even if the value is not."""
    out = symbolic_zero(x)
    return out if dtypes.is_float(x.dtype) else out.cast(dtypes.default_float)


def fitting(f: Any, like: Any, out: Any, kind: str) -> list[UOp]:
    """Return the leaves of a rule's output; raise if its tree or a shape differs from the result `like`."""
    if tree.paths(out, "") != tree.paths(like, ""):
        raise DerivativeError(
            f"{f.api_name}: the {kind} from the rule of {f.name} has another structure than the result",
            (kind, tree.outline(out)),
            ("result", tree.outline(tree.rebuild(like, map(tensor, tree.leaves(like))))),
            fix="return the structure of the result",
        )
    out_leaves = []
    for x, y, path in zip(tree.leaves(out), tree.leaves(like), tree.paths(like, "the result"), strict=True):
        t = tensor_of(x, f"{f.api_name}: the {kind} from the rule of {f.name} for {path}")
        if t.shape != y.shape:
            raise DerivativeError(
                f"{f.api_name}: the {kind} from the rule of {f.name} for {path} has another shape",
                (kind, vec_type(t)),
                ("result", vec_type(tensor(y))),
                fix="return the shape of the result",
            )
        out_leaves.append(t.cast(y.dtype).uop if dtypes.is_float(y.dtype) else t.uop)
    return out_leaves
