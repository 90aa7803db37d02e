"""Calls of library functions: constructors of tensors, Python's built-in functions, and the transforms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import combinations, pairwise, product

from mypy.nodes import ARG_POS, CallExpr, Context
from mypy.types import Instance, Type

from branded.mypy.axes.mapped_axis import conflicting_names
from branded.mypy.axes.table import METHODS
from branded.mypy.axes.types import is_named, known_length
from branded.mypy.codes import DRAW_TYPE, ERROR
from branded.mypy.rows.algebra import TENSOR
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS
from branded.mypy.shapes import loops, mapping, tensors
from branded.mypy.shapes.axes import axis_of_value, format_axes, format_axis, shape_of
from branded.mypy.shapes.brands import UNBATCHED, check_read, check_truth, of_collective
from branded.mypy.shapes.rules import derivatives, functions, modules, optimizers
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import (
    NONE,
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
    Stream,
    Tuple,
    Wrapped,
    add_brands,
    as_number,
    brands_of,
    data_axes,
    forget,
    is_int,
    is_number,
    is_tree,
    items_of,
    join,
    list_of,
    size_of,
)

KNOWN = (
    "branded.",
    "builtins.",
    "dataclasses.",
    "functools.",
    "itertools.",
    "math.",
    "numpy",
    "tinygrad.",
    "typing.",
    "random.",
    "time.",
    "sys.",
)
"""Libraries whose functions do not change the shapes of their arguments."""
_SHAPED = {"zeros", "ones", "empty", "rand", "randn", "uniform", "normal"}
_SHAPED |= {"scaled_uniform", "glorot_uniform", "kaiming_uniform", "kaiming_normal"}
_SHAPE_ARGUMENT = {"zeros", "ones", "empty", "full", "random", "standard_normal"}
_SIZE_ARGUMENT = {"normal": 2, "uniform": 2, "integers": 2, "randint": 2, "standard_normal": 0, "random": 0}
_UNCHANGED = {"jit", "lift", "function", "TinyJit", "remat", "checkpoint", "custom_jvp", "custom_vjp", "custom_vmap"}
_COLLECTIVES = {"psum", "pmean", "pmax", "pmin", "stop_gradient"}
_DECORATORS = {f"functools.{name}" for name in ("wraps", "cache", "lru_cache", "singledispatch")}
_ELEMENTWISE = {"abs", "cos", "exp", "log", "negative", "sin", "sqrt", "square", "tan", "tanh"}
_INTS = {"ceil", "comb", "factorial", "floor", "gcd", "isqrt", "lcm", "perm", "trunc"}
_OF_KEYS = dict.fromkeys(("normal", "exponential", "gumbel", "laplace", "bits", "uniform", "randint"), 1)
_SAMPLES = {**_OF_KEYS, "bernoulli": 2, "gamma": 2, "loggamma": 2, "poisson": 2, "t": 2, "beta": 3}
"""The position of the parameter `shape` in each sampling function."""
_PURE_METHODS = {"items", "keys", "values", "get", "index", "count", "copy", "join", "format", "split"}
LONGEST = 64
"""The maximum length of a list whose items are known."""
Rule = Callable[[FileState, Arguments, Context], Fact]


def call(run: FileState, f: LibraryName, given: Arguments, at: Context) -> Fact:
    """Return the result of a call of a function or method by name."""
    if isinstance(f.owner, Shaped):
        return tensors.call_method(run, f.owner, f.name, at)
    if f.owner is not None:
        return _method(run, f, given, at)
    module, _, name = f.name.rpartition(".")
    if f.name == TENSOR:
        return _from_data(run, given)
    if module == TENSOR:
        brands = frozenset[FollowedBrand]() if name in UNBATCHED else brands_of(Tuple(tuple(given.all())))
        return add_brands(_class_method(run, name, given, at), brands)
    if module.startswith("branded.tree"):
        is_map = name == "map" and len(given.positional) > 1 and given.exact and not given.keywords
        return _map_tree(run, given.positional[0], given.positional[1:], at) if is_map else UNKNOWN
    if module.startswith("branded.random"):
        return add_brands(_of_random(run, name, given, at), brands_of(given.get(0, "key")))
    if module.startswith("branded.optim"):
        return optimizers.of_optim(run, name, given)
    if f.name.startswith((functions.OF_LINALG, functions.OF_FUNCTIONS)):
        return functions.of_function(run, f.name, given, at)
    if f.name.startswith("branded."):
        return _of_branded(run, name, given, at)
    if f.name.startswith("numpy"):
        return _of_numpy(run, f.name, name, given)
    if f.name.startswith("tinygrad.nn.") and name in modules.LAYERS:
        return modules.layer(run, name, given)
    if f.name == "tinygrad.nn.state.get_state_dict":
        return modules.get_state_dict(given)
    if name in _UNCHANGED and given.positional:
        return given.positional[0]
    if f.name in _DECORATORS:
        is_factory = f.name == "functools.wraps" or not given.positional
        return Wrapped(lambda more: (more.positional or [UNKNOWN])[0]) if is_factory else given.positional[0]
    if module == "math" and name != "prod":
        return Size() if name in _INTS else NUMBER
    if f.name == "functools.partial" and given.positional:
        return _partial(run, given, at)
    if (rule := _PYTHON.get(f.name)) is not None:
        return rule(run, given, at)
    if not f.name.startswith(KNOWN):
        for value in given.all():
            forget(value)
    return UNKNOWN


def _map_tree(run: FileState, f: Fact, trees: Sequence[Fact], at: Context) -> Fact:
    """Return the value of `tree.map(f, *trees)`."""
    first = trees[0]
    if isinstance(first, Tuple) or (isinstance(first, Mutable) and is_tree(first)):
        items = [_children(t) for t in trees]
        known = [i for i in items if i is not None]
        if len(known) != len(items) or any(i.keys() != known[0].keys() for i in known):
            return UNKNOWN
        mapped = {k: _map_tree(run, f, [i[k] for i in known], at) for k in known[0]}
        if isinstance(first, Mutable):
            return first.with_items(mapped)
        return Tuple(tuple(mapped.values()))
    return run.call(f, Arguments(list(trees)), at) if first is not UNKNOWN else UNKNOWN


def _children(value: Fact) -> dict[object, Fact] | None:
    if isinstance(value, Tuple):
        return dict(enumerate(value.items))
    return value.items if isinstance(value, Mutable) and is_tree(value) else None


def decorate(run: FileState, decorator: Fact, f: Fact, at: Context) -> Fact:
    """Return a decorated function; UNKNOWN for decorators that are not followed."""
    if isinstance(decorator, Wrapped | Function) or (
        isinstance(decorator, LibraryName) and decorator.name.startswith(KNOWN)
    ):
        return run.call(decorator, Arguments([f]), at)
    return UNKNOWN


def _partial(run: FileState, given: Arguments, at: Context) -> Fact:
    f, *first = given.positional

    def called(more: Arguments) -> Fact:
        exact = given.exact and more.exact
        return run.call(f, Arguments([*first, *more.positional], given.keywords | more.keywords, exact), at)

    return Wrapped(called)


# ---- tensors that are made ----


def _of_random(run: FileState, name: str, given: Arguments, at: Context) -> Fact:
    """Return the keys and the samples of `branded.random`, for a key of the shape (2,)."""
    key = given.get(0, "key")
    axes = key.axes if isinstance(key, Shaped) and name not in ("key", "PRNGKey") else None
    if axes is not None and (len(axes) != 1 or known_length(axes[0]) not in (None, 2)):
        if not run.declared_only:
            fix = f"vmap over the keys: vmap(lambda k: {name}(k, ...))(keys)" if len(axes) > 1 else "use all of the key"
            says = f"{name}: the first argument must be a key, a tensor u32[2]"
            run.report(at, DRAW_TYPE, says, f"given: shape {format_axes(axes)}", f"try:   {fix}")
        return Shaped()
    if name in ("key", "fold_in"):
        return Shaped((run.length(2),))
    if name == "split":
        shape = shape_of(run, [given.get(1, "num") or Const(2)]).axes
        return Shaped((*shape, run.length(2))) if shape is not None else Shaped()
    if name == "permutation" and (x := given.get(1, "x")) is not None:
        return Shaped((axis_of_value(run, x),)) if is_int(x) else Shaped(x.axes) if isinstance(x, Shaped) else x
    if name in _SAMPLES:
        size = given.get(_SAMPLES[name], "shape")
        is_given = size is not None and size != NONE
        parameters = [v for n, v in given.keywords.items() if n not in ("key", "shape", "dtype")]
        parameters += [] if name in _OF_KEYS else given.positional[1:]
        if not is_given and name not in _OF_KEYS and not all(is_number(v) or v == Shaped(()) for v in parameters):
            return Shaped()
        if not is_given or size is None:
            return Shaped(())
        return shape_of(run, [size]) if items_of(size) is not None else Shaped()
    return Shaped()


def _from_data(run: FileState, given: Arguments) -> Fact:
    data = given.get(0, "data")
    axes = data_axes(data, run.length) if data is not None and not run.declared_only else None
    return Shaped(tuple(axes)) if axes is not None else Shaped()


def _class_method(run: FileState, name: str, given: Arguments, at: Context) -> Fact:
    if not given.exact or not isinstance(at, CallExpr):
        return Shaped()
    if run.declared_only and name not in ("stack", "cat", "einsum"):
        return Shaped()
    if name in _SHAPED or (name == "randint" and given.positional):
        return shape_of(run, given.positional)
    if name == "full" and given.positional:
        return shape_of(run, given.positional[:1])
    if name == "arange":
        return _range(run, given)
    if name == "linspace" and len(given.positional) > 2:
        return Shaped((axis_of_value(run, given.positional[2]),))
    if name == "eye" and given.positional:
        n = axis_of_value(run, given.positional[0])
        return Shaped((n, axis_of_value(run, given.positional[1]) if len(given.positional) > 1 else n))
    if name == "einsum":
        values = dict(enumerate(given.positional))
        if len(values) == len(at.args):
            parameters = tensors.by_parameter(run, name, at, values)
            return tensors.method(run, at, Shaped(()), name, parameters) if parameters is not None else Shaped()
    first = given.positional[0] if given.positional else None
    if name in ("stack", "cat") and len(given.positional) > sum(k == ARG_POS for k in at.arg_kinds):
        return _join_tensors(run, name, given)
    if isinstance(first, Shaped) and name in METHODS and len(given.positional) <= len(at.args):
        inner = CallExpr(at.callee, at.args[1:], at.arg_kinds[1:], at.arg_names[1:])
        inner.set_line(at)
        return tensors.call_method(run, first, name, inner)
    return Shaped()


def _join_tensors(run: FileState, name: str, given: Arguments) -> Fact:
    """Return the result of `Tensor.stack(*xs)` and `Tensor.cat(*xs)` for tensors of the same shape."""
    first, dim = given.positional[0], as_number(given.keywords.get("dim", Const(0)))
    is_same_shape = isinstance(first, Shaped) and all(x == first for x in given.positional)
    if not isinstance(first, Shaped) or not is_same_shape or first.axes is None or dim is None:
        return Shaped()
    axes, rank = list(first.axes), len(first.axes) + (name == "stack")
    if not -rank <= dim < rank:
        return Shaped()
    if name == "stack":
        axes.insert(dim % rank, run.length(len(given.positional)))
    else:
        n = known_length(axes[dim])
        axes[dim] = ANY_AXIS if n is None else run.length(n * len(given.positional))
    return Shaped(tuple(axes))


def _range(run: FileState, given: Arguments) -> Fact:
    if len(given.positional) == 1 and is_int(given.positional[0]):
        return Shaped((axis_of_value(run, given.positional[0]),))
    bounds = [as_number(v) for v in given.positional]
    if None in bounds or not bounds or len(bounds) > 3 or 0 in bounds[2:]:
        return Shaped((ANY_AXIS,))
    return Shaped((run.length(len(range(*(b for b in bounds if b is not None)))),))


def _of_numpy(run: FileState, fullname: str, name: str, given: Arguments) -> Fact:
    if run.declared_only:
        return UNKNOWN
    if name == "default_rng":
        return LibraryName("numpy.Generator")
    size = given.keywords.get("size") or given.keywords.get("shape")
    if ".random." in fullname or fullname.startswith("numpy.Generator"):
        if name in ("rand", "randn"):
            return shape_of(run, given.positional)
        at = _SIZE_ARGUMENT.get(name)
        if size is None and at is not None and len(given.positional) > at:
            size = given.positional[at]
        return shape_of(run, [size]) if size is not None else UNKNOWN
    if name in _ELEMENTWISE and len(given.positional) == 1:
        return given.positional[0] if isinstance(given.positional[0], Shaped) else UNKNOWN
    if name == "stack" and given.positional and (items := items_of(given.positional[0])):
        axis = given.get(1, "axis") or Const(0)
        return _join_tensors(run, "stack", Arguments(items, {"dim": axis}))
    if name in _SHAPE_ARGUMENT and (size := size or given.get(0, "shape")) is not None:
        return shape_of(run, [size])
    if name in ("array", "asarray") and given.positional:
        return _from_data(run, given)
    if name == "arange":
        return _range(run, given) if all(map(is_int, given.positional)) else Shaped((ANY_AXIS,))
    if name == "linspace" and len(given.positional) > 2:
        return Shaped((axis_of_value(run, given.positional[2]),))
    if name == "eye" and given.positional:
        return Shaped((axis_of_value(run, given.positional[0]),) * 2)
    return UNKNOWN


# ---- Python ----


def _length(run: FileState, given: Arguments, at: Context) -> Fact:
    value = given.positional[0] if given.positional else UNKNOWN
    if isinstance(value, Shaped) and value.axes:
        return size_of(value.axes[0])
    items = items_of(value)
    if isinstance(value, Mutable) and value.kind == "dict" and value.items is not None:
        return Const(len(value.items))
    return Const(len(items)) if items is not None else Size()


def _python_range(run: FileState, given: Arguments, at: Context) -> Fact:
    bounds = [as_number(v) for v in given.positional]
    if bounds and None not in bounds and len(bounds) <= 3 and 0 not in bounds[2:]:
        numbers = range(*(b for b in bounds if b is not None))
        if len(numbers) <= 64:
            return Tuple(tuple(Const(i) for i in numbers))
    return Mutable("range", None)


def _zip(run: FileState, given: Arguments, at: Context) -> Fact:
    each = [run.iterate(v) for v in given.positional]
    if not each or all(e is None for e in each):
        return UNKNOWN
    known = [e for e in each if isinstance(e, list)]
    if len(known) == len(each):
        return list_of([Tuple(tuple(row)) for row in zip(*known, strict=False)])
    return Stream(Tuple(tuple(_any_item(e) for e in each)))


def _any_item(items: list[Fact] | Fact | None) -> Fact:
    """Return the facts that hold for all items."""
    return items if isinstance(items, Fact) else reduce(join, items) if items else UNKNOWN


def _enumerate(run: FileState, given: Arguments, at: Context) -> Fact:
    items = run.iterate(given.positional[0]) if given.positional else None
    if isinstance(items, Fact):
        return Stream(Tuple((Size(), items)))
    return list_of([Tuple((Const(i), v)) for i, v in enumerate(items)]) if items is not None else UNKNOWN


def _sequence(run: FileState, given: Arguments, at: Context, kind: str) -> Fact:
    items = items_of(given.positional[0]) if given.positional else []
    if items is None:
        each = run.iterate(given.positional[0])
        return Stream(each) if isinstance(each, Fact) else UNKNOWN
    return list_of(items) if kind == "list" else Tuple(tuple(items))


def _dict(run: FileState, given: Arguments, at: Context) -> Fact:
    items: dict[object, Fact] = dict(given.keywords.items())
    return Mutable("dict", None if given.positional or not given.exact else items)


def _isinstance(run: FileState, given: Arguments, at: Context) -> Fact:
    if len(given.positional) != 2:
        return UNKNOWN
    value, wanted = given.positional
    if isinstance(wanted, LibraryName) and wanted.name == TENSOR and isinstance(value, Shaped):
        return UNKNOWN  # an array of numpy is not a tensor
    if isinstance(value, Const) and isinstance(wanted, LibraryName) and wanted.name == TENSOR:
        return Const(False)
    if isinstance(value, Mutable) and value.info is not None and isinstance(wanted, Class):
        return Const(wanted.info in value.info.mro)
    return UNKNOWN


def _sum(run: FileState, given: Arguments, at: Context) -> Fact:
    items, start = items_of(given.get(0, "iterable")), given.get(1, "start") or Const(0)
    if not isinstance(at, CallExpr):
        return UNKNOWN
    if items is None:
        each = run.iterate(given.get(0, "iterable") or UNKNOWN)
        items = [each, each] if isinstance(each, Fact) else None
    if items is None:
        return UNKNOWN
    for item in items:
        start = run.binary("+", start, item, at, at, at)
    return start


def _map(run: FileState, given: Arguments, at: Context) -> Fact:
    """Return the items of `map(f, xs)`."""
    if len(given.positional) != 2:
        return UNKNOWN
    f, items = given.positional[0], run.iterate(given.positional[1])
    if isinstance(items, list) and len(items) <= LONGEST:
        return list_of([run.call(f, Arguments([item]), at) for item in items])
    with run.maybe(isinstance(items, list)):
        return Stream(run.call(f, Arguments([items if isinstance(items, Fact) else UNKNOWN]), at))


def _reduce(run: FileState, given: Arguments, at: Context) -> Fact:
    """Return the value of `reduce(f, xs, initial)`."""
    f, *rest = given.positional or [UNKNOWN]
    items = run.iterate(rest[0]) if rest else None
    if isinstance(items, list) and len(items) <= LONGEST and (items or len(rest) > 1):
        value, *items = [*rest[1:], *items]
        for item in items:
            value = run.call(f, Arguments([value, item]), at)
        return value
    item = items if isinstance(items, Fact) else UNKNOWN
    once = run.call(f, Arguments([rest[1] if len(rest) > 1 else item, item]), at)
    with run.maybe():
        return join(once, run.call(f, Arguments([once, item]), at))


def _first_argument(run: FileState, given: Arguments) -> Fact:
    items = run.iterate(given.positional[0]) if len(given.positional) == 1 else None
    return items[0] if isinstance(items, list) and items else items if isinstance(items, Fact) else UNKNOWN


def _follow_sorted(run: FileState, given: Arguments, at: Context) -> Fact:
    value = given.positional[0] if given.positional else UNKNOWN
    if "key" not in given.keywords:
        _compare_all(run, value, at)
    items = items_of(value)
    return Stream(reduce(join, items)) if items else UNKNOWN


def _any(run: FileState, given: Arguments, at: Context) -> Fact:
    for item in items_of(given.get(0, "iterable")) or ():
        check_truth(run, item, at)
    return UNKNOWN


def _compare_all(run: FileState, value: Fact, at: Context) -> None:
    """Report items with brands that are compared with each other."""
    items = run.iterate(value)
    if isinstance(items, list) and len(items) > 1:
        check_truth(run, next((i for i in items if brands_of(i)), NONE), at)
    elif isinstance(value, Stream):
        check_truth(run, value.each, at)


def _replace(run: FileState, given: Arguments, at: Context) -> Fact:
    made = given.positional[0] if given.positional else UNKNOWN
    if not isinstance(made, Mutable) or made.items is None or not given.exact:
        return UNKNOWN
    return Mutable("object", made.items | given.keywords, made.info)


def _type(run: FileState, given: Arguments, at: Context) -> Fact:
    value = given.positional[0] if len(given.positional) == 1 else UNKNOWN
    return Class(value.info) if isinstance(value, Mutable) and value.info is not None else UNKNOWN


def _smallest(run: FileState, given: Arguments, at: Context) -> Fact:
    first = items_of(given.positional[0]) if given.positional else None
    values = given.positional if len(given.positional) > 1 else first
    if "key" not in given.keywords and given.positional:
        _compare_all(run, Tuple(tuple(given.positional)) if len(given.positional) > 1 else given.positional[0], at)
    return (
        Size() if values and all(map(is_int, values)) else NUMBER if values and all(map(is_number, values)) else UNKNOWN
    )


def _number(run: FileState, given: Arguments, at: Context, kind: str) -> Fact:
    value = given.positional[0] if given.positional else UNKNOWN
    if isinstance(value, Shaped):
        check_read(run, value, kind, at)
    if kind == "int":
        return value if is_int(value) else Size()
    return NUMBER if kind == "float" else UNKNOWN


def _pairwise(run: FileState, given: Arguments, at: Context) -> Fact:
    items = run.iterate(given.positional[0]) if given.positional else None
    if isinstance(items, list):
        return list_of([Tuple(pair) for pair in pairwise(items)])
    return Stream(Tuple((items, items))) if items is not None else UNKNOWN


def _chain(run: FileState, given: Arguments, at: Context) -> Fact:
    each = [run.iterate(v) for v in given.positional]
    if all(isinstance(e, list) for e in each):
        return list_of([item for e in each if isinstance(e, list) for item in e])
    return Stream(reduce(join, map(_any_item, each)))


def _product(run: FileState, given: Arguments, at: Context) -> Fact:
    each = [run.iterate(v) for v in given.positional]
    known = [e for e in each if isinstance(e, list)]
    if given.keywords or not each:
        return UNKNOWN
    if len(known) == len(each) and math.prod(map(len, known)) <= LONGEST:
        return list_of([Tuple(row) for row in product(*known)])
    return Stream(Tuple(tuple(map(_any_item, each))))


def _combinations(run: FileState, given: Arguments, at: Context) -> Fact:
    items, n = run.iterate(given.get(0, "iterable") or UNKNOWN), as_number(given.get(1, "r"))
    if isinstance(items, list) and n is not None and math.comb(len(items), n) <= LONGEST:
        return list_of([Tuple(row) for row in combinations(items, n)])
    return Stream(Tuple((_any_item(items),) * n)) if n is not None and 0 <= n <= LONGEST else UNKNOWN


_PYTHON: dict[str, Rule] = {
    "itertools.chain": _chain,
    "itertools.combinations": _combinations,
    "itertools.pairwise": _pairwise,
    "itertools.product": _product,
    "builtins.len": _length,
    "builtins.range": _python_range,
    "builtins.zip": _zip,
    "builtins.enumerate": _enumerate,
    "builtins.list": partial(_sequence, kind="list"),
    "builtins.tuple": partial(_sequence, kind="tuple"),
    "builtins.dict": _dict,
    "builtins.isinstance": _isinstance,
    "builtins.min": _smallest,
    "builtins.max": _smallest,
    "builtins.sum": _sum,
    "builtins.map": _map,
    "builtins.sorted": _follow_sorted,
    "builtins.iter": lambda run, given, at: given.positional[0] if given.positional else UNKNOWN,
    "builtins.next": lambda run, given, at: _first_argument(run, given),
    "builtins.any": _any,
    "builtins.all": _any,
    "functools.reduce": _reduce,
    "builtins.type": _type,
    "builtins.float": partial(_number, kind="float"),
    "builtins.bool": partial(_number, kind="bool"),
    "dataclasses.replace": _replace,
    "builtins.int": partial(_number, kind="int"),
}


def _method(run: FileState, f: LibraryName, given: Arguments, at: Context) -> Fact:
    """Return the result of a method of a list, a dict, a named tuple or a layer."""
    owner = f.owner
    if isinstance(owner, Mutable) and owner.kind == "dict" and owner.items is not None:
        match f.name:
            case "values":
                return list_of(list(owner.items.values()))
            case "keys":
                return list_of([Const(k) for k in owner.items])
            case "items":
                return list_of([Tuple((Const(k), v)) for k, v in owner.items.items()])
            case "copy":
                return Mutable("dict", dict(owner.items))
            case "get" if isinstance(key := given.get(0, "key"), Const):
                return owner.items.get(key.value, given.get(1, "default") or NONE)
    if isinstance(owner, Mutable) and f.name == "_replace" and owner.items is not None and given.exact:
        return owner.with_items(owner.items | given.keywords)
    if isinstance(owner, Mutable) and owner.kind == "list" and f.name == "append" and owner.items is not None:
        if run.uncertain or len(given.positional) != 1 or len(owner.items) > 64:
            owner.forget()
        else:
            owner.changes()
            owner.items[len(owner.items)] = given.positional[0]
            run.stored(owner, len(owner.items) - 1, at)
        return NONE
    if isinstance(owner, Mutable) and f.name not in _PURE_METHODS:
        owner.forget()
    return UNKNOWN


# ---- branded ----


def _of_branded(run: FileState, name: str, given: Arguments, at: Context) -> Fact:
    if name == "vmap":
        return mapping.vmap(run, given, at)
    if name in _UNCHANGED:
        return (
            given.positional[0]
            if given.positional
            else Wrapped(lambda more: more.positional[0] if more.positional else UNKNOWN)
        )
    if name in _COLLECTIVES and given.positional:
        return of_collective(name, given)
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
    if name in ("fori_loop", "while_loop", "cond", "switch"):
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
    return Shaped(tuple(axes) if given.exact else None, brands_of(x))


def with_length(run: FileState, name: Type, old: Type) -> Type:
    """Return a named axis with the length of the axis that gets the name."""
    if not isinstance(name, Instance):
        return old if name is ANY_AXIS and not is_named(old) else name
    n = known_length(old)
    return name if n is None else name.copy_modified(last_known_value=run.length(n))
