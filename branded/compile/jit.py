"""`jit`: trace a function once for each type of its arguments, and replay its kernels after that."""

from __future__ import annotations

import copy
import functools
import itertools
import sys
import types
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar, overload

from tinygrad import Tensor, dtypes
from tinygrad.helpers import DEFAULT_FLOAT, DEFAULT_INT, disable_gc
from tinygrad.uop.ops import Ops, UOp

from branded import tree
from branded.backends.cpu.autotune.config import Report, Tuned, TuneLevel
from branded.backends.cpu.renderer import loops as kernels
from branded.compile import eager_cache, explain_retrace
from branded.compile.arguments import EXACT, Choices, Static, builder, exactly, read_argument, read_each, static_options
from branded.compile.donation import donate
from branded.compile.executable import Executable
from branded.core.boundary import live_results
from branded.core.tracing import recording
from branded.core.tracing.body import LeafType, Traced, trace
from branded.core.tracing.recording import may_be_recording
from branded.core.tracing.state import is_differentiating, may_be_differentiating
from branded.core.validation.arguments import ChosenArguments, call_checked, check_function, check_tune
from branded.errors import OptionError
from branded.errors.calls import check_calls
from branded.graph.rows import check_live
from branded.graph.scope import in_call_body, may_be_in_brand, may_be_in_call_body, open_brands
from branded.tinygrad_compat import activation
from branded.tinygrad_compat.private_api import _function, canonicalize_device, capturing
from branded.tinygrad_compat.tinygrad_lock import LOCK

F = TypeVar("F", bound=Callable[..., Any])

GIVEN_LATER: Any = object()
"""The default of `f`: `jit(tune="fast")` returns a decorator."""
PROGRAMS = 128
"""The maximum number of programs that a compiled function keeps, least recently used first out."""
_uses = itertools.count()
_NO_DONORS: Mapping[int, Tensor] = {}


class _JitOf(Protocol):
    def __call__(self, f: F, /) -> F: ...


