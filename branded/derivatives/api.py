"""Derivatives: grad, vjp, jvp, Jacobians and Hessians, in any order and under any nesting with vmap."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, TypeVarTuple, Unpack, overload

from tinygrad import Tensor, dtypes
from tinygrad.dtype import strong_dtype
from tinygrad.uop.ops import UOp

from branded import tree
from branded.brand import Brand
from branded.crossing import live_tensor, live_tensors, lower
from branded.derivatives.apart import transposed
from branded.derivatives.forward import push
from branded.derivatives.leaves import Level, differentiated_from, in_reverse, kept, leaf, plain, pull, transforming
from branded.derivatives.ruled import check_transposed
from branded.errors import DerivativeError
from branded.graph import tensor
from branded.rows import no_change
from branded.scope import open_brands
from branded.tree.given import called, check_function
from branded.values import vec_type
from branded.vec import Vec
from branded.vmap import vmap

A = TypeVar("A")
R = TypeVar("R")
X = TypeVar("X")
V = TypeVar("V")
P = ParamSpec("P")
Ts = TypeVarTuple("Ts")
S = TypeVar("S", bound=Brand)
Argnums = int | Sequence[int]
"""The position of one argument, or those of several."""

# ---- arguments and results ----


def _real(x: Any, what: str, where: str) -> Tensor:
    """A leaf of an argument as a tensor of floats."""
    t = live_tensor(x, f"{what}: {where}", DerivativeError, but="; derivatives are with respect to float tensors")
    if not dtypes.is_float(t.dtype):
        raise DerivativeError(
            f"{what}: {where} is {tree.describe(x)}; derivatives are with respect to floats",
            fix="cast it to float32, or leave it out of argnums",
        )
    return t.cast(strong_dtype(t.dtype))


def _positions(argnums: Any, args: Sequence[Any], what: str) -> tuple[int, ...]:
    found = []
    for i in map(tree.as_int, argnums if isinstance(argnums, tuple | list) else (argnums,)):
        if i is None or not -len(args) <= i < len(args):
            raise DerivativeError(
                f"{what}: argnums={tree.shown(argnums)} for a call with {len(args)} positional "
                f"argument{'' if len(args) == 1 else 's'}",
                fix="the positions of the arguments to differentiate with respect to, counted from 0",
            )
        found.append(i % len(args))
    if len(set(found)) < len(found):
        raise DerivativeError(
            f"{what}: argnums={tree.shown(argnums)} names an argument twice", fix="each position once"
        )
    return tuple(found)


class _Differentiated:
    """A call of `f` with leaves for those arguments that it is differentiated with respect to."""

    def __init__(self, f: Callable[..., Any], argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any], what: str):
        self.what = what
        nums = _positions(argnums, args, what)
        self.single = not isinstance(argnums, tuple | list)
        self.wrt = [args[i] for i in nums]
        self.names = [p for i in nums for p in tree.paths(args[i], f"argument {i + 1}")]
        values = [v for x in self.wrt for v in tree.leaves(x)]
        self.values = [_real(v, what, name) for v, name in zip(values, self.names, strict=True)]
        given = [leaf(v) for v in self.values]
        # tensors of our own: the function may write into its, and tinygrad's realize renames the graph of all
        self._leaves = [tensor(t.uop) for t in given]
        new = iter(given)
        full = list(args)
        for i in nums:
            full[i] = tree.rebuild(args[i], new)
        self.levels: list[Level] = [t.uop.arg for t in given]
        own = differentiated_from(next(UOp.unique_num))
        with transforming(self.levels), kept(self._leaves), own:
            self.out = called(f, full, kwargs, what, "a function with a parameter for each argument")

    @property
    def leaves(self) -> list[UOp]:
        return [t.uop for t in self._leaves]

    def split(self, has_aux: bool) -> tuple[Any, Any]:
        if not has_aux:
            return self.out, None
        if not isinstance(self.out, tuple) or len(self.out) != 2:
            raise DerivativeError(
                f"{self.what}: has_aux=True, and the function returned {tree.describe(self.out)}",
                fix="return a pair: the value, and whatever else",
            )
        return self.out

    def without_entries(self, y: Any, aux: Any, has_aux: bool) -> Any:
        """A Jacobian of nothing, or with respect to nothing: trees without a tensor."""
        out = _results((tree.rebuild(y, iter([self.like_arguments(()) for _ in tree.leaves(y)])), aux))
        return out if has_aux else out[0]

    def like_arguments(self, grads: Iterable[Tensor]) -> Any:
        """Derivatives in the trees of the arguments."""
        new = iter(grads)
        out = tuple(tree.rebuild(x, new) for x in self.wrt)
        return out[0] if self.single else out


def _outputs(y: Any, what: str) -> list[Tensor]:
    return live_tensors(y, f"{what}: the result", DerivativeError, "return tensors; others with has_aux=True")


def _tensors(us: Iterable[UOp]) -> list[Tensor]:
    return [tensor(u) for u in us]


def _uops(x: Any) -> list[UOp]:
    """Those of the tensors in a tree of anything."""
    return [v.uop for v in tree.leaves(x) if isinstance(v, Tensor)]


def _with_tensors(x: Any, us: Sequence[UOp]) -> Any:
    """The same tree with other tensors."""
    new = iter(us)
    leaves = (tensor(next(new)) if isinstance(v, Tensor) else v for v in tree.leaves(x))
    return tree.rebuild(x, leaves) if us else x


def _results(y: Any) -> Any:
    """What the user gets: the same tree without leaves."""
    ts = [x for x in tree.leaves(y) if isinstance(x, Tensor)]
    new = dict(zip(map(id, ts), plain([t.uop for t in ts]), strict=True))
    out = (x if not isinstance(x, Tensor) or new[id(x)] is x.uop else tensor(new[id(x)]) for x in tree.leaves(y))
    return tree.rebuild(y, out)


# ---- reverse mode ----


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
def value_and_grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """`value_and_grad(f)(x)` is `(f(x), grad(f)(x))`, computed together.

    Args:
        f: A function that returns one float (`f32[]`), or with `has_aux` a pair of it and anything else.
        argnums: The position of the argument to differentiate with respect to, or a tuple of positions.
        has_aux: Does `f` return a pair?

    Returns:
        A function of the same arguments that gives the value (with `has_aux` the pair) and the gradient, in the tree,
        the shapes and the dtypes of the argument.

    Raises:
        DerivativeError: As for `grad`.

    Example:
        >>> from branded import value_and_grad
        >>> from tinygrad import Tensor
        >>> value, slope = value_and_grad(lambda x: x.square().sum())(Tensor([1.0, 2.0]))
        >>> value.item(), slope.tolist()
        (5.0, [2.0, 4.0])

    Source: `jax.value_and_grad`.
    """
    return _value_and_grad(f, argnums, has_aux, "value_and_grad")


def _value_and_grad(f: Callable[..., Any], argnums: Argnums, has_aux: bool, what: str) -> Callable[..., Any]:
    _check_function(f, what)

    @functools.wraps(f)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        call = _Differentiated(f, argnums, args, kwargs, what)
        value, aux = call.split(has_aux)
        ys = _outputs(value, what)
        if len(ys) != 1 or isinstance(value, tuple | list | dict) or ys[0].shape or not dtypes.is_float(ys[0].dtype):
            raise DerivativeError(
                f"{what}: the function must return one float, and it returned {tree.outline(value)}",
                fix="reduce it, for example with .sum(); jacrev or jacfwd for the derivative of a tensor",
            )
        y = ys[0]
        with transforming(call.levels):
            grads, (value, *others) = pull([y.uop], [y.uop.const_like(1)], call.leaves, _uops(aux))
            aux = _with_tensors(aux, in_reverse(others, call.leaves))
        y, out = tensor(value), call.like_arguments(_tensors(grads))
        return _results(((y, aux) if has_aux else y, out))

    return differentiated


def _check_function(f: Any, what: str) -> None:
    check_function(f, what, f"{what}(f)(x)", DerivativeError)


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
def grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """`grad(f)(x)` is the gradient of the number `f(x)` with respect to `x`.

    Under vmap it is that of each example, also with respect to what the examples share.

    Args:
        f: A function that returns one float (`f32[]`), or with `has_aux` a pair of it and anything else.
        argnums: The position of the argument to differentiate with respect to, or a tuple of positions.
        has_aux: Does `f` return a pair?

    Returns:
        A function of the same arguments that gives the gradient, in the tree, the shapes and the dtypes of the
        argument: a tuple of gradients where `argnums` is a tuple, and with `has_aux` a pair with what `f` gave besides.

    Raises:
        DerivativeError: The argument is not of floats, `argnums` is out of range, or `f` returns something else.

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
def vjp(f: Any, *primals: Any, has_aux: bool = False) -> Any:  # type: ignore[misc]
    """`y, pullback = vjp(f, x)`: the value, and the linear map `ct -> ctᵀ J`.

    Args:
        f: A function of trees of float tensors that returns a tree of tensors.
        primals: Its arguments.
        has_aux: Does `f` return a pair, of which the second part is not differentiated?

    Returns:
        `y`, which is `f(*primals)`, and `pullback`, which takes a cotangent like `y` and gives a tuple of cotangents
        like `primals`; it may be called any number of times.  With `has_aux` also what `f` gave besides.

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
    _check_function(f, "vjp")
    call = _Differentiated(f, tuple(range(len(primals))), primals, {}, "vjp")
    y, aux = call.split(has_aux)
    ys = _outputs(y, "vjp")

    def pullback(*cotangents: Any) -> Any:
        if len(cotangents) != 1:
            raise DerivativeError(
                f"vjp: the pullback takes one cotangent, and got {len(cotangents)}", fix="one tree like the result"
            )
        (ct,) = cotangents
        cts = _like(ct, y, ys, "vjp", "cotangent", "result")
        with transforming(call.levels):
            grads, _ = pull([t.uop for t in ys], cts, call.leaves)
        return _results(call.like_arguments(_tensors(grads)))

    with transforming(call.levels):
        values = in_reverse([*(t.uop for t in ys), *_uops(aux)], call.leaves)
    out = _results(tree.rebuild(y, iter(_tensors(values[: len(ys)]))))
    aux = _with_tensors(aux, values[len(ys) :])
    return (out, pullback, _results(aux)) if has_aux else (out, pullback)


def _like(given: Any, wanted: Any, ts: Sequence[Tensor], what: str, kind: str, of: str) -> list[UOp]:
    """The leaves of tangents or cotangents, which must have the tree, the shapes and the dtypes of the values."""
    xs, at = tree.leaves(given), tree.paths(wanted, "the result" if of == "result" else "primals")
    if tree.paths(given, "") != tree.paths(wanted, ""):
        raise DerivativeError(
            f"{what}: the {kind} has another tree than the {of}",
            (kind, tree.outline(given)),
            (of, tree.outline(wanted)),
            fix=f"a {kind} for each tensor of the {of}",
        )
    out = []
    for x, t, name in zip(xs, ts, at, strict=True):
        v = live_tensor(x, f"{what}: the {kind} of {name}", DerivativeError)
        dtype = strong_dtype(t.dtype) if dtypes.is_float(t.dtype) else dtypes.default_float
        if v.dtype in dtypes.weaks or not dtypes.is_float(t.dtype):
            v = v.cast(dtype)
        if v.shape != t.shape or v.dtype != dtype:
            raise DerivativeError(
                f"{what}: the {kind} of {name} does not fit it",
                (kind, vec_type(v)),
                (of, vec_type(t)),
                fix="the same shape and dtype",
            )
        out.append(v.uop)
    return out


# ---- forward mode ----


@overload
def jvp(
    f: Callable[[Unpack[Ts]], R],
    primals: tuple[*Ts],
    tangents: tuple[*Ts],
    has_aux: Literal[False] = False,
) -> tuple[R, R]: ...
@overload
def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]: ...
def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """`y, dy = jvp(f, (x,), (dx,))`: the value, and its directional derivative `J dx`.

    Forward mode has a rule for each primitive of tinygrad; it is one pass over the graph.

    Args:
        f: A function of trees of float tensors that returns a tree of tensors.
        primals: A tuple of its arguments.
        tangents: A tuple like `primals`.
        has_aux: Does `f` return a pair, of which the second part is not differentiated?

    Returns:
        `f(*primals)` and its tangent, of the same tree; with `has_aux` also what `f` gave besides.

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
    _check_function(f, "jvp")
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise DerivativeError("jvp: primals and tangents are tuples", fix="jvp(f, (x,), (dx,))")
    call = _Differentiated(f, tuple(range(len(primals))), tuple(primals), {}, "jvp")
    dxs = _like(tuple(tangents), tuple(primals), call.values, "jvp", "tangent", "primal")
    y, aux = call.split(has_aux)
    ys = _outputs(y, "jvp")
    with transforming(call.levels):
        dys = _push(ys, call.leaves, dxs)
    out = _results((y, tree.rebuild(y, iter(dys)), aux))
    return out if has_aux else out[:2]


