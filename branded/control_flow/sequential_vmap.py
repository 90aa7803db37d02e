"""The primitive of `sequential_vmap`: a function whose batch is computed one example after the other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence, Set
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import strong_dtype
from tinygrad.uop.ops import Ops, UOp

from branded import tree
from branded.autodiff.forward import through_body
from branded.autodiff.reverse import gradients, in_reverse
from branded.control_flow.scan import scan
from branded.core.tracing.body import LeafType, all_carried, trace
from branded.core.tracing.closure_conversion import closure_converted, with_arguments
from branded.core.tracing.predication import safe_body
from branded.core.tracing.step import Input, like, param
from branded.dispatch import full
from branded.graph.primitive import Batched, BatchingRun, Bundle, Primitive, at_slot, params, results, uses
from branded.graph.rows import check_live, has_brand, row_of
from branded.graph.scope import Row, union
from branded.graph.tags import is_symbolic_zero
from branded.graph.uops import on_device, replace_ops, reshape, tensor
from branded.tinygrad_compat.private_api import CallInfo, canonicalize_device


class InTurn(Primitive):
    """A function of one example; its batch is a loop over the examples."""

    is_local = True

    def batch(self, u: UOp, run: BatchingRun, args: Sequence[Batched]) -> Bundle:
        """Scan over the examples: vmap(f)(xs) = scan(f)(xs). Shared arguments are passed to every step."""
        outs, rows = u.src[0].src, list[Row]()
        devices = (x.device for x in (*params(u.src[0]), *(a.uop for a in args)))
        device = next((d for d in devices if d is not None), canonicalize_device(None))  # no argument may be used
        args = [x._replace(uop=on_device(x.uop, device)) for x in args]
        stand_ins = [x._replace(uop=x.uop.param_like(i)) for i, x in enumerate(args)]
        for i in range(len(outs)):
            row: Row = ()
            for slot in uses(u, i):
                row = union(row, args[slot].row)
            rows.append(row)
        new = dict[int, UOp]()
        for row in dict.fromkeys(rows):
            group = [i for i in range(len(outs)) if rows[i] == row]
            new |= zip(group, _in_steps([outs[i] for i in group], params(u.src[0]), stand_ins, row), strict=True)
        body = UOp.maketuple(*(new[i] for i in range(len(outs))))
        return Bundle(u.replace(src=(body, *(x.uop for x in args))), tuple(rows))

    def predicated(self, u: UOp, flag: UOp, effects: bool) -> UOp | None:
        """Predicate the body; a step has the flag of its example."""
        return safe_body(u, flag, effects)

    def jvp(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        """Push tangents through the body, which still runs for one example at a time."""
        return through_body(u, list(tangents))

    def vjp(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        """Transpose the body, still for one example at a time; the cotangents are additional arguments."""
        n, param_of = len(u.src) - 1, {p.arg.slot: p for p in params(u.src[0])}
        outs, device = u.src[0].src, next(d for p in param_of.values() if (d := p.device) is not None)
        outputs = [i for i, ct in enumerate(cotangents) if ct is not None and dtypes.is_float(outs[i].dtype)]
        cts = [at_slot(param(outs[i].shape, outs[i].dtype, device), n + k) for k, i in enumerate(outputs)]
        wanted = [i for i in sorted(needed) if i in param_of and dtypes.is_float(param_of[i].dtype)]
        grads, _ = gradients([outs[i] for i in outputs], cts, [param_of[i] for i in wanted])
        nonzero = [(i, g) for i, g in zip(wanted, grads, strict=True) if not is_symbolic_zero(g)]
        if not nonzero:
            return [None] * n
        body = UOp.maketuple(*(g for _, g in nonzero))
        src = (body, *u.src[1:], *(ct for i in outputs if (ct := cotangents[i]) is not None))
        call = u.replace(src=with_arguments(src, u.src[0]))
        grad_of = dict(zip((i for i, _ in nonzero), results(call), strict=True))
        return [grad_of.get(i) for i in range(n)]

    def in_reverse(self, u: UOp, moved: Set[int]) -> Sequence[UOp] | None:
        """Return the results by the reverse-mode rules of functions in the body, or None without such rules."""
        outs = u.src[0].src
        new = in_reverse(outs, [p for p in params(u.src[0]) if p.arg.slot in moved])
        if all(a is b for a, b in zip(outs, new, strict=True)):
            return None
        return results(u.replace(src=with_arguments((UOp.maketuple(*new), *u.src[1:]), u.src[0])))


_INFO = CallInfo(name="sequential_vmap", aux=InTurn())


def _in_steps(outs: Sequence[UOp], body_params: Sequence[UOp], args: Sequence[Batched], row: Row) -> list[UOp]:
    """Compute these results for all examples of a row by one scan."""
    sizes = tuple(b.size for b in row)
    value_of, inputs = dict[UOp, UOp](), list[Input]()
    for p in body_params:
        x = args[p.arg.slot]
        if {*x.row} <= {*row}:
            value_of[p] = like(p) if x.row else x.uop
        else:  # no result depends on this argument
            value_of[p] = p.const_like(0)
        if x.row and {*x.row} <= {*row}:
            inputs.append(Input(value_of[p], reshape(full(x, row), (math.prod(sizes), *p.shape))))
    steps = replace_ops(outs, value_of.get)
    if not row:
        return steps
    _, ys = scan([], inputs, steps, math.prod(sizes), False)
    return [reshape(y, (*sizes, *y.shape[1:])) for y in ys]


def in_turn(f: Callable[..., Any], args: tuple[Any, ...], api_name: str) -> tuple[Any] | None:
    """Return the result of `f` as one call in the graph, or None if the batching rule must run instead.

    The rule is needed if `f` has an effect or exchanges values, or for several devices or symbolic shapes.
    """
    leaves = tree.leaves(args)
    varies = [isinstance(x, Tensor) and any(b.is_brand for b in row_of(x.uop)) for x in leaves]
    values = [x.uop.cast(strong_dtype(x.dtype)) for x in itertools.compress(leaves, varies)]
    for x in values:
        check_live(x, f"{api_name}: an argument")
    if any(isinstance(x.device, tuple) or not all(type(n) is int for n in x.shape) for x in values):
        return None
    device = next((x.device for x in values if x.device is not None), None)

    def body(tensors: list[Tensor]) -> tuple[Any, list[Tensor]]:
        new = iter(tensors)
        out = f(*tree.rebuild(args, iter([next(new) if v else x for x, v in zip(leaves, varies, strict=True)])))
        return out, all_carried(out, f"{api_name}: the result")

    # in the body the values are unbatched, like the entries of a mapped tensor
    traced = trace("map", body, [LeafType.of(x, default=device)._replace(row=()) for x in values])
    ys = [y.cast(strong_dtype(y.dtype)) for y in traced.leaves]
    step, fixed = closure_converted(ys, traced.params, device)
    if traced.effect is not None or any(map(has_brand, step.src)):
        return None
    call = UOp(Ops.FUNCTION, dtypes.void, (step, *values, *fixed), _INFO)
    return (tree.rebuild(traced.out, iter(map(tensor, results(call)))),)
