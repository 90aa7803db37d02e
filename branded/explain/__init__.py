"""`explain`: one call of a function, step by step: what was zipped, what was broadcast, and why.

python -m branded explain FILE.py:function
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TextIO

from branded import tree
from branded.errors import ExplainError
from branded.explain.data import explained, is_array
from branded.explain.html import frame, page
from branded.explain.steps import Growth as Growth
from branded.explain.terminal import show, text

__all__ = ["Explanation", "Growth", "explain"]


class Explanation:
    """What happens in `f(*args)`, step by step.  `print` shows it as text, a notebook as a page.

    It is worked out when it is first asked for.  Calling it explains the same function on other arguments.
    """

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], warn: Growth) -> None:
        self._f, self._args, self._kwargs, self._warn = f, args, kwargs, warn

    def __call__(self, *args: Any, **kwargs: Any) -> Explanation:
        return Explanation(self._f, args, kwargs, self._warn)

    @functools.cached_property
    def _data(self) -> dict[str, Any]:
        args, kwargs = self._args, self._kwargs
        if not args and not kwargs:
            args, kwargs = example_arguments(self._f)
        _check(self._f, args, kwargs)
        return explained(self._f, args, kwargs, self._warn)

    def data(self) -> dict[str, Any]:
        """Everything that is shown, as JSON has it."""
        return self._data

    def html(self) -> str:
        """The page that shows it: one file that asks for nothing over the network."""
        return page(self._data)

    def show(self, file: TextIO | None = None) -> None:
        """Print it, with a colour for each brand where `rich` is installed and there is a terminal."""
        show(self._data, file)

    def __str__(self) -> str:
        return text(self._data)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return frame(self._data)


def explain(f: Callable[..., Any], *args: Any, warn: Growth | None = None) -> Explanation:
    """`explain(f)(*args)` is what happens in `f(*args)`: each operation, what it zips and what it broadcasts, and why.

    Args:
        f: A function of tensors, or of trees of them.
        *args: Its arguments; without any, the defaults of its parameters.
        warn: From which growth on a broadcast is warned of: 8 times and 1 MiB, unless this says otherwise.

    Returns:
        An `Explanation`: print it, show it in a notebook, take its `data()` or its `html()`.  `explain(f, *args)` is
        the same as `explain(f)(*args)`, which also takes keyword arguments.

    Raises:
        ExplainError: When it is looked at: `f` is no function, or does not take these arguments, or needs some.

    Example:
        >>> from branded import vmap
        >>> from branded.explain import explain
        >>> from tinygrad import Tensor
        >>> def outer(x, y): return vmap(lambda a: vmap(lambda b: a + b)(y))(x)
        >>> step = explain(outer, Tensor([1, 2, 3]), Tensor([4, 6])).data()["steps"][2]
        >>> step["kind"], step["results"][0]["type"]
        ('broadcast', 'Vec[a:3 | b:2, i32[]]')
        >>> print(step["why"])
        a: only c varies over it, so d is the same for each of its 3 examples.
        b: only d varies over it, so c is the same for each of its 2 examples.
        >>> print(step["loop"])
        for a_ in range(3):
            for b_ in range(2):
                e[a_, b_] = c[a_] + d[b_]

    Source: torchdim (Z. DeVito, 2022), which explains dimensions by the loop beside them.
    """
    if warn is not None and not isinstance(warn, Growth):
        raise ExplainError(f"explain: warn={tree.shown(warn)} is not a growth", fix="warn=Growth(factor, bytes)")
    return Explanation(f, args, {}, warn or Growth())


def example_arguments(f: Callable[..., Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments that a function is shown with: the defaults of its parameters.

    Raises:
        ExplainError: A parameter has none.
    """
    name, parameters = _name(f), list(_signature(f).parameters.values())
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if missing := [p.name for p in parameters if p.default is p.empty and p.kind not in optional]:
        raise ExplainError(
            f"explain: `{name}` has no example arguments",
            ("needs", ", ".join(missing)),
            fix=f'a default for each, explain({name}, ...), or --args "Tensor([1.0, 2.0]), ..."',
        )
    own = [p for p in parameters if p.kind not in optional]
    first = [p.default for p in own if p.kind is not p.KEYWORD_ONLY]
    while first and not _holds_arrays(first[-1]):
        first.pop()
    keywords = {p.name: p.default for p in own if p.kind is p.KEYWORD_ONLY and _holds_arrays(p.default)}
    return tuple(first), keywords


def _holds_arrays(x: Any) -> bool:
    return any(map(is_array, tree.leaves(x)))


def _check(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    try:
        _signature(f).bind(*args, **kwargs)
    except TypeError as error:
        given = ", ".join([*map(tree.describe, args), *(f"{k}={tree.describe(v)}" for k, v in kwargs.items())])
        raise ExplainError(
            f"explain: `{_name(f)}` does not take these arguments: {error}", ("given", given or "none")
        ) from None


def _signature(f: Callable[..., Any]) -> inspect.Signature:
    if not callable(f):
        raise ExplainError(
            f"explain: {tree.describe(f)} is not a function", fix="explain(f, *args), or explain(f)(*args)"
        )
    try:
        return inspect.signature(f)
    except (TypeError, ValueError):  # written in C: any arguments
        return inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", type(f).__name__)
