"""The registry of all private or undocumented names of tinygrad that this package uses.

Other modules import a name from here. If the name may be replaced later, they look it up at each use:

    from branded.tinygrad_compat.private_api import all_tensors
    private_api.run_linear(linear, ...)

A replacement is set in the module of tinygrad that uses the name: `private_api.codegen.pm_number_params = ...`.
Documented names are imported from tinygrad. `tests/tinygrad_compat/test_door.py` lists the documented names, and
fails if a private name is imported elsewhere. It also checks that the installed tinygrad has each name of this file,
with the behavior that we rely on. Modules of tinygrad are imported at the first use. No module of this package is
ever imported here.

Each name has the features that need it. `problems` compares the names with the installed tinygrad, whose version may be
unknown, and `features` decides which features to switch off. A missing name that the core does not need gets a
stand-in, so that modules can import it. Using the stand-in raises an error.

The file is longer than others because 320 lines of it are one table: a reader of a new tinygrad compares one page.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import operator
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

_module = functools.cache(importlib.import_module)


class Name(NamedTuple):
    """A private name of tinygrad.

    Attributes:
        module: The module that contains the name.
        features: The features that need the name, separated by spaces: entries of `FEATURES`, fixes or speed patches.
        use: The meaning of the name, or the effect of our replacement.
        form: For a replaced name, its parameters, or its type if it is not a function.
        elsewhere: The same object in other versions of tinygrad, as `module:name`.
    """

    module: str
    features: str
    use: str
    form: str | None = None
    elsewhere: str = ""


FEATURES: Mapping[str, str] = {
    "core": "vmap, derivatives, loops and collectives",
    "jit": "compiled functions",
    "backend": "fast CPU kernels",
    "native": "programs that C runs",
    "callbacks": "host callbacks",
    "compiler": "the choice of a C compiler",
    "disk": "kernels and schedules on disk",
    "errors": "errors of shapes in the user's words",
    "functions": "numpy's functions",
    "linalg": "matrices",
    "random": "random numbers from keys",
    "memory": "memory limits",
    "explain": "explain, and the explorer",
    "profile": "the time of each kernel",
    "dask": "dask arrays",
}
"""The features that private names are for, in addition to the fixes and speed patches."""

MODULES = {
    "coalesce": "tinygrad.codegen.late.coalesce",
    "codegen": "tinygrad.codegen",
    "compiler_cpu": "tinygrad.runtime.support.compiler_cpu",
    "cstyle": "tinygrad.renderer.cstyle",
    "device": "tinygrad.device",
    "function": "tinygrad.function",  # the name in the package is the decorator
    "gater": "tinygrad.codegen.late.gater",
    "gradient": "tinygrad.mixin.gradient",
    "helpers": "tinygrad.helpers",
    "heuristic": "tinygrad.codegen.opt.heuristic",
    "indexing": "tinygrad.schedule.indexing",
    "jit": "tinygrad.engine.jit",
    "ops": "tinygrad.uop.ops",
    "rangeify": "tinygrad.schedule.rangeify",
    "realize": "tinygrad.engine.realize",
    "schedule": "tinygrad.schedule",
    "simplify": "tinygrad.codegen.simplify",
    "spec": "tinygrad.uop.spec",
    "tensor": "tinygrad.tensor",
    "transcendental": "tinygrad.codegen.decomp.transcendental",
    "uop_symbolic": "tinygrad.uop.symbolic",
    "upat": "tinygrad.uop.upat",
    "worker": "tinygrad.engine.worker",
}
"""The modules in which a name is replaced, by their short names here."""

_TAKEN = {
    # tensors and execution
    "all_tensors": "tensor | core | the living tensors, in the order of their creation",
    "_METADATA": "tensor | core | the running method of Tensor, which names kernels",
    "_metadata_wrapper": "tensor | core | wraps a method of Tensor so that it names its kernels",
    "capturing": "engine.realize | core | the TinyJits that capture the current execution; truthy if there are any",
    "_function": "function | core | the class of the results of @function; `depth` counts those being traced",
    "_TinyJit": (
        "engine.jit | core | "
        "the class of the results of TinyJit; `fxn` is the wrapped function | tinygrad.engine.jit:TinyJit"
    ),
    # graphs
    "shape_to_shape_arg": "uop.ops | core | converts the sizes of a movement operation to its operand",
    "CallInfo": "uop.ops | core | the arguments of a function call in addition to its operands; `aux` is ours",
    "srender": "uop.ops | core | a size as text, which may be symbolic",
    "exec_alu": "uop.ops | explain | computes an elementwise operation on Python numbers",
    "python_alu": "uop.ops | nan | the Python functions of elementwise operations",
    "compute_gradient": (
        "mixin.gradient | core | "
        "reverse mode, from a root to targets, by `pm_gradient` | tinygrad.gradient:compute_gradient"
    ),
    "renumber_invalid_outputs": "mixin.gradient | core | renumbers the scratch memory of a body from 0",
    # dtypes and devices
    "_from_np_dtype": "dtype | arange | the dtype of a numpy dtype",
    "_to_np_dtype": "dtype | core | the numpy dtype of a dtype",
    "least_upper_dtype": "dtype | core | the promoted dtype of several dtypes",
    "least_upper_float": "dtype | core | the floating dtype of a result computed from a dtype",
    "sum_acc_dtype": "dtype | widening | the accumulator dtype of a sum",
    "truncate": "dtype | explain random | for each dtype, the function that converts a Python number to it",
    "all_int": "helpers | core | whether all sizes are concrete",
    "BufferSpec": "device | backend | allocation options; with `nolru`, freed memory returns to the system",
    "canonicalize_device": "device | core | the full name of a device; None is the default device",
    # from a graph to kernels
    "transform_to_call": (
        "tensor | core | "
        "the call that computes a graph, and the new values of its nodes | tinygrad.callify:transform_to_call"
    ),
    "create_linear_with_vars": "schedule | core | the kernels of a call in order, and the values of variables",
    "memory_plan_rewrite": "schedule.memory | core | lets the buffers between kernels share memory",
    "_compile_kernel": "engine.realize | workers | compiles a kernel, as a task of a compile worker",
    "compile_linear": "engine.realize | core | compiles the kernels of a linear graph",
    "link_linear": "engine.realize | core | looks up the buffers of a linear graph",
    "run_linear": "engine.realize | core | runs a linear graph on the buffers of its parameters",
    "graph_split_rewrite": "engine.jit | jit | groups the kernels that a device runs as one graph",
    "KernelInfo": "uop.ops | backend | the description of a kernel: how it should be optimized",
    "graph_rewrite": "uop.ops | backend | applies rules to a graph until none applies",
    "pm_flatten_linear": "engine.realize | backend | flattens a list of kernels inside a list of kernels",
    "pm_split_ranges": "codegen.simplify | backend | splits a loop whose index is divided by a constant into two",
    "BottomUpGate": "uop.ops | rewriting | raised by a rule to stop the rewrite of the operands",
    "REWRITE_STACK_LIMIT": "uop.ops | rewriting | the limit at which cyclic rules are reported",
    "symbolic": "uop.symbolic | deriving | the rules of `simplify`",
    "sym": "uop.symbolic | rewriting | simplifies the operations of a kernel",
    "pm_drop_and_clauses": "uop.symbolic | rewriting | drops conditions that always hold for the index of a movement",
    "pm_lower_weak": "uop.weak | rewriting | gives an index the dtype that it needs",
    "pm_flatten_range": "codegen.simplify | backend | makes a reduction or a kernel end exactly its own loops",
    "pm_exec": "engine.realize | core | runs one call",
    "resolve_params": "engine.realize | core | the buffers of a call, with its parameters replaced by arguments",
    "get_call_arg_uops": "engine.realize | core | the buffers of a call, in the order of its kernel's arguments",
    "get_call_outs_ins": "engine.realize | core | the positions of the arguments that it writes and reads",
    "get_runtime": "engine.realize | core | the function that runs a compiled kernel on a device",
    "Estimates": "renderer | core | the estimated number of operations and bytes of a call",
    "apply_movement_op": "schedule.indexing | core | the indices in the operand of a movement operation",
    "fix_store_hazard": "schedule.rangeify | skipping | stores a value that reads the buffer it is written to",
    "realize_store_after_src": "schedule.indexing | skipping | stores a value before its buffer is written",
    "remove_bufferize": "schedule.rangeify | backend | recomputes a value instead of storing it, or returns None",
    "split_reduceop": "schedule.rangeify | backend | splits a sum of many terms in two, or returns None",
    # the C compiler
    "_Device": "device | compiler explain | the class of `Device`",
    "TinyELF": "device | native | compiled code in the format for a device",
    "ClangCompiler": "runtime.support.compiler_cpu | clang compiler native | runs clang, or the program named by CC",
    "to_storage_scalar": "dtype | bfloat16 | the bits of a number of 16 bits, as an int",
    "AddrSpace": "dtype | backend disk skipping vector_casts | the kind of memory, such as global, local or registers",
    "Opt": "codegen.opt | backend | an optimization of a kernel",
    "OptOps": "codegen.opt | backend | the kinds of optimizations",
    "KernelOptError": "codegen.opt | backend | an optimization that a kernel does not support",
    "Scheduler": (
        "codegen.opt.postrange | backend explain launched | a kernel's loops, and the optimizations that change them"
    ),
    "CPUProgram": "runtime.ops_cpu | native | compiled code in the memory of this process, at the address `addr`",
    # kernels shown to users
    "full_rewrite_to_sink": "codegen | backend | optimizes a kernel and lowers it for the renderer",
    "to_program": "codegen | explain | renders a kernel as source code",
    "to_program_key": "codegen | backend | the cache key of a program",
    "CStyleLanguage": "renderer.cstyle | explain | the renderer of plain C",
    "Target": "helpers | explain | a device by name, for a renderer",
    "ansistrip": "helpers | backend explain profile | removes terminal colors from a text",
    # names used by patches
    "buffers": "uop.ops | core interning threads arange | the memory of each BUFFER",
    "Metadata": "helpers | core movements | the name of the method of Tensor that made an operation",
    "all_metadata": "uop.ops | errors interning metadata movements | the methods of Tensor that made each operation",
    "axis_letters": "uop.ops | vectorizer | the first letters of the names of loops",
    "range_str": "uop.ops | backend vectorizer | the rest of the name of a loop",
    "SPEC": "helpers | interning skipping | the option that checks each UOp at its creation",
    "dtype_from_uop": "uop.ops | interning | infers the dtype from the operands",
    "UOpMetaClass": "uop.ops | callbacks interning | creates UOps; `ucache` is the table of the existing ones",
    "PROFILE": "helpers | errors | the option that measures the time of methods and kernels",
    "BEAM": "helpers | core | the width of tinygrad's search for the optimizations of a kernel",
    "CACHELEVEL": "helpers | cache disk | the option that disables the disk cache",
    "CCACHE": "helpers | disk | the option that disables the disk cache of compiled sources",
    "IGNORE_BEAM_CACHE": "helpers | disk | the option that searches again for the optimizations of a kernel",
    "CAPTURE_PROCESS_REPLAY": "helpers | disk | the option that records how each kernel is made",
    "TRACK_MATCH_STATS": "uop.ops | disk | the option that records which rules match; VIZ sets it",
    "CACHEDB": "helpers | cache matching | the file of the disk cache",
    "NUM_CPU_THREADS": "helpers | backend | the maximum number of parts of a kernel",
    "disk_like": "tensor | core | whether a value is stored in a file",
    "replace_contig_with_store_after": (
        "tensor | alignment | copies a value into new memory | tinygrad.callify:replace_contig_with_store_after"
    ),
}
"""The names that are imported: the module (of tinygrad), the features, the use, and where other versions have it."""

_REPLACED = {
    "coalesce.uop_given_valid": "skipping | valid uop try_simplex | keeps the simplified indices of all kernels",
    "codegen.do_to_program": (
        "backend options rewriting workers | ast renderer | "
        "restores ALLOW_DEVICE_USAGE after an interrupt; keeps simplified indices of all kernels"
    ),
    "codegen.get_transcendental_patterns": (
        "backend | _lru_cache_wrapper | leaves exponentials and sines to the C library"
    ),
    "codegen.graph_rewrite": (
        "skipping | sink pm ctx bottom_up name bpm walk enter_calls | looks for barriers only where memory is shared"
    ),
    "codegen.linearize": "ordering | sink | keeps the operations of a long kernel in the order of the graph",
    "codegen.memory_coalescing": "backend | sink ctx | leaves the loads and stores of plain loops scalar",
    "codegen.pm_move_gates_from_index": (
        "gates | PatternMatcher | gives the placeholder of a load that is gated off the dtype of the load"
    ),
    "codegen.pm_move_where_on_load": "backend | PatternMatcher | keeps loads that are in bounds unconditional",
    "codegen.pm_number_params": "numbering | PatternMatcher | numbers variables after all buffers",
    "codegen.pm_reduce_unparented": "products | PatternMatcher | keeps the bool dtype of a product of bools",
    "codegen.pm_simplify_add_image": (
        "rounding | PatternMatcher | rounds values that become float16, on devices without images"
    ),
    "codegen.symbolic_simple": "gates | PatternMatcher | keeps the index of a load that is never done a vector",
    "codegen.to_program_cache": "backend disk | dict | includes the programs on disk",
    "codegen.to_program_config": "backend | tuple | adds the state of the CPU backend to the key of a program",
    "codegen.to_program_context": "backend | tuple | sends the state of the CPU backend to the processes that compile",
    "codegen.type_verify": "skipping | ast check_spec enter_calls | checks no kernel of this package",
    "compiler_cpu.subprocess": "compiler | module | starts ziglang's clang where no other is installed",
    "cstyle.ClangRenderer": (
        "backend bfloat16 nesting vector_casts vectorizer | class | "
        "tells clang which loops not to vectorize and which sums to reorder; calls the C helpers"
    ),
    "device.ALLOW_DEVICE_USAGE": "options threads | ContextVar | is local to a thread",
    "device._Device": "threads | class | opens a device once for all threads; explains a missing compiler",
    "function._function": "options threads | class | counts `depth` for each thread; closes over per-example values",
    "function.pm_ctx": "core | PatternMatcher | turns per-example values into arguments of a @function",
    "gater.move_where_load": "gates | gate l a w | applies only where the dtypes agree",
    "gater.pm_move_gates_from_index": "gates | PatternMatcher | is the rule table with one rule changed",
    "gradient._deepwalk": (
        "core | root targets | skips detached values and the inputs that a primitive does not differentiate"
    ),
    "gradient.all_metadata": "metadata | WeakKeyDictionary | lists each name once, and none for constants",
    "gradient.call_gradient": (
        "core | ctx k needed | asks a primitive for its own cotangents, and a function only for those that are needed"
    ),
    "gradient.pm_gradient": (
        "core | PatternMatcher | adds rules for brands, leaves of differentiation, writes, casts and products"
    ),
    "helpers._db_connection": "fork | NoneType | belongs to one thread of one process",
    "helpers.db_connection": "disk fork |  | opens one connection for each thread and process",
    "helpers.disable_gc": "options | class | enables garbage collection again after an interrupt",
    "helpers.diskcache_get": (
        "cache clang disk matching native workers | table key | returns nothing where no cache can exist"
    ),
    "helpers.diskcache_put": (
        "backend cache clang disk matching workers | table key val prepickled | stores nothing where no cache can exist"
    ),
    "heuristic.hand_coded_optimizations": "backend | k | leaves the kernels that suit it as plain loops",
    "indexing.pm_generate_realize_map": "skipping | PatternMatcher | searches no value for a new buffer",
    "jit._TinyJit": "threads | class | calls the wrapped function directly under a brand; serves one thread at a time",
    "jit.all_tensors": "threads | dict | allows changes during iteration",
    "jit.buffers": "threads | WeakKeyDictionary | allows changes during iteration",
    "jit.capturing": "threads | list | is local to a thread",
    "jit.compile_linear": "threads | linear beam validate input_uops profile | serves one thread at a time",
    "jit.estimate_uop": "core | call | estimates calls of loops, products and host functions",
    "jit.get_call_outs_ins": "core | call | finds the buffers of calls of loops, products and host functions",
    "jit.jit_lower": "threads | linear held_bufs input_uops | serves one thread at a time",
    "jit.run_linear": "threads | linear var_vals input_uops update_stats jit wait | serves one thread at a time",
    "ops.PatternMatcher": "rewriting matching | class | looks rules up by the operation and those of its operands",
    "ops.RewriteContext": "rewriting | class | applies rules with less overhead; keeps simplified indices",
    "ops.dtype_from_uop": "deriving rewriting | op src arg | finds the dtype of frequent operations by the operation",
    "ops.is_image_shape": "images | shape | looks for images only on devices that have them",
    "ops.pm_contiguous_view_offset": "views | PatternMatcher | looks through `contiguous` and `detach`",
    "ops.recursive_property": "deriving | class | computes a property without sorting the graph first",
    "ops.shape_to_shape_arg": "arange deriving | arg | keeps the operand of each of the last sizes",
    "rangeify.earliest_rewrites": (
        "core skipping | PatternMatcher | "
        "lowers loops and host functions inside functions; searches no value for a new buffer"
    ),
    "rangeify.multi_pm": (
        "copies reduce | PatternMatcher | sends sums to the one device that receives them; reads the rows of one device"
    ),
    "rangeify.pm_copy_to_store": (
        "copies | PatternMatcher | reads the parts of a value on several devices through views of their own"
    ),
    "rangeify.pm_reduce_simplify": "products | PatternMatcher | keeps the bool dtype of a product of bools",
    "rangeify.pm_remove_bufferize": (
        "backend | PatternMatcher | keeps values in memory that are cheaper to read than to compute again"
    ),
    "rangeify.run_rangeify": "layouts | tsink debug | gives a kept value the memory layout of its source",
    "realize.ExecContext": (
        "profile unfinished | class | signals that all kernels are compiled and that execution begins"
    ),
    "realize.capturing": "core | list | is local to a thread",
    "realize.compile_linear": (
        "rewriting threads | linear beam validate input_uops profile | "
        "serves one thread at a time; keeps the simplified indices of all kernels"
    ),
    "realize.estimate_uop": "core | call | estimates calls of loops, products and host functions",
    "realize.get_call_name": "core | call bufs var_vals | names calls of loops, products and host functions",
    "realize.get_call_outs_ins": "core | call | finds the buffers of calls of loops, products and host functions",
    "realize.lower_and_compile": "alike | linear | compiles once for all identical devices",
    "realize.pm_exec": "core | PatternMatcher | runs loops, products by BLAS and host functions",
    "realize.run_linear": "threads | linear var_vals input_uops update_stats jit wait | serves one thread at a time",
    "realize.to_program_cache": "disk | dict | includes the programs on disk",
    "realize.to_program_context": "backend | tuple | says whether the CPU backend makes a kernel",
    "schedule.capturing": "threads | list | is local to a thread",
    "schedule.create_schedule": "disk | sched_sink | stores its result on disk",
    "schedule.get_kernel_graph": (
        "disk rewriting skipping | sink | "
        "reads the result of another process from disk; keeps simplified indices; notes which buffers are new"
    ),
    "schedule.pm_copy_from_store": "backend | PatternMatcher | replaces kernels with products by BLAS",
    "schedule.schedule_cache": "core | dict | keeps few schedules with loops, since these hold memory",
    "schedule.type_verify": "skipping | ast check_spec enter_calls | checks no graph of this package",
    "simplify.graph_rewrite": (
        "ranges skipping | sink pm ctx bottom_up name bpm walk enter_calls | "
        "skips loops that are merged already, and merges that add divisions"
    ),
    "simplify.pm_reduce_collapse": "one_hots | PatternMatcher | the rules of the next table that it shares",
    "simplify.pm_reduce_load_collapse": "one_hots | PatternMatcher | moves terms only where a loop remains",
    "spec.type_verify": "skipping | ast check_spec enter_calls | checks no kernels of a graph of this package",
    "tensor.TRACEMETA": "threads | ContextVar | is a plain int, which compares faster",
    "tensor._METADATA": "core | _ContextVar | is local to a thread",
    "tensor._apply_map_to_tensors": (
        "core searching threads unfinished whole | applied_map name | records the tensors that a run marks as computed"
    ),
    "tensor._fromnp": "byte_order | x | makes its graph directly; accepts arrays of the other byte order",
    "tensor.all_tensors": "core | dict | allows changes during iteration",
    "tensor.cpu_profile": (
        "errors | name device display profile_key | is the block around a user's method, which translates its errors"
    ),
    "tensor.contiguous_mops_to_view": (
        "alignment | ctx c src | makes a view of a part only where vector loads are allowed"
    ),
    "tensor.pm_early_transform_tensor_graph": (
        "core | PatternMatcher | lowers loops and host calls, fills empty arguments, copies views"
    ),
    "tensor.run_linear": (
        "threads unfinished | linear var_vals input_uops update_stats jit wait | "
        "serves one thread at a time; records the buffers that a run reads"
    ),
    "tensor.transform_to_call": "layouts | big_sink | applies the writes of other threads",
    "transcendental.xsin": "angles | d fast switch_over | reduces a large float64 argument with all of its digits",
    "uop_symbolic.uop_given_valid": "skipping | valid uop try_simplex | keeps the simplified indices of all kernels",
    "upat.upat_compile": "matching | _lru_cache_wrapper | writes the function that matches a pattern in one pass",
    "worker.PARALLEL": "backend workers | ContextVar | is off where no process can be started",
    "worker._WorkerProcess": "workers | class | reports the started process through its `_Popen`",
    "worker._init_worker": "workers |  | installs the patches in a compile process",
    "worker.getenv": "workers | _lru_cache_wrapper | sets after how many kernels a process is replaced",
    "worker.get_worker_pool": "workers |  | returns a pool that does not block when its processes are gone",
    "worker.worker_pool": "workers | NoneType | is dropped after its processes end",
}
"""The names that are replaced: the features, the form, and the effect of the replacement."""

_ATTRIBUTES = {
    "Tensor._next_counter": "tensor | draws | returns the next RNG counter",
    "Tensor._device_rng_counters": "tensor | core | the RNG counters by device",
    "Tensor._device_seeds": "tensor | core | the seeds by device",
    "Tensor._buffer": "tensor | core | returns the memory of a tensor, after realizing it",
    "Tensor._broadcast_to": "tensor | core movements | expands, with missing leading axes added",
    "Tensor._broadcasted": "tensor | operands | promotes the operands of an elementwise operation",
    "Tensor._getitem": "tensor | movements | returns the elements at an index",
    "UOp._broadcast_to": "uop.ops | core | expands, with missing leading axes added",
    "UOp._mop": "uop.ops | deriving | creates a movement",
    "UOp._min_max": "uop.ops | bounds nan | the bounds of a value",
    "UOp._shape": "uop.ops | core | the shape of a value, or None",
    "UOp._shard": "uop.ops | core | the shard of each device along an axis",
    "UOp._rop": "uop.ops | core | reduces axes without keeping them",
    "UOp._OPAQUE_CALL_BODIES": "uop.ops | rewriting | the bodies that rewrites do not enter",
    "_broadcast_shape": "uop.ops | callbacks functions linalg random | the shape of a broadcast",
    "_Device._select_device": "device | compiler | selects the default device",
    "_Device._Device__get_canonicalized_item": "device | threads | opens a device",
    "Buffer._bufs": "device | jit | the memory of a buffer by device",
    "Device._opened_devices": "device | alike | the devices that have been used",
    "ContextVar._cache": "helpers | disk threads | all options by name",
}
"""The names that the functions of this file use, most of them attributes of classes: the module, features, and use."""


def _parse_taken(module: str, features: str, use: str, elsewhere: str = "") -> Name:
    return Name(f"tinygrad.{module}", features, use, elsewhere=elsewhere)


def _parse_replaced(key: str, features: str, form: str, use: str) -> Name:
    return Name(MODULES[key.partition(".")[0]], features, use, form)


TAKEN = {key: _parse_taken(*row.split(" | ")) for key, row in _TAKEN.items()}
REPLACED = {key: _parse_replaced(key, *row.split(" | ")) for key, row in _REPLACED.items()}
NAMES = {**TAKEN, **REPLACED, **{key: _parse_taken(*row.split(" | ")) for key, row in _ATTRIBUTES.items()}}
"""All private names."""

PUBLIC: Mapping[str, frozenset[str]] = {
    # its documentation has these
    "tinygrad": frozenset(
        {"Context", "Device", "Tensor", "TinyJit", "Variable", "dtypes", "function", "helpers", "nn"}
    ),
    "tinygrad.device": frozenset({"Buffer", "Device"}),
    "tinygrad.nn.state": frozenset({"get_state_dict"}),
    # dtypes, and the promotion rules of `Tensor`
    "tinygrad.dtype": frozenset({"DType", "DTypeLike", "can_lossless_cast", "strong_dtype", "to_dtype", "weak_dtype"}),
    # its options, which are environment variables, and helpers that are independent of tensors
    "tinygrad.helpers": frozenset(
        {
            *("Context", "ContextVar", "GlobalCounters", "DEBUG", "IMAGE", "JIT", "JIT_BATCH_SIZE"),
            *("DEFAULT_FLOAT", "DEFAULT_INT", "disable_gc", "polyN", "tqdm"),
        }
    ),
    # the language of its graphs
    "tinygrad.uop.ops": frozenset({"AxisType", "GroupOp", "Ops", "PatternMatcher", "UOp", "UPat"}),
}
"""The names that any file may import, by module. The core needs all of them."""

METHODS = (
    "__bool__ __getitem__ __iadd__ __iand__ __ifloordiv__ __ilshift__ __imul__ __init__ __ior__ __ipow__ __irshift__ "
    "__isub__ __itruediv__ __ixor__ __setitem__ all alu any argmax argmin assign backward bitcast callify cat "
    "custom_kernel data dot einsum empty expand full gradient item linear_with_vars log_softmax manual_seed "
    "masked_select matmul max mean min nonzero numpy pad rand randint realize repeat replace reshape roll "
    "schedule_linear shrink softmax split stack std sum tolist ufix unflatten unfold var view"
)
"""The methods of Tensor that the hooks replace."""

OPERATIONS: Mapping[str, str] = {
    "core": (
        "AxisType.DEVICE AxisType.PLACEHOLDER GroupOp.ALU GroupOp.Broadcastable GroupOp.Comparison "
        "GroupOp.Elementwise GroupOp.Movement GroupOp.Unary Ops.ADD Ops.AFTER Ops.ALLREDUCE Ops.AND Ops.BITCAST "
        "Ops.BUFFER Ops.CALL Ops.CAST Ops.CDIV Ops.CMOD Ops.CMPEQ Ops.CMPLT Ops.CMPNE Ops.CONST Ops.CONTIGUOUS "
        "Ops.CONTIGUOUS_BACKWARD Ops.COPY Ops.CUSTOM_FUNCTION Ops.DETACH Ops.END Ops.EXP2 Ops.EXPAND Ops.FDIV "
        "Ops.FLIP Ops.FLOORDIV Ops.FLOORMOD Ops.FUNCTION Ops.GETTUPLE Ops.INDEX Ops.LOAD Ops.LOG2 Ops.MAX "
        "Ops.MSELECT Ops.MSTACK Ops.MUL Ops.NEG Ops.NOOP Ops.OR Ops.PAD Ops.PARAM Ops.PERMUTE Ops.POW Ops.PROGRAM "
        "Ops.RANGE Ops.RECIPROCAL Ops.REDUCE Ops.RESHAPE Ops.SHL Ops.SHR Ops.SHRINK Ops.SIN Ops.SINK Ops.SOURCE "
        "Ops.SPECIAL Ops.SQRT Ops.STACK Ops.STAGE Ops.STORE Ops.SUB Ops.TRUNC Ops.TUPLE Ops.UNSHARD Ops.WHERE Ops.XOR"
    ),
    "backend": "AxisType.REDUCE Ops.BARRIER Ops.CUSTOM Ops.CUSTOMI Ops.THREEFRY",
    "backend layouts": "AxisType.WEAK",
    "copies": "GroupOp.All",
    "bounds": "GroupOp.Binary",
    "backend workers": "Ops.BINARY",
    "backend disk": "Ops.LINEAR",
}
"""The operations and sets of operations in `tinygrad.uop.ops` that features need."""

DRIVER_TABLES = "tinygrad.runtime.autogen"
"""The package of the tables that tinygrad generates from the headers of drivers."""

CPU = "tinygrad.runtime.ops_cpu"
"""The module of the CPU devices and all their renderers. tinygrad imports it at the first use, and so do we."""

NEXT_COUNTER, COUNTERS, SEEDS = "_next_counter", "_device_rng_counters", "_device_seeds"
"""Attributes of Tensor: the function that returns the next RNG counter, the counters and the seeds by device."""
MEMORY_OF = "_buffer"
"""The method of Tensor that returns its memory, after realizing it."""
INDEXES, BROADCASTS = "_getitem", "_broadcast_to"
"""The methods of Tensor that return the elements at an index, and that broadcast to a shape."""
PROMOTES = "_broadcasted"
"""The method of Tensor that promotes the operands of an elementwise operation."""
MOVES = "_mop"
"""The method of UOp that creates a movement."""
MERGES = "_masked_merge"
"""The method of Tensor with which `scatter` and `x[i] = v` write the last of several entries."""
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
    """Store the shape of `u`, so that tinygrad does not compute it."""
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
    shape: tuple[int, ...] = _take("_broadcast_shape")(*shapes)
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
    """Return the memory of a buffer by device, as the buffer's own table: it is empty unless memory is allocated."""
    found: dict[str, Any] = buffer._bufs
    return found


