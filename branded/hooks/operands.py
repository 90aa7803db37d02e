"""Operands that are numpy arrays, lists, or tensors of other libraries.

tinygrad accepts tensors and numbers. For an array, a list or a tensor of another library it raises `Could not infer
dtype of ...`. With an array on the left, numpy makes an object array of the elements of the tensor. In the body of a
vmap, loop or derivative, a numpy array is converted to a tensor, like an argument of `vmap`. Other types raise an
`OperandError`. Outside of these bodies, nothing changes.

The hook can be removed once `Tensor([1.0]) + numpy.ones(1)` works in tinygrad itself.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import UOp

from branded import tree
from branded.core.numpy_masks import masks_to_positions
from branded.core.tracing.state import is_tracing
from branded.core.validation.arguments import as_int
from branded.errors import BrandedError, OperandError
from branded.tinygrad_compat import tensor_methods
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.tensor_methods import Method, override_if, wrap

_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "power": operator.pow, "matmul": operator.matmul,
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
    "equal": operator.eq, "not_equal": operator.ne, "bitwise_and": operator.and_, "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor, "left_shift": operator.lshift, "right_shift": operator.rshift,
}  # fmt: skip
"""Python's operators, by the names of the equivalent numpy functions."""


_KNOWN = (Tensor, int, float, UOp)


def _method_name() -> str:
    method = tensor_methods.running()()
    return method.name.strip("_") if method is not None else "operand"


def _of_list(x: list[Any]) -> str:
    """Return a replacement for a list of tensors or numbers, for which `tree.advice` has no suggestion."""
    if any(isinstance(e, Tensor) for e in x):
        return "stack the tensors with Tensor.stack(...)"
    text = repr(x)
    return f"Tensor({text})" if len(text) < 40 else "Tensor(...) of it"


def _refuse(x: Any, api_name: str) -> NoReturn:
    raise OperandError(
        f"{api_name}: {tree.describe(x)} is not a tensor or a number",
        fix=tree.advice(x) or (_of_list(x) if isinstance(x, list) else "pass a tensor, a number, or an array"),
    )


def _has_foreign(self: Tensor, *args: Any, **kwargs: Any) -> bool:
    """Return whether a traced method gets an argument that tinygrad may not accept."""
    return not all(isinstance(x, _KNOWN) for x in args) and is_tracing()


def _check_ints(x: Tensor, y: Any, api_name: str) -> None:
    """Raise if the Python ints in one operand do not fit the int dtype of the other."""
    for value, like in ((y, x), (x, y)):
        if isinstance(like, Tensor) and like.dtype in dtypes.ints:
            tree.check_fits(value, like.dtype, api_name)


def _may_not_fit(self: Tensor, x: Any) -> bool:
    return not -(2**31) <= x < 2**31 if type(x) is int else isinstance(x, Tensor) and x.dtype != self.dtype


@override_if(lambda self, x: (not isinstance(x, _KNOWN) or _may_not_fit(self, x)) and is_tracing())
def _ufix(original: Method, self: Tensor, x: Any) -> Any:
    """Convert the other operand of an operator to a tensor."""
    if _may_not_fit(self, x):
        _check_ints(self, x, _method_name())
    if not isinstance(x, _KNOWN) and (t := tree.as_tensor(x)) is not None:
        return t
    try:
        return original(self, x)
    except Exception as error:
        if isinstance(x, _KNOWN) or isinstance(error, BrandedError):
            raise
    return _refuse(x, _method_name())


