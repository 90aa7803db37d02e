"""`explain`: one call of a function, step by step.

python -m branded explain FILE.py:function
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, TextIO

from branded import tree
from branded.core.tracing.recording import Frame
from branded.errors import ExplainError, ShapeError
from branded.explain import mistake
from branded.explain.argument_guesses import guess_arguments
from branded.explain.code import Source, function_name
from branded.explain.data import Explained, explain_call, is_array
from branded.explain.html import frame, page
from branded.explain.steps import Growth as Growth
from branded.explain.story import story
from branded.explain.terminal import Line, Span, lines, show, text
from branded.tinygrad_compat.private_api import _TinyJit

__all__ = ["Explanation", "Growth", "explain"]


class Explanation:
    """The explanation of `f(*args)`: `print` shows it as text, and a notebook shows it as a page.

    The explanation is computed on first use. To explain the same function for other arguments, call the object.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        warn: Growth,
        *,
        full: bool = False,
        kernels: bool = False,
    ) -> None:
        self._f, self._args, self._kwargs, self._warn = f, args, kwargs, warn
        self._full, self._kernels = full, kernels
        self._begun: Sequence[Frame] = ()
        self.mistake: ShapeError | None = None
        """The shape error that stops the function; set when the explanation is computed."""

    def __call__(self, *args: Any, **kwargs: Any) -> Explanation:
        return Explanation(self._f, args, kwargs, self._warn, full=self._full, kernels=self._kernels)

    @functools.cached_property
    def _explained(self) -> Explained:
        args, kwargs = self._args, self._kwargs
        self._guessed = False
        if not args and not kwargs:
            args, kwargs = example_arguments(self._f)
            self._guessed = any(p.default is p.empty for p in _signature(self._f).parameters.values())
        _check(self._f, args, kwargs)
        try:
            return explain_call(self._f, args, kwargs, self._warn, self._record)
        except ShapeError as error:
            self.mistake = error
            raise

    def _record(self, begun: Sequence[Frame]) -> None:
        self._begun = begun

    def data(self) -> dict[str, Any]:
        """Return the complete data, ready for JSON."""
        return self._explained.data

    def html(self) -> str:
        """Return the page as one HTML file, without network requests."""
        return page(self.data())

    def show(self, file: TextIO | None = None) -> None:
        """Print the story, with a color for each brand if `rich` is installed and the output is a terminal."""
        told = self._lines
        show([] if self.mistake is not None else self._explained.outline["brands"], told, file)

    def __str__(self) -> str:
        return text(self._lines)

    __repr__ = __str__

    @functools.cached_property
    def _lines(self) -> list[Line]:
        try:
            explained = self._explained
        except ShapeError as error:
            return mistake.lines(mistake.Mistake(self._begun, error), self._f, Source.of(self._f).code)
        if self._full:
            return lines(self.data())
        told = story(explained.outline, explained.seconds, kernels=self._kernels)
        return [*told, [Span(_GUESSED, "quiet")]] if self._guessed else told

    def _repr_html_(self) -> str:
        try:
            return frame(self.data())
        except ShapeError:
            return f"<pre>{escape(str(self))}</pre>"


_GUESSED = "note: the arguments are guessed from annotations; give others as explain(f)(x), or by --args"


