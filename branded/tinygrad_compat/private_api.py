"""The registry of all private or undocumented names of tinygrad that this package uses.

Other modules import a name from here. If the name may be replaced later, they look it up at each use:

    from branded.tinygrad_compat.private_api import all_tensors
    private_api.run_linear(linear, ...)

A replacement is set in the module of tinygrad that uses the name: `private_api.codegen.pm_number_params = ...`.
Documented names are imported from tinygrad. `tests/test_door.py` lists the documented names, and fails if a private
name is imported elsewhere. It also checks that the installed tinygrad has each name of this file, with the behavior
that we rely on. Modules of tinygrad are imported at the first use. No module of this package is ever imported here.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

_module = functools.cache(importlib.import_module)

MODULES = {
    "codegen": "tinygrad.codegen",
    "compiler_cpu": "tinygrad.runtime.support.compiler_cpu",
    "cstyle": "tinygrad.renderer.cstyle",
    "device": "tinygrad.device",
    "function": "tinygrad.function",  # the name in the package is the decorator
    "gater": "tinygrad.codegen.late.gater",
    "gradient": "tinygrad.mixin.gradient",
    "helpers": "tinygrad.helpers",
    "heuristic": "tinygrad.codegen.opt.heuristic",
    "jit": "tinygrad.engine.jit",
    "ops": "tinygrad.uop.ops",
    "rangeify": "tinygrad.schedule.rangeify",
    "realize": "tinygrad.engine.realize",
    "schedule": "tinygrad.schedule",
    "simplify": "tinygrad.codegen.simplify",
    "tensor": "tinygrad.tensor",
    "transcendental": "tinygrad.codegen.decomp.transcendental",
    "upat": "tinygrad.uop.upat",
    "worker": "tinygrad.engine.worker",
}
"""The modules in which a name is replaced, by their short names here."""

TAKEN = {
    # tensors and execution
    "all_tensors": "tinygrad.tensor",  # the living tensors, in the order of their creation
    "_METADATA": "tinygrad.tensor",  # the running method of Tensor, which names kernels
    "_metadata_wrapper": "tinygrad.tensor",  # wraps a method of Tensor so that it names its kernels
    "capturing": "tinygrad.engine.realize",  # the TinyJits that capture the current execution; truthy if there are any
    "_function": "tinygrad.function",  # the class of the results of @function; `depth` counts those being traced
    "_TinyJit": "tinygrad.engine.jit",  # the class of the results of TinyJit; `fxn` is the wrapped function
    # graphs
    "shape_to_shape_arg": "tinygrad.uop.ops",  # converts the sizes of a movement operation to its operand
    "CallInfo": "tinygrad.uop.ops",  # the arguments of a function call in addition to its operands; `aux` is ours
    "srender": "tinygrad.uop.ops",  # a size as text, which may be symbolic
    "exec_alu": "tinygrad.uop.ops",  # computes an elementwise operation on Python numbers
    "python_alu": "tinygrad.uop.ops",  # the Python functions of elementwise operations
    "compute_gradient": "tinygrad.mixin.gradient",  # reverse mode, from a root to targets, by `pm_gradient`
    "renumber_invalid_outputs": "tinygrad.mixin.gradient",  # renumbers the scratch memory of a body from 0
    # dtypes and devices
    "_to_np_dtype": "tinygrad.dtype",  # the numpy dtype of a dtype
    "least_upper_dtype": "tinygrad.dtype",  # the promoted dtype of several dtypes
    "least_upper_float": "tinygrad.dtype",  # the floating dtype of a result computed from a dtype
    "sum_acc_dtype": "tinygrad.dtype",  # the accumulator dtype of a sum
    "truncate": "tinygrad.dtype",  # for each dtype, the function that converts a Python number to it
    "all_int": "tinygrad.helpers",  # whether all sizes are concrete
    "BufferSpec": "tinygrad.device",  # allocation options; with `nolru`, freed memory returns to the system
    "canonicalize_device": "tinygrad.device",  # the full name of a device; None is the default device
    # from a graph to kernels
    "transform_to_call": "tinygrad.tensor",  # the call that computes a graph, and the new values of its nodes
    "create_linear_with_vars": "tinygrad.schedule",  # the kernels of a call in order, and the values of variables
    "memory_plan_rewrite": "tinygrad.schedule.memory",  # lets the buffers between kernels share memory
    "_compile_kernel": "tinygrad.engine.realize",  # compiles a kernel, as a task of a compile worker
    "compile_linear": "tinygrad.engine.realize",  # compiles the kernels of a linear graph
    "link_linear": "tinygrad.engine.realize",  # looks up the buffers of a linear graph
    "run_linear": "tinygrad.engine.realize",  # runs a linear graph on the buffers of its parameters
    "graph_split_rewrite": "tinygrad.engine.jit",  # groups the kernels that a device runs as one graph
    "KernelInfo": "tinygrad.uop.ops",  # the description of a kernel: how it should be optimized
    "graph_rewrite": "tinygrad.uop.ops",  # applies rules to a graph until none applies
    "pm_flatten_linear": "tinygrad.engine.realize",  # flattens a list of kernels inside a list of kernels
    "pm_split_ranges": "tinygrad.codegen.simplify",  # splits a loop whose index is divided by a constant into two
    "BottomUpGate": "tinygrad.uop.ops",  # raised by a rule to stop the rewrite of the operands
    "REWRITE_STACK_LIMIT": "tinygrad.uop.ops",  # the limit at which cyclic rules are reported
    "sym": "tinygrad.uop.symbolic",  # simplifies the operations of a kernel
    "pm_drop_and_clauses": "tinygrad.uop.symbolic",  # drops conditions that always hold for the index of a movement
    "pm_lower_weak": "tinygrad.uop.weak",  # gives an index the dtype that it needs
    "pm_flatten_range": "tinygrad.codegen.simplify",  # makes a reduction or a kernel end exactly its own loops
    "pm_exec": "tinygrad.engine.realize",  # runs one call
    "resolve_params": "tinygrad.engine.realize",  # the buffers of a call, with its parameters replaced by arguments
    "get_call_arg_uops": "tinygrad.engine.realize",  # the buffers of a call, in the order of its kernel's arguments
    "get_call_outs_ins": "tinygrad.engine.realize",  # the positions of the arguments that it writes and reads
    "get_runtime": "tinygrad.engine.realize",  # the function that runs a compiled kernel on a device
    "Estimates": "tinygrad.renderer",  # the estimated number of operations and bytes of a call
    "remove_bufferize": "tinygrad.schedule.rangeify",  # recomputes a value instead of storing it, or returns None
    # the C compiler
    "_Device": "tinygrad.device",  # the class of `Device`
    "TinyELF": "tinygrad.device",  # compiled code in the format for a device
    "ClangCompiler": "tinygrad.runtime.support.compiler_cpu",  # runs clang, or the program named by CC
    "AddrSpace": "tinygrad.dtype",  # the kind of memory, such as global, local or registers
    "Opt": "tinygrad.codegen.opt",  # an optimization of a kernel
    "OptOps": "tinygrad.codegen.opt",  # the kinds of optimizations
    "KernelOptError": "tinygrad.codegen.opt",  # an optimization that a kernel does not support
    "Scheduler": "tinygrad.codegen.opt.postrange",  # a kernel's loops, and the optimizations that change them
    "CPUProgram": "tinygrad.runtime.ops_cpu",  # compiled code in the memory of this process, at the address `addr`
    # kernels shown to users
    "full_rewrite_to_sink": "tinygrad.codegen",  # optimizes a kernel and lowers it for the renderer
    "to_program": "tinygrad.codegen",  # renders a kernel as source code
    "to_program_key": "tinygrad.codegen",  # the cache key of a program
    "CStyleLanguage": "tinygrad.renderer.cstyle",  # the renderer of plain C
    "Target": "tinygrad.helpers",  # a device by name, for a renderer
    "ansistrip": "tinygrad.helpers",  # removes terminal colors from a text
    # names used by patches
    "buffers": "tinygrad.uop.ops",  # the memory of each BUFFER
    "all_metadata": "tinygrad.uop.ops",  # the methods of Tensor that made each operation
    "SPEC": "tinygrad.helpers",  # the option that checks each UOp at its creation
    "dtype_from_uop": "tinygrad.uop.ops",  # infers the dtype from the operands
    "UOpMetaClass": "tinygrad.uop.ops",  # creates UOps; `ucache` is the table of the existing ones
    "PROFILE": "tinygrad.helpers",  # the option that measures the time of methods and kernels
    "BEAM": "tinygrad.helpers",  # the width of tinygrad's search for the optimizations of a kernel
    "CACHELEVEL": "tinygrad.helpers",  # the option that disables the disk cache
    "CCACHE": "tinygrad.helpers",  # the option that disables the disk cache of compiled sources
    "IGNORE_BEAM_CACHE": "tinygrad.helpers",  # the option that searches again for the optimizations of a kernel
    "CAPTURE_PROCESS_REPLAY": "tinygrad.helpers",  # the option that records how each kernel is made
    "TRACK_MATCH_STATS": "tinygrad.uop.ops",  # the option that records which rules match; VIZ sets it
    "CACHEDB": "tinygrad.helpers",  # the file of the disk cache
    "NUM_CPU_THREADS": "tinygrad.helpers",  # the maximum number of parts of a kernel
    "disk_like": "tinygrad.tensor",  # whether a value is stored in a file
    "replace_contig_with_store_after": "tinygrad.tensor",  # copies a value into new memory
}
"""The modules from which the names that we use are imported."""

REPLACED = {
    "codegen.do_to_program": "restores ALLOW_DEVICE_USAGE after an interrupt; keeps simplified indices of all kernels",
    "codegen.get_transcendental_patterns": "leaves exponentials and sines to the C library",
    "codegen.linearize": "keeps the operations of a long kernel in the order of the graph",
    "codegen.memory_coalescing": "leaves the loads and stores of plain loops scalar",
    "codegen.pm_move_gates_from_index": "gives the placeholder of a load that is gated off the dtype of the load",
    "codegen.pm_number_params": "numbers variables after all buffers",
    "codegen.pm_reduce_unparented": "keeps the bool dtype of a product of bools",
    "codegen.pm_simplify_add_image": "rounds values that become float16, on devices without images",
    "codegen.symbolic_simple": "keeps the index of a load that is never done a vector",
    "codegen.to_program_cache": "includes the programs on disk",
    "codegen.to_program_config": "adds the state of the CPU backend to the key of a program",
    "codegen.to_program_context": "sends the state of the CPU backend to the processes that compile",
    "compiler_cpu.subprocess": "starts ziglang's clang where no other is installed",
    "cstyle.ClangRenderer": "tells clang which loops not to vectorize and which sums to reorder; calls the C helpers",
    "device.ALLOW_DEVICE_USAGE": "is local to a thread",
    "device._Device": "opens a device once for all threads; explains a missing compiler",
    "function._function": "counts `depth` for each thread; closes over per-example values",
    "function.pm_ctx": "turns per-example values into arguments of a @function",
    "gater.move_where_load": "applies only where the dtypes agree",
    "gater.pm_move_gates_from_index": "is the rule table with one rule changed",
    "gradient._deepwalk": "skips detached values and the inputs that a primitive does not differentiate",
    "gradient.all_metadata": "lists each name once, and none for constants",
    "gradient.call_gradient": "asks a primitive for its own cotangents, and a function only for those that are needed",
    "gradient.pm_gradient": "adds rules for brands, leaves of differentiation, writes, casts and products",
    "helpers._db_connection": "belongs to one thread of one process",
    "helpers.db_connection": "opens one connection for each thread and process",
    "helpers.disable_gc": "enables garbage collection again after an interrupt",
    "helpers.diskcache_get": "returns nothing where no cache can exist",
    "helpers.diskcache_put": "stores nothing where no cache can exist",
    "heuristic.hand_coded_optimizations": "leaves the kernels that suit it as plain loops",
    "jit._TinyJit": "calls the wrapped function directly under a brand; serves one thread at a time",
    "jit.all_tensors": "allows changes during iteration",
    "jit.buffers": "allows changes during iteration",
    "jit.capturing": "is local to a thread",
    "jit.compile_linear": "serves one thread at a time",
    "jit.estimate_uop": "estimates calls of loops, products and host functions",
    "jit.get_call_outs_ins": "finds the buffers of calls of loops, products and host functions",
    "jit.jit_lower": "serves one thread at a time",
    "jit.run_linear": "serves one thread at a time",
    "ops.PatternMatcher": "looks rules up by the operation and the operations of its operands",
    "ops.RewriteContext": "applies rules with less overhead; keeps simplified indices",
    "ops.dtype_from_uop": "finds the dtype of frequent operations by the operation",
    "ops.is_image_shape": "looks for images only on devices that have them",
    "ops.pm_contiguous_view_offset": "looks through `contiguous` and `detach`",
    "ops.recursive_property": "computes a property at once where its operands have theirs",
    "ops.shape_to_shape_arg": "reuses the sizes that exist",
    "rangeify.earliest_rewrites": "lowers loops and host functions inside functions",
    "rangeify.multi_pm": "sends sums to the one device that receives them; reads the rows of one device",
    "rangeify.pm_copy_to_store": "reads the parts of a value on several devices through views of their own",
    "rangeify.pm_reduce_simplify": "keeps the bool dtype of a product of bools",
    "rangeify.pm_remove_bufferize": "keeps values in memory that are cheaper to read than to compute again",
    "rangeify.run_rangeify": "gives a kept value the memory layout of its source",
    "realize.ExecContext": "signals that all kernels are compiled and that execution begins",
    "realize.capturing": "is local to a thread",
    "realize.compile_linear": "serves one thread at a time; keeps the simplified indices of all kernels",
    "realize.estimate_uop": "estimates calls of loops, products and host functions",
    "realize.get_call_name": "names calls of loops, products and host functions",
    "realize.get_call_outs_ins": "finds the buffers of calls of loops, products and host functions",
    "realize.lower_and_compile": "compiles once for all identical devices",
    "realize.pm_exec": "runs loops, products by BLAS and host functions",
    "realize.run_linear": "serves one thread at a time",
    "realize.to_program_cache": "includes the programs on disk",
    "realize.to_program_context": "says whether the CPU backend makes a kernel",
    "schedule.capturing": "is local to a thread",
    "schedule.create_schedule": "stores its result on disk",
    "schedule.get_kernel_graph": "reads the result of another process from disk; keeps simplified indices",
    "schedule.pm_copy_from_store": "replaces kernels with products by BLAS",
    "schedule.schedule_cache": "keeps few schedules with loops, since these hold memory",
    "simplify.graph_rewrite": "skips loops that are merged already",
    "tensor.TRACEMETA": "is a plain int, which compares faster",
    "tensor._METADATA": "is local to a thread",
    "tensor._apply_map_to_tensors": "records the tensors that a run marks as computed",
    "tensor._fromnp": "accepts arrays of the other byte order",
    "tensor.all_tensors": "allows changes during iteration",
    "tensor.cpu_profile": "is the block around a user's method, which translates its errors",
    "tensor.contiguous_mops_to_view": "makes a view of a part only where vector loads are allowed",
    "tensor.pm_early_transform_tensor_graph": "lowers loops and host calls, fills empty arguments, copies views",
    "tensor.run_linear": "serves one thread at a time; records the buffers that a run reads",
    "tensor.transform_to_call": "applies the writes of other threads",
    "transcendental.xsin": "reduces a large float64 argument with all of its digits",
    "upat.upat_compile": "writes the function that matches a pattern in one pass",
    "worker.PARALLEL": "is off where no process can be started",
    "worker._WorkerProcess": "reports the started process through its `_Popen`",
    "worker._init_worker": "installs the patches in a compile process",
    "worker.getenv": "sets after how many kernels a process is replaced",
    "worker.get_worker_pool": "returns a pool that does not block when its processes are gone",
    "worker.worker_pool": "is dropped after its processes end",
}
"""The replaced names, by module and name, with the reason."""

CPU = "tinygrad.runtime.ops_cpu"
"""The module of the CPU devices and all their renderers. tinygrad imports it at the first use, and so do we."""

NEXT_COUNTER, COUNTERS, SEEDS = "_next_counter", "_device_rng_counters", "_device_seeds"
"""Attributes of Tensor: the function that returns the next RNG counter, the counters and the seeds by device."""
MEMORY_OF = "_buffer"
"""The method of Tensor that returns its memory, after realizing it."""
NAMES_KERNELS = "_wrapper"
"""The name of the wrapper around each method of Tensor, which names kernels after the method."""
SELECT_DEVICE = "_select_device"
"""The attribute of `Device` that selects the default device."""

MIN_MAX, SHAPE = "_min_max", "_shape"
"""Attributes of UOp: the bounds of its value, and its shape. Each is computed once."""

_SHAPE = "_RECURSIVE_PROPERTY__shape"
"""The attribute in which tinygrad caches the shape of a UOp. Computing it takes ten times as long as making the UOp."""
_AXIS = "axis"
"""The attribute in which tinygrad caches the axis over which a UOp is sharded."""
_DEVICE, _OF_EXAMPLE = "_RECURSIVE_PROPERTY_device", "_branded_device"
"""The attributes in which tinygrad caches the device of a UOp, and in which we cache the device of an example."""


def known_shape(u: Any) -> tuple[Any, ...] | None:
    """Return the shape of a UOp if it has been computed, else None."""
    found: tuple[Any, ...] | None = u.__dict__.get(_SHAPE)
    return found


def keep_shape(u: Any, shape: tuple[Any, ...]) -> None:
    """Set the shape of `u`, so that it need not be computed."""
    u.__dict__[_SHAPE] = shape


def keep_behind(u: Any, sizes: tuple[Any, ...], batched: Any) -> None:
    """Set the shape of `batched` to these sizes followed by the shape of `u`, if that has been computed."""
    if (shape := u.__dict__.get(_SHAPE)) is not None:
        batched.__dict__[_SHAPE] = sizes + shape


def keep_axis(u: Any, axis: int | None) -> None:
    """Set the axis over which `u` is sharded."""
    u.__dict__[_AXIS] = axis


def keep_device(u: Any, device: str) -> None:
    """Set the device of `u`, an example of a batch that is spread over several devices."""
    u.__dict__[_DEVICE] = u.__dict__[_OF_EXAMPLE] = device


def keep_known(u: Any, v: Any) -> None:
    """Copy the computed properties of `u` to `v`, the same operation on other operands."""
    known, own = u.__dict__, v.__dict__
    if _OF_EXAMPLE in known:
        keep_device(v, known[_OF_EXAMPLE])
    if _SHAPE in known:
        own[_SHAPE] = known[_SHAPE]
    if _AXIS in known:
        own[_AXIS] = known[_AXIS]


def part_of_each(x: Any, axis: int, number: Any) -> Any:
    """Return the shard of each device along an axis, by shard index; all devices hold the whole UOp `x`."""
    return x._shard(axis, number)


def has_shape(u: Any) -> bool:
    """Return whether `u` has a shape; `u.shape` raises for a tuple, for example."""
    return u._shape is not None


def broadcast_to(x: Any, shape: tuple[Any, ...]) -> Any:
    """Return `x.expand(shape)` for a UOp or a Tensor, with missing leading axes added."""
    return x._broadcast_to(shape)


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to which shapes broadcast; raise IndexError if there is none."""
    shape: tuple[int, ...] = _module(MODULES["ops"])._broadcast_shape(*shapes)
    return shape


