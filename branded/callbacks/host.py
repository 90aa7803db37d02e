"""A host callback as one operation of the graph, with its rules for batching and derivatives.

Other parts of this package use `call`, and `api.py` builds the public functions on it. A batched call is again a call:
its arguments and results have more leading axes, and the method determines how the function receives them.
"""

from __future__ import annotations

import copy
import functools
import importlib.util
import itertools
import weakref
from collections.abc import Callable, Hashable, Sequence, Set
from typing import Any, ClassVar, Literal, NamedTuple

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import Ops, UOp

from branded import tree
from branded.backends.cpu.renderer.loops import cpu_codegen
from branded.backends.cpu.runtime import host_calls
from branded.callbacks.numpy_types import array_type, canonical, is_number, numpy_dtype
from branded.errors import CallbackError, DerivativeError, UnsupportedError
from branded.graph.primitive import Batched, BatchingRun, Bundle, Primitive, info, results
from branded.graph.scope import Row, union
from branded.graph.uops import against, on_device, reshape, tensor
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.private_api import all_int, canonicalize_device

Method = Literal["sequential", "expand_dims", "broadcast_all", "legacy_vectorized"]


class ShapeDtype(NamedTuple):
    """The shape and dtype of a result of a host callback, for one example."""

    shape: tuple[int, ...]
    dtype: DType


def call_host(
    name: str,
    f: Callable[..., Any],
    results: Sequence[ShapeDtype],
    args: Sequence[Tensor],
    *,
    vmap_method: Method | None = "expand_dims",
    in_c: host_calls.InC | None = None,
) -> list[Tensor]:
    """Call `f(*args)` on NumPy arrays as one operation, which runs only when a result is read.

    `f` gets read-only arrays in tinygrad's own memory, which it must not keep. It returns one array, or a tuple or
    list of arrays, with the shapes and dtypes of `results`. f64 is accepted for f32, and i64 for i32.
    Dtypes that NumPy lacks (bf16) are passed as f32. An exception of `f` becomes a `CallbackError` when the result is
    read.

    Under vmap, there is one leading axis for each brand of any argument, outermost first:

        "expand_dims"       one call: each argument has all of these axes, with size 1 for a brand that it does not
                            carry, so NumPy's broadcasting pairs the examples. An unmapped matrix is passed once.
                            The results have all of these axes; a size of 1 is broadcast. Functions that accept any
                            leading axes, such as those in `numpy.linalg`, need nothing else.
        "broadcast_all"     the same, with each argument broadcast (without a copy) to the full axes
        "legacy_vectorized" the same, where each argument has only the axes of its own brands
        "sequential"        one call for each example, on the values of that example
        None                vmap is an error

    Calls of the same `f` (by ==, if it is hashable) on the same arguments are one call. All transforms except
    derivatives apply to it. Float results need `custom_jvp` or `custom_vjp` around the call.

    Args:
        name: The name in kernels, errors and programs.
        f: A function of arrays.
        results: The shapes and dtypes of its results, for one example.
        args: Tensors, with or without brands; all on one device, or on none.
        in_c: A function that returns the C function to call instead on the CPU, if one fits the arrays. It must be the
            same for the same `f`.

    Returns:
        The results, on the device of the arguments.

    Raises:
        UnsupportedError: An argument is sharded, or has an unknown size.
    """
    made = Host.of(name, f, vmap_method, False, in_c)
    return [tensor(u) for u in call_on_graphs(made, results, [x.uop for x in args])]


@functools.cache
def _has_numpy() -> bool:
    return importlib.util.find_spec("numpy") is not None


def serves(x: Tensor) -> bool:
    """Return whether NumPy can read the tensor in place: on the CPU, unless the CPU backend is disabled."""
    device = x.device
    return isinstance(device, str) and device.split(":")[0] == "CPU" and bool(cpu_codegen.value) and _has_numpy()