def explain(
    f: Callable[..., Any], *args: Any, warn: Growth | None = None, full: bool = False, kernels: bool = False
) -> Explanation:
    """Explain `f(*args)`: show the equivalent Python loop, and each step that does more than pair examples.

    Args:
        f: A function of tensors, or of pytrees of tensors.
        *args: The arguments of `f`. If there are none, `explain` uses the defaults of the parameters, and small tensors
            for annotations such as `Tensor`, `Vec[S]` or `f32[n, d]`.
        warn: The growth from which a broadcast causes a warning. By default, a warning is given if the result is 8
            times as large as an operand, and has at least 1 MiB.
        full: Whether to print each operation with its zips, broadcasts and types, the graph, and the kernels.
        kernels: Whether to print the kernels as C.

    Returns:
        An `Explanation`: print it, show it in a notebook, or use its `data()` or `html()`. To pass keyword arguments to
        `f`, write `explain(f)(*args, **kwargs)`.

    Raises:
        ExplainError: `f` is not a function, does not accept these arguments, or has a parameter whose argument cannot
            be guessed. Raised on first use.

    Example:
        >>> from branded import vmap
        >>> from branded.explain import explain
        >>> from tinygrad import Tensor
        >>> def outer(x, y): return vmap(lambda a: vmap(lambda b: a + b)(y))(x)
        >>> data = explain(outer, Tensor([1, 2, 3]), Tensor([4, 6])).data()
        >>> print(data["loop"])
        def outer(x, y):
            out = Tensor.empty(3, 2, dtype="int32")
            for i in range(3):
                a = x[i]
                out2 = Tensor.empty(2, dtype="int32")
                for j in range(2):
                    b = y[j]
                    out2[j] = a + b
                out[i] = out2
            return out
        >>> step = data["steps"][2]
        >>> step["kind"], step["results"][0]["type"]
        ('broadcast', 'Vec[a:3 | b:2, i32[]]')
        >>> print(step["why"])
        a: only a varies over it, so b is the same for each of its 3 examples.
        b: only b varies over it, so a is the same for each of its 2 examples.

    Source: torchdim (Z. DeVito, 2022), which explains dimensions by the equivalent loop.
    """
    if warn is not None and not isinstance(warn, Growth):
        raise ExplainError(f"explain: warn={tree.short_repr(warn)} is not a growth", fix="warn=Growth(factor, bytes)")
    if isinstance(f, _TinyJit) and f.fxn is not None:  # a TinyJit replays kernels, and does not call the function
        f = f.fxn
    return Explanation(f, args, {}, warn or Growth(), full=full, kernels=kernels)


def example_arguments(f: Callable[..., Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return example arguments for a function: the defaults of its parameters, or guesses from annotations.

    Raises:
        ExplainError: A parameter has neither a default nor a usable annotation, or the function fails with the guess.
    """
    name, parameters = function_name(f), list(_signature(f).parameters.values())
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    missing = [p for p in parameters if p.default is p.empty and p.kind not in optional]
    values = {p.name: p.default for p in parameters}
    if missing:
        if (guesses := guess_arguments(f, missing)) is None:
            raise ExplainError(
                f"explain: `{name}` has no example arguments",
                ("needs", ", ".join(p.name for p in missing)),
                fix=f'give each a default, call explain({name}, ...), or use --args "Tensor([1.0, 2.0]), ..."',
            )
        values |= guesses
    params = [p for p in parameters if p.kind not in optional]
    is_needed = {p.name for p in missing}
    first = [p for p in params if p.kind is not p.KEYWORD_ONLY]
    while first and first[-1].name not in is_needed and not _holds_arrays(values[first[-1].name]):
        first.pop()
    named = [p.name for p in params if p.kind is p.KEYWORD_ONLY]
    keywords = {n: values[n] for n in named if n in is_needed or _holds_arrays(values[n])}
    return tuple(values[p.name] for p in first), keywords


def _holds_arrays(x: Any) -> bool:
    return any(map(is_array, tree.leaves(x)))


def _check(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    try:
        _signature(f).bind(*args, **kwargs)
    except TypeError as error:
        args_text = ", ".join([*map(tree.describe, args), *(f"{k}={tree.describe(v)}" for k, v in kwargs.items())])
        raise ExplainError(
            f"explain: `{function_name(f)}` does not take these arguments: {error}", ("given", args_text or "none")
        ) from None


def _signature(f: Callable[..., Any]) -> inspect.Signature:
    if not callable(f):
        raise ExplainError(
            f"explain: {tree.describe(f)} is not a function", fix="explain(f, *args), or explain(f)(*args)"
        )
    try:
        return inspect.signature(f)
    except (TypeError, ValueError):  # a function in C has no signature, so allow any arguments
        return inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])
