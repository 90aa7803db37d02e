"""Validation of arguments that are not trees: functions, sizes, positions and axes."""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded.errors import AxisRangeError, AxisTypeError, BrandedError, CallError, OptionError, count_noun
from branded.graph.rows import type_text
from branded.tinygrad_compat.lazy_numpy import np
from branded.tree.formatting import describe, short_repr
from branded.tree.nodes import check_axis, outline

Randomness = Literal["error", "same", "different"]


def check_function(f: object, api_name: str, fix: str | None = None, error: type[BrandedError] = CallError) -> None:
    if not callable(f):
        raise error(f"{api_name}: {describe(f)} is not a function", fix=fix)


def caller(depth: int, api_name: str) -> str:
    """Return the place of the user's call: `vmap at app.py:12`.

    `depth` is the number of frames from here to the call: 2 for a public function, 3 for one with `check_calls`.
    """
    frame = sys._getframe(depth)
    file = frame.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{api_name} at {file}:{frame.f_lineno}"


def call_checked(f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], api_name: str, fix: str) -> Any:
    """Call `f`; if it does not accept the arguments, raise an error in the name of the API function."""
    try:
        return f(*args, **kwargs)
    except (AttributeError, TypeError, ValueError, LookupError) as error:
        # if no code of the function ran, Python rejected the call itself
        ran = error.__traceback__ is None or error.__traceback__.tb_next is not None
        if ran or not isinstance(error, TypeError) or isinstance(error, BrandedError) or not _refuses(f, args, kwargs):
            from branded.core.validation.coercion_errors import translate_error  # imported only after a mistake

            if (translated := translate_error(error, api_name)) is not None:
                raise translated from error
            raise
        reason = str(error)
    raise _wrong(reason, args, kwargs, api_name, fix)


def check_takes(f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], api_name: str, fix: str) -> None:
    """Raise if `f` does not accept the arguments, without calling `f`."""
    if reason := _refuses(f, args, kwargs):
        raise _wrong(reason, args, kwargs, api_name, fix)


