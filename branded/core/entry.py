"""The wrapper of each public function: the changes to tinygrad are active while it runs, and for its results."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, TypeVar, cast

from tinygrad import Tensor

from branded import tree
from branded.errors.calls import reject_call
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
            reject_call(error, f, args, kwargs)
            raise

    return cast(F, enter)


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
