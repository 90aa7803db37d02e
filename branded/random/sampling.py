"""The shared parts of random sampling: the bits of a key, and the checks of arguments."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from tinygrad import Device, Tensor, dtypes
from tinygrad.dtype import DType, DTypeLike, to_dtype

from branded import tree
from branded.core.brand import S, S1
from branded.core.strict import check_key_use
from branded.core.tracing.recorded_calls import operation
from branded.core.validation.arguments import as_int
from branded.core.values import vec_type
from branded.errors import DrawError, DrawTypeError
from branded.functions._validation import as_number
from branded.graph.rows import check_live
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.private_api import broadcast_shape
from branded.vec import Vec

F = TypeVar("F", bound=Callable[..., Any])

UNSIGNED = {8: dtypes.uint8, 16: dtypes.uint16, 32: dtypes.uint32, 64: dtypes.uint64}


def with_buffer(x: Vec[S]) -> Vec[S]:
    """Return `x` with a buffer: a constant has no buffer, and a TinyJit does not accept it."""
    return x.clone(Device.DEFAULT) if x.uop.device is None else x


def words(key: Vec[S], counters: Vec[S1]) -> tuple[Vec[S | S1], Vec[S | S1]]:
    """Return the two uint32 words of Threefry-2x32-20 for uint64 `counters`, whose lower word is the first input.

    Source: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
    """
    out = counters.threefry((key[1].cast(dtypes.uint64) << 32) | key[0].cast(dtypes.uint64))
    return out.cast(dtypes.uint32), (out >> 32).cast(dtypes.uint32)


def positions(shape: tuple[int, ...]) -> Tensor:
    """Return a counter for each element of a sample: its row-major index with the two words swapped."""
    n = math.prod(shape)
    if n <= dtypes.int32.max:
        return Tensor.arange(n, dtype=dtypes.uint32).reshape(shape).cast(dtypes.uint64) << 32
    # in tinygrad 0.14 an arange of uint64 is computed in floats
    indices = Tensor.arange(n, dtype=dtypes.int64).reshape(shape).cast(dtypes.uint64)
    return (indices << 32) | (indices >> 32)


def raw_bits(key: Vec[S], shape: tuple[int, ...], width: int) -> Vec[S]:
    """Sample uniformly distributed unsigned ints of `width` bits."""
    a, b = words(key, positions(shape))
    if width == 64:
        return (a.cast(dtypes.uint64) << 32) | b.cast(dtypes.uint64)
    return (a ^ b).cast(UNSIGNED[width])


def unit(key: Vec[S], shape: tuple[int, ...], dtype: DType) -> Vec[S]:
    """Sample equally spaced floats in [0, 1): numbers in [1, 2) with random mantissas, minus 1."""
    exponent, mantissa = dtypes.finfo(dtype)
    width = dtype.bitsize if mantissa >= 8 else 8
    one = ((1 << (exponent - 1)) - 1) << mantissa
    bits = raw_bits(key, shape, width).cast(UNSIGNED[dtype.bitsize]) >> (width - mantissa)
    return (bits | one).bitcast(dtype) - 1


def sampler(f: F) -> F:
    """Decorate a sampling function: check its key, and record a call as one operation of a program."""

    @functools.wraps(f)
    def sample(key: object, *args: Any, **kwargs: Any) -> Any:
        with check_key_use(_as_key(key, f.__name__), f.__name__):
            return f(key, *args, **kwargs)

    return operation(cast(F, sample))


def _as_key(key: object, api_name: str) -> Tensor:
    """Return the key; raise unless it is a uint32[2] tensor that varies over open brands only."""
    if isinstance(key, Tensor) and key.dtype == dtypes.uint32 and key.shape == (2,):
        check_live(key.uop, api_name)
        return key
    if isinstance(key, Tensor) and key.dtype == dtypes.uint32 and key.shape[-1:] == (2,):
        fix = f"vmap over the keys: vmap(lambda k: {api_name}(k, ...))(keys)"
    elif isinstance(key, Tensor):
        fix = "use a uint32[2] from key, split or fold_in"
    else:
        fix = f"{api_name}(random.key(0), ...)"
    raise DrawTypeError(
        f"{api_name}: the first argument must be a key, a tensor u32[2]", ("given", tree.describe(key)), fix=fix
    )


def as_shape(shape: object, api_name: str) -> tuple[int, ...]:
    """Return `shape` as a tuple of ints."""
    if isinstance(shape, np.ndarray) and shape.ndim == 1:
        shape = shape.tolist()
    if not isinstance(shape, tuple | list):
        n = as_int(shape)
        fix = "pass a tuple of ints" if n is None else f"({n},)"
        raise DrawTypeError(f"{api_name}: {tree.describe(shape)} is not a shape", fix=fix)
    sizes = []
    for x in shape:
        if (n := as_int(x)) is None:
            raise DrawTypeError(f"{api_name}: {tree.describe(x)} in a shape is not an int", fix="use Python ints")
        if n < 0:
            raise DrawError(
                f"{api_name}: {n} in a shape is not a size",
                ("shape", tree.short_repr(shape)),
                fix="use sizes of 0 or more",
            )
        sizes.append(n)
    if (total := math.prod(sizes)) > dtypes.int64.max:
        raise DrawError(f"{api_name}: {total} are more than a tensor can have", fix="use fewer than 2**63 elements")
    return tuple(sizes)


def as_dtype(dtype: DTypeLike, api_name: str, allowed: Sequence[DType]) -> DType:
    try:
        out_dtype = to_dtype(dtype)
    except (AttributeError, KeyError, TypeError):
        out_dtype = None
    if out_dtype is None or out_dtype not in allowed:
        raise DrawTypeError(
            f"{api_name}: {tree.short_repr(dtype) if out_dtype is None else dtype_name(out_dtype)} is not a dtype "
            "that it samples",
            fix=f"dtype=dtypes.{' or '.join(map(dtype_name, allowed))}",
        )
    return out_dtype


def dtype_name(dtype: DType) -> str:
    """Return the name of a dtype in `tinygrad.dtypes`, such as `int32`; `DType.name` is the C name."""
    if dtype == dtypes.bfloat16 or not (dtypes.is_int(dtype) or dtypes.is_float(dtype)):
        return str(dtype).removeprefix("dtypes.")
    kind = "uint" if dtypes.is_unsigned(dtype) else "int" if dtypes.is_int(dtype) else "float"
    return f"{kind}{dtype.bitsize}"


FLOATS = (dtypes.float32, dtypes.float16, dtypes.bfloat16, dtypes.float64)


def as_float(x: Vec[S] | float, api_name: str, name: str, dtype: DType) -> Vec[S] | float:
    """Return a bound or probability as a Python float or as a tensor of `dtype`."""
    if isinstance(x, Vec):
        if x.dtype == dtypes.bool:
            raise DrawTypeError(f"{api_name}: {name} is {vec_type(x)}", fix="pass a number, or a tensor of floats")
        check_live(x.uop, api_name)
        return x.cast(dtype)
    if (n := as_number(x)) is None:
        raise DrawTypeError(f"{api_name}: {name} is {tree.describe(x)}", fix="pass a number, or a tensor of floats")
    return n


def fits(shape: tuple[int, ...], api_name: str, **parameters: object) -> None:
    """Raise unless every parameter broadcasts to `shape`."""
    for name, x in parameters.items():
        sizes = x.shape if isinstance(x, Vec) else ()
        if len(sizes) > len(shape) or any(m not in (1, n) for m, n in zip(sizes[::-1], shape[::-1], strict=False)):
            raise DrawError(
                f"{api_name}: {name} does not broadcast to the shape of the sample",
                (name, vec_type(x)),
                ("shape", repr(shape)),
                fix="use a shape that ends in its axes, or vmap over it",
            )


def shape_of_all(api_name: str, names: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to which these shapes broadcast."""
    try:
        return broadcast_shape((), *shapes)
    except IndexError:
        facts = ("shapes", " and ".join(map(repr, shapes)))
        raise DrawError(
            f"{api_name}: the {names} do not broadcast", facts, fix="use one shape for all, or vmap over them"
        ) from None
