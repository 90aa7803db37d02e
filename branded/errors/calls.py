"""Errors for calls of public functions that do not fit their parameters, such as a call with an option of JAX."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from branded.errors import BrandedError, CallError

F = TypeVar("F", bound=Callable[..., Any])


def check_calls(f: F) -> F:
    """Return a public function, or method of a public class, whose error for a wrong call lists its parameters.

    `core.entry.entry` does the same for the functions that it wraps.
    """

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except TypeError as error:
            reject_call(error, f, args, kwargs)
            raise

    return cast(F, call)


def hide_unknown(f: F) -> F:
    """Leave `*unknown` and `**unknown_options` out of the signature of a function that calls `check_call` for them.

    This is `check_calls` without a wrapper, for a function that is called often.
    """
    signature = inspect.signature(f)
    known = [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    setattr(f, "__signature__", signature.replace(parameters=known))  # noqa: B010  mypy: no attribute of a function
    return f


def reject_call(error: TypeError, f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise CallError if `error` is Python's own and the public function `f` does not accept these arguments.

    A function that a transform returns has the module of the user's function, and checks its arguments itself.
    """
    if not isinstance(error, BrandedError) and str(getattr(f, "__module__", "")).partition(".")[0] == "branded":
        check_call(f, args, kwargs)


def check_call(f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise CallError if a public function does not accept these arguments."""
    signature = inspect.signature(f)
    try:
        signature.bind_partial(*args, **kwargs)  # an unknown option explains more than a missing argument
        signature.bind(*args, **kwargs)
    except TypeError as error:
        parameters = list(signature.parameters.values())
        if is_method := bool(parameters) and parameters[0].name == "self":
            del parameters[0]
        options = [p.name for p in parameters if p.kind == p.KEYWORD_ONLY]
        raise CallError(
            f"{_method_name(f, args[0]) if is_method else _function_name(f)}: {error}",
            ("parameters", _text_of(parameters)),
            fix=f"pass options by keyword: {options[0]}=..." if options and f"{error}".startswith("too many") else None,
        ) from None


def _text_of(parameters: Sequence[inspect.Parameter]) -> str:
    """Return the parameters as in a definition, without their types and defaults."""
    names = [p.replace(annotation=p.empty, default=p.empty) for p in parameters]
    return f"{inspect.Signature(names)}"[1:-1] or "none"


def _method_name(f: Callable[..., Any], owner: object) -> str:
    """Return the name of a method in messages: `Brand.vec`, or the class alone for its `__init__`."""
    return type(owner).__name__ if f.__name__ == "__init__" else f.__qualname__


def _function_name(f: Callable[..., Any]) -> str:
    """Return the name of a function in messages: `vmap`, or `tree.map` for a name that `branded` does not export."""
    exported = getattr(sys.modules["branded"], f.__name__, None)
    if getattr(exported, "__module__", None) == f.__module__:
        return f.__name__
    module = next((f"{name}." for name in ("tree", "debug", "dask") if f".{name}" in f.__module__), "")
    return f"{module}{f.__name__}"
