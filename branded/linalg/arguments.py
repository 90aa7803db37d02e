"""Validation of the arguments of matrix operations: dtypes and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, strong_dtype

from branded import tree
from branded.core.boundary import live_tensor
from branded.core.values import vec_type
from branded.errors import MatrixError, MatrixTypeError, count_noun
from branded.tinygrad_compat.private_api import broadcast_shape, least_upper_dtype

FLOATS = (dtypes.float32, dtypes.float64)


def floats(api_name: str, *operands: tuple[str, Any]) -> list[Tensor]:
    """Return the arguments as tensors of one dtype: float64 if one of them is float64, otherwise float32."""
    tensors = [
        live_tensor(x, f"{api_name}: {name}", MatrixTypeError, "pass a tensor of floats") for name, x in operands
    ]
    for (name, _), x in zip(operands, tensors, strict=True):
        if dtypes.is_float(x.dtype) and x.dtype not in (*FLOATS, *dtypes.weaks):
            raise MatrixTypeError(
                f"{api_name}: {name} is {vec_type(x)}, and matrices are factored in float32 or float64",
                fix=f"{name}.float(), and cast the result back",
            )
    wanted = common(tensors)
    return [x.cast(wanted) for x in tensors]


def numbers(api_name: str, *operands: tuple[str, Any]) -> list[Tensor]:
    """Return the arguments as tensors of one dtype, without factoring: ints stay ints, float16 stays float16."""
    tensors = [live_tensor(x, f"{api_name}: {name}", MatrixTypeError, "a tensor of numbers") for name, x in operands]
    wanted = least_upper_dtype(*(dtypes.int32 if x.dtype == dtypes.bool else strong_dtype(x.dtype) for x in tensors))
    for (name, _), x in zip(operands, tensors, strict=True):
        tree.check_fits(x, wanted, f"{api_name}: {name}")
    return [x.cast(wanted) for x in tensors]


def common(xs: Sequence[Tensor]) -> DType:
    return dtypes.float64 if any(x.dtype == dtypes.float64 for x in xs) else dtypes.float32


def check_matrix(api_name: str, name: str, x: Tensor) -> None:
    """Raise if `x` has fewer than two axes."""
    if x.ndim < 2:
        raise MatrixError(
            f"{api_name}: {name} is {vec_type(x)}, not a matrix",
            fix="use one matrix per example; vmap has removed one axis" if x.ndim == 1 else "pass at least two axes",
        )


def check_square(api_name: str, name: str, x: Tensor) -> None:
    check_matrix(api_name, name, x)
    if x.shape[-1] != x.shape[-2]:
        raise MatrixError(
            f"{api_name}: {name} has {count_noun(x.shape[-2], 'row')} and {count_noun(x.shape[-1], 'column')}",
            (name, vec_type(x)),
            fix="pass a square matrix, or use lstsq or pinv"
            if api_name in ("solve", "inv")
            else "pass a square matrix",
        )


def check_batches(api_name: str, left: tuple[str, Tensor], right: tuple[str, Tensor]) -> tuple[int, ...]:
    """Return the broadcast batch shape of both operands; raise if there is none."""
    try:
        return broadcast_shape(left[1].shape[:-2], right[1].shape[:-2])
    except IndexError:
        raise MatrixError(
            f"{api_name}: the batches of {left[0]} and {right[0]} do not broadcast",
            (left[0], vec_type(left[1])),
            (right[0], vec_type(right[1])),
            fix="use equal sizes, or 1, for the batch axes",
        ) from None