def _push(ys: Sequence[Tensor], leaves: Sequence[UOp], dxs: Sequence[UOp]) -> list[Tensor]:
    # a rule of the user's sees no brand that was closed before; what is below a leaf may have left one too
    lowered = lower([*(t.uop for t in ys), *leaves], open_brands())
    values, leaves = lowered[: len(ys)], lowered[len(ys) :]
    tangents = dict(zip(leaves, dxs, strict=True))
    if transposed.get():  # who transposes this looks at what is left
        ds = push(values, tangents)
    else:
        with transposed.during(level := Level()):
            ds = push(values, tangents)
        check_transposed([d for d in ds if d is not None], level)
    return [tensor(no_change(t.uop) if d is None else d) for t, d in zip(ys, ds, strict=True)]


# ---- Jacobians ----


def _basis(ts: Sequence[Tensor]) -> list[Tensor]:
    """The standard basis of all these tensors together: a leading axis, one entry for each element."""
    total, out, at = sum(t.numel() for t in ts), [], 0
    for t in ts:
        n = t.numel()
        dtype = strong_dtype(t.dtype) if dtypes.is_float(t.dtype) else dtypes.default_float
        eye = Tensor.eye(n, dtype=dtype).pad(((at, total - at - n), (0, 0)))
        out.append(eye.reshape((total, *t.shape)))
        at += n
    return out


