"""Calls of library functions: constructors of tensors, Python's built-in functions, and the transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mypy.nodes import Context
from mypy.types import Instance, Type

from branded.mypy.axes.functions import MODULES
from branded.mypy.axes.mapped_axis import conflicting_names
from branded.mypy.axes.types import is_named, known_length
from branded.mypy.codes import ERROR, RANDOMNESS, TREE
from branded.mypy.late_modules import LateModule
from branded.mypy.rows.algebra import TENSOR
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS
from branded.mypy.shapes import loops, mapping, tensors
from branded.mypy.shapes.axes import format_axes, format_axis
from branded.mypy.shapes.brands import READS, UNBATCHED, check_read, map_leaves, of_collective
from branded.mypy.shapes.rules import dtypes
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import (
    NUMBER,
    UNKNOWN,
    Arguments,
    Class,
    Const,
    Fact,
    FollowedBrand,
    Function,
    LibraryName,
    Mutable,
    Shaped,
    Size,
    Tuple,
    Wrapped,
    add_brands,
    as_number,
    brands_of,
    children_of,
    forget,
    is_tree,
    list_of,
)

if TYPE_CHECKING:
    from branded.mypy.shapes.rules import (
        collectives,
        constructors,
        derivatives,
        functions,
        modules,
        optimizers,
        python_functions,
        special_methods,
    )
else:
    _NAMES = "collectives constructors derivatives functions modules optimizers python_functions special_methods"
    collectives, constructors, derivatives, functions, modules, optimizers, python_functions, special_methods = (
        LateModule(f"branded.mypy.shapes.rules.{name}") for name in _NAMES.split()
    )

KNOWN = (
    "branded.",
    "builtins.",
    "dataclasses.",
    "functools.",
    "itertools.",
    "operator.",
    "_operator.",
    "math.",
    "numpy",
    "tinygrad.",
    "typing.",
    "typing_extensions.",
    "abc.",
    "asyncio.",
    "contextlib.",
    "random.",
    "time.",
    "sys.",
)
"""Libraries whose functions do not change the shapes of their arguments."""
_UNCHANGED = {"jit", "lift", "function", "TinyJit", "remat", "checkpoint", "custom_jvp", "custom_vjp", "custom_vmap"}
_UNCHANGED |= {"override", "final"}
_COLLECTIVES = {"psum", "pmean", "pmax", "pmin", "stop_gradient"}
_DECORATORS = {f"functools.{name}" for name in ("wraps", "cache", "lru_cache", "singledispatch")}
_METHODS = {"abc.abstractmethod", "functools.cached_property"}
_METHODS |= {f"builtins.{name}" for name in ("property", "staticmethod", "classmethod")}
"""Decorators that do not change the body of a method."""
_AWAITED = {"run", "create_task", "ensure_future", "shield", "wait_for"}
"""Functions of asyncio with the result of their first argument."""
ENTERED = "entered"
"""The kind of a context manager that a generator defines, with the value that it yields."""
RANDOM = {"rand", "randn", "uniform", "normal", "randint", "randperm", "rand_like", "randn_like"}
RANDOM |= {f"{name}_{kind}" for name in ("kaiming", "glorot", "scaled") for kind in ("uniform", "normal")}
"""The functions of Tensor that sample."""
_INTS = {"ceil", "comb", "factorial", "floor", "gcd", "isqrt", "lcm", "perm", "trunc"}


def call(run: FileState, f: LibraryName, given: Arguments, at: Context) -> Fact:
    """Return the result of a call of a function or method by name."""
    if isinstance(f.owner, Shaped):
        return tensors.call_method(run, f.owner, f.name, at, given.given)
    if f.owner is not None:
        return python_functions.method(run, f, given, at)
    module, _, name = f.name.rpartition(".")
    if (result := special_methods.of_function(run, f.name, given, at)) is not None:
        return result
    if f.name == TENSOR:
        return constructors.from_data(run, given)
    if module == TENSOR and (own := given.get(0, "self")) and isinstance(own, Shaped) and name in READS:
        check_read(run, own, name, at)
        return NUMBER if name == "item" else UNKNOWN
    if module == TENSOR:
        _check_randomness(run, name, at)
        brands = frozenset[FollowedBrand]() if name in UNBATCHED else brands_of(Tuple(tuple(given.all())))
        return add_brands(constructors.of_class(run, name, given, at), brands)
    if module.startswith("branded.tree"):
        if not given.exact or given.keywords or len(given.positional) < 1 + (name == "map"):
            return UNKNOWN
        if name == "map":
            return _map_tree(run, given.positional[0], given.positional[1:], at)
        leaves = _leaves(given.positional[0]) if name in ("leaves", "flatten") and len(given.positional) == 1 else None
        return UNKNOWN if leaves is None else list_of(leaves) if name == "leaves" else Tuple((list_of(leaves), UNKNOWN))
    if module.startswith("branded.random"):
        return add_brands(constructors.of_random(run, name, given, at), brands_of(given.get(0, "key")))
    if module.startswith("branded.optim"):
        return optimizers.of_optim(run, name, given)
    if f.name.startswith(MODULES):
        return functions.of_function(run, f.name, given, at)
    if f.name.startswith("branded."):
        return _of_branded(run, name, given, at)
    if f.name.startswith("numpy"):
        return constructors.of_numpy(run, f.name, name, given)
    if f.name.startswith("tinygrad.nn.") and name in modules.WITH_SAMPLES:
        _check_randomness(run, name, at)
    if f.name.startswith("tinygrad.nn.") and name in modules.LAYERS:
        return modules.layer(run, name, given)
    if f.name == "tinygrad.nn.state.get_state_dict":
        return modules.get_state_dict(given)
    if name in _UNCHANGED and given.positional:
        return given.positional[0]
    if f.name in _DECORATORS:
        is_factory = f.name == "functools.wraps" or not given.positional
        return Wrapped(lambda more: (more.positional or [UNKNOWN])[0]) if is_factory else given.positional[0]
    if f.name in ("contextlib.contextmanager", "contextlib.asynccontextmanager"):
        return Wrapped(lambda more: _context_manager(run, run.call(given.get(0, "func") or UNKNOWN, more, at)))
    if module.startswith("asyncio") and given.positional:
        is_all = name == "gather" and given.exact
        return list_of(given.positional) if is_all else given.positional[0] if name in _AWAITED else UNKNOWN
    if module == "math" and name != "prod":
        return Size() if name in _INTS else NUMBER
    if (rule := python_functions.RULES.get(f.name)) is not None:
        return rule(run, given, at)
    if not f.name.startswith(KNOWN):
        for value in given.all():
            forget(value)
    return UNKNOWN


def _check_randomness(run: FileState, name: str, at: Context) -> None:
    """Report `Tensor.rand(2)` under a vmap without `randomness`."""
    brand = run.opened[-1] if run.opened else None
    if brand is not None and brand.needs_randomness and name in RANDOM | modules.WITH_SAMPLES:
        wrong = f'randomness: choose whether the examples of vmap over "{brand.label}" share a random sample'
        fix = 'try:   randomness="different" for one sample per example, or "same" for one sample for all'
        run.report(at, RANDOMNESS, wrong, f"{brand.label}: opened by vmap at {run.describe_place(brand.at)}", fix)


def _context_manager(run: FileState, yielded: Fact) -> Fact:
    items = run.iterate(yielded)
    value = items if isinstance(items, Fact) else items[0] if items else UNKNOWN
    return Mutable(ENTERED, {0: value})


def _map_tree(run: FileState, f: Fact, trees: Sequence[Fact], at: Context) -> Fact:
    """Return the value of `tree.map(f, *trees)`."""
    first = trees[0]
    if isinstance(first, Tuple) or (isinstance(first, Mutable) and is_tree(first)):
        items = [children_of(t) for t in trees]
        known = [i for i in items if i is not None]
        if len(known) != len(items) or any(i.keys() != known[0].keys() for i in known):
            other = next((n for n, t in enumerate(trees[1:], 2) if _differs(first, t)), None)
            if other is not None and not run.declared_only:
                fix = "try:   pass trees with the same keys and lengths"
                run.report(at, TREE, f"tree.map: tree {other} has another structure than the first one", fix)
            return UNKNOWN
        mapped = {k: _map_tree(run, f, [i[k] for i in known], at) for k in known[0]}
        if isinstance(first, Mutable):
            return first.with_items((first.items or {}) | mapped)
        return Tuple(tuple(mapped.values()))
    return run.call(f, Arguments(list(trees)), at) if first is not UNKNOWN else UNKNOWN


def _leaves(value: Fact) -> list[Fact] | None:
    """Return the leaves of a tree; None if they are unknown. Dicts are sorted by key."""
    items = children_of(value)
    if items is None:
        return [value] if isinstance(value, Shaped) else None
    keys = list(items)
    if isinstance(value, Mutable) and value.kind == "dict":
        if not all(isinstance(k, str) for k in keys):
            return None
        keys.sort(key=str)
    each = [_leaves(items[k]) for k in keys]
    known = [leaves for leaves in each if leaves is not None]
    return [leaf for leaves in known for leaf in leaves] if len(known) == len(each) else None


def _differs(first: Fact, other: Fact) -> bool:
    """Return whether a tree certainly has other keys or another length than the first one, or is a tensor."""
    keys, others = children_of(first), children_of(other)
    if keys is None or others is None:
        return keys is not None and isinstance(other, Shaped)
    return type(first) is type(other) and keys.keys() != others.keys()


def decorate(run: FileState, decorator: Fact, f: Fact, at: Context) -> Fact:
    """Return a decorated function; UNKNOWN for decorators that are not followed."""
    if isinstance(decorator, LibraryName) and decorator.name in _METHODS:
        return f
    if isinstance(decorator, Wrapped | Function) or (
        isinstance(decorator, LibraryName) and decorator.name.startswith(KNOWN)
    ):
        return run.call(decorator, Arguments([f]), at)
    return UNKNOWN


def _of_branded(run: FileState, name: str, given: Arguments, at: Context) -> Fact:
    if name == "vmap":
        return mapping.vmap(run, given, at)
    if name == "brand":
        return mapping.open_block(run, given, at)
    if name in _UNCHANGED:
        return (
            given.positional[0]
            if given.positional
            else Wrapped(lambda more: more.positional[0] if more.positional else UNKNOWN)
        )
    if name in _COLLECTIVES and given.positional:
        return map_leaves(of_collective(name, given), lambda x: dtypes.with_dtype(x, dtypes.result_dtype(name, x)))
    if name in collectives.EXCHANGES:
        return collectives.exchange(run, name, given, at)
    if name in ("axis_index", "axis_size"):
        return collectives.index_or_size(run, name, given)
    if name == "as_axes":
        return _as_axes(run, given, at)
    if name in derivatives.NAMES:
        return derivatives.derivative(run, name, given, at)
    if name == "vjp":
        return derivatives.vjp(run, given, at)
    if name == "functional_call":
        return modules.functional_call(run, given, at)
    if name == "stack_module_state":
        return modules.stack_module_state(run, given)
    if name == "map" and len(given.positional) == 2:
        return mapping.mapped_call(run, given.positional[0], Arguments(given.positional[1:]), Const(0), Const(0), at)
    if name == "scan":
        return mapping.scan(run, given, at)
    if name in ("fori_loop", "while_loop", "cond", "switch", "associative_scan"):
        return loops.control(run, name, given, at)
    if name == "jvp":
        return loops.jvp(run, given, at)
    if name == "ppermute":
        return loops.ppermute(run, given, at)
    return UNKNOWN


def _as_axes(run: FileState, given: Arguments, at: Context) -> Fact:
    x, *names = given.positional or [UNKNOWN]
    axes: list[Type] = []
    for value in names:
        info = value.info if isinstance(value, Class) else None
        n = as_number(value)
        axes.append(Instance(info, []) if info is not None else run.length(n) if n is not None else ANY_AXIS)
    if isinstance(x, Shaped) and x.axes is not None and len(x.axes) == len(axes):
        for i, j in conflicting_names(x.axes, axes)[:1]:
            a, b = format_axis(x.axes[i]), format_axis(axes[i])
            wrong = f"as_axes: axis {i} is `{a}`, but is named `{b}`"
            fix = f"try:   use `{a}` as name {i + 1}, not {j + 1}"
            run.report(at, ERROR, wrong, f"value: axes {format_axes(x.axes)}", fix)
        axes = [with_length(run, a, old) for a, old in zip(axes, x.axes, strict=True)]
    return Shaped(tuple(axes) if given.exact else None, brands_of(x), x.dtype if isinstance(x, Shaped) else "")


def with_length(run: FileState, name: Type, old: Type) -> Type:
    """Return a named axis with the length of the axis that gets the name."""
    if not isinstance(name, Instance):
        return old if name is ANY_AXIS and not is_named(old) else name
    n = known_length(old)
    return name if n is None else name.copy_modified(last_known_value=run.length(n))
