"""Suggested fixes for arguments that do not fit: shared arguments, and lists that should be one tensor."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor, nn

from branded import tree
from branded.errors import examples


def as_one(x: Any, name: str) -> str | None:
    """Return the advice to write a list of per-example values as one tensor, or None."""
    if not isinstance(x, list | tuple) or not x:
        return None
    if all(isinstance(v, Tensor) and not v.shape for v in x):
        return f"pass {name} as one tensor, Tensor.stack(*xs)"
    inner = [v for row in x for v in (row if isinstance(row, list | tuple) else (row,))]
    if not all(isinstance(v, bool | int | float) for v in inner):
        return None
    return f"pass {name} as one tensor, Tensor({repr(x) if len(inner) < 10 else '...'})"


def holds_tensors(x: Any) -> bool:
    """Return whether `x` is a module: an object, not a container, with tensors in its attributes."""
    if isinstance(x, Tensor | list | tuple | dict | type) or not hasattr(x, "__dict__"):
        return False
    try:
        return bool(nn.state.get_state_dict(x))
    except Exception:  # it contains itself, or an attribute that tinygrad cannot search
        return False


def of_modules(x: Any, *, is_shared: bool) -> str | None:
    """Return how to map over modules; None if `x` is not a module or list of modules, or may be shared."""
    if isinstance(x, list | tuple) and x and all(map(holds_tensors, x)):
        return "pass stack_module_state(modules), and call functional_call(modules[0], state, x) in the function"
    if is_shared or not holds_tensors(x):
        return None
    return "pass stack_module_state([module, ...]), and call functional_call(module, state, x) in the function"


def of_optimizer(x: Any) -> str | None:
    """Return how to make one state for each example if `x` is a state of an optimizer of this package."""
    parts = [x]
    while parts:
        part = parts.pop()
        if type(part).__module__.startswith("branded.optim."):
            return "make one state per example: vmap(opt.init)(params)"
        parts += part if isinstance(part, list | tuple) else part.values() if isinstance(part, dict) else ()
    return None


def in_axes_text(args: Sequence[Any], axes: Sequence[tree.Axis]) -> str | None:
    """Return `in_axes=(...)` with these axes of the leaves, as in a call; None if that is too long for a message.

    An argument whose leaves all have the same axis gets this axis: `in_axes=({'w': 0, 'b': None}, 0)`.
    """
    new = iter(axes)
    parts = [[next(new) for _ in tree.leaves(x)] for x in args]
    entries = [p[0] if len({*p}) == 1 else tree.rebuild(x, iter(p)) for x, p in zip(args, parts, strict=True)]
    return f"in_axes={text}" if (text := tree.short_repr(tuple(entries))).startswith("(") else None


def possible_axes(args: Sequence[Any], shapes: Sequence[Any], axes: Sequence[tree.Axis]) -> str | None:
    """Return the `in_axes` that the user may have meant: leaves of one size are the examples, and others are shared.

    The batch size may be the size of any argument whose leaves agree, or of any leaf if they agree in none.  Leading
    arguments are shared first, since they are often parameters.

        f32[3], f32[4]                in_axes=(None, 0) for 4 examples, or in_axes=(0, None) for 3 examples,
                                      or nest two vmaps for all pairs
        {'w': f32[3], 'b': f32[2]}    in_axes=({'w': None, 'b': 0},) for 2 examples, or ...
    """
    sizes = [None if a is None else shape[a] for shape, a in zip(shapes, axes, strict=True)]
    sizes = [n if type(n) is int else None for n in sizes]  # a size may be symbolic
    new = iter(sizes)
    of_args = [{next(new) for _ in tree.leaves(x)} - {None} for x in args]
    agreed = [n for found in of_args if len(found) == 1 for n in found]
    texts = []
    for n in dict.fromkeys(n for n in reversed(agreed or sizes) if n is not None):
        text = in_axes_text(args, [a if size == n else None for a, size in zip(axes, sizes, strict=True)])
        if text is None:
            return None
        texts.append(f"{text} for {examples(n)}")
    return ", or ".join([*texts, "nest two vmaps for all pairs"] if len({*agreed}) == 2 else texts[:3])


def argument(f: Callable[..., Any], position: int) -> str | None:
    """Return the name of the argument at this position, `x` or `xs[1]`, or None if it is unknown."""
    try:
        params = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return None
    for i, p in enumerate(params):
        if p.kind is p.VAR_POSITIONAL:
            return f"{p.name}[{position - i}]"
        if i == position and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            return p.name
    return None


def parameter(f: Callable[..., Any], which: int | str) -> str:
    """Return the name of the parameter for an argument, given by position or by name."""
    return which if isinstance(which, str) else (argument(f, which) or "brand").partition("[")[0]
