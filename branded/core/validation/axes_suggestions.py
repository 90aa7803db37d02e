"""Suggested fixes for arguments that do not fit: shared arguments, and lists that should be one tensor."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor, nn

from branded.errors import examples


def as_one(x: Any, name: str) -> str | None:
    """Return how to write a list of per-example values as one tensor, or None."""
    if not isinstance(x, list | tuple) or not x:
        return None
    if all(isinstance(v, Tensor) and not v.shape for v in x):
        return f"{name} as one tensor, Tensor.stack(*xs) of it"
    inner = [v for row in x for v in (row if isinstance(row, list | tuple) else (row,))]
    if not all(isinstance(v, bool | int | float) for v in inner):
        return None
    return f"{name} as one tensor, Tensor({repr(x) if len(inner) < 10 else '...'})"


def holds_tensors(x: Any) -> bool:
    """Return whether `x` is a module: an object, not a container, with tensors in its attributes."""
    if isinstance(x, Tensor | list | tuple | dict | type) or not hasattr(x, "__dict__"):
        return False
    try:
        return bool(nn.state.get_state_dict(x))
    except Exception:  # it contains itself, or an attribute that tinygrad cannot search
        return False


def of_modules(x: Any, *, is_shared: bool) -> str | None:
    """Return how to map over modules, the argument `x`; None if it is none, or a module that may be shared."""
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


def shared(axes: Sequence[int | None]) -> str:
    """Return the suggested `in_axes` if some arguments have no axis."""
    none = all(a is None for a in axes)
    return "pass a tensor with an axis of examples" if none else f"in_axes=({', '.join(map(str, axes))})"


def readings(mapped: Sequence[tuple[int, int] | None]) -> str:
    """Return the `in_axes` that the user may have meant: arguments of one size are the examples, the others are shared.

    `mapped` has the axis and the size of each argument, or None for a shared one.  Leading arguments are shared first,
    since they are often parameters.

        (0, 3), (0, 4)    in_axes=(None, 0) for 4 examples, or in_axes=(0, None) for 3 examples,
                          or nest two vmaps for all pairs
    """
    texts = []
    for n in dict.fromkeys(entry[1] for entry in reversed(mapped) if entry is not None):
        axes = [entry[0] if entry is not None and entry[1] == n else None for entry in mapped]
        texts.append(f"in_axes=({', '.join(map(str, axes))}) for {examples(n)}")
    return ", or ".join([*texts, "nest two vmaps for all pairs"] if len(texts) == 2 else texts[:3])


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
