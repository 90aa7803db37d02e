"""vmap: open a fresh brand, run the function on per-example values, close the brand."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    NamedTuple,
    ParamSpec,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from tinygrad import Tensor, dtypes

from branded import tree
from branded.core.analysis.aliasing import merge_writes
from branded.core.boundary import enter_recorded, exit_brand, without_brand
from branded.core.brand import Brand, as_size, make_brand
from branded.core.chunks import WHOLE, ChunkOptions, Draws, lookers
from branded.core.entry import mark_results
from branded.core.sharding.layout import as_devices, devices_of, even_sizes
from branded.core.strict import check_effects, check_results
from branded.core.tracing.recording import is_recording
from branded.core.validation import vmap_errors
from branded.core.validation.arguments import (
    Randomness,
    call_checked,
    caller,
    check_flag,
    check_function,
    check_randomness,
    normalize_axis,
    out_axis,
)
from branded.core.validation.axes_suggestions import parameter
from branded.errors import AxisTypeError
from branded.errors.calls import check_call, hide_unknown
from branded.graph.rows import check_live, row_of
from branded.graph.scope import in_step, open_block, open_brands
from branded.graph.uops import tensor, with_strong_dtype
from branded.tinygrad_compat import activation
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.tensor_methods import method_restored
from branded.tree import Axes

if TYPE_CHECKING:
    from branded.core.brand import Without
    from branded.vec import AllMapped, Lambda, Scalar, Tree

    class _Others(TypedDict, total=False):
        """The options of `vmap` that do not affect types."""

        axis_size: int | None
        chunk_size: int | Literal["auto"] | None
        randomness: Randomness
        memory_limit: int | str | None
        progress: bool
        save: str | os.PathLike[str] | None
        devices: str | Sequence[str] | None
        strict: bool

    class _Named(_Others, total=False):
        axis_name: str | type[Brand] | None


P = ParamSpec("P")
S = TypeVar("S", bound=Brand)
F = TypeVar("F", bound=Callable[..., Any])
Partial = TypeVar("Partial", bound=functools.partial[Any])
I = TypeVar("I")  # noqa: E741
O = TypeVar("O")  # noqa: E741
N_co = TypeVar("N_co", covariant=True)


class _Decorator(Generic[I, O, N_co]):
    """`vmap(in_axes=…)`: a decorator; the mypy plugin fills in the types of in_axes, out_axes and axis_name."""

    def __call__(self, f: F, /) -> F:
        raise NotImplementedError  # vmap gives a function


class _Mapped(Generic[N_co]):
    """`vmap(f)` whose body is checked at the call; only the mypy plugin uses this type."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError  # vmap gives a function

    def __getattr__(self, name: str) -> Any:
        raise NotImplementedError  # the plugin reports that `vmap(f, x).tolist()` has its arguments in the wrong place


