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
    "CACHEDB": "tinygrad.helpers",  # the file of the disk cache
    "NUM_CPU_THREADS": "tinygrad.helpers",  # the maximum number of parts of a kernel
    "disk_like": "tinygrad.tensor",  # whether a value is stored in a file
    "replace_contig_with_store_after": "tinygrad.tensor",  # copies a value into new memory
}
"""The modules from which the names that we use are imported."""

REPLACED = {
    "codegen.do_to_program": "sets the option that forbids devices back by C; knows what indices became",
    "codegen.get_transcendental_patterns": "leaves exponentials and sines to C",
    "codegen.linearize": "takes the operations of a long kernel as its graph has them",
    "codegen.memory_coalescing": "reads and writes the numbers of plain loops one by one",
    "codegen.pm_move_gates_from_index": "leaves what stands for a load that is not done its dtype",
    "codegen.pm_number_params": "numbers variables behind all buffers",
    "codegen.pm_reduce_unparented": "leaves a product of bools a bool",
    "codegen.pm_simplify_add_image": "rounds what becomes a float16, where there are no images",
    "codegen.to_program_cache": "knows the programs that are on disk",
    "codegen.to_program_config": "the key of a program says whether the room for the CPU made it",
    "codegen.to_program_context": "and so do the processes that compile it",
    "compiler_cpu.subprocess": "starts the clang of ziglang where there is no other",
    "cstyle.ClangRenderer": "tells clang which loops are not to be vectors, and which sums may be; calls our C",
    "device.ALLOW_DEVICE_USAGE": "each thread has its own",
    "device._Device": "opens a device once, for all threads; says what is missing where there is no compiler",
    "function._function": "counts `depth` for each thread; closes over values of an example",
    "function.pm_ctx": "makes values of an example arguments of a @function",
    "gater.move_where_load": "is asked only where dtypes agree",
    "gater.pm_move_gates_from_index": "the rules, of which one is changed",
    "gradient._deepwalk": "does not go through what is detached, nor into what a primitive does not derive from",
    "gradient.all_metadata": "has each name once, and none of a constant",
    "gradient.call_gradient": "asks a primitive for its own cotangents, and a function for those that are needed alone",
    "gradient.pm_gradient": "has rules for brands, leaves, writes, casts and products",
    "helpers._db_connection": "is that of no other thread or process",
    "helpers.db_connection": "each thread and process has its own",
    "helpers.disable_gc": "collects garbage again after an interrupt",
    "helpers.diskcache_get": "finds nothing where there can be no cache",
    "helpers.diskcache_put": "keeps nothing where there can be no cache",
    "heuristic.hand_coded_optimizations": "leaves kernels that suit as plain loops",
    "jit._TinyJit": "is the function that it is of under a brand; is called by one thread at a time",
    "jit.all_tensors": "may change while it is walked through",
    "jit.buffers": "may change while it is walked through",
    "jit.capturing": "each thread has its own",
    "jit.compile_linear": "one thread at a time",
    "jit.estimate_uop": "knows the call of a loop, of a product and of a function of the host",
    "jit.get_call_outs_ins": "knows the call of a loop, of a product and of a function of the host",
    "jit.jit_lower": "one thread at a time",
    "jit.run_linear": "one thread at a time",
    "ops.PatternMatcher": "looks rules up by an operation and those of its operands",
    "ops.RewriteContext": "applies rules with less around them; knows what indices became",
    "ops.dtype_from_uop": "finds the dtype of what there is much of by its operation",
    "ops.is_image_shape": "finds images only where there are any",
    "ops.pm_contiguous_view_offset": "sees through `contiguous` and `detach`",
    "ops.recursive_property": "works a property out at once where the operands have it",
    "ops.shape_to_shape_arg": "finds the sizes that are there",
    "rangeify.earliest_rewrites": "lowers loops and functions of the host inside of functions",
    "rangeify.multi_pm": "sends the sums of several devices to the one that gets them",
    "rangeify.pm_reduce_simplify": "leaves a product of bools a bool",
    "rangeify.pm_remove_bufferize": "leaves in memory what takes longer to work out again than to read",
    "rangeify.run_rangeify": "lays out what is kept in memory as what it is computed from",
    "realize.ExecContext": "tells when all is compiled, and runs begin",
    "realize.capturing": "each thread has its own",
    "realize.compile_linear": "one thread at a time; knows what indices became in all kernels",
    "realize.estimate_uop": "knows the call of a loop, of a product and of a function of the host",
    "realize.get_call_name": "knows the call of a loop, of a product and of a function of the host",
    "realize.get_call_outs_ins": "knows the call of a loop, of a product and of a function of the host",
    "realize.lower_and_compile": "once for all devices that are alike",
    "realize.pm_exec": "runs a loop, a product by BLAS, and a function of the host",
    "realize.run_linear": "one thread at a time",
    "realize.to_program_cache": "knows the programs that are on disk",
    "realize.to_program_context": "says whether the room for the CPU makes a kernel",
    "schedule.capturing": "each thread has its own",
    "schedule.create_schedule": "keeps on disk what it finds",
    "schedule.get_kernel_graph": "finds on disk what another process has found; knows what indices became",
    "schedule.pm_copy_from_store": "puts products by BLAS in place of kernels",
    "schedule.schedule_cache": "keeps few schedules with loops, which have memory",
    "simplify.graph_rewrite": "merges no loop that is merged already",
    "tensor.TRACEMETA": "a number, which takes no time to compare",
    "tensor._METADATA": "each thread has its own",
    "tensor._apply_map_to_tensors": "tells which tensors a run takes for computed",
    "tensor._fromnp": "takes arrays whose bytes are in the other order",
    "tensor.all_tensors": "may change while it is walked through",
    "tensor.cpu_profile": "the block around a method of the user's, which says what is refused",
    "tensor.contiguous_mops_to_view": "makes a view of a part only where vectors may be loaded",
    "tensor.pm_early_transform_tensor_graph": "lowers loops and host calls, fills empty arguments, copies views",
    "tensor.run_linear": "one thread at a time; tells what a run reads",
    "tensor.transform_to_call": "tells what other threads have written",
    "transcendental.xsin": "finds the remainder of a large float64 with all of its digits",
    "upat.upat_compile": "writes the function that matches a pattern in one go",
    "worker.PARALLEL": "switched off where processes cannot be started",
    "worker._WorkerProcess": "its `_Popen` tells who was started",
    "worker._init_worker": "puts the patches into a process that compiles",
    "worker.getenv": "says after how many kernels a process is started anew",
    "worker.get_worker_pool": "a pool that is not waited for in vain",
    "worker.worker_pool": "given up where its processes ended",
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
ALLOCATE = "_alloc"
"""The method of the CPU allocator that requests memory from the system."""
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


def reduce_axes(x: Any, op: Any, axes: tuple[int, ...]) -> Any:
    """Return a UOp reduced over axes, without keeping them."""
    return x._rop(op, axes)


def has_body(call: Any) -> bool:
    """Return whether the first operand of a CALL or FUNCTION is a body, which rewrites of the caller do not enter."""
    ops = _module(MODULES["ops"])
    return bool(call.op is ops.Ops.FUNCTION or call.src[0].op in ops.UOp._OPAQUE_CALL_BODIES)


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
