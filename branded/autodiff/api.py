"""Derivatives: grad, vjp and jvp, in any order and under any nesting with vmap."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, TypeVarTuple, Unpack, overload

from tinygrad import Tensor, dtypes
from tinygrad.dtype import strong_dtype
from tinygrad.uop.ops import UOp

from branded import tree
from branded.autodiff.ad_call import Argnums, Differentiated, push_tangents
from branded.autodiff.leaves import transforming
from branded.autodiff.results import without_leaves
from branded.autodiff.reverse import in_reverse, pull_back
from branded.core.boundary import live_tensor
from branded.core.brand import Brand
from branded.core.entry import entry
from branded.core.tracing.recording import record_derivative
from branded.core.validation.arguments import check_function
from branded.core.values import vec_type
from branded.errors import DerivativeError
from branded.errors.calls import check_calls
from branded.graph.uops import tensor, tensors
from branded.vec import Vec

if TYPE_CHECKING:
    from branded.vec import Lambda, Tree

A = TypeVar("A")
R = TypeVar("R")
X = TypeVar("X")
V = TypeVar("V")
P = ParamSpec("P")
Ts = TypeVarTuple("Ts")
S = TypeVar("S", bound=Brand)


@overload
def value_and_grad(
    f: Lambda[Tree], argnums: Argnums = 0, has_aux: Literal[False] = False
) -> Callable[..., tuple[Tensor, Any]]: ...
@overload
def value_and_grad(  # type: ignore[overload-overlap]
    f: Callable[Concatenate[Vec[S], P], R], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[Vec[S], P], tuple[R, R]]: ...
@overload
def value_and_grad(  # type: ignore[overload-overlap]
    f: Callable[Concatenate[Vec[S], P], tuple[V, X]], argnums: Literal[0] = 0, *, has_aux: Literal[True]
) -> Callable[Concatenate[Vec[S], P], tuple[tuple[V, X], V]]: ...
@overload
def value_and_grad(  # type: ignore[overload-overlap]
    f: Callable[Concatenate[A, P], tuple[V, X]], argnums: Literal[0] = 0, *, has_aux: Literal[True]
) -> Callable[Concatenate[A, P], tuple[tuple[V, X], A]]: ...
@overload
def value_and_grad(  # type: ignore[overload-overlap]
    f: Callable[Concatenate[float, P], R], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[float, P], tuple[R, R]]: ...
@overload
def value_and_grad(  # type: ignore[overload-overlap]
    f: Callable[Concatenate[A, P], R], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[A, P], tuple[R, A]]: ...
@overload
def value_and_grad(f: Callable[P, R], argnums: Argnums, has_aux: bool = False) -> Callable[P, tuple[R, Any]]: ...
@check_calls
def value_and_grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes `(f(x), grad(f)(x))` in one pass.

    Args:
        f: A function that returns one float (`f32[]`), or with `has_aux` a pair of the float and any other value.
        argnums: The position of the argument to differentiate with respect to, or a tuple of positions.
        has_aux: Whether `f` returns a pair.

    Returns:
        A function of the same arguments. It returns the value (a pair, with `has_aux`) and the gradient, in the tree,
        shapes and dtypes of the argument.

    Raises:
        DerivativeError: The argument is not of floats, `argnums` is out of range, or `f` does not return one float.

    Example:
        >>> from branded import value_and_grad
        >>> from tinygrad import Tensor
        >>> value, slope = value_and_grad(lambda x: x.square().sum())(Tensor([1.0, 2.0]))
        >>> value.item(), slope.tolist()
        (5.0, [2.0, 4.0])

    Source: `jax.value_and_grad`.
    """
    return _value_and_grad(f, argnums, has_aux, "value_and_grad")


def _value_and_grad(f: Callable[..., Any], argnums: Argnums, has_aux: bool, api_name: str) -> Callable[..., Any]:
    check_function(f, api_name, f"{api_name}(f)(x)", DerivativeError)

    @entry
    @functools.wraps(f)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        call = Differentiated(f, argnums, args, kwargs, has_aux, api_name)
        value, ys, aux = call.value, call.results, call.aux
        if len(ys) != 1 or isinstance(value, tuple | list | dict) or ys[0].shape or not dtypes.is_float(ys[0].dtype):
            raise DerivativeError(
                f"{api_name}: the function must return a scalar, and it returned {tree.outline(value)}",
                fix="reduce it, for example with .sum(), or use jacrev for the Jacobian",
            )
        y, leaves = ys[0].uop, tree.uops(call.leaves)
        with transforming(call.levels):
            grads, (y, *others) = pull_back([y], [y.const_like(1)], leaves, tree.uops(aux))
            aux = tree.with_uops(aux, in_reverse(others, leaves))
        record_derivative("gradient", f, tuple(grads))
        out = tree.rebuild(call.wrt, iter(tensors(grads)))
        return without_leaves(((tensor(y), aux) if has_aux else tensor(y), out), call.outside)

    return differentiated


