"""Hooks for reads: a value that varies over a brand cannot be read, and raises an error."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import Ops, UOp

from branded.compile import eager_cache
from branded.compile.memory_views import array_in_memory
from branded.core.analysis import aliasing
from branded.core.boundary import lower_unbatched
from branded.core.tracing.body import Steps
from branded.core.tracing.effect_tokens import is_through_a_body
from branded.core.tracing.state import is_tracing
from branded.core.values import vec_type
from branded.errors import BrandedError, OperandError, ReadError, ShapeError
from branded.errors.source import asking
from branded.graph.rows import PLAIN, check_live, info_of, is_differentiated, row_of
from branded.graph.scope import Row, Scope
from branded.tinygrad_compat import activation, gates, private_api
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.private_api import _to_np_dtype, all_int
from branded.tinygrad_compat.tensor_methods import Method, wrap

READS = (*("numpy", "data", "tolist", "item"), *("linear_with_vars", "schedule_linear", "callify", "backward"))
"""The methods of Tensor that read its value or the value of its gradient."""

_READ = ("has no single value to read", "return it from the mapped function and read the result")
_READS = {
    "bool": ("has no single truth value", ""),
    "int": ("has no single int", ""),
    "float": ("has no single float", ""),
    "format": ("has no single text", ""),
    "item": (_READ[0], f"leave out .item(), or {_READ[1]}"),
    "iter": ("is 0-d per example: there is nothing to iterate over", "iterate over a tensor with at least one axis"),
    "backward": ("has a gradient for each example, and .grad holds one", "loss.gradient(w), which is per example"),
}


def names(row: Row) -> str:
    """Return the names of the scopes; a function that is traced into a program is named only if it is the only one."""
    return " and ".join(f"`{b.name}`" for b in [b for b in row if not b.is_program] or row)


def repeating(row: Row) -> Scope:
    """Return the scope to name in an error: the innermost loop body, else a brand, else a function that is traced."""
    return min(reversed(row), key=lambda b: 2 * b.is_program + b.is_brand)


def static_fix(t: Tensor) -> str | None:
    """Return the fix for a value that `jit` computes from an argument that is a Python number, and from no tensor."""
    options = {x: o for b in row_of(t.uop) if isinstance(b, Steps) for x, o in b.option_of.items()}
    nodes = t.uop.toposort(enter_calls=False) if options else {}
    numbers = [u for u in nodes if u in options]
    of_numbers = {u for x in numbers for u in x.toposort()}
    if not numbers or any(u.op is Ops.BUFFER and u not in of_numbers for u in nodes):
        return None
    return f"pass {options[numbers[0]]} to jit, which keeps the argument a number"


def _forbid(api_name: str, *tensors: Tensor) -> None:
    """Raise if a tensor has no readable value: it varies over a brand, or belongs to a traced body."""
    for t in tensors:
        row = row_of(t.uop)
        if not row:
            if is_through_a_body() and any(u.op is Ops.PARAM for u in t.uop.toposort(enter_calls=False)):
                raise ReadError(
                    f"{api_name}: a rule is traced, so there is no value to read",
                    ("value", vec_type(t)),
                    fix=_INSTEAD_OF_IF,
                )
            continue
        check_live(t.uop, api_name)
        if not (scope := repeating(row)).is_brand:
            is_read = api_name != "backward"
            problem = "there is no value to read" if is_read else "no `.grad` can be set"
            raise ReadError(
                f"{api_name}: in the body of {scope.name} {problem}: it is traced once, {scope.traced_for}",
                ("value", vec_type(t)),
                fix=static_fix(t) or _INSTEAD_OF_IF if is_read else "loss.gradient(w), which returns the gradient",
            )
        if api_name in _NUMBERS and (method := asking(private_api.NAMES_KERNELS)) is not None:
            raise _no_number(method, t)
        from branded.hooks.error_translation.suggestions import ADVICE  # imported only for an error

        says, fix = _READS.get(api_name, _READ)
        raise ReadError(
            f"{api_name}: a value that varies over {names(row)} {says}",
            ("value", vec_type(t)),
            *((b.name, f"opened by {b.where}") for b in row if b.where),
            fix=ADVICE[api_name](t) if api_name in ADVICE else fix,
        )


_INSTEAD_OF_IF = "use cond, where or while_loop instead of `if` and `while`, or return the value and read it outside"
_NUMBERS = ("bool", "int", "float", "iter")
_INSTEAD = {
    "arange": "start + step * Tensor.arange(n), with the same n for all",
    "uniform": "low + (high - low) * Tensor.rand(...)",
    "normal": "mean + std * Tensor.randn(...)",
    "randint": "branded.random.randint(key, shape, low, high)",
    "dropout": "(Tensor.rand(*x.shape) >= p).where(x / (1 - p), 0)",
    "full": "expand the value to the shape with value.expand(...)",
    "full_like": "value.expand(x.shape)",
    "manual_seed": "use one key per example: branded.random.key(seed)",
}
"""The replacements for methods that require a Python number, by method."""


def _no_number(method: str, x: Tensor) -> ReadError:
    """Return the error of a tinygrad method that needs a Python number: an axis, a count, an option."""
    row = row_of(x.uop)
    return ReadError(
        f"{method.strip('_')}: this needs a Python number, and the value varies over {names(row)}",
        ("value", vec_type(x)),
        *((b.name, f"opened by {b.where}") for b in row if b.where),
        fix=_INSTEAD.get(method, "use the same number for all examples, or choose between the results with where"),
    )


def _creating(original: Method) -> Method:
    """Wrap a function that makes tensors from numbers, so that a tensor argument raises a translated error."""

    @functools.wraps(original)
    def create(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except (RuntimeError, TypeError) as error:
            if not isinstance(error, BrandedError):
                _refuse_number(original.__name__, args, kwargs)
            raise

    return create


def _seeding(original: Method) -> Method:
    """Wrap `manual_seed`, which only stores the seed: the error would appear at a later sample."""

    def seed(*args: Any, **kwargs: Any) -> Any:
        _refuse_number(original.__name__, args, kwargs)
        return original(*args, **kwargs)

    return seed


def _refuse_number(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for t in (*args, *kwargs.values()):
        if isinstance(t, Tensor) and row_of(t.uop):
            check_live(t.uop, name)
            raise _no_number(name, t) from None


_CONVERT: Mapping[str, Callable[[Any], Any]] = {
    "numpy": lambda array: array.copy(),
    "tolist": lambda array: array.tolist(),
    "item": lambda array: array.item(),
}
"""Functions that read a value in memory by numpy, given a view of the memory."""


def _is_on_cpu(u: UOp) -> bool:
    """Return whether a value with elements is computed on the CPU."""
    return all_int(u.shape) and 0 not in u.shape and str(u.device).startswith("CPU")


@functools.cache
def _same_type(dtype: DType) -> Any:
    numpy_type = None if dtype in dtypes.weaks else _to_np_dtype(dtype)
    return numpy_type if numpy_type is not None and np.dtype(numpy_type).itemsize == dtype.itemsize else None


def _reader(api_name: str) -> Callable[[Method], Method]:
    def make(original: Method) -> Method:
        def read(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            _prepare_read(api_name, self, *(a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)))
            return original(self, *args, **kwargs)

        return _by_numpy(api_name, read, _CONVERT[api_name]) if api_name in _CONVERT else read

    return make


def _prepare_read(api_name: str, *tensors: Tensor) -> None:
    _forbid(api_name, *tensors)
    for t in tensors:
        t.uop = lower_unbatched(t.uop)


def _by_numpy(api_name: str, otherwise: Method, convert: Callable[[Any], Any]) -> Method:
    """Return a method that reads a value on the CPU by numpy, without a kernel if it consists of elements in memory."""

    def read(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        u = self.uop  # keeps its memory until the end, even if another thread writes
        if args or kwargs or private_api.capturing:
            return otherwise(self, *args, **kwargs)
        if (array := array_in_memory(u)) is None:
            _prepare_read(api_name, self)
            if gates.is_on_for(u) and (value := eager_cache.compute(self)) is not None:
                array = array_in_memory(value)
        if (array is None and not _is_on_cpu(u)) or (numpy_type := _same_type(u.dtype)) is None:
            return otherwise(self)
        if array is None:
            buffer = getattr(self, private_api.MEMORY_OF)()  # keeps its memory from being reused until the end
            memory = buffer.as_memoryview(allow_zero_copy=True)
            array = np.frombuffer(memory, numpy_type).reshape(self.shape)
        if not array.size or (api_name == "item" and array.size != 1):
            return otherwise(self)
        return convert(array.view(numpy_type))

    return read


_reading = contextvars.ContextVar("branded_reading", default=False)


def _buffer(original: Method) -> Method:
    """Wrap the memory of a value: reading it computes the value, even during differentiation."""

    def buffer(self: Tensor) -> Any:
        token = _reading.set(True)
        try:
            return original(self)
        finally:
            _reading.reset(token)

    return buffer


def _realize(original: Method) -> Method:
    """Wrap `realize`: values that cannot be computed yet are marked to be materialized later; nothing is read.

    In that case, pending writes are not computed, because other values may depend on the contents before the write. An
    example is the step of an optimizer: `Tensor.realize(weights, times_so_far)`.
    """

    def realize(self: Tensor, *lst: Tensor, **kwargs: Any) -> Tensor:
        unbatched, is_reading = [], _reading.get()
        tensors = (self, *lst)
        for t in tensors:
            check_live(t.uop, "realize")
            if row_of(t.uop) or (is_differentiated(t.uop) and not is_reading):
                aliasing.materialize(t)
            else:
                t.uop = lower_unbatched(t.uop)
                unbatched.append(t if is_reading else aliasing.inside(t))
        if len(unbatched) < len(tensors):
            unbatched = [t for t in unbatched if not any(u.op is Ops.STORE for u in t.uop.toposort())]
        if unbatched and not eager_cache.run_cached(unbatched):
            original(*unbatched, **kwargs)
        return self

    return realize


def _realize_cached(values: Sequence[Tensor]) -> bool:
    """Realize values that only need a program that is compiled already, and return whether there is one."""
    return all(info_of(t.uop) is PLAIN for t in values) and eager_cache.run_cached(values, compiles=False)


def _counting(original: Method) -> Method:
    """Wrap `nonzero` and `masked_select`, which read the number of elements unless `size` is given."""

    def count(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except (ReadError, ShapeError):
            name = original.__name__
            raise ShapeError(
                f"{name}: the shape of the result would differ from example to example",
                ("value", vec_type(self)),
                fix=f"{name}(..., size=n), with the same n for all",
            ) from None

    return count


def _truth(self: Tensor) -> bool:
    """Reject the truth value of a tensor: tinygrad does not define it."""
    _forbid("bool", self)
    raise ReadError(
        "bool: a tensor has no truth value",
        ("value", vec_type(self)),
        fix="x.item() for one element, x.all().item() or x.any().item() for several",
    )


def _as_number(api_name: str, otherwise: str) -> Callable[[Tensor], Any]:
    def convert(self: Tensor) -> Any:
        _forbid(api_name, self)
        raise TypeError(otherwise)

    return convert


def _iterate(self: Tensor) -> Iterator[Tensor]:
    if not self.shape:
        _forbid("iter", self)

    return (self[i] for i in range(len(self) if self.shape else 0))


def _repr(original: Method) -> Method:
    def text(self: Tensor) -> str:
        return vec_type(self) if row_of(self.uop) else original(self)

    return text


def _format(self: Tensor, spec: str) -> str:
    if spec and row_of(self.uop):
        _forbid("format", self)
    return object.__format__(self, spec)


_WANTING = {
    "__trunc__": ("trunc", "type Tensor doesn't define __trunc__ method"),
    "__round__": ("round", "type Tensor doesn't define __round__ method"),
}
"""The methods that Python calls and tinygrad lacks, with Python's error messages."""