@overload
def jit(
    f: F,
    *,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Iterable[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    tune: TuneLevel | None = None,
) -> F: ...
@overload
def jit(
    *,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Iterable[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    tune: TuneLevel | None = None,
) -> _JitOf: ...
@check_calls
def jit(
    f: Any = GIVEN_LATER,
    *,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Iterable[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    tune: TuneLevel | None = None,
) -> Any:
    """Compile `f`: trace it once for each type of its arguments, and replay its kernels after that.

    Under vmap, a derivative or a loop, `jit(f)` calls `f` directly. To compile a mapped function or a derivative, put
    `jit` outside: `jit(vmap(f))`. In the IR the call is one equation. The caller owns the results: a later call never
    writes into them.

    On the CPU and on CUDA, a repeated call is one call of C on the buffers of its arguments. On other devices tinygrad
    runs the kernels. A repeated call schedules and copies nothing. The last 128 programs are kept. `jit(f).traces`
    counts how often `f` was traced. With `BRANDED_LOG=traces` in the environment, every retrace prints its reason.

    With `tune`, several variants of each kernel are timed during compilation, and the fastest is used. `"fast"` tries
    few variants, `"best"` more. This takes about half a second per kernel, once: the choice is cached on disk. The last
    bits of sums may change. After a call, `print(jit(f, tune="fast").tuned)` shows the speedup of each kernel.

    `jit` is also a decorator: `@jit`, `@jit(tune="fast")`.

    Args:
        f: A function of trees of tensors and numbers. It must not read tensor values, sample random numbers or write
            into captured tensors.
        static_argnums: The positions of arguments that are part of the program: each new value retraces `f`. They must
            be hashable.
        static_argnames: The names of such arguments. If only positions or only names are given, they hold for the
            argument in both forms, `f(x, 2)` and `f(x, n=2)`.
        donate_argnums: The positions of arguments that are not used after the call, such as the old state of a training
            step. A result of the same size and dtype may be written into their memory.
        donate_argnames: The names of such arguments, in the same way.
        tune: With None, a rule selects the variant of each kernel. On devices other than the CPU, `tune` runs
            tinygrad's own search, `BEAM`: of width 2 for `"fast"`, 4 for `"best"`.

    Returns:
        A function like `f`.

    Raises:
        ReadError: `f` reads a value: during tracing there are no values.
        RandomnessError: `f` samples random numbers, which would be the same in each call; `branded.random` takes keys.
        WriteError: `f` writes into a captured tensor.
        CallError: `f` is not a function, or does not accept the arguments.
        EscapeError: A donated tensor is used after the call.
        OptionError: An option does not give positions or names of arguments; an argument that is neither a tensor nor a
            number is not hashable; or `tune` is not one of its options.
        ProgramTypeError: A result is not a tensor or number.

    Example:
        >>> from branded import jit
        >>> from tinygrad import Tensor
        >>> @jit
        ... def scaled(x, by): return x / x.sum() * by
        >>> scaled(Tensor([1.0, 3.0]), 8).tolist(), scaled(Tensor([1.0, 1.0]), 2).tolist()
        ([2.0, 6.0], [1.0, 1.0])
        >>> powers = jit(lambda x, n: Tensor.stack(*(x**i for i in range(n))), static_argnames="n")
        >>> powers(Tensor(2.0), n=4).tolist()
        [1.0, 2.0, 4.0, 8.0]

    Source: `jax.jit`; `tinygrad.TinyJit`, which replays the kernels.
    """
    check_tune(tune)
    if f is GIVEN_LATER:
        options = {"static_argnums": static_argnums, "static_argnames": static_argnames, "tune": tune}
        return functools.partial(jit, **options, donate_argnums=donate_argnums, donate_argnames=donate_argnames)
    check_function(f, "jit", "jit(f)(x)")
    static = ChosenArguments.of("jit", "static", static_argnums, static_argnames)
    return Jitted(f, static, ChosenArguments.of("jit", "donate", donate_argnums, donate_argnames), tune)


class Jitted:
    """A compiled function, with one program for each type of its arguments."""

    def __init__(
        self, f: Callable[..., Any], static: ChosenArguments, donated: ChosenArguments, tune: TuneLevel | None = None
    ) -> None:
        functools.update_wrapper(self, f)
        self._f, self._static, self._donated, self._tune = f, static, donated, tune
        self._chosen: dict[Hashable, Choices] = {}
        self._programs: dict[Hashable, _Program] = {}
        self._last: _Program | None = None
        self._seen: explain_retrace.Call | None = None
        self.traces = 0
        """The number of times that the function was traced."""

    @property
    def tuned(self) -> Report:
        """The autotuned kernels of all kept programs, with the variant of each."""
        kernels = dict[str, Tuned]()
        for program in list(self._programs.values()):
            kernels |= program.run.tune.found
        return Report(kernels.values())

    def __deepcopy__(self, memo: dict[int, Any]) -> Jitted:
        """Copy what it compiles: a function is its own copy, and a method belongs to the copy of its object."""
        f = copy.deepcopy(self._f, memo)
        return self if f is self._f else Jitted(f, self._static, self._donated, self._tune)

    def __reduce__(self) -> Any:
        """Pickle the function by its name if it is decorated, else what it compiles, without its programs."""
        named: Any = sys.modules.get(self.__module__)
        for part in str(vars(self).get("__qualname__")).split("."):
            named = getattr(named, part, None)
        return (
            vars(self)["__qualname__"]
            if named is self
            else (Jitted, (self._f, self._static, self._donated, self._tune))
        )

    def __get__(self, obj: Any, cls: type | None = None) -> Any:
        return self if obj is None else types.MethodType(self, obj)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # inside another transform, call the function itself
        if may_be_recording() or may_be_in_brand() or may_be_in_call_body() or may_be_differentiating():
            if recording.is_recording():
                return _record_equation(self._f, args, kwargs)
            if open_brands() or in_call_body() or is_differentiating():
                return _call_function(self._f, args, kwargs)
        if _function.depth or capturing or eager_cache.watchers.any_open():
            return _call_function(self._f, args, kwargs)
        # read the arguments: `form` is their description without values, `leaves` are the values
        form: list[Any] = [len(args), kernels.cpu_codegen.value, DEFAULT_FLOAT.value, DEFAULT_INT.value]
        leaves: list[Any] = []
        donors: Mapping[int, Tensor] = _NO_DONORS
        if self._static or self._donated:
            donors = self._read_some(args, kwargs, form, leaves)
        else:
            read_each(args, form, leaves)
            if kwargs:
                form.append(tuple(kwargs))
                read_each(kwargs.values(), form, leaves)
        # look up the program for this form, or trace the function
        key, last = tuple(form), self._last
        try:
            program = last if last is not None and last.key == key else self._programs.get(key)
        except TypeError:
            raise self._not_hashable(args, kwargs) from None
        if program is not last or program is None:
            program = self._mark_used(program or self._trace(key, args, kwargs, donors))
        # bind the buffers, run the kernels, and wrap the results
        with LOCK:
            executable = program.run.ready()
            inputs, _alive = executable.bind(leaves, donors)
            results = executable.run(inputs, leaves, donors)
            if donors:
                for t in donors.values():
                    donate(t)
        return program.build(iter(results))

    def graph(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Sequence[UOp], Sequence[UOp]]:
        """Trace the function for these arguments without caching it, and return the parameters and the results."""
        with activation.running_block():
            program = _Program(self._f, args, kwargs, self._options(args, kwargs).is_static, (), ())
        return program.run.params, [y.uop for y in program.run.leaves]

    def _read_some(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], form: list[Any], leaves: list[Any]
    ) -> dict[int, Tensor]:
        """Read the arguments if some are static or donated, and return the donated tensors by leaf index."""
        form.append(tuple(kwargs))
        donors: dict[int, Tensor] = {}
        values = (*args, *kwargs.values()) if kwargs else args
        options = self._options(args, kwargs)
        constants = tuple(itertools.compress(values, options.is_static))
        left = options.every
        if EXACT.issuperset(kinds := tuple(map(type, constants))):
            form += (kinds, constants)
            left = options.others
        for i, is_fixed, is_donated in left:
            x = values[i]
            if is_fixed and not isinstance(x, Tensor):
                form.append(Static(exactly(x)))
                continue
            first = len(leaves)
            read_argument(x, form, leaves)
            if is_donated:
                variables = [y for y in tree.leaves(x) if tree.as_tensor(y) is not None]
                donors |= {first + i: y for i, y in enumerate(variables) if isinstance(y, Tensor)}
        return donors

    def _options(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Choices:
        key = len(args), *kwargs
        if (options := self._chosen.get(key)) is None:
            arguments = [*range(len(args)), *kwargs]
            chosen = [
                frozenset[int | str]().union(*s.arguments(self._f, len(args))) for s in (self._static, self._donated)
            ]
            if both := [a for a in arguments if a in chosen[0] and a in chosen[1]]:
                name = f"argument {both[0] + 1}" if isinstance(both[0], int) else f"argument `{both[0]}`"
                raise OptionError(
                    f"jit: {name} is static, and cannot be donated", fix="make it either static or donated, not both"
                )
            every = [(i, a in chosen[0], a in chosen[1]) for i, a in enumerate(arguments)]
            options = Choices([is_static for _, is_static, _ in every], every, [x for x in every if not x[1]])
            self._chosen[key] = options
        return options

    @disable_gc()  # traced graphs stay alive, and garbage collection would scan them again and again
    def _trace(
        self, key: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any], donated: Iterable[int]
    ) -> _Program:
        """Trace and keep a new program for these arguments."""
        try:
            hash(key)  # raise before tracing
        except TypeError:
            raise self._not_hashable(args, kwargs) from None
        fixed = self._options(args, kwargs).is_static
        if explain_retrace.is_wanted():
            now = explain_retrace.describe_call(self._f, args, kwargs, fixed)
            if self._seen is not None:
                explain_retrace.note(self._f, self._seen, now)
            self._seen = now
        with activation.running_block():
            program = _Program(self._f, args, kwargs, fixed, key, tuple(donated), self._tune)
        program = self._programs.setdefault(key, program)  # two threads may trace it at the same time
        self.traces += 1
        return program

    def _mark_used(self, program: _Program) -> _Program:
        """Mark a program as used now, and drop the least recently used ones."""
        self._last, program.used = program, next(_uses)
        while len(self._programs) > PROGRAMS:
            self._programs.pop(min(list(self._programs.values()), key=lambda p: p.used).key, None)
        return program

    def _not_hashable(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OptionError:
        pairs = zip((*args, *kwargs.values()), self._options(args, kwargs).is_static, strict=True)
        parts = [y for x, is_fixed in pairs for y in ([x] if is_fixed else tree.leaves(x))]
        odd = next((x for x in parts if not isinstance(x, Hashable) and tree.as_tensor(x) is None), None)
        description = "the second result of flatten" if odd is None else tree.describe(odd)
        return OptionError(
            f"jit: {description} is static, but not hashable",
            fix="use a tuple or a frozen dataclass, or pass it as a tensor or a number",
        )


def _call_function(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return call_checked(f, args, kwargs, "jit", "pass a function with one parameter per argument")


class _Program:
    """A function, compiled for arguments of one type."""

    def __init__(
        self,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        fixed: list[bool],
        key: tuple[Any, ...],
        donated: tuple[int, ...],
        tune: TuneLevel | None = None,
    ) -> None:
        self.key, self.used = key, 0
        trees = list(zip((*args, *kwargs.values()), fixed, strict=True))
        pairs = [
            (x, option)
            for (a, is_fixed), option in zip(trees, static_options(f, args, kwargs), strict=True)
            for x in ([a] if is_fixed else map(_input, tree.leaves(a)))
        ]
        leaves = [x for x, _ in pairs]

        def body(tensors: list[Tensor]) -> tuple[Any, list[Tensor]]:
            values = iter(tensors)
            new = iter([next(values) if isinstance(x, Tensor) else x for x in leaves])
            whole = [next(new) if is_fixed else tree.rebuild(a, new) for a, is_fixed in trees]
            out = _call_function(f, whole[: len(args)], dict(zip(kwargs, whole[len(args) :], strict=True)))
            return out, live_results(out, "jit")

        variables = [x for x in leaves if isinstance(x, Tensor)]
        # a number goes to the device of the first tensor
        device = next((x.device for x in variables if x.device is not None), canonicalize_device(None))
        types = [LeafType.of(x.uop) for x in variables]
        if isinstance(device, str):
            types = [
                t if x.device is not None else t._replace(device=device) for x, t in zip(variables, types, strict=True)
            ]
        traced = trace("jit", body, types, [option for x, option in pairs if isinstance(x, Tensor)])
        _check_numbers(
            {p: n for p, x in zip(traced.params, variables, strict=True) if (n := tree.number_of(x))}, traced
        )
        self.build = builder(traced.out)
        self.run = Executable(traced, donated, tune)


def _check_numbers(numbers: dict[UOp, int], traced: Traced) -> None:
    """Raise if an int beyond 32 bits, or a value computed from it, would become a 32-bit int."""
    number_of = {p: n for p, n in numbers.items() if not tree.fits(n, dtypes.int32)}
    for u in UOp.sink(*traced.leaves).toposort(enter_calls=False) if number_of else ():
        n = next((number_of[s] for s in u.src if s in number_of), None)
        if n is not None and u.dtype == dtypes.weakint:
            number_of[u] = n
        elif n is not None and u.op is Ops.CAST and not tree.fits(n, u.dtype):
            raise tree.too_large(n, u.dtype, "jit")
    for y in traced.leaves:
        if y in number_of:
            raise tree.too_large(number_of[y], dtypes.int32, "jit")


def _input(x: Any) -> Any:
    """Return an argument as a tensor, or unchanged if it is static."""
    if (t := tree.as_tensor(x, copy=False)) is None:
        return x
    check_live(t.uop, "jit")
    return t


def _record_equation(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record the call as one equation of the IR."""
    with recording.record_structure() as recorder:
        if recorder is None:
            return _call_function(f, args, kwargs)
        operands = [x for a in (*args, *kwargs.values()) for x in tree.leaves(a) if isinstance(x, Tensor)]
        with recording.body() as done:
            out = _call_function(f, args, kwargs)
            results = live_results(out, "jit")
            done([t.uop for t in operands], [y.uop for y in results])
        ins = [t.uop for t in operands]
        name = getattr(f, "__name__", type(f).__name__)
        recorder.put("jit", ins, {"name": name}, [y.uop for y in results], {"f": recorder.bodies[-1]})
    return out