def _split(j: Tensor, ts: Sequence[Tensor], axis: int) -> list[Tensor]:
    """A Jacobian over all elements together, one for each tensor: the axis `axis` (0 or -1) becomes their shapes."""
    out, at = [], 0
    for t in ts:
        n = t.numel()
        if axis == 0:
            out.append(j[at : at + n].reshape((*t.shape, *j.shape[1:])))
        else:
            out.append(j[..., at : at + n].reshape((*j.shape[:-1], *t.shape)))
        at += n
    return out


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
def jacfwd(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """`jacfwd(f)(x)` is the Jacobian of `f` at `x`, in forward mode: one column for each element of `x`, by one vmap.

    Args:
        f: A function that returns a tree of tensors.
        argnums: The position of the argument to differentiate with respect to, or a tuple of positions.
        has_aux: Does `f` return a pair, of which the second part is not differentiated?

    Returns:
        A function of the same arguments: for each tensor of the result, of shape `m`, and each of the argument, of
        shape `n`, a tensor of shape `m + n`.  It is one graph, however large `x` is.

    Raises:
        DerivativeError: As for `jvp`.

    Example:
        >>> from branded import jacfwd
        >>> from tinygrad import Tensor
        >>> jacfwd(lambda x: x.cumsum())(Tensor([1.0, 2.0])).tolist()
        [[1.0, 0.0], [1.0, 1.0]]

    Source: `jax.jacfwd`.
    """
    _check_function(f, "jacfwd")

    @functools.wraps(f)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        call = _Differentiated(f, argnums, args, kwargs, "jacfwd")
        y, aux = call.split(has_aux)
        ys = _outputs(y, "jacfwd")
        if not call.values or not ys:
            return call.without_entries(y, aux, has_aux)
        with transforming(call.levels):
            columns = vmap(lambda basis: _push(ys, call.leaves, [d.uop for d in basis]), out_axes=-1)(
                _basis(call.values)
            )
        rows = [call.like_arguments(_split(j, call.values, -1)) for j in columns]
        out = _results((tree.rebuild(y, iter(rows)), aux))
        return out if has_aux else out[0]

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
def jacrev(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """`jacrev(f)(x)` is the Jacobian of `f` at `x`, in reverse mode: one row for each element of `f(x)`, by one vmap.

    Args:
        f: A function that returns a tree of tensors.
        argnums: The position of the argument to differentiate with respect to, or a tuple of positions.
        has_aux: Does `f` return a pair, of which the second part is not differentiated?

    Returns:
        The same as `jacfwd(f)`: it is better where `f` has more inputs than outputs.

    Raises:
        DerivativeError: As for `vjp`.

    Example:
        >>> from branded import jacrev
        >>> from tinygrad import Tensor
        >>> jacrev(lambda x: x.sum().square())(Tensor([1.0, 2.0])).tolist()
        [6.0, 6.0]

    Source: `jax.jacrev`.
    """
    _check_function(f, "jacrev")

    @functools.wraps(f)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        call = _Differentiated(f, argnums, args, kwargs, "jacrev")
        y, aux = call.split(has_aux)
        ys = _outputs(y, "jacrev")
        if not call.values or not ys:
            return call.without_entries(y, aux, has_aux)
        with transforming(call.levels):
            us = [t.uop for t in ys]
            by_argument = vmap(lambda basis: _tensors(pull(us, [d.uop for d in basis], call.leaves)[0]))(_basis(ys))
            aux = _with_tensors(aux, in_reverse(_uops(aux), call.leaves))
        rows = zip(*(_split(j, ys, 0) for j in by_argument), strict=True)
        out = _results((tree.rebuild(y, iter([call.like_arguments(r) for r in rows])), aux))
        return out if has_aux else out[0]

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
def hessian(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """`hessian(f)(x)` is `jacfwd(jacrev(f))(x)`, the second derivatives of `f` at `x`: forward over reverse.

    Args:
        f: A function that returns a tree of tensors, most often one number.
        argnums: The position of the argument to differentiate with respect to, or a tuple of positions.
        has_aux: Does `f` return a pair, of which the second part is not differentiated?

    Returns:
        A function of the same arguments: for a result of shape `m` and an argument of shape `n`, a tensor of shape
        `m + n + n`.

    Raises:
        DerivativeError: As for `jvp` and `vjp`.

    Example:
        >>> from branded import hessian
        >>> from tinygrad import Tensor
        >>> hessian(lambda x: x[0] * x[0] * x[1])(Tensor([1.0, 3.0])).tolist()
        [[6.0, 2.0], [2.0, 0.0]]

    Source: `jax.hessian`.
    """
    second: Callable[..., Any] = jacfwd(jacrev(f, argnums, has_aux), argnums, has_aux)
    return second


def stop_gradient(x: A) -> A:
    """`x`, as a constant to every derivative: tinygrad's `detach`, of a tree.

    Args:
        x: A tensor, or a tree of them.

    Returns:
        The same values, of which every derivative is zero.

    Example:
        >>> from branded import grad, stop_gradient
        >>> from tinygrad import Tensor
        >>> grad(lambda x: x * stop_gradient(x))(Tensor(3.0)).item()
        3.0

    Source: `jax.lax.stop_gradient`.
    """
    out: A = tree.rebuild(x, iter([t.detach() if isinstance(t, Tensor) else t for t in tree.leaves(x)]))
    return out
