"""The one door to tinygrad: all that it keeps to itself, or does not promise, and that we need, by name.

What is taken, another module imports from here, or asks for at each use where it may be replaced later:

    from branded.tinygrad_compat.private_api import all_tensors
    tg.run_linear(linear, ...)

What is replaced is replaced in the module of tinygrad that uses it: `tg.codegen.pm_number_params = ...`.  Other names
of tinygrad, which it documents, are imported from tinygrad.  `tests/test_door.py` says which these are, fails where a
name goes by another way, and asks the tinygrad that is here for each name of this file, and whether it does what we
rely on.  Nothing is imported before it is asked for, and nothing of this package ever.
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
"""The modules in which something is replaced, by their names here."""

TAKEN = {
    # what tensors there are, and what runs
    "all_tensors": "tinygrad.tensor",  # the living tensors, in the order in which they were made
    "_METADATA": "tinygrad.tensor",  # the method of Tensor that runs, for the names of kernels
    "_metadata_wrapper": "tinygrad.tensor",  # a method of Tensor that names the kernels of what it does
    "capturing": "tinygrad.engine.realize",  # the TinyJits that capture what runs: true if there are any
    "_function": "tinygrad.function",  # the class of what @function gives; `depth` counts those that are being traced
    "_TinyJit": "tinygrad.engine.jit",  # the class of what TinyJit gives; `fxn` is the function that it is of
    # graphs
    "shape_to_shape_arg": "tinygrad.uop.ops",  # the sizes of a movement operation, as the operand that they are
    "CallInfo": "tinygrad.uop.ops",  # what the call of a function says beside its operands; `aux` is ours
    "srender": "tinygrad.uop.ops",  # a size as text, which may be symbolic
    "exec_alu": "tinygrad.uop.ops",  # an elementwise operation on numbers of Python
    "python_alu": "tinygrad.uop.ops",  # the functions of Python that these are
    "compute_gradient": "tinygrad.mixin.gradient",  # reverse mode, from a root to targets, by `pm_gradient`
    "renumber_invalid_outputs": "tinygrad.mixin.gradient",  # a body whose scratch memory has the numbers from 0 on
    # numbers and devices
    "_to_np_dtype": "tinygrad.dtype",  # the type of numpy for the numbers of a dtype
    "least_upper_dtype": "tinygrad.dtype",  # the dtype of what is worked out of several
    "least_upper_float": "tinygrad.dtype",  # the dtype of floats that are worked out of a dtype
    "sum_acc_dtype": "tinygrad.dtype",  # the dtype in which numbers of a dtype are summed
    "truncate": "tinygrad.dtype",  # for each dtype what makes a number of Python one of it
    "all_int": "tinygrad.helpers",  # are all of these sizes known?
    "BufferSpec": "tinygrad.device",  # how memory is taken: with `nolru` it is the system's again when it is free
    "canonicalize_device": "tinygrad.device",  # the full name of a device; that of None is the default
    # from a graph to kernels
    "transform_to_call": "tinygrad.tensor",  # the call that computes a graph, and what its values become
    "create_linear_with_vars": "tinygrad.schedule",  # the kernels of a call in order, and the values of variables
    "memory_plan_rewrite": "tinygrad.schedule.memory",  # lets the buffers between kernels share memory
    "_compile_kernel": "tinygrad.engine.realize",  # makes a kernel, as a task of a process that compiles
    "compile_linear": "tinygrad.engine.realize",  # with its kernels compiled
    "link_linear": "tinygrad.engine.realize",  # with its buffers looked up
    "run_linear": "tinygrad.engine.realize",  # runs it on the buffers that stand for its parameters
    "graph_split_rewrite": "tinygrad.engine.jit",  # groups the kernels that a device runs as one
    "KernelInfo": "tinygrad.uop.ops",  # what a kernel says of itself: how it is to be optimized
    "graph_rewrite": "tinygrad.uop.ops",  # rules applied to a graph until none applies
    "pm_flatten_linear": "tinygrad.engine.realize",  # makes of kernels in place of a kernel one list
    "pm_split_ranges": "tinygrad.codegen.simplify",  # makes two loops of one whose number is divided by a constant
    "BottomUpGate": "tinygrad.uop.ops",  # raised by a rule behind which nothing is to be rewritten
    "REWRITE_STACK_LIMIT": "tinygrad.uop.ops",  # the option that says when rules go round
    "sym": "tinygrad.uop.symbolic",  # simplifies what a kernel works out
    "pm_drop_and_clauses": "tinygrad.uop.symbolic",  # leaves out conditions that hold for the index of a movement
    "pm_lower_weak": "tinygrad.uop.weak",  # gives an index the dtype that it needs
    "pm_flatten_range": "tinygrad.codegen.simplify",  # lets a sum or a kernel end the loops that it has
    "pm_exec": "tinygrad.engine.realize",  # runs one call
    "resolve_params": "tinygrad.engine.realize",  # the buffers of a call, with those given in place of its parameters
    "get_call_arg_uops": "tinygrad.engine.realize",  # the buffers of a call, in the order of its kernel's arguments
    "get_call_outs_ins": "tinygrad.engine.realize",  # the positions of those that it writes, and of those that it reads
    "get_runtime": "tinygrad.engine.realize",  # the function that runs a compiled kernel on a device
    "Estimates": "tinygrad.renderer",  # how many operations and bytes a call is said to be
    "remove_bufferize": "tinygrad.schedule.rangeify",  # works a value out again instead of keeping it, or None
    # the C compiler
    "_Device": "tinygrad.device",  # the class of `Device`
    "TinyELF": "tinygrad.device",  # compiled code as a device gets it
    "ClangCompiler": "tinygrad.runtime.support.compiler_cpu",  # runs clang, or what CC names
    "AddrSpace": "tinygrad.dtype",  # where memory is: that of a device, or registers
    "Opt": "tinygrad.codegen.opt",  # an option of a kernel
    "OptOps": "tinygrad.codegen.opt",  # the kinds of options
    "KernelOptError": "tinygrad.codegen.opt",  # an option that a kernel cannot have
    "Scheduler": "tinygrad.codegen.opt.postrange",  # a kernel's loops, and the options that change them
    "CPUProgram": "tinygrad.runtime.ops_cpu",  # compiled code in the memory of this process; `addr` says where
    # kernels for readers
    "full_rewrite_to_sink": "tinygrad.codegen",  # a kernel with its options, down to what is rendered
    "to_program": "tinygrad.codegen",  # a kernel as source, by a renderer
    "to_program_key": "tinygrad.codegen",  # what a program is kept by
    "CStyleLanguage": "tinygrad.renderer.cstyle",  # the renderer of plain C
    "Target": "tinygrad.helpers",  # a device by name, for a renderer
    "ansistrip": "tinygrad.helpers",  # without the colours of a terminal
    # what patches ask for
    "buffers": "tinygrad.uop.ops",  # the memory of each BUFFER
    "all_metadata": "tinygrad.uop.ops",  # which methods of Tensor made an operation
    "SPEC": "tinygrad.helpers",  # the option by which each UOp is checked as it is made
    "dtype_from_uop": "tinygrad.uop.ops",  # the dtype that follows from the operands
    "UOpMetaClass": "tinygrad.uop.ops",  # makes UOps; `ucache` is the table of those that there are
    "PROFILE": "tinygrad.helpers",  # the option that takes the time of methods and kernels
    "BEAM": "tinygrad.helpers",  # the option that says how wide tinygrad searches for the form of a kernel
    "CACHELEVEL": "tinygrad.helpers",  # the option that leaves out the cache on disk
    "CACHEDB": "tinygrad.helpers",  # its file
    "NUM_CPU_THREADS": "tinygrad.helpers",  # the option that says how many parts a kernel may have
    "disk_like": "tinygrad.tensor",  # is a value in a file?
    "replace_contig_with_store_after": "tinygrad.tensor",  # a copy of a value in memory of its own
}
"""What is taken, and the module that it is of."""

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
"""What is replaced or set, and why: in which module, under which name."""

CPU = "tinygrad.runtime.ops_cpu"
"""The devices of the CPU, with all its renderers: imported by tinygrad when one is used, and not by us before."""

NEXT_COUNTER, COUNTERS, SEEDS = "_next_counter", "_device_rng_counters", "_device_seeds"
"""Of Tensor: what gives a draw its counter, the counter of each device, the seed of each device."""
MEMORY_OF = "_buffer"
"""Of Tensor: its memory, for which its value is worked out."""
NAMES_KERNELS = "_wrapper"
"""The name of the function around each method of Tensor, by which kernels are named."""
ALLOCATE = "_alloc"
"""Of the allocator of the CPU: what asks the system for memory."""
SELECT_DEVICE = "_select_device"
"""Of `Device`: what chooses the default."""

MIN_MAX, SHAPE = "_min_max", "_shape"
"""Of UOp: between which numbers a value is, and its shape; each is worked out once."""

_SHAPE = "_RECURSIVE_PROPERTY__shape"
"""Where tinygrad keeps the shape of a UOp once it is worked out, which takes ten times as long as to make the UOp."""
_AXIS = "axis"
"""Where it keeps the axis over which a UOp is sharded."""
_DEVICE, _OF_EXAMPLE = "_RECURSIVE_PROPERTY_device", "_branded_device"
"""Where it keeps the device of a UOp once it is worked out, and where we keep that of an example."""


def known_shape(u: Any) -> tuple[Any, ...] | None:
    """The shape of a UOp, if it is worked out."""
    found: tuple[Any, ...] | None = u.__dict__.get(_SHAPE)
    return found


def keep_shape(u: Any, shape: tuple[Any, ...]) -> None:
    """This is the shape of `u`: it need not be worked out."""
    u.__dict__[_SHAPE] = shape


def keep_behind(u: Any, sizes: tuple[Any, ...], batched: Any) -> None:
    """The shape of `batched` is that of `u` behind these sizes, if that is worked out."""
    if (shape := u.__dict__.get(_SHAPE)) is not None:
        batched.__dict__[_SHAPE] = sizes + shape


def keep_axis(u: Any, axis: int | None) -> None:
    """Over this axis `u` is sharded."""
    u.__dict__[_AXIS] = axis


def keep_device(u: Any, device: str) -> None:
    """This is the device of `u`, one of the examples that are on several."""
    u.__dict__[_DEVICE] = u.__dict__[_OF_EXAMPLE] = device


def keep_known(u: Any, v: Any) -> None:
    """What is worked out of `u` holds for `v`, the same operation on other operands."""
    known, own = u.__dict__, v.__dict__
    if _OF_EXAMPLE in known:
        keep_device(v, known[_OF_EXAMPLE])
    if _SHAPE in known:
        own[_SHAPE] = known[_SHAPE]
    if _AXIS in known:
        own[_AXIS] = known[_AXIS]


def part_of_each(x: Any, axis: int, number: Any) -> Any:
    """Of a UOp that all devices have, the part of an axis that each keeps, by its number."""
    return x._shard(axis, number)


def has_shape(u: Any) -> bool:
    """Is this a value, and no tuple or the like, of which `u.shape` raises?"""
    return u._shape is not None


def broadcast_to(x: Any, shape: tuple[Any, ...]) -> Any:
    """`x.expand(shape)`, of a UOp or a Tensor, with leading axes where `x` has fewer."""
    return x._broadcast_to(shape)


def reduced(x: Any, op: Any, axes: tuple[int, ...]) -> Any:
    """A UOp reduced over axes, which are gone."""
    return x._rop(op, axes)


def has_body(call: Any) -> bool:
    """Is the first operand of a CALL or FUNCTION what it calls, which is left alone where its caller is rewritten?"""
    ops = _module(MODULES["ops"])
    return bool(call.op is ops.Ops.FUNCTION or call.src[0].op in ops.UOp._OPAQUE_CALL_BODIES)


def memories(buffer: Any) -> dict[str, Any]:
    """The memory of a buffer by device; it is the buffer's own table, in which it is as long as there is any."""
    found: dict[str, Any] = buffer._bufs
    return found


def is_open(device: str) -> bool:
    """Has this device been used?"""
    return device in _module("tinygrad.device").Device._opened_devices


def options() -> dict[str, Any]:
    """The values of all options, by name."""
    cache = type(__getattr__("CACHELEVEL"))._cache
    return {name: option.value for name, option in cache.items()}


def register(option: Any, key: str) -> None:
    """From now on this is the option of tinygrad of that name."""
    type(option)._cache[key] = option


def __getattr__(name: str) -> Any:
    """A part of tinygrad as it is now, or a module in which something is replaced."""
    if (module := TAKEN.get(name)) is not None:
        return getattr(_module(module), name)
    if (module := MODULES.get(name)) is not None:
        found = globals()[name] = _module(module)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