@overload
def vmap(
    f: Callable[P, I], in_axes: Axes = 0, out_axes: Axes = 0, *, axis_name: Without[I, O], **others: Unpack[_Others]
) -> Callable[P, O]: ...
@overload
def vmap(f: Partial, in_axes: Axes = 0, out_axes: Axes = 0, **others: Unpack[_Named]) -> Partial: ...
@overload
def vmap(
    f: Lambda[Tree], in_axes: AllMapped = 0, out_axes: Axes = 0, **others: Unpack[_Named]
) -> Callable[..., Any]: ...
@overload
def vmap(
    f: Lambda[Scalar], in_axes: AllMapped = 0, out_axes: Axes = 0, **others: Unpack[_Named]
) -> Callable[..., Tensor]: ...
@overload
def vmap(
    f: Lambda[tuple[Scalar, Scalar]], in_axes: AllMapped = 0, out_axes: Axes = 0, **others: Unpack[_Named]
) -> Callable[..., tuple[Tensor, Tensor]]: ...
@overload
def vmap(
    f: F,
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    *,
    axis_name: str | type[Brand] | None = None,
    axis_size: int | None = None,
    chunk_size: int | Literal["auto"] | None = None,
    randomness: Randomness = "error",
    memory_limit: int | str | None = None,
    progress: bool = False,
    save: str | os.PathLike[str] | None = None,
    devices: str | Sequence[str] | None = None,
    strict: bool = False,
) -> F: ...
@overload
def vmap(
    f: None = None,
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    *,
    axis_name: str | type[Brand] | None = None,
    axis_size: int | None = None,
    chunk_size: int | Literal["auto"] | None = None,
    randomness: Randomness = "error",
    memory_limit: int | str | None = None,
    progress: bool = False,
    save: str | os.PathLike[str] | None = None,
    devices: str | Sequence[str] | None = None,
    strict: bool = False,
) -> _Decorator[Any, Any, Any]: ...
@hide_unknown
def vmap(
    f: Callable[..., Any] | None = None,
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    *unknown: Any,
    axis_name: Any = None,
    axis_size: int | None = None,
    chunk_size: int | Literal["auto"] | None = None,
    randomness: Randomness = "error",
    memory_limit: int | str | None = None,
    progress: bool = False,
    save: str | os.PathLike[str] | None = None,
    devices: str | Sequence[str] | None = None,
    strict: bool = False,
    **unknown_options: Any,
) -> Any:
    """Map a function over a new axis: `vmap(f)(xs)` equals `stack([f(x) for x in xs])`, without a loop.

    `vmap(f)` has the type of `f`.  It may also decorate: `@vmap`, `@vmap(in_axes=(0, None))`.

    Args:
        f: A function of tensors, or of trees of tensors; it may use any tinygrad operation.
        in_axes: The mapped axis of each positional argument: an int, None for an argument that all examples share, or a
            prefix tree of these.  Dicts are matched by key.  Keyword arguments are mapped over axis 0.
        out_axes: The position of the mapped axis in each result; None for a result that is the same for all examples.
        axis_name: The name of the brand: a string, or a subclass of `Brand`.
        axis_size: The batch size; needed only if no argument is mapped.
        chunk_size: Run the batch in chunks of at most this size: less memory, the same result.  `"auto"` uses the
            fewest chunks that fit into memory.
        randomness: The behavior of tinygrad's random functions: `"error"`, `"same"` for all examples, or `"different"`.
        memory_limit: The memory that `"auto"` may use in addition to the arguments, in bytes or as `"2GB"`; by default,
            the free memory of the device.
        progress: Compute the chunks one by one, with a progress bar in a terminal.
        save: A directory.  The chunks are computed one by one, and each result is saved there.  The same call in
            another process resumes an interrupted run.
        devices: The devices over which the examples are split evenly: `("CUDA:0", "CUDA:1")`.  Mapped values and
            results are sharded as by tinygrad; other values are copied to each device.  If the devices do not divide
            the batch size, the first device computes the remainder and holds the results.
        strict: Also reject programs that run and are likely mistakes: an argument that no result depends on, a result
            that is reduced over the examples and then repeated, an assignment to a variable from outside, and a random
            key that is used twice, or shared without `randomness="same"`.

    Returns:
        A function with the signature of `f`.  A tensor `T[...]` in the result of `f` becomes `T[..., size, ...]` with
        the mapped axis at `out_axes`, and keeps its dtype.

    Raises:
        AxesError: The axes do not match the trees, no argument is mapped, or a batched result has `out_axes=None`.
        AxisTypeError: An axis is a bool or a string, or a number or 0-d tensor is mapped.
        AxisRangeError: The tensor does not have the axis.
        SizeError: Mapped axes have different sizes.
        MemoryLimitError: With `"auto"`, not even one example fits into memory.
        SavedError: `save` contains the results of another run.
        OptionError: A size, a name or a device is invalid.
        ReadError, EscapeError, WriteError, RandomnessError, ShapeError: see `branded.errors`.

    Example:
        >>> from branded import vmap
        >>> from tinygrad import Tensor, dtypes
        >>> a0, b0 = Tensor([1, 2, 3]), Tensor([4, 6, 8])
        >>> vmap(lambda a, b: a + b)(a0, b0).tolist()
        [5, 8, 11]
        >>> vmap(lambda a: vmap(lambda b: a + b)(b0))(a0).tolist()
        [[5, 7, 9], [6, 8, 10], [7, 9, 11]]

    Source: E. Z. Yang, "vmap in Haskell" (2020); `jax.vmap`; `torch.func.vmap` for `chunk_size` and `randomness`.
    """
    if unknown or unknown_options:
        check_call(vmap, (f, in_axes, out_axes, *unknown), unknown_options)
    f = None if f is None else _function(f)
    where = caller(2, "vmap")
    axis_size = None if axis_size is None else as_size(axis_size, "axis_size")
    is_whole = chunk_size is None and memory_limit is None and progress is False and save is None
    chunks = WHOLE if is_whole else ChunkOptions.of(chunk_size, memory_limit, progress, save)
    check_randomness(randomness)
    check_flag(strict, "strict")
    tree.check_axes(in_axes, "in_axes")
    tree.check_axes(out_axes, "out_axes")
    if isinstance(in_axes, dict):
        raise vmap_errors.dict_of_axes(in_axes)
    names = () if devices is None else as_devices(devices, "vmap")
    options = Options(in_axes, out_axes, axis_name, axis_size, chunks, randomness, names, where, strict)
    return _map_function(f, options) if f is not None else lambda f: _map_function(_function(f), options)


