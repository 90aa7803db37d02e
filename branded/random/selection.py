"""`categorical`, `choice` and `permutation`: random entries of a tensor, and random orders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes

from branded import tree
from branded.core.brand import S, S1, S2
from branded.core.validation.arguments import as_int, normalize_axis
from branded.core.values import vec_type
from branded.errors import DrawError, DrawTypeError
from branded.graph.rows import check_live
from branded.graph.uops import moveaxis
from branded.random.distributions import gumbel
from branded.random.keys import split
from branded.random.sampling import FLOATS, as_shape, raw_bits, sampler, unit
from branded.random.uniforms import randint
from branded.vec import Vec


@sampler
def categorical(
    key: Vec[S], logits: Vec[S1], axis: int = -1, shape: Sequence[int] | None = None, replace: bool = True
) -> Vec[S | S1]:
    """Sample indices along `axis` with the probabilities `softmax(logits)`.

    Args:
        key: `Vec[S, u32[2]]`.
        logits: `Vec[S1, f32[..., n, ...]]`: logarithms of probabilities, up to a constant; -inf is never sampled.
        axis: The axis of the categories.
        shape: The shape of one example, to which the shape of `logits` without `axis` must broadcast; None uses
            the latter shape.
        replace: Whether a category may be sampled more than once.  If not, the axes of `shape` in front of the axes of
            `logits` give the number of different samples from each distribution.

    Returns:
        `Vec[S | S1, i32[*shape]]`.

    Raises:
        DrawTypeError: `key` is not a key, `logits` is not a tensor of floats, or `shape` is not a shape.
        DrawError: There are no categories, too few for sampling without replacement, or `logits` does not fit `shape`.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import random
        >>> from tinygrad import Tensor
        >>> drawn = random.categorical(random.key(0), Tensor([0.1, 0.9]).log(), shape=(1000,))
        >>> round(drawn.float().mean().item(), 2)
        0.9
        >>> sorted(random.categorical(random.key(0), Tensor.zeros(3), shape=(3,), replace=False).tolist())
        [0, 1, 2]

    Source: `jax.random.categorical`: the Gumbel-max trick, and without replacement the Gumbel top-k trick.
    """
    if not isinstance(logits, Tensor) or logits.dtype not in FLOATS:
        raise DrawTypeError(
            f"categorical: logits are {tree.describe(logits)}", fix="pass a tensor of floats with an axis of categories"
        )
    check_live(logits.uop, "categorical")
    dim = normalize_axis(axis, logits, "categorical")
    n = logits.shape[dim]
    if n == 0:
        raise DrawError(
            "categorical: logits has no categories", ("logits", vec_type(logits)), fix="pass at least one category"
        )
    batch = (*logits.shape[:dim], *logits.shape[dim + 1 :])
    sizes = batch if shape is None else as_shape(shape, "categorical")
    if len(sizes) < len(batch) or any(m not in (1, k) for m, k in zip(batch[::-1], sizes[::-1], strict=False)):
        raise DrawError(
            "categorical: logits do not broadcast to the shape of the sample",
            ("logits", f"{vec_type(logits)}, with the categories on axis {dim}"),
            ("shape", repr(sizes)),
            fix="use a shape that ends in the other axes of logits",
        )
    front, batch_sizes = sizes[: len(sizes) - len(batch)], sizes[len(sizes) - len(batch) :]
    each = (*batch_sizes[:dim], n, *batch_sizes[dim:])
    if not replace:
        return _different(key, logits.expand(each), dim, front)
    noise = gumbel(key, (*front, *each), logits.dtype)
    return (noise + logits).argmax(len(front) + dim)


def _different(key: Vec[S], logits: Vec[S1], axis: int, front: tuple[int, ...]) -> Vec[S | S1]:
    """Sample different categories from each distribution, as many as `front` has elements, as `[*front, ...]`."""
    n, count = logits.shape[axis], math.prod(front)
    if count > n:
        raise DrawError(
            f"categorical: {count} of {n} categories cannot be sampled without replacement",
            ("logits", vec_type(logits)),
            ("shape", f"{front} in front of the other axes of logits"),
            fix="replace=True, or take fewer",
        )
    score = gumbel(key, logits.shape, logits.dtype) + logits
    score = score.isnan().where(math.inf, score)  # NaN is the largest score, as in JAX
    last = moveaxis(score, axis, -1)
    drawn = by(_descending(last), Tensor.arange(n, dtype=dtypes.int32).expand(last.shape))[..., :count]
    return moveaxis(drawn, -1, 0).reshape((*front, *drawn.shape[:-1]))


@sampler
def permutation(key: Vec[S], x: Vec[S1] | int, axis: int = 0, independent: bool = False) -> Vec[S | S1]:
    """Permute the entries of `x` along an axis at random; all orders are equally likely.

    Args:
        key: `Vec[S, u32[2]]`.
        x: A tensor `Vec[S1, T[n, ...]]`, or an int n for the numbers from 0 to n - 1.
        axis: The axis to permute.
        independent: Whether each sequence along the axis has a separate order.

    Returns:
        `Vec[S | S1, T[n, ...]]`, or `Vec[S, i32[n]]`.

    Raises:
        DrawTypeError: `key` is not a key, or `x` is neither an int nor a tensor with an axis.
        DrawError: `x` is an int below 0.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import random
        >>> random.permutation(random.key(0), 5).tolist()
        [0, 1, 4, 3, 2]

    Source: `jax.random.permutation`: sorted by random bits, repeated until ties do not matter.
    """
    n, dim = _population(x, "permutation", "x", axis)
    if not isinstance(x, Vec):
        return _order(key, (n,), 0)
    if independent and x.ndim > 1:
        return x.gather(dim, _order(key, x.shape, dim)) if x.numel() else x
    return _take_along_axis(x, _order(key, (n,), 0), dim)


def _take_along_axis(x: Vec[S], places: Vec[S1], axis: int) -> Vec[S | S1]:
    """Return the entries of `x` at these positions of an axis, which is replaced by the axes of `places`."""
    index: Any = (*[slice(None)] * axis, places)
    return x[index]


def _population(x: Vec[S] | int, api_name: str, name: str, axis: int) -> tuple[int, int]:
    """Return the number of entries to choose from, and their axis."""
    if isinstance(x, Vec):
        check_live(x.uop, api_name)
        if x.shape:
            dim = normalize_axis(axis, x, api_name)
            return x.shape[dim], dim
    n = as_int(x)
    if n is None:
        raise DrawTypeError(
            f"{api_name}: {name} is {vec_type(x)}, neither an int nor a tensor with an axis",
            fix="pass an int, or a tensor with at least one axis",
        )
    if n < 0:
        raise DrawError(f"{api_name}: {name} = {n} is not a number of entries", fix="pass an int of 0 or more")
    if n > dtypes.int32.max:
        raise DrawError(
            f"{api_name}: {name} = {tree.short_repr(n)} are more than an int32 can count", fix="call randint for parts"
        )
    normalize_axis(axis, Tensor.arange(1), api_name)
    return n, 0


def _order(key: Vec[S], shape: tuple[int, ...], axis: int) -> Vec[S]:
    """Return the indices along the axis in a random order, for each sequence."""
    n, size = shape[axis], math.prod(shape)
    others = (*shape[:axis], *shape[axis + 1 :])
    order: Vec[S] = Tensor.arange(n, dtype=dtypes.int32).expand((*others, n))
    # 32 bits may tie; after this many rounds, hardly any two entries have tied in all rounds
    for _ in range(math.ceil(3 * math.log(max(1, size)) / math.log(2**32 - 1))):
        keys = split(key)
        bits = raw_bits(keys[1], shape, 32)
        key, order = keys[0], by(moveaxis(bits, axis, -1), order)
    return moveaxis(order, -1, axis)


_COUNTED = 65536
"""The most entries whose order is found by counting smaller entries: two kernels, while sorting takes many."""


def by(bits: Vec[S], x: Vec[S1]) -> Vec[S | S1]:
    """Return `x` sorted by the uint32 `bits` along the last axis, both `[..., n]`; the sort is stable."""
    n = bits.shape[-1]
    places = (bits.cast(dtypes.uint64) << 32) | Tensor.arange(n).cast(dtypes.uint64)
    if n > _COUNTED:
        return x.gather(-1, places.sort()[0].cast(dtypes.uint32).cast(dtypes.int32))
    places = places.contiguous()
    rank = (places.unsqueeze(-2) < places.unsqueeze(-1)).sum(-1).contiguous()
    return rank.unsqueeze(-2).eq(Tensor.arange(n).unsqueeze(1)).where(x.unsqueeze(-2), 0).sum(-1)


@sampler
def choice(
    key: Vec[S],
    a: Vec[S1] | int,
    shape: Sequence[int] = (),
    replace: bool = True,
    p: Vec[S2] | Sequence[float] | None = None,
    axis: int = 0,
) -> Vec[S | S1 | S2]:
    """Sample entries of `a` along an axis, uniformly or with the probabilities `p`.

    Args:
        key: `Vec[S, u32[2]]`.
        a: A tensor `Vec[S1, T[n, ...]]`, or an int n for the numbers from 0 to n - 1.
        shape: The shape of the sample.
        replace: Whether an entry may be sampled more than once.
        p: The probability of each entry, up to a constant factor: a list of n numbers, or a tensor `Vec[S2, f32[n]]`.
        axis: The axis of the entries.

    Returns:
        `Vec[S | S1 | S2, T[*shape, ...]]`, where the axes of `shape` replace `axis`, or `Vec[S | S2, i32[*shape]]`.

    Raises:
        DrawTypeError: `key` is not a key, `a` or `p` has another type, or `shape` is not a shape.
        DrawError: There are no entries, or too few for sampling without replacement; `p` has another size, or contains
            numbers that are not probabilities.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import random
        >>> random.choice(random.key(0), 5, (3,), replace=False).tolist()
        [0, 1, 4]
        >>> random.choice(random.key(0), 3, (4,), p=[0.0, 0.5, 0.5]).tolist()
        [1, 1, 2, 2]

    Source: `jax.random.choice`; without replacement by `p`, the Gumbel top-k trick.
    """
    (n, dim), sizes = _population(a, "choice", "a", axis), as_shape(shape, "choice")
    count = math.prod(sizes)
    if count and not n:
        raise DrawError("choice: a has no entries", ("a", tree.describe(a)), fix="pass at least one entry")
    if not replace and count > n:
        raise DrawError(
            f"choice: {count} of {n} entries cannot be sampled without replacement",
            fix="replace=True, or take fewer",
        )
    chances = None if p is None else _chances(p, n)
    drawn: Vec[S | S2]
    if chances is None:
        drawn = randint(key, sizes, 0, n) if replace and n else _order(key, (n,), 0)[:count].reshape(sizes)
    elif replace:
        total = chances.cumsum()
        r = total[-1] * (1 - unit(key, sizes, chances.dtype))
        drawn = (total < r.unsqueeze(-1)).sum(-1).cast(dtypes.int32)
    else:
        score = gumbel(key, (n,), chances.dtype) + chances.log()
        drawn = by(_descending(score), Tensor.arange(n, dtype=dtypes.int32))[:count].reshape(sizes)
    return _take_along_axis(a, drawn, dim) if isinstance(a, Vec) else drawn


def _descending(x: Vec[S]) -> Vec[S]:
    """Return uint32 bits whose order is the reverse of the order of the floats `x`."""
    bits = x.cast(dtypes.float32).bitcast(dtypes.uint32)
    return (bits >> 31).eq(1).where(bits, bits ^ 0x7FFFFFFF)


def _chances(p: Vec[S] | Sequence[float], n: int) -> Vec[S]:
    """Return the probabilities as a tensor of floats; raise if a list contains invalid ones."""
    if isinstance(p, Vec):
        check_live(p.uop, "choice")
        chances: Vec[S] = p if p.dtype in FLOATS else p.cast(dtypes.float32)
    else:
        try:
            array = np.array(p, dtype=np.float32)
        except (TypeError, ValueError):
            raise DrawTypeError(f"choice: p is {tree.describe(p)}", fix="pass a list of numbers, or a tensor") from None
        if not (np.isfinite(array).all() and (array >= 0).all() and (array.sum() > 0 or not n)):
            raise DrawError(
                "choice: p is not a vector of probabilities", ("p", repr(p)), fix="use numbers of 0 or more, not all 0"
            )
        chances = Tensor(array)
    if chances.shape != (n,):
        raise DrawError(
            f"choice: p does not have one number for each of {n} entries",
            ("p", vec_type(chances)),
            fix=f"pass a tensor of {n} numbers",
        )
    return chances
