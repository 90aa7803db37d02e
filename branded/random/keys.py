"""Random keys, and how to derive new keys from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from tinygrad import Tensor, dtypes

from branded import tree
from branded.core.brand import S, S1
from branded.core.tracing.recorded_calls import operation
from branded.core.validation.arguments import as_int
from branded.core.values import vec_type
from branded.errors import DrawError, DrawTypeError
from branded.graph.rows import check_live
from branded.random.sampling import as_shape, positions, sampler, with_buffer, words
from branded.vec import Vec


@overload
def key(seed: int) -> Tensor: ...
@overload
def key(seed: Vec[S]) -> Vec[S]: ...
@operation
def key(seed: Vec[S1] | int) -> Vec[S1]:
    """Return the key of a seed: `key(n)` is `[0, n]`.

    Args:
        seed: An int of at most 64 bits, or an int tensor `Vec[S, i32[]]`.  A seed that does not fit in 32 bits fills
            both words.  JAX keeps only the lower word, unless `jax_enable_x64` is set.

    Returns:
        `Vec[S, u32[2]]`, on the device of `seed` if it is a tensor, else on the default device.

    Raises:
        DrawTypeError: `seed` is not an int.
        DrawError: `seed` has more than 64 bits.

    Example:
        >>> from branded import random
        >>> random.key(7).tolist()
        [0, 7]

    Source: `jax.random.PRNGKey`, the array form of `jax.random.key`.
    """
    if isinstance(seed, Vec):
        if not dtypes.is_int(seed.dtype) or seed.shape:
            many = "vmap(key)(seeds)" if dtypes.is_int(seed.dtype) else "pass an int, or an int tensor"
            raise DrawTypeError(f"key: {vec_type(seed)} is not one seed", fix=many)
        check_live(seed.uop, "key")
        number = seed.cast(dtypes.int64) if seed.dtype in dtypes.weaks else seed
        return with_buffer(_upper(number).cast(dtypes.uint32).stack(number.cast(dtypes.uint32)))
    n = as_int(seed)
    if n is None:
        raise DrawTypeError(f"key: {tree.describe(seed)} is not a seed", fix="pass an int")
    if not -(2**63) <= n < 2**64:
        raise DrawError(f"key: {n} has more than 64 bits", fix="key(seed % 2**64), or fold_in the rest")
    top = 0 if -(2**31) <= n < 2**32 else (n >> 32) & 0xFFFFFFFF
    new = Tensor(top, dtype=dtypes.uint32).stack(Tensor(n & 0xFFFFFFFF, dtype=dtypes.uint32))
    return with_buffer(new)


def _upper(seed: Vec[S]) -> Vec[S]:
    """Return the upper word of a seed, which is 0 if the seed fits in 32 bits, signed or unsigned."""
    if seed.dtype.itemsize < 8:
        return seed.const_like(0)
    upper = seed >> 32
    return upper if dtypes.is_unsigned(seed.dtype) else ((seed < 0) & (seed >= -(1 << 31))).where(0, upper)


@sampler
def split(key: Vec[S], num: int | Sequence[int] = 2) -> Vec[S]:
    """Split a key into new keys: `split(key, n)[i]` is `fold_in(key, i)`.

    Use a key only once: either sample from it or split it.

    Args:
        key: `Vec[S, u32[2]]`.
        num: The number of keys, or the shape of an array of keys.

    Returns:
        `Vec[S, u32[num, 2]]`, which can be mapped over.

    Raises:
        DrawTypeError: `key` is not a key, or `num` is neither an int nor a shape.
        DrawError: A size is below 0.

    Example:
        >>> from branded import random, vmap
        >>> keys = random.split(random.key(0), 3)
        >>> keys.shape
        (3, 2)
        >>> a = vmap(lambda k: random.uniform(k, (2,)))(keys)
        >>> a[1].tolist() == random.uniform(keys[1], (2,)).tolist()
        True

    Source: `jax.random.split`.
    """
    n = as_int(num)
    a, b = words(key, positions(as_shape(num if n is None else (n,), "split")))
    return with_buffer(a.stack(b, dim=-1))


@sampler
def fold_in(key: Vec[S], data: Vec[S1] | int) -> Vec[S | S1]:
    """Derive a key from a key and an int, such as a step or a layer: `fold_in(key, i)` is `split(key, n)[i]`.

    Args:
        key: `Vec[S, u32[2]]`.
        data: An int from 0 to 2³²-1, or an int tensor `Vec[S1, i32[]]`.

    Returns:
        `Vec[S | S1, u32[2]]`.

    Raises:
        DrawTypeError: `key` is not a key, or `data` is not an int.
        DrawError: `data` is out of range.

    Example:
        >>> from branded import random, vmap
        >>> from tinygrad import Tensor
        >>> k = random.key(0)
        >>> random.fold_in(k, 5).tolist() == random.split(k, 6)[5].tolist()
        True
        >>> vmap(lambda i: random.fold_in(k, i))(Tensor([0, 5])).shape
        (2, 2)

    Source: `jax.random.fold_in`.
    """
    if isinstance(data, Vec):
        if not dtypes.is_int(data.dtype) or data.shape:
            many = (
                "vmap(lambda i: fold_in(key, i))(data)"
                if dtypes.is_int(data.dtype)
                else "pass an int, or an int tensor"
            )
            raise DrawTypeError(f"fold_in: {vec_type(data)} is not one int", fix=many)
        check_live(data.uop, "fold_in")
        low: Vec[S1] = data.cast(dtypes.uint32)
    else:
        n = as_int(data)
        if n is None:
            raise DrawTypeError(f"fold_in: {tree.describe(data)} is not an int", fix="pass an int, or an int tensor")
        if not 0 <= n < 2**32:
            raise DrawError(f"fold_in: {n} is out of range", fix="pass an int from 0 to 2**32 - 1")
        low = Tensor(n, dtype=dtypes.uint32)
    a, b = words(key, low.cast(dtypes.uint64) << 32)
    return with_buffer(a.stack(b, dim=-1))