def call_on_graphs(made: Host, outs: Sequence[ShapeDtype], args: Sequence[UOp]) -> list[UOp]:
    """Return the results of a call on graphs, cast to the announced dtypes."""
    device = next((x.device for x in args if x.device is not None), canonicalize_device(None))
    if isinstance(device, tuple) or any(isinstance(x.device, tuple) for x in args):
        raise UnsupportedError(
            f"{made.name}: a sharded tensor cannot be passed to a host callback", fix="gather it with .to() first"
        )
    if not all(all_int(x.shape) for x in args):
        raise UnsupportedError(f"{made.name}: an argument has a symbolic size")
    given = [on_device(x.cast(numpy_dtype(x.dtype)), device) for x in args]
    given = [x if x.device == device else x.copy_to_device(device) for x in given]
    types = [ShapeDtype(tuple(t.shape), numpy_dtype(t.dtype)) for t in outs]
    # contiguous: a result that one reader computed is kept for the next
    ys = [y.contiguous() for y in results(_call(made, types, given, device))]
    return [y if y.dtype == t.dtype else y.cast(t.dtype) for y, t in zip(ys, outs, strict=True)]


def _call(made: Host, types: Sequence[ShapeDtype], args: Sequence[UOp], device: Any) -> UOp:
    # the function has no graph, so extra parameters in the body give the types of its results
    body = [UOp.param(len(args) + i, t.dtype, t.shape, device) for i, t in enumerate(types)]
    return UOp(Ops.FUNCTION, dtypes.void, (UOp.maketuple(*body), *args), info(made.name, made))


_numbers = itertools.count(1)


class OtherTreeError(Exception):
    """The error for a function of trees that returned another tree than announced."""

    def __init__(self, announced: Any, given: Any) -> None:
        super().__init__()
        self.announced, self.given = announced, given


class Axis(NamedTuple):
    """A leading axis of the arguments and results, for the examples of a brand."""

    brand: str
    size: int


