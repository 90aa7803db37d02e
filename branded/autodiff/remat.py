"""`checkpoint` (`remat`): reverse mode keeps only the arguments and recomputes intermediate values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence, Set
from typing import Any, TypeVar, cast

from tinygrad import Tensor, dtypes
from tinygrad.dtype import strong_dtype
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded import tree
from branded.autodiff.captured_writes import CapturedWrites, record_captured_writes
from branded.autodiff.forward import through_body
from branded.autodiff.leaves import in_place_of
from branded.autodiff.reverse import gradients
from branded.core.analysis import aliasing
from branded.core.batching.function import batch_body
from branded.core.boundary import lower
from branded.core.entry import entry
from branded.core.tracing.closure_conversion import closure_converted
from branded.core.tracing.predication import safe_body
from branded.core.tracing.recording import is_recording
from branded.core.tracing.step import like, param
from branded.core.validation.arguments import call_checked, check_function
from branded.errors import OptionError
from branded.errors.calls import check_calls
from branded.graph.primitive import Batched, BatchingRun, Bundle, Primitive, params, results, slots
from branded.graph.rows import check_live
from branded.graph.scope import call_body, open_brands
from branded.graph.tags import Level, Placeholder, leaf
from branded.graph.uops import replace_ops, tensor
from branded.tinygrad_compat.private_api import CallInfo
from branded.tree.formatting import short_repr

F = TypeVar("F", bound=Callable[..., Any])

POLICIES = ("nothing", "dots", "everything")


@check_calls
def checkpoint(f: F, *, policy: str = "nothing") -> F:
    """Return `f` with less memory use in reverse mode: intermediate values are recomputed from the arguments.

    This trades time for memory. The values and derivatives equal those of `f`, in both modes and of any order.

    Args:
        f: A function of trees of tensors and other values; it may close over tensors.
        policy: The intermediate values to keep. `"nothing"` recomputes all of them. `"dots"` keeps the results of
            matrix multiplications, which are expensive to recompute. `"everything"` disables checkpointing.

    Returns:
        A function of the same arguments.

    Raises:
        CallError: `f` is not a function.
        OptionError: The policy is unknown.

    Example:
        >>> from branded import checkpoint, grad
        >>> from tinygrad import Tensor
        >>> layer = checkpoint(lambda w, x: (x @ w).tanh())
        >>> w = Tensor([[0.5, 0.0], [0.0, 0.5]])
        >>> grad(lambda x: layer(w, layer(w, x)).sum())(Tensor([0.0, 0.0])).tolist()
        [0.25, 0.25]

    Source: `jax.checkpoint`; Chen et al. 2016.
    """
    check_function(f, "checkpoint", "checkpoint(f)(x)")
    if policy not in POLICIES:
        raise OptionError(
            f"checkpoint: there is no policy {short_repr(policy)}", fix=" or ".join(f'policy="{p}"' for p in POLICIES)
        )
    if policy == "everything":
        return f

    @entry
    @functools.wraps(f)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        if is_recording():  # a program has the computation, not which values are kept
            return f(*args, **kwargs)
        return _call(f, policy, args, kwargs)

    return cast(F, checkpointed)


remat = checkpoint


def _call(f: Callable[..., Any], policy: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Build the call as one FUNCTION, like the call of a function with a custom rule."""
    level, places, leaf_values = Level(), list[UOp](), []
    for x in tree.leaves((args, kwargs)):
        if isinstance(x, Tensor):
            check_live(x.uop, "checkpoint: an argument")
            u = x.uop.cast(strong_dtype(x.dtype))
            # a separate leaf for each tensor, so that the graph of the result shows where the tensor is used
            places.append(leaf(u, Placeholder(level, len(places))))
            x = tensor(places[-1])
        leaf_values.append(x)
    args, kwargs = tree.rebuild((args, kwargs), iter(leaf_values))
    outside = CapturedWrites()
    leaves = [tensor(p) for p in places]  # if the function reads a value, tinygrad renames the tensors' graphs
    with call_body(), record_captured_writes(outside):
        out = call_checked(f, args, kwargs, "checkpoint", "pass a function with one parameter per argument")
    places, values = [t.uop for t in leaves], tree.leaves(out)
    ys = [y.uop for y in values if isinstance(y, Tensor)]
    body_params = [param(p.shape, p.dtype, p.device) for p in places]
    written_value = dict[UOp, UOp]()
    if outside.memory:  # other tensors can read the written values: the body takes them as arguments
        done = functools.partial(replace_ops, new=in_place_of(level, [p.src[0] for p in places]))
        writes = outside.writes_in(ys)
        outside.follow(done(writes))
        outside.settle(done)
        written_value |= zip(writes, outside.now(done(writes)), strict=True)
    body, fixed = closure_converted(
        lower(replace_ops(ys, in_place_of(level, body_params), at=written_value), open_brands()), body_params
    )
    if not ys or not (places or fixed):
        return out
    info = CallInfo(name="checkpoint", aux=Remat(policy))
    u = UOp(Ops.FUNCTION, dtypes.void, (body, *(p.src[0] for p in places), *fixed), info)
    new = iter(results(u))
    return tree.rebuild(out, iter([tensor(next(new)) if isinstance(y, Tensor) else y for y in values]))


