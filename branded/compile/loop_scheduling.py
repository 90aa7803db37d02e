"""Registration of loops with tinygrad's scheduler and runtime, which then handle a loop like a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinygrad.uop.ops import GroupOp, Ops, PatternMatcher, UOp, UPat

from branded.backends.cpu.renderer import loops as kernels
from branded.compile.compiled_loop import LoopName
from branded.compile.loop_executor import lower_loop, run
from branded.control_flow.while_loop import While
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import CallInfo, Estimates


def _keep_realized(g: UOp, t: UOp) -> UOp | None:
    """Keep a realized result in the tensor's own buffer: otherwise tinygrad would recompute it at the next read.

    The result of a user's precompiled function remains its result, as in tinygrad, because gradients through it need
    the function. While a TinyJit captures, it is kept too, because the replay writes to that buffer.
    """
    if not g.tag:
        return None
    out = written = t.src[g.arg]
    while written.op in GroupOp.Movement | {Ops.UNSHARD}:
        written = written.src[0]
    call = written.src[1].arg if written.op is Ops.AFTER else None
    is_of_user = isinstance(call, CallInfo) and call.precompile and call.name != CHUNK
    if is_of_user and not private_api.realize.capturing:
        return None
    kept: UOp = out.contiguous(tag=g.tag)
    return kept


CHUNK = "branded.chunk"
"""The name of the precompiled functions that compute chunks of a mapped call."""


class _Schedules(dict[bytes, UOp]):
    """tinygrad's schedule cache, with a limit on the schedules that contain loops.

    tinygrad keeps schedules forever. Schedules made with `BRANDED_CPU=0` have separate keys.
    """

    KEPT = 64

    def __init__(self, before: dict[bytes, UOp]) -> None:
        super().__init__(before)
        self.of_loops: dict[bytes, None] = {}

    @staticmethod
    def _here(key: bytes) -> bytes:
        """Return the key to use: `cpu_codegen` decides which values are materialized, so it is part of the key."""
        return key if kernels.cpu_codegen.value else b"plain" + key

    def __setitem__(self, key: bytes, linear: UOp) -> None:
        key = self._here(key)
        super().__setitem__(key, linear)
        if any(isinstance(u.arg, LoopName) for u in linear.toposort()):
            self.of_loops[key] = None
            while len(self.of_loops) > self.KEPT:
                oldest = next(iter(self.of_loops))
                del self.of_loops[oldest], self[oldest]

    def get(self, key: bytes, default: Any = None) -> Any:
        key = self._here(key)
        if key in self.of_loops:
            self.of_loops[key] = self.of_loops.pop(key)
        return super().get(key, default)


def install() -> None:
    private_api.schedule.schedule_cache = _Schedules(private_api.schedule.schedule_cache)
    loops = UPat(Ops.FUNCTION, name="u")
    realized = UPat(Ops.GETTUPLE, src=(UPat(Ops.TUPLE, name="t"),), name="g")
    first = PatternMatcher([(loops, lower_loop)])
    private_api.tensor.pm_early_transform_tensor_graph = (
        first + PatternMatcher([(realized, _keep_realized)]) + private_api.tensor.pm_early_transform_tensor_graph
    )
    private_api.rangeify.earliest_rewrites = first + private_api.rangeify.earliest_rewrites
    mine = UPat(Ops.CALL, src=(UPat(Ops.CUSTOM_FUNCTION, name="ast"),), allow_any_len=True, name="call")
    private_api.realize.pm_exec = PatternMatcher([(mine, run)]) + private_api.realize.pm_exec
    for module in (private_api.realize, private_api.jit):
        module.estimate_uop = _for_loops(module.estimate_uop, lambda call: Estimates())
        module.get_call_outs_ins = _for_loops(module.get_call_outs_ins, _outs_ins)
    private_api.realize.get_call_name = _for_loops(
        private_api.realize.get_call_name, lambda call, *_: call.src[0].arg.split(".")[1]
    )


def _for_loops(original: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    def either(call: UOp, *args: Any, **kwargs: Any) -> Any:
        ast = call.src[0]
        mine = ast.op is Ops.CUSTOM_FUNCTION and isinstance(ast.arg, LoopName)
        return (ours if mine else original)(call, *args, **kwargs)

    return either


def _outs_ins(call: UOp) -> tuple[tuple[int, ...], tuple[int, ...]]:
    loop = call.src[0].arg.loop
    k = len(loop.step.src) - isinstance(loop, While)
    return tuple(range(k)), tuple(range(k, len(call.src) - 1))