def is_open(device: str) -> bool:
    """Return whether this device has been used."""
    return device in _module("tinygrad.device").Device._opened_devices


def options() -> dict[str, Any]:
    """Return the values of all options, by name."""
    cache = type(_take("CACHELEVEL"))._cache
    return {name: option.value for name, option in cache.items()}


_VALUE_OF = operator.attrgetter("value")


def option_values() -> tuple[Any, ...]:
    """Return the values of all options, as a key of a table."""
    values = map(_VALUE_OF, type(_take("CACHELEVEL"))._cache.values())
    return tuple([tuple(x) if type(x) is list else x for x in values])


def register(option: Any, key: str) -> None:
    """Replace the option of tinygrad with this name by `option`."""
    type(option)._cache[key] = option


def form_of(x: Any) -> str:
    """Return the parameters of a function, or the type of another value, as `Name.form` has them."""
    while isinstance(x, FunctionType) and "func" in x.__code__.co_freevars:  # tinygrad's decorators call `func`
        x = (x.__closure__ or ())[x.__code__.co_freevars.index("func")].cell_contents
    x = inspect.unwrap(x) if isinstance(x, FunctionType) else x
    if isinstance(x, FunctionType):
        return " ".join(x.__code__.co_varnames[: x.__code__.co_argcount + x.__code__.co_kwonlyargcount])
    return "class" if isinstance(x, type) else type(x).__name__


