"""Scans in log n steps: associative_scan, and cumlogsumexp, which uses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tinygrad import Tensor
from tinygrad.dtype import strong_dtype

from branded import tree
from branded.autodiff.api import stop_gradient
from branded.core.boundary import live_tensor, live_tensors
from branded.core.brand import Brand
from branded.core.entry import entry
from branded.core.validation.arguments import call_checked, check_function, normalize_axis
from branded.core.values import vec_type
from branded.errors import CarryError, SizeError
from branded.vec import Vec

X = TypeVar("X")
S = TypeVar("S", bound=Brand)
Leaves = list[Tensor]


@entry
def associative_scan(fn: Callable[[X, X], X], elems: X, reverse: bool = False, axis: int = 0) -> X:
    """Compute `x0`, `fn(x0, x1)`, `fn(fn(x0, x1), x2)`, … in about 2 log n steps, for an associative `fn`.

    As in JAX, `fn` gets many elements at a time, including the axis of the elements. An elementwise function works
    unchanged, and so does one on the last axes, such as `@`. Wrap any other function as `vmap(fn)`.

    Args:
        fn: An associative function: `fn(a, b)` takes two trees like `elems` and returns a tree with the same shapes.
        elems: A tree of tensors with the elements along `axis`.
        reverse: Start from the last element.
        axis: The axis of the elements.

    Returns:
        A tree like `elems`.

    Raises:
        CarryError: `fn` returns another tree, shape or dtype than it gets.
        SizeError: The tensors disagree about the number of elements.

    Example:
        >>> from branded import associative_scan
        >>> from tinygrad import Tensor
        >>> associative_scan(lambda a, b: a * b, Tensor([1, 2, 3, 4, 5])).tolist()
        [1, 2, 6, 24, 120]
        >>> line = lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1])  # g after f, of x -> a x + b
        >>> associative_scan(line, (Tensor([2.0, 3.0, 4.0]), Tensor([1.0, 1.0, 1.0])))[1].tolist()
        [1.0, 4.0, 17.0]

    Source: `jax.lax.associative_scan`; Blelloch 1990.
    """
    api_name = "associative_scan"
    check_function(fn, api_name, f"{api_name}(fn, elems)", CarryError)
    tensors = live_tensors(elems, f"{api_name}: elems", CarryError, "use tensors, or pytrees of these")
    xs = [tree.with_memory_dtype(x, f"{api_name}: elems") for x in tensors]
    if not xs:
        raise SizeError(f"{api_name}: there are no elements", fix="pass a tensor or a pytree of tensors")
    axes = [normalize_axis(axis, x, f"{api_name}: axis") for x in xs]
    for x, a, path in zip(xs, axes, tree.paths(elems, "elems"), strict=True):
        if type(x.shape[a]) is not int:
            raise SizeError(
                f"{api_name}: {path} has a symbolic number of elements",
                ("value", vec_type(x)),
                fix="pass the whole tensor, and take the first n elements of the result",
            )
        if x.shape[a] != xs[0].shape[axes[0]]:
            raise SizeError(
                f"{api_name}: {path} has {x.shape[a]} elements, and there are {xs[0].shape[axes[0]]}",
                ("value", vec_type(x)),
                fix="use the same size along the axis for all of elems",
            )
    xs = [x.transpose(0, a) if a else x for x, a in zip(xs, axes, strict=True)]

    def combined(a: Leaves, b: Leaves) -> Leaves:
        both = (tree.rebuild(elems, iter(_back(x, axes))) for x in (a, b))
        out = call_checked(fn, tuple(both), {}, api_name, "a function of two trees like elems")
        return _back(_check_result(out, elems, _back(a, axes)), axes)

    done = _scan_pairs(combined, [x.flip(0) for x in xs] if reverse else xs)
    done = [y.flip(0) for y in done] if reverse else done
    result: X = tree.rebuild(elems, iter(_back(done, axes)))
    return result


def _back(xs: Sequence[Tensor], axes: Sequence[int]) -> Leaves:
    return [x.transpose(0, a) if a else x for x, a in zip(xs, axes, strict=True)]


def _scan_pairs(fn: Callable[[Leaves, Leaves], Leaves], xs: Leaves) -> Leaves:
    """Combine neighbours and scan the pairs, which gives every second result; then compute the other results.

    given       x0, x1, x2, x3, x4
    pairs       x0 x1, x2 x3
    scanned     x0 x1, x0 x1 x2 x3                  the results at 1 and 3
    between     x0; (x0 x1) x2; (x0 x1 x2 x3) x4    the results at 0, 2 and 4
    """
    n = xs[0].shape[0]
    if n < 2:
        return xs
    half = n // 2
    first = _scan_pairs(fn, [y.contiguous() for y in fn([x[: 2 * half : 2] for x in xs], [x[1::2] for x in xs])])
    between = [x[:1] for x in xs]
    if n > 2:
        later = fn([y[: (n - 1) // 2] for y in first], [x[2::2] for x in xs])
        between = [x.cat(y) for x, y in zip(between, later, strict=True)]
    return [_interleave(x, y).contiguous() for x, y in zip(between, first, strict=True)]


def _interleave(a: Tensor, b: Tensor) -> Tensor:
    """Interleave as a0, b0, a1, b1, …; `a` may have one more element."""
    n = b.shape[0]
    both = a[:n].stack(b, dim=1).flatten(0, 1)
    return both.cat(a[n:]) if a.shape[0] > n else both


def _check_result(out: Any, elems: Any, expected: Leaves) -> Leaves:
    api_name = "associative_scan"
    if tree.treedef_key(out) != tree.treedef_key(elems):
        raise CarryError(
            f"{api_name}: the function returns another structure than it takes",
            ("gets", tree.outline(elems)),
            ("gives", tree.outline(out)),
            fix="return a pytree with the structure of the arguments",
        )
    leaves = []
    for y, x, path in zip(tree.leaves(out), expected, tree.paths(out, "the result"), strict=True):
        t = live_tensor(y, f"{api_name}: {path}", CarryError, "use tensors, or pytrees of these")
        if t.shape != x.shape or strong_dtype(t.dtype) != x.dtype:
            raise CarryError(
                f"{api_name}: {path} changes its type",
                ("gets", vec_type(x)),
                ("gives", vec_type(t)),
                fix="pass vmap(fn), which works on many elements at a time, and keep their dtype",
            )
        tree.check_fits(t, x.dtype, f"{api_name}: {path}")
        leaves.append(t.cast(x.dtype))
    return leaves


@entry
def cumlogsumexp(x: Vec[S], axis: int = 0, reverse: bool = False) -> Vec[S]:
    """Compute the logarithms of the cumulative sums of `exp(x)`, without overflow.

    Args:
        x: A tensor of floats.
        axis: The axis along which to sum.
        reverse: Start from the last element.

    Returns:
        A tensor of the shape of `x`.

    Raises:
        CarryError: `x` is not a tensor.
        AxisRangeError: The axis is out of range.

    Example:
        >>> from branded import cumlogsumexp
        >>> from tinygrad import Tensor
        >>> [round(v, 2) for v in cumlogsumexp(Tensor([1000.0, 1000.0, float("-inf")])).tolist()]
        [1000.0, 1000.69, 1000.69]

    Source: `jax.lax.cumlogsumexp`.
    """
    t = live_tensor(x, "cumlogsumexp: x", CarryError, "pass a tensor of floats")
    normalize_axis(axis, t, "cumlogsumexp: axis")
    t = t if t.is_floating_point() else t.float()
    return associative_scan(_log_of_sum, t, reverse, axis)


def _log_of_sum(a: Tensor, b: Tensor) -> Tensor:
    """Compute log(exp a + exp b); for two values -inf it is -inf, with derivative 0."""
    most = stop_gradient(a.maximum(b))
    finite = (most.isinf() | most.isnan()).where(0.0, most)
    total = (a - finite).exp() + (b - finite).exp()
    is_some = total != 0
    return finite + is_some.where(is_some.where(total, 1.0).log(), float("-inf"))