def _refuses(f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return why `f` does not accept these arguments; empty if it does, or has no signature."""
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):  # a C function without a signature
        return ""
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    return ""


def _wrong(reason: str, args: Sequence[Any], kwargs: Mapping[str, Any], api_name: str, fix: str) -> CallError:
    outlines = [*map(outline, args), *(f"{k}={outline(x)}" for k, x in kwargs.items())]
    return CallError(f"{api_name}: {reason}", ("given", ", ".join(outlines) or "nothing"), fix=fix)


def check_tune(tune: object, api_name: str = "jit") -> None:
    if tune is not None and not (isinstance(tune, str) and tune in ("fast", "best")):
        raise OptionError(
            f"{api_name}: tune={short_repr(tune)} is not a choice", fix='pass "fast", "best", or None for no tuning'
        )


def check_randomness(randomness: object) -> None:
    if not (isinstance(randomness, str) and randomness in ("error", "same", "different")):
        raise OptionError(
            f"randomness: {short_repr(randomness)} is not a choice", fix='pass "error", "same" or "different"'
        )


def check_flag(x: object, option: str) -> None:
    if not isinstance(x, bool):
        raise OptionError(f"{option}: {short_repr(x)} is not a choice", fix="pass True or False")


def as_int(x: object) -> int | None:
    """Return `x` as an int if its value is known; None for a bool, a float, a tensor, an unbound Variable."""
    if type(x) is int:
        return x
    if isinstance(x, bool | Tensor | np.ndarray) or (isinstance(x, UOp) and x.vmin != x.vmax):
        return None
    try:
        return operator.index(cast(Any, x))
    except TypeError:
        return None


def _several(x: Any) -> tuple[Any, ...]:
    """Return the values of an option that is one value, several, or None."""
    if isinstance(x, Iterable) and not isinstance(x, str | bytes | Tensor | np.ndarray):
        return tuple(x)
    return () if x is None else (x,)


def positions(argnums: Any, api_name: str, option: str = "static_argnums") -> tuple[int, ...]:
    """Return `argnums`, an int or several or None, as positions of arguments."""
    indices = [as_int(i) for i in _several(argnums)]
    if None in indices:
        raise OptionError(
            f"{api_name}: {option}={short_repr(argnums)} is not a list of positions",
            fix=f"give ints, counted from 0: {option}=(1,)",
        )
    return tuple(i for i in indices if i is not None)


def _argument_names(argnames: Any, api_name: str, option: str) -> tuple[str, ...]:
    """Return `argnames`, a string or several or None, as names of parameters."""
    names = _several(argnames)
    if not all(isinstance(name, str) for name in names):
        raise OptionError(
            f"{api_name}: {option}={short_repr(argnames)} is not a list of names",
            fix=f'give names of parameters: {option}=("n",)',
        )
    return names


class ChosenArguments(NamedTuple):
    """The arguments that an API function treats in a special way, by position, by name, or both.

    ChosenArguments.of("jit", "static", 1, None)       static_argnums=1
    """

    api_name: str
    adjective: str
    nums: tuple[int, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, api_name: str, adjective: str, argnums: Any, argnames: Any = None) -> ChosenArguments:
        nums = positions(argnums, api_name, f"{adjective}_argnums")
        return cls(api_name, adjective, nums, _argument_names(argnames, api_name, f"{adjective}_argnames"))

    def __bool__(self) -> bool:
        return bool(self.nums or self.names)

    def arguments(self, f: Callable[..., Any], n: int) -> tuple[frozenset[int], frozenset[str]]:
        """Return the selected positions below `n` and names of the arguments of `f`.

        If only positions or only names are given, they select a parameter in both ways, as in `jax.jit`.
        """
        try:
            parameters = list(inspect.signature(f).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        ordered = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        total = max(n, len(ordered))
        if parameters:
            self._check(parameters, total)
        selected = [i + total if i < 0 else i for i in self.nums]
        if not self.nums:
            selected = [i for i, name in enumerate(ordered) if name in self.names]
        names = self.names or [ordered[i] for i in selected if 0 <= i < len(ordered)]
        return frozenset(i for i in selected if i < n), frozenset(names)

    def _check(self, parameters: Sequence[inspect.Parameter], total: int) -> None:
        kinds = {p.kind for p in parameters}
        for i in self.nums if inspect.Parameter.VAR_POSITIONAL not in kinds else ():
            if not -total <= i < total:
                raise OptionError(
                    f"{self.api_name}: {self.adjective}_argnums={i} for a function of {count_noun(total, 'argument')}",
                    fix="give positions of arguments, counted from 0",
                )
        by_name = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        by_position = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY]
        for name in self.names:
            option = f"{self.adjective}_argnames={short_repr(name)}"
            if name in by_position:
                raise OptionError(
                    f"{self.api_name}: {option} is a parameter that has no keyword",
                    fix=f"{self.adjective}_argnums={by_position.index(name)}",
                )
            if name not in by_name and inspect.Parameter.VAR_KEYWORD not in kinds:
                raise OptionError(
                    f"{self.api_name}: {option} is not a parameter of the function",
                    ("parameters", ", ".join(by_name) or "none by keyword"),
                    fix="give names of its parameters",
                )


def normalize_axis(axis: int, x: Any, api_name: str) -> int:
    """Return `axis` of `x` counted from the front."""
    index = check_axis(axis, api_name)
    if index is None:
        raise AxisTypeError(f"{api_name}: None is not an axis here", fix="pass an int")
    rank = len(x.shape)
    if not -rank <= index < rank:
        raise AxisRangeError(
            f"{api_name}: axis {index} is out of range for {type_text(x.uop)}",
            fix=f"use an axis from {-rank} to {rank - 1}" if rank else "pass a tensor with at least one axis",
        )
    return index % rank


def out_axis(axis: int, rank: int, api_name: str) -> int:
    if not -rank - 1 <= axis <= rank:
        raise AxisRangeError(
            f"{api_name}: axis {axis} is out of range for a result with {count_noun(rank + 1, 'axis', 'axes')}",
            fix=f"use an axis from {-rank - 1} to {rank}",
        )
    return axis % (rank + 1)
