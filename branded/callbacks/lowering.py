"""The lowering of host callbacks to tinygrad's own operations: how they are scheduled, run and kept."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from tinygrad import Tensor
from tinygrad.dtype import DType
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from branded.backends.cpu.runtime import host_calls
from branded.callbacks.host import Host, sizes
from branded.compile.loop_executor import in_memory
from branded.graph.primitive import primitive_of, results
from branded.graph.uops import tensor
from branded.tinygrad_compat import activation, private_api
from branded.tinygrad_compat.private_api import Estimates
from branded.tinygrad_compat.tensor_methods import wrap


def lower_host_call(u: UOp) -> UOp | None:
    """Lower a call to tinygrad's own operations: buffers, after a call that writes them."""
    primitive = primitive_of(u)
    if not isinstance(primitive, Host):
        return None
    ys = results(u)
    outs = [y.empty_like() for y in ys]
    types = [host_calls.ArrayType(sizes(x), x.dtype) for x in (*outs, *u.src[1:])]
    name = host_calls.HostName(primitive, types[: len(outs)], types[len(outs) :])
    inputs = [in_memory(x, x.dtype, ys[0].device) for x in u.src[1:] if 0 not in x.shape]
    nonempty = [o for o in outs if 0 not in o.shape]
    if not nonempty:
        nothing: UOp = UOp.maketuple(*outs)
        return nothing
    done = UOp(Ops.CUSTOM_FUNCTION, src=(), arg=name).call(*nonempty, *inputs)
    out: UOp = UOp.maketuple(*(o.after(done) if 0 not in o.shape else o for o in outs))
    return out


def _all_results(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `linear_with_vars` to schedule all results of a call that graphs use, so that the call runs once."""

    @functools.wraps(original)
    def linear_with_vars(self: Tensor, *others: Tensor) -> Any:
        graph = dict.fromkeys(UOp.sink(self.uop, *(t.uop for t in others)).toposort(enter_calls=False))
        calls = [u for u in graph if u.op is Ops.FUNCTION and (p := primitive_of(u)) is not None and p.is_atomic]
        siblings = [y for u in calls if len(u.src[0].src) > 1 for y in _used_results(u) if y not in graph]
        return original(self, *others, *map(tensor, siblings))

    return linear_with_vars


def _used_results(u: UOp) -> Iterator[UOp]:
    """Yield the results of a call that some graph uses, in the form in which they are realized."""
    for i, y in enumerate(u.src[0].src):
        if 0 not in y.shape and (result := _known_as(Ops.GETTUPLE, y.dtype, u, i)) is not None:
            stored = _known_as(Ops.CONTIGUOUS, y.dtype, result, None)
            yield result if stored is None else stored


def _known_as(op: Ops, dtype: DType, x: UOp, arg: Any) -> UOp | None:
    """Return this operation if tinygrad's cache contains it, or None."""
    entry = private_api.UOpMetaClass.ucache.get((op, dtype, (x,), arg, None))
    return None if entry is None else entry()


def install() -> None:
    wrap("linear_with_vars", _all_results)
    functions = UPat(Ops.FUNCTION, name="u")
    first = PatternMatcher([(functions, lower_host_call)])
    private_api.tensor.pm_early_transform_tensor_graph = first + private_api.tensor.pm_early_transform_tensor_graph
    private_api.rangeify.earliest_rewrites = first + private_api.rangeify.earliest_rewrites
    mine = UPat(Ops.CALL, src=(UPat(Ops.CUSTOM_FUNCTION, name="ast"),), allow_any_len=True, name="call")
    private_api.realize.pm_exec = PatternMatcher([(mine, host_calls.run)]) + private_api.realize.pm_exec
    for module in (private_api.realize, private_api.jit):
        module.estimate_uop = host_calls.for_hosts(module.estimate_uop, lambda name: Estimates())
        module.get_call_outs_ins = host_calls.for_hosts(module.get_call_outs_ins, _outs_ins)
    private_api.realize.get_call_name = host_calls.for_hosts(
        private_api.realize.get_call_name, lambda name: f"host {name.host.name}"
    )


def _outs_ins(name: host_calls.HostName) -> tuple[tuple[int, ...], tuple[int, ...]]:
    n = sum(x.nbytes > 0 for x in (*name.results, *name.args))
    return tuple(range(name.outs)), tuple(range(name.outs, n))


activation.install_later(
    install, lambda: (private_api.tensor, private_api.rangeify, private_api.realize, private_api.jit)
)