@override_if(_has_foreign)
def _convert_arguments(original: Method, self: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Convert the arguments of methods that access tensor attributes of their arguments."""
    name = original.__name__
    arguments = [[_argument(v, name) for v in a] if isinstance(a, list | tuple) else _argument(a, name) for a in args]
    return original(self, *arguments, **kwargs)


def _tensor(x: Any, api_name: str) -> Any:
    if isinstance(x, _KNOWN):
        return x
    return t if (t := tree.as_tensor(x)) is not None else _refuse(x, api_name)


def _argument(x: Any, api_name: str) -> Any:
    """Convert an array argument to a tensor; other types, such as lists and dtypes, are left to the method."""
    return _tensor(x, api_name) if isinstance(x, np.ndarray | np.generic) or tree.package_of(x) else x


@override_if(lambda *_, **__: is_tracing())
def _convert_index(original: Method, self: Tensor, indices: Any, *value: Any) -> Any:
    """Convert the arrays in `x[i]` and `x[i] = v`, which tinygrad does not accept there."""
    api_name = "assign" if value else "index"

    def index(i: Any) -> Any:
        if isinstance(i, np.generic) and (n := as_int(i)) is not None:
            return n
        return tuple(map(index, i)) if type(i) is tuple else _argument(i, api_name)

    for v in value:
        _check_ints(self, v, api_name)
    return original(self, index(masks_to_positions(self, indices)), *(_argument(v, api_name) for v in value))


def _init(original: Method) -> Method:
    def init(self: Tensor, data: Any, device: Any = None, dtype: Any = None) -> None:
        try:
            original(self, data, device, dtype)
        except Exception as error:
            if isinstance(error, BrandedError):
                raise
            if is_tracing() and _has_tensors(data):
                _refuse_list(data)
            if (array := _of_numpy(data)) is None:
                raise
            original(self, array, device, dtype)

    return init


def _of_numpy(data: Any) -> np.ndarray | None:
    """Return the array of numpy scalars that tinygrad does not accept, or None if `data` has none."""
    if not isinstance(data, np.ndarray | np.generic | list | tuple | complex):
        return None
    try:
        array = np.asarray(data)
    except ValueError:  # nested lists of different lengths
        return None
    if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
        return None if isinstance(data, np.ndarray) else array
    if array.dtype.kind == "O" and not (isinstance(data, np.ndarray) and not _has_tensors(data)):
        return None
    raise OperandError(
        f"Tensor: there is no dtype for {array.dtype}",
        ("data", tree.describe(array)),
        fix={"c": "Tensor(numpy.stack([numpy.real(x), numpy.imag(x)], -1))", "f": 'Tensor(x.astype("float64"))'}.get(
            array.dtype.kind, "pass an array of numbers, such as an index per word or days per date"
        ),
    )


def _has_tensors(data: Any) -> bool:
    if isinstance(data, np.ndarray) and data.dtype == object:  # numpy's conversion of a tensor
        data = data.tolist()
    return isinstance(data, Tensor) or (isinstance(data, list | tuple) and any(map(_has_tensors, data)))


def _refuse_list(data: Any) -> NoReturn:
    if isinstance(data, Tensor):
        raise OperandError(
            f"Tensor: {tree.describe(data)} is a tensor already", fix="use the tensor itself, or .clone()"
        )
    from branded.hooks.error_translation.suggestions import suggest_stack  # imported only for an error

    raise OperandError(f"Tensor: {tree.outline(data)} contains tensors, which have no numbers yet", fix=suggest_stack())


def _array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Compute `array + x`, which numpy delegates to the tensor."""
    if not is_tracing():  # an object array, numpy's conversion of unknown types
        arrays = [np.asarray(x, dtype=object) if isinstance(x, Tensor) else x for x in inputs]
        return getattr(ufunc, method)(*arrays, **kwargs)
    f = _OPERATORS.get(ufunc.__name__)
    if method == "__call__" and f is not None and not kwargs:
        return f(*(x.item() if isinstance(x, np.float64) else _tensor(x, ufunc.__name__) for x in inputs))
    return _refuse_numpy(self, ufunc.__name__, "out" in kwargs)


_OF_SHAPE = {"shape", "ndim", "size"}
"""Functions of numpy that read only the shape."""


def _array_function(self: Tensor, f: Any, types: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Handle `numpy.sum(x)` and similar functions."""
    if not is_tracing():
        return f._implementation(*args, **kwargs)
    if f.__name__ in _OF_SHAPE:
        return f._implementation(*(np.broadcast_to(0, x.shape) if isinstance(x, Tensor) else x for x in args), **kwargs)
    return _refuse_numpy(self, f.__name__, False)


def _refuse_numpy(x: Tensor, name: str, writes: bool) -> NoReturn:
    method = f"x.{name}(...), the method of Tensor" if hasattr(Tensor, name) else "methods of Tensor"
    raise OperandError(
        f"numpy.{name}: {tree.describe(x)} cannot be read by numpy" + (", or write into an array" if writes else ""),
        fix="write `a = a + x` instead of `a += x`" if writes else method,
    )


def install() -> None:
    wrap("ufix", _ufix)
    wrap("__init__", _init)
    for name in ("dot", "matmul", "cat", "stack"):
        wrap(name, _convert_arguments)
    for name in ("__getitem__", "__setitem__"):
        wrap(name, _convert_index)
    setattr(Tensor, "__array_ufunc__", _array_ufunc)  # noqa: B010  mypy: a method is not to be assigned
    setattr(Tensor, "__array_function__", _array_function)  # noqa: B010