def _find(module: str, name: str) -> Any:
    """Return `name` or `cls.attribute` of a module; raise ImportError or AttributeError if it is missing."""
    cls, _, attribute = name.partition(".")
    found = getattr(_module(module), cls)
    of_instances = getattr(getattr(found, "__init__"), "__code__", None)  # noqa: B009  mypy: unsound for instances
    is_of_instances = of_instances is not None and attribute in of_instances.co_names
    return getattr(found, attribute) if attribute and not is_of_instances else found


def _has(module: str, name: str) -> bool:
    if module == CPU and CPU not in sys.modules:  # importing it takes as long as importing this package
        spec = importlib.util.find_spec(CPU)
        text = "" if spec is None or spec.origin is None else Path(spec.origin).read_text(encoding="utf-8")
        return re.search(rf"^(class|def) {name}\b|^{name}\b.*=", text, re.MULTILINE) is not None
    try:
        _find(module, name)
    except (ImportError, AttributeError):
        return False
    return True


def _problem(module: str, name: str, form: str | None, elsewhere: str) -> str | None:
    if not _has(module, name):
        return None if elsewhere and _has(*elsewhere.split(":")) else "missing"
    if form in (None, "NoneType") or (found := form_of(value := _find(module, name))) == form:
        return None
    if form in {cls.__name__ for cls in type(value).__mro__}:  # with VIZ, tables of rules have a class of their own
        return None
    return f"({found}) instead of ({form})"


