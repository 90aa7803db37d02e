"""Forward mode: one pass over a graph computes tangents, with a rule for each primitive.

A rule takes the operation and the tangents of its operands, with None for an operand without a tangent. It returns the
tangent of the result. The pass skips values that do not depend on the differentiated inputs.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.core import boundary
from branded.core.analysis.aliasing import apply_views, part, write_view
from branded.core.boundary import copy_for_examples, stage
from branded.core.tracing.closure_conversion import with_arguments
from branded.core.tracing.effect_tokens import derivative_block
from branded.errors import UnsupportedError
from branded.graph.primitive import at_slot, params, primitive_of, results
from branded.graph.rows import is_differentiated, row_of, type_text
from branded.graph.scope import brand_of, scope_at
from branded.graph.tags import is_symbolic_zero, is_tagged
from branded.graph.uops import again, is_float, on_device, tensor
from branded.tinygrad_compat.private_api import broadcast_to, reduce_axes
from branded.tinygrad_compat.uops import is_inexact

Tangent = UOp | None
Push = Callable[..., Tangent]

_table: dict[Ops, Push] = {}


def tangent(*ops: Ops) -> Callable[[Push], Push]:
    """Register a rule for operations: `(u, *tangents of its operands) -> tangent of u`."""

    def register(f: Push) -> Push:
        _table.update(dict.fromkeys(ops, f))
        return f

    return register


def push_forward(roots: Sequence[UOp], tangents: Mapping[UOp, UOp]) -> list[Tangent]:
    """Return the tangents of `roots`, given the tangents of some of their inputs; None for a root without a tangent.

    This is one pass: it visits each operation once, whatever the number of roots.
    """
    t: dict[UOp, Any] = {u: None if is_symbolic_zero(d) else d for u, d in tangents.items()}
    for u in UOp(Ops.SINK, src=tuple(roots)).toposort(enter_calls=False):
        if u in t or u.op is Ops.SINK or all(t.get(s) is None for s in u.src):
            continue
        if u.op is Ops.FUNCTION:
            t[u] = _function(u, [t.get(s) for s in u.src[1:]])
        elif u.op is Ops.GETTUPLE:
            pushed, where = t[u.src[0]]
            if where[u.arg] is not None:
                t[u] = results(pushed)[where[u.arg]]
        elif (d := _one(u, [t.get(s) for s in u.src])) is not None:
            t[u] = d
    return [t.get(r) for r in roots]


def _one(u: UOp, ts: list[Tangent]) -> Tangent:
    if u.op in _FLAT or not (is_float(u) or u.dtype == dtypes.void):
        return None
    if (f := _table.get(u.op)) is None:
        raise UnsupportedError(
            f"jvp: {u.op.name} has no forward-mode rule",
            fix="use reverse mode, or register a rule with branded.autodiff.forward.tangent",
        )
    return f(u, *ts)


def zero(x: UOp) -> UOp:
    out: UOp = x.const_like(0)
    return out


def add(a: Tangent, b: Tangent) -> Tangent:
    return b if a is None else a if b is None else a + b


def _scale_tangent(d: Tangent, by: Callable[[], UOp]) -> Tangent:
    return None if d is None else d * by()


_FLAT = {Ops.DETACH, Ops.BITCAST, Ops.TRUNC, *GroupOp.Comparison}
"""Operations whose derivative is zero or undefined."""


@tangent(
    *GroupOp.Movement, *(Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD, Ops.COPY, Ops.UNSHARD, Ops.MSELECT, Ops.ALLREDUCE)
)
def linear(u: UOp, d: Tangent, *_: Tangent) -> Tangent:
    """Apply a linear operation to the tangent: d f(x) = f(dx). A leaf has the tangent of its value."""
    return d if d is None or is_tagged(u) else again(u, d, *u.src[1:])


@tangent(Ops.INDEX)
def index(u: UOp, d: Tangent, *_: Tangent) -> Tangent:
    """Index the tangent by the same index: d X[i] = dX[i], where the index is a brand or comes from user code."""
    if d is None:
        return None
    return u.replace(src=(d, *u.src[1:])) if brand_of(u.src[1]) is None else boundary.enter(d, scope_at(u))


@tangent(Ops.STAGE)
def stage_tangent(u: UOp, d: Tangent, *_: Tangent) -> Tangent:
    """Stack the tangents of all examples along the brand."""
    if d is None:
        return None
    b = scope_at(u)
    # a derivative of the tangent must see one copy for each example
    return stage(copy_for_examples(d, (b,)) if b not in row_of(d) and is_differentiated(d) else d, b)


@tangent(Ops.CALL)
def call(u: UOp, *_: Tangent) -> Tangent:
    raise UnsupportedError("jvp: a hand-written kernel has no derivative", fix="wrap the call in custom_jvp")


@tangent(Ops.CAST)
def cast(u: UOp, d: Tangent) -> Tangent:
    return None if d is None else d.cast(u.dtype)


@tangent(Ops.ADD)
def add_(u: UOp, a: Tangent, b: Tangent) -> Tangent:
    """Add the tangents in the shape of the sum: d(x + y) = dx + dy."""
    d = add(a, b)
    assert d is not None  # `push_forward` skips operations without tangents
    return d if d.shape == u.shape else broadcast_to(d, u.shape)


@tangent(Ops.MUL)
def mul(u: UOp, a: Tangent, b: Tangent) -> Tangent:
    """Apply the product rule: d(x y) = dx y + x dy."""
    x, y = u.src
    return add(_scale_tangent(a, lambda: y), _scale_tangent(b, lambda: x))


@tangent(Ops.RECIPROCAL)
def reciprocal(u: UOp, d: UOp) -> Tangent:
    """Compute d(1/x) = -dx / x², and 0 for infinite x, where dx may be infinite too (as when a sigmoid is 0)."""
    return -u.eq(0).where(zero(u), d) * u * u


@tangent(Ops.SIN)
def sin(u: UOp, d: UOp) -> Tangent:
    """Compute d sin x = cos x dx."""
    return cosine(u.src[0]) * d


def cosine(x: UOp) -> UOp:
    """Compute cos x as sin(π/2 - x). If x is π/2 - y, compute sin y instead, which keeps the digits of y."""
    out: UOp
    if x.op is Ops.ADD and x.src[0].base.op is Ops.CONST and math.isclose(x.src[0].base.val, math.pi / 2, rel_tol=1e-7):
        minus_y = x.src[1]
        if minus_y.op is Ops.MUL and minus_y.src[1].base.op is Ops.CONST and minus_y.src[1].base.val == -1:
            out = minus_y.src[0].sin()
            return out
    out = (math.pi / 2 - x).sin()
    return out


@tangent(Ops.LOG2)
def log2(u: UOp, d: UOp) -> Tangent:
    return d / (u.src[0] * math.log(2))


@tangent(Ops.EXP2)
def exp2(u: UOp, d: UOp) -> Tangent:
    return d * u * math.log(2)


@tangent(Ops.SQRT)
def sqrt(u: UOp, d: UOp) -> Tangent:
    return d / (u * 2)


@tangent(Ops.POW)
def pow_(u: UOp, a: Tangent, b: Tangent) -> Tangent:
    """Compute d(xⁿ) = n xⁿ⁻¹ dx + xⁿ log x dn."""
    return add(_scale_tangent(a, lambda: power_by_base(u)), _scale_tangent(b, lambda: power_by_exponent(u)))


def power_by_base(u: UOp) -> UOp:
    """Compute n xⁿ⁻¹, which is 0 for n = 0 and any x; its derivative with respect to n is then 1 / x."""
    x, n = u.src
    if n.base.op is Ops.CONST:
        return zero(u) if n.base.val == 0 else n * x.pow(n - 1)
    out: UOp = n * (n.eq(0) & x.eq(0)).where(x.const_like(1), x).pow(n - 1)
    return out


def power_by_exponent(u: UOp) -> UOp:
    """Compute xⁿ log x, or its limit where x is 0."""
    x, n = u.src
    base_is_zero = x.eq(0)
    at_zero = (n < 0).where(u.const_like(-math.inf), zero(u))
    out: UOp = base_is_zero.where(at_zero, u * base_is_zero.where(x.const_like(1), x).log2() * math.log(2.0))
    return out


@tangent(Ops.MAX)
def maximum(u: UOp, a: Tangent, b: Tangent) -> Tangent:
    """Select the tangent of the larger operand; for equal operands, take the mean of the tangents."""
    x, y = u.src
    da, db = (zero(u) if d is None else d for d in (a, b))
    return (x > y).where(da, (x < y).where(db, (da + db) * 0.5))


@tangent(Ops.WHERE)
def where(u: UOp, _: Tangent, a: Tangent, b: Tangent) -> Tangent:
    """Select the tangent of the chosen operand; a NaN in the other tangent has no effect."""
    return u.src[0].where(*(zero(u) if d is None else d for d in (a, b)))


@tangent(Ops.STACK)
def stack(u: UOp, *ds: Tangent) -> Tangent:
    return u.replace(src=tuple(zero(x) if d is None else d for x, d in zip(u.src, ds, strict=True)))


@tangent(Ops.MSTACK)
def mstack(u: UOp, *ds: Tangent) -> Tangent:
    return stack(u, *ds)


def no_range_rule(api_name: str, u: UOp) -> UnsupportedError:
    return UnsupportedError(
        f"{api_name}: there is no derivative rule for {u.arg[0].name} over a UOp.range of your own",
        ("value", type_text(u)),
        fix="use an operation over an axis: x.sum(0)",
    )


@tangent(Ops.REDUCE)
def reduce(u: UOp, d: UOp, *_: Tangent) -> Tangent:
    """Reduce the tangent.

    A sum has the sum of the tangents, and a matrix product has two products, which kernels recognize. A maximum has the
    mean of the tangents of the elements that attain it. A product has the sum of each tangent times all other factors.
    """
    op, n = u.arg
    x: Any
    x, axes = u.src[0], tuple(range(u.arg[1]))
    if op is Ops.ADD:
        terms = (u.replace(src=(term, *u.src[1:])) for term in _tangents_of_factors(x, d))
        return functools.reduce(lambda a, b: a + b, terms)
    if len(u.src) > 1:
        raise no_range_rule("jvp", u)
    if op is Ops.MAX:
        mask = max_mask(x, n, d.dtype) if is_inexact(x) else x.eq(u).cast(d.dtype)
        mean: UOp = reduce_axes(mask * d, Ops.ADD, axes) / reduce_axes(mask, Ops.ADD, axes)
        return mean
    total: UOp = reduce_axes(products_of_others(x, n) * d, Ops.ADD, axes)
    return total


def _tangents_of_factors(x: UOp, d: UOp) -> Sequence[UOp]:
    """Return the terms of `d`, the tangent of the product `x`, if one factor lacks an axis; else `d` alone.

    x = a b: `a` has axes i and k, `b` has only k     da b, a db     both have i and k     da b + a db
    """
    moves = []
    while x.op in GroupOp.Movement and d.op is x.op:
        moves.append(d)
        x, d = x.src[0], d.src[0]
    if x.op is Ops.MUL and d.op is Ops.ADD and any(1 < f.numel() < x.numel() for f in x.src):
        terms: Sequence[UOp] = d.src
    else:
        terms = (d,)
    for move in reversed(moves):
        terms = [move.replace(src=(term, *move.src[1:])) for term in terms]
    return terms


def max_mask(x: UOp, n: int, dtype: Any) -> UOp:
    """Mark the elements that attain the maximum over the leading axes, as 0 or 1 in `dtype`.

    Two kernels that both compute `x` may round differently. Then no element would equal the maximum, and the derivative
    would be 0 / 0. So `x` is materialized before its maximum is computed.
    """
    stored = x.contiguous()
    mask: UOp = stored.eq(reduce_axes(stored, Ops.MAX, tuple(range(n)))).cast(dtype)
    return mask


def products_of_others(x: UOp, n: int) -> UOp:
    """Compute for each element the product of all others over the leading `n` axes, without a division."""
    shape: Any = x.shape
    out: UOp = _others(tensor(x.reshape((math.prod(shape[:n]), *shape[n:])))).reshape(shape).uop
    return out


_FEW = 64


def _others(x: Tensor) -> Tensor:
    """Compute the product of all other elements over the first axis.

    Many elements are split into blocks, each multiplied by the other blocks' product.
    """
    n = int(x.shape[0])
    if n <= _FEW:
        eye = Tensor.eye(n, dtype=dtypes.bool).reshape(n, n, *(1,) * (x.ndim - 1))
        return eye.where(1, x.unsqueeze(0)).prod(1)
    many = -(-n // _FEW)
    blocks = x.pad(((0, many * _FEW - n), *(None,) * (x.ndim - 1)), value=1).reshape(many, _FEW, *x.shape[1:])
    inside = _others(blocks.transpose(0, 1)).transpose(0, 1)
    outside = _others(blocks.prod(1).contiguous()).unsqueeze(1)
    return (inside * outside).flatten(0, 1)[:n]


@tangent(Ops.STORE)
def store(u: UOp, _: Tangent, d: Tangent, *__: Tangent) -> Tangent:
    """Return the tangent of the stored value; the AFTER that follows uses it."""
    return d


@tangent(Ops.AFTER)
def after(u: UOp, d: Tangent, written_: Tangent, *rest: Tangent) -> Tangent:
    """Combine the tangent of the written part with the tangent of the rest."""
    if (views_and_write := part(u)) is None:
        raise UnsupportedError(
            "jvp: a hand-written kernel has no forward-mode rule", fix="use branded.custom_jvp: both modes use its rule"
        )
    views = views_and_write[0]
    if not views:
        return written_ if written_ is None or written_.shape == u.shape else broadcast_to(written_, u.shape)
    if d is None and written_ is None:
        return None
    old = zero(u) if d is None else d
    view = apply_views(views, old)
    return write_view(view, view.const_like(0) if written_ is None else broadcast_to(written_, view.shape), old)


def _function(u: UOp, ts: list[Tangent]) -> tuple[UOp, list[int | None]]:
    """Return the call that computes values and tangents, and for each result the index of its tangent."""
    if (p := primitive_of(u)) is not None:
        with derivative_block(p.is_rule):
            return p.jvp(u, ts)
    if u.arg.grad_fxn is not None:
        raise UnsupportedError(
            "jvp: a function with grad_fxn has no forward-mode rule",
            fix="use branded.custom_jvp: both modes use its rule",
        )
    with derivative_block(False):
        return through_body(u, ts)


def through_body(u: UOp, ts: list[Tangent]) -> tuple[UOp, list[int | None]]:
    """Return the call whose body also computes tangents, and for each result the index of its tangent."""
    body, args = u.src[0], u.src[1:]
    pairs = [(i, on_device(d)) for i, d in enumerate(ts) if d is not None]
    slots = {i: len(args) + k for k, (i, _) in enumerate(pairs)}
    outs = push_forward(body.src, {p: at_slot(p, slots[p.arg.slot]) for p in params(body) if p.arg.slot in slots})
    where, last = list[int | None](), len(body.src)
    for d in outs:
        where.append(None if d is None else last)
        last += d is not None
    new = UOp.maketuple(*body.src, *(d for d in outs if d is not None))
    info = dataclasses.replace(u.arg, name=f"{u.arg.name}_jvp" if u.arg.name else None)
    src = with_arguments((new, *args, *(d for _, d in pairs)), body)
    return UOp(Ops.FUNCTION, u.dtype, src, info), where