class Host(Primitive):
    """A function of arrays, as a primitive."""

    made: ClassVar[weakref.WeakValueDictionary[Hashable, Host]] = weakref.WeakValueDictionary()
    """The instances that graphs use; equal ones are shared."""
    is_opaque = is_atomic = can_fail = is_local = True
    part: tuple[Host, int] | None = None

    def __init__(
        self,
        name: str,
        f: Callable[..., Any],
        method: Method | None = "expand_dims",
        copies: bool = False,
        by_c: host_calls.InC | None = None,
        *,
        space: float = 1.0,
        is_effect: bool = False,
        is_ordered: bool = False,
        is_guarded: bool = False,
    ) -> None:
        """Describe a function of arrays; the first five arguments are those of `call`.

        Args:
            space: The extra memory that it needs, relative to its results. NumPy allocates an array, which is then
                copied.
            is_effect: Whether its last argument is the token of earlier effects, and its last result the token for
                later ones.
            is_ordered: Whether it must not be called for the examples of a brand.
            is_guarded: Whether its first argument is a flag that enables it.
        """
        self.name, self.f, self.method, self.copies, self.by_c, self.space = name, f, method, copies, by_c, space
        self.is_effect, self.is_ordered, self.is_guarded = is_effect, is_ordered, is_guarded
        self.axes: tuple[Axis, ...] = ()
        self.number = next(_numbers)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state | {"number": next(_numbers)}  # a callback of this process may have the same number

    @classmethod
    def of(
        cls, name: str, f: Callable[..., Any], method: Method | None, copies: bool, by_c: host_calls.InC | None = None
    ) -> Host:
        """Return the instance for this function that graphs already use, or a new one."""
        try:
            key = (cls, name, f, method, copies)
            return cls.made.get(key) or cls.made.setdefault(key, cls(name, f, method, copies, by_c))
        except TypeError:  # f is not hashable
            return cls(name, f, method, copies, by_c)

    def over(self, row: Row) -> Host:
        """Return the same function with more leading axes."""
        return self._with((*(Axis(b.name, b.size) for b in row), *self.axes), self.is_guarded)

    def with_flag(self) -> Host:
        """Return the same function with a flag as its first argument."""
        return self._with(self.axes, True)

    def _with(self, axes: tuple[Axis, ...], is_guarded: bool) -> Host:
        key = (self.number, axes, is_guarded)
        if (found := self.made.get(key)) is None:
            found = copy.copy(self)
            found.axes, found.is_guarded, found.number = axes, is_guarded, next(_numbers)
            found = self.made.setdefault(key, found)
        return found

    def predicated(self, u: UOp, flag: UOp, effects: bool) -> UOp | None:
        if not self.can_fail or (self.is_effect and not effects):
            return None
        if not self.is_guarded:
            return _call(self.with_flag(), _result_types(u), [flag, *u.src[1:]], results(u)[0].device)
        return u.replace(src=(u.src[0], u.src[1] & against(flag, u.src[1]), *u.src[2:]))

    @property
    def content(self) -> str:
        return f"{self.name}.{self.number}"

    def uses(self, u: UOp, i: int) -> set[int]:
        return {*range(len(u.src) - 1)}

    def tangent_inputs(self, u: UOp, i: int) -> set[int]:
        """Exclude the effect token, on which no derivative depends."""
        return {*range(len(u.src) - 1 - self.is_effect)}

    def batch(self, u: UOp, run: BatchingRun, args: Sequence[Batched]) -> Bundle:
        """Call the function on arrays with a leading axis for each brand, according to its method."""
        row: Row = ()
        for x in args:
            row = union(row, x.row)
        types = [t._replace(shape=(*(b.size for b in row), *t.shape)) for t in _result_types(u)]
        if not row:
            return Bundle(u.replace(src=(u.src[0], *(x.uop for x in args))), ((),) * len(types))
        if self.method is None:
            raise no_method(self.name, row)
        if self.is_ordered:
            raise no_order(self.name, row)
        if any(not b.size for b in row):
            return Bundle(UOp.maketuple(*(UOp.const(0, t.dtype).expand(t.shape) for t in types)), (row,) * len(types))
        of_own = self.method == "legacy_vectorized"
        new = [x.uop if of_own and i >= self.is_guarded else expand_to_row(x, row) for i, x in enumerate(args)]
        return Bundle(_call(self.over(row), types, new, results(u)[0].device), (row,) * len(types))

    def jvp(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        """Return no tangents for ints, and raise an error for floats, whose derivative is unknown."""
        if any(dtypes.is_float(y.dtype) for y in u.src[0].src):
            raise self._no_derivative()
        return u, [None] * len(u.src[0].src)

    def vjp(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        raise self._no_derivative()

    def _no_derivative(self) -> DerivativeError:
        return DerivativeError(
            f"{self.name}: a host callback has no derivative",
            fix="wrap the call in custom_jvp, or apply stop_gradient to its arguments",
        )

    @property
    def function(self) -> str:
        name = getattr(self.f, "__name__", "<lambda>")
        return "the function" if name == "<lambda>" else f"`{name}`"

    def work(self, args: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
        """Read the arguments, and write the results."""
        if self.is_effect:
            results[-1][...] = 0
            args, results = args[:-1], results[:-1]
        flag = args[0] if self.is_guarded else None
        args = args[self.is_guarded :]
        sizes = tuple(a.size for a in self.axes)
        if self.method == "sequential":
            for at in np.ndindex(*sizes):
                runs = flag is None or bool(_entry(flag, at))
                self._once([_entry(x, at) for x in args], [r[(*at, ...)] for r in results], at, runs)
            return
        if self.method == "broadcast_all":
            args = [np.broadcast_to(x, (*sizes, *x.shape[len(sizes) :])) for x in args]
        self._once(args, results, (), flag is None or bool(flag.any()))

    def in_c(
        self, results: Sequence[host_calls.ArrayType], args: Sequence[host_calls.ArrayType]
    ) -> host_calls.CFunction | None:
        """Return the C function to call instead, or None; it accepts neither a flag nor a token."""
        return None if self.by_c is None or self.is_guarded or self.is_effect else self.by_c(results, args)

    def _once(self, args: Sequence[np.ndarray], results: Sequence[np.ndarray], at: tuple[int, ...], runs: bool) -> None:
        if not runs:
            for r in results:
                r[...] = 0
            return
        try:
            out = self.f(*([x.copy() for x in args] if self.copies else args))
        except OtherTreeError as error:
            raise CallbackError(
                f"{self.name}: {self.function} returned another structure than declared",
                ("declared", tree.outline(error.announced)),
                ("given", tree.outline(error.given)),
                *self._where(at),
                fix="return the declared structure, or declare the returned one",
            ) from None
        except Exception as error:
            said = f"{type(error).__name__}: {error}".split("\n")[0]
            raise CallbackError(f"{self.name}: {self.function} raised {said}", *self._where(at)) from error
        given = list(out) if isinstance(out, tuple | list) else [out]
        if len(given) != len(results):
            raise CallbackError(
                f"{self.name}: {self.function} returned {_many(len(given))}, and {len(results)} are declared",
                *self._where(at),
                fix="return one array per declared result",
            )
        for i, (x, to) in enumerate(zip(given, results, strict=True)):
            self._write(x, to, i, at)

    def _write(self, x: Any, to: np.ndarray, i: int, at: tuple[int, ...]) -> None:
        try:
            new = np.asarray(x)
        except Exception:
            new = np.asarray(None)
        own = len(self.axes) - len(at)  # the axes of the examples, along which a size of 1 is broadcast
        fits = new.ndim == to.ndim and new.shape[own:] == to.shape[own:]
        fits = fits and all(n in (1, m) for n, m in zip(new.shape[:own], to.shape[:own], strict=True))
        if fits and (new.dtype == to.dtype or canonical(new.dtype) == to.dtype or is_number(x, to)):
            np.copyto(to, new, casting="unsafe")
            return
        raise CallbackError(
            f"{self.name}: result {i + 1} of {self.function} has another type than declared",
            ("declared", array_type(to.dtype, to.shape)),
            ("given", array_type(new.dtype, new.shape) if new.dtype != object else f"a {type(x).__name__}"),
            *self._where(at),
            fix="return an array of the declared type: use .astype() and .reshape()",
        )

    def _where(self, at: tuple[int, ...]) -> list[tuple[str, str]]:
        """Describe the failing call."""
        if not self.axes:
            return []
        if at:
            which = [f"index {k} of `{a.brand}`" for k, a in zip(at, self.axes, strict=True)]
            return [("in", "the call for " + ", ".join(which))]
        names = ", ".join(f"`{a.brand}:{a.size}`" for a in self.axes)
        return [("in", f"one call for all examples of {names}, which are leading axes of the arguments")]


def _result_types(u: UOp) -> list[ShapeDtype]:
    """Return the shapes and dtypes of the results of a call."""
    return [ShapeDtype(sizes(y), y.dtype) for y in u.src[0].src]


def sizes(x: UOp) -> tuple[int, ...]:
    """Return the shape of an argument or result whose sizes are known."""
    return tuple(n for n in x.shape if isinstance(n, int))


def no_method(name: str, row: Row) -> UnsupportedError:
    names = ", ".join(f"`{b.name}`" for b in row)
    return UnsupportedError(
        f"{name}: vmap_method is missing, and the call is batched over {names}",
        fix='vmap_method="sequential" for one call per example, or "expand_dims" for one call on the batch',
    )


def no_order(name: str, row: Row) -> UnsupportedError:
    names = ", ".join(f"`{b.name}`" for b in row)
    return UnsupportedError(
        f"{name}: ordered=True inside vmap over {names}, whose examples have no order",
        fix="ordered=False, which runs the examples by index, or scan instead of vmap",
    )


def expand_to_row(x: Batched, row: Row) -> UOp:
    """Reshape `x` to one axis for each brand of the row, with size 1 for brands that it does not carry."""
    return reshape(x.uop, (*(b.size if b in x.row else 1 for b in row), *x.uop.shape[len(x.row) :]))


def _entry(x: np.ndarray, at: tuple[int, ...]) -> np.ndarray:
    """Return the values of one example."""
    where: tuple[Any, ...] = tuple(k if n > 1 else 0 for k, n in zip(at, x.shape, strict=False))
    found: np.ndarray = x[(*where, ...)]
    return found


def _many(n: int) -> str:
    return "one result" if n == 1 else f"{n} results"
