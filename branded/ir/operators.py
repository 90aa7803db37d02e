"""The operations of a program: recording, printing and calling the methods of Tensor."""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

from tinygrad import Tensor

from branded import functions
from branded.core.tracing import recording
from branded.core.tracing.recorded_calls import DUNDERS, FUNCTIONS, REFLECTED, Operator, record
from branded.hooks.reads import READS
from branded.tinygrad_compat.context_stack import run_then_undo

T = TypeVar("T")
_METHODS = {op: name for name, op in DUNDERS.items()}

_QUESTIONS = "realize gradient size element_size is_floating_point is_param_ max_numel nbytes numel as_param"
_RANDOM = ("rand rand_like randn randn_like randint random_bits randperm normal uniform scaled_uniform "
           "glorot_uniform kaiming_normal kaiming_uniform")  # fmt: skip
_OTHERS = ("dropout multinomial manual_seed threefry sequential replace custom_kernel decode_hevc_frame from_blob "
           "from_url to to_ shard shard_ shard_like call alu invalids const_like ufix uprod usum const hash keccak "
           "empty empty_like")  # fmt: skip
"""Methods that take functions, sample, move values between devices, or return no tensor."""
_NOT_RECORDED = frozenset((*READS, *_QUESTIONS.split(), *_OTHERS.split()))
DRAWS = frozenset(_RANDOM.split())
"""Methods that sample: a sample becomes a constant of the program."""


@functools.cache
def methods() -> frozenset[str]:
    """Return the names of the recorded methods of Tensor."""
    plain = frozenset(n for n in dir(Tensor) if not n.startswith("_") and callable(getattr(Tensor, n)))
    return (plain - _NOT_RECORDED) | {n for n in (*DUNDERS, *REFLECTED) if hasattr(Tensor, n)}


def function_of(op: str) -> Operator | None:
    """Return the method of Tensor, or the function of this package, for an operation."""
    if op.startswith("functions.") and (function := getattr(functions, op.partition(".")[2], None)) is not None:
        return cast(Operator, function)
    if op.startswith("linalg."):  # importing it registers its operations, which waits until they are used
        importlib.import_module("branded.linalg")
    if op in FUNCTIONS:
        return FUNCTIONS[op]
    name = op if op in methods() else _METHODS.get(op, op)
    return getattr(Tensor, name) if name in methods() - DRAWS else None


_lock = threading.Lock()
_originals: dict[str, Any] = {}
_recorders: dict[str, tuple[Any, Any]] = {}
_watching: set[object] = set()


def run_recorded(run: Callable[[], T]) -> T:
    """Run `run` with the methods of Tensor replaced by methods that record their calls."""
    me = object()

    def watching() -> T:
        _watch(me)
        return run()

    return run_then_undo(watching, lambda: _unwatch(me))


def _watch(me: object) -> None:
    with _lock:
        _watching.add(me)
        for name in methods():
            if name not in _originals:
                _originals[name] = Tensor.__dict__.get(name)
                setattr(Tensor, name, _recorder(name))


def _unwatch(me: object) -> None:
    with _lock:
        _watching.discard(me)
        while not _watching and _originals:
            name, f = next(reversed(_originals.items()))
            if f is not None:
                setattr(Tensor, name, f)
            elif name in Tensor.__dict__:
                delattr(Tensor, name)  # inherited
            del _originals[name]


def _recorder(name: str) -> Any:
    """Return the recorder of a method, cached as long as the method stays the same."""
    static = next(vars(c)[name] for c in Tensor.__mro__ if name in vars(c))
    entry = _recorders.get(name)
    if entry is None or entry[0] is not static:
        entry = _recorders[name] = static, _recording_method(name, static)
    return entry[1]


def _recording_method(name: str, static: Any) -> Any:
    """Return a method that records its calls."""
    op = DUNDERS.get(name) or REFLECTED.get(name) or name
    kind = type(static) if isinstance(static, classmethod | staticmethod) else None
    f = static.__func__ if kind is not None else static

    @functools.wraps(f)
    def method(*args: Any, **kwargs: Any) -> Any:
        if name in DRAWS:  # the steps of sampling are not recorded
            with recording.within():
                return f(Tensor, *args[1:], **kwargs) if kind is classmethod else f(*args, **kwargs)
        if kind is classmethod:
            return record(
                op, lambda *args, **kwargs: f(Tensor, *args, **kwargs), getattr(Tensor, name), args[1:], kwargs
            )
        return record(op, f, f, args, kwargs)

    return method if kind is None else kind(method)