def reduce_axes(x: Any, op: Any, axes: tuple[int, ...]) -> Any:
    """Return a UOp reduced over axes, without keeping them."""
    return x._rop(op, axes)


def has_body(call: Any) -> bool:
    """Return whether the first operand of a CALL or FUNCTION is a body, which rewrites of the caller do not enter."""
    ops = _module(MODULES["ops"])
    return bool(call.op is ops.Ops.FUNCTION or call.src[0].op in ops.UOp._OPAQUE_CALL_BODIES)


def render_first(rules: Any) -> None:
    """Let all renderers of C try these rules before their own."""
    for x in vars(_module(MODULES["cstyle"])).values():
        if isinstance(x, type) and "string_rewrite" in vars(x):
            setattr(x, "string_rewrite", rules + getattr(x, "string_rewrite"))  # noqa: B009, B010


def memories(buffer: Any) -> dict[str, Any]:
    """Return the memory of a buffer by device: the buffer's own table, which lists it while it is allocated."""
    found: dict[str, Any] = buffer._bufs
    return found


def is_open(device: str) -> bool:
    """Return whether this device has been used."""
    return device in _module("tinygrad.device").Device._opened_devices


def options() -> dict[str, Any]:
    """Return the values of all options, by name."""
    cache = type(__getattr__("CACHELEVEL"))._cache
    return {name: option.value for name, option in cache.items()}


def register(option: Any, key: str) -> None:
    """Make this the option of tinygrad with that name."""
    type(option)._cache[key] = option


def __getattr__(name: str) -> Any:
    """Return the current value of a name of tinygrad, or a module in which a name is replaced."""
    if (module := TAKEN.get(name)) is not None:
        return getattr(_module(module), name)
    if (module := MODULES.get(name)) is not None:
        found = globals()[name] = _module(module)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
