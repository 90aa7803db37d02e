"""Check our requirements on tinygrad's private names by programs on a tinygrad without patches: `door.py` runs them."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit, dtypes, function
from tinygrad.device import Buffer
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from tests.tinygrad_compat.door import door

tg: Any = door()
CHECKS: dict[str, Callable[[], None]] = {}


def check(*names: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def put(f: Callable[[], None]) -> Callable[[], None]:
        CHECKS.update(dict.fromkeys(names, f))
        return f

    return put


@functools.cache
def computed() -> tuple[UOp, UOp, dict[str, int]]:
    """Return an addition to a parameter as kernels: the buffer, the linear, the variables."""
    x, out = UOp.new_buffer("CPU", 4, dtypes.float), UOp.new_buffer("CPU", 4, dtypes.float)
    value = x + x.const_like(1)
    with Context(CAPTURING=0):  # type: ignore[no-untyped-call]
        call, becomes = tg.transform_to_call(UOp.sink(out.after(out.store(value))))
        linear, variables = tg.create_linear_with_vars(call)
    assert isinstance(becomes, dict)
    return (
        out,
        linear.substitute({b: UOp.param(i, b.dtype, b.shape, b.device) for i, b in enumerate((out, x))}),
        variables,
    )


@functools.cache
def compiled() -> UOp:
    _, linear, _ = computed()
    out: UOp = tg.link_linear(tg.memory_plan_rewrite(tg.compile_linear(linear), set()))
    return out


def buffers_of(*values: list[float]) -> list[UOp]:
    return [Tensor(v, device="CPU").realize().uop.base for v in values]


@check("all_tensors")
def _() -> None:
    x, y = Tensor([1.0]), Tensor([2.0])
    alive = [t for ref in tg.all_tensors if (t := ref()) is not None]
    assert alive[-2] is x and alive[-1] is y


@check("_METADATA", "_metadata_wrapper")
def _() -> None:
    wrapped = tg._metadata_wrapper(method := lambda: tg._METADATA.get().name)
    assert wrapped() == method.__name__ and wrapped.__code__.co_name == tg.NAMES_KERNELS
    assert tg._METADATA.get() is None
    tg._METADATA.set("here")
    assert tg._METADATA.get() == "here"
    tg._METADATA.set(None)


@check("capturing")
def _() -> None:
    seen: list[bool] = []
    jitted = TinyJit(lambda x: (seen.append(bool(tg.capturing)), (x + 1).realize())[1])
    for _ in range(3):
        jitted(Tensor([1.0]).realize())
    assert not tg.capturing and seen == [False, True]


@check("_function")
def _() -> None:
    depths: list[int] = []
    f = function(lambda x: (depths.append(tg._function.depth), x + 1)[1])
    f(Tensor([1.0]))
    assert isinstance(f, tg._function) and depths == [1] and tg._function.depth == 0


@check("_TinyJit")
def _() -> None:
    f = TinyJit(abs)
    assert isinstance(f, tg._TinyJit) and f.fxn is abs


@check("shape_to_shape_arg")
def _() -> None:
    x = UOp.new_buffer("CPU", 6, dtypes.float)
    assert UOp(Ops.RESHAPE, x.dtype, (x, tg.shape_to_shape_arg((2, 3)))).shape == (2, 3)
    assert tg.shape_to_shape_arg((2, 3)).src[0].arg == 2


@check("CallInfo")
def _() -> None:
    info = tg.CallInfo(name="f", aux=(mine := object()))
    assert info.name == "f" and info.aux is mine and info == tg.CallInfo(name="f", aux=mine) and not info.precompile


@check("srender")
def _() -> None:
    assert tg.srender(3) == "3" and tg.srender(UOp.variable("n", 1, 5)) == "n"


@check("python_alu")
def python_alu() -> None:
    assert tg.python_alu[Ops.CMPNE](1.0, 2.0) and not tg.python_alu[Ops.CMPNE](3, 3)
    assert callable(UOp.__dict__[tg.MIN_MAX].func) and UOp.const(3, dtypes.int).vmin == 3


@check("exec_alu")
def _() -> None:
    assert tg.exec_alu(Ops.ADD, dtypes.uint8, (250, 10)) == 4
    assert tg.exec_alu(Ops.WHERE, dtypes.float, (True, 1.0, 2.0)) == 1.0


@check("compute_gradient")
def _() -> None:
    x = UOp.new_buffer("CPU", 4, dtypes.float)
    found = tg.compute_gradient(x * x, x.const_like(1), {x})
    assert found[x].shape == (4,)


@check("renumber_invalid_outputs")
def _() -> None:
    body = UOp.maketuple(Tensor.invalids(4).uop)
    slots = [
        [u.arg.slot for u in x.toposort() if u.op is Ops.BUFFER] for x in (body, tg.renumber_invalid_outputs(body))
    ]
    assert slots[0] != slots[1] == [0]


@check("_from_np_dtype")
def _() -> None:
    assert tg._from_np_dtype(np.dtype(np.int16)) == dtypes.int16


@check("_to_np_dtype")
def _() -> None:
    assert tg._to_np_dtype(dtypes.int16) is np.int16 and tg._to_np_dtype(dtypes.bool) is np.bool_


@check("truncate")
def _() -> None:
    assert tg.truncate[dtypes.uint8](257) == 1 and tg.truncate[dtypes.float32](0.1) == float(np.float32(0.1))


@check("sum_acc_dtype")
def _sum_acc_dtype() -> None:
    assert tg.sum_acc_dtype(dtypes.int8) == dtypes.int32 and tg.sum_acc_dtype(dtypes.uint64) == dtypes.uint64


@check("least_upper_dtype")
def _() -> None:
    assert tg.least_upper_dtype(dtypes.int32, dtypes.float16) == dtypes.float16


@check("least_upper_float")
def _() -> None:
    assert tg.least_upper_float(dtypes.int32) == dtypes.float32
    assert tg.least_upper_float(dtypes.float64) == dtypes.float64


@check("all_int")
def _() -> None:
    assert tg.all_int((1, 2)) and tg.all_int(()) and not tg.all_int((1, UOp.variable("n", 1, 5)))


@check("canonicalize_device")
def _() -> None:
    assert tg.canonicalize_device("cpu:0") == "CPU" and tg.canonicalize_device(None) == Device.DEFAULT


@check("transform_to_call", "create_linear_with_vars")
def _() -> None:
    _, linear, variables = computed()
    assert variables == {} and [call.src[0].op for call in linear.src] == [Ops.SINK] and linear.op is Ops.LINEAR


@check("memory_plan_rewrite", "compile_linear", "link_linear", "run_linear")
def _() -> None:
    assert [call.src[0].op for call in compiled().src] == [Ops.PROGRAM]
    out, x = buffers_of([0.0] * 4, [1.0, 2.0, 3.0, 4.0])
    tg.run_linear(compiled(), {}, input_uops=[out, x], jit=True)
    assert np.frombuffer(out.buffer.as_memoryview(), np.float32).tolist() == [2.0, 3.0, 4.0, 5.0]


@check("_compile_kernel")
def _() -> None:
    _, linear, _ = computed()
    number, program = tg._compile_kernel((7, (linear.src[0].src[0], Device["CPU"].renderer), {}))
    assert number == 7 and program.src[-1].op is Ops.BINARY and program.src[-2].op is Ops.SOURCE


@check("graph_split_rewrite")
def _() -> None:
    _, linear, _ = computed()
    assert tg.graph_split_rewrite(compiled(), max_batch_size=32).op is linear.op


@check("pm_exec", "buffers")
def _() -> None:
    context = tg.realize.ExecContext(var_vals={}, input_uops=tuple(buffers_of([0.0] * 4, [1.0] * 4)))
    assert tg.pm_exec.rewrite(compiled().src[0], context) is not None
    out = context.input_uops[0]
    assert out.buffer is tg.buffers[out]
    assert np.frombuffer(out.buffer.as_memoryview(), np.float32).tolist() == [2.0] * 4


@check("resolve_params", "get_call_arg_uops", "get_call_outs_ins", "get_runtime")
def _() -> None:
    (call,), (out, x) = compiled().src, buffers_of([0.0] * 4, [1.0] * 4)
    assert tuple(tg.resolve_params(call, (out, x))) == (out, x)
    assert [u.arg.slot for u in tg.get_call_arg_uops(call)] == [0, 1]
    assert [tuple(found) for found in tg.get_call_outs_ins(call)] == [(0,), (1,)]
    program = call.src[0].arg
    runtime = tg.get_runtime("CPU", call.src[0])
    bufs = [b.buffer.get_buf("CPU") for b in (out, x)]
    sizes = program.launch_dims({})
    runtime(*bufs, global_size=sizes[0], local_size=sizes[1], vals=program.vals({}))
    Device["CPU"].synchronize()
    assert np.frombuffer(out.buffer.as_memoryview(), np.float32).tolist() == [2.0] * 4 and runtime.addr


@check("Estimates")
def _() -> None:
    assert (tg.Estimates().ops, tg.Estimates().lds, tg.Estimates().mem) == (0, 0, 0)


@check("_Device")
def _() -> None:
    assert type(Device) is tg._Device and hasattr(tg._Device, "get_class")
    assert callable(tg._Device.__dict__[tg.SELECT_DEVICE].func)


@check("TinyELF", "CPUProgram", "ClangCompiler")
def _() -> None:
    renderer = Device["CPU"].renderer
    assert isinstance(renderer.compiler, tg.ClangCompiler)
    lib = renderer.compiler.compile_cached("int f(void) { return 7; }")
    program = tg.CPUProgram(Device["CPU"], tg.TinyELF(lib, "f", renderer.target, ()))
    assert isinstance(program.addr, int) and program.addr


@check("Scheduler", "Opt", "OptOps", "AddrSpace", "KernelOptError")
def _() -> None:
    _, linear, _ = computed()
    k = tg.Scheduler(linear.src[0].src[0], Device["CPU"].renderer)
    (loop, *_) = k.rngs
    assert loop.op is Ops.RANGE and not k.reduceops and all(b.src[1].get_idx() is loop for b in k.bufs)
    k.apply_opt(option := tg.Opt(tg.OptOps.NOLOCALS))  # no effect on the CPU
    assert k.applied_opts == [option] and tg.AddrSpace.REG is not tg.AddrSpace.GLOBAL
    try:
        k.apply_opt(tg.Opt(tg.OptOps.THREAD, 0, 10**6))
    except tg.KernelOptError:
        return
    raise AssertionError("no loop has so many parts")


@check("full_rewrite_to_sink", "to_program_key")
def _() -> None:
    _, linear, _ = computed()
    kernel, renderer = linear.src[0].src[0], Device["CPU"].renderer
    chosen = kernel.replace(arg=replace(kernel.arg, opts_to_apply=(tg.Opt(tg.OptOps.UPCAST, 0, 2),)))
    assert tg.full_rewrite_to_sink(chosen, renderer).arg.applied_opts == chosen.arg.opts_to_apply
    assert tg.to_program_key(chosen, renderer) == tg.to_program_key(chosen, renderer)
    assert tg.to_program_key(chosen, renderer) != tg.to_program_key(kernel, renderer)


@check("BufferSpec")
def _() -> None:
    kept, free = (Buffer("CPU", 12345, dtypes.uint8, options=tg.BufferSpec(nolru=x), preallocate=True) for x in (0, 1))
    assert kept.allocator is free.allocator and kept.nbytes == free.nbytes == 12345
    cached = [size for size, _ in free.allocator.cache]
    free.deallocate()  # type: ignore[no-untyped-call]
    assert [size for size, _ in free.allocator.cache] == cached


@check("BEAM")
def _() -> None:
    with Context(BEAM=3):  # type: ignore[no-untyped-call]
        assert tg.BEAM.value == 3
    assert "beam" in inspect.signature(tg.compile_linear).parameters


@check("to_program", "CStyleLanguage", "Target", "ansistrip")
def _() -> None:
    class Plain(tg.CStyleLanguage):  # type: ignore[misc, name-defined]
        has_local = has_shared = supports_float4 = False

    _, linear, _ = computed()
    program = tg.to_program(linear.src[0].src[0], Plain(tg.Target("CPU")))
    (code,) = [s.arg for s in program.src if s.op is Ops.SOURCE]
    assert f"void {tg.ansistrip(program.arg.name)}(" in code and program.arg.outs and program.arg.ins


@check("to_storage_scalar")
def _() -> None:
    assert tg.to_storage_scalar(1.0, dtypes.bfloat16) == 0x3F80


@check("axis_letters", "range_str")
def _() -> None:
    loop = UOp.range(3, 5)
    assert tg.range_str(loop) == "5" and len(tg.axis_letters[loop.arg[-1]]) == 1


@check("Metadata")
def _() -> None:
    assert tg.Metadata("dot").name == "dot" and tg.Metadata("dot") == tg.Metadata("dot")


@check("all_metadata", "SPEC", "dtype_from_uop", "UOpMetaClass")
def _() -> None:
    assert tg.all_metadata is tg.ops.all_metadata and isinstance(tg.SPEC.value, int)
    assert type(UOp) is tg.UOpMetaClass
    one = UOp.const(12345, dtypes.int)
    assert tg.UOpMetaClass.ucache[(one.op, one.dtype, one.src, one.arg, one.tag)]() is one
    assert tg.dtype_from_uop(Ops.CMPLT, (one, one), None) == dtypes.bool


@check("PROFILE")
def profile() -> None:
    assert isinstance(tg.PROFILE.value, int)


@check("CACHELEVEL", "CCACHE", "IGNORE_BEAM_CACHE", "CAPTURE_PROCESS_REPLAY")
@check("TRACK_MATCH_STATS", "CACHEDB", "NUM_CPU_THREADS")
def _() -> None:
    assert Device["CPU"].renderer.global_max[0] == tg.NUM_CPU_THREADS.value >= 1
    assert isinstance(tg.CAPTURE_PROCESS_REPLAY.value, int) and isinstance(tg.TRACK_MATCH_STATS.value, int)
    assert isinstance(tg.CCACHE.value, int) and isinstance(tg.IGNORE_BEAM_CACHE.value, int)
    assert isinstance(tg.CACHELEVEL.value, int) and tg.CACHEDB == tg.helpers.CACHEDB and isinstance(tg.CACHEDB, str)


@check("disk_like", "replace_contig_with_store_after")
def _() -> None:
    x = UOp.new_buffer("CPU", 4, dtypes.float)
    assert not tg.disk_like(x)
    copy = tg.replace_contig_with_store_after(x.shrink(((1, 3),)).contiguous())
    assert copy.op is Ops.AFTER and copy.src[1].op is Ops.STORE and copy.shape == (2,)


@check("KernelInfo", "pm_split_ranges", "pm_flatten_range", "graph_rewrite")
def _() -> None:
    info = tg.KernelInfo()
    assert info.opts_to_apply is None and info == tg.KernelInfo()
    x, out = UOp.new_buffer("CPU", 6, dtypes.int), UOp.new_buffer("CPU", 6, dtypes.int)
    loop = UOp.range(6, 0)
    ast = out.index(loop).store(x.index(loop % 3)).end(loop).sink(arg=info)
    split = tg.graph_rewrite(ast, tg.pm_split_ranges + tg.pm_flatten_range, ctx={}, name="split ranges")
    assert sorted(r.vmax + 1 for r in split.toposort() if r.op is Ops.RANGE) == [2, 3] and split.arg == info


@check("BottomUpGate", "REWRITE_STACK_LIMIT")
def _() -> None:
    x, y = (UOp.new_buffer("CPU", 4, dtypes.float) for _ in range(2))
    turned = PatternMatcher([(UPat(Ops.ADD, src=(UPat.var("a"), UPat.var("b"))), lambda a, b: b + a)])
    assert isinstance(tg.BottomUpGate(), Exception) and tg.REWRITE_STACK_LIMIT.value > 10_000
    with Context(REWRITE_STACK_LIMIT=20):  # type: ignore[no-untyped-call]
        try:
            tg.graph_rewrite(x + y, turned)
        except RuntimeError as error:
            assert "infinite loop" in str(error)
        else:
            raise AssertionError("it ends")


@check("sym", "symbolic", "pm_drop_and_clauses", "pm_lower_weak")
def _() -> None:
    i = UOp.range(6, 0)
    assert tg.graph_rewrite((i * 6 + i) // 7, tg.sym + tg.pm_drop_and_clauses) is i
    assert tg.graph_rewrite((i * 6 + i) // 7, tg.symbolic) is i
    lowered = tg.graph_rewrite(i + 1, tg.pm_lower_weak)
    assert (lowered.op, lowered.src[0].dtype) == (Ops.CAST, dtypes.int)


@check("apply_movement_op")
def _() -> None:
    i, j = UOp.range(3, 0), UOp.range(4, 1)
    assert tg.apply_movement_op(Ops.PERMUTE, (4, 3), (1, 0), (i, j)) == (j, i)
    (padded,) = tg.apply_movement_op(Ops.PAD, (2,), ((1, 4),), (j,))
    assert padded.get_valid().op is not Ops.CONST and padded.get_idx().op is not Ops.WHERE


@check("fix_store_hazard")
def _() -> None:
    assert list(inspect.signature(tg.fix_store_hazard).parameters) == ["target", "src"]
    x, y = (UOp.new_buffer("CPU", 4, dtypes.float32) for _ in range(2))
    assert tg.fix_store_hazard(x, x.flip(0)).src[1].op is Ops.CONTIGUOUS and tg.fix_store_hazard(x, y.flip(0)) is None
    assert tg.fix_store_hazard in [f for _, f in tg.rangeify.earliest_rewrites.patterns]


@check("realize_store_after_src")
def _() -> None:
    assert list(inspect.signature(tg.realize_store_after_src).parameters) == ["ctx", "dest", "src"]
    x, y = (UOp.new_buffer("CPU", 4, dtypes.float32) for _ in range(2))
    ctx = tg.indexing.IndexingContext()
    tg.realize_store_after_src(ctx, x, y + 1)
    assert not ctx.realize_map
    tg.realize_store_after_src(ctx, x, x + 1)
    assert list(ctx.realize_map) == [x + 1]
    assert tg.realize_store_after_src in [f for _, f in tg.indexing.pm_generate_realize_map.patterns]


@check("remove_bufferize")
def _() -> None:
    assert list(inspect.signature(tg.remove_bufferize).parameters) == ["src", "buf", "idx"]
    x = UOp.new_buffer("CPU", 4, dtypes.float)
    big, _ = tg.transform_to_call(UOp.sink((x.exp2() + 1).exp2()))
    assert len(tg.create_linear_with_vars(big)[0].src) == 1


@check("split_reduceop")
def _() -> None:
    assert list(inspect.signature(tg.split_reduceop).parameters) == ["reduce", "x"]
    x = UOp.new_buffer("CPU", 1 << 20, dtypes.float)
    assert tg.split_reduceop(x.sum(), x).shape == () and tg.split_reduceop(x[:64].sum(), x[:64]) is None
    assert tg.split_reduceop in [f for _, f in tg.rangeify.earliest_rewrites.patterns]


@check("pm_flatten_linear")
def _() -> None:
    _, linear, _ = computed()
    inner = linear.replace(src=linear.src * 2)
    assert tg.graph_rewrite(linear.replace(src=(inner, *linear.src)), tg.pm_flatten_linear).src == linear.src * 3


@check("functions")
def _() -> None:
    """Check the helpers in the file of names: for UOps, buffers, options and classes."""
    x = UOp.new_buffer("CPU", 4, dtypes.float).reshape(2, 2)
    y, z = x.permute((1, 0)), x + 1
    assert tg.known_shape(y) is None and y.shape == (2, 2) == tg.known_shape(y)
    tg.keep_shape(z, (7,))
    assert z.shape == (7,)
    tg.keep_shape(z, (2, 2))
    tg.keep_behind(x, (3,), batched := UOp(Ops.EXP2, x.dtype, (x.expand(3, 2, 2),)))
    assert tg.known_shape(batched) == (3, 2, 2) == batched.shape
    tg.keep_axis(z, 1)
    assert z.axis == 1
    w = z.replace(arg="other")
    tg.keep_known(z, w)
    assert tg.known_shape(w) == (2, 2) and w.axis == 1
    assert tg.has_body(UOp.sink(x).call(y)) and not tg.has_body(x.call(y, ret_dtype=dtypes.void))
    assert tg.has_shape(x) and not tg.has_shape(UOp.sink(x))
    assert tg.broadcast_shape((2, 1), (3,), ()) == (2, 3) and tg.broadcast_shape((0,), (1,)) == (0,)
    assert tg.broadcast_to(x, (3, 2, 2)).shape == (3, 2, 2) and tg.reduce_axes(x, Ops.ADD, (0,)).shape == (2,)
    b = Buffer("CPU", 4, dtypes.uint8, preallocate=True)
    assert list(tg.memories(b)) == ["CPU"] and tg.memories(b)["CPU"] is b.get_buf("CPU")
    assert tg.is_open("CPU") and not tg.is_open("CPU:97")
    tg.register(tg.CACHELEVEL, "CACHELEVEL")
    assert tg.options()["CACHELEVEL"] == tg.CACHELEVEL.value
    assert len(tg.option_values()) == len(tg.options()) and isinstance(hash(tg.option_values()), int)
    assert callable(getattr(Tensor, tg.NEXT_COUNTER)) and callable(getattr(Tensor, tg.MEMORY_OF))
    assert isinstance(vars(Tensor)[tg.COUNTERS], dict) and isinstance(vars(Tensor)[tg.SEEDS], dict)
    assert Tensor.sum.__code__.co_name == tg.NAMES_KERNELS and callable(getattr(Tensor, tg.MERGES))
    tg.worker  # noqa: B018  the attribute imports a module
    cpu = importlib.import_module(tg.CPU)
    assert "MAP_SHARED" in cpu.CPUAllocator._alloc.__code__.co_names and hasattr(cpu, "mmap")
