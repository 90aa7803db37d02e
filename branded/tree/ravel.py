"""Flattening a tree of tensors into one vector."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType

from branded.errors import TreeError
from branded.errors.calls import check_calls
from branded.graph.rows import type_text
from branded.tree.api import flatten
from branded.tree.formatting import describe
from branded.tree.leaf_tensors import advice, as_tensor, with_memory_dtype
from branded.tree.paths import paths

T = TypeVar("T")


@check_calls
def ravel(tree: T) -> tuple[Any, Callable[[Any], T]]:
    """Concatenate all elements of a tree into one vector, and return it with the inverse function.

    Args:
        tree: A tree of tensors and numbers.

    Returns:
        `(vector, unravel)`: an `f32[n]`, or a vector of the smallest dtype that holds all leaves.  `unravel(vector)`
        has the structure and shapes of `tree`, and its dtypes if they differ among leaves.

    Raises:
        TreeError: A leaf is not a tensor, or a vector has a different size than the tree.  If the dtypes of leaves
            differ, the vector must also have the dtype of `vector`.

    Example:
        >>> from branded import tree
        >>> from tinygrad import Tensor
        >>> vector, unravel = tree.ravel({"w": Tensor([[1.0, 2.0], [3.0, 4.0]]), "b": Tensor(5.0)})
        >>> vector.tolist(), unravel(vector * 10)["w"].tolist()
        ([5.0, 1.0, 2.0, 3.0, 4.0], [[10.0, 20.0], [30.0, 40.0]])

    Source: `jax.flatten_util.ravel_pytree`.
    """
    values, structure = flatten(tree)
    ts = [_as_tensor(x, path) for x, path in zip(values, paths(tree, "the tree"), strict=True)]
    kinds, shapes = [t.dtype for t in ts], [t.shape for t in ts]
    sizes = [math.prod(s) for s in shapes]
    dtype = functools.reduce(_upper, kinds) if kinds else dtypes.default_float
    some = [t.cast(dtype).reshape(-1) for t, n in zip(ts, sizes, strict=True) if n]
    vector = some[0].cat(*some[1:]) if some else Tensor.zeros(0, dtype=dtype)
    is_mixed, total, text = len(set(kinds)) > 1, sum(sizes), type_text(vector.uop, ())

    def unravel(vector: Tensor) -> T:
        x = _as_tensor(vector, "the vector")
        if x.shape != (total,) or (is_mixed and x.dtype != dtype):
            raise TreeError(
                "tree.ravel: this vector does not fit the tree",
                ("vector", type_text(x.uop)),
                ("wanted", text),
                fix="pass a vector of the shape and dtype that ravel returned",
            )
        parts = x.split(sizes) if sizes else ()
        each = zip(parts, shapes, kinds, strict=True)
        new: T = structure.unflatten([p.reshape(s).cast(d if is_mixed else x.dtype) for p, s, d in each])
        return new

    return vector, unravel


def _as_tensor(x: Any, where: str) -> Tensor:
    if (t := as_tensor(x)) is None:
        raise TreeError(f"tree.ravel: {where} is {describe(x)}, not a tensor", fix=advice(x) or "tensors and numbers")
    return with_memory_dtype(t, f"tree.ravel: {where}")


def _upper(a: DType, b: DType) -> DType:
    """Return the smallest dtype that holds both."""
    return (Tensor.zeros(0, dtype=a) + Tensor.zeros(0, dtype=b)).dtype
