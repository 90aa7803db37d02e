"""The wrapper of each public function: the changes to tinygrad are active while it runs, and for its results."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, TypeVar, cast

from tinygrad import Tensor

from branded import tree
from branded.errors import BrandedError, CallError
from branded.tinygrad_compat import activation, result_marks

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def entry(f: F) -> F:
    """Return a public function that activates the changes to tinygrad while it runs, and for its results."""

    @functools.wraps(f)
    def enter(*args: Any, **kwargs: Any) -> Any:
        try:
            if activation.is_running():
                return f(*args, **kwargs)
            with activation.running_block():
                return mark_results(f(*args, **kwargs))
        except TypeError as error:
            if not isinstance(error, BrandedError):
                check_call(f, args, kwargs)
            raise

    return cast(F, enter)


def checked(f: F) -> F:
    """Return a public function that returns functions, whose error for unknown arguments lists its parameters."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except TypeError as error:
            if not isinstance(error, BrandedError):
                check_call(f, args, kwargs)
            raise

    return cast(F, call)


def hide_unknown(f: F) -> F:
    """Leave the last parameter, `**unknown`, out of the signature of a function that calls `check_call` for it.

    This is `checked` without a wrapper, for a function that is called often.
    """
    signature = inspect.signature(f)
    known = signature.replace(parameters=list(signature.parameters.values())[:-1])
    setattr(f, "__signature__", known)  # noqa: B010  mypy: no attribute of a function
    return f


def check_call(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise if a public function does not accept these arguments, such as an option that only JAX has."""
    if hasattr(f, "__wrapped__"):  # the result of a transform, which accepts the arguments of a user's function
        return
    signature = inspect.signature(f)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise CallError(f"{f.__name__}: {error}", ("parameters", ", ".join(signature.parameters))) from None


def mark_results(out: T) -> T:
    """Mark the tensors of a result, so that the changes to tinygrad apply when they are computed; return the result."""
    for x in (out,) if isinstance(out, Tensor) else tree.leaves(out):
        if isinstance(x, Tensor):
            result_marks.mark(x.uop)
    return out


def publish(module: str, names: Iterable[str]) -> None:
    """Make functions of a package public: each one becomes an entry, here and in the module that defines it."""
    namespace = vars(sys.modules[module])
    for name in names:
        if isinstance(f := namespace.get(name), FunctionType):
            namespace[name] = vars(sys.modules[f.__module__])[f.__name__] = entry(f)