def _wanting(name: str, otherwise: str) -> Callable[..., Any]:
    def asked(self: Tensor, *args: Any) -> Any:
        if not is_tracing():
            raise TypeError(otherwise)
        from branded.hooks.error_translation.suggestions import method_of

        raise OperandError(
            f"{name}: the Python function takes numbers, and this is a tensor",
            ("value", vec_type(self)),
            fix=method_of(name),
        )

    return asked


def _divmod(x: Any, y: Any) -> tuple[Any, Any]:
    return x // y, x % y


def install() -> None:
    for name in READS:
        wrap(name, _reader("realize" if name == "linear_with_vars" else name))
    wrap("realize", _realize)
    activation.realize_cached = _realize_cached
    wrap(private_api.MEMORY_OF, _buffer)
    for name in ("nonzero", "masked_select"):
        wrap(name, _counting)
    for name in ("full", "empty", "randint"):
        setattr(Tensor, name, classmethod(_creating(getattr(Tensor, name).__func__)))
    wrap("manual_seed", _seeding)
    setattr(Tensor, "__bool__", _truth)  # noqa: B010  mypy: a method
    number = "must be real number, not Tensor"
    for name, api_name, otherwise in (
        ("__int__", "int", "int() argument must be a string, a bytes-like object or a real number, not 'Tensor'"),
        ("__float__", "float", "float() argument must be a string or a real number, not 'Tensor'"),
        ("__complex__", "float", number),
        ("__index__", "int", "'Tensor' object cannot be interpreted as an integer"),
    ):
        setattr(Tensor, name, _as_number(api_name, otherwise))
    setattr(Tensor, "__format__", _format)  # noqa: B010  mypy: a method
    setattr(Tensor, "__divmod__", _divmod)  # noqa: B010  mypy: a method
    setattr(Tensor, "__rdivmod__", lambda x, y: _divmod(y, x))  # noqa: B010
    setattr(Tensor, "__pos__", lambda x: x)  # noqa: B010
    setattr(Tensor, "__abs__", lambda x: x.abs())  # noqa: B010
    for name, (method, otherwise) in _WANTING.items():
        setattr(Tensor, name, _wanting(method, otherwise))
    # the table of all tensors calls it, and tinygrad would profile each call
    setattr(Tensor, "__hash__", lambda x: id(x))  # noqa: B010  mypy: a method
    setattr(Tensor, "__iter__", _iterate)  # noqa: B010  mypy: Tensor has no __iter__ to assign
    wrap("__repr__", _repr)