@functools.cache
def problems() -> Mapping[str, Mapping[str, str]]:
    """Return how the installed tinygrad differs from the names of this file: for each feature, its names and why.

    This must be called before the first patch. A feature without problems is not a key.
    """
    rows = [
        (x.features, x.module, k if x.form is None else k.partition(".")[2], x.form, x.elsewhere)
        for k, x in NAMES.items()
    ]
    rows += [(key, MODULES["ops"], x, None, "") for key, names in OPERATIONS.items() for x in names.split()]
    rows += [("core", MODULES["tensor"], f"Tensor.{x}", None, "") for x in METHODS.split()]
    rows += [("core", module, x, None, "") for module, public in PUBLIC.items() for x in sorted(public)]
    found: dict[str, dict[str, str]] = {}
    for features, module, name, form, elsewhere in rows:
        if (text := _problem(module, name, form, elsewhere)) is not None:
            for feature in features.split():
                found.setdefault(feature, {})[f"{module}.{name}"] = text
    return found


class _Missing(type):
    """The class of the stand-ins for missing names."""

    def __call__(cls, *_: Any, **__: Any) -> Any:
        raise _missing(cls.__name__)

    def __getattr__(cls, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise _missing(cls.__name__)


def are_there(*names: Any) -> bool:
    """Return whether none of these values is a stand-in for a missing name."""
    return not any(isinstance(x, _Missing) for x in names)


def _missing(name: str) -> Exception:
    module, features, *_ = NAMES[name]
    text = f"tinygrad: the installed tinygrad has no {module}.{name}"
    if (errors := sys.modules.get("branded.errors")) is None:  # this file is used without the package
        return AttributeError(text)
    needed_by = ("for", features.replace(" ", ", "))
    error: Exception = errors.TinygradError(text, needed_by, fix="python -m branded doctor")
    return error


def _take(name: str) -> Any:
    """Return the current value of a name, or a stand-in if tinygrad lacks it and the core does not need it."""
    row = NAMES[name]
    try:
        return getattr(_module(row.module), name)
    except (ImportError, AttributeError):
        if row.elsewhere and _has(*row.elsewhere.split(":")):
            return _find(*row.elsewhere.split(":"))
        if row.features == "core":
            raise
        return _Missing(name, (), {})


def __getattr__(name: str) -> Any:
    """Return the current value of a name of tinygrad, or a module in which a name is replaced."""
    if name in TAKEN:
        return _take(name)
    if (module := MODULES.get(name)) is not None:
        found = globals()[name] = _module(module)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
