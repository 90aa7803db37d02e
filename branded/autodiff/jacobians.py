"""Jacobians and Hessians: vmap of `jvp` or `vjp` over a standard basis."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, overload

from tinygrad import Tensor, dtypes
from tinygrad.dtype import strong_dtype

from branded import tree
from branded.autodiff.ad_call import Argnums, Differentiated, push_tangents
from branded.autodiff.leaves import transforming
from branded.autodiff.results import without_leaves
from branded.autodiff.reverse import in_reverse, pull_back
from branded.core.brand import Brand
from branded.core.entry import entry
from branded.core.tracing.recording import record_derivative
from branded.core.validation.arguments import check_function
from branded.core.vmap import vmap
from branded.errors import DerivativeError
from branded.errors.calls import check_calls
from branded.graph.uops import tensors
from branded.vec import Vec

R = TypeVar("R")
P = ParamSpec("P")
S = TypeVar("S", bound=Brand)


def _basis(ts: Sequence[Tensor]) -> list[Tensor]:
    """Build the standard basis of the concatenated tensors: a leading axis with one entry for each element."""
    total, out, start = sum(t.numel() for t in ts), [], 0
    for t in ts:
        n = t.numel()
        dtype = strong_dtype(t.dtype) if dtypes.is_float(t.dtype) else dtypes.default_float
        eye = Tensor.eye(n, dtype=dtype).pad(((start, total - start - n), (0, 0)))
        out.append(eye.reshape((total, *t.shape)))
        start += n
    return out


def _split_jacobian(j: Tensor, ts: Sequence[Tensor], axis: int) -> list[Tensor]:
    """Split axis `axis` (0 or -1) of a Jacobian over all elements into one Jacobian for each tensor."""
    out, start = [], 0
    for t in ts:
        n = t.numel()
        if axis == 0:
            out.append(j[start : start + n].reshape((*t.shape, *j.shape[1:])))
        else:
            out.append(j[..., start : start + n].reshape((*j.shape[:-1], *t.shape)))
        start += n
    return out


def _result(call: Differentiated, rows: Iterable[Sequence[Tensor]], aux: Any, has_aux: bool) -> Any:
    """Return the Jacobian: for each result, the derivatives in the tree of the arguments."""
    entries = iter([tree.rebuild(call.wrt, iter(row)) for row in rows])
    out = without_leaves((tree.rebuild(call.value, entries), aux), call.outside)
    return out if has_aux else out[0]


@overload
def jacfwd(
    f: Callable[Concatenate[Vec[S], P], R], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[Vec[S], P], R]: ...
@overload
def jacfwd(
    f: Callable[Concatenate[Tensor, P], R], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[Tensor, P], R]: ...
@overload
def jacfwd(f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[P, Any]: ...
@check_calls
def jacfwd(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `f` in forward mode: one column per element of `x`, by one vmap.

    Args:
        f: A function that returns a tree of tensors.
        argnums: The position of the argument to differentiate with respect to, or a tuple of positions.
        has_aux: Whether `f` returns a pair whose second part is not differentiated.

    Returns:
        A function of the same arguments. For each result tensor of shape `m` and each argument tensor of shape `n`, it
        returns a tensor of shape `m + n`. The computation is one graph, whatever the size of `x`.

    Raises:
        DerivativeError: As for `jvp`.

    Example:
        >>> from branded import jacfwd
        >>> from tinygrad import Tensor
        >>> jacfwd(lambda x: x.cumsum())(Tensor([1.0, 2.0])).tolist()
        [[1.0, 0.0], [1.0, 1.0]]

    Source: `jax.jacfwd`.
    """
    check_function(f, "jacfwd", "jacfwd(f)(x)", DerivativeError)

    @entry
    @functools.wraps(f)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        call = Differentiated(f, argnums, args, kwargs, has_aux, "jacfwd")
        ys, leaves, aux = call.results, tree.uops(call.leaves), call.aux
        if not call.values or not ys:
            return _result(call, [() for _ in ys], aux, has_aux)
        with transforming(call.levels):
            columns = vmap(lambda basis: push_tangents(ys, leaves, [d.uop for d in basis]), out_axes=-1)(
                _basis(call.values)
            )
        record_derivative("Jacobian", f, tuple(tree.uops(columns)))
        return _result(call, [_split_jacobian(j, call.values, -1) for j in columns], aux, has_aux)

    return jacobian


@overload
def jacrev(
    f: Callable[Concatenate[Vec[S], P], R], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[Vec[S], P], R]: ...
@overload
def jacrev(
    f: Callable[Concatenate[Tensor, P], R], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[Tensor, P], R]: ...
@overload
def jacrev(f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[P, Any]: ...
@check_calls
def jacrev(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `f` in reverse mode: one row per element of `f(x)`, by one vmap.

    Args:
        f: A function that returns a tree of tensors.
        argnums: The position of the argument to differentiate with respect to, or a tuple of positions.
        has_aux: Whether `f` returns a pair whose second part is not differentiated.

    Returns:
        The same as `jacfwd(f)`; prefer it if `f` has more inputs than outputs.

    Raises:
        DerivativeError: An argument is not of floats, or a cotangent does not fit its result.

    Example:
        >>> from branded import jacrev
        >>> from tinygrad import Tensor
        >>> jacrev(lambda x: x.sum().square())(Tensor([1.0, 2.0])).tolist()
        [6.0, 6.0]

    Source: `jax.jacrev`.
    """
    check_function(f, "jacrev", "jacrev(f)(x)", DerivativeError)

    @entry
    @functools.wraps(f)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        call = Differentiated(f, argnums, args, kwargs, has_aux, "jacrev")
        ys, leaves, aux = call.results, tree.uops(call.leaves), call.aux
        if not call.values or not ys:
            return _result(call, [() for _ in ys], aux, has_aux)
        with transforming(call.levels):
            us = tree.uops(ys)
            by_argument = vmap(lambda basis: tensors(pull_back(us, [d.uop for d in basis], leaves)[0]))(_basis(ys))
            aux = tree.with_uops(aux, in_reverse(tree.uops(aux), leaves))
        record_derivative("Jacobian", f, tuple(tree.uops(by_argument)))
        return _result(call, zip(*(_split_jacobian(j, ys, 0) for j in by_argument), strict=True), aux, has_aux)

    return jacobian


@overload
def hessian(
    f: Callable[Concatenate[Vec[S], P], R], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[Vec[S], P], R]: ...
@overload
def hessian(
    f: Callable[Concatenate[Tensor, P], R], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[Tensor, P], R]: ...
@overload
def hessian(f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[P, Any]: ...
@check_calls
def hessian(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the second derivatives of `f`: `jacfwd(jacrev(f))`, forward over reverse.

    Args:
        f: A function that returns a tree of tensors.
        argnums: The position of the argument to differentiate with respect to, or a tuple of positions.
        has_aux: Whether `f` returns a pair whose second part is not differentiated.

    Returns:
        A function of the same arguments. For a result of shape `m` and an argument of shape `n` it returns a tensor of
        shape `m + n + n`.

    Raises:
        DerivativeError: An argument is not of floats, or a cotangent does not fit its result.

    Example:
        >>> from branded import hessian
        >>> from tinygrad import Tensor
        >>> hessian(lambda x: x[0] * x[0] * x[1])(Tensor([1.0, 3.0])).tolist()
        [[6.0, 2.0], [2.0, 0.0]]

    Source: `jax.hessian`.
    """
    second: Callable[..., Any] = jacfwd(jacrev(f, argnums, has_aux), argnums, has_aux)
    return second