class Options(NamedTuple):
    in_axes: Axes
    out_axes: Axes
    axis_name: str | type[Brand] | None
    axis_size: int | None
    chunks: ChunkOptions
    randomness: Randomness
    devices: tuple[str, ...]
    where: str
    strict: bool = False


def _function(f: Any) -> Callable[..., Any]:
    hint = "vmap(f)(x)" if isinstance(f, Tensor | np.ndarray) else "pass a function of one example"
    check_function(f, "vmap", hint, AxisTypeError)
    return cast(Callable[..., Any], f)


def _map_function(f: Callable[..., Any], options: Options) -> Callable[..., Any]:
    @functools.wraps(f)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if activation.is_running():
            return MappedCall(f, options, args, kwargs).run()
        with activation.running_block():
            return mark_results(MappedCall(f, options, args, kwargs).run())

    return mapped


chunk_runner: Callable[..., Any] | None = None
"""Runs a mapped call in chunks; set by `branded.chunking.chunked_call`, since it needs higher layers than this one."""


class MappedCall:
    def __init__(self, f: Callable[..., Any], options: Options, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.f, self.options, self.args, self.kwargs = f, options, args, kwargs
        self.devices = options.devices
        if options.axis_name is not None and not self.devices:
            self.devices = devices_of(options.axis_name)
        self.leaves = [leaf for x in (*args, *kwargs.values()) for leaf in tree.leaves(x)]
        self.axes = [*self._positional_axes(), *(0 for x in kwargs.values() for _ in tree.leaves(x))]
        self.errors = vmap_errors.AxisErrors(args, kwargs, self.leaves, self.axes, options.axis_size, options.where)
        for i, axis in enumerate(self.axes):
            if axis is None:
                continue
            x = self.leaves[i] if isinstance(self.leaves[i], Tensor) else tree.as_tensor(self.leaves[i])
            if x is None or not x.shape:
                raise self.errors.no_axis(i, axis, self.options.in_axes)
            check_live(x.uop, lambda: self.errors.place(i))
            self.leaves[i] = x
            self.axes[i] = axis if axis == 0 else normalize_axis(axis, x, f"in_axes: {self.errors.place(i)}")
        self.size = self._batch_size()

    def _positional_axes(self) -> list[tree.Axis]:
        axes, args = self.options.in_axes, self.args
        if not isinstance(axes, tuple | list):
            return _axes_of_leaves(axes, args, "in_axes", "the arguments")
        if len(axes) != len(args):
            raise vmap_errors.wrong_count(axes, args, self.options.where)
        named = zip(axes, args, (f"argument {i + 1}" for i in range(len(args))), strict=True)
        return [a for ax, x, name in named for a in tree.broadcast_prefix(ax, x, "in_axes", name)]

    def _batch_size(self) -> int:
        first: int | None = None
        size = self.options.axis_size
        for i, axis in enumerate(self.axes):
            if axis is None:
                continue
            n = self.leaves[i].shape[axis]
            if type(n) is not int:
                raise self.errors.symbolic_size(i)
            if size is None:
                first, size = i, n
            elif n != size:
                raise self.errors.different_size(first, i, size, n)
        if size is None:
            raise self.errors.unknown_size(self.options.in_axes)
        return size

    def _hint(self) -> Callable[[], str]:
        """Return a function that finds the name of the brand: the name of the parameter with the first mapped leaf."""
        index = next((i for i, a in enumerate(self.axes) if a is not None), -1)
        arguments: list[tuple[int | str, Any]] = [*enumerate(self.args), *self.kwargs.items()]
        for which, x in arguments:
            n = len(tree.leaves(x))
            if 0 <= index < n:
                return functools.partial(parameter, self.f, which)
            index -= n
        return lambda: "brand"

    def run(self) -> Any:
        if self.devices and in_step():
            self.devices = ()
        o, n = self.options, len(self.devices)
        chunks, rest = o.chunks, self.size % n if n else 0
        if n and (rest or chunks.size is not None) and open_brands():
            self.devices, n, rest = self.devices[:1], min(n, 1), 0  # results on several devices cannot be joined here
        if chunks.size is None and 0 < rest < self.size:
            chunks = chunks._replace(size=self.size - rest)  # the remainder is a chunk of its own
        if chunks.size is None:
            return self.run_on(self.leaves, self.size)
        fix = f"{even_sizes(self.size, n)}, a multiple of {n} devices" if o.chunks.size is None else None
        assert chunk_runner is not None
        return chunk_runner(chunks, self.run_on, self.leaves, self.axes, self.size, o.out_axes, o.where, n, fix)

    def run_on(self, leaves: Sequence[Any], size: int, draws: Draws | None = None) -> Any:
        o = self.options
        b = make_brand(o.axis_name, size, hint=self._hint(), where=o.where, randomness=o.randomness)
        for brands in lookers.get():
            brands.append(b)
        b.part = draws
        n = len(self.devices)
        b.devices = self.devices if n and size and size % n == 0 else self.devices[:1]
        if o.strict:
            check_effects(self.f, o.where)
            b.used_keys = {}
        with method_restored(), open_block(b):
            per_example = [x if a is None else enter_recorded(x, b, a) for x, a in zip(leaves, self.axes, strict=True)]
            new = iter(per_example)
            args = [tree.rebuild(x, new) for x in self.args]
            kwargs = {k: tree.rebuild(x, new) for k, x in self.kwargs.items()}
            out = call_checked(self.f, args, kwargs, "vmap", "pass a function with one parameter per argument")
            if o.strict:
                self._check_strictly(out, per_example, b)
            return self._results(out, b)

    def _check_strictly(self, out: Any, per_example: Sequence[Any], b: Brand) -> None:
        leaves, axes = tree.leaves(out), _axes_of_leaves(self.options.out_axes, out, "out_axes", "the result")
        results = [(y, self._result(out, i), a is not None) for i, (y, a) in enumerate(zip(leaves, axes, strict=True))]
        mapped = [(i, x.uop) for i, x in enumerate(per_example) if self.axes[i] is not None]
        check_results(results, [(u, self.errors.argument(i)[1]) for i, u in mapped], b)

    def _results(self, out: Any, b: Brand) -> Any:
        leaves, axes = tree.leaves(out), _axes_of_leaves(self.options.out_axes, out, "out_axes", "the result")
        tensors: list[Tensor] = []
        positions: list[int] = []
        is_chosen = b.has_chosen and open_brands() == (b,)  # in another vmap it may be combined with more brands
        for i, (y, axis) in enumerate(zip(leaves, axes, strict=True)):
            if isinstance(y, Tensor):
                check_live(y.uop, lambda: f"vmap: {self._result(out, i)}")
            if axis is None:
                if isinstance(y, Tensor) and b in row_of(y.uop):
                    raise vmap_errors.varying_result(self._result(out, i), y, b.name, self.options.where)
                continue
            if (t := y if isinstance(y, Tensor) else tree.as_tensor(y)) is None:
                raise vmap_errors.not_stackable(self._result(out, i), y, self.options.where)
            if t.dtype == dtypes.weakint:
                tree.check_fits(t, t.dtype, "vmap: a result")
            tensors.append(with_strong_dtype(t) if is_chosen else t)
            positions.append(axis if axis == 0 else out_axis(axis, len(t.shape), f"out_axes: {self._result(out, i)}"))
        us = [t.uop for t in tensors]
        if b.has_writes and not is_recording():
            us = merge_writes(us, b)
        outputs = map(tensor, exit_brand(us, b, positions, self.size))
        new = [without_brand(y, b) if a is None else next(outputs) for y, a in zip(leaves, axes, strict=True)]
        return tree.rebuild(out, iter(new))

    def _result(self, out: Any, i: int) -> str:
        return tree.paths(out, "the result")[i]


def _axes_of_leaves(axes: Axes, x: Any, option: str, where: str) -> list[tree.Axis]:
    """Return one axis for each leaf of `x`."""
    return [axes] * len(tree.leaves(x)) if type(axes) is int else tree.broadcast_prefix(axes, x, option, where)
