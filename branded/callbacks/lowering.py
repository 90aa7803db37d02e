"""Calls of functions of the host in tinygrad's own operations: how they are scheduled, run and kept."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from tinygrad import Tensor
from tinygrad.dtype import DType
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from branded.callbacks.host import Host, sizes
from branded.graph import tensor
from branded.loops.compiled import in_memory
from branded.patches import tg
from branded.patches.methods import wrap
from branded.patches.serial import serial
from branded.patches.tg import Estimates
from branded.primitive import primitive_of, results
from branded.runner import host


def lowered(u: UOp) -> UOp | None:
    """A call in tinygrad's own operations: buffers, after a call that writes them."""
    made = primitive_of(u)
    if not isinstance(made, Host):
        return None
    ys = results(u)
    outs = [y.empty_like() for y in ys]
    types = [host.ArrayType(sizes(x), x.dtype) for x in (*outs, *u.src[1:])]
    name = host.HostName(made, types[: len(outs)], types[len(outs) :])
    inputs = [in_memory(x, x.dtype, ys[0].device) for x in u.src[1:] if 0 not in x.shape]
    written = [o for o in outs if 0 not in o.shape]
    if not written:
        nothing: UOp = UOp.maketuple(*outs)
        return nothing
    done = UOp(Ops.CUSTOM_FUNCTION, src=(), arg=name).call(*written, *inputs)
    out: UOp = UOp.maketuple(*(o.after(done) if 0 not in o.shape else o for o in outs))
    return out


def _all_results(original: Callable[..., Any]) -> Callable[..., Any]:
    """`linear_with_vars`, of all results of a call that somebody has: it is done once, whatever is read first."""

    @functools.wraps(original)
    def linear_with_vars(self: Tensor, *others: Tensor) -> Any:
        graph = dict.fromkeys(UOp.sink(self.uop, *(t.uop for t in others)).toposort(enter_calls=False))
        calls = [u for u in graph if u.op is Ops.FUNCTION and (p := primitive_of(u)) is not None and p.is_one]
        beside = [y for u in calls if len(u.src[0].src) > 1 for y in _had(u) if y not in graph]
        return original(self, *others, *map(tensor, beside))

    return linear_with_vars


def _had(u: UOp) -> Iterator[UOp]:
    """The results of a call that a graph has, as what is worked out."""
    for i, y in enumerate(u.src[0].src):
        if 0 not in y.shape and (own := _known_as(Ops.GETTUPLE, y.dtype, u, i)) is not None:
            kept = _known_as(Ops.CONTIGUOUS, y.dtype, own, None)
            yield own if kept is None else kept


def _known_as(op: Ops, dtype: DType, x: UOp, arg: Any) -> UOp | None:
    """This operation, if it is there."""
    found = tg.UOpMetaClass.ucache.get((op, dtype, (x,), arg, None))
    return None if found is None else found()


@serial
def install() -> None:
    wrap("linear_with_vars", _all_results)
    functions = UPat(Ops.FUNCTION, name="u")
    first = PatternMatcher([(functions, lowered)])
    tg.tensor.pm_early_transform_tensor_graph = first + tg.tensor.pm_early_transform_tensor_graph
    tg.rangeify.earliest_rewrites = first + tg.rangeify.earliest_rewrites
    mine = UPat(Ops.CALL, src=(UPat(Ops.CUSTOM_FUNCTION, name="ast"),), allow_any_len=True, name="call")
    tg.realize.pm_exec = PatternMatcher([(mine, host.run)]) + tg.realize.pm_exec
    for module in (tg.realize, tg.jit):
        module.estimate_uop = host.for_hosts(module.estimate_uop, lambda name: Estimates())
        module.get_call_outs_ins = host.for_hosts(module.get_call_outs_ins, _outs_ins)
    tg.realize.get_call_name = host.for_hosts(tg.realize.get_call_name, lambda name: f"host {name.host.name}")


def _outs_ins(name: host.HostName) -> tuple[tuple[int, ...], tuple[int, ...]]:
    n = sum(x.nbytes > 0 for x in (*name.results, *name.args))
    return tuple(range(name.outs)), tuple(range(name.outs, n))


install()
