"""The methods of Tensor: how one is replaced, and what it is without the function that names kernels.

tinygrad puts that function around each of them; it only calls the method where another method of Tensor runs already,
as for most calls.  Whoever puts a function around a method anyway does the same, so that one call takes no more of them
than it did.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from tinygrad import Tensor

from branded.tinygrad_compat import private_api

F = TypeVar("F", bound=Callable[..., Any])
Method = Callable[..., Any]


def running() -> Callable[[], Any]:
    """What gives the method of Tensor that runs here, or None; the patch `threads` replaces it."""
    return cast(Callable[[], Any], private_api.tensor._METADATA.get)


def nested(method: F) -> F:
    """What `method` does where another method of Tensor runs."""
    named = isinstance(method, types.FunctionType) and method.__globals__ is vars(private_api.tensor)
    return (
        getattr(method, "__wrapped__", method)
        if named and method.__code__.co_name == private_api.NAMES_KERNELS
        else method
    )


def wrap(name: str, make: Callable[[Method], Method]) -> None:
    """Put a function that `make` makes of it in the place of a method of Tensor."""
    original = getattr(Tensor, name)
    wrapped = functools.wraps(original)(make(original))
    setattr(Tensor, name, staticmethod(wrapped) if isinstance(Tensor.__dict__.get(name), staticmethod) else wrapped)


def put(name: str, original: Method, ours: Method) -> None:
    """Let a method of Tensor be `ours`; `original` is what `nested` gives for it."""
    own = functools.wraps(original)(ours)
    is_named = original is not getattr(Tensor, name)
    setattr(Tensor, name, functools.wraps(own)(private_api._metadata_wrapper(own)) if is_named else own)


# ---- the method that runs ----


def forget_unless_one_runs() -> None:
    """tinygrad notes which method runs, and an interrupt may come before a block that would take it back.

    While one is noted no method is the user's own, so what does not fit in it would not be said in our words.
    """
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == private_api.NAMES_KERNELS and frame.f_globals is vars(private_api.tensor):
            return
        frame = frame.f_back
    private_api.tensor._METADATA.set(None)


@contextmanager
def method_restored() -> Iterator[None]:
    """tinygrad notes which method runs, for the names of kernels, and does not take it back when that raises."""
    if private_api.tensor._METADATA.get() is not None:
        forget_unless_one_runs()
    method = private_api.tensor._METADATA.get()
    try:
        yield
    except BaseException:
        private_api.tensor._METADATA.set(method)
        raise
