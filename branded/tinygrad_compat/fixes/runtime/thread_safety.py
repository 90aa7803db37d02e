"""A fix for tinygrad in several threads: shared state is used by one thread at a time, the rest is thread-local.

Each thread has its own active TinyJit captures, depth of @function bodies and running method. Scheduling, compiling,
running and writing are serialized. A loop over a table that any thread may change uses a snapshot of the table.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections import UserList
from collections.abc import Callable, Iterator
from typing import Any

from tinygrad import Tensor
from tinygrad.device import Buffer
from tinygrad.helpers import ContextVar
from tinygrad.uop.ops import UOp

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.fixes.runtime import realized_writes
from branded.tinygrad_compat.thread_local_options import PerThread
from branded.tinygrad_compat.tinygrad_lock import LOCK, serial


class _Capturing(threading.local, UserList[Any]):
    """The TinyJits that capture what this thread runs."""


class _Method:
    """The running method of Tensor in this thread; every method reads it to name its kernels.

    It is not a context variable: freeing a tensor sets it, perhaps during another set, which crashes Python 3.11.
    """

    def __init__(self) -> None:
        storage = threading.local()
        self.get = get = functools.partial(getattr, storage, "state", None)

        def set(x: Any) -> Any:
            before, storage.state = get(), x
            return before

        self.set = set


class _Level(ContextVar[int]):
    """The option TRACEMETA, stored as an int in the module `tensor`, because each method compares it with a number.

    Comparing the option itself runs Python code, which takes longer than reading the running method.
    """

    @property
    def value(self) -> int:
        level: int = private_api.tensor.TRACEMETA
        return level

    @value.setter
    def value(self, x: int) -> None:
        private_api.tensor.TRACEMETA = x


class _Depth(threading.local):
    value = 0


_depth = _Depth()


class _Functions(type):
    """The metaclass of the class of `@function`s, whose `depth` counts the functions that this thread is inside."""

    @property
    def depth(cls) -> int:
        return _depth.value

    @depth.setter
    def depth(cls, n: int) -> None:
        _depth.value = n


class _Allowed(PerThread):
    """The option that allows this thread to use devices."""

    def __init__(self, before: ContextVar[int]) -> None:
        self.key, self.at_first, self.own = before.key, before.value, threading.local()
        private_api.register(self, before.key)


class _Tensors(dict[Any, None]):
    """The table of all tensors, whose iteration uses a snapshot.

    A tensor in a reference cycle leaves a dead reference behind. Dead references are removed when the table is large.
    """

    many = 1024

    def __iter__(self) -> Iterator[Any]:
        if len(self) > self.many:
            for ref in [ref for ref in self._now() if ref() is None]:
                self.pop(ref, None)
            self.many = 2 * len(self) + 1024
        return iter(self._now())

    def __reversed__(self) -> Iterator[Any]:
        return iter(self._now()[::-1])

    def _now(self) -> list[Any]:
        return list(self.keys())


def _tensor_deleter(forget: Callable[..., None], ref: Callable[[Any], Any]) -> Callable[[Any], None]:
    def __del__(self: Any) -> None:  # noqa: N807  Python's name; it uses no global, because these are cleared at exit
        forget(ref(self), None)

    return __del__


class _Buffers:
    """The snapshot of all buffers that a TinyJit iterates over."""

    def __iter__(self) -> Iterator[UOp]:
        return iter([u for ref in private_api.buffers.keyrefs() if (u := ref()) is not None])

    def get(self, u: UOp) -> Any:
        return private_api.buffers.get(u)


_LOCK = "_branded_lock"


def _one_caller(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let one thread at a time call a TinyJit, with a lock per TinyJit because its function is the user's."""

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self.__dict__.get(_LOCK) or self.__dict__.setdefault(_LOCK, threading.RLock()):
            return original(self, *args, **kwargs)

    return call


def _open_once(original: Callable[..., Any]) -> Callable[..., Any]:
    opened: dict[str, Any] = {}

    @functools.cache
    def device(self: Any, name: str) -> Any:
        with LOCK:
            if name not in opened:
                opened[name] = original(self, name)
            return opened[name]

    return device


def install_tables() -> None:
    """Give each thread its own state instead of objects that other modules copy when they are imported."""
    for module in (private_api.realize, private_api.jit, private_api.schedule):
        module.capturing = capturing
    private_api.tensor._METADATA = _Method()
    level = private_api.tensor.TRACEMETA
    private_api.tensor.TRACEMETA, level.__class__ = level.value, _Level
    before = private_api.function._function
    private_api.function._function = _Functions("_function", (before,), {"__module__": before.__module__})
    private_api.device.ALLOW_DEVICE_USAGE = _Allowed(private_api.device.ALLOW_DEVICE_USAGE)
    private_api.tensor.all_tensors = private_api.jit.all_tensors = _Tensors(private_api.tensor.all_tensors)
    private_api.jit.buffers = _Buffers()


def install() -> None:
    setattr(Tensor, "__del__", _tensor_deleter(private_api.tensor.all_tensors.pop, weakref.ref))  # noqa: B010  mypy: a method
    private_api.tensor._apply_map_to_tensors = realized_writes.wrap_apply_map(private_api.tensor._apply_map_to_tensors)
    for owner, names in (
        (Tensor, ("realize", "callify", "schedule_linear", "replace", "__setitem__")),
        (Buffer, ("copy_from",)),
        (private_api.tensor, ("run_linear",)),
        (private_api.realize, ("run_linear", "compile_linear")),
        (private_api.jit, ("run_linear", "compile_linear", "jit_lower")),
    ):
        for name in names:
            setattr(owner, name, serial(getattr(owner, name)))
    for name, wrapped in (
        ("linear_with_vars", realized_writes.wrap_linear_with_vars),
        ("assign", realized_writes.wrap_assign),
    ):
        setattr(Tensor, name, wrapped(getattr(Tensor, name)))
    private_api.jit._TinyJit.__call__ = _one_caller(private_api.jit._TinyJit.__call__)
    opened = "_Device__get_canonicalized_item"
    setattr(private_api.device._Device, opened, _open_once(getattr(private_api.device._Device, opened)))


capturing = _Capturing()
