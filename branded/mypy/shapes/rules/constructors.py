"""Functions that make tensors: of `Tensor`, of NumPy, and the samples of `branded.random`."""

from __future__ import annotations

from mypy.nodes import ARG_POS, CallExpr, Context

from branded.mypy.axes.table import METHODS
from branded.mypy.axes.types import known_length
from branded.mypy.codes import DRAW_TYPE
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS
from branded.mypy.shapes import tensors
from branded.mypy.shapes.axes import axis_of_value, format_axes, shape_of
from branded.mypy.shapes.rules import dtypes
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Const,
    Fact,
    LibraryName,
    Shaped,
    as_number,
    data_axes,
    is_int,
    is_number,
    items_of,
    list_of,
)

_SHAPED = {"zeros", "ones", "empty", "rand", "randn", "uniform", "normal"}
_SHAPED |= {"scaled_uniform", "glorot_uniform", "kaiming_uniform", "kaiming_normal"}
_SHAPE_ARGUMENT = {"zeros", "ones", "empty", "full", "random", "standard_normal"}
_SIZE_ARGUMENT = {"normal": 2, "uniform": 2, "integers": 2, "randint": 2, "standard_normal": 0, "random": 0}
_OF_KEYS = dict.fromkeys(("normal", "exponential", "gumbel", "laplace", "logistic", "bits", "uniform", "randint"), 1)
_SAMPLES = {
    **_OF_KEYS,
    "bernoulli": 2,
    "gamma": 2,
    "loggamma": 2,
    "poisson": 2,
    "t": 2,
    "pareto": 2,
    "chisquare": 2,
    "beta": 3,
}
"""The position of the parameter `shape` in each sampling function."""
_ELEMENTWISE = {"abs", "cos", "exp", "log", "negative", "sin", "sqrt", "square", "tan", "tanh"}


def of_random(run: FileState, name: str, given: Arguments, at: Context) -> Fact:
    """Return the keys and the samples of `branded.random`, for a key of the shape (2,)."""
    key = given.get(0, "key")
    axes = key.axes if isinstance(key, Shaped) and name not in ("key", "PRNGKey") else None
    if axes is not None and (len(axes) != 1 or known_length(axes[0]) not in (None, 2)):
        if not run.declared_only:
            fix = "pass a whole key, such as random.key(seed) or an entry of random.split(key)"
            fix = f"vmap over the keys: vmap(lambda k: {name}(k, ...))(keys)" if len(axes) > 1 else fix
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
        if (
            not is_given
            and name not in _OF_KEYS
            and not all(is_number(v) or getattr(v, "axes", None) == () for v in parameters)
        ):
            return Shaped()
        if not is_given or size is None:
            return Shaped(())
        return shape_of(run, [size]) if items_of(size) is not None else Shaped()
    return Shaped()


def from_data(run: FileState, given: Arguments) -> Shaped:
    data = given.get(0, "data")
    if data is None or run.declared_only:
        return Shaped()
    axes, named = data_axes(data, run.length), given.get(2, "dtype")
    dtype = dtypes.dtype_of_data(data) if named is None else dtypes.named_dtype(named)
    return Shaped(tuple(axes) if axes is not None else None, dtype=dtype)


def of_class(run: FileState, name: str, given: Arguments, at: Context) -> Fact:
    """Return the result of a function of `Tensor`, such as `Tensor.zeros`, or of a method that is called on it."""
    named = given.keywords.get("dtype")
    if named is not None:
        dtype = dtypes.named_dtype(named)
    elif name in ("full", "arange"):
        dtype = dtypes.dtype_of_data(list_of(given.positional[name == "full" :]))
    else:
        dtype = dtypes.result_dtype(name, *given.positional)
    return dtypes.with_dtype(_shape_of_class(run, name, given, at), dtype if not run.declared_only else "")


def _shape_of_class(run: FileState, name: str, given: Arguments, at: Context) -> Fact:
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
        return tensors.call_method(run, first, name, inner, given.given[1:])
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


def of_numpy(run: FileState, fullname: str, name: str, given: Arguments) -> Fact:
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
        return Shaped(given.positional[0].axes) if isinstance(given.positional[0], Shaped) else UNKNOWN
    if name == "stack" and given.positional and (items := items_of(given.positional[0])):
        axis = given.get(1, "axis") or Const(0)
        return _join_tensors(run, "stack", Arguments(items, {"dim": axis}))
    if name in _SHAPE_ARGUMENT and (size := size or given.get(0, "shape")) is not None:
        return shape_of(run, [size])
    if name in ("array", "asarray") and given.positional:
        return from_data(run, given) if len(given.positional) == 1 else Shaped(from_data(run, given).axes)
    if name == "arange":
        return _range(run, given) if all(map(is_int, given.positional)) else Shaped((ANY_AXIS,))
    if name == "linspace" and len(given.positional) > 2:
        return Shaped((axis_of_value(run, given.positional[2]),))
    if name == "eye" and given.positional:
        return Shaped((axis_of_value(run, given.positional[0]),) * 2)
    return UNKNOWN
