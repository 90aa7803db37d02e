"""Calls of the user's functions: what is no function, and arguments that it does not take, are mistakes of one form."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from branded import tree
from branded.errors import BrandedError, CallError


def check_function(f: object, what: str, fix: str | None = None, error: type[BrandedError] = CallError) -> None:
    """What should be a function can be called."""
    if not callable(f):
        raise error(f"{what}: {tree.describe(f)} is not a function", fix=fix)


def called(f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], what: str, fix: str) -> Any:
    """`f(*args, **kwargs)`; that it does not take these arguments is said as `what`, which the user called, says it."""
    try:
        return f(*args, **kwargs)
    except TypeError as error:
        # Python refused the call itself, if nothing of the function ran
        ran = error.__traceback__ is None or error.__traceback__.tb_next is not None
        if ran or isinstance(error, BrandedError) or not _refuses(f, args, kwargs):
            raise
        reason = str(error)
    raise _wrong(reason, args, kwargs, what, fix)


def check_takes(f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], what: str, fix: str) -> None:
    """The same, of a function that may not be called yet."""
    if reason := _refuses(f, args, kwargs):
        raise _wrong(reason, args, kwargs, what, fix)


def _refuses(f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Why `f` does not take these arguments; nothing if it does, or does not say."""
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):  # written in C, without a signature
        return ""
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    return ""


def _wrong(reason: str, args: Sequence[Any], kwargs: Mapping[str, Any], what: str, fix: str) -> CallError:
    given = [*map(tree.outline, args), *(f"{k}={tree.outline(x)}" for k, x in kwargs.items())]
    return CallError(f"{what}: {reason}", ("given", ", ".join(given) or "nothing"), fix=fix)
