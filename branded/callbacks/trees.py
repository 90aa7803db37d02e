"""The trees of arguments and results of host callbacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, strong_dtype

from branded import tree
from branded.callbacks.host import OtherTreeError, ShapeDtype
from branded.errors import CallbackTypeError
from branded.errors.calls import check_calls
from branded.graph.rows import dtype_text
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.private_api import all_int


class HasShapeDtype(Protocol):
    """Any object with a shape and a dtype: a tensor, a NumPy array, a `ShapeDtypeStruct`."""

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...


class ShapeDtypeStruct:
    """The shape and dtype of a callback's result, for one example.

    Args:
        shape: A tuple of ints.
        dtype: A dtype of tinygrad or NumPy, or the name of one.

    Raises:
        CallbackTypeError: `shape` is not a shape, or `dtype` is not a dtype.

    Example:
        >>> from branded import ShapeDtypeStruct
        >>> ShapeDtypeStruct((2, 3), "float32")
        ShapeDtypeStruct((2, 3), 'f32')

    Source: `jax.ShapeDtypeStruct`.
    """

    __slots__ = ("dtype", "shape")

    @check_calls
    def __init__(self, shape: Sequence[int], dtype: Any) -> None:
        self.shape, self.dtype = _shape(shape, "ShapeDtypeStruct"), _dtype(dtype, "ShapeDtypeStruct")

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct({self.shape}, {dtype_text(self.dtype)!r})"

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, ShapeDtypeStruct)
        return same and (self.shape, self.dtype) == (other.shape, other.dtype)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))


def _shape(shape: Any, api_name: str) -> tuple[int, ...]:
    if isinstance(shape, tuple | list) and all_int(sizes := tuple(shape)) and all(n >= 0 for n in sizes):
        return sizes
    raise CallbackTypeError(
        f"{api_name}: {tree.short_repr(shape)} is not a shape", fix="pass a tuple of ints: (2, 3) or ()"
    )


def _dtype(dtype: Any, api_name: str) -> DType:
    if isinstance(dtype, DType):
        return strong_dtype(dtype)
    name = dtype
    if not isinstance(dtype, str):
        try:
            name = np.dtype(dtype).name
        except TypeError:
            name = None
    candidate = getattr(dtypes, name, None) if isinstance(name, str) else None
    if isinstance(candidate, DType):
        return candidate
    raise CallbackTypeError(
        f"{api_name}: {tree.short_repr(dtype)} is not a dtype", fix='pass dtypes.float32 or "float32"'
    )


class Results:
    """The announced results of a callback, as a tree."""

    def __init__(self, x: Any, api_name: str) -> None:
        self.skeleton = self._of(x, f"{api_name}: result_shape_dtypes", api_name)
        self.types = [ShapeDtype(t.shape, t.dtype) for t in tree.leaves(self.skeleton)]

    def _of(self, x: Any, place: str, api_name: str) -> Any:
        if hasattr(x, "shape") and hasattr(x, "dtype"):
            return ShapeDtypeStruct(_shape(x.shape, api_name), _dtype(x.dtype, api_name))
        if (n := tree.node(x)) is None:
            raise CallbackTypeError(
                f"{place} has {tree.describe(x)}, which has no shape and dtype",
                fix='pass ShapeDtypeStruct((2, 3), "float32"), a tensor of the same type, or a pytree of these',
            )
        return n.rebuild([self._of(child, place, api_name) for child in n.children])

    def rebuilt(self, values: Sequence[Tensor]) -> Any:
        return tree.rebuild(self.skeleton, iter(values))


class Flat:
    """A function of trees as a function of arrays; equal for the same function and arguments of the same form."""

    def __init__(self, f: Callable[..., Any], call: tuple[Any, Any], is_array: Sequence[bool], results: Any) -> None:
        self.f, self.results = f, results
        self.call = tree.rebuild(call, iter(range(len(is_array))))
        values = zip(tree.leaves(call), is_array, strict=True)
        self.constants = {i: x for i, (x, varies) in enumerate(values) if not varies}
        self.key = (f, tree.treedef_key(call), tuple(self.constants.items()), tree.treedef_key(results))
        self.__name__ = getattr(f, "__name__", "<lambda>")

    def __call__(self, *arrays: Any) -> list[Any]:
        new = iter(arrays)
        leaves = [self.constants[i] if i in self.constants else next(new) for i in range(len(tree.leaves(self.call)))]
        args, kwargs = tree.rebuild(self.call, iter(leaves))
        out = self.f(*args, **kwargs)
        if tree.paths(out, "") != tree.paths(self.results, ""):
            raise OtherTreeError(self.results, out)
        return tree.leaves(out)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flat) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)