class Remat(Primitive):
    """The call of a function whose derivative recomputes intermediate values from the arguments."""

    def __init__(self, policy: str) -> None:
        self.policy = policy

    def batch(self, u: UOp, run: BatchingRun, args: Sequence[Batched]) -> Bundle:
        """Batch the body: vmap(checkpoint(f))(xs) = checkpoint(vmap(f))(xs)."""
        return batch_body(u, run, args)

    def predicated(self, u: UOp, flag: UOp, effects: bool) -> UOp | None:
        """Predicate the body, so that recomputed values are safe too."""
        return safe_body(u, flag, effects)

    def jvp(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        """Compute tangents in the body; the new call has the same policy."""
        return through_body(u, list(tangents))

    def vjp(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        """Transpose the body, with the intermediate values of a second run.

        Example: `y = f(g(x))`, where `g(x)` is in memory during the first run.

            the cotangents      f'(PARAM: g) and g'(PARAM: x), over parameters
            the second run      g over a copy of x, so that no UOp is shared with the first run, whose memory is freed

        Scratch memory that the body writes before it reads it, such as a clone, is allocated again for the second run.
        """
        args, body = u.src[1:], u.src[0]
        old = {p.arg.slot: p for p in params(body)}
        new = [like(old.get(i, x)) for i, x in enumerate(args)]
        outs = replace_ops(body.src, {p: new[i] for i, p in old.items()}.get)
        outputs = [i for i, ct in enumerate(cotangents) if ct is not None and dtypes.is_float(outs[i].dtype)]
        cts = {i: param(outs[i].shape, outs[i].dtype, outs[i].device) for i in outputs}
        wanted = [i for i in sorted(needed) if i in old and dtypes.is_float(args[i].dtype)]
        grads, _ = gradients([outs[i] for i in outputs], list(cts.values()), [new[i] for i in wanted])
        first = dict(zip(new, args, strict=True))
        scratch = {i: _memory(old[i]) for i in _scratch_slots(body)}
        copies = scratch | {i: _copy(args[i]) for i in _starts(body, args) if i not in scratch}
        value_of = first | {new[i]: x for i, x in copies.items()}
        value_of |= {p: ct for i, p in cts.items() if (ct := cotangents[i]) is not None}
        if self.policy == "dots":
            dots = [x for x in UOp(Ops.SINK, src=tuple(outs)).toposort(enter_calls=False) if _is_dot(x)]
            value_of |= dict(zip(dots, replace_ops(dots, first.get), strict=True))
        grad_of = dict(zip(wanted, replace_ops(grads, lambda _: None, at=value_of), strict=True))
        return [grad_of.get(i) for i in range(len(args))]


def _scratch_slots(body: UOp) -> set[int]:
    """Return the argument slots of memory that a body, or a function inside it, writes."""
    scratch = set[int]()
    for u in body.toposort(enter_calls=False):
        targets = [u.src[0]] if u.op is Ops.STORE else []
        if u.op is Ops.FUNCTION:
            targets = [u.src[1 + i] for i in _scratch_slots(u.src[0])]
        roots = map(aliasing.root, targets)
        scratch |= {x.arg.slot for x in roots if x.op is Ops.PARAM}
    return scratch


def _memory(p: UOp) -> UOp:
    """Allocate a buffer like the one that a parameter represents."""
    out: UOp = UOp.new_buffer(p.device, p.max_numel(), p.dtype).reshape(p.shape)
    return out


def _copy(x: UOp) -> UOp:
    """Copy the values into new memory, in another order: tinygrad elides a copy of a buffer in the same order."""
    n = len(x.shape)
    if n > 1:
        order = tuple(reversed(range(n)))
        there = UOp(Ops.CONTIGUOUS, x.dtype, (UOp(Ops.PERMUTE, x.dtype, (x,), order),))
        return UOp(Ops.PERMUTE, x.dtype, (there,), order)
    if not n:
        return _copy(x.reshape((1,))).reshape(())
    back = UOp(Ops.FLIP, x.dtype, (x,), (True,))
    return UOp(Ops.FLIP, x.dtype, (UOp(Ops.CONTIGUOUS, x.dtype, (back,)),), (True,))


def _is_dot(u: UOp) -> bool:
    """Return whether this is a sum of products of two values, like a matrix multiplication or a convolution."""
    if u.op is not Ops.REDUCE or u.arg[0] is not Ops.ADD:
        return False
    x = u.src[0]
    while x.op is Ops.CAST or x.op in GroupOp.Movement:
        x = x.src[0]
    return x.op is Ops.MUL and not any(s.op is Ops.CONST for s in x.src)


_KEPT = {Ops.REDUCE, Ops.CONTIGUOUS, Ops.GETTUPLE}
"""Operations that write their values to memory if more than one kernel needs them."""


def _starts(body: UOp, args: Sequence[UOp]) -> list[int]:
    """Choose arguments to copy, the smallest first, such that every value to recompute depends on a copy."""
    graph = UOp(Ops.SINK, src=body.src).toposort(enter_calls=False)
    waiting = [s for u in graph if u.op in _KEPT and (s := slots(u))]
    chosen: list[int] = []
    for i in sorted(range(len(args)), key=lambda i: args[i].max_numel()):
        if any(i in s for s in waiting):
            chosen.append(i)
            waiting = [s for s in waiting if i not in s]
    return chosen