@overload
def grad(f: Lambda[Tree], argnums: Argnums = 0, has_aux: Literal[False] = False) -> Callable[..., Any]: ...
@overload
def grad(
    f: Callable[Concatenate[Vec[S], P], R], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[Vec[S], P], R]: ...
@overload
def grad(
    f: Callable[Concatenate[Vec[S], P], tuple[V, X]], argnums: Literal[0] = 0, *, has_aux: Literal[True]
) -> Callable[Concatenate[Vec[S], P], tuple[V, X]]: ...
@overload
def grad(
    f: Callable[Concatenate[A, P], tuple[V, X]], argnums: Literal[0] = 0, *, has_aux: Literal[True]
) -> Callable[Concatenate[A, P], tuple[A, X]]: ...
@overload
def grad(
    f: Callable[Concatenate[float, P], R], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[float, P], R]: ...
@overload
def grad(
    f: Callable[Concatenate[A, P], Any], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[A, P], A]: ...
@overload
def grad(f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[P, Any]: ...
@check_calls
def grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of the scalar `f(x)` with respect to `x`.

    Under vmap it is a gradient per example, even with respect to a shared argument.

    Args:
        f: A function that returns one float (`f32[]`), or with `has_aux` a pair of the float and any other value.
        argnums: The position of the argument to differentiate with respect to, or a tuple of positions.
        has_aux: Whether `f` returns a pair.

    Returns:
        A function of the same arguments. It returns the gradient, in the tree, shapes and dtypes of the argument, or a
        tuple of gradients if `argnums` is a tuple. With `has_aux` it returns a pair of the gradient and the auxiliary
        value.

    Raises:
        DerivativeError: The argument is not of floats, `argnums` is out of range, or `f` does not return one float.

    Example:
        >>> from branded import grad, vmap
        >>> from tinygrad import Tensor
        >>> def loss(w, x): return (w * x).sum().square()
        >>> w, X = Tensor([1.0, 2.0]), Tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> vmap(grad(loss), in_axes=(None, 0))(w, X).tolist()
        [[2.0, 0.0], [0.0, 4.0]]

    Source: `jax.grad`.
    """
    run = _value_and_grad(f, argnums, has_aux, "grad")

    @functools.wraps(f)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        value, grads = run(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return differentiated


@overload
def vjp(
    f: Callable[[Unpack[Ts]], R], *primals: *Ts, has_aux: Literal[False] = False
) -> tuple[R, Callable[[R], tuple[*Ts]]]: ...
@overload
def vjp(
    f: Callable[[Unpack[Ts]], tuple[R, X]], *primals: *Ts, has_aux: Literal[True]
) -> tuple[R, Callable[[R], tuple[*Ts]], X]: ...
@entry  # type: ignore[misc]
def vjp(f: Any, *primals: Any, has_aux: bool = False) -> Any:
    """Compute `y = f(x)` and its pullback, the linear map `ct -> ctᵀ J`.

    Args:
        f: A function of trees of float tensors that returns a tree of tensors.
        primals: The arguments of `f`.
        has_aux: Whether `f` returns a pair whose second part is not differentiated.

    Returns:
        The value `f(*primals)` and `pullback`. The pullback takes a cotangent like the value and returns a tuple of
        cotangents like `primals`; it may be called any number of times. With `has_aux` also the auxiliary value.

    Raises:
        DerivativeError: An argument is not of floats, or a cotangent does not fit its result.

    Example:
        >>> from branded import vjp
        >>> from tinygrad import Tensor
        >>> y, pullback = vjp(lambda x: x * x, Tensor([1.0, 2.0]))
        >>> pullback(Tensor([1.0, 10.0]))[0].tolist()
        [2.0, 40.0]

    Source: `jax.vjp`.
    """
    check_function(f, "vjp", "vjp(f)(x)", DerivativeError)
    call = Differentiated(f, tuple(range(len(primals))), primals, {}, has_aux, "vjp")
    y, ys = call.value, call.results

    @entry
    def pullback(*cotangents: Any) -> Any:
        if len(cotangents) != 1:
            raise DerivativeError(
                f"vjp: the pullback takes one cotangent, not {len(cotangents)}",
                fix="pass one pytree with the structure of the result",
            )
        (ct,) = cotangents
        cts = _like(ct, y, ys, "vjp", "cotangent", "result")
        with transforming(call.levels):
            grads, _ = pull_back(tree.uops(ys), cts, tree.uops(call.leaves))
        record_derivative("gradient", f, tuple(grads))
        return without_leaves(tree.rebuild(call.wrt, iter(tensors(grads))), call.outside)

    with transforming(call.levels):
        values = in_reverse(tree.uops((ys, call.aux)), tree.uops(call.leaves))
    out = without_leaves(tree.rebuild(y, iter(tensors(values[: len(ys)]))), call.outside)
    aux = without_leaves(tree.with_uops(call.aux, values[len(ys) :]), call.outside)
    return (out, pullback, aux) if has_aux else (out, pullback)


def _like(vectors: Any, wanted: Any, ts: Sequence[Tensor], api_name: str, kind: str, side: str) -> list[UOp]:
    """Return the leaves of tangents or cotangents; raise if a tree, shape or dtype differs from the values."""
    xs, paths = tree.leaves(vectors), tree.paths(wanted, "the result" if side == "result" else "primals")
    if tree.paths(vectors, "") != tree.paths(wanted, ""):
        raise DerivativeError(
            f"{api_name}: the {kind} has another structure than the {side}",
            (kind, tree.outline(vectors)),
            (side, tree.outline(wanted)),
            fix=f"pass one {kind} for each tensor of the {side}",
        )
    out = []
    for x, t, name in zip(xs, ts, paths, strict=True):
        v = live_tensor(x, f"{api_name}: the {kind} of {name}", DerivativeError, "pass tensors and numbers")
        dtype = strong_dtype(t.dtype) if dtypes.is_float(t.dtype) else dtypes.default_float
        if v.dtype in dtypes.weaks or not dtypes.is_float(t.dtype):
            v = v.cast(dtype)
        if v.shape != t.shape or v.dtype != dtype:
            raise DerivativeError(
                f"{api_name}: the {kind} of {name} has another shape or dtype",
                (kind, vec_type(v)),
                (side, vec_type(t)),
                fix="use the same shape and dtype",
            )
        out.append(v.uop)
    return out


@overload
def jvp(
    f: Callable[[Unpack[Ts]], R], primals: tuple[*Ts], tangents: tuple[*Ts], has_aux: Literal[False] = False
) -> tuple[R, R]: ...
@overload
def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]: ...
@entry
def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """Compute `y = f(x)` and its directional derivative `J dx`.

    Forward mode has a rule for each primitive of tinygrad and makes one pass over the graph.

    Args:
        f: A function of trees of float tensors that returns a tree of tensors.
        primals: A tuple of the arguments of `f`.
        tangents: A tuple like `primals`.
        has_aux: Whether `f` returns a pair whose second part is not differentiated.

    Returns:
        `f(*primals)` and its tangent, in the same tree. With `has_aux` also the auxiliary value.

    Raises:
        DerivativeError: An argument is not of floats, or a tangent does not fit its primal.

    Example:
        >>> from branded import jvp
        >>> from tinygrad import Tensor
        >>> y, dy = jvp(lambda x: x * x, (Tensor([1.0, 2.0]),), (Tensor([1.0, 10.0]),))
        >>> dy.tolist()
        [2.0, 40.0]

    Source: `jax.jvp`; JAX's autodidax, for forward mode as one interpreter.
    """
    check_function(f, "jvp", "jvp(f)(x)", DerivativeError)
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise DerivativeError("jvp: primals and tangents must be tuples", fix="jvp(f, (x,), (dx,))")
    call = Differentiated(f, tuple(range(len(primals))), tuple(primals), {}, has_aux, "jvp")
    dxs = _like(tuple(tangents), tuple(primals), call.values, "jvp", "tangent", "primal")
    with transforming(call.levels):
        dys = push_tangents(call.results, tree.uops(call.leaves), dxs)
    record_derivative("tangent", f, tuple(d.uop for d in dys))
    out = without_leaves((call.value, tree.rebuild(call.value, iter(dys)), call.aux), call.outside)
    return out if has_aux else out[:2]


@entry
def stop_gradient(x: A) -> A:
    """Return `x` as a constant for every derivative: tinygrad's `detach`, for trees.

    Args:
        x: A tensor, or a tree of tensors.

    Returns:
        The same values; every derivative with respect to them is zero.

    Example:
        >>> from branded import grad, stop_gradient
        >>> from tinygrad import Tensor
        >>> grad(lambda x: x * stop_gradient(x))(Tensor(3.0)).item()
        3.0

    Source: `jax.lax.stop_gradient`.
    """
    out: A = tree.rebuild(x, iter([t.detach() if isinstance(t, Tensor) else t for t in tree.leaves(x)]))
    return out
