"""Replacement of methods of Tensor, with or without tinygrad's wrapper that names kernels.

tinygrad wraps each method. Inside another method of Tensor, which is the common case, the wrapper only calls the
method. Code that wraps a method can do the same itself, so that the number of Python calls does not grow.
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
    """Return a function that returns the running method of Tensor or None; the patch `threads` replaces it."""
    return cast(Callable[[], Any], private_api.tensor._METADATA.get)


def inner_method(method: F) -> F:
    """Return the function that `method` calls when it runs inside another method of Tensor."""
    named = isinstance(method, types.FunctionType) and method.__globals__ is vars(private_api.tensor)
    return (
        getattr(method, "__wrapped__", method)
        if named and method.__code__.co_name == private_api.NAMES_KERNELS
        else method
    )


def override_if(applies: Callable[..., bool]) -> Callable[[Method], Callable[[Method], Method]]:
    """Return a decorator for a function that overrides a method if `applies` is true for the arguments.

    The function gets the original method before the arguments. Elsewhere, such as outside of any trace, the original
    runs; inside another method of Tensor it runs without tinygrad's wrapper.
    """

    def decorate(ours: Method) -> Callable[[Method], Method]:
        def make(original: Method) -> Method:
            inner, method = inner_method(original), running()
            applies.__qualname__ = original.__qualname__  # Python's errors for the arguments name it

            def overridden(*args: Any, **kwargs: Any) -> Any:
                if applies(*args, **kwargs):
                    return ours(original, *args, **kwargs)
                return (original if method() is None else inner)(*args, **kwargs)

            return overridden

        return make

    return decorate


def wrap(name: str, make: Callable[[Method], Method]) -> None:
    """Replace a method of Tensor by `make(method)`."""
    original = getattr(Tensor, name)
    wrapped = functools.wraps(original)(make(original))
    setattr(Tensor, name, staticmethod(wrapped) if isinstance(Tensor.__dict__.get(name), staticmethod) else wrapped)


def replace_method(name: str, original: Method, ours: Method) -> None:
    """Replace a method of Tensor by `ours`; `original` is the result of `inner_method` for it."""
    method = functools.wraps(original)(ours)
    is_named = original is not getattr(Tensor, name)
    setattr(Tensor, name, functools.wraps(method)(private_api._metadata_wrapper(method)) if is_named else method)


def forget_unless_one_runs() -> None:
    """Reset tinygrad's record of the running method if none is running.

    An interrupt may skip the block that resets it. As long as a method is recorded, calls are not taken for calls by
    the user, so their shape errors would not be translated.
    """
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == private_api.NAMES_KERNELS and frame.f_globals is vars(private_api.tensor):
            return
        frame = frame.f_back
    private_api.tensor._METADATA.set(None)


@contextmanager
def method_restored() -> Iterator[None]:
    """Restore tinygrad's record of the running method after an exception, which tinygrad itself does not do."""
    if private_api.tensor._METADATA.get() is not None:
        forget_unless_one_runs()
    method = private_api.tensor._METADATA.get()
    try:
        yield
    except BaseException:
        private_api.tensor._METADATA.set(method)
        raise
